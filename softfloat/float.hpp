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
#include "softfloat/comparison.hpp"
#include "softfloat/integers.hpp"
#include "softfloat/neighbours.hpp"
#include "softfloat/quick.hpp"
#include "softfloat/remainder.hpp"

namespace ulp {

/// A number of the format F with IEEE 754's arithmetic: every operator rounds once, to nearest even, and raises no
/// flag. The functions with a Context round, flush, saturate and raise flags as that says; those without are to nearest
/// even.
///
/// Results depend on the operands and the Context alone, not on the processor's control register (fesetround, flushing
/// of subnormals): where that is not the default, everything is computed in integers, and more slowly.
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
    /// Rounded to nearest even, or as the context says.
    constexpr explicit Float(double value) : Float(rounded(value)) {}
    constexpr explicit Float(float value) : Float(rounded(value)) {}
    constexpr Float(double value, Context context)
        : bits_(static_cast<Bits>(convert_bits(F, formats::fp64, std::bit_cast<std::uint64_t>(value), context))) {}
    constexpr Float(float value, Context context)
        : bits_(static_cast<Bits>(convert_bits(F, formats::fp32, std::bit_cast<std::uint32_t>(value), context))) {}
    /// Another format's value rounded to nearest even (exact where F is wider).
    template <FloatFormat From>
    requires(!(From == F)) constexpr explicit Float(Float<From> value) {
        if constexpr (quick::covers(F) && quick::covers(From)) {
            if (quick::available()) {
                bits_ = static_cast<Bits>(quick::narrow<F>(quick::widen<From>(value.bits())));
                return;
            }
        }
        Context context;
        bits_ = static_cast<Bits>(convert_bits(F, From, value.bits(), context));
    }

    /// The value with these bits; bits of the padding are cleared.
    static constexpr Float from_bits(Bits bits) {
        Float result;
        result.bits_ = static_cast<Bits>(bits >> F.padding_bits << F.padding_bits);
        return result;
    }
    /// The storage word.
    [[nodiscard]] constexpr Bits bits() const { return bits_; }

    /// Exact for every format with at most fp64's precision and range, which all the named ones have.
    constexpr explicit operator double() const {
        if constexpr (quick::covers(F)) {
            if (quick::available() && !is_nan(F, bits_)) return as_double();
        }
        Context context;
        return std::bit_cast<double>(convert_bits(formats::fp64, F, bits_, context));
    }
    /// Rounded to nearest even; exact for the formats within fp32.
    constexpr explicit operator float() const {
        if constexpr (quick::covers(F)) {
            if (quick::available() && !is_nan(F, bits_)) {
                if constexpr (F == formats::fp32) return std::bit_cast<float>(bits_);
                return std::bit_cast<float>(static_cast<std::uint32_t>(quick::narrow<formats::fp32>(as_double())));
            }
        }
        Context context;
        return std::bit_cast<float>(static_cast<std::uint32_t>(convert_bits(formats::fp32, F, bits_, context)));
    }
    /// Toward zero, as C++ converts.
    template <std::integral Integer>
    constexpr explicit operator Integer() const {
        Context context{.rounding = Rounding::toward_zero};
        return integer_from_bits<Integer>(F, bits_, context);
    }
    /// False for zeros; true for everything else, NaN too.
    constexpr explicit operator bool() const { return decode(F, bits_).kind != Kind::zero; }

    friend constexpr Float operator+(Float a) { return a; }
    friend constexpr Float operator-(Float a) { return from_bits(static_cast<Bits>(negate_bits(F, a.bits_))); }
    friend constexpr Float operator+(Float a, Float b) {
        if constexpr (quick::covers(F)) {
            if (quick::available()) return narrowed(a.as_double() + b.as_double());
        }
        Context context;
        return add(a, b, context);
    }
    friend constexpr Float operator-(Float a, Float b) {
        if constexpr (quick::covers(F)) {
            if (quick::available()) return narrowed(a.as_double() - b.as_double());
        }
        Context context;
        return subtract(a, b, context);
    }
    friend constexpr Float operator*(Float a, Float b) {
        if constexpr (quick::covers(F)) {
            if (quick::available()) return narrowed(a.as_double() * b.as_double());
        }
        Context context;
        return multiply(a, b, context);
    }
    friend constexpr Float operator/(Float a, Float b) {
        if constexpr (quick::covers(F)) {
            if (quick::available()) return narrowed(a.as_double() / b.as_double());
        }
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
        if constexpr (quick::covers(F)) {
            if (quick::available()) {
                const auto [decided, bits] =
                    quick::round_normal<F>(quick::sum_to_odd<F>(a.as_double(), b.as_double()), context);
                if (decided) return from_bits(static_cast<Bits>(bits));
            }
        }
        return from_bits(static_cast<Bits>(add_bits<Word>(F, a.bits_, b.bits_, context)));
    }
    friend constexpr Float subtract(Float a, Float b, Context& context) {
        if constexpr (quick::covers(F)) {
            if (quick::available()) {
                const auto [decided, bits] =
                    quick::round_normal<F>(quick::sum_to_odd<F>(a.as_double(), -b.as_double()), context);
                if (decided) return from_bits(static_cast<Bits>(bits));
            }
        }
        return from_bits(static_cast<Bits>(subtract_bits<Word>(F, a.bits_, b.bits_, context)));
    }
    friend constexpr Float multiply(Float a, Float b, Context& context) {
        if constexpr (quick::covers(F)) {
            if (quick::available()) {
                const auto [decided, bits] = quick::round_normal<F>(a.as_double() * b.as_double(), context);
                if (decided) return from_bits(static_cast<Bits>(bits));
            }
        }
        return from_bits(static_cast<Bits>(multiply_bits<Word>(F, a.bits_, b.bits_, context)));
    }
    friend constexpr Float divide(Float a, Float b, Context& context) {
        if constexpr (quick::covers(F)) {
            if (quick::available()) {
                const auto [decided, bits] =
                    quick::round_normal<F>(quick::divide_to_odd(a.as_double(), b.as_double()), context);
                if (decided) return from_bits(static_cast<Bits>(bits));
            }
        }
        return from_bits(static_cast<Bits>(divide_bits<Word>(F, a.bits_, b.bits_, context)));
    }
    friend constexpr Float sqrt(Float a, Context& context) {
        if constexpr (quick::covers(F)) {
            if (quick::available()) {
                const auto [decided, bits] = quick::round_normal<F>(quick::sqrt_to_odd(a.as_double()), context);
                if (decided) return from_bits(static_cast<Bits>(bits));
            }
        }
        return from_bits(static_cast<Bits>(sqrt_bits<Word>(F, a.bits_, context)));
    }
    /// a * b + c, rounded once.
    friend constexpr Float fma(Float a, Float b, Float c, Context& context) {
        if constexpr (quick::covers(F)) {
            if (quick::available()) {
                const double sum = quick::multiply_add_to_odd(a.as_double(), b.as_double(), c.as_double());
                const auto [decided, bits] = quick::round_normal<F>(sum, context);
                if (decided) return from_bits(static_cast<Bits>(bits));
            }
        }
        return from_bits(static_cast<Bits>(fma_bits<Word>(F, a.bits_, b.bits_, c.bits_, context)));
    }
    friend constexpr Float sqrt(Float a) {
        if constexpr (quick::covers(F)) {
            if (quick::available()) return narrowed(__builtin_sqrt(a.as_double()));
        }
        Context context;
        return sqrt(a, context);
    }
    friend constexpr Float fma(Float a, Float b, Float c) {
        if constexpr (quick::covers(F)) {
            if (quick::available())
                return narrowed(quick::multiply_add_to_odd(a.as_double(), b.as_double(), c.as_double()));
        }
        Context context;
        return fma(a, b, c, context);
    }
    /// a - n * b, n the integer nearest to a / b; exact.
    friend constexpr Float remainder(Float a, Float b, Context& context) {
        return from_bits(static_cast<Bits>(remainder_bits<Word>(F, a.bits_, b.bits_, context)));
    }
    friend constexpr Float remainder(Float a, Float b) {
        Context context;
        return remainder(a, b, context);
    }
    /// To an integral value in the context's mode.
    friend constexpr Float round_to_integral(Float a, Context& context) {
        return from_bits(static_cast<Bits>(round_to_integral_bits(F, a.bits_, context)));
    }
    friend constexpr Float round_to_integral(Float a, Rounding rounding = Rounding::nearest_even) {
        Context context{.rounding = rounding};
        return round_to_integral(a, context);
    }
    friend constexpr Float floor(Float a) { return round_to_integral(a, Rounding::down); }
    friend constexpr Float ceil(Float a) { return round_to_integral(a, Rounding::up); }
    friend constexpr Float trunc(Float a) { return round_to_integral(a, Rounding::toward_zero); }
    friend constexpr Float round(Float a) { return round_to_integral(a, Rounding::nearest_away); }

    /// IEEE 754-2019 minimum and maximum (NaN wins), minimumNumber and maximumNumber (NaN loses); -0 < +0.
    friend constexpr Float minimum(Float a, Float b, Context& context) {
        return from_bits(static_cast<Bits>(minimum_bits(F, a.bits_, b.bits_, context)));
    }
    friend constexpr Float maximum(Float a, Float b, Context& context) {
        return from_bits(static_cast<Bits>(maximum_bits(F, a.bits_, b.bits_, context)));
    }
    friend constexpr Float minimum_number(Float a, Float b, Context& context) {
        return from_bits(static_cast<Bits>(minimum_number_bits(F, a.bits_, b.bits_, context)));
    }
    friend constexpr Float maximum_number(Float a, Float b, Context& context) {
        return from_bits(static_cast<Bits>(maximum_number_bits(F, a.bits_, b.bits_, context)));
    }
    friend constexpr Float minimum(Float a, Float b) {
        Context context;
        return minimum(a, b, context);
    }
    friend constexpr Float maximum(Float a, Float b) {
        Context context;
        return maximum(a, b, context);
    }
    friend constexpr Order compare(Float a, Float b, Context& context) {
        return compare_bits(F, a.bits_, b.bits_, context);
    }
    friend constexpr Order compare_signaling(Float a, Float b, Context& context) {
        return compare_signaling_bits(F, a.bits_, b.bits_, context);
    }

    friend constexpr Float next_up(Float a) {
        Context context;
        return from_bits(static_cast<Bits>(next_up_bits(F, a.bits_, context)));
    }
    friend constexpr Float next_down(Float a) {
        Context context;
        return from_bits(static_cast<Bits>(next_down_bits(F, a.bits_, context)));
    }
    /// a * 2^n, rounded once.
    friend constexpr Float scalb(Float a, int n, Context& context) {
        return from_bits(static_cast<Bits>(scalb_bits(F, a.bits_, n, context)));
    }
    friend constexpr Float scalb(Float a, int n) {
        Context context;
        return scalb(a, n, context);
    }
    /// The exponent of the leading bit, as a number of the format.
    friend constexpr Float logb(Float a, Context& context) {
        return from_bits(static_cast<Bits>(logb_bits(F, a.bits_, context)));
    }
    friend constexpr Float logb(Float a) {
        Context context;
        return logb(a, context);
    }
    friend constexpr NumberClass classify(Float a) { return classify_bits(F, a.bits_); }

    friend constexpr Float abs(Float a) { return !isnan(a) && signbit(a) ? -a : a; }
    friend constexpr bool isnan(Float a) { return is_nan(F, a.bits_); }
    friend constexpr bool isinf(Float a) { return is_infinity(F, a.bits_); }
    friend constexpr bool isfinite(Float a) { return !isnan(a) && !isinf(a); }
    friend constexpr bool signbit(Float a) { return sign_of(F, a.bits_); }

  private:
    using Word = WordFor<F>;

    [[nodiscard]] constexpr double as_double() const { return quick::widen<F>(bits_); }
    static constexpr Float narrowed(double x) { return from_bits(static_cast<Bits>(quick::narrow<F>(x))); }
    static constexpr Float rounded(double value) {
        if constexpr (quick::covers(F)) {
            if (quick::available()) return narrowed(value);
        }
        return Float(value, Context{});
    }
    static constexpr Float rounded(float value) {
        if constexpr (quick::covers(F)) {
            // Not the processor's conversion, which may read a subnormal number as zero.
            if (quick::available()) return narrowed(quick::widen<formats::fp32>(std::bit_cast<std::uint32_t>(value)));
        }
        return Float(value, Context{});
    }

    Bits bits_ = 0;
};

/// The named formats (softfloat/format.hpp) as types.
using fp64 = Float<formats::fp64>;
using fp32 = Float<formats::fp32>;
using tf32 = Float<formats::tf32>;
using bf16 = Float<formats::bf16>;
using fp16 = Float<formats::fp16>;
using e5m2 = Float<formats::e5m2>;
using e4m3 = Float<formats::e4m3>;
using e5m2fnuz = Float<formats::e5m2fnuz>;
using e4m3fnuz = Float<formats::e4m3fnuz>;
using e3m2 = Float<formats::e3m2>;
using e2m3 = Float<formats::e2m3>;
using e2m1 = Float<formats::e2m1>;
using e8m0 = Float<formats::e8m0>;

/// Converts with a rounding, options and flags of one's own.
template <class To, FloatFormat From>
constexpr To convert(Float<From> value, Context& context) {
    if constexpr (quick::covers(From) && quick::covers(To::format)) {
        if (quick::available()) {
            const auto [decided, bits] = quick::round_normal<To::format>(quick::widen<From>(value.bits()), context);
            if (decided) return To::from_bits(static_cast<typename To::Bits>(bits));
        }
    }
    constexpr FloatFormat to = To::format;  // a copy: no reference to a static member in code for a GPU
    return To::from_bits(static_cast<typename To::Bits>(convert_bits(to, From, value.bits(), context)));
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
