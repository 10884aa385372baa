#include "softfloat/lab/testfloat.hpp"

#include <istream>
#include <ostream>
#include <stdexcept>
#include <string>

#include "softfloat/errors.hpp"
#include "softfloat/float.hpp"

namespace ulp::testfloat {

namespace {

constexpr FloatFormat f16 = formats::fp16;

constexpr std::uint64_t word(UInt128 x) { return static_cast<std::uint64_t>(x); }

template <FloatFormat To, FloatFormat From>
UInt128 convert_float(const Operands& x, Context& context) {
    return convert_bits(To, From, word(x[0]), context);
}
template <class Integer>
UInt128 to_integer(const Operands& x, Context& context) {
    return static_cast<std::make_unsigned_t<Integer>>(integer_from_bits<Integer>(f16, word(x[0]), context));
}
template <class Integer>
UInt128 from_integer(const Operands& x, Context& context) {
    return bits_from_integer(f16, static_cast<Integer>(x[0]), context);
}
template <std::uint64_t (*operation)(const FloatFormat&, std::uint64_t, std::uint64_t, Context&)>
UInt128 binary(const Operands& x, Context& context) {
    return operation(f16, word(x[0]), word(x[1]), context);
}
UInt128 square_root(const Operands& x, Context& context) { return sqrt_bits<std::uint64_t>(f16, word(x[0]), context); }
UInt128 multiply_add(const Operands& x, Context& context) {
    return fma_bits<std::uint64_t>(f16, word(x[0]), word(x[1]), word(x[2]), context);
}
UInt128 round_to_integral(const Operands& x, Context& context) {
    return round_to_integral_bits(f16, word(x[0]), context);
}

/// The formats beyond fp64, which FloatFormat does not hold: 15 exponent bits, and a significand with its leading bit
/// written (80 bits) or hidden (128 bits).
struct LongFormat {
    int fraction_bits;
    bool hidden_bit;
    [[nodiscard]] constexpr int stored_bits() const { return fraction_bits + (hidden_bit ? 0 : 1); }
};
constexpr LongFormat ext_f80{63, false};
constexpr LongFormat f128{112, true};
constexpr int long_bias = 16383;
constexpr UInt128 one = 1;

template <const LongFormat& to>
UInt128 to_long(const Operands& x, Context& context) {
    const auto value = decode<std::uint64_t>(f16, word(x[0]));
    const UInt128 top = one << to.fraction_bits;  // the leading bit
    const auto encoded = [&](bool sign, int field, UInt128 significand) {
        const UInt128 kept = to.hidden_bit ? significand & (top - 1) : significand;
        return (static_cast<UInt128>(sign ? 0x8000 : 0) + static_cast<UInt128>(field)) << to.stored_bits() | kept;
    };
    if (value.kind == Kind::nan && is_signaling(f16, word(x[0]))) context.flags |= flag::invalid;
    if (value.kind == Kind::nan) return encoded(false, 0x7FFF, top | top >> 1);
    if (value.kind == Kind::infinity) return encoded(value.sign, 0x7FFF, top);
    if (value.kind == Kind::zero) return encoded(value.sign, 0, 0);
    const int leading = bit_length(value.significand) - 1;
    const UInt128 significand = static_cast<UInt128>(value.significand) << (to.fraction_bits - leading);
    return encoded(value.sign, value.exponent + leading + long_bias, significand);
}

/// Words of 80 bits whose leading bit does not fit their exponent count as the number that they spell.
template <const LongFormat& from>
UInt128 from_long(const Operands& x, Context& context) {
    const UInt128 stored = x[0] & ((one << from.stored_bits()) - 1);
    const auto high = static_cast<int>(x[0] >> from.stored_bits());
    const bool sign = (high & 0x8000) != 0;
    const int field = high & 0x7FFF;
    const UInt128 fraction = stored & ((one << from.fraction_bits) - 1);
    if (field == 0x7FFF) {
        if (fraction == 0) return infinite_bits(f16, sign, context);
        if ((fraction >> (from.fraction_bits - 1)) == 0) context.flags |= flag::invalid;
        return nan_bits(f16);
    }
    const bool hidden = from.hidden_bit && field != 0;
    const UInt128 significand = hidden ? stored | one << from.fraction_bits : stored;
    const int exponent = (field == 0 ? 1 : field) - long_bias - from.fraction_bits;
    return round_to_bits(f16, sign, exponent, significand, context);
}

enum class Predicate : std::uint8_t { equal, less, less_or_equal };
template <Predicate predicate, bool signaling>
UInt128 compare(const Operands& x, Context& context) {
    const Order order = signaling ? compare_signaling_bits(f16, word(x[0]), word(x[1]), context)
                                  : compare_bits(f16, word(x[0]), word(x[1]), context);
    const bool equal = order == Order::equal;
    const bool less = order == Order::less;
    return (predicate != Predicate::less && equal) || (predicate != Predicate::equal && less) ? 1 : 0;
}

constexpr std::array rows{
    Operation{"ui32_to_f16", 1, 32, 16, false, from_integer<std::uint32_t>},
    Operation{"ui64_to_f16", 1, 64, 16, false, from_integer<std::uint64_t>},
    Operation{"i32_to_f16", 1, 32, 16, false, from_integer<std::int32_t>},
    Operation{"i64_to_f16", 1, 64, 16, false, from_integer<std::int64_t>},
    Operation{"f16_to_ui32", 1, 16, 32, true, to_integer<std::uint32_t>},
    Operation{"f16_to_ui64", 1, 16, 64, true, to_integer<std::uint64_t>},
    Operation{"f16_to_i32", 1, 16, 32, true, to_integer<std::int32_t>},
    Operation{"f16_to_i64", 1, 16, 64, true, to_integer<std::int64_t>},
    Operation{"f16_to_f32", 1, 16, 32, false, convert_float<formats::fp32, f16>},
    Operation{"f16_to_f64", 1, 16, 64, false, convert_float<formats::fp64, f16>},
    Operation{"f16_to_extF80", 1, 16, 80, false, to_long<ext_f80>},
    Operation{"f16_to_f128", 1, 16, 128, false, to_long<f128>},
    Operation{"f32_to_f16", 1, 32, 16, false, convert_float<f16, formats::fp32>},
    Operation{"f64_to_f16", 1, 64, 16, false, convert_float<f16, formats::fp64>},
    Operation{"extF80_to_f16", 1, 80, 16, false, from_long<ext_f80>},
    Operation{"f128_to_f16", 1, 128, 16, false, from_long<f128>},
    Operation{"bf16_to_f32", 1, 16, 32, false, convert_float<formats::fp32, formats::bf16>},
    Operation{"f32_to_bf16", 1, 32, 16, false, convert_float<formats::bf16, formats::fp32>},
    Operation{"f16_roundToInt", 1, 16, 16, true, round_to_integral},
    Operation{"f16_add", 2, 16, 16, false, binary<add_bits<std::uint64_t>>},
    Operation{"f16_sub", 2, 16, 16, false, binary<subtract_bits<std::uint64_t>>},
    Operation{"f16_mul", 2, 16, 16, false, binary<multiply_bits<std::uint64_t>>},
    Operation{"f16_mulAdd", 3, 16, 16, false, multiply_add},
    Operation{"f16_div", 2, 16, 16, false, binary<divide_bits<std::uint64_t>>},
    Operation{"f16_rem", 2, 16, 16, false, binary<remainder_bits<std::uint64_t>>},
    Operation{"f16_sqrt", 1, 16, 16, false, square_root},
    Operation{"f16_eq", 2, 16, 1, false, compare<Predicate::equal, false>},
    Operation{"f16_le", 2, 16, 1, false, compare<Predicate::less_or_equal, true>},
    Operation{"f16_lt", 2, 16, 1, false, compare<Predicate::less, true>},
    Operation{"f16_eq_signaling", 2, 16, 1, false, compare<Predicate::equal, true>},
    Operation{"f16_le_quiet", 2, 16, 1, false, compare<Predicate::less_or_equal, false>},
    Operation{"f16_lt_quiet", 2, 16, 1, false, compare<Predicate::less, false>},
};

int digits_of(int bits) { return (bits + 3) / 4; }

void append_hex(std::string& text, UInt128 x, int bits) {
    for (int digit = digits_of(bits) - 1; digit >= 0; --digit) {
        text += "0123456789ABCDEF"[static_cast<std::size_t>(x >> (digit * 4) & 15)];
    }
}

int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// The operands at the start of a line.
Operands parse_line(const Operation& operation, std::string_view line, std::size_t number) {
    const auto fail = [&](const std::string& what) {
        throw DataError("line " + std::to_string(number) + " " + what + "; " + std::string(operation.name) + " reads " +
                        std::to_string(operation.operand_count) + " operands of " +
                        std::to_string(digits_of(operation.operand_bits)) + " hexadecimal digits from each line");
    };
    Operands operands{};
    std::size_t place = 0;
    for (int i = 0; i < operation.operand_count; ++i) {
        place = std::min(line.find_first_not_of(" \t\r", place), line.size());
        const std::size_t end = std::min(line.find_first_of(" \t\r", place), line.size());
        const std::string_view field = line.substr(place, end - place);
        if (field.empty()) fail("has only " + std::to_string(i) + " fields");
        if (field.size() != static_cast<std::size_t>(digits_of(operation.operand_bits))) {
            fail("has '" + std::string(field) + "' as operand " + std::to_string(i + 1));
        }
        UInt128 operand = 0;
        for (const char c : field) {
            if (hex_value(c) < 0) fail("has '" + std::string(field) + "' as operand " + std::to_string(i + 1));
            operand = operand << 4 | static_cast<UInt128>(hex_value(c));
        }
        operands[static_cast<std::size_t>(i)] = operand;
        place = end;
    }
    return operands;
}

}  // namespace

std::span<const Operation> operations() { return rows; }

const Operation& operation_by_name(std::string_view name) {
    std::string names;
    for (const Operation& row : rows) {
        if (row.name == name) return row;
        names += (names.empty() ? "" : ", ") + std::string(row.name);
    }
    throw std::invalid_argument("there is no operation '" + std::string(name) + "'; choose one of " + names);
}

void filter(const Operation& operation, const Options& options, std::istream& in, std::ostream& out) {
    std::string line;
    std::string result;
    for (std::size_t number = 1; std::getline(in, line); ++number) {
        const Operands operands = parse_line(operation, line, number);
        Context context{.rounding = options.rounding, .tininess = options.tininess};
        const UInt128 answer = operation.compute(operands, context);
        if (operation.to_integer && !options.exact) context.flags &= ~flag::inexact;
        result.clear();
        for (int i = 0; i < operation.operand_count; ++i) {
            append_hex(result, operands[static_cast<std::size_t>(i)], operation.operand_bits);
            result += ' ';
        }
        append_hex(result, answer, operation.result_bits);
        result += ' ';
        append_hex(result, context.flags, 8);
        result += '\n';
        out << result;
    }
}

}  // namespace ulp::testfloat
