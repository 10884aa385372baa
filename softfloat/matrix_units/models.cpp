#include "softfloat/matrix_units/models.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>

#include "softfloat/matrix_units/policies.hpp"
#include "softfloat/matrix_units/table/hardware_runs.hpp"
#include "softfloat/matrix_units/table/mma_sim.hpp"
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
                const Proof& proof = wide ? proofs.fp32 : proofs.fp16;
                const Proof mixed{Evidence::published, "as with equal formats of a and b; for these: " + proof.text};
                add(rows, g, instruction, names_of(a, b), prototype, a == b ? proof : mixed);
            }
        }
    }
}

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
        add(rows, turing, "mma", "fp16", fused_model(fp16, accumulator, 8, 8, 24), published(equal_to_mma_sim()));
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
            {recorded("H100 with c = 0"), published(equal_to_mma_sim())});
    add_fp8(rows, hopper, "mma",
            {.summation = Summation::fp8_by_hmma, .instruction_k = 32, .group_size = 16, .fraction_bits = 25}, 23,
            {published("fp16 output is recorded on H100, fp32 output on B200, which runs the same instructions"),
             recorded("H100")});
}

void add_blackwell(std::vector<ModelRow>& rows) {
    const Generation b200{"sm_100", 25, 16, 8};
    add_datacenter_mma(rows, b200, recorded("B200"));
    add_common(rows, b200, "tcgen05", published(equal_to_mma_sim()));
    const Fp8Proofs unseen{published(equal_to_mma_sim()), published(equal_to_mma_sim())};
    add_fp8(rows, b200, "tcgen05", {.instruction_k = 32, .group_size = 32, .fraction_bits = 25}, 23, unseen);
    add_fp8(rows, b200, "mma",
            {.summation = Summation::fp8_by_hmma, .instruction_k = 32, .group_size = 16, .fraction_bits = 25}, 23,
            {recorded("B200"), recorded("B200")});
    const Generation rtx{"sm_120", 25, 16, 8};
    add_common(rows, rtx, "mma", published(equal_to_mma_sim()));
    add_fp8(rows, rtx, "mma", {.instruction_k = 32, .group_size = 32, .fraction_bits = 25}, 23, unseen);
}

/// kind::f8f6f4 with FP6 and FP4 elements, and in pairs of unequal formats: the fused group of FP8.
void add_fp6_and_fp4(std::vector<ModelRow>& rows) {
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
void add_fp16_with_bf16(std::vector<ModelRow>& rows) {
    using namespace formats;
    const Generation b200{"sm_100", 25, 0, 0};
    for (const auto& [a, b] : {std::pair{fp16, bf16}, {bf16, fp16}}) {
        TensorCoreModel model = fused_model(a, fp32, 16, 16, 25);
        model.b_format = b;
        add(rows, b200, "tcgen05", names_of(a, b), model,
            published(equal_to_mma_sim() + "; it takes the pair, CUTLASS documents equal formats only"));
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

void add_fp64(std::vector<ModelRow>& rows) {
    for (const char* architecture : {"sm_80", "sm_89", "sm_90", "sm_100", "sm_120"}) {
        add(rows, {architecture, 0, 0, 0}, "mma", "fp64", fp64_model(NanStyle::dmma),
            published("Fasi et al., PeerJ CS 7:e330; " + equal_to_mma_sim() + "; NaNs as on H100"));
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

/// The rows of one kind of operands on AMD: `model` with its own K under the unit's name, and with the shorter ones of
/// other instructions under "_x4". The arithmetic of v_mfma_f32_MxNxK is that of its K alone, and in an instruction no
/// product is missing; where k is not a multiple of K, a kernel fills the last instruction with zeros, and those make
/// +0 of a sum of -0: the shorter K, the fewer of them.
void add_shapes(std::vector<ModelRow>& rows, const Generation& g, const std::string& instruction, TensorCoreModel model,
                std::initializer_list<int> shorter, const Proof& proof) {
    const std::string input = names_of(model.a_format, model.b_format);
    add(rows, g, instruction, input, model, proof);
    for (const int k : shorter) {
        model.instruction_k = k;
        model.group_size = std::min(model.group_size, k);
        add(rows, g, instruction + "_x" + std::to_string(k), input, model, proof);
    }
}

Proof of_amd(const std::string& more = "") {
    return published(equal_to_mma_sim() + more + "; no recording of an AMD GPU");
}

TensorCoreModel amd_fp32() { return chained_model(formats::fp32, Summation::fma_chain, 4, 1); }

void add_mi100(std::vector<ModelRow>& rows) {
    using namespace formats;
    const Generation mi100{"gfx908", 0, 0, 0};
    const Proof first = of_amd("; its version 2.0.2 has mfma_exact instead");
    const Proof second = published("another reading of MI100: " + equal_to_mma_sim("MMA-Sim 2.0.2, arXiv 2511.10909"));
    add_shapes(rows, mi100, "mfma", chained_model(fp16, Summation::pairwise, 16, 4), {8, 4}, first);
    add_shapes(rows, mi100, "mfma", chained_model(bf16, Summation::pairwise, 8, 2), {4, 2}, first);
    add_shapes(rows, mi100, "mfma", amd_fp32(), {2, 1}, of_amd());
    add_shapes(rows, mi100, "mfma_exact", chained_model(fp16, Summation::exact, 16, 4), {8, 4}, second);
    add_shapes(rows, mi100, "mfma_exact", chained_model(bf16, Summation::exact, 8, 2), {4, 2}, second);
}

void add_mi200(std::vector<ModelRow>& rows) {
    using namespace formats;
    const Generation mi200{"gfx90a", 0, 0, 0};
    const auto flushing = [](const FloatFormat& input, int k, int group) {
        TensorCoreModel model = chained_model(input, Summation::pairwise, k, group);
        model.flush_subnormals = true;
        model.positive_input_zeros = true;
        return model;
    };
    add_shapes(rows, mi200, "mfma", flushing(fp16, 16, 4), {8, 4}, of_amd());
    add_shapes(rows, mi200, "mfma_1k", flushing(bf16, 16, 4), {8, 4}, of_amd());
    add_shapes(rows, mi200, "mfma", flushing(bf16, 8, 2), {4, 2}, of_amd());
    add_shapes(rows, mi200, "mfma", amd_fp32(), {2, 1}, of_amd());
    add_shapes(rows, mi200, "mfma", fp64_model(NanStyle::quiet), {}, of_amd());
}

void add_mi300(std::vector<ModelRow>& rows) {
    using namespace formats;
    const Generation mi300{"gfx942", 24, 0, 0};
    const auto late = [](const FloatFormat& a, const FloatFormat& b, Summation summation, int k, int group) {
        TensorCoreModel model = chained_model(a, summation, k, group);
        model.b_format = b;
        model.fraction_bits = 24;
        return model;
    };
    const Proof zeros = of_amd("; its version 2.0.2 ignores products with a zero");
    const Proof overflow = of_amd(
        ", but for a finite product of 2^128 or more beside an opposite infinity: NaN here and in its version "
        "2.0.2, that infinity in version 1; version 2.0.2 ignores products with a zero");
    add_shapes(rows, mi300, "mfma", late(fp16, fp16, Summation::late_addend, 16, 8), {8, 4}, zeros);
    add_shapes(rows, mi300, "mfma", late(bf16, bf16, Summation::late_addend, 16, 8), {8, 4}, overflow);
    add_shapes(rows, mi300, "mfma", late(tf32, tf32, Summation::late_addend, 8, 4), {4}, overflow);
    for (const FloatFormat& a : {e4m3fnuz, e5m2fnuz}) {
        for (const FloatFormat& b : {e4m3fnuz, e5m2fnuz}) {
            add_shapes(rows, mi300, "mfma", late(a, b, Summation::late_addend_even_odd, 32, 16), {16}, of_amd());
        }
    }
    add_shapes(rows, mi300, "mfma", amd_fp32(), {2, 1}, of_amd());
    add_shapes(rows, mi300, "mfma", fp64_model(NanStyle::quiet), {}, of_amd());
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
    add_fp16_with_bf16(rows);
    add_fp64(rows);
    add_mi100(rows);
    add_mi200(rows);
    add_mi300(rows);
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
