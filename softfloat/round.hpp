// Decoding a code to an exact value, and the one rounding function that encodes an exact value.
#pragma once

#include <bit>
#include <stdexcept>

#include "softfloat/context.hpp"
#include "softfloat/format.hpp"
#include "softfloat/support/bits.hpp"

namespace ulp {

enum class Kind : std::uint8_t { zero, finite, infinity, nan };

/// An exact value: (-1)^sign * significand * 2^exponent where kind is finite. Not normalised: a subnormal keeps
/// its leading zeros. Word is std::uint64_t or UInt128.
template <class Word>
struct Unpacked {
    Kind kind;
    bool sign;
    int exponent;
    Word significand;
};

// Formats whose values stand in a table (softfloat/value_table.hpp): what the functions below give for them.
#ifdef __CUDA_ARCH__
#define ULPLAB_OF_TABLE(format, expression)
#else
#define ULPLAB_OF_TABLE(format, expression) \
    if ((format).is_table()) return expression
namespace tables {
Unpacked<std::uint64_t> decode(const FloatFormat& format, std::uint64_t bits);
std::uint64_t nan_bits(const FloatFormat& format);
std::uint64_t infinity_bits(const FloatFormat& format, bool sign);
std::uint64_t largest_bits(const FloatFormat& format, bool sign);
std::uint64_t zero_bits(const FloatFormat& format, bool sign, Context& context);
std::int64_t rank(const FloatFormat& format, std::uint64_t bits);  // in the order of the numbers
std::uint64_t neighbour(const FloatFormat& format, std::uint64_t bits, bool up);
std::uint64_t round(const FloatFormat& format, bool sign, int exponent, UInt128 significand, Context& context);
}  // namespace tables
#endif

constexpr bool sign_of(const FloatFormat& format, std::uint64_t bits) {
    ULPLAB_OF_TABLE(format, tables::decode(format, bits).sign);
    return format.has_sign && ((bits >> (format.storage_bits() - 1)) & 1) != 0;
}
/// Exponent field and fraction, right-aligned; padding and sign dropped.
constexpr std::uint64_t magnitude_of(const FloatFormat& format, std::uint64_t bits) {
    return (bits >> format.padding_bits) & format.magnitude_mask();
}
/// The storage word from a sign and a magnitude code. A sign on the zero of a format without -0 is dropped.
constexpr std::uint64_t pack(const FloatFormat& format, bool sign, std::uint64_t magnitude) {
    const bool keep_sign = sign && format.has_sign && (magnitude != 0 || format.has_negative_zero());
    const std::uint64_t sign_bit = keep_sign ? std::uint64_t{1} << (format.code_bits() - 1) : 0;
    return (sign_bit | magnitude) << format.padding_bits;
}

constexpr std::uint64_t nan_bits(const FloatFormat& format) {
    ULPLAB_OF_TABLE(format, tables::nan_bits(format));
    return format.nan_code() << format.padding_bits;
}
constexpr bool is_nan(const FloatFormat& format, std::uint64_t bits) {
    ULPLAB_OF_TABLE(format, tables::decode(format, bits).kind == Kind::nan);
    const std::uint64_t magnitude = magnitude_of(format, bits);
    switch (format.specials) {
        case Specials::ieee: return magnitude > format.infinity_magnitude();
        case Specials::all_ones_nan: return magnitude == format.magnitude_mask();
        case Specials::negative_zero_nan: return sign_of(format, bits) && magnitude == 0;
        case Specials::one_nan_infinity:
            return format.has_sign ? sign_of(format, bits) && magnitude == 0 : magnitude == format.magnitude_mask();
        case Specials::none:
        case Specials::table: return false;
    }
    return false;
}
constexpr bool is_infinity(const FloatFormat& format, std::uint64_t bits) {
    ULPLAB_OF_TABLE(format, tables::decode(format, bits).kind == Kind::infinity);
    return format.has_infinity() && magnitude_of(format, bits) == format.infinity_magnitude();
}
/// The largest finite number of that sign.
constexpr std::uint64_t largest_bits(const FloatFormat& format, bool sign) {
    ULPLAB_OF_TABLE(format, tables::largest_bits(format, sign));
    return pack(format, sign, format.max_finite_magnitude());
}
/// What follows the largest number of that sign: infinity; the NaN of formats that have none; the largest number where
/// there is neither.
constexpr std::uint64_t beyond_bits(const FloatFormat& format, bool sign) {
    ULPLAB_OF_TABLE(format, tables::infinity_bits(format, sign));
    if (format.has_infinity()) return pack(format, sign, format.infinity_magnitude());
    if (format.specials == Specials::negative_zero_nan) return nan_bits(format);
    return format.has_nan() ? pack(format, sign, format.nan_code()) : largest_bits(format, sign);
}
/// What stands for an infinity of that sign: what follows the largest number, or that itself.
constexpr std::uint64_t infinity_bits(const FloatFormat& format, bool sign) {
    return format.largest_for_infinity ? largest_bits(format, sign) : beyond_bits(format, sign);
}

/// -x: the other sign, also on a NaN that has one. Without a sign in the format there is no -x: NaN.
constexpr std::uint64_t negate_bits(const FloatFormat& format, std::uint64_t bits) {
    if (!format.has_sign) return nan_bits(format);
    if (format.has_nan_for_negative_zero() && is_nan(format, bits)) return bits;
#ifndef __CUDA_ARCH__
    if (format.is_table()) {
        const auto value = tables::decode(format, bits);
        Context exact;
        if (value.kind == Kind::nan) return bits;
        if (value.kind == Kind::infinity) return tables::infinity_bits(format, !value.sign);
        return tables::round(format, !value.sign, value.exponent, value.significand, exact);
    }
#endif
    return pack(format, !sign_of(format, bits), magnitude_of(format, bits));
}

/// The exact value of a storage word. Bits of the padding are ignored.
template <class Word = std::uint64_t>
constexpr Unpacked<Word> decode(const FloatFormat& format, std::uint64_t bits) {
#ifndef __CUDA_ARCH__
    if (format.is_table()) {
        const auto value = tables::decode(format, bits);
        return {value.kind, value.sign, value.exponent, static_cast<Word>(value.significand)};
    }
#endif
    const bool sign = sign_of(format, bits);
    if (is_nan(format, bits)) return {Kind::nan, sign, 0, 0};
    if (is_infinity(format, bits)) return {Kind::infinity, sign, 0, 0};
    const std::uint64_t magnitude = magnitude_of(format, bits);
    const auto field = static_cast<int>(magnitude >> format.fraction_bits);
    const std::uint64_t fraction = magnitude & format.fraction_mask();
    if (!format.has_subnormals) {
        return {Kind::finite, sign, field - format.bias - format.fraction_bits,
                static_cast<Word>(fraction | (format.fraction_mask() + 1))};
    }
    if (magnitude == 0) return {Kind::zero, sign, 0, 0};
    if (field == 0) return {Kind::finite, sign, format.smallest_exponent(), static_cast<Word>(fraction)};
    return {Kind::finite, sign, field - format.bias - format.fraction_bits,
            static_cast<Word>(fraction | (format.fraction_mask() + 1))};
}

/// Where an exact value lies between two neighbours of the result's grid.
///
///     kept . half sticky...        the cut is between `kept` and `half`
struct Discarded {
    bool half;               // the first dropped bit
    bool sticky;             // any bit below it
    std::uint64_t top_bits;  // the first Context::random_bits dropped bits, for stochastic rounding
    bool next = false;       // the bit below them
    bool below = false;      // any bit below that one
    [[nodiscard]] constexpr bool any() const { return half || sticky; }
};

/// Whether the context can round. Stochastic rounding without random bits cannot: std::invalid_argument on the host
/// (no constant expression), false on a GPU, which has no exceptions.
constexpr bool can_round(const Context& context) {
    if (!is_stochastic(context.rounding)) return true;
    if (context.random_bits >= 1 && context.random_bits <= 32) return true;
#ifndef __CUDA_ARCH__
    throw std::invalid_argument(
        "stochastic rounding needs 1 to 32 random bits: set random_bits, and `random` (arrays: `seed`)");
#else
    return false;
#endif
}

/// Whether the magnitude is rounded up to the next neighbour. `odd` is the last kept bit.
constexpr bool rounds_up(const Context& context, bool sign, bool odd, const Discarded& discarded) {
    switch (context.rounding) {
        case Rounding::nearest_even: return discarded.half && (discarded.sticky || odd);
        case Rounding::nearest_away: return discarded.half;
        case Rounding::toward_zero: return false;
        case Rounding::down: return sign && discarded.any();
        case Rounding::up: return !sign && discarded.any();
        case Rounding::odd: return !odd && discarded.any();
        case Rounding::stochastic:
        case Rounding::stochastic_b:
        case Rounding::stochastic_c: {
            const std::uint64_t random = context.random & ((std::uint64_t{1} << context.random_bits) - 1);
            // What B and C add: half a unit of the random number, to odd and to nearest even.
            const bool above = context.rounding == Rounding::stochastic_b ? discarded.next
                               : context.rounding == Rounding::stochastic_c
                                   ? discarded.next && (discarded.below || (discarded.top_bits & 1) != 0)
                                   : false;
            return ((discarded.top_bits + random + (above ? 1 : 0)) >> context.random_bits) != 0;
        }
    }
    return false;
}

/// significand split at `cut` bits from the right; cut may exceed the word.
template <class Word>
struct Split {
    Word kept;
    Discarded discarded;
};
template <class Word>
constexpr Split<Word> split_at(Word significand, int cut, int random_bits) {
    constexpr int width = word_bits<Word>;
    if (cut <= 0) return {significand << -cut, {false, false, 0}};
    const Word kept = cut < width ? significand >> cut : Word{0};
    // The dropped bits, moved so that the first one is the top bit of the word.
    Word rest = 0;
    if (cut <= width) {
        rest = significand << (width - cut);
    } else {
        rest = shift_right_jam(significand, cut - width);
    }
    const bool half = (rest >> (width - 1)) != 0;
    const bool sticky = static_cast<Word>(rest << 1) != 0;
    if (random_bits == 0) return {kept, {half, sticky, 0}};
    const Word lower = rest << random_bits;
    return {kept,
            {half, sticky, static_cast<std::uint64_t>(rest >> (width - random_bits)), (lower >> (width - 1)) != 0,
             static_cast<Word>(lower << 1) != 0}};
}

/// What an invalid operation gives: the format's quiet NaN. Formats without NaN have their largest number there, as
/// NVIDIA's conversions to FP6 and FP4 do (PTX ISA, cvt with .satfinite).
constexpr std::uint64_t invalid_bits(const FloatFormat& format, Context& context) {
    context.flags |= flag::invalid;
    return format.has_nan() ? nan_bits(format) : largest_bits(format, false);
}

/// What a result beyond the largest number gives: the context's rule, else the format's.
constexpr Saturation::Mode saturation_of(const FloatFormat& format, const Context& context) {
    return context.saturate ? context.saturate.mode : format.saturation.mode;
}

/// What a number below zero gives in a format without sign that has a zero: zero where the context saturates or the
/// rounding points inward, else the operation is invalid (IEEE P3109, interim report 4.0, 4.7.5).
constexpr std::uint64_t below_zero_bits(const FloatFormat& format, bool inward, Context& context) {
    const bool clamped = inward || saturation_of(format, context) != Saturation::ovf_inf;
    if (!clamped || !format.has_subnormals) return invalid_bits(format, context);
    context.flags |= flag::overflow | flag::inexact;
    return pack(format, false, 0);
}

/// What an infinite result gives: infinity, or the largest finite number if the context saturates: with sat_propagate
/// in formats without infinity. A negative one does not exist in a format without sign.
constexpr std::uint64_t infinite_bits(const FloatFormat& format, bool sign, Context& context) {
    if (sign && !format.has_sign) return below_zero_bits(format, false, context);
    const Saturation::Mode mode = saturation_of(format, context);
    const bool largest =
        mode == Saturation::sat_finite || (mode == Saturation::sat_propagate && !format.has_infinity());
    return largest ? largest_bits(format, sign) : infinity_bits(format, sign);
}

/// What an exactly zero result gives: zero, or the smallest number of a format that has no zero.
constexpr std::uint64_t zero_bits(const FloatFormat& format, bool sign, Context& context) {
    ULPLAB_OF_TABLE(format, tables::zero_bits(format, sign, context));
    if (!format.has_subnormals) {
        context.flags |= flag::underflow | flag::inexact;
        return pack(format, false, 0);
    }
    return pack(format, sign, 0);
}

/// What an overflow gives: an infinite result, or the largest finite number where the rounding points inward or the
/// context saturates. Rounding to odd points to infinity where that has the odd code (P3109's formats with a sign).
constexpr std::uint64_t overflow_bits(const FloatFormat& format, bool sign, Context& context) {
    if (sign && !format.has_sign) {
        const bool inward = context.rounding == Rounding::toward_zero || context.rounding == Rounding::up;
        return below_zero_bits(format, inward, context);
    }
    context.flags |= flag::overflow | flag::inexact;
    const bool odd_infinity = format.specials == Specials::one_nan_infinity && format.has_sign;
    const bool toward_infinity = context.rounding == Rounding::nearest_even ||
                                 context.rounding == Rounding::nearest_away || is_stochastic(context.rounding) ||
                                 (context.rounding == Rounding::odd && odd_infinity) ||
                                 context.rounding == (sign ? Rounding::down : Rounding::up);
    const bool infinite = toward_infinity && saturation_of(format, context) == Saturation::ovf_inf;
    return infinite ? infinite_bits(format, sign, context) : largest_bits(format, sign);
}

/// The rounding function: encodes (-1)^sign * significand * 2^exponent in the format.
///
/// The lowest bit of the significand may be a jammed sticky bit, provided the significand has at least precision + 3
/// bits (with stochastic rounding: precision + 1 + random_bits). Raises inexact, underflow and overflow.
template <class Word>
constexpr std::uint64_t round_to_bits(const FloatFormat& format, bool sign, int exponent, Word significand,
                                      Context& context) {
    if (significand == 0) return zero_bits(format, sign, context);
    ULPLAB_OF_TABLE(format, tables::round(format, sign, exponent, significand, context));
    if (!can_round(context)) return invalid_bits(format, context);
    const int leading = exponent + bit_length(significand) - 1;  // the value lies in [2^leading, 2^(leading+1))
    if (leading > format.emax()) return overflow_bits(format, sign, context);
    const int emin = format.emin();
    const int binade = leading > emin ? leading : emin;
    const int cut = binade - format.fraction_bits - exponent;  // bits below the unit in the last place
    const auto [kept, discarded] = split_at(significand, cut, context.random_bits);
    // A kept hidden bit alone is odd; its code is where the binade is, counted from the first code.
    const int first_code = emin - (format.has_subnormals ? 1 : 0);
    const bool odd = format.even_codes && kept != 0 ? ((binade - first_code) & 1) != 0 : (kept & 1) != 0;
    const bool up = rounds_up(context, sign, odd, discarded);
    const std::uint64_t rounded = static_cast<std::uint64_t>(kept) + (up ? 1 : 0);

    bool tiny = leading < emin;
    if (tiny && leading == emin - 1 && context.tininess == Tininess::after_rounding) {
        // Would it reach 2^emin with an unbounded exponent, that is, rounded one place finer?
        const auto [finer, rest] = split_at(significand, cut - 1, context.random_bits);
        const bool carries = rounds_up(context, sign, (finer & 1) != 0, rest);
        tiny = ((static_cast<std::uint64_t>(finer) + (carries ? 1 : 0)) >> format.precision()) == 0;
    }
    if (tiny && context.flush_outputs) {
        context.flags |= flag::underflow | flag::inexact;
        return pack(format, sign, 0);
    }
    if (sign && !format.has_sign && (rounded != 0 || !format.has_subnormals))
        return overflow_bits(format, sign, context);
    if (discarded.any()) context.flags |= flag::inexact | (tiny ? flag::underflow : 0);

    // A carry out of the significand moves into the exponent field by itself. A normal's hidden one adds 1 to the
    // field, so the field written here is one less; a subnormal (binade emin, no hidden one) comes out with field 0.
    const auto field = static_cast<std::uint64_t>(binade - emin);
    std::uint64_t magnitude = (field << format.fraction_bits) + rounded;
    if (!format.has_subnormals) {
        const std::uint64_t hidden = format.fraction_mask() + 1;
        magnitude = magnitude > hidden ? magnitude - hidden : 0;  // no zero in the format: the smallest number instead
    }
    if (magnitude > format.max_finite_magnitude()) return overflow_bits(format, sign, context);
    return pack(format, sign, magnitude);
}

/// An operand as the operations see it: subnormals are zeros if the context flushes inputs.
template <class Word>
constexpr Unpacked<Word> operand(const FloatFormat& format, std::uint64_t bits, const Context& context) {
    Unpacked<Word> value = decode<Word>(format, bits);
    const bool subnormal = format.has_subnormals && (magnitude_of(format, bits) >> format.fraction_bits) == 0;
    if (context.flush_inputs && subnormal && value.kind == Kind::finite) {
        return {Kind::zero, value.sign && format.has_negative_zero(), 0, 0};
    }
    return value;
}

/// Whether a NaN's quiet bit is clear (only IEEE-like formats have signalling NaNs).
constexpr bool is_signaling(const FloatFormat& format, std::uint64_t bits) {
    return format.specials == Specials::ieee && format.fraction_bits > 0 && is_nan(format, bits) &&
           ((magnitude_of(format, bits) >> (format.fraction_bits - 1)) & 1) == 0;
}

/// Converts between formats: decode exactly, round once. A NaN without a place in the new format is invalid.
constexpr std::uint64_t convert_bits(const FloatFormat& to, const FloatFormat& from, std::uint64_t bits,
                                     Context& context) {
    const auto value = operand<std::uint64_t>(from, bits, context);
    switch (value.kind) {
        case Kind::nan:
            if (is_signaling(from, bits) || !to.has_nan()) return invalid_bits(to, context);
            return nan_bits(to);
        case Kind::infinity: return infinite_bits(to, value.sign, context);
        case Kind::zero: return zero_bits(to, value.sign, context);
        case Kind::finite: break;
    }
    return round_to_bits(to, value.sign, value.exponent, value.significand, context);
}

/// x rounded to the format's grid, in an fp32 container: how the trainer and the sweeps over formats use a format.
/// Exact for every format whose values are fp32 values.
constexpr float round_to(const FloatFormat& format, float x, Context& context) {
    const std::uint64_t bits = convert_bits(format, formats::fp32, std::bit_cast<std::uint32_t>(x), context);
    Context exact;
    return std::bit_cast<float>(static_cast<std::uint32_t>(convert_bits(formats::fp32, format, bits, exact)));
}
constexpr float round_to(const FloatFormat& format, float x, const Context& options) {
    Context context = options;
    return round_to(format, x, context);
}
constexpr float round_to(const FloatFormat& format, float x, Rounding rounding = Rounding::nearest_even) {
    Context context{.rounding = rounding};
    return round_to(format, x, context);
}
/// The same with fp64 as the container: any format with a precision of up to 53 bits.
constexpr double round_to(const FloatFormat& format, double x, Context& context) {
    const std::uint64_t bits = convert_bits(format, formats::fp64, std::bit_cast<std::uint64_t>(x), context);
    Context exact;
    return std::bit_cast<double>(convert_bits(formats::fp64, format, bits, exact));
}
constexpr double round_to(const FloatFormat& format, double x, const Context& options) {
    Context context = options;
    return round_to(format, x, context);
}
constexpr double round_to(const FloatFormat& format, double x, Rounding rounding = Rounding::nearest_even) {
    Context context{.rounding = rounding};
    return round_to(format, x, context);
}

static_assert(round_to(formats::fp16, 65519.0F) == 65504.0F && round_to(formats::fp16, 1.0005) == 1.0009765625);
static_assert(round_to(formats::fp16, 0x1p-25) == 0 && round_to(formats::fp16, 0x1.8p-25) == 0x1p-24);
static_assert(round_to(formats::e4m3, 464.0F) == 448.0F && round_to(formats::bf16, 1.1F) == 1.1015625F);
static_assert(round_to(formats::tf32, 1.1F) == 1.099609375F);

}  // namespace ulp
