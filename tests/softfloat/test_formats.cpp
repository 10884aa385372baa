// Formats beyond the named ones of hardware: P3109's, ml_dtypes', scales without a sign, tables of values; saturation
// and stochastic modes by P3109's names.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "softfloat/array/array.hpp"
#include "softfloat/names.hpp"
#include "softfloat/text.hpp"
#include "softfloat/value_table.hpp"
#include "tests/softfloat/cases.hpp"
#include "tests/softfloat/check.hpp"

namespace ulp::test {
namespace {

/// Every pair where the environment variable says so; else of each 31st first operand.
std::uint64_t stride_of_pairs() { return std::getenv("ULPLAB_ALL_PAIRS") != nullptr ? 1 : 31; }

void check_pair_of(Mismatches& found, const Oracle& oracle, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    const FloatFormat& f = oracle.format();
    check_modes(found, oracle, oracle.sum<Wide>(a, b), {a, b},
                [&](Context& context) { return add_bits<UInt128>(f, a, b, context); });
    check_modes(found, oracle, oracle.difference<Wide>(a, b), {a, b},
                [&](Context& context) { return subtract_bits<UInt128>(f, a, b, context); });
    check_modes(found, oracle, oracle.product(a, b), {a, b},
                [&](Context& context) { return multiply_bits<UInt128>(f, a, b, context); });
    check_modes(found, oracle, oracle.quotient(a, b), {a, b},
                [&](Context& context) { return divide_bits<UInt128>(f, a, b, context); });
    check_modes(found, oracle, oracle.fused<Wide>(a, b, c), {a, b, c},
                [&](Context& context) { return fma_bits<UInt128>(f, a, b, c, context); });
    check_modes(found, oracle, oracle.square_root(a), {a},
                [&](Context& context) { return sqrt_bits<UInt128>(f, a, context); });
    for (const Saturation::Mode mode : {Saturation::sat_finite, Saturation::sat_propagate}) {
        check_call(found, oracle, oracle.product(a, b), Context{.saturate = mode}, {a, b},
                   [&](Context& context) { return multiply_bits<UInt128>(f, a, b, context); });
    }
}

}  // namespace

TEST_CASE("new formats of at most 8 bits: + - * / sqrt and fma of pairs equal the oracle") {
    std::uint64_t checks = 0;
    for (const char* name : {"binary8p3se", "binary8p4ue", "binary8p1se", "binary8p1ue", "binary7p2uf", "binary8p3sf",
                             "binary8p5uf", "e4m3ieee", "e3m4", "e4m3b11fnuz", "ue5m3", "ue4m3", "e8m0_even"}) {
        const FloatFormat format = format_by_name(name);
        const Oracle oracle(format);
        Mismatches found;
        RandomWords random(1);
        const std::uint64_t codes = std::uint64_t{1} << format.code_bits();
        for (std::uint64_t a = 0; a < codes; a += stride_of_pairs()) {
            for (std::uint64_t b = 0; b < codes; ++b) check_pair_of(found, oracle, a, b, random.below(codes));
        }
        INFO(name << ": " << found.first);
        CHECK(found.count == 0);
        checks += found.checks;
    }
    MESSAGE(checks << " checks");
}

TEST_CASE("new formats of 16 bits: random operands equal the oracle") {
    for (const char* name : {"binary16p8se", "binary16p11ue", "binary12p6sf"}) {
        const FloatFormat format = format_by_name(name);
        const Oracle oracle(format);
        Mismatches found;
        RandomWords random(2);
        const int count = stride_of_pairs() == 1 ? 10'000'000 : 5'000;
        const std::uint64_t mask = (std::uint64_t{1} << format.code_bits()) - 1;
        for (int i = 0; i < count; ++i) {
            const std::uint64_t a = random.next() & mask;
            check_pair_of(found, oracle, a, random_code(format, random, a) & mask, random.next() & mask);
        }
        INFO(name << ": " << found.first);
        CHECK(found.count == 0);
    }
}

// ---- Tables of values ----

namespace {

using Rational = boost::multiprecision::cpp_rational;

/// A judge of tables: exact rational numbers, and the neighbours found among all values. Numbers only.
class TableJudge {
  public:
    explicit TableJudge(const FloatFormat& format) : table_(table_of(format)) {
        for (std::size_t code = 0; code < table_.values.size(); ++code) {
            if (std::isfinite(table_.values[code])) sorted_.push_back({Rational(table_.values[code]), code});
        }
        std::stable_sort(sorted_.begin(), sorted_.end(),
                         [](const auto& x, const auto& y) { return x.first < y.first; });
        const auto same = [](const auto& x, const auto& y) { return x.first == y.first; };
        sorted_.erase(std::unique(sorted_.begin(), sorted_.end(), same), sorted_.end());
    }
    [[nodiscard]] bool has(std::uint64_t code) const { return std::isfinite(table_.values[code]); }
    [[nodiscard]] Rational value(std::uint64_t code) const { return Rational(table_.values[code]); }
    /// To nearest even where no overflow is: the code, or nothing beyond both ends.
    template <class Compare>
    [[nodiscard]] std::optional<std::uint64_t> nearest(const Compare& compare) const {  // sign of x - a number
        std::size_t upper = 0, length = sorted_.size();
        while (length > 0) {
            const std::size_t half = length / 2;
            if (compare(sorted_[upper + half].first) >= 0)
                upper += half + 1, length -= half + 1;
            else
                length = half;
        }
        if (upper > 0 && compare(sorted_[upper - 1].first) == 0) return sorted_[upper - 1].second;
        if (upper == 0 || upper == sorted_.size()) return std::nullopt;
        const auto& [below, lower_code] = sorted_[upper - 1];
        const auto& [above, upper_code] = sorted_[upper];
        const Rational middle =
            table_.middles.empty() ? Rational((below + above) / 2) : Rational(table_.middles[upper - 1]);
        const int side = compare(middle);
        if (side != 0) return side < 0 ? lower_code : upper_code;
        if ((lower_code & 1) != (upper_code & 1)) return (lower_code & 1) == 0 ? lower_code : upper_code;
        return abs(below) < abs(above) ? lower_code : upper_code;
    }
    [[nodiscard]] std::optional<std::uint64_t> nearest_to(const Rational& x) const {
        return nearest([&](const Rational& y) { return x < y ? -1 : x > y ? 1 : 0; });
    }

  private:
    const ValueTable& table_;
    std::vector<std::pair<Rational, std::size_t>> sorted_;
};

}  // namespace

TEST_CASE("new formats that are tables: + * / sqrt and fma of pairs equal exact rational numbers") {
    for (const char* name : {"hif8", "posit8", "int8", "mxint8", "int4"}) {
        const FloatFormat format = format_by_name(name);
        const TableJudge judge(format);
        const std::uint64_t codes = std::uint64_t{1} << format.code_bits();
        std::uint64_t different = 0, compared = 0;
        std::string first;
        const auto compare = [&](const char* what, std::uint64_t a, std::uint64_t b, std::uint64_t got,
                                 const std::optional<std::uint64_t>& expected) {
            if (!expected) return;
            ++compared;
            // A zero may have two codes.
            if (got == *expected || (judge.has(got) && judge.value(got) == judge.value(*expected))) return;
            if (different++ == 0) {
                first = std::string(name) + " " + what + " " + to_hex_bits(format, a) + " " + to_hex_bits(format, b) +
                        ": " + to_hex_bits(format, got) + ", not " + to_hex_bits(format, *expected);
            }
        };
        RandomWords random(3);
        for (std::uint64_t a = 0; a < codes; a += stride_of_pairs()) {
            if (!judge.has(a)) continue;
            const Rational x = judge.value(a);
            Context context;
            if (x >= 0) {
                compare("sqrt", a, 0, sqrt_bits<UInt128>(format, a, context), judge.nearest([&](const Rational& y) {
                    const Rational square = y * y;
                    return y < 0 ? 1 : x < square ? -1 : x > square ? 1 : 0;
                }));
            }
            for (std::uint64_t b = 0; b < codes; ++b) {
                if (!judge.has(b)) continue;
                const Rational y = judge.value(b);
                std::uint64_t c = random.below(codes);
                while (!judge.has(c)) c = random.below(codes);
                compare("+", a, b, add_bits<UInt128>(format, a, b, context), judge.nearest_to(x + y));
                compare("*", a, b, multiply_bits<UInt128>(format, a, b, context), judge.nearest_to(x * y));
                compare("fma", a, b, fma_bits<UInt128>(format, a, b, c, context),
                        judge.nearest_to(x * y + judge.value(c)));
                if (y != 0) compare("/", a, b, divide_bits<UInt128>(format, a, b, context), judge.nearest_to(x / y));
            }
        }
        INFO(first);
        CHECK(different == 0);
        CHECK(compared > codes);
    }
}

TEST_CASE("tables by rule have the values of their definitions") {
    const auto code = [](const char* format, const char* text, Context context = {}) {
        return parse_bits(format_by_name(format), text, context);
    };
    const auto value = [](const char* format, std::uint64_t bits) { return to_decimal(format_by_name(format), bits); };
    CHECK(value("hif8", 0x6E) == "32768");
    CHECK(classify_bits(format_by_name("hif8"), 0x6E) == NumberClass::positive_normal);
    Context exact;
    CHECK(convert_bits(format_by_name("hif8"), formats::fp32, 0x80000000, exact) == 0);
    CHECK(exact.flags == 0);
    CHECK(value("hif8", 0x6F) == "inf");
    CHECK(value("hif8", 0x80) == "nan");
    CHECK(code("hif8", "1") == 0x08);
    CHECK(code("hif8", "0x1p-22") == 0x01);
    CHECK(code("hif8", "1e9") == 0x6F);
    CHECK(code("hif8", "40960") == 0x6E);  // half way to infinity's place: the even code
    CHECK(code("hif8", "40961") == 0x6F);
    CHECK(value("posit8", 0x40) == "1");
    CHECK(to_exact_code(format_by_name("posit8"), 0x7F) == "+1p24");
    CHECK(value("posit8", 0x80) == "nan");
    CHECK(code("posit8", "1e30") == 0x7F);
    CHECK(code("posit8", "1e-30") == 0x01);  // never zero
    CHECK(code("posit8", "-1e-30") == 0xFF);
    CHECK(code("posit16", "0x1p56") == 0x7FFF);
    CHECK(value("int8", 0x80) == "-128");
    CHECK(code("int8", "300") == 0x7F);
    CHECK(code("int8", "-300") == 0x80);
    CHECK(code("int8", "2.5") == 2);
    CHECK(to_exact_code(format_by_name("mxint8"), 0x01) == "+1p-6");
    CHECK(value("int4", 0xF) == "-1");
    CHECK(value("dlfloat16", 0x7FFF) == "nan");
    CHECK(code("dlfloat16", "1") == 31 << 9);
    CHECK(code("dlfloat16", "0x1p-31") == 1);  // there is no 2^-31: its code is zero
    CHECK_THROWS_WITH(table_format({.name = "x", .values = {1, 2, 3}}), doctest::Contains("has 3 values"));
    CHECK_THROWS_WITH(table_format({.name = "x", .values = {0.1, 2}}), doctest::Contains("fp32 does not hold"));
    CHECK(table_format({.name = "x", .values = {1, 2}}) == table_format({.name = "x", .values = {1, 2}}));
}

TEST_CASE("a table's NaN, ends, order and flags are those of its numbers") {
    const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    const FloatFormat both = table_format({.name = "both", .values = {-8, -4, 0, 4, 8, inf, -inf, nan}});
    const auto code = [](const FloatFormat& format, double x, unsigned flags) {
        Context context;
        const std::uint64_t bits = convert_bits(format, formats::fp64, std::bit_cast<std::uint64_t>(x), context);
        CHECK(context.flags == flags);
        return bits;
    };
    constexpr unsigned beyond = flag::overflow | flag::inexact, below = flag::underflow | flag::inexact;
    CHECK(code(both, nan, 0) == 7);
    CHECK(code(both, -9, flag::inexact) == 0);  // the next number would be -12
    CHECK(code(both, 9, flag::inexact) == 4);
    CHECK(code(both, -11, beyond) == 6);
    CHECK(code(both, 11, beyond) == 5);
    CHECK(code(both, 1, below) == 2);
    const std::uint64_t negative_codes[]{4, 3, 2, 1, 0, 6, 5, 7};
    for (std::uint64_t a = 0; a < 8; ++a) CHECK(negate_bits(both, a) == negative_codes[a]);
    const FloatFormat positive = table_format({.name = "positive", .values = {1, 2, 4, 8}});
    CHECK(code(positive, -5, flag::inexact) == 0);
    CHECK(code(positive, 0, below) == 0);
    CHECK(code(table_format({.name = "negative", .values = {-8, -4, -2, -1}}), 0, below) == 3);
    CHECK(code(format_by_name("hif8"), nan, 0) == 0x80);
    for (const char* name : {"hif8", "posit8", "int8"}) {
        const FloatFormat format = format_by_name(name);
        const TableJudge judge(format);
        int wrong = 0;
        for (std::uint64_t a = 0; a < 256; ++a) {
            for (std::uint64_t b = 0; b < 256; ++b) {
                Context context;
                const Order order = compare_bits(format, a, b, context);
                const Order right = !judge.has(a) || !judge.has(b)     ? order
                                    : judge.value(a) < judge.value(b)  ? Order::less
                                    : judge.value(a) == judge.value(b) ? Order::equal
                                                                       : Order::greater;
                wrong += order != right ? 1 : 0;
            }
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("arrays of formats that are looked up have the codes of the scalar conversions") {
    RandomWords random(4);
    std::uint64_t compared = 0, different = 0;
    for (const char* name : {"hif8", "posit8", "posit16", "dlfloat16", "int8", "e8m0", "e8m0_even", "binary8p3se",
                             "binary8p3ue", "binary8p1se", "binary16p5ue", "binary16p1ue", "ue4m3", "e4m3ieee",
                             "binary8p4sf", "binary8p4uf", "binary8p1sf", "binary12p5sf"}) {
        const FloatFormat format = format_by_name(name);
        std::vector<float> numbers;
        for (std::uint64_t code = 0; code >> format.code_bits() == 0; code += format.code_bits() > 8 ? 37 : 1) {
            Context exact;
            const auto word = static_cast<std::uint32_t>(convert_bits(formats::fp32, format, code, exact));
            for (const std::uint32_t near : {word - 1, word, word + 1}) numbers.push_back(std::bit_cast<float>(near));
        }
        for (int i = 0; i < 3000; ++i)
            numbers.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random.next())));
        for (const std::uint32_t word : {0U, 0x80000000U, 1U, 0x7F800000U, 0xFF800000U, 0x7F7FFFFFU, 0xFFFFFFFFU}) {
            numbers.push_back(std::bit_cast<float>(word));
        }
        for (std::size_t i = 0, n = numbers.size(); i + 1 < n; i += 2) {
            numbers.push_back(numbers[i] / 2 + numbers[i + 1] / 2);
        }
        for (const Rounding rounding : deterministic_roundings) {
            for (const Saturation::Mode mode :
                 {Saturation::ovf_inf, Saturation::sat_finite, Saturation::sat_propagate}) {
                const Context context{.rounding = rounding, .saturate = mode};
                const std::size_t bytes = format.storage_bits() <= 8 ? 1 : 2;
                std::vector<std::uint8_t> codes(bytes * numbers.size());
                array::convert_words(format, formats::fp32, numbers.data(), codes.data(), numbers.size(), context,
                                     simd_choice());
                std::vector<float> rounded(numbers.size());
                round_array(format, std::span<const float>(numbers), std::span<float>(rounded), context);
                for (std::size_t i = 0; i < numbers.size(); ++i) {
                    Context scalar = context, exact;
                    const auto word = std::bit_cast<std::uint32_t>(numbers[i]);
                    const std::uint64_t code = convert_bits(format, formats::fp32, word, scalar);
                    const std::uint64_t number = convert_bits(formats::fp32, format, code, exact);
                    different += code != array::load_word(codes.data(), bytes, i) ? 1 : 0;
                    different += number != std::bit_cast<std::uint32_t>(rounded[i]) ? 1 : 0;
                    compared += 2;
                }
                INFO(name << " rounding " << name_of(rounding) << " " << name_of(mode));
                REQUIRE(different == 0);
            }
        }
    }
    CHECK(compared > 1'000'000);
}

TEST_CASE("saturation by P3109's names") {
    const auto becomes = [](const char* format, const char* text, Saturation mode, Rounding rounding) {
        Context context{.rounding = rounding, .saturate = mode};
        const FloatFormat f = format_by_name(format);
        return to_decimal(f, parse_bits(f, text, context));
    };
    using enum Rounding;
    for (const auto& [name, mode] : {std::pair{"SatFinite", Saturation::sat_finite},
                                     {"satpropagate", Saturation::sat_propagate},
                                     {"OvfInf", Saturation::ovf_inf}}) {
        CHECK(saturation_by_name(name) == mode);
    }
    CHECK_THROWS_WITH(saturation_by_name("SatFinit"), doctest::Contains("did you mean SatFinite?"));
    for (const char* format : {"e5m2", "binary8p3se"}) {
        const std::string most = format == std::string("e5m2") ? "57344" : "49152";
        CHECK(becomes(format, "1e9", Saturation::ovf_inf, nearest_even) == "inf");
        CHECK(becomes(format, "1e9", Saturation::ovf_inf, toward_zero) == most);
        CHECK(becomes(format, "1e9", Saturation::sat_finite, up) == most);
        CHECK(becomes(format, "1e9", Saturation::sat_propagate, up) == most);
        CHECK(becomes(format, "-1e9", Saturation::sat_propagate, nearest_even) == "-" + most);
        CHECK(becomes(format, "inf", Saturation::sat_propagate, nearest_even) == "inf");
        CHECK(becomes(format, "-inf", Saturation::sat_finite, nearest_even) == "-" + most);
    }
    // P3109, interim report 4.0, 4.7.5: without infinities the largest number, without a sign zero, and to odd infinity
    // where its code is the odd one.
    CHECK(becomes("e4m3", "inf", Saturation::sat_propagate, nearest_even) == "448");
    CHECK(becomes("binary8p3se", "-1e9", Saturation::ovf_inf, odd) == "-inf");
    CHECK(becomes("binary8p3ue", "1e30", Saturation::ovf_inf, odd) != "inf");
    CHECK(becomes("e5m2", "1e9", Saturation::ovf_inf, odd) == "57344");
    for (const char* format : {"binary8p3ue", "binary8p4uf", "binary6p1ue", "ue4m3"}) {
        for (const Saturation::Mode mode : {Saturation::sat_finite, Saturation::sat_propagate}) {
            for (const char* text : {"-1", "-1e30", "-inf", "-1e-30"}) {
                CHECK(becomes(format, text, mode, nearest_even) == "0");
                CHECK(becomes(format, text, mode, down) == "0");
            }
        }
        CHECK(becomes(format, "-1", Saturation::ovf_inf, nearest_even) == "nan");
        CHECK(becomes(format, "-1", Saturation::ovf_inf, down) == "nan");
        CHECK(becomes(format, "-1", Saturation::ovf_inf, toward_zero) == "0");
        CHECK(becomes(format, "-1e30", Saturation::ovf_inf, up) == "0");
        CHECK(becomes(format, "-1e-30", Saturation::ovf_inf, nearest_even) == "0");
        CHECK(becomes(format, "-1e-30", Saturation::ovf_inf, down) == "nan");
        CHECK(becomes(format, "-inf", Saturation::ovf_inf, toward_zero) == "nan");
    }
    CHECK(becomes("e8m0", "-1", Saturation::sat_finite, nearest_even) == "nan");  // it has no zero
    FloatFormat own = formats::e5m2;
    own.saturation = Saturation::sat_finite;
    Context context;
    CHECK(to_decimal(own, parse_bits(own, "inf", context)) == "57344");
    CHECK(round_to(own, 1e9F) == 57344.0F);
    float x = 1e9F;
    round_array(own, std::span<float>(&x, 1), {});
    CHECK(x == 57344.0F);
}

TEST_CASE("P3109's finite formats have the largest number where nothing saturates, and NaN below zero without a sign") {
    for (int code = 0; code < 16 * 16 * 2; ++code) {
        const int bits = code / 32 + 1, precision = code / 2 % 16 + 1;
        const bool has_sign = code % 2 != 0;
        if (bits < 3 || precision > bits - (has_sign ? 1 : 0)) continue;
        const FloatFormat f = p3109_format(bits, precision, has_sign, false);
        INFO(name_of(f));
        const std::uint64_t most = largest_bits(f, false);
        const std::uint64_t below = has_sign ? largest_bits(f, true) : nan_bits(f);
        Context context;
        REQUIRE(infinite_bits(f, false, context) == most);
        REQUIRE(infinite_bits(f, true, context) == below);
        REQUIRE(next_up_bits(f, most, context) == nan_bits(f));
        for (const Rounding rounding : deterministic_roundings) {
            const bool to_zero = !has_sign && (rounding == Rounding::toward_zero || rounding == Rounding::up);
            Context each{.rounding = rounding};
            REQUIRE(round_to_bits(f, false, f.emax() + 1, std::uint64_t{1}, each) == most);
            REQUIRE(each.flags == (flag::overflow | flag::inexact));
            REQUIRE(round_to_bits(f, true, f.emax() + 1, std::uint64_t{1}, each) == (to_zero ? 0 : below));
        }
    }
    CHECK(std::isnan(round_to(ulp::formats::e4m3fnuz, 1e9F)));
}

TEST_CASE("stochastic rounding A, B and C as P3109 defines them") {
    CHECK(rounding_by_name("cvt_rs") == Rounding::stochastic);
    CHECK(rounding_by_name("StochasticA") == Rounding::stochastic);
    CHECK(rounding_by_name("StochasticB") == Rounding::stochastic_b);
    CHECK(rounding_by_name("stochastic_c") == Rounding::stochastic_c);
    // 1 + j / 256 in a format with no digit behind 1: the discarded fraction is j / 256.
    const FloatFormat format = format_by_name("binary8p1sf");
    constexpr int bits = 3;
    for (std::uint64_t j = 0; j < 256; ++j) {
        for (std::uint64_t random = 0; random < 8; ++random) {
            const auto goes_up = [&](Rounding rounding) {
                Context context{.rounding = rounding, .random_bits = bits, .random = random};
                return round_to_bits(format, false, -8, std::uint64_t{256 + j}, context) !=
                       round_to_bits(format, false, 0, std::uint64_t{1}, context);
            };
            CHECK(goes_up(Rounding::stochastic) == (j * 8 / 256 + random >= 8));
            CHECK(goes_up(Rounding::stochastic_b) == (j * 16 / 256 + 2 * random + 1 >= 16));
            const std::uint64_t scaled = j * 8, whole = scaled / 256, rest = scaled % 256;
            const std::uint64_t nearest = whole + (rest > 128 || (rest == 128 && whole % 2 == 1) ? 1 : 0);
            CHECK(goes_up(Rounding::stochastic_c) == (nearest + random >= 8));
        }
    }
    // Arrays draw the same numbers in all three modes.
    std::vector<float> numbers(1000, 1.3F), rounded(1000);
    for (const Rounding rounding : {Rounding::stochastic, Rounding::stochastic_b, Rounding::stochastic_c}) {
        const Context context{.rounding = rounding, .random_bits = 8, .seed = 5};
        round_array(formats::e4m3, std::span<const float>(numbers), std::span<float>(rounded), context);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            CHECK(rounded[i] == round_to(formats::e4m3, numbers[i], scalar_context(context, i)));
        }
    }
}

TEST_CASE("names of formats by rule") {
    CHECK(name_of(format_by_name("BINARY8P3SE")) == "binary8p3se");
    CHECK(format_by_name("binary8p3sf") != formats::e5m2fnuz);  // other overflows
    CHECK(format_by_name("float8_e4m3") == ieee_format(4, 3));
    CHECK(format_by_name("float8_e4m3fn") == formats::e4m3);
    for (int bits = 3; bits <= 16; ++bits) {
        for (int precision = 1; precision <= bits; ++precision) {
            for (const char* kind : {"se", "sf", "ue", "uf"}) {
                const std::string name =
                    "binary" + std::to_string(bits) + "p" + std::to_string(precision) + std::string(kind);
                if (kind[0] == 's' && precision == bits) {
                    CHECK_THROWS_WITH(format_by_name(name), doctest::Contains("a precision from 1 to their width"));
                    continue;
                }
                const FloatFormat format = format_by_name(name);
                CHECK(format.code_bits() == bits);
                CHECK(format_by_name(name_of(format)) == format);
            }
        }
    }
    CHECK_THROWS_WITH(format_by_name("binary17p3se"), doctest::Contains("3 to 16 bits, not 17"));
    CHECK_THROWS_WITH(format_by_name("binary8p03se"), doctest::Contains("there is no format"));
    // Beyond fp64: 2^32766.
    const FloatFormat wide = format_by_name("binary16p1uf");
    CHECK(to_exact_code(wide, 0xFFFE) == "+1p32766");
    Context context;
    CHECK(to_exact_code(wide, multiply_bits<UInt128>(wide, 0xFFFE, 1, context)) == "+1p-1");
    CHECK(to_exact_code(wide, parse_bits(wide, "1e400", context)) == "+1p1329");
}

}  // namespace ulp::test
