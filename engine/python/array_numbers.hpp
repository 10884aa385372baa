// The numbers of an array in memory as fp32, which carries the values of every format but fp64, and back. Whole arrays
// at a time and on all threads; the bits do not depend on their number. Nothing here knows of Python.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "softfloat/array/words.hpp"
#include "softfloat/context.hpp"
#include "softfloat/format.hpp"

namespace ulp::python {

/// `count` storage words of a format, without gaps; or integers of 64 bits.
struct Words {
    const void* data = nullptr;
    FloatFormat format{};
    std::int64_t count = 0;
    bool integers = false;
};

/// How numbers that the format does not have are rounded to it.
struct InputRounding {
    Rounding rounding = Rounding::nearest_even;
    Saturation saturate{};  // true: what is too large becomes the largest finite number
};

/// The first number that a format does not have.
struct OffGrid {
    std::int64_t at = 0;
    double value = 0;
};

/// Whether every number of `format`, its infinities and NaN among them, is one of `container`.
bool holds(const FloatFormat& container, const FloatFormat& format);

/// Whether fp32 holds every finite number of the format.
bool fits_fp32(const FloatFormat& format);

/// The place of the first word that has bits above the format's, as two codes of a 4-bit format packed into a byte
/// have.
std::optional<std::int64_t> first_beyond(const Words& words);

/// to[i] = the number of words[i], exact where fp32 holds the format's numbers; those of fp64 are rounded. NaNs keep
/// sign and payload. Throws std::invalid_argument for another format that fp32 does not hold.
void decode_words(const Words& words, float* to);
/// The same, exact for every format.
void decode_words(const Words& words, double* to);

/// The storage words in a format of the numbers of `words`, rounded once. An overflow and an infinity keep their sign
/// where the result is NaN, and NaNs keep sign and payload. Any formats, and integers.
void encode_words(const Words& words, const FloatFormat& format, const InputRounding& rounding, void* to);

/// The same where without `rounding` the first number that the format does not have is returned.
std::optional<OffGrid> words_on_grid(const Words& words, const FloatFormat& format,
                                     const std::optional<InputRounding>& rounding, void* to);

/// Two codes of four bits in each byte, the first in the low half, as codes of a byte each.
void unpack_pairs(const std::uint8_t* pairs, std::int64_t count, std::uint8_t* codes);
void pack_pairs(const std::uint8_t* codes, std::int64_t count, std::uint8_t* pairs);

// Arithmetic on storage words of one format.

/// An operation of one to three operands, by its name in Python. Throws std::invalid_argument for another name.
struct NamedOperation {
    const char* name;
    int operands;
    std::optional<array::Operation> vectorised{};
    std::uint64_t (*narrow)(const FloatFormat&, const std::uint64_t*, Context&) = nullptr;  // precisions up to 24
    std::uint64_t (*wide)(const FloatFormat&, const std::uint64_t*, Context&) = nullptr;
};
const NamedOperation& operation_by_name(const std::string& name);

/// to[i] = operation(a[i], ...) on words without gaps, with each element's flags where `flags` is not null. The bits do
/// not depend on `flags` or on the number of threads.
void operate(const NamedOperation& operation, const FloatFormat& format, const array::Operands& operands, void* to,
             std::int64_t count, const Context& context, std::uint8_t* flags);

/// to[i]: -1, 0 or 1 where a[i] is less than, equal to or greater than b[i], and 2 where one is NaN, which is invalid
/// if it is signalling, or if `signaling`.
void compare(const FloatFormat& format, const void* a, const void* b, std::int8_t* to, std::int64_t count,
             bool signaling, std::uint8_t* flags);

/// to[i] = the number of words[i] on the grid of `format`. Without `rounding` the first number that is not on it is
/// returned, and the rest of `to` is unspecified. NaNs keep sign and payload.
std::optional<OffGrid> numbers_on_grid(const Words& words, const FloatFormat& format,
                                       const std::optional<InputRounding>& rounding, float* to);

/// Whether fp32 numbers lie on a format's grid as they are, infinities and NaNs included that the format has.
bool are_on_grid(const float* numbers, std::int64_t count, const FloatFormat& format);

/// The storage words of numbers of the format, in words of its width: operand_code of each.
void encode_numbers(const float* numbers, std::int64_t count, const FloatFormat& format, void* to);

/// to[i] = from[i] rounded to the format, in the container: fp32 or fp64. What becomes NaN keeps its sign, and NaNs
/// their payload: the number of the word that encode_words makes.
template <class Real>
void round_numbers(const FloatFormat& format, const Real* from, Real* to, std::int64_t count, const Context& context);

/// What rounding did to numbers.
struct RoundingCounts {
    std::int64_t overflows = 0;   // finite numbers that became infinite, or NaN where the format has no infinity
    std::int64_t underflows = 0;  // nonzero numbers that became zero
    std::int64_t not_finite = 0;  // results
    std::int64_t first = -1;      // the place of the first of these, of the first NaN where there is one
    float before = 0;             // the number there before it was rounded
    float largest = 0;            // magnitude of the results, where all are finite
};

/// In place, to nearest even unless the context says otherwise, with what became of the numbers.
RoundingCounts round_and_count(const FloatFormat& format, float* numbers, std::int64_t count, const Context& context);

/// Bytes of the word that holds a value: 1, 2, 4 or 8.
constexpr int word_bytes(const FloatFormat& format) {
    const int bits = format.storage_bits();
    return bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
}

}  // namespace ulp::python
