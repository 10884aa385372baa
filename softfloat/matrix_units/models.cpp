#include "softfloat/matrix_units/models.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>

#include "softfloat/format_names.hpp"
#include "softfloat/matrix_units/policies.hpp"
#include "softfloat/matrix_units/table/hardware_runs.hpp"
#include "softfloat/support/nearest_names.hpp"

namespace ulp {

namespace {

/// What all instructions of a generation share.
struct Generation {
    std::string architecture;
    int fraction_bits;                // F
    int group16;                      // products of a fused group with 16-bit inputs
    int group_tf32;                   // and with tf32 inputs
    std::string_view policies = "B";  // on the open points (policies.hpp); another where the hardware was asked
};

struct Proof {
    Evidence evidence;
    std::string text;
};

void add(std::vector<ModelRow>& rows, const Generation& generation, const std::string& instruction,
         const std::string& input, const TensorCoreModel& model, const Proof& proof) {
    const std::string key =
        generation.architecture + ":" + instruction + "." + input + "." + name_of(model.accumulator);
    Proof best = proof;
    if (const auto seen = seen_on_hardware(key)) {
        best = {Evidence::verified_live, proof.evidence == Evidence::recorded ? *seen + "; " + proof.text : *seen};
    }
    const bool fused = model.summation == Summation::fused || model.summation == Summation::fp8_by_hmma;
    rows.push_back({generation.architecture, instruction, input, name_of(model.accumulator),
                    fused ? with_policies(model, policy_set(generation.policies)) : model, best.evidence, best.text});
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
void add_common(std::vector<ModelRow>& rows, const Generation& g, const std::string& instruction, const Proof& proof,
                const Proof& tf32_proof) {
    using namespace formats;
    add(rows, g, instruction, "fp16", fused_model(fp16, fp32, 16, g.group16, g.fraction_bits), proof);
    add(rows, g, instruction, "fp16", fused_model(fp16, fp16, 16, g.group16, g.fraction_bits), proof);
    add(rows, g, instruction, "bf16", fused_model(bf16, fp32, 16, g.group16, g.fraction_bits), proof);
    add(rows, g, instruction, "tf32", fused_model(tf32, fp32, 8, g.group_tf32, g.fraction_bits), tf32_proof);
}
void add_common(std::vector<ModelRow>& rows, const Generation& g, const std::string& instruction, const Proof& proof) {
    add_common(rows, g, instruction, proof, proof);
}

/// Proofs of FP8 rows by accumulator.
struct Fp8Proofs {
    Proof fp32, fp16;
};

/// FP8 in all four pairs of formats and with both accumulators, from one prototype.
void add_fp8(std::vector<ModelRow>& rows, const Generation& g, const std::string& instruction,
             TensorCoreModel prototype, int fp32_output_bits, const Fp8Proofs& proofs) {
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
                const std::string input = a == b ? name_of(a) : name_of(a) + "_" + name_of(b);
                const Proof& proof = wide ? proofs.fp32 : proofs.fp16;
                const Proof mixed{Evidence::published, "as with equal formats of a and b; for these: " + proof.text};
                add(rows, g, instruction, input, prototype, a == b ? proof : mixed);
            }
        }
    }
}

constexpr std::string_view mma_sim = "MMA-Sim, arXiv 2511.10909";

Proof recorded(const std::string& gpus) { return {Evidence::recorded, "recordings of " + gpus}; }
Proof published(const std::string& source) { return {Evidence::published, source}; }

void add_volta_and_turing(std::vector<ModelRow>& rows) {
    using namespace formats;
    const Generation volta{"sm_70", 23, 4, 4};
    for (const FloatFormat& accumulator : {fp32, fp16}) {
        add(rows, volta, "mma", "fp16", fused_model(fp16, accumulator, 4, 4, 23), recorded("V100"));
    }
    const Generation turing{"sm_75", 24, 8, 4};
    for (const FloatFormat& accumulator : {fp32, fp16}) {
        add(rows, turing, "mma", "fp16", fused_model(fp16, accumulator, 8, 8, 24), published(std::string(mma_sim)));
    }
}

void add_ampere_and_ada(std::vector<ModelRow>& rows) {
    add_common(rows, {"sm_80", 24, 8, 4}, "mma", recorded("A100"));
    add_common(rows, {"sm_86", 24, 8, 4}, "mma", recorded("A2"));
    const Generation ada{"sm_89", 24, 8, 4};
    add_common(rows, ada, "mma", recorded("an Ada GPU"));
    add_fp8(rows, ada, "mma", {.instruction_k = 32, .group_size = 16, .fraction_bits = 13}, 13,
            {recorded("an Ada GPU"), recorded("an Ada GPU")});
}

/// What Hopper and Blackwell B200 share: mma.sync, its FP8 emulation, and the pair of k4 HMMAs that WMMA makes of tf32.
void add_datacenter_mma(std::vector<ModelRow>& rows, const Generation& g, const Proof& proof) {
    using namespace formats;
    const Proof eight{Evidence::published, std::string(mma_sim) + "; recorded are only groups of 4, made by WMMA"};
    add_common(rows, g, "mma", proof, eight);
    add(rows, g, "wmma", "tf32", fused_model(tf32, fp32, 8, 4, 25), proof);
}

void add_hopper(std::vector<ModelRow>& rows) {
    const Generation hopper{"sm_90", 25, 16, 8, "H"};
    add_datacenter_mma(rows, hopper, recorded("H100"));
    const Proof unseen = published(std::string(mma_sim) + "; no recording of wgmma with 16-bit or tf32 inputs");
    add_common(rows, hopper, "wgmma", unseen);
    add_fp8(rows, hopper, "wgmma", {.instruction_k = 32, .group_size = 32, .fraction_bits = 13}, 13,
            {recorded("H100 with c = 0"), published(std::string(mma_sim))});
    add_fp8(rows, hopper, "mma",
            {.summation = Summation::fp8_by_hmma, .instruction_k = 32, .group_size = 16, .fraction_bits = 25}, 23,
            {published("fp16 output is recorded on H100, fp32 output on B200, which runs the same instructions"),
             recorded("H100")});
}

void add_blackwell(std::vector<ModelRow>& rows) {
    const Generation b200{"sm_100", 25, 16, 8};
    add_datacenter_mma(rows, b200, recorded("B200"));
    add_common(rows, b200, "tcgen05", published(std::string(mma_sim)));
    const Fp8Proofs unseen{published(std::string(mma_sim)), published(std::string(mma_sim))};
    add_fp8(rows, b200, "tcgen05", {.instruction_k = 32, .group_size = 32, .fraction_bits = 25}, 23, unseen);
    add_fp8(rows, b200, "mma",
            {.summation = Summation::fp8_by_hmma, .instruction_k = 32, .group_size = 16, .fraction_bits = 25}, 23,
            {recorded("B200"), recorded("B200")});
    const Generation rtx{"sm_120", 25, 16, 8};
    add_common(rows, rtx, "mma", published(std::string(mma_sim)));
    add_fp8(rows, rtx, "mma", {.instruction_k = 32, .group_size = 32, .fraction_bits = 25}, 23, unseen);
}

/// kind::f8f6f4 with FP6 and FP4 elements: the fused group of FP8.
void add_fp6_and_fp4(std::vector<ModelRow>& rows) {
    using namespace formats;
    for (const auto& [architecture, instruction] : {std::pair{"sm_100", "tcgen05"}, {"sm_120", "mma"}}) {
        const Generation g{architecture, 25, 0, 0};
        for (const FloatFormat& element : {e3m2, e2m3, e2m1}) {
            for (const FloatFormat& accumulator : {fp32, fp16}) {
                add(rows, g, instruction, name_of(element), fused_model(element, accumulator, 32, 32, 25),
                    published(std::string(mma_sim)));
            }
        }
    }
}

/// fp64: chains of fused multiply-adds.
void add_fp64(std::vector<ModelRow>& rows) {
    using formats::fp64;
    for (const char* architecture : {"sm_80", "sm_90", "sm_100"}) {
        const TensorCoreModel model{.a_format = fp64,
                                    .b_format = fp64,
                                    .accumulator = fp64,
                                    .summation = Summation::fma_chain,
                                    .instruction_k = 4,
                                    .group_size = 1,
                                    .fraction_bits = 0,
                                    .rounding = Rounding::nearest_even,
                                    .output_fraction_bits = fp64.fraction_bits,
                                    .nan = NanStyle::dmma};
        add(rows, {architecture, 0, 0, 0}, "mma", "fp64", model,
            published("Fasi et al., PeerJ CS 7:e330, and " + std::string(mma_sim)));
    }
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

void add_amd(std::vector<ModelRow>& rows) {
    using namespace formats;
    const Proof claim = published(std::string(mma_sim) + "; no recording of an AMD GPU");
    const Proof other = published("another reading of MI100: " + std::string(mma_sim) + ", later version");
    const Generation mi100{"gfx908", 0, 0, 0};
    add(rows, mi100, "mfma", "fp16", chained_model(fp16, Summation::pairwise, 16, 4), claim);
    add(rows, mi100, "mfma", "bf16", chained_model(bf16, Summation::pairwise, 8, 2), claim);
    add(rows, mi100, "mfma", "fp32", chained_model(fp32, Summation::fma_chain, 4, 1), claim);
    add(rows, mi100, "mfma_exact", "fp16", chained_model(fp16, Summation::exact, 16, 4), other);
    add(rows, mi100, "mfma_exact", "bf16", chained_model(bf16, Summation::exact, 8, 2), other);

    const Generation mi200{"gfx90a", 0, 0, 0};
    const auto flushing = [](TensorCoreModel model) {
        model.flush_subnormals = true;
        return model;
    };
    add(rows, mi200, "mfma", "fp16", flushing(chained_model(fp16, Summation::pairwise, 16, 4)), claim);
    add(rows, mi200, "mfma_1k", "bf16", flushing(chained_model(bf16, Summation::pairwise, 16, 4)), claim);
    add(rows, mi200, "mfma", "bf16", flushing(chained_model(bf16, Summation::pairwise, 8, 2)), claim);
    add(rows, mi200, "mfma", "fp32", chained_model(fp32, Summation::fma_chain, 4, 1), claim);

    const Generation mi300{"gfx942", 24, 0, 0};
    const auto late = [](const FloatFormat& input, int k, int group) {
        TensorCoreModel model = chained_model(input, Summation::late_addend, k, group);
        model.fraction_bits = 24;
        return model;
    };
    add(rows, mi300, "mfma", "fp16", late(fp16, 16, 8), claim);
    add(rows, mi300, "mfma", "bf16", late(bf16, 16, 8), claim);
    add(rows, mi300, "mfma", "tf32", late(tf32, 8, 4), claim);
    for (const FloatFormat& fp8 : {e4m3fnuz, e5m2fnuz}) {
        TensorCoreModel model = late(fp8, 32, 16);
        model.summation = Summation::late_addend_even_odd;
        add(rows, mi300, "mfma", name_of(fp8), model, claim);
    }
    add(rows, mi300, "mfma", "fp32", chained_model(fp32, Summation::fma_chain, 4, 1), claim);
}

void add_x86(std::vector<ModelRow>& rows) {
    const Generation x86{"x86", 0, 0, 0};
    TensorCoreModel pairs = chained_model(formats::bf16, Summation::fma_pairs, 2, 2);
    pairs.flush_subnormals = true;
    pairs.nan = NanStyle::x86;
    TensorCoreModel tile = chained_model(formats::bf16, Summation::even_odd_fma, 32, 32);
    tile.flush_subnormals = true;
    tile.nan = NanStyle::x86;
    add(rows, x86, "vdpbf16ps", "bf16", pairs,
        {Evidence::verified_live, "compared with the processor by the tests, on random blocks of any bits"});
    add(rows, x86, "tdpbf16ps", "bf16", tile,
        {Evidence::verified_live, "compared with the processor by the tests, on random tiles of any bits"});
}

std::vector<ModelRow> build_table() {
    std::vector<ModelRow> rows;
    add_volta_and_turing(rows);
    add_ampere_and_ada(rows);
    add_hopper(rows);
    add_blackwell(rows);
    add_fp6_and_fp4(rows);
    add_fp64(rows);
    add_amd(rows);
    add_x86(rows);
    return rows;
}

constexpr std::array gpus{
    NamedGpu{"V100", "sm_70"},
    NamedGpu{"Volta", "sm_70"},
    NamedGpu{"T4", "sm_75"},
    NamedGpu{"Turing", "sm_75"},
    NamedGpu{"A100", "sm_80"},
    NamedGpu{"A30", "sm_80"},
    NamedGpu{"Ampere", "sm_80"},
    NamedGpu{"A2", "sm_86"},
    NamedGpu{"Ada", "sm_89"},
    NamedGpu{"L40S", "sm_89"},
    NamedGpu{"H100", "sm_90"},
    NamedGpu{"H200", "sm_90"},
    NamedGpu{"Hopper", "sm_90"},
    NamedGpu{"B200", "sm_100"},
    NamedGpu{"Blackwell", "sm_100"},
    NamedGpu{"RTX5090", "sm_120"},
    NamedGpu{"RTXBlackwell", "sm_120"},
    NamedGpu{"MI100", "gfx908"},
    NamedGpu{"MI210", "gfx90a"},
    NamedGpu{"MI250", "gfx90a"},
    NamedGpu{"MI300X", "gfx942"},
};

bool equal_ignoring_case(std::string_view x, std::string_view y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

[[noreturn]] void throw_unknown(const std::string& what, std::string_view wrong, std::span<const ModelRow> choices) {
    std::vector<std::string> keys;
    for (const ModelRow& row : choices) keys.push_back(row.key());
    throw std::invalid_argument("there is no model " + what + "; nearest are " + nearest_names(wrong, keys) +
                                ", and `ulplab models` lists all");
}

}  // namespace

std::string ModelRow::key() const { return architecture + ":" + instruction + "." + input + "." + output; }

std::span<const ModelRow> model_table() {
    static const std::vector<ModelRow> table = build_table();
    return table;
}

const ModelRow& find_model(std::string_view key) {
    for (const ModelRow& row : model_table()) {
        if (row.key() == key) return row;
    }
    throw_unknown("'" + std::string(key) + "'", key, model_table());
}

const ModelRow& find_model(std::string_view gpu, std::string_view input, std::string_view output) {
    const std::string architecture = architecture_of(gpu);
    std::vector<ModelRow> of_architecture;
    for (const ModelRow& row : model_table()) {
        if (row.architecture != architecture) continue;
        if (equal_ignoring_case(row.input, input) && equal_ignoring_case(row.output, output)) return row;
        of_architecture.push_back(row);
    }
    throw_unknown("of " + std::string(gpu) + " with " + std::string(input) + " inputs and a " + std::string(output) +
                      " accumulator",
                  architecture + ":mma." + std::string(input) + "." + std::string(output), of_architecture);
}

std::span<const NamedGpu> named_gpus() { return gpus; }

std::string architecture_of(std::string_view gpu) {
    std::string names;
    for (const NamedGpu& row : gpus) {
        if (equal_ignoring_case(row.name, gpu)) return std::string(row.architecture);
        names += (names.empty() ? "" : ", ") + std::string(row.name);
    }
    for (const ModelRow& row : model_table()) {
        if (row.architecture == gpu) return row.architecture;
    }
    throw std::invalid_argument("there is no GPU model '" + std::string(gpu) + "'; choose one of " + names);
}

const PolicySet& policy_set(std::string_view name) {
    std::string names;
    for (const PolicySet& set : policy_sets) {
        if (equal_ignoring_case(set.name, name)) return set;
        names += (names.empty() ? "" : ", ") + std::string(set.name);
    }
    throw std::invalid_argument("there is no policy set '" + std::string(name) + "'; choose one of " + names);
}

}  // namespace ulp
