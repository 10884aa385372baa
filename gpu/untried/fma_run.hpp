// A run over all classes of fp16's fused multiply-add, in ranges that can be taken up again.
#pragma once

#include <cstdint>
#include <functional>

#include "gpu/devices/executor.hpp"

namespace ulp::gpu {

/// The answers to all c of a range of pairs.
struct FmaAnswers {
    std::uint64_t digest = 0;                 // modulo 2^64 the sum over its pairs, so ranges may be joined
    std::uint64_t differ = 0;                 // from the function in integers
    std::uint64_t first = ~std::uint64_t{0};  // class that differs: pair * 2^16 + c
    bool operator==(const FmaAnswers&) const = default;
};

/// a * b + c on codes of fp16.
using FmaOnCodes = std::function<std::uint32_t(std::uint32_t a, std::uint32_t b, std::uint32_t c)>;
/// The definition: softfloat's, with the NaN of a GPU.
std::uint32_t fma_by_definition(std::uint32_t a, std::uint32_t b, std::uint32_t c);

/// Asks `fma` for every c of `count` pairs from `first` on.
FmaAnswers ask_fma(const FmaOnCodes& fma, std::uint64_t first, std::uint64_t count);
/// The device; where software stands in for a GPU the definition answers. Throws DataError where the device fails.
FmaAnswers ask_fma(const Executor& device, std::uint64_t first, std::uint64_t count);
/// The first CUDA device. Throws DataError where the build has no CUDA.
FmaAnswers ask_fma_on_cuda(std::uint64_t first, std::uint64_t count);

}  // namespace ulp::gpu
