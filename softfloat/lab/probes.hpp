// Hand-made inputs that decide between hypotheses about a matrix unit: each asks for one numerical feature.
//
// A probe is one dot product of one instruction. Lanes that are not listed are +0. The predictions come from the two
// published models (Khattak and Mikaitis, arXiv 2512.07004: A; Xie et al., arXiv 2511.10909: B), from the hypotheses C
// to H of policies.hpp, and from the ways in which the groups may be built.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace ulp {

/// Storage words of the k-th operands.
struct ProbeLane {
    int k;
    std::uint32_t a;
    std::uint32_t b;
};

struct ProbePrediction {
    std::string_view hypothesis;  // "A" ... "H" (policies.hpp), or how the groups are built
    std::uint32_t result;
};

struct Probe {
    std::string_view id;
    std::string_view question;  // what its answer tells
    std::string_view input;     // format of a and b: "bf16"
    std::string_view output;    // format of c and d: "fp32"
    int instruction_k;          // of the instructions it is made for
    std::vector<ProbeLane> lanes;
    std::uint32_t c;
    std::vector<ProbePrediction> predictions;
};

/// Where the published models disagree: ids Z (zeros), F (exponent floor, fp32), H (the same in fp16), N (sign of
/// zero).
std::span<const Probe> policy_probes();
/// How groups are built: ids K, P (fused groups), Q (FP8 on Hopper), T (tf32 operands).
std::span<const Probe> structure_probes();
/// Overflow, infinities, NaNs, underflow: both published models agree, and no recording has shown it.
std::span<const Probe> special_probes();
/// All of them in that order.
std::span<const Probe> all_probes();

}  // namespace ulp
