#include "softfloat/quantization/quantization.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "softfloat/names.hpp"

namespace ulp {

namespace {

std::string text_of(int x) { return std::to_string(x); }
std::string text_of(bool x) { return x ? "true" : "false"; }
template <class Number>
requires std::is_floating_point_v<Number> std::string text_of(Number x) {
    char buffer[32];  // the shortest text that reads back as the same number
    return {buffer, std::to_chars(buffer, buffer + sizeof(buffer), x).ptr};
}
template <class Enum>
requires std::is_enum_v<Enum> std::string text_of(Enum x) { return std::to_string(static_cast<int>(x)); }
std::string text_of(const FloatFormat& f) {
    if (std::ranges::find(named_formats(), f, &NamedFormat::format) != named_formats().end()) return name_of(f);
    return name_of(f) + " " + text_of(f.bias) + " " + text_of(f.specials) + " " + text_of(f.has_sign) + " " +
           text_of(f.has_subnormals) + " " + text_of(f.padding_bits) + " " + text_of(f.unused_exponents);
}

template <class... Fields>
std::string joined(const Fields&... fields) {
    std::string text;
    ((text += (text.empty() ? "" : " ") + text_of(fields)), ...);
    return text;
}

// Each list of names is all fields of its struct: a new one does not compile until it is here, too.
std::string text_of(const ScaleBlock& block) {
    const auto& [lines, k] = block;
    return text_of(lines) + "x" + text_of(k);
}
std::string text_of(const HadamardTransform& transform) {
    const auto& [size, signs] = transform;
    return joined(size, signs);
}
std::string text_of(const ScaleRule& rule) {
    const auto& [step, format, rounding, floor, statistic_on_grid, margin, ratio, offset, least, most, factor,
                 tensor_scale_max, largest, only_stored] = rule;
    return joined(step, format, rounding, floor, statistic_on_grid, margin, ratio, offset, least, most, factor,
                  tensor_scale_max) +
           (largest != 0 || only_stored ? " " + joined(largest, only_stored) : "");
}
std::string text_of(const ScaleCandidate& candidate) {
    const auto& [factor, error] = candidate;
    return joined(factor, error);
}
std::string text_of(const ElementRule& rule) {
    const auto& [divide, ties_to_zero, zero_scale_saturates, rounding, whole] = rule;
    const auto& [least, greatest, zero, own_zero, half_up] = whole;
    return joined(divide, ties_to_zero, zero_scale_saturates, rounding.rounding, rounding.tininess,
                  rounding.flush_inputs, rounding.flush_outputs, rounding.random_bits) +
           (whole.any() ? " whole " + joined(least, greatest, zero, own_zero, half_up) : "");
}

}  // namespace

Quantization with_parts(Quantization row, const QuantizationParts& parts) {
    if (parts.element && row.elements.whole.any()) {
        throw std::invalid_argument("the elements of this rule are whole numbers; choose a rule of another format");
    }
    if (parts.element) row.element = *parts.element;
    if (parts.block) row.block = *parts.block;
    if (!parts.scale_format || *parts.scale_format == row.scale.format) return row;
    const FloatFormat& format = *parts.scale_format;
    if (!format.has_nan() || format == formats::fp64) {
        throw std::invalid_argument("scales of blocks are of a format with NaN up to fp32, not " + name_of(format));
    }
    const bool was_power = row.scale.format.fraction_bits == 0, is_power = format.fraction_bits == 0;
    const Rounding outward = row.scale.step == ScaleStep::encode ? Rounding::down : Rounding::up;
    if (was_power != is_power) row.scale.rounding = is_power ? outward : Rounding::nearest_even;
    row.scale.format = format;
    return row;
}

std::string text_of(const Quantization& how) {
    const auto& [element, block, transform, statistic, scale, candidate, elements, zero, infinity, nan] = how;
    return "element " + text_of(element) + ", block " + text_of(block) + ", transform " + text_of(transform) +
           ", statistic " + text_of(statistic) + ", scale " + text_of(scale) + ", candidate " + text_of(candidate) +
           ", elements " + text_of(elements) + ", special " + joined(zero, infinity, nan);
}

namespace {

using formats::e2m1;
using formats::e4m3;
using formats::e5m2;
using formats::e8m0;

constexpr float e4m3_max = 448;

/// MX 1.0, section 6.3: blocks of 32, the scale's exponent cut; the text leaves special blocks open.
Quantization mx_row(const FloatFormat& element, Rounding rounding = Rounding::down, bool even = false) {
    return {.element = element,
            .block = {1, 32},
            .scale = {.step = ScaleStep::exponent, .format = e8m0, .rounding = rounding, .statistic_on_grid = even},
            .zero = SpecialScale::least};
}

/// Transformer Engine and cuDNN: the exponent of amax times fp32's 1 / M, rounded up.
Quantization mx_row_up(const FloatFormat& element) {
    return {.element = element,
            .block = {1, 32},
            .scale = {.step = ScaleStep::decode_by_reciprocal, .format = e8m0, .rounding = Rounding::up},
            .zero = SpecialScale::least,
            .infinity = SpecialScale::largest};
}

Quantization rceil_row(const FloatFormat& element) {
    Quantization row = mx_row_up(element);
    row.infinity = SpecialScale::nan;
    return row;
}

/// NVFP4: blocks with scales in E4M3, and a factor of the operand.
Quantization nvfp4_row(ScaleStep step, float scale_max = e4m3_max) {
    return {.element = e2m1, .block = {1, 16}, .scale = {.step = step, .format = e4m3, .tensor_scale_max = scale_max}};
}
Quantization saturating(Quantization row) {
    row.elements.zero_scale_saturates = true;
    return row;
}
Quantization four_over_six(ScaleError error, float scale_max = 256) {
    Quantization row = nvfp4_row(ScaleStep::decode, scale_max);
    row.candidate = {1.5F, error};
    return row;
}

Quantization with_all_special(Quantization row, SpecialScale special) {
    row.zero = row.infinity = row.nan = special;
    return row;
}

/// enc = M / amax in fp32.
Quantization current_row(const FloatFormat& element, ScaleBlock block, FloatFormat scale = formats::fp32) {
    const Rounding rounding = scale == formats::fp32 ? Rounding::nearest_even : Rounding::down;
    return with_all_special({.element = element, .block = block, .scale = {.format = scale, .rounding = rounding}},
                            SpecialScale::one);
}

/// dec = max(amax, 1e-4) / M; in UE8M0 rounded up, where a quotient and a product with 1 / dec are the same.
Quantization deepseek_row(ScaleBlock block, bool divide = true, const FloatFormat& scale = formats::fp32) {
    return with_parts({.element = e4m3,
                       .block = block,
                       .scale = {.step = ScaleStep::decode, .floor = 1e-4F},
                       .elements = {.divide = divide}},
                      {.scale_format = scale});
}
Quantization deepseek_fp4() {
    Quantization row = deepseek_row({1, 32}, false, e8m0);
    row.element = e2m1;
    row.elements.ties_to_zero = true;
    return row;
}

/// Whole numbers with scales in fp32 that are at least its smallest normal number, as torchao's affine primitives have
/// them: one for half the range of codes, or for all of it with a zero point for each block.
Quantization whole_row(int bits, ScaleBlock block, bool own_zero) {
    const int half = 1 << (bits - 1);
    const auto codes = static_cast<float>(2 * half - 1);
    return {.element = formats::whole_numbers(bits),
            .block = block,
            .statistic = own_zero ? ScaleStatistic::range : ScaleStatistic::largest,
            .scale = {.step = ScaleStep::decode, .least = FLT_MIN, .largest = own_zero ? codes : codes / 2},
            .elements = {.whole = {-half, half - 1, 0, own_zero}}};
}
/// GGML's: dec is stored in fp16, and the elements are made with the quotient in fp32.
Quantization gguf_row(const FloatFormat& element, ScaleStatistic statistic, float largest, Rounding rounding,
                      const WholeNumbers& codes) {
    return {.element = element,
            .block = {1, 32},
            .statistic = statistic,
            .scale = {.step = ScaleStep::decode, .format = formats::fp16, .largest = largest, .only_stored = true},
            .elements = {.rounding = {.rounding = rounding, .saturate = true}, .whole = codes}};
}

Quantization ao_row(const FloatFormat& element, ScaleBlock block, FloatFormat scale) {
    Quantization row = current_row(element, block, scale);
    row.scale.floor = 1e-12;
    row.zero = SpecialScale::computed;
    return row;
}

/// The scale of a Hadamard-transformed block of normal numbers with the least error, which clips.
Quantization quartet_forward() {
    return {.element = e2m1,
            .block = {1, 32},
            .transform = {32, HadamardSigns::none},
            .statistic = ScaleStatistic::deviation,
            .scale = {.step = ScaleStep::affine,
                      .format = e8m0,
                      .rounding = Rounding::down,
                      .ratio = static_cast<float>(2.92247856 / 6.0),
                      .offset = 1e-8F},
            .elements = {.ties_to_zero = true}};
}
Quantization quartet_backward() {
    Quantization row = mx_row(e2m1);
    row.transform = {32, HadamardSigns::fresh};
    row.scale.factor = 4.0F / 3.0F;
    row.elements.rounding = {.rounding = Rounding::stochastic, .saturate = true, .random_bits = 32};
    return row;
}

Quantization ufp4_row() {
    Quantization row = current_row(formats::e1m2, {1, 16});
    row.transform = {16, HadamardSigns::fixed};
    return row;
}

}  // namespace

const std::vector<NamedQuantization>& named_quantizations() {
    using formats::e2m1, formats::e4m3, formats::e5m2, formats::e8m0;
    constexpr const char* ocp = "OCP MX 1.0, section 6.3";
    constexpr const char* ao_mx = "torchao, prototype/mx_formats/mx_tensor.py";
    constexpr const char* floor = "microxcaling, mx/mx_ops.py; torchao, FLOOR";
    constexpr const char* rceil = "cuBLAS 13, 1D block scaling; Transformer Engine, common/util/ptx.cuh";
    constexpr const char* paper = "NVIDIA, arXiv 2509.25149, appendix B";
    constexpr const char* te_nvfp4 = "Transformer Engine, reference_nvfp4.py";
    constexpr const char* four_six = "Cook et al., arXiv 2512.02010";
    constexpr const char* four_six_code = "fouroversix, quantize/pytorch/reference.py";
    constexpr const char* te = "Transformer Engine, recipe_common.cuh";
    constexpr const char* te_code = "Transformer Engine, pytorch/tensor";
    constexpr const char* deepseek = "DeepSeek-V3, arXiv 2412.19437, section 3.3";
    constexpr const char* kernel = "DeepSeek-V3, inference/kernel.py";
    constexpr const char* deepgemm = "DeepGEMM, deep_gemm/utils/math.py";
    constexpr const char* ao = "torchao, float8/float8_utils.py";
    constexpr const char* ao_affine = "torchao, quantization/quant_primitives.py";
    constexpr const char* ggml = "llama.cpp, ggml/src/ggml-quants.c";
    constexpr const char* gguf = "gguf (PyPI), quants.py";
    constexpr const char* quartet = "Castro et al., arXiv 2505.14669";
    static const std::vector<NamedQuantization> rows = {
        {"mxfp8", mx_row(e4m3), "E4M3, blocks of 32, E8M0 scales by the exponent of the largest (OCP MX 1.0)", ocp,
         floor},
        {"mxfp8_e5m2", mx_row(e5m2), "the same with E5M2", ocp, floor},
        {"mxfp6_e3m2", mx_row(formats::e3m2), "the same with E3M2", ocp, floor},
        {"mxfp6_e2m3", mx_row(formats::e2m3), "the same with E2M3", ocp, floor},
        {"mxfp4", mx_row(e2m1), "the same with E2M1", ocp, floor},
        {"mxfp8_ceil", mx_row(e4m3, Rounding::up), "mxfp8 with the scale's exponent rounded up", ao_mx,
         "torchao, CEIL"},
        {"mxfp4_ceil", mx_row(e2m1, Rounding::up), "mxfp4 with the scale's exponent rounded up", ao_mx,
         "torchao, CEIL"},
        {"mxfp8_even", mx_row(e4m3, Rounding::down, true), "mxfp8, the largest first rounded to E4M3's fraction bits",
         ao_mx, "torchao, EVEN"},
        {"mxfp4_even", mx_row(e2m1, Rounding::down, true), "mxfp4, the largest first rounded to E2M1's fraction bits",
         ao_mx, "torchao, EVEN"},
        {"mxfp8_nv", mx_row_up(e4m3), "E4M3, blocks of 32, scales rounded up so that nothing saturates (NVIDIA)", rceil,
         "torchao, RCEIL"},
        {"mxfp4_nv", mx_row_up(e2m1), "the same with E2M1", rceil, "torchao, RCEIL"},
        {"mxfp8_rceil", rceil_row(e4m3), "mxfp8_nv, but NaN where a block holds an infinity (RCEIL)", ao_mx,
         "torchao 36027d8, RCEIL"},
        {"mxfp4_rceil", rceil_row(e2m1), "the same with E2M1", ao_mx, "torchao 36027d8, RCEIL"},
        {"nvfp4", nvfp4_row(ScaleStep::decode), "E2M1, blocks of 16, E4M3 scales, a factor of all (NVIDIA's paper)",
         paper, te_nvfp4},
        {"nvfp4_te", saturating(nvfp4_row(ScaleStep::decode_by_reciprocal)),
         "the same in the order of Transformer Engine", "Transformer Engine, core_nvfp4.cuh", te_nvfp4},
        {"nvfp4_4over6", four_over_six(ScaleError::squared), "nvfp4 that maps a block's largest to 6 or to 4", four_six,
         four_six_code},
        {"nvfp4_4over6_mae", four_over_six(ScaleError::absolute), "the same, by the least absolute error", four_six,
         four_six_code},
        {"nvfp4_4over6_max", four_over_six(ScaleError::largest), "the same, by the least largest error", four_six,
         four_six_code},
        {"nvfp4_4over6_448", four_over_six(ScaleError::squared, e4m3_max),
         "nvfp4_4over6 with scales up to 448 instead of 256", "Transformer Engine, quantize_4over6_nvfp4.cuh",
         "Transformer Engine, quantize_4over6_nvfp4.cuh"},
        {"te_current", current_row(e4m3, {}), "E4M3, one fp32 scale for all (Transformer Engine)", te, te_code},
        {"te_current_e5m2", current_row(e5m2, {}), "the same with E5M2", te, te_code},
        {"te_block_1x128", current_row(e4m3, {1, 128}, formats::power_of_two),
         "E4M3, blocks of 128, powers of two (Transformer Engine)", te, te_code},
        {"te_block_128x128", current_row(e4m3, {128, 128}, formats::power_of_two), "the same, blocks of 128 x 128", te,
         te_code},
        {"deepseek_1x128", deepseek_row({1, 128}), "E4M3, blocks of 128, fp32 scales (DeepSeek-V3)", deepseek, kernel},
        {"deepseek_128x128", deepseek_row({128, 128}), "the same, blocks of 128 x 128", deepseek, kernel},
        {"deepseek_1x128_ue8m0", deepseek_row({1, 128}, true, e8m0), "deepseek_1x128 with powers of two, rounded up",
         kernel, deepgemm},
        {"deepseek_128x128_ue8m0", deepseek_row({128, 128}, true, e8m0), "the same, blocks of 128 x 128", kernel,
         deepgemm},
        {"deepgemm_1x128", deepseek_row({1, 128}, false), "deepseek_1x128, but numbers times 1 / scale", deepgemm,
         deepgemm},
        {"deepgemm_128x128", deepseek_row({128, 128}, false), "the same, blocks of 128 x 128", deepgemm, deepgemm},
        {"deepseek_v4_mxfp4", deepseek_fp4(), "E2M1, blocks of 32, E8M0 scales, ties toward zero (experts of V4)",
         deepgemm, deepgemm},
        {"ao_tensorwise", ao_row(e4m3, {}, formats::fp32), "E4M3, one fp32 scale for all (torchao)", ao, ao},
        {"ao_tensorwise_e5m2", ao_row(e5m2, {}, formats::fp32), "the same with E5M2", ao, ao},
        {"ao_tensorwise_power", ao_row(e4m3, {}, formats::power_of_two), "E4M3, one power of two for all (torchao)", ao,
         ao},
        {"ao_rowwise", ao_row(e4m3, {1, 0}, formats::power_of_two), "E4M3, a power of two for each line (torchao)", ao,
         ao},
        {"ao_rowwise_fp32", ao_row(e4m3, {1, 0}, formats::fp32), "the same with scales in fp32", ao, ao},
        {"int8_symmetric", whole_row(8, {1, 0}, false), "INT8, an fp32 scale for each line", ao_affine, ao_affine},
        {"int8_affine", whole_row(8, {1, 0}, true), "the same with a zero point", ao_affine, ao_affine},
        {"int4_symmetric", whole_row(4, {1, 32}, false), "INT4, blocks of 32, fp32 scales", ao_affine, ao_affine},
        {"int4_affine", whole_row(4, {1, 32}, true), "the same with a zero point", ao_affine, ao_affine},
        {"q8_0", gguf_row(formats::whole_numbers(8), ScaleStatistic::largest, 127, Rounding::nearest_away, {-128, 127}),
         "INT8, blocks of 32, fp16 scales (GGUF)", ggml, gguf},
        {"q4_0",
         gguf_row(formats::whole_numbers(4), ScaleStatistic::outermost, 8, Rounding::nearest_even,
                  {0, 15, 8, false, true}),
         "INT4 plus 8, blocks of 32, fp16 scales with a sign (GGUF)", ggml, gguf},
        {"quartet_forward", quartet_forward(), "E2M1, Hadamard 32, scales by the standard deviation (Quartet)", quartet,
         "Quartet, mxfp4_triton.py"},
        {"quartet_backward", quartet_backward(), "E2M1, Hadamard 32 with fresh signs, stochastic rounding (Quartet)",
         quartet, "Quartet, mxfp4_triton.py"},
        {"ufp4", ufp4_row(), "E1M2, Hadamard 16, blocks of 16, fp32 scales", "arXiv 2606.20381", "none is public"}};
    return rows;
}

const Quantization& quantization_by_name(std::string_view name) {
    std::string known;
    for (const NamedQuantization& row : named_quantizations()) {
        if (row.name == name) return row.how;
        known += (known.empty() ? "" : ", ") + row.name;
    }
    throw std::invalid_argument("no quantization '" + std::string(name) + "'; there are " + known);
}

}  // namespace ulp
