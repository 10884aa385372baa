// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
//
// A number is a function of (seed, stream, position): no state to carry through a program, the same on every machine
// and for every order of evaluation. Integers only, up to the last step.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/tensor/normal_quantile.hpp"
#include "softfloat/support/philox.hpp"

namespace ulp {

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
