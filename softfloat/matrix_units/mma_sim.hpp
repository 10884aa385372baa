// What rows of the table share that rest on MMA-Sim (Xie et al., arXiv 2511.10909). docs/mma_sim.md tells what was
// compared.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "softfloat/names.hpp"

namespace ulp {

inline constexpr std::string_view mma_sim = "MMA-Sim, arXiv 2511.10909";

/// The proof of a row that agrees with MMA-Sim's code. The tests know these words.
inline std::string equal_to_mma_sim(std::string_view source = mma_sim) {
    return std::string(source) + ", equal to its results on 10,000 random blocks";
}

/// "fp16", or "e4m3_e5m2" where the operands differ.
inline std::string names_of(const FloatFormat& a, const FloatFormat& b) {
    return a == b ? name_of(a) : name_of(a) + "_" + name_of(b);
}

/// The pairs of kind::f8f6f4 and kind::mxf8f6f4 (PTX ISA): FP8, FP6 and FP4 in any combination.
inline std::vector<std::pair<FloatFormat, FloatFormat>> f8f6f4_pairs() {
    using namespace formats;
    std::vector<std::pair<FloatFormat, FloatFormat>> pairs;
    for (const FloatFormat& a : {e4m3, e5m2, e3m2, e2m3, e2m1}) {
        for (const FloatFormat& b : {e4m3, e5m2, e3m2, e2m3, e2m1}) pairs.emplace_back(a, b);
    }
    return pairs;
}

inline bool both_fp8(const FloatFormat& a, const FloatFormat& b) { return a.code_bits() == 8 && b.code_bits() == 8; }

/// What stands behind a pair. MMA-Sim's code computes FP8; it lists FP4 without computing it, and lacks FP6.
inline std::string f8f6f4_source(const FloatFormat& a, const FloatFormat& b) {
    if (both_fp8(a, b)) return equal_to_mma_sim();
    return equal_to_mma_sim("as MMA-Sim (arXiv 2511.10909) has FP8, with these formats added to its table");
}

}  // namespace ulp
