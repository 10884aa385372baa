// The functions of numbers that a GPU has as single instructions, asked for all operands of a range at a time: what
// comes back is a digest of the answers, how many a model would have given otherwise, and, if wanted, the answers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "gpu/devices/executor.hpp"

namespace ulp::gpu {

struct HardwareFunction {
    std::string_view name;  // of the PTX instruction
    int operand_bits;  // it is asked for all operands of that many bits: a number, a pair of halves (add, mul), or the
                       // number of a sample (fma, stochastic rounding, what a warp does together)
    Availability availability;
    std::uint32_t (*model)(std::uint32_t operand);  // the bits of the result; null where nobody has said them
    bool stated;                                    // by the manual; else the model is a guess (the order of atomics)

    [[nodiscard]] std::uint64_t operands() const { return std::uint64_t{1} << operand_bits; }
};
std::span<const HardwareFunction> hardware_functions();
/// Throws UsageError that lists the names.
const HardwareFunction& hardware_function_by_name(std::string_view name);

/// The answers to the operands of a range.
struct FunctionAnswers {
    std::uint64_t digest = 0;      // of the results (gpu/instructions/input_classes.hpp), each by its operand
    std::uint64_t differ = 0;      // from the model, NaNs aside; 0 where there is none
    std::uint64_t differ_nan = 0;  // where the model has a NaN
    std::uint64_t first = ~std::uint64_t{0};  // operand that differs, NaN or not
    std::vector<std::uint32_t> results;       // of each operand of the range; empty unless they are kept
};

/// Asks the device for `count` operands from `first` on; `keep`: with their results, 4 bytes each. Where software
/// stands in for a GPU the model answers. Throws UsageError where the device lacks the function, or has neither GPU nor
/// model; DataError where the device fails.
FunctionAnswers ask_function(const Executor& device, const HardwareFunction& function, std::uint32_t first,
                             std::uint64_t count, bool keep = false);
/// The same on the first CUDA device. Throws DataError where the build has no CUDA.
FunctionAnswers ask_function_on_cuda(const HardwareFunction& function, std::uint32_t first, std::uint64_t count,
                                     bool keep);

// A run over all classes of fp16's fused multiply-add, in ranges that can be resumed.

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
