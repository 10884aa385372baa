// Random operands for matrix units, by class: what a layer holds, wide exponents, any bits at all.
#pragma once

#include <cstdint>
#include <vector>

#include "softfloat/format.hpp"

namespace ulp {

/// Kinds of data. Each shows other branches of a block: where terms are cut, special values, cancellation, the ends of
/// the range.
enum class DataClass {
    ordinary,    // sums of uniform numbers, exponents near each other
    sparse,      // ordinary, half of it zeros of either sign
    wide,        // exponents over a third of the format's range
    cancelling,  // few significands and exponents, either sign: sums vanish often
    large,       // all-ones significands of one sign: sums at the end of the accumulator
    subnormal,   // around the smallest normal number, below it and zero
    full_range   // any code, a quarter zeros; infinities and NaNs among them
};
inline constexpr DataClass all_classes[] = {DataClass::ordinary,   DataClass::sparse, DataClass::wide,
                                            DataClass::cancelling, DataClass::large,  DataClass::subnormal,
                                            DataClass::full_range};
const char* name_of(DataClass data);

/// A storage word of the format from a random word.
std::uint64_t random_code(const FloatFormat& format, DataClass data, std::uint64_t word);

/// `count` storage words of a format of at most 32 bits, the same for the same seed everywhere.
std::vector<std::uint32_t> random_codes(const FloatFormat& format, DataClass data, std::int64_t count,
                                        std::uint64_t seed);

/// Number `index` of a sequence of random words.
std::uint64_t random_word(std::uint64_t seed, std::uint64_t index);

}  // namespace ulp
