#include "softfloat/describe.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "softfloat/comparison.hpp"
#include "softfloat/neighbours.hpp"
#include "softfloat/text.hpp"
#include "softfloat/value_table.hpp"

namespace ulp {

namespace {

NumberText number_text(const FloatFormat& format, std::uint64_t bits) {
    return {bits, to_hex_bits(format, bits), to_decimal(format, bits)};
}

std::string class_name(const FloatFormat& format, std::uint64_t bits) {
    switch (classify_bits(format, bits)) {
        case NumberClass::signaling_nan: return "signalling NaN";
        case NumberClass::quiet_nan: return "NaN";
        case NumberClass::negative_infinity:
        case NumberClass::positive_infinity: return "infinity";
        case NumberClass::negative_zero:
        case NumberClass::positive_zero: return "zero";
        case NumberClass::negative_subnormal:
        case NumberClass::positive_subnormal: return "subnormal";
        case NumberClass::negative_normal:
        case NumberClass::positive_normal: return "normal";
    }
    return "";
}

/// Exponent of the unit in the last place of a finite number.
int ulp_exponent(const FloatFormat& format, std::uint64_t bits) {
    const auto value = decode(format, bits);
    return value.kind == Kind::zero ? format.smallest_exponent() : value.exponent;
}

std::string power_of_two(int exponent) {
    return layout(exact_decimal({Kind::finite, false, exponent, 1}), false, true);
}

/// The neighbour, unless it is NaN or there is none.
std::optional<NumberText> neighbour(const FloatFormat& format, std::uint64_t bits, bool up) {
    Context context;
    const std::uint64_t next = up ? next_up_bits(format, bits, context) : next_down_bits(format, bits, context);
    if (next == bits || is_nan(format, next)) return std::nullopt;
    return number_text(format, next);
}

/// value - text, and that in units in the last place: the error times 2^-ulp, by long division where that is no
/// decimal.
void describe_error(Description& description, const SignedDecimal& written) {
    const FloatFormat& format = description.format.format;
    const auto value = decode(format, description.value.bits);
    if (value.kind != Kind::finite && value.kind != Kind::zero) return;
    const SignedDecimal exact{value.sign, value.kind == Kind::zero ? Decimal{} : exact_decimal(value)};
    const SignedDecimal error = difference(exact, written);
    description.error = layout(error.size, error.negative, true);
    Context context;
    std::uint64_t in_ulps = round_decimal(formats::fp64, error.negative, error.size, context);
    in_ulps = scalb_bits(formats::fp64, in_ulps, -ulp_exponent(format, description.value.bits), context);
    description.error_in_ulps = to_decimal(formats::fp64, in_ulps);
}

std::uint64_t parse_word(const FloatFormat& format, std::string_view digits) {
    std::uint64_t word = 0;
    const auto fail = [&] {
        throw std::invalid_argument("'bits:" + std::string(digits) + "' is no storage word of " + name_of(format) +
                                    "; write " + std::to_string((format.storage_bits() + 3) / 4) +
                                    " hexadecimal digits like bits:" + to_hex_bits(format, nan_bits(format)));
    };
    if (digits.empty() || digits.size() > static_cast<std::size_t>((format.storage_bits() + 3) / 4)) fail();
    for (const char c : digits) {
        const auto place = std::string_view("0123456789abcdef0123456789ABCDEF").find(c);
        if (place == std::string_view::npos) fail();
        word = word << 4 | place % 16;
    }
    const std::uint64_t known = ((std::uint64_t{1} << (format.code_bits() - 1) << 1) - 1) << format.padding_bits;
    if ((word & ~known) != 0) fail();
    return word;
}

}  // namespace

std::vector<std::string> flag_names(unsigned flags) {
    std::vector<std::string> names;
    if ((flags & flag::invalid) != 0) names.emplace_back("invalid");
    if ((flags & flag::divide_by_zero) != 0) names.emplace_back("divide by zero");
    if ((flags & flag::overflow) != 0) names.emplace_back("overflow");
    if ((flags & flag::underflow) != 0) names.emplace_back("underflow");
    if ((flags & flag::inexact) != 0) names.emplace_back("inexact");
    return names;
}

Description describe(const NamedFormat& named, std::string_view text, const Context& how) {
    const FloatFormat& format = named.format;
    Context context = how;
    context.flags = 0;
    const bool is_word = text.substr(0, 5) == "bits:";
    const std::uint64_t bits = is_word ? parse_word(format, text.substr(5)) : parse_bits(format, text, context);
    Description result;
    result.format = named;
    result.value = number_text(format, bits);
    result.fields = to_bit_string(format, bits);
    // Thousands of digits say less than the power of two.
    const bool vast = format.emax() > 1100 || format.smallest_exponent() < -1100;
    result.exact = vast ? to_exact_code(format, bits) : to_exact_decimal(format, bits);
    Context exact;
    result.as_fp64 = to_decimal(formats::fp64, convert_bits(formats::fp64, format, bits, exact));
    if ((exact.flags & flag::inexact) != 0) result.as_fp64 = result.value.decimal;  // fp64 does not hold it
    result.hex_float = to_hex_float(format, bits);
    result.number_class = class_name(format, bits);
    result.flags = flag_names(context.flags);
    const auto kind = decode(format, bits).kind;
    if (kind != Kind::finite && kind != Kind::zero) return result;
    result.below = neighbour(format, bits, false);
    result.above = neighbour(format, bits, true);
    if (format.is_table()) return result;
    result.ulp_exponent = ulp_exponent(format, bits);
    result.ulp = vast ? "2^" + std::to_string(result.ulp_exponent) : power_of_two(result.ulp_exponent);
    if (is_word) return result;
    const auto written = parse_decimal(text);
    // Beyond every format's range an exact error would be thousands of digits of no interest.
    if (written && written->size.point < 2000 && written->size.point > -2000) describe_error(result, *written);
    return result;
}

namespace {
/// Of a table: its positive numbers, and the one after 1.
FormatDescription describe_table(FormatDescription row) {
    double after_one = 0;
    for (const double x : table_of(row.format.format).values) {
        if (!(x > 0) || std::isinf(x)) continue;
        row.largest = std::max(row.largest, x);
        row.smallest_positive = row.smallest_positive == 0 ? x : std::min(row.smallest_positive, x);
        if (x > 1) after_one = after_one == 0 ? x : std::min(after_one, x);
    }
    row.smallest_normal = row.smallest_positive;
    row.epsilon = after_one == 0 ? 0 : after_one - 1;
    row.specials += ", a table";
    return row;
}
}  // namespace

FormatDescription describe(const NamedFormat& named) {
    const FloatFormat& format = named.format;
    const auto number = [&](std::uint64_t magnitude) {
        Context exact;
        return std::bit_cast<double>(convert_bits(formats::fp64, format, pack(format, false, magnitude), exact));
    };
    FormatDescription result;
    result.format = named;
    if (format.has_infinity()) result.specials = "inf, ";
    result.specials += format.has_nan() ? "NaN" : "none";
    if (format.is_table()) return describe_table(result);
    result.largest = number(format.max_finite_magnitude());
    result.smallest_normal = number(format.has_subnormals ? format.fraction_mask() + 1 : 0);
    result.smallest_positive = number(format.has_subnormals ? 1 : 0);
    result.epsilon = std::bit_cast<double>(static_cast<std::uint64_t>(1023 - format.fraction_bits) << 52);
    if (!format.has_subnormals) result.specials += ", no zero";
    return result;
}

}  // namespace ulp
