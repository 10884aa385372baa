// Operands and formats that the tests of array operations share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "softfloat/context.hpp"
#include "softfloat/format.hpp"

namespace ulp::test {

struct TestFormat {
    std::string name;
    FloatFormat format;
};

/// Formats with kernels of their own, formats that share one, and formats that no kernel takes.
std::vector<TestFormat> array_formats();

/// All but stochastic.
std::vector<Rounding> deterministic_roundings();
std::string name_of(Rounding rounding);

/// fp32 words: every exponent with the fractions around each place where a format cuts, the specials, and
/// random words. The count is odd, so that no number of lanes divides it.
std::vector<float> fp32_operands();

/// Storage words of a format, padding zero: every code of up to 8 bits; else the codes beside every place where
/// something changes (zeros, subnormals, powers of two, the largest, specials), both signs, and random codes.
std::vector<std::uint64_t> codes(const FloatFormat& format, std::size_t random_codes);

/// Words as an array in memory, and back.
std::vector<unsigned char> to_bytes(const std::vector<std::uint64_t>& words, std::size_t bytes);
std::uint64_t word_at(const std::vector<unsigned char>& bytes, std::size_t word_bytes, std::size_t element);

/// Reproducible random words.
class Words {
  public:
    explicit Words(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next();

  private:
    std::uint64_t state_;
};

}  // namespace ulp::test
