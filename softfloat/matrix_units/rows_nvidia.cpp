// Rows of NVIDIA's GPUs: floating-point products without block scales.
#include "softfloat/matrix_units/mma_sim.hpp"
#include "softfloat/matrix_units/policies.hpp"
#include "softfloat/matrix_units/rows.hpp"

namespace ulp {

namespace {

/// What all instructions of a generation share.
struct Generation {
    std::string architecture;
    int fraction_bits;  // F
    int group16;        // products of a fused group with 16-bit inputs
    int group_tf32;     // and with tf32 inputs
};

/// A row of a fused group, or of FP8 by way of HMMA, with the policies of an H100 (policies.hpp).
void add(std::vector<UnitRow>& rows, const Generation& generation, const std::string& instruction,
         const std::string& input, const TensorCoreModel& model, const Source& source) {
    add_row(rows, {generation.architecture, instruction, input, name_of(model.accumulator)},
            with_policies(model, policy_set("H")), source);
}

TensorCoreModel fused_model(const FloatFormat& input, const FloatFormat& accumulator, int k, int group,
                            int fraction_bits) {
    const bool wide = accumulator == formats::fp32;
    return {.a_format = input,
            .b_format = input,
            .accumulator = accumulator,
            .instruction_k = k,
            .group_size = group,
            .fraction_bits = fraction_bits,
            .rounding = wide ? Rounding::toward_zero : Rounding::nearest_even,
            .output_fraction_bits = accumulator.fraction_bits};
}

/// fp16 with both accumulators, bf16 and tf32: what every generation from Ampere on has.
void add_common(std::vector<UnitRow>& rows, const Generation& g, const std::string& instruction, const Source& source,
                const Source& tf32_source) {
    using namespace formats;
    add(rows, g, instruction, "fp16", fused_model(fp16, fp32, 16, g.group16, g.fraction_bits), source);
    add(rows, g, instruction, "fp16", fused_model(fp16, fp16, 16, g.group16, g.fraction_bits), source);
    add(rows, g, instruction, "bf16", fused_model(bf16, fp32, 16, g.group16, g.fraction_bits), source);
    add(rows, g, instruction, "tf32", fused_model(tf32, fp32, 8, g.group_tf32, g.fraction_bits), tf32_source);
}
void add_common(std::vector<UnitRow>& rows, const Generation& g, const std::string& instruction, const Source& source) {
    add_common(rows, g, instruction, source, source);
}

/// Sources of FP8 rows: of equal formats of a and b by accumulator, and of the mixed pairs.
struct Fp8Sources {
    Source fp32, fp16, mixed;
};

/// FP8 in all four pairs of formats and with both accumulators, from one prototype.
void add_fp8(std::vector<UnitRow>& rows, const Generation& g, const std::string& instruction, TensorCoreModel prototype,
             int fp32_output_bits, const Fp8Sources& sources) {
    using namespace formats;
    for (const FloatFormat& a : {e4m3, e5m2}) {
        for (const FloatFormat& b : {e4m3, e5m2}) {
            for (const FloatFormat& accumulator : {fp32, fp16}) {
                const bool wide = accumulator == fp32;
                prototype.a_format = a;
                prototype.b_format = b;
                prototype.accumulator = accumulator;
                prototype.rounding = wide ? Rounding::toward_zero : Rounding::nearest_even;
                prototype.output_fraction_bits = wide ? fp32_output_bits : fp16.fraction_bits;
                const Source& source = wide ? sources.fp32 : sources.fp16;
                add(rows, g, instruction, names_of(a, b), prototype, a == b ? source : sources.mixed);
            }
        }
    }
}

/// A mixed pair of FP8 through fp16, which MMA-Sim's version 1 lacks.
std::string uncompared_pair(const std::string& gpu) {
    return "computed as equal formats of a and b, which are recorded on " + gpu +
           "; this pair was compared with nothing";
}

void add_volta_and_turing(std::vector<UnitRow>& rows) {
    using namespace formats;
    const Generation volta{"sm_70", 23, 4, 4};
    for (const FloatFormat& accumulator : {fp32, fp16}) {
        add(rows, volta, "mma", "fp16", fused_model(fp16, accumulator, 4, 4, 23), recorded("V100"));
    }
    const Generation turing{"sm_75", 24, 8, 4};
    for (const FloatFormat& accumulator : {fp32, fp16}) {
        add(rows, turing, "mma", "fp16", fused_model(fp16, accumulator, 8, 8, 24), published(equal_to_mma_sim()));
    }
}

void add_ampere_and_ada(std::vector<UnitRow>& rows) {
    add_common(rows, {"sm_80", 24, 8, 4}, "mma", recorded("A100"));
    add_common(rows, {"sm_86", 24, 8, 4}, "mma", recorded("A2"));
    const Generation ada{"sm_89", 24, 8, 4};
    add_common(rows, ada, "mma", recorded("an Ada GPU"));
    add_fp8(rows, ada, "mma", {.instruction_k = 32, .group_size = 16, .fraction_bits = 13}, 13,
            {recorded("an Ada GPU"), recorded("an Ada GPU"),
             published(equal_to_mma_sim() + "; recordings of an Ada GPU have equal formats of a and b alone")});
}

/// What Hopper and Blackwell B200 share: mma.sync, its FP8 emulation, and the pair of k4 HMMAs that WMMA makes of tf32.
void add_datacenter_mma(std::vector<UnitRow>& rows, const Generation& g, const Source& source) {
    using namespace formats;
    const Source eight{Evidence::published, std::string(mma_sim) + "; recorded are only groups of 4, made by WMMA"};
    add_common(rows, g, "mma", source, eight);
    add(rows, g, "wmma", "tf32", fused_model(tf32, fp32, 8, 4, 25), source);
}

void add_hopper(std::vector<UnitRow>& rows) {
    const Generation hopper{"sm_90", 25, 16, 8};
    add_datacenter_mma(rows, hopper, recorded("H100"));
    const Source unseen = published(std::string(mma_sim) + "; no recording of wgmma with 16-bit or tf32 inputs");
    add_common(rows, hopper, "wgmma", unseen);
    add_fp8(rows, hopper, "wgmma", {.instruction_k = 32, .group_size = 32, .fraction_bits = 13}, 13,
            {recorded("H100 with c = 0"), published(equal_to_mma_sim()), published(equal_to_mma_sim())});
    add_fp8(rows, hopper, "mma",
            {.summation = Summation::fp8_by_hmma, .instruction_k = 32, .group_size = 16, .fraction_bits = 25}, 23,
            {published("fp16 output is recorded on H100, fp32 output on B200, which runs the same instructions"),
             recorded("H100"), published(uncompared_pair("H100"))});
}

void add_blackwell(std::vector<UnitRow>& rows) {
    const Generation b200{"sm_100", 25, 16, 8};
    add_datacenter_mma(rows, b200, recorded("B200"));
    add_common(rows, b200, "tcgen05", published(equal_to_mma_sim()));
    const Source equal = published(equal_to_mma_sim());
    const Fp8Sources unseen{equal, equal, equal};
    add_fp8(rows, b200, "tcgen05", {.instruction_k = 32, .group_size = 32, .fraction_bits = 25}, 23, unseen);
    add_fp8(rows, b200, "mma",
            {.summation = Summation::fp8_by_hmma, .instruction_k = 32, .group_size = 16, .fraction_bits = 25}, 23,
            {recorded("B200"), recorded("B200"), published(uncompared_pair("B200"))});
    const Generation rtx{"sm_120", 25, 16, 8};
    add_common(rows, rtx, "mma", published(equal_to_mma_sim()));
    add_fp8(rows, rtx, "mma", {.instruction_k = 32, .group_size = 32, .fraction_bits = 25}, 23, unseen);
}

/// kind::f8f6f4 with FP6 and FP4 elements, and in pairs of unequal formats: the fused group of FP8.
void add_fp6_and_fp4(std::vector<UnitRow>& rows) {
    using namespace formats;
    for (const auto& [architecture, instruction] : {std::pair{"sm_100", "tcgen05"}, {"sm_120", "mma"}}) {
        const Generation g{architecture, 25, 0, 0};
        for (const auto& [a, b] : f8f6f4_pairs()) {
            if (both_fp8(a, b)) continue;
            for (const FloatFormat& accumulator : {fp32, fp16}) {
                TensorCoreModel model = fused_model(a, accumulator, 32, 32, 25);
                model.b_format = b;
                add(rows, g, instruction, names_of(a, b), model, published(f8f6f4_source(a, b)));
            }
        }
    }
}

/// kind::f16 with operands of unequal formats.
void add_fp16_with_bf16(std::vector<UnitRow>& rows) {
    using namespace formats;
    const Generation b200{"sm_100", 25, 0, 0};
    for (const auto& [a, b] : {std::pair{fp16, bf16}, {bf16, fp16}}) {
        TensorCoreModel model = fused_model(a, fp32, 16, 16, 25);
        model.b_format = b;
        add(rows, b200, "tcgen05", names_of(a, b), model,
            published(equal_to_mma_sim() + "; it takes the pair, CUTLASS documents equal formats only"));
    }
}

void add_fp64(std::vector<UnitRow>& rows) {
    for (const char* architecture : {"sm_80", "sm_89", "sm_90", "sm_100", "sm_120"}) {
        add_row(rows, {architecture, "mma", "fp64", "fp64"}, fp64_model(NanStyle::dmma),
                published("Fasi et al., PeerJ CS 7:e330; " + equal_to_mma_sim() + "; NaNs as on H100"));
    }
}

}  // namespace

void add_nvidia_rows(std::vector<UnitRow>& rows) {
    add_volta_and_turing(rows);
    add_ampere_and_ada(rows);
    add_hopper(rows);
    add_blackwell(rows);
    add_fp6_and_fp4(rows);
    add_fp16_with_bf16(rows);
    add_fp64(rows);
}

}  // namespace ulp
