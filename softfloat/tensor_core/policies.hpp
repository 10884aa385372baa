// The published hypotheses on the open points of the fused block, by name.
#pragma once

#include <array>
#include <string_view>

#include "softfloat/tensor_core/model.hpp"

namespace ulp {

/// A named set of policies. `with_floor` and `exponent_floor` tell where the search for the largest exponent stops.
struct PolicySet {
    std::string_view name;
    std::string_view meaning;
    BlockPolicies policies;
    bool with_floor = false;  // emin of the accumulator - (F - 18), but none where F is 23 and the accumulator fp32
};

/// A: Khattak and Mikaitis (arXiv 2512.07004, MATLAB-tensor-core). B: Xie et al. (arXiv 2511.10909, MMA-Sim); the
/// table's rows carry B. C to E: what else the hardware could do.
inline constexpr std::array policy_sets{
    PolicySet{"A",
              "zeros ignored, an exponent floor, a subnormal c at its leading bit, underflow keeps its sign",
              {ZeroProduct::ignored, ZeroAddend::ignored, SubnormalAddend::at_leading_bit, UnderflowSign::kept,
               no_exponent_floor},
              true},
    PolicySet{"B",
              "a zero operand and a zero c count at exponent -126",
              {ZeroProduct::operand_at_fp32_emin, ZeroAddend::at_fp32_emin, SubnormalAddend::at_emin,
               UnderflowSign::positive, no_exponent_floor}},
    PolicySet{"C",
              "zeros ignored, no exponent floor",
              {ZeroProduct::ignored, ZeroAddend::ignored, SubnormalAddend::at_emin, UnderflowSign::positive,
               no_exponent_floor}},
    PolicySet{"D",
              "zero products ignored, a zero c counts at the accumulator's emin",
              {ZeroProduct::ignored, ZeroAddend::at_accumulator_emin, SubnormalAddend::at_emin, UnderflowSign::positive,
               no_exponent_floor}},
    PolicySet{"E",
              "a zero operand and a zero c count as subnormals of their formats",
              {ZeroProduct::operand_as_subnormal, ZeroAddend::at_accumulator_emin, SubnormalAddend::at_emin,
               UnderflowSign::positive, no_exponent_floor}},
};

/// The set of that name. Throws std::invalid_argument that lists the names.
const PolicySet& policy_set(std::string_view name);

/// The model with its policies replaced by the set's.
constexpr TensorCoreModel with_policies(TensorCoreModel model, const PolicySet& set) {
    model.policies = set.policies;
    const bool volta = model.fraction_bits == 23 && model.accumulator == formats::fp32;
    if (set.with_floor && !volta) {
        model.policies.exponent_floor = model.accumulator.emin() - (model.fraction_bits - 18);
    }
    return model;
}

}  // namespace ulp
