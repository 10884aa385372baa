#include "softfloat/lab/testfloat.hpp"

#include <algorithm>
#include <istream>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>

#include "softfloat/errors.hpp"
#include "softfloat/float.hpp"
#include "softfloat/names.hpp"

namespace ulp::testfloat {

namespace {

constexpr std::uint64_t word(UInt128 x) { return static_cast<std::uint64_t>(x); }

UInt128 convert_float(const Operation& op, const Operands& x, Context& context) {
    return convert_bits(op.result, op.format, word(x[0]), context);
}
template <class Integer>
UInt128 to_integer(const Operation& op, const Operands& x, Context& context) {
    return static_cast<std::make_unsigned_t<Integer>>(integer_from_bits<Integer>(op.format, word(x[0]), context));
}
template <class Integer>
UInt128 from_integer(const Operation& op, const Operands& x, Context& context) {
    return bits_from_integer(op.format, static_cast<Integer>(x[0]), context);
}
// Of the words' arithmetic the wider one serves every format: the bits do not depend on it.
template <std::uint64_t (*operation)(const FloatFormat&, std::uint64_t, std::uint64_t, Context&)>
UInt128 binary(const Operation& op, const Operands& x, Context& context) {
    return operation(op.format, word(x[0]), word(x[1]), context);
}
UInt128 square_root(const Operation& op, const Operands& x, Context& context) {
    return sqrt_bits<UInt128>(op.format, word(x[0]), context);
}
UInt128 multiply_add(const Operation& op, const Operands& x, Context& context) {
    return fma_bits<UInt128>(op.format, word(x[0]), word(x[1]), word(x[2]), context);
}
UInt128 round_to_integral(const Operation& op, const Operands& x, Context& context) {
    return round_to_integral_bits(op.format, word(x[0]), context);
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
UInt128 to_long(const Operation& op, const Operands& x, Context& context) {
    const auto value = decode<std::uint64_t>(op.format, word(x[0]));
    const UInt128 top = one << to.fraction_bits;  // the leading bit
    const auto encoded = [&](bool sign, int field, UInt128 significand) {
        const UInt128 kept = to.hidden_bit ? significand & (top - 1) : significand;
        return (static_cast<UInt128>(sign ? 0x8000 : 0) + static_cast<UInt128>(field)) << to.stored_bits() | kept;
    };
    if (value.kind == Kind::nan && is_signaling(op.format, word(x[0]))) context.flags |= flag::invalid;
    if (value.kind == Kind::nan) return encoded(false, 0x7FFF, top | top >> 1);
    if (value.kind == Kind::infinity) return encoded(value.sign, 0x7FFF, top);
    if (value.kind == Kind::zero) return encoded(value.sign, 0, 0);
    const int leading = bit_length(value.significand) - 1;
    const UInt128 significand = static_cast<UInt128>(value.significand) << (to.fraction_bits - leading);
    return encoded(value.sign, value.exponent + leading + long_bias, significand);
}

/// Words of 80 bits whose leading bit does not fit their exponent count as the number that they spell.
template <const LongFormat& from>
UInt128 from_long(const Operation& op, const Operands& x, Context& context) {
    const UInt128 stored = x[0] & ((one << from.stored_bits()) - 1);
    const auto high = static_cast<int>(x[0] >> from.stored_bits());
    const bool sign = (high & 0x8000) != 0;
    const int field = high & 0x7FFF;
    const UInt128 fraction = stored & ((one << from.fraction_bits) - 1);
    if (field == 0x7FFF) {
        if (fraction == 0) return infinite_bits(op.format, sign, context);
        if ((fraction >> (from.fraction_bits - 1)) == 0) context.flags |= flag::invalid;
        return op.format.has_nan() ? nan_bits(op.format) : invalid_bits(op.format, context);
    }
    const bool hidden = from.hidden_bit && field != 0;
    const UInt128 significand = hidden ? stored | one << from.fraction_bits : stored;
    const int exponent = (field == 0 ? 1 : field) - long_bias - from.fraction_bits;
    return round_to_bits(op.format, sign, exponent, significand, context);
}

enum class Predicate : std::uint8_t { equal, less, less_or_equal };
template <Predicate predicate, bool signaling>
UInt128 compare(const Operation& op, const Operands& x, Context& context) {
    const Order order = signaling ? compare_signaling_bits(op.format, word(x[0]), word(x[1]), context)
                                  : compare_bits(op.format, word(x[0]), word(x[1]), context);
    const bool equal = order == Order::equal;
    const bool less = order == Order::less;
    return (predicate != Predicate::less && equal) || (predicate != Predicate::equal && less) ? 1 : 0;
}

using Compute = UInt128 (*)(const Operation&, const Operands&, Context&);

/// What follows FORMAT_ in the name of an operation on one format.
struct Suffix {
    std::string_view name;
    int operands;
    bool truth_value;
    Compute compute;
};
constexpr std::array suffixes{
    Suffix{"add", 2, false, binary<add_bits<UInt128>>},
    Suffix{"sub", 2, false, binary<subtract_bits<UInt128>>},
    Suffix{"mul", 2, false, binary<multiply_bits<UInt128>>},
    Suffix{"mulAdd", 3, false, multiply_add},
    Suffix{"div", 2, false, binary<divide_bits<UInt128>>},
    Suffix{"rem", 2, false, binary<remainder_bits<UInt128>>},
    Suffix{"sqrt", 1, false, square_root},
    Suffix{"roundToInt", 1, false, round_to_integral},
    Suffix{"eq", 2, true, compare<Predicate::equal, false>},
    Suffix{"le", 2, true, compare<Predicate::less_or_equal, true>},
    Suffix{"lt", 2, true, compare<Predicate::less, true>},
    Suffix{"eq_signaling", 2, true, compare<Predicate::equal, true>},
    Suffix{"le_quiet", 2, true, compare<Predicate::less_or_equal, false>},
    Suffix{"lt_quiet", 2, true, compare<Predicate::less, false>},
};

/// What a format is converted to and from besides formats.
struct OtherType {
    std::string_view name;
    int bits;
    bool integer;
    Compute to, from;
};
constexpr std::array other_types{
    OtherType{"ui32", 32, true, to_integer<std::uint32_t>, from_integer<std::uint32_t>},
    OtherType{"ui64", 64, true, to_integer<std::uint64_t>, from_integer<std::uint64_t>},
    OtherType{"i32", 32, true, to_integer<std::int32_t>, from_integer<std::int32_t>},
    OtherType{"i64", 64, true, to_integer<std::int64_t>, from_integer<std::int64_t>},
    OtherType{"extF80", 80, false, to_long<ext_f80>, from_long<ext_f80>},
    OtherType{"f128", 128, false, to_long<f128>, from_long<f128>},
};

const OtherType* other_type(std::string_view name) {
    const auto* const found = std::ranges::find(other_types, name, &OtherType::name);
    return found == other_types.end() ? nullptr : &*found;
}

std::optional<FloatFormat> format_named(std::string_view name) {
    try {
        return format_by_name(name);
    } catch (const std::invalid_argument&) {
        return std::nullopt;
    }
}

std::optional<Operation> conversion(std::string_view name, std::string_view from, std::string_view to) {
    const auto source = format_named(from), result = format_named(to);
    const std::string own(name);
    if (source && result) {
        return Operation{own,     1,       source->storage_bits(), result->storage_bits(), false,
                         *source, *result, convert_float};
    }
    if (const OtherType* type = other_type(to); source && type != nullptr) {
        if (!type->integer && (source->emax() > long_bias || source->smallest_exponent() < -long_bias)) {
            throw std::invalid_argument(std::string(from) + " reaches beyond " + std::string(to) + ", from 2^" +
                                        std::to_string(source->smallest_exponent()) + " to 2^" +
                                        std::to_string(source->emax()) + "; choose a narrower format");
        }
        return Operation{own, 1, source->storage_bits(), type->bits, type->integer, *source, {}, type->to};
    }
    if (const OtherType* type = other_type(from); result && type != nullptr) {
        return Operation{own, 1, type->bits, result->storage_bits(), false, *result, {}, type->from};
    }
    return std::nullopt;
}

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
        if (operation.operand_bits < 128 && operand >> operation.operand_bits != 0) {
            fail("has '" + std::string(field) + "', which has more than " + std::to_string(operation.operand_bits) +
                 " bits, as operand " + std::to_string(i + 1));
        }
        operands[static_cast<std::size_t>(i)] = operand;
        place = end;
    }
    return operands;
}

}  // namespace

Operation operation_by_name(std::string_view name) {
    if (const std::size_t at = name.find("_to_"); at != std::string_view::npos) {
        if (const auto found = conversion(name, name.substr(0, at), name.substr(at + 4))) return *found;
    }
    std::string known;
    for (const Suffix& row : suffixes) {
        known += std::string(row.name) + ", ";
        if (name.size() <= row.name.size() + 1 || !name.ends_with(row.name)) continue;
        const std::size_t format_end = name.size() - row.name.size() - 1;
        const auto format = name[format_end] == '_' ? format_named(name.substr(0, format_end)) : std::nullopt;
        if (!format) continue;
        const int bits = format->storage_bits();
        const bool to_integer = row.compute == round_to_integral;
        return {std::string(name), row.operands, bits,          row.truth_value ? 1 : bits,
                to_integer,        *format,      FloatFormat{}, row.compute};
    }
    throw std::invalid_argument(
        "there is no operation '" + std::string(name) +
        "'; give FORMAT_OP, such as f16_add or e4m3_mulAdd, with a format by name (`ulplab formats`) and one of " +
        known +
        "or X_to_Y, such as f32_to_bf16, with two formats, or a format and ui32, ui64, i32, i64, extF80 or f128");
}

void filter(const Operation& operation, const Options& options, std::istream& in, std::ostream& out) {
    std::string line;
    std::string result;
    for (std::size_t number = 1; std::getline(in, line); ++number) {
        const Operands operands = parse_line(operation, line, number);
        Context context{.rounding = options.rounding, .tininess = options.tininess};
        const UInt128 answer = operation(operands, context);
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
