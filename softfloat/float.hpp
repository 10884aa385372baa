// Float<F>: a number of the format F, as a C++ arithmetic type. Operators round to nearest even; the named functions
// take a Context that says otherwise and collects the flags.
//
//     ulp::fp16 x{0.1};                         // 0.0999755859375
//     ulp::Context down{.rounding = ulp::Rounding::down};
//     ulp::fp16 y = add(x, x, down);            // down.flags tells what happened
#pragma once

#include <bit>
#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "softfloat/arithmetic.hpp"

namespace ulp {

template <FloatFormat F>
class Float {
  public:
    /// The storage word: for tf32 19 bits at the top of 32, the 13 below are zero.
    using Bits = std::conditional_t<
        F.storage_bits() <= 8, std::uint8_t,
        std::conditional_t<F.storage_bits() <= 16, std::uint16_t,
                           std::conditional_t<F.storage_bits() <= 32, std::uint32_t, std::uint64_t>>>;
    static constexpr FloatFormat format = F;

    constexpr Float() = default;
    /// The integer rounded to nearest even.
    template <std::integral Integer>
    constexpr Float(Integer value) {  // NOLINT(google-explicit-constructor): 2 * x must mean what it says
        Context context;
        bits_ = static_cast<Bits>(bits_from_integer(F, value, context));
    }
    constexpr explicit Float(double value) : Float(value, Context{}) {}
    constexpr explicit Float(float value) : Float(value, Context{}) {}
    constexpr Float(double value, Context context)
        : bits_(static_cast<Bits>(convert_bits(F, formats::fp64, std::bit_cast<std::uint64_t>(value), context))) {}
    constexpr Float(float value, Context context)
        : bits_(static_cast<Bits>(convert_bits(F, formats::fp32, std::bit_cast<std::uint32_t>(value), context))) {}
    /// Another format's value rounded to nearest even (exact where F is wider).
    template <FloatFormat From>
    requires(!(From == F)) constexpr explicit Float(Float<From> value) {
        Context context;
        bits_ = static_cast<Bits>(convert_bits(F, From, value.bits(), context));
    }

    /// The value with these bits; bits of the padding are cleared.
    static constexpr Float from_bits(Bits bits) {
        Float result;
        result.bits_ = static_cast<Bits>(bits >> F.padding_bits << F.padding_bits);
        return result;
    }
    [[nodiscard]] constexpr Bits bits() const { return bits_; }

    /// Exact for every format with at most fp64's precision and range, which all the named ones have.
    constexpr explicit operator double() const {
        Context context;
        return std::bit_cast<double>(convert_bits(formats::fp64, F, bits_, context));
    }
    /// Rounded to nearest even; exact for the formats within fp32.
    constexpr explicit operator float() const {
        Context context;
        return std::bit_cast<float>(static_cast<std::uint32_t>(convert_bits(formats::fp32, F, bits_, context)));
    }
    /// Toward zero, as C++ converts.
    template <std::integral Integer>
    constexpr explicit operator Integer() const {
        Context context{.rounding = Rounding::toward_zero};
        return integer_from_bits<Integer>(F, bits_, context);
    }
    constexpr explicit operator bool() const { return magnitude_of(F, bits_) != 0; }

    friend constexpr Float operator+(Float a) { return a; }
    friend constexpr Float operator-(Float a) {
        return from_bits(static_cast<Bits>(pack(F, !sign_of(F, a.bits_), magnitude_of(F, a.bits_))));
    }
    friend constexpr Float operator+(Float a, Float b) {
        Context context;
        return add(a, b, context);
    }
    friend constexpr Float operator-(Float a, Float b) {
        Context context;
        return subtract(a, b, context);
    }
    friend constexpr Float operator*(Float a, Float b) {
        Context context;
        return multiply(a, b, context);
    }
    friend constexpr Float operator/(Float a, Float b) {
        Context context;
        return divide(a, b, context);
    }
    constexpr Float& operator+=(Float b) { return *this = *this + b; }
    constexpr Float& operator-=(Float b) { return *this = *this - b; }
    constexpr Float& operator*=(Float b) { return *this = *this * b; }
    constexpr Float& operator/=(Float b) { return *this = *this / b; }

    friend constexpr bool operator==(Float a, Float b) { return (a <=> b) == std::partial_ordering::equivalent; }
    friend constexpr std::partial_ordering operator<=>(Float a, Float b) {
        Context context;
        switch (compare_bits(F, a.bits_, b.bits_, context)) {
            case Order::less: return std::partial_ordering::less;
            case Order::equal: return std::partial_ordering::equivalent;
            case Order::greater: return std::partial_ordering::greater;
            case Order::unordered: break;
        }
        return std::partial_ordering::unordered;
    }

    friend constexpr Float add(Float a, Float b, Context& context) {
        return from_bits(static_cast<Bits>(add_bits<Word>(F, a.bits_, b.bits_, context)));
    }
    friend constexpr Float subtract(Float a, Float b, Context& context) {
        return from_bits(static_cast<Bits>(subtract_bits<Word>(F, a.bits_, b.bits_, context)));
    }
    friend constexpr Float multiply(Float a, Float b, Context& context) {
        return from_bits(static_cast<Bits>(multiply_bits<Word>(F, a.bits_, b.bits_, context)));
    }
    friend constexpr Float divide(Float a, Float b, Context& context) {
        return from_bits(static_cast<Bits>(divide_bits<Word>(F, a.bits_, b.bits_, context)));
    }
    friend constexpr Float sqrt(Float a, Context& context) {
        return from_bits(static_cast<Bits>(sqrt_bits<Word>(F, a.bits_, context)));
    }
    /// a * b + c, rounded once.
    friend constexpr Float fma(Float a, Float b, Float c, Context& context) {
        return from_bits(static_cast<Bits>(fma_bits<Word>(F, a.bits_, b.bits_, c.bits_, context)));
    }
    friend constexpr Float sqrt(Float a) {
        Context context;
        return sqrt(a, context);
    }
    friend constexpr Float fma(Float a, Float b, Float c) {
        Context context;
        return fma(a, b, c, context);
    }
    friend constexpr Float abs(Float a) {
        return isnan(a) ? a : from_bits(static_cast<Bits>(pack(F, false, magnitude_of(F, a.bits_))));
    }
    friend constexpr bool isnan(Float a) { return is_nan(F, a.bits_); }
    friend constexpr bool isinf(Float a) { return is_infinity(F, a.bits_); }
    friend constexpr bool isfinite(Float a) { return !isnan(a) && !isinf(a); }
    friend constexpr bool signbit(Float a) { return sign_of(F, a.bits_); }

  private:
    using Word = WordFor<F>;
    Bits bits_ = 0;
};

using fp64 = Float<formats::fp64>;
using fp32 = Float<formats::fp32>;
using tf32 = Float<formats::tf32>;
using bf16 = Float<formats::bf16>;
using fp16 = Float<formats::fp16>;
using e5m2 = Float<formats::e5m2>;
using e4m3 = Float<formats::e4m3>;

/// Converts with a rounding, options and flags of one's own.
template <class To, FloatFormat From>
constexpr To convert(Float<From> value, Context& context) {
    return To::from_bits(static_cast<typename To::Bits>(convert_bits(To::format, From, value.bits(), context)));
}

static_assert(sizeof(fp16) == 2 && sizeof(tf32) == 4 && std::is_trivially_copyable_v<fp16>);
static_assert(fp16{0.1}.bits() == 0x2E66 && bf16{1.1}.bits() == 0x3F8D && tf32{1.1}.bits() == 0x3F8CC000);
static_assert((fp16{2048} + fp16{1}).bits() == fp16{2048}.bits() && fma(fp16{3}, fp16{5}, fp16{1}) == fp16{16});
static_assert(sqrt(fp16{2}).bits() == 0x3DA8 && (fp16{1} / fp16{3}).bits() == 0x3555);

}  // namespace ulp

/// Derived from the format. A format without infinity has its NaN there, or its largest number.
template <ulp::FloatFormat F>
class std::numeric_limits<ulp::Float<F>> {
    using Self = ulp::Float<F>;
    static constexpr Self magnitude(std::uint64_t code) {
        return Self::from_bits(static_cast<typename Self::Bits>(ulp::pack(F, false, code)));
    }
    static constexpr Self power_of_two(int exponent) {
        ulp::Context context;
        return Self::from_bits(
            static_cast<typename Self::Bits>(ulp::round_to_bits(F, false, exponent, std::uint64_t{1}, context)));
    }

  public:
    static constexpr bool is_specialized = true;
    static constexpr bool is_signed = F.has_sign;
    static constexpr bool is_integer = false;
    static constexpr bool is_exact = false;
    static constexpr bool is_bounded = true;
    static constexpr bool is_modulo = false;
    static constexpr bool is_iec559 = F.specials == ulp::Specials::ieee && F.unused_exponents == 0;
    static constexpr bool has_infinity = F.has_infinity();
    static constexpr bool has_quiet_NaN = F.has_nan();
    static constexpr bool has_signaling_NaN = F.specials == ulp::Specials::ieee;
    static constexpr std::float_denorm_style has_denorm = F.has_subnormals ? std::denorm_present : std::denorm_absent;
    static constexpr bool has_denorm_loss = false;
    static constexpr bool traps = false;
    static constexpr bool tinyness_before = false;
    static constexpr std::float_round_style round_style = std::round_to_nearest;
    static constexpr int radix = 2;
    static constexpr int digits = F.precision();
    static constexpr int digits10 = (F.precision() - 1) * 30103 / 100000;
    static constexpr int max_digits10 = F.precision() * 30103 / 100000 + 2;
    static constexpr int min_exponent = F.emin() + 1;
    static constexpr int max_exponent = F.emax() + 1;
    // C's definitions: the powers of ten within the normal numbers. 2^k in decimal digits is k * log10(2).
    static constexpr int min_exponent10 = -(-F.emin() * 30103 / 100000);
    static constexpr int max_exponent10 = (F.emax() + 1) * 30103 / 100000;

    static constexpr Self min() { return power_of_two(F.emin()); }
    static constexpr Self denorm_min() { return magnitude(F.has_subnormals ? 1 : 0); }
    static constexpr Self max() { return magnitude(F.max_finite_magnitude()); }
    static constexpr Self lowest() { return F.has_sign ? -max() : min(); }
    static constexpr Self epsilon() { return power_of_two(-F.fraction_bits); }
    static constexpr Self round_error() { return power_of_two(-1); }
    static constexpr Self infinity() {
        return Self::from_bits(static_cast<typename Self::Bits>(ulp::infinity_bits(F, false)));
    }
    static constexpr Self quiet_NaN() {
        return Self::from_bits(static_cast<typename Self::Bits>(F.has_nan() ? ulp::nan_bits(F) : 0));
    }
    static constexpr Self signaling_NaN() {
        return has_signaling_NaN ? magnitude(F.infinity_magnitude() + 1) : quiet_NaN();
    }
};

static_assert(static_cast<double>(std::numeric_limits<ulp::fp16>::max()) == 65504);
static_assert(static_cast<double>(std::numeric_limits<ulp::e4m3>::max()) == 448);
static_assert(std::numeric_limits<ulp::fp32>::max_exponent10 == 38 && std::numeric_limits<ulp::fp32>::digits10 == 6);
static_assert(std::numeric_limits<ulp::fp32>::max_digits10 == 9 && std::numeric_limits<ulp::fp64>::max_digits10 == 17);
static_assert(std::numeric_limits<ulp::fp32>::min_exponent10 == -37 && std::numeric_limits<ulp::fp16>::digits10 == 3);
