// Rows of AMD's GPUs.
#include <algorithm>
#include <initializer_list>

#include "softfloat/matrix_units/mma_sim.hpp"
#include "softfloat/matrix_units/rows.hpp"

namespace ulp {

namespace {

/// The rows of one kind of operands on AMD: `model` with its own K under the unit's name, and with the shorter ones of
/// other instructions under "_x4". The arithmetic of v_mfma_f32_MxNxK is that of its K alone, and in an instruction no
/// product is missing; where k is not a multiple of K, a kernel fills the last instruction with zeros, and those make
/// +0 of a sum of -0: the shorter K, the fewer of them.
void add_shapes(std::vector<UnitRow>& rows, const std::string& architecture, const std::string& instruction,
                TensorCoreModel model, std::initializer_list<int> shorter, const Source& source) {
    const std::string input = names_of(model.a_format, model.b_format);
    const std::string output = name_of(model.accumulator);
    add_row(rows, {architecture, instruction, input, output}, model, source);
    for (const int k : shorter) {
        model.instruction_k = k;
        model.group_size = std::min(model.group_size, k);
        add_row(rows, {architecture, instruction + "_x" + std::to_string(k), input, output}, model, source);
    }
}

Source of_amd(const std::string& more = "") {
    return published(equal_to_mma_sim() + more + "; no recording of an AMD GPU");
}

TensorCoreModel amd_fp32() { return chained_model(formats::fp32, Summation::fma_chain, 4, 1); }

void add_mi100(std::vector<UnitRow>& rows) {
    using namespace formats;
    const std::string mi100 = "gfx908";
    const Source exact =
        published("MATLAB-tensor-core, August 2026, and " + equal_to_mma_sim("MMA-Sim 2.0.2, arXiv 2511.10909") +
                  "; no recording of an AMD GPU");
    const Source first = published("the older reading of MI100: " + equal_to_mma_sim() + " by its version 1");
    add_shapes(rows, mi100, "mfma", chained_model(fp16, Summation::exact, 16, 4), {8, 4}, exact);
    add_shapes(rows, mi100, "mfma", chained_model(bf16, Summation::exact, 8, 2), {4, 2}, exact);
    add_shapes(rows, mi100, "mfma", amd_fp32(), {2, 1}, of_amd());
    add_shapes(rows, mi100, "mfma_pairwise", chained_model(fp16, Summation::pairwise, 16, 4), {8, 4}, first);
    add_shapes(rows, mi100, "mfma_pairwise", chained_model(bf16, Summation::pairwise, 8, 2), {4, 2}, first);
}

void add_mi200(std::vector<UnitRow>& rows) {
    using namespace formats;
    const std::string mi200 = "gfx90a";
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

void add_mi300(std::vector<UnitRow>& rows) {
    using namespace formats;
    const std::string mi300 = "gfx942";
    const auto late = [](const FloatFormat& a, const FloatFormat& b, Summation summation, int k, int group) {
        TensorCoreModel model = chained_model(a, summation, k, group);
        model.b_format = b;
        model.fraction_bits = 24;
        return model;
    };
    const Source zeros = of_amd("; its version 2.0.2 ignores products with a zero");
    const Source overflow = of_amd(
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

/// RDNA 3: a chain of three-term sums (V_DOT2).
void add_gfx11(std::vector<UnitRow>& rows) {
    TensorCoreModel model{
        .group_size = 2, .fraction_bits = 24, .rounding = Rounding::nearest_even, .nan = NanStyle::quiet};
    model.policies = {.zero_product = ZeroProduct::operand_as_subnormal, .underflow_sign = UnderflowSign::kept};
    model.variation = {.invert_opposing = true, .flush_addend = true, .flush_results = true};
    const Source source = published(
        "ROCm/rocm-systems issue 12056, measured on a gfx1151; the last rounding, zeros and the "
        "order of the pairs are read into it");
    add_row(rows, {"gfx11", "wmma", "fp16", "fp32"}, model, source);
    model.a_format = model.b_format = formats::bf16;
    model.variation.flush_operands = true;
    add_row(rows, {"gfx11", "wmma", "bf16", "fp32"}, model, source);
}

}  // namespace

void add_amd_rows(std::vector<UnitRow>& rows) {
    add_mi100(rows);
    add_mi200(rows);
    add_mi300(rows);
    add_gfx11(rows);
}

}  // namespace ulp
