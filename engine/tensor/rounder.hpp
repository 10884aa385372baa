// Rounding to a format in an fp32 or fp64 container, fast: a second definition of round_to (softfloat/round.hpp) with
// the same bits.
//
// A handful of integer operations and one addition, no branches, so compilers vectorise loops over it. With a container
// of 23 fraction bits and a format of 10:
//
//     0 eeeeeeee ffffffffff rrrrrrrrrrrrr      add 0111..1 and the last kept bit, then clear the r: nearest, ties even;
//                         ^last kept           a carry runs into the exponent by itself
//
// Below 2^emin the grid has a fixed quantum q: (|x| + 2^23 q) - 2^23 q rounds to it in the container's own addition.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <type_traits>

#include "softfloat/context.hpp"
#include "softfloat/format.hpp"
#include "softfloat/round.hpp"

namespace ulp {

/// Rounds to nearest even. Equal to round_to(format, x, options) for every x and the options tininess, flush_outputs
/// and saturate. Throws std::invalid_argument for another rounding and for flush_inputs (numbers that are stored have
/// no operands). Real is float or double, and every value of the format must be exact in it.
template <class Real>
class Rounder {
    static_assert(std::is_same_v<Real, float> || std::is_same_v<Real, double>);
    using Word = std::conditional_t<std::is_same_v<Real, float>, std::uint32_t, std::uint64_t>;
    static constexpr FloatFormat container = std::is_same_v<Real, float> ? formats::fp32 : formats::fp64;
    static constexpr int fraction_bits = container.fraction_bits;
    static constexpr Word sign_mask = Word{1} << (container.storage_bits() - 1);
    static constexpr Word infinity = static_cast<Word>(container.infinity_magnitude());
    static constexpr Word quiet_nan = static_cast<Word>(container.nan_code());

  public:
    constexpr explicit Rounder(const FloatFormat& format, const Context& options = {})
        : cut_(fraction_bits - checked(format, options).fraction_bits),
          last_kept_(cut_ > 0 ? 1 : 0),
          below_half_(cut_ > 0 ? (Word{1} << (cut_ - 1)) - 1 : 0),
          kept_(static_cast<Word>(~((Word{1} << cut_) - 1))),
          smallest_normal_(power_of_two(format.emin())),
          smallest_kept_(options.flush_outputs ? first_not_tiny(format, options.tininess) : 0),
          subnormal_magic_(std::bit_cast<Real>(power_of_two(format.smallest_exponent() + fraction_bits))),
          largest_(word_of(format, format.max_finite_magnitude())),
          overflow_(saturation_of(format, options) != Saturation::ovf_inf ? largest_ : magnitude_of_infinity(format)),
          nan_(format.has_nan() ? quiet_nan : largest_),
          keeps_negative_zero_(format.has_negative_zero() ? sign_mask : 0) {}

    constexpr Real operator()(Real x) const {
        const Word bits = std::bit_cast<Word>(x);
        const Word magnitude = bits & static_cast<Word>(~sign_mask);
        const Word normal = (magnitude + below_half_ + ((magnitude >> cut_) & last_kept_)) & kept_;
        const Word subnormal =
            std::bit_cast<Word>((std::bit_cast<Real>(magnitude) + subnormal_magic_) - subnormal_magic_);
        Word rounded = magnitude < smallest_normal_ ? subnormal : normal;
        rounded = magnitude < smallest_kept_ ? 0 : rounded;
        rounded = rounded > largest_ ? overflow_ : rounded;
        rounded = magnitude > infinity ? nan_ : rounded;
        Word sign = bits & sign_mask;
        sign = magnitude > infinity || rounded > infinity ? 0 : sign;
        sign = rounded == 0 ? sign & keeps_negative_zero_ : sign;
        return std::bit_cast<Real>(static_cast<Word>(rounded | sign));
    }

  private:
    /// The container's bits of 2^exponent; exponent lies in the container's range, subnormals included.
    static constexpr Word power_of_two(int exponent) {
        return exponent >= container.emin() ? static_cast<Word>(exponent + container.bias) << fraction_bits
                                            : Word{1} << (exponent - container.smallest_exponent());
    }
    static constexpr const FloatFormat& checked(const FloatFormat& format, const Context& options) {
        const bool one_overflow = saturation_of(format, options) != Saturation::sat_propagate;  // of infinities, too
        const bool plain = format.specials <= Specials::none && !format.even_codes;
        if (options.rounding == Rounding::nearest_even && !options.flush_inputs && one_overflow && plain) return format;
        throw std::invalid_argument(
            "a Rounder rounds to nearest even, flushes no inputs, and takes no tables, one_nan_infinity, even_codes "
            "and "
            "SatPropagate; round_to has all options");
    }
    /// 2^emin; with tininess after rounding the smallest number that rounds to it where the exponent is unbounded: half
    /// a unit of the binade below.
    static constexpr Word first_not_tiny(const FloatFormat& format, Tininess tininess) {
        if (tininess == Tininess::before_rounding) return power_of_two(format.emin());
        Context up{.rounding = Rounding::up};
        const std::uint64_t significand = (std::uint64_t{1} << (format.precision() + 1)) - 1;
        return static_cast<Word>(
            round_to_bits(container, false, format.emin() - format.precision() - 1, significand, up));
    }
    static constexpr Word word_of(const FloatFormat& format, std::uint64_t magnitude) {
        Context exact;
        return static_cast<Word>(convert_bits(container, format, magnitude << format.padding_bits, exact));
    }
    static constexpr Word magnitude_of_infinity(const FloatFormat& format) {
        Context exact;
        const std::uint64_t bits = infinity_bits(format, false);
        return static_cast<Word>(convert_bits(container, format, bits, exact));
    }

    int cut_;
    Word last_kept_;
    Word below_half_;
    Word kept_;
    Word smallest_normal_;
    Word smallest_kept_;
    Real subnormal_magic_;
    Word largest_;
    Word overflow_;
    Word nan_;
    Word keeps_negative_zero_;
};

/// values[i] = round_to(format, values[i], options), to nearest even: options as a Rounder has them.
void round_all(const FloatFormat& format, std::span<float> values, const Context& options = {});
void round_all(const FloatFormat& format, std::span<double> values, const Context& options = {});

static_assert(Rounder<float>(formats::fp16)(65519.0F) == 65504.0F && Rounder<float>(formats::bf16)(1.1F) == 1.1015625F);
static_assert(Rounder<float>(formats::fp16)(0x1p-25F) == 0 && Rounder<float>(formats::fp16)(0x1.8p-25F) == 0x1p-24F);
static_assert(Rounder<double>(formats::e4m3)(464.0) == 448.0 && Rounder<double>(formats::fp32)(0x1p-150) == 0);

// A format to compute in or to store to, and how: whether subnormal numbers are flushed, whether overflow saturates.

/// Processors may flush subnormal numbers: "denormals are zero" (options.flush_inputs) for what an operation reads,
/// "flush to zero" (options.flush_outputs) for what it leaves. Signs stay. The rounding is to nearest even.
struct ComputeFormat {
    FloatFormat format;
    Context options;
    /// Implicit: a format alone keeps subnormal numbers, and overflows to infinity.
    constexpr ComputeFormat(const FloatFormat& computed_in = formats::fp32, const Context& how = {})  // NOLINT
        : format(computed_in), options(how) {}
    constexpr bool operator==(const ComputeFormat&) const = default;
};

/// The options as far as they concern results: how what was computed is rounded and stored.
constexpr Context results_of(Context options) {
    options.flush_inputs = false;
    return options;
}

/// 2^emin, of a format whose normal numbers are fp32's.
constexpr float smallest_normal(const FloatFormat& format) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(format.emin() + 127) << 23);
}

static_assert(smallest_normal(formats::fp16) == 0x1p-14F && smallest_normal(formats::fp32) == 0x1p-126F);

// Stochastic rounding of many numbers, whose random numbers are those of engine/tensor/random.hpp.

/// Bits of the random number that decides whether a number is rounded up.
constexpr int update_random_bits = 24;

/// Rounds up or down with the probability of the dropped fraction. Number i takes the upper 24 bits of the word
/// Random(seed, stream).at(first + i). Equivalent to:
///
///     values[i] = round_to(format, values[i], {.rounding = stochastic, .random_bits = 24, .random = word >> 40})
void round_stochastically(const ComputeFormat& format, std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
                          std::span<float> values);
void round_stochastically(const ComputeFormat& format, std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
                          std::span<double> values);

}  // namespace ulp
