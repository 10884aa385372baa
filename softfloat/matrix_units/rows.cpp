#include "softfloat/matrix_units/rows.hpp"

#include "softfloat/matrix_units/hardware_runs.hpp"
#include "softfloat/matrix_units/mma_sim.hpp"
#include "softfloat/matrix_units/policies.hpp"

namespace ulp {

namespace {

/// The model of the fused sum, if the unit has one.
const TensorCoreModel* fused_part(const UnitModel& model) {
    if (const auto* scaled = std::get_if<BlockScaledModel>(&model)) return &scaled->unscaled;
    const auto* floating = std::get_if<TensorCoreModel>(&model);
    return floating != nullptr && is_fused(*floating) ? floating : nullptr;
}

/// The name of the set that gives the model its policies.
std::string policies_of(const UnitModel& model) {
    const TensorCoreModel* fused = fused_part(model);
    if (fused == nullptr) return "";
    for (const PolicySet& set : policy_sets) {
        if (with_policies(*fused, set) == *fused) return std::string(set.name);
    }
    return "own";
}

/// Who states what the recordings and runs of a unit leave open.
std::string source_beside_hardware(const UnitRow& row) {
    if (row.as<IntegerModel>() != nullptr) return "PTX ISA";
    return row.architecture == "sm_90" ? "as for this GPU's other instructions; no recording of this one decides it"
                                       : std::string(mma_sim);
}

/// Zeros and the exponent floor of units that nobody asked: both published models give them the law of an H100, but for
/// the floor beside fp16 accumulators.
void add_second_publication(UnitRow& row) {
    if (row.policies != "H" || row.architecture == "sm_90") return;
    for (AspectEvidence& each : row.aspects) {
        const bool is_floor = each.aspect == Aspect::exponent_floor;
        if ((!is_floor && each.aspect != Aspect::zeros) || each.evidence != Evidence::published) continue;
        each = {each.aspect, Evidence::published_twice,
                "MATLAB-tensor-core and MMA-Sim 2, August 2026; the law is verified live on an H100 (sm_90)"};
        if (!is_floor || row.output != "fp16") continue;
        each = {each.aspect, Evidence::published,
                "MATLAB-tensor-core, August 2026, and verified live on an H100 (sm_90); MMA-Sim 2 has it one lower"};
    }
}

}  // namespace

void add_row(std::vector<UnitRow>& rows, const UnitName& name, const UnitModel& model, const Source& source) {
    UnitRow row{name, model, policies_of(model), {}, {}, {}};
    const bool seen = source.evidence == Evidence::recorded || seen_on_hardware(row.key()).has_value();
    const AspectEvidence weaker =
        seen ? AspectEvidence{Aspect::ordinary, Evidence::published, source_beside_hardware(row)}
             : AspectEvidence{Aspect::ordinary, source.evidence, source.text};
    row.aspects = evidence_of_row(row.key(), aspects_of(row.model), weaker);
    add_second_publication(row);
    row.evidence = row.aspects.front().evidence;
    row.proof = row.aspects.front().data;
    rows.push_back(std::move(row));
}

void add_copies(std::vector<UnitRow>& rows, const std::string& from, const std::string& to, bool with_fp64) {
    std::vector<UnitRow> originals;
    for (const UnitRow& row : rows) {
        if (row.architecture == from && (with_fp64 || row.output != "fp64")) originals.push_back(row);
    }
    for (const UnitRow& row : originals) {
        add_row(rows, {to, row.instruction, row.input, row.output}, row.model,
                published("as " + from + " by MMA-Sim 2, arXiv 2511.10909; no recording"));
    }
}

/// fp64: a chain of fused multiply-adds.
TensorCoreModel fp64_model(NanStyle nan) {
    using formats::fp64;
    return {.a_format = fp64,
            .b_format = fp64,
            .accumulator = fp64,
            .summation = Summation::fma_chain,
            .instruction_k = 4,
            .group_size = 1,
            .fraction_bits = 0,
            .rounding = Rounding::nearest_even,
            .output_fraction_bits = fp64.fraction_bits,
            .nan = nan};
}

/// A unit of IEEE operations with an fp32 accumulator.
TensorCoreModel chained_model(const FloatFormat& input, Summation summation, int k, int group) {
    return {.a_format = input,
            .b_format = input,
            .accumulator = formats::fp32,
            .summation = summation,
            .instruction_k = k,
            .group_size = group,
            .fraction_bits = 0,
            .rounding = Rounding::nearest_even,
            .nan = NanStyle::quiet};
}

}  // namespace ulp
