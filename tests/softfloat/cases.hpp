// Operands for tests: the codes where arithmetic goes wrong, and seeded random ones.
#pragma once

#include <cstdint>
#include <vector>

#include "softfloat/format.hpp"

namespace ulp::test {

/// Random words from a counter, the same on every machine (the finaliser of SplitMix64, Steele et al. 2014).
class RandomWords {
  public:
    explicit RandomWords(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9E3779B97F4A7C15);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
        return z ^ (z >> 31);
    }
    /// In [0, bound).
    std::uint64_t below(std::uint64_t bound) { return next() % bound; }

  private:
    std::uint64_t state_;
};

/// Zeros, both ends of the subnormals and of the normals, 1 and its neighbours, halfway significands, infinities, quiet
/// and signalling NaNs, each with both signs: storage words, without repetition.
std::vector<std::uint64_t> interesting_codes(const FloatFormat& format);

/// The fewest of them that meet every rule: 15 storage words of an IEEE-like format with a sign.
std::vector<std::uint64_t> edge_codes(const FloatFormat& format);

/// Every storage word of a format of at most 16 bits.
std::vector<std::uint64_t> all_codes(const FloatFormat& format);

/// A storage word: half of them uniform, the others with an exponent near that of `near`, so that sums cancel.
std::uint64_t random_code(const FloatFormat& format, RandomWords& random, std::uint64_t near);

}  // namespace ulp::test
