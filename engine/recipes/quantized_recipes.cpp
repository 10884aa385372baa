#include <algorithm>
#include <cmath>

#include "engine/recipes/recipe.hpp"
#include "softfloat/quantization/scale_of_block.hpp"

namespace ulp {
namespace {

using formats::e4m3;
using formats::e5m2;

OperandRule now(Quantization how) { return {std::move(how), {}}; }
OperandRule now(const char* quantization) { return now(quantization_by_name(quantization)); }

/// The same three operands in all products.
ProductRules by_tensor(const OperandRule& x, const OperandRule& w, const OperandRule& dy) {
    return {{x, w}, {dy, w}, {dy, x}};
}
ProductRules promoted(ProductRules rules, int every) {
    rules.fprop.promote_every = rules.dgrad.promote_every = rules.wgrad.promote_every = every;
    return rules;
}

/// A power of two from the last 16 uses of each operand of each product; infinities and NaNs do not enter.
OperandRule delayed_power(const FloatFormat& element) {
    Quantization how{.element = element,
                     .scale = {.format = formats::power_of_two,
                               .rounding = Rounding::down,
                               .least = 0x1p-60F,  // so that the scales of two operands and their inverses stay normal
                               .most = 0x1p60F},
                     .zero = SpecialScale::one,
                     .infinity = SpecialScale::skipped,
                     .nan = SpecialScale::skipped};
    return {how, {.length = 16, .key = ScaleHistory::Key::product}};
}

/// An fp32 scale from the last 1024 uses of each tensor; the old one stays where the largest is zero or infinite.
OperandRule te_delayed(const char* quantization) {
    Quantization how = quantization_by_name(quantization);
    how.zero = how.infinity = SpecialScale::old;
    how.nan = SpecialScale::skipped;
    return {how, {.length = 1024, .key = ScaleHistory::Key::tensor}};
}

Quantization in_blocks(Quantization how, ScaleBlock block) {
    how.block = block;
    return how;
}
Quantization transformed(Quantization how, HadamardTransform transform) {
    how.transform = transform;
    return how;
}
Quantization stochastic(Quantization how, int random_bits) {
    how.elements.rounding = {.rounding = Rounding::stochastic, .saturate = true, .random_bits = random_bits};
    return how;
}

/// Weights in square blocks, so that both their products see the same numbers; gradients stochastic; a Hadamard
/// transform in the product of the weight's gradient.
ProductRules nvfp4(const Quantization& x, HadamardTransform of_wgrad) {
    const Quantization w = in_blocks(x, {16, 16});
    const Quantization dy = stochastic(x, 8);
    return {{now(x), now(w)}, {now(dy), now(w)}, {now(transformed(dy, of_wgrad)), now(transformed(x, of_wgrad))}};
}

ProductRules ufp4() {
    const Quantization x = quantization_by_name("ufp4");
    return by_tensor(now(x), now(x), now(stochastic(x, 8)));
}

/// MS-AMP: powers of two from the last 16 uses of each tensor.
ProductRules msamp() {
    const auto rule = [](const char* quantization) {
        OperandRule operand = te_delayed(quantization);
        operand.how->scale.format = formats::power_of_two;
        operand.how->scale.rounding = Rounding::down;
        operand.history.length = 16;
        return operand;
    };
    return by_tensor(rule("te_current"), rule("te_current"), rule("te_current_e5m2"));
}
/// The same, but weights take a power of two from their own numbers (FP8Linear's weight, window 1): one that is kept in
/// E4M3 enters the products as it is.
ProductRules msamp_fp8_weights() {
    ProductRules rules = msamp();
    Quantization w = quantization_by_name("te_current");
    w.scale.format = formats::power_of_two;
    w.scale.rounding = Rounding::down;
    rules.fprop.b = rules.dgrad.b = now(w);
    return rules;
}
constexpr StateFormat fp16_scaled{formats::fp16, true};
constexpr StateFormat e4m3_scaled{formats::e4m3, true};

/// Products of activations (attention), and the last linear layer: the head.
const std::vector<Exclusion> attention_and_head{{.kind = "matmul"}, {.last = 1}};

}  // namespace

const std::vector<QuantizedRecipe>& quantized_recipes() {
    static const std::vector<QuantizedRecipe> rows = {
        {"fp8", "as bf16, but products in E4M3 (gradients E5M2) with delayed power-of-two scales",
         by_tensor(delayed_power(e4m3), delayed_power(e4m3), delayed_power(e5m2))},
        {"mxfp8", "as bf16, but products in E4M3 with E8M0 scales for 32 numbers along k, rounded down (OCP MX)",
         by_tensor(now("mxfp8"), now("mxfp8"), now("mxfp8"))},
        {"mxfp8_nv", "mxfp8 with scales rounded up, so that nothing saturates (NVIDIA)",
         by_tensor(now("mxfp8_nv"), now("mxfp8_nv"), now("mxfp8_nv"))},
        {"te_delayed", "E4M3, gradients E5M2; one fp32 scale per tensor from its last 1024 uses (Transformer Engine)",
         by_tensor(te_delayed("te_current"), te_delayed("te_current"), te_delayed("te_current_e5m2"))},
        {"te_current", "E4M3, gradients E5M2; one fp32 scale per tensor from its own numbers (Transformer Engine)",
         by_tensor(now("te_current"), now("te_current"), now("te_current_e5m2"))},
        {"te_block", "E4M3; power-of-two scales for 1 x 128 numbers, of weights 128 x 128 (Transformer Engine)",
         by_tensor(now("te_block_1x128"), now("te_block_128x128"), now("te_block_1x128"))},
        {"deepseek_v3",
         "E4M3; fp32 scales as te_block, sums promoted every 128 k; attention, head and moments bf16",
         promoted(by_tensor(now("deepseek_1x128"), now("deepseek_128x128"), now("deepseek_1x128")), 128),
         attention_and_head,
         {.m = StateFormat{formats::bf16}, .v = StateFormat{formats::bf16}}},
        {"nvfp4", "E2M1 in blocks of 16, weights 16 x 16, stochastic dy, Hadamard in wgrad; attention and head bf16",
         nvfp4(quantization_by_name("nvfp4"), {16, HadamardSigns::fixed}), attention_and_head},
        {"nvfp4_4over6", "nvfp4 that maps each block's largest to 6 or to 4, without the transform",
         nvfp4(quantization_by_name("nvfp4_4over6"), {}), attention_and_head},
        {"ufp4", "E1M2 in blocks of 16 with fp32 scales, Hadamard 16 in all products, stochastic dy", ufp4()},
        {"ao_tensorwise", "E4M3, gradients E5M2; one fp32 scale per tensor from its own numbers (torchao)",
         by_tensor(now("ao_tensorwise"), now("ao_tensorwise"), now("ao_tensorwise_e5m2"))},
        {"ao_rowwise", "E4M3; one power-of-two scale per line along k (torchao)",
         by_tensor(now("ao_rowwise"), now("ao_rowwise"), now("ao_rowwise"))},
        {"ao_rowwise_gw_hp",
         "ao_rowwise with the weight's gradient in bf16 (torchao)",
         {{now("ao_rowwise"), now("ao_rowwise")}, {now("ao_rowwise"), now("ao_tensorwise_power")}, {}}},
        {"msamp_o1",
         "te_delayed with powers of two; masters in fp16, gradients stored in E4M3 (MS-AMP)",
         msamp(),
         {},
         {.master = fp16_scaled, .gradient = e4m3_scaled}},
        {"msamp_o2",
         "msamp_o1 with first moments in E4M3, second moments in fp16 (MS-AMP, FP8-LM)",
         msamp(),
         {},
         {.master = fp16_scaled, .gradient = e4m3_scaled, .m = e4m3_scaled, .v = fp16_scaled}},
        {"msamp_o3",
         "msamp_o2 with E4M3 weights of linear layers, scaled by their own largest; others as bf16 (MS-AMP with ZeRO)",
         msamp_fp8_weights(),
         {},
         {.weight = e4m3_scaled,
          .master = fp16_scaled,
          .gradient = e4m3_scaled,
          .m = e4m3_scaled,
          .v = fp16_scaled,
          .linear_weights_only = true}}};
    return rows;
}

float power_of_two_scale(const FloatFormat& format, float amax) {
    if (!(amax > 0) || std::isinf(amax)) return 1;
    const float quotient = largest_number(format) / amax;
    const int highest = -formats::fp32.smallest_exponent() + format.smallest_exponent();
    const int exponent = std::min(std::isinf(quotient) ? formats::fp32.emax() : std::ilogb(quotient), highest);
    return std::ldexp(1.0F, std::min(exponent, formats::fp32.emax() - 1));
}

}  // namespace ulp
