#include <algorithm>
#include <charconv>

#include "softfloat/format_names.hpp"
#include "softfloat/quantization/quantization.hpp"

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

}  // namespace ulp
