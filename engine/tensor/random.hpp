// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
//
// A number is a function of (seed, stream, position): no state to carry through a program, the same on every machine
// and for every order of evaluation. Integers only, up to the last step.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "softfloat/functions/quick_exp_log.hpp"
#include "softfloat/support/philox.hpp"

namespace ulp {

// The inverse of the standard normal distribution function, the same bits on every machine.

/// Square root by Newton's method from an exponent guess; constexpr, for quantiles only (arithmetic uses the
/// processor's, which IEEE 754 fixes). x > 0, normal.
constexpr double square_root(double x) {
    double guess = std::bit_cast<double>((std::bit_cast<std::uint64_t>(x) >> 1) + 0x1FF8000000000000);
    for (int i = 0; i < 6; ++i) guess = 0.5 * (guess + x / guess);
    return guess;
}

/// Inverse of the standard normal distribution function (Wichura, algorithm AS 241, Applied Statistics 37, 1988):
/// relative error below 2^-44, most of it the logarithm's. 0 < p < 1.
constexpr double normal_quantile(double p) {
    const auto ratio = [](double r, const double(&a)[8], const double(&b)[8]) {
        double above = a[7];
        double below = b[7];
        for (int i = 6; i >= 0; --i) {
            above = above * r + a[i];
            below = below * r + b[i];
        }
        return above / below;
    };
    constexpr double a[8] = {3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3,
                             1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                             3.3430575583588128105e+4, 2.5090809287301226727e+3};
    constexpr double b[8] = {1.0,
                             4.2313330701600911252e+1,
                             6.8718700749205790830e+2,
                             5.3941960214247511077e+3,
                             2.1213794301586595867e+4,
                             3.9307895800092710610e+4,
                             2.8729085735721942674e+4,
                             5.2264952788528545610e+3};
    constexpr double c[8] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                             3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                             2.27238449892691845833e-2, 7.74545014278341407640e-4};
    constexpr double d[8] = {1.0,
                             2.05319162663775882187e0,
                             1.67638483018380384940e0,
                             6.89767334985100004550e-1,
                             1.48103976427480074590e-1,
                             1.51986665636164571966e-2,
                             5.47593808499534494600e-4,
                             1.05075007164441684324e-9};
    constexpr double e[8] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                             2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                             2.71155556874348757815e-5, 2.01033439929228813265e-7};
    constexpr double f[8] = {1.0,
                             5.99832206555887937690e-1,
                             1.36929880922735805310e-1,
                             1.48753612908506148525e-2,
                             7.86869131145613259100e-4,
                             1.84631831751005468180e-5,
                             1.42151175831644588870e-7,
                             2.04426310338993978564e-15};
    const double q = p - 0.5;
    if (q >= -0.425 && q <= 0.425) return q * ratio(0.180625 - q * q, a, b);
    const double r = square_root(-quick_phase::log(q < 0 ? p : 1 - p));
    const double value = r <= 5 ? ratio(r - 1.6, c, d) : ratio(r - 5, e, f);
    return q < 0 ? -value : value;
}

static_assert(normal_quantile(0.5) == 0.0 && normal_quantile(0.25) == -normal_quantile(0.75));

/// FNV-1a: a number from a name, so that a layer's numbers do not depend on the layers before it.
constexpr std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0xCBF29CE484222325;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
    return hash;
}

/// A stream of random numbers. Copies continue from the same place; `at` reads any place without moving.
class Random {
  public:
    constexpr explicit Random(std::uint64_t seed, std::uint64_t stream = 0, std::uint64_t position = 0)
        : seed_(seed), stream_(stream), position_(position) {}
    constexpr Random(std::uint64_t seed, std::string_view stream) : Random(seed, hash_of(stream)) {}

    /// The 64-bit word at a position of the stream.
    [[nodiscard]] constexpr std::uint64_t at(std::uint64_t position) const {
        const auto [a, b, c, d] = block(position / 2);
        return position % 2 == 0 ? join(a, b) : join(c, d);
    }
    constexpr std::uint64_t next() { return at(position_++); }
    /// Uniform in [0, bound), exactly: words that would favour small numbers are drawn again. bound > 0.
    constexpr std::uint64_t below(std::uint64_t bound) {
        const std::uint64_t favoured = (0 - bound) % bound;  // 2^64 mod bound
        std::uint64_t word = next();
        while (word < favoured) word = next();
        return word % bound;
    }
    /// Uniform in [low, high], integers.
    constexpr std::int64_t between(std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
    }
    /// Uniform in (0, 1): odd multiples of 2^-54.
    constexpr double uniform() { return static_cast<double>((next() >> 11) * 2 + 1) * 0x1p-54; }
    constexpr double uniform(double low, double high) { return low + (high - low) * uniform(); }
    /// Standard normal, from one uniform number through the inverse distribution function.
    constexpr double normal() { return normal_quantile(uniform()); }

    [[nodiscard]] constexpr std::uint64_t seed() const { return seed_; }
    [[nodiscard]] constexpr std::uint64_t stream() const { return stream_; }
    [[nodiscard]] constexpr std::uint64_t position() const { return position_; }

  private:
    static constexpr std::uint64_t join(std::uint32_t low, std::uint32_t high) {
        return std::uint64_t{high} << 32 | low;
    }
    [[nodiscard]] constexpr philox::Block block(std::uint64_t index) const {
        const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
        const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
        return philox::generate({low(index), high(index), low(stream_), high(stream_)}, {low(seed_), high(seed_)});
    }

    std::uint64_t seed_;
    std::uint64_t stream_;
    std::uint64_t position_;
};

}  // namespace ulp
