// Comparisons, minimum and maximum, and the class of a number, on storage words.
#pragma once

#include "softfloat/arithmetic.hpp"

namespace ulp {

enum class Order : std::int8_t { less, equal, greater, unordered };

/// A number's place in the order of all: magnitudes count up from zero, negative ones down. Not for NaN.
constexpr std::int64_t order_key(const FloatFormat& format, std::uint64_t bits) {
    ULPLAB_OF_TABLE(format, tables::rank(format, bits));
    const auto magnitude = static_cast<std::int64_t>(magnitude_of(format, bits));
    return sign_of(format, bits) ? -magnitude : magnitude;
}

/// The order of two values; -0 equals +0. A signalling NaN raises invalid (the quiet predicates of IEEE 754-2019
/// section 5.11, such as ==).
constexpr Order compare_bits(const FloatFormat& format, std::uint64_t a, std::uint64_t b, Context& context) {
    if (is_nan(format, a) || is_nan(format, b)) {
        if (is_signaling(format, a) || is_signaling(format, b)) context.flags |= flag::invalid;
        return Order::unordered;
    }
    const std::int64_t key_a = order_key(format, a);
    const std::int64_t key_b = order_key(format, b);
    if (key_a == key_b) return Order::equal;
    return key_a < key_b ? Order::less : Order::greater;
}

/// The same, but any NaN raises invalid (the signalling predicates, such as <).
constexpr Order compare_signaling_bits(const FloatFormat& format, std::uint64_t a, std::uint64_t b, Context& context) {
    const Order order = compare_bits(format, a, b, context);
    if (order == Order::unordered) context.flags |= flag::invalid;
    return order;
}

/// The lesser or greater of two numbers, -0 below +0.
constexpr std::uint64_t lesser_bits(const FloatFormat& format, std::uint64_t a, std::uint64_t b) {
    const std::int64_t key_a = order_key(format, a);
    const std::int64_t key_b = order_key(format, b);
    if (key_a == key_b) return sign_of(format, a) ? a : b;
    return key_a < key_b ? a : b;
}
constexpr std::uint64_t greater_bits(const FloatFormat& format, std::uint64_t a, std::uint64_t b) {
    return lesser_bits(format, a, b) == a ? b : a;
}

/// IEEE 754-2019 section 9.6 minimum and maximum: a NaN operand gives NaN.
constexpr std::uint64_t minimum_bits(const FloatFormat& format, std::uint64_t a, std::uint64_t b, Context& context) {
    if (is_nan(format, a) || is_nan(format, b)) return propagate_nan(format, a, b, context);
    return lesser_bits(format, a, b);
}
constexpr std::uint64_t maximum_bits(const FloatFormat& format, std::uint64_t a, std::uint64_t b, Context& context) {
    if (is_nan(format, a) || is_nan(format, b)) return propagate_nan(format, a, b, context);
    return greater_bits(format, a, b);
}

/// minimumNumber and maximumNumber: of a NaN and a number, the number (a signalling NaN raises invalid all the same).
constexpr std::uint64_t minimum_number_bits(const FloatFormat& format, std::uint64_t a, std::uint64_t b,
                                            Context& context) {
    if (is_nan(format, a) && is_nan(format, b)) return propagate_nan(format, a, b, context);
    if (is_signaling(format, a) || is_signaling(format, b)) context.flags |= flag::invalid;
    if (is_nan(format, a)) return b;
    return is_nan(format, b) ? a : lesser_bits(format, a, b);
}
constexpr std::uint64_t maximum_number_bits(const FloatFormat& format, std::uint64_t a, std::uint64_t b,
                                            Context& context) {
    if (is_nan(format, a) && is_nan(format, b)) return propagate_nan(format, a, b, context);
    if (is_signaling(format, a) || is_signaling(format, b)) context.flags |= flag::invalid;
    if (is_nan(format, a)) return b;
    return is_nan(format, b) ? a : greater_bits(format, a, b);
}

/// IEEE 754-2019 section 5.7.2.
enum class NumberClass : std::uint8_t {
    signaling_nan,
    quiet_nan,
    negative_infinity,
    negative_normal,
    negative_subnormal,
    negative_zero,
    positive_zero,
    positive_subnormal,
    positive_normal,
    positive_infinity
};

constexpr NumberClass classify_bits(const FloatFormat& format, std::uint64_t bits) {
    if (is_nan(format, bits)) {
        return is_signaling(format, bits) ? NumberClass::signaling_nan : NumberClass::quiet_nan;
    }
    const bool sign = sign_of(format, bits);
    if (is_infinity(format, bits)) return sign ? NumberClass::negative_infinity : NumberClass::positive_infinity;
    const std::uint64_t magnitude = magnitude_of(format, bits);
    const bool table_zero = format.is_table() && decode(format, bits).kind == Kind::zero;
    if (table_zero) return sign ? NumberClass::negative_zero : NumberClass::positive_zero;
    if (!format.has_subnormals || magnitude > format.fraction_mask()) {
        return sign ? NumberClass::negative_normal : NumberClass::positive_normal;
    }
    if (magnitude == 0) return sign ? NumberClass::negative_zero : NumberClass::positive_zero;
    return sign ? NumberClass::negative_subnormal : NumberClass::positive_subnormal;
}

static_assert(lesser_bits(formats::fp16, 0x0000, 0x8000) == 0x8000 && greater_bits(formats::fp16, 0, 0x8000) == 0);
static_assert(classify_bits(formats::fp16, 0x83FF) == NumberClass::negative_subnormal);

}  // namespace ulp
