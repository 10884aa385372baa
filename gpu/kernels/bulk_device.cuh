// What the kernels of a bulk run share.
#pragma once

#include "gpu/kernels/bulk_kernels.cuh"

namespace ulp::gpu {

inline constexpr int threads = 256;

/// Code `index` of an array of packed codes.
inline __device__ std::uint64_t packed_code(const std::uint32_t* words, std::uint64_t index, int bits) {
    if (bits == 64) return words[2 * index] | std::uint64_t{words[2 * index + 1]} << 32;
    const std::uint64_t bit = index * static_cast<unsigned>(bits);
    const std::uint32_t mask = bits == 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << bits) - 1;
    return (words[bit / 32] >> (bit % 32)) & mask;
}

/// Code `index`, of at most 32 bits, of an array that is shorter than 2^32 bits.
inline __device__ std::uint32_t near_code(const std::uint32_t* words, std::uint32_t index, int bits) {
    const std::uint32_t bit = index * static_cast<unsigned>(bits);
    const std::uint32_t mask = bits == 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << bits) - 1;
    return words[bit / 32] >> (bit % 32) & mask;
}

/// Code `index` of C or D, whose elements of 16 or 32 bits are a word of memory each.
inline __device__ std::uint32_t accumulator_code(const std::uint32_t* words, std::uint64_t index, int bits) {
    return bits == 16 ? reinterpret_cast<const std::uint16_t*>(words)[index] : words[index];
}

inline __device__ void report(BulkTally* tally, std::uint64_t element, bool equal) {
    if (equal) return;
    atomicAdd(&tally->mismatches, 1ULL);
    atomicMin(&tally->first, static_cast<unsigned long long>(element));
}

/// Where an element of D and its operands lie.
struct ElementPlace {
    std::uint64_t a_row;
    std::uint64_t b_row;
};
inline __device__ ElementPlace place_of(const BulkLayout& layout, std::uint64_t element) {
    const auto columns = static_cast<unsigned>(layout.columns);
    const std::uint64_t row = element / columns;
    return {row, row / static_cast<unsigned>(layout.rows) * columns + element % columns};
}

inline __device__ bool equals_d(const BulkLayout& layout, const BulkData& data, std::uint64_t element,
                                std::uint64_t expected) {
    return packed_code(data.d, element, bits_of(layout.instruction.accumulator)) == expected;
}

}  // namespace ulp::gpu
