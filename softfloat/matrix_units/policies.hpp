// The published hypotheses on the open points of the fused block, by name.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "softfloat/matrix_units/model.hpp"

namespace ulp {

/// How far below the accumulator's emin the search for the largest exponent stops.
enum class FloorRule : std::uint8_t {
    none,
    by_fraction_bits,  // F - 18, but none where F is 23 and the accumulator fp32
    of_generation      // F - 18 of the 16-bit products: where F is none of 23 to 25, as on the H100, 7
};

/// A named set of policies; the rule gives their exponent floor.
struct PolicySet {
    std::string_view name;  // in stored data
    std::string_view word;  // on the command line
    std::string_view meaning;
    BlockPolicies policies;
    FloorRule floor = FloorRule::none;
};

/// A: Khattak and Mikaitis (arXiv 2512.07004, MATLAB-tensor-core). B: Xie et al. (arXiv 2511.10909, MMA-Sim). C to E:
/// what else the hardware could do. H: what an H100 does (tests/recordings), a mixture of A and B, and what both
/// sources state of all of NVIDIA's generations since August 2026. Rows of NVIDIA's units without block scales use it,
/// those with block scales B.
inline constexpr std::array policy_sets{
    PolicySet{"A",
              "leading_bit",
              "zeros ignored, an exponent floor, a subnormal c at its leading bit, underflow keeps its sign",
              {ZeroProduct::ignored, ZeroAddend::ignored, SubnormalAddend::at_leading_bit, UnderflowSign::kept,
               no_exponent_floor},
              FloorRule::by_fraction_bits},
    PolicySet{"B",
              "zeros_count",
              "a zero operand and a zero c count at exponent -126",
              {ZeroProduct::operand_at_fp32_emin, ZeroAddend::at_fp32_emin, SubnormalAddend::at_emin,
               UnderflowSign::positive, no_exponent_floor}},
    PolicySet{"C",
              "zeros_ignored",
              "zeros ignored, no exponent floor",
              {ZeroProduct::ignored, ZeroAddend::ignored, SubnormalAddend::at_emin, UnderflowSign::positive,
               no_exponent_floor}},
    PolicySet{"D",
              "zero_c_counts",
              "zero products ignored, a zero c counts at the accumulator's emin",
              {ZeroProduct::ignored, ZeroAddend::at_accumulator_emin, SubnormalAddend::at_emin, UnderflowSign::positive,
               no_exponent_floor}},
    PolicySet{"E",
              "zeros_as_subnormals",
              "a zero operand and a zero c count as subnormals of their formats",
              {ZeroProduct::operand_as_subnormal, ZeroAddend::at_accumulator_emin, SubnormalAddend::at_emin,
               UnderflowSign::positive, no_exponent_floor}},
    PolicySet{"H",
              "measured_h100",
              "zeros ignored, an exponent floor F - 18 below emin (H100: 7), a subnormal c at emin, underflow positive",
              {ZeroProduct::ignored, ZeroAddend::ignored, SubnormalAddend::at_emin, UnderflowSign::positive,
               no_exponent_floor},
              FloorRule::of_generation},
};

/// The set of that name. Throws std::invalid_argument that lists the names.
const PolicySet& policy_set(std::string_view name);
/// The set of that word: "measured_h100". Throws std::invalid_argument that lists the words; of a name it says the
/// word.
const PolicySet& policy_set_by_word(std::string_view word);
/// "leading_bit, zeros_count, ..."
std::string policy_words();

/// The model with its policies replaced by the set's.
constexpr TensorCoreModel with_policies(TensorCoreModel model, const PolicySet& set) {
    model.policies = set.policies;
    const bool volta = model.fraction_bits == 23 && model.accumulator == formats::fp32;
    const int emin = model.accumulator.emin();
    if (set.floor == FloorRule::by_fraction_bits && !volta) {
        model.policies.exponent_floor = emin - (model.fraction_bits - 18);
    } else if (set.floor == FloorRule::of_generation) {
        const bool of_16_bits = model.fraction_bits >= 23 && model.fraction_bits <= 25;
        model.policies.exponent_floor = emin - (of_16_bits ? model.fraction_bits - 18 : 7);
    }
    return model;
}

}  // namespace ulp
