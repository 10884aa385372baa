// Decimal, hexadecimal and binary text, both ways.
#include <array>
#include <charconv>

#include "softfloat/names.hpp"
#include "softfloat/text.hpp"
#include "tests/softfloat/cases.hpp"
#include "tests/softfloat/oracle.hpp"
#include "tests/softfloat/type_names.hpp"

namespace ulp::test {
namespace {

/// digits * 10^exponent, read from text like -1.25e-7.
struct Decimal {
    std::string digits;
    int exponent = 0;
};
Decimal split(std::string text) {
    Decimal decimal;
    if (text.front() == '-') text.erase(0, 1);
    if (const auto e = text.find('e'); e != std::string::npos) {
        decimal.exponent = std::stoi(text.substr(e + 1));
        text.erase(e);
    }
    if (const auto point = text.find('.'); point != std::string::npos) {
        decimal.exponent -= static_cast<int>(text.size() - point - 1);
        text.erase(point, 1);
    }
    text.erase(0, std::min(text.find_first_not_of('0'), text.size()));
    while (!text.empty() && text.back() == '0') {
        text.pop_back();
        ++decimal.exponent;
    }
    decimal.digits = text;
    return decimal;
}

Unlimited power_of_ten(int exponent) {
    Unlimited power = 1;
    for (int i = 0; i < exponent; ++i) power *= 10;
    return power;
}

/// The sign of digits * 10^exponent - x, x >= 0.
int compare(const Unlimited& digits, int exponent, const Number& x) {
    Unlimited left = digits;
    Unlimited right = x.significand;
    (exponent > 0 ? left : right) *= power_of_ten(std::abs(exponent));
    if (x.exponent > 0) right <<= x.exponent;
    if (x.exponent < 0) left <<= -x.exponent;
    if (left == right) return 0;
    return left < right ? -1 : 1;
}

/// The number halfway between magnitude codes `lower` and lower + 1.
Number middle(const Oracle& oracle, std::uint64_t lower) {
    Number x = oracle.number(lower << oracle.format().padding_bits);
    x.significand = 2 * x.significand + 1;
    --x.exponent;
    return x;
}

/// Whether digits * 10^exponent rounds to the magnitude code, to nearest even.
bool rounds_to(const Oracle& oracle, std::uint64_t code, const Unlimited& digits, int exponent) {
    const bool even = oracle.format().fraction_bits > 0 && code % 2 == 0;
    const int below = code == 0 ? 1 : compare(digits, exponent, middle(oracle, code - 1));
    // The largest number has no neighbour above to give the midpoint its exponent; it takes its own.
    const int above = compare(digits, exponent, middle(oracle, code));
    return (below > 0 || (below == 0 && even)) && (above < 0 || (above == 0 && even));
}

/// Whether the text has the fewest digits that read back, and no closer decimal has as few.
bool is_shortest(const Oracle& oracle, std::uint64_t code, const std::string& text) {
    const auto [digits, exponent] = split(text);
    const Unlimited written(digits);
    if (!rounds_to(oracle, code, written, exponent)) return false;
    // One digit less: the decimals on both sides of it.
    const Unlimited shorter = written / 10;
    if (digits.size() > 1 &&
        (rounds_to(oracle, code, shorter, exponent + 1) || rounds_to(oracle, code, shorter + 1, exponent + 1))) {
        return false;
    }
    const Number x = oracle.number(code << oracle.format().padding_bits);
    // Closer than its neighbours in the last place: on the right side of the middles between them.
    const bool above_lower = compare(written * 2 - 1, exponent, {x.kind, false, 2 * x.significand, x.exponent}) <= 0;
    const bool below_upper = compare(written * 2 + 1, exponent, {x.kind, false, 2 * x.significand, x.exponent}) >= 0;
    return (above_lower || !rounds_to(oracle, code, written - 1, exponent)) &&
           (below_upper || !rounds_to(oracle, code, written + 1, exponent));
}

std::uint64_t read(const FloatFormat& format, const std::string& text, Rounding rounding = Rounding::nearest_even) {
    Context context{.rounding = rounding};
    return parse_bits(format, text, context);
}

/// Scientific digits of std::to_chars.
template <class Hardware>
Decimal standard_shortest(Hardware x) {
    std::array<char, 64> buffer{};
    const auto end = std::to_chars(buffer.begin(), buffer.end(), x, std::chars_format::scientific).ptr;
    return split(std::string(buffer.begin(), end));
}

double round_to_fp64(const FloatFormat& format, std::uint64_t bits) {
    Context exact;
    return std::bit_cast<double>(convert_bits(formats::fp64, format, bits, exact));
}

}  // namespace

TEST_CASE_TEMPLATE("integers below 2^24 have all digits, other codes the fewest that read back, the closest of those",
                   Type, fp16, bf16, e5m2, e4m3, e5m2fnuz, e4m3fnuz, e3m2, e2m3, e2m1, e8m0) {
    constexpr FloatFormat format = Type::format;
    const Oracle oracle(format);
    int wrong = 0;
    for (const std::uint64_t bits : all_codes(format)) {
        const Number x = oracle.number(bits);
        const std::string text = to_decimal(format, bits);
        if (x.is_nan() ? text != "nan" : read(format, text) != bits) ++wrong;
        if (x.kind != Number::Kind::finite || x.is_zero()) continue;
        const double size = std::fabs(round_to_fp64(format, bits));
        const bool all_digits = size < 0x1p24 && std::floor(size) == size;
        if (all_digits ? text != to_exact_decimal(format, bits)
                       : !is_shortest(oracle, bits & format.magnitude_mask(), text)) {
            ++wrong;
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("hexadecimal floats and exact decimals read back in every format", Type, fp64, fp32, tf32, bf16,
                   fp16, e5m2, e4m3, e3m2, e2m1, e8m0) {
    constexpr FloatFormat format = Type::format;
    RandomWords random(41);
    int wrong = 0;
    auto codes = interesting_codes(format);
    for (int i = 0; i < 2000; ++i) codes.push_back(random_code(format, random, random.next()));
    for (const std::uint64_t bits : codes) {
        if (is_nan(format, bits)) continue;
        if (read(format, to_hex_float(format, bits)) != bits || read(format, to_exact_decimal(format, bits)) != bits) {
            ++wrong;
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("fp32 and fp64 print and read as the standard library does") {
    RandomWords random(42);
    int wrong = 0;
    for (int i = 0; i < 4000; ++i) {
        const std::uint64_t wide = random_code(formats::fp64, random, random.next());
        if (isfinite(fp64::from_bits(wide)) && (wide & formats::fp64.magnitude_mask()) != 0) {
            const Decimal ours = split(to_decimal(formats::fp64, wide));
            const Decimal standard = standard_shortest(std::bit_cast<double>(wide));
            if (ours.digits != standard.digits || ours.exponent != standard.exponent) ++wrong;
            if (read(formats::fp64, to_decimal(formats::fp64, wide)) != wide) ++wrong;
        }
        const auto narrow = static_cast<std::uint32_t>(random.next());
        if (isfinite(fp32::from_bits(narrow)) && (narrow & 0x7FFFFFFF) != 0) {
            const Decimal ours = split(to_decimal(formats::fp32, narrow));
            const Decimal standard = standard_shortest(std::bit_cast<float>(narrow));
            if (ours.digits != standard.digits || ours.exponent != standard.exponent) ++wrong;
        }
        // A decimal of up to 24 digits, anywhere in fp64's range.
        std::string text = std::to_string(random.next());
        if (i % 2 == 0) text += std::to_string(random.next());
        text = text.substr(0, 1 + random.below(text.size()));
        text =
            text.substr(0, 1) + "." + text.substr(1) + "e" + std::to_string(static_cast<int>(random.below(640)) - 330);
        double expected = 0;
        const auto status = std::from_chars(text.data(), text.data() + text.size(), expected);
        if (status.ec != std::errc{}) continue;
        if (read(formats::fp64, text) != std::bit_cast<std::uint64_t>(expected)) ++wrong;
    }
    CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("every midpoint reads as a tie, and a digit a thousand places on breaks it", Type, fp16, bf16, e5m2,
                   e4m3, e2m3) {
    constexpr FloatFormat format = Type::format;
    const Oracle oracle(format);
    int wrong = 0;
    const std::uint64_t step = format.code_bits() == 16 ? 37 : 1;
    for (std::uint64_t code = 0; code < format.max_finite_magnitude(); code += step) {
        const Number x = middle(oracle, code);
        Context context;
        const std::uint64_t wide =
            round_to_bits(formats::fp64, false, x.exponent, static_cast<std::uint64_t>(x.significand), context);
        const std::string tie = to_exact_decimal(formats::fp64, wide);
        const std::string zeros(1000, '0');
        const std::string above = tie + (tie.find('.') == std::string::npos ? "." : "") + zeros + "1";
        const auto [digits, exponent] = split(tie);
        const std::string below =
            Unlimited(Unlimited(digits) - 1).str() + std::string(1000, '9') + "e" + std::to_string(exponent - 1000);
        const std::uint64_t even = code + code % 2;
        if (read(format, tie) != even || read(format, "-" + tie) != pack(format, true, even)) ++wrong;
        if (read(format, above) != code + 1 || read(format, below) != code) ++wrong;
        if (read(format, tie, Rounding::nearest_away) != code + 1) ++wrong;
        if (read(format, tie, Rounding::toward_zero) != code || read(format, tie, Rounding::up) != code + 1) ++wrong;
        if (read(format, "-" + tie, Rounding::down) != pack(format, true, code + 1)) ++wrong;
        if (read(format, tie, Rounding::odd) != (code | 1)) ++wrong;
    }
    CHECK(wrong == 0);
}

TEST_CASE("text as a person writes it") {
    CHECK(to_decimal(fp16{0.1}) == "0.1");
    CHECK(to_exact_decimal(formats::fp16, 0x2E66) == "0.0999755859375");
    CHECK(to_decimal(fp16{65504}) == "65504");  // an integer: all digits, though 65500 reads back
    CHECK(to_exact_decimal(formats::fp16, 0x7BFF) == "65504");
    CHECK(to_decimal(e2m1{6}) == "6");
    CHECK(to_decimal(e5m2{57344}) == "57344");
    CHECK(to_decimal(e4m3{448}) == "448");
    CHECK(to_decimal(fp16{2050}) == "2050");
    CHECK(to_decimal(-bf16{131072}) == "-131072");
    CHECK(to_decimal(bf16{16711680}) == "16711680");  // the last below 2^24
    CHECK(to_decimal(bf16{16777216}) == "16800000");
    CHECK(to_decimal(std::numeric_limits<bf16>::max()) == "3.39e38");
    CHECK(to_decimal(fp16::from_bits(1)) == "6e-8");
    CHECK(to_decimal(fp64{1e17}) == "1e17");
    CHECK(to_decimal(-fp16{0}) == "-0");
    CHECK(to_hex_float(fp16{0.1}) == "0x1.998p-4");
    CHECK(to_hex_float(fp16::from_bits(1)) == "0x0.004p-14");
    CHECK(to_bit_string(fp16{0.1}) == "0 01011 1001100110");
    CHECK(to_bit_string(e8m0{2}) == "10000000");
    CHECK(to_hex_bits(formats::tf32, 0x3F8CC000) == "3F8CC000");
    CHECK(parse<fp16>("+1.5E+1").bits() == fp16{15}.bits());
    CHECK(parse<fp16>(".5").bits() == fp16{0.5}.bits());
    CHECK(parse<fp16>("5.").bits() == fp16{5}.bits());
    CHECK(parse<fp16>("-0x1.8p-10").bits() == fp16{-0x1.8p-10}.bits());
    CHECK(parse<fp16>("0XAp0").bits() == fp16{10}.bits());
    CHECK(parse<fp16>("-Infinity").bits() == 0xFC00);
    CHECK(parse<fp16>("NaN").bits() == 0x7E00);
    CHECK(parse<fp16>("1e999999999999").bits() == 0x7C00);
    CHECK(parse<fp16>("-1e-999999999999").bits() == 0x8000);
    CHECK(parse<fp16>("0e999999").bits() == 0);
    CHECK(parse<e4m3>("inf").bits() == 0x7F);
    CHECK(parse<e2m1>("-inf").bits() == 0xF);
}

TEST_CASE("flags of reading: exact, inexact, underflow, overflow") {
    const auto flags_of = [](const char* text) {
        Context context;
        parse_bits(formats::fp16, text, context);
        return context.flags;
    };
    CHECK(flags_of("0.5") == 0);
    CHECK(flags_of("0.1") == flag::inexact);
    CHECK(flags_of("1e-7") == (flag::inexact | flag::underflow));
    CHECK(flags_of("65520") == (flag::inexact | flag::overflow));
    CHECK(flags_of("65519.99") == flag::inexact);
}

TEST_CASE("what is no number is refused and quoted") {
    for (const char* text : {"", "-", ".", "1.2.3", "1e", "1e+", "0x", "0x.p1", "0x1p", "abc", "1 ", " 1", "infi",
                             "nanx", "1f", "--1", "0x1.8p1.5"}) {
        INFO(text);
        CHECK_THROWS_AS(read(formats::fp16, text), std::invalid_argument);
    }
    CHECK_THROWS_WITH_AS(read(formats::fp16, "1,5"), "'1,5' is not a number; write it like 0.1, -1.5e-3 or 0x1.8p-10",
                         std::invalid_argument);
}

}  // namespace ulp::test
