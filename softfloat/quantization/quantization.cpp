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
                 tensor_scale_max] = rule;
    return joined(step, format, rounding, floor, statistic_on_grid, margin, ratio, offset, least, most, factor,
                  tensor_scale_max);
}
std::string text_of(const ScaleCandidate& candidate) {
    const auto& [factor, error] = candidate;
    return joined(factor, error);
}
std::string text_of(const ElementRule& rule) {
    const auto& [divide, ties_to_zero, zero_scale_saturates, rounding] = rule;
    return joined(divide, ties_to_zero, zero_scale_saturates, rounding.rounding, rounding.tininess,
                  rounding.flush_inputs, rounding.flush_outputs, rounding.random_bits);
}

}  // namespace

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

/// NVFP4: blocks with scales in E4M3, and a factor of the operand.
Quantization nvfp4_row(ScaleStep step, float scale_max = e4m3_max) {
    return {.element = e2m1, .block = {1, 16}, .scale = {.step = step, .format = e4m3, .tensor_scale_max = scale_max}};
}
Quantization saturating(Quantization row) {
    row.elements.zero_scale_saturates = true;
    return row;
}
Quantization four_over_six(ScaleError error) {
    Quantization row = nvfp4_row(ScaleStep::decode, 256);
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

Quantization deepseek_row(ScaleBlock block) {
    return {.element = e4m3,
            .block = block,
            .scale = {.step = ScaleStep::decode, .floor = 1e-4F},
            .elements = {.divide = true}};
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
    using formats::e2m1, formats::e4m3, formats::e5m2;
    static const std::vector<NamedQuantization> rows = {
        {"mxfp8", mx_row(e4m3), "E4M3, blocks of 32, E8M0 scales by the exponent of the largest (OCP MX 1.0)"},
        {"mxfp8_e5m2", mx_row(e5m2), "the same with E5M2"},
        {"mxfp6_e3m2", mx_row(formats::e3m2), "the same with E3M2"},
        {"mxfp6_e2m3", mx_row(formats::e2m3), "the same with E2M3"},
        {"mxfp4", mx_row(e2m1), "the same with E2M1"},
        {"mxfp8_ceil", mx_row(e4m3, Rounding::up), "mxfp8 with the scale's exponent rounded up"},
        {"mxfp4_ceil", mx_row(e2m1, Rounding::up), "mxfp4 with the scale's exponent rounded up"},
        {"mxfp8_even", mx_row(e4m3, Rounding::down, true), "mxfp8, the largest first rounded to E4M3's fraction bits"},
        {"mxfp4_even", mx_row(e2m1, Rounding::down, true), "mxfp4, the largest first rounded to E2M1's fraction bits"},
        {"mxfp8_nv", mx_row_up(e4m3), "E4M3, blocks of 32, scales rounded up so that nothing saturates (NVIDIA)"},
        {"mxfp4_nv", mx_row_up(e2m1), "the same with E2M1"},
        {"nvfp4", nvfp4_row(ScaleStep::decode), "E2M1, blocks of 16, E4M3 scales, a factor of all (NVIDIA's paper)"},
        {"nvfp4_te", saturating(nvfp4_row(ScaleStep::decode_by_reciprocal)),
         "the same in the order of Transformer Engine"},
        {"nvfp4_4over6", four_over_six(ScaleError::squared), "nvfp4 that maps a block's largest to 6 or to 4"},
        {"nvfp4_4over6_mae", four_over_six(ScaleError::absolute), "the same, by the least absolute error"},
        {"te_current", current_row(e4m3, {}), "E4M3, one fp32 scale for all (Transformer Engine)"},
        {"te_current_e5m2", current_row(e5m2, {}), "the same with E5M2"},
        {"te_block_1x128", current_row(e4m3, {1, 128}, formats::power_of_two),
         "E4M3, blocks of 128, powers of two (Transformer Engine)"},
        {"te_block_128x128", current_row(e4m3, {128, 128}, formats::power_of_two), "the same, blocks of 128 x 128"},
        {"deepseek_1x128", deepseek_row({1, 128}), "E4M3, blocks of 128, fp32 scales (DeepSeek-V3)"},
        {"deepseek_128x128", deepseek_row({128, 128}), "the same, blocks of 128 x 128"},
        {"ao_tensorwise", ao_row(e4m3, {}, formats::fp32), "E4M3, one fp32 scale for all (torchao)"},
        {"ao_tensorwise_e5m2", ao_row(e5m2, {}, formats::fp32), "the same with E5M2"},
        {"ao_tensorwise_power", ao_row(e4m3, {}, formats::power_of_two), "E4M3, one power of two for all (torchao)"},
        {"ao_rowwise", ao_row(e4m3, {1, 0}, formats::power_of_two), "E4M3, a power of two for each line (torchao)"},
        {"quartet_forward", quartet_forward(), "E2M1, Hadamard 32, scales by the standard deviation (Quartet)"},
        {"quartet_backward", quartet_backward(), "E2M1, Hadamard 32 with fresh signs, stochastic rounding (Quartet)"},
        {"ufp4", ufp4_row(), "E1M2, Hadamard 16, blocks of 16, fp32 scales"}};
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
