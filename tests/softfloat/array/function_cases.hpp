// Operands of functions on arrays, and how many of their results are not the scalar function's.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "operands.hpp"
#include "softfloat/array/function_tables.hpp"
#include "softfloat/array/functions.hpp"
#include "softfloat/array/stages.hpp"

namespace ulp::test {

inline array::Function function_at(int index) { return static_cast<array::Function>(index); }

/// How many elements differ from the scalar function's.
inline std::size_t mismatches(const FloatFormat& format, array::Function made, array::Function claimed,
                              const Context& context, const std::vector<std::uint64_t>& words,
                              Simd simd = simd_choice()) {
    const auto in = to_bytes(words, array::bytes_of(format));
    std::vector<unsigned char> out(in.size());
    array::evaluate_words(format, made, in.data(), out.data(), words.size(), context, simd);
    const auto evaluate = array::scalar_function(claimed);
    std::size_t count = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
        Context scalar = scalar_context(context, i);
        const std::uint64_t expected = evaluate(format, words[i], scalar);
        count += expected != word_at(out, array::bytes_of(format), i) ? 1 : 0;
    }
    return count;
}

inline std::vector<std::uint64_t> every_third_code(const FloatFormat& format) {
    std::vector<std::uint64_t> words;
    const std::uint64_t step = format.storage_bits() <= 8 ? 1 : 3;
    const std::uint64_t end = std::uint64_t{1} << (8 * array::bytes_of(format));
    for (std::uint64_t code = 0; code < end; code += step) words.push_back(code);
    return words;
}

/// Operands whose results lie near boundaries, at the ends of a range, or in the middle: any bits, numbers from -32 to
/// 32, tiny ones, small integers and their neighbours.
inline std::vector<std::uint64_t> many_operands(const FloatFormat& format, std::size_t count) {
    std::vector<std::uint64_t> words = codes(format, 100);
    std::uint64_t state = 7;
    const std::uint64_t kept = ~std::uint64_t{0} << format.padding_bits & 0xFFFFFFFF;
    for (std::size_t i = 0; words.size() < count; ++i) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        const auto random = static_cast<std::uint32_t>(state >> 32);
        const float ordinary = static_cast<float>(static_cast<std::int32_t>(random) >> 8) * 0x1p-18F;
        const float near_integer = static_cast<float>(static_cast<int>(random % 256) - 128);
        const auto word = [](float x) { return std::bit_cast<std::uint32_t>(x); };
        const std::uint32_t choices[] = {random, word(ordinary), word(ordinary * 0x1p-20F),
                                         word(near_integer) + static_cast<std::uint32_t>(random >> 8) % 5 - 2};
        words.push_back(choices[i % 4] & kept);
    }
    return words;
}

}  // namespace ulp::test
