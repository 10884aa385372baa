#include "tests/softfloat/sweep/pairs.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

#include "softfloat/float.hpp"
#include "softfloat/vector/simd_choice.hpp"
#include "tests/softfloat/oracle.hpp"

namespace ulp::sweep {

namespace {

template <FloatFormat F, auto function>
void fill_plain(std::uint16_t a, Row& results) {
    Context context;
    for (std::uint32_t b = 0; b < row_length; ++b) results[b] = static_cast<std::uint16_t>(function(F, a, b, context));
}

template <FloatFormat F>
void plain_row_of(Operation operation, std::uint16_t a, Row& results) {
    switch (operation) {
        case Operation::add: return fill_plain<F, add_bits<std::uint64_t>>(a, results);
        case Operation::multiply: return fill_plain<F, multiply_bits<std::uint64_t>>(a, results);
        case Operation::divide: return fill_plain<F, divide_bits<std::uint64_t>>(a, results);
        case Operation::remainder: return fill_plain<F, remainder_bits<std::uint64_t>>(a, results);
    }
}

template <class Type, class Function>
void fill(std::uint16_t a, Row& results, Function function) {
    const Type x = Type::from_bits(a);
    for (std::uint32_t b = 0; b < row_length; ++b) {
        results[b] = function(x, Type::from_bits(static_cast<std::uint16_t>(b))).bits();
    }
}

template <class Type>
void operator_row_of(Operation operation, std::uint16_t a, Row& results) {
    if (operation == Operation::add) fill<Type>(a, results, [](Type x, Type y) { return x + y; });
    if (operation == Operation::multiply) fill<Type>(a, results, [](Type x, Type y) { return x * y; });
    if (operation == Operation::divide) fill<Type>(a, results, [](Type x, Type y) { return x / y; });
}

template <class Type>
void context_row_of(Operation operation, std::uint16_t a, Row& results) {
    Context context;
    if (operation == Operation::add) fill<Type>(a, results, [&](Type x, Type y) { return add(x, y, context); });
    if (operation == Operation::multiply) {
        fill<Type>(a, results, [&](Type x, Type y) { return multiply(x, y, context); });
    }
    if (operation == Operation::divide) fill<Type>(a, results, [&](Type x, Type y) { return divide(x, y, context); });
}

/// The value by its definition, in fp64.
double value_of(const FloatFormat& format, std::uint16_t bits) {
    const int field = (bits & 0x7FFF) >> format.fraction_bits;
    const int fraction = bits & ((1 << format.fraction_bits) - 1);
    const double sign = (bits & 0x8000) != 0 ? -1 : 1;
    if (field == (1 << format.exponent_bits) - 1) return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
    if (field == 0) return sign * std::ldexp(fraction, 1 - format.bias - format.fraction_bits);
    return sign * std::ldexp(fraction + (1 << format.fraction_bits), field - format.bias - format.fraction_bits);
}

std::vector<double> values_of(const FloatFormat& format) {
    std::vector<double> values(row_length);
    for (std::uint32_t b = 0; b < row_length; ++b) values[b] = value_of(format, static_cast<std::uint16_t>(b));
    return values;
}

/// x to bf16, to nearest even: fp32 rounded to odd first (the processor's conversion, corrected), then its upper half.
std::uint16_t bf16_from(double x) {
    if (std::isnan(x)) return 0x7FC0;
    const auto nearest = static_cast<float>(x);
    auto bits = std::bit_cast<std::uint32_t>(nearest);
    if (static_cast<double>(nearest) != x) {
        if (std::fabs(static_cast<double>(nearest)) > std::fabs(x)) --bits;
        bits |= 1;
    }
    return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

/// x to fp16, to nearest even: x in units of the last place, rounded by the processor.
std::uint16_t fp16_from(double x) {
    if (std::isnan(x)) return 0x7E00;
    const std::uint16_t sign = std::signbit(x) ? 0x8000 : 0;
    const double size = std::fabs(x);
    if (size >= 65520) return sign | 0x7C00;
    const int binade = size < 0x1p-14 ? -14 : std::ilogb(size);
    const auto steps = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, 10 - binade)));
    return static_cast<std::uint16_t>(sign | (static_cast<std::uint32_t>(binade + 14) * 1024 + steps));
}

double compute(Operation operation, double x, double y) {
    switch (operation) {
        case Operation::add: return x + y;
        case Operation::multiply: return x * y;
        case Operation::divide: return x / y;
        case Operation::remainder: return std::remainder(x, y);
    }
    return 0;
}

#ifdef ULPLAB_HAS_FP16_COMPILER
constexpr bool compiled_for_fp16 = true;
#else
constexpr bool compiled_for_fp16 = false;
#endif

bool is_fp16(const FloatFormat& format) { return format == formats::fp16; }

}  // namespace

std::string_view name_of(Operation operation) {
    constexpr std::array<std::string_view, 4> names{"add", "multiply", "divide", "remainder"};
    return names[static_cast<std::size_t>(operation)];
}

void plain_row(const FloatFormat& format, Operation operation, std::uint16_t a, Row& results) {
    results.resize(row_length);
    is_fp16(format) ? plain_row_of<formats::fp16>(operation, a, results)
                    : plain_row_of<formats::bf16>(operation, a, results);
}

bool operator_row(const FloatFormat& format, Operation operation, std::uint16_t a, Row& results) {
    if (operation == Operation::remainder) return false;
    results.resize(row_length);
    is_fp16(format) ? operator_row_of<fp16>(operation, a, results) : operator_row_of<bf16>(operation, a, results);
    return true;
}

bool context_row(const FloatFormat& format, Operation operation, std::uint16_t a, Row& results) {
    if (operation == Operation::remainder) return false;
    results.resize(row_length);
    is_fp16(format) ? context_row_of<fp16>(operation, a, results) : context_row_of<bf16>(operation, a, results);
    return true;
}

bool has_hardware_fp16() {
    const auto simd = supported_simd();
    return compiled_for_fp16 && std::find(simd.begin(), simd.end(), Simd::avx512_fp16) != simd.end();
}

std::string reference_name(const FloatFormat& format, Operation operation) {
    if (operation == Operation::remainder) return "C library, fp64";
    return is_fp16(format) && has_hardware_fp16() ? "processor's fp16" : "processor's fp64, rounded again";
}

void reference_row(const FloatFormat& format, Operation operation, std::uint16_t a, Row& results) {
    results.resize(row_length);
    if (is_fp16(format) && operation != Operation::remainder && has_hardware_fp16()) {
        hardware_fp16_row(operation, a, results.data());
        return;
    }
    static const std::vector<double> fp16_values = values_of(formats::fp16);
    static const std::vector<double> bf16_values = values_of(formats::bf16);
    const std::vector<double>& values = is_fp16(format) ? fp16_values : bf16_values;
    for (std::uint32_t b = 0; b < row_length; ++b) {
        const double x = compute(operation, values[a], values[b]);
        results[b] = is_fp16(format) ? fp16_from(x) : bf16_from(x);
    }
}

namespace {
void report(Difference& found, std::uint16_t a, std::uint32_t b, std::uint64_t got, std::uint64_t expected) {
    if (found.count++ != 0) return;
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%04X %04X: %04X, expected %04X", a, b, static_cast<unsigned>(got),
                  static_cast<unsigned>(expected));
    found.first = text.data();
}
}  // namespace

void compare_rows(const FloatFormat& format, std::uint16_t a, const Row& got, const Row& expected, Difference& found) {
    for (std::uint32_t b = 0; b < row_length; ++b) {
        if (got[b] == expected[b] || (is_nan(format, got[b]) && is_nan(format, expected[b]))) continue;
        report(found, a, b, got[b], expected[b]);
    }
}

void check_sample(const FloatFormat& format, Operation operation, std::uint16_t a, const Row& got, Difference& found) {
    using test::Wide;
    const test::Oracle oracle(format);
    for (std::uint32_t b = a * 977U % 4093; b < row_length; b += 4093) {
        test::Located place;
        if (operation == Operation::add) place = oracle.sum<Wide>(a, b);
        if (operation == Operation::multiply) place = oracle.product(a, b);
        if (operation == Operation::divide) place = oracle.quotient(a, b);
        if (operation == Operation::remainder) place = oracle.remainder<Wide>(a, b);
        const std::uint64_t expected = oracle.round(place, Rounding::nearest_even).bits;
        if (got[b] != expected) report(found, a, b, got[b], expected);
    }
}

}  // namespace ulp::sweep
