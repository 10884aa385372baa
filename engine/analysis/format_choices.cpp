#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "engine/analysis/tensor_counts.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/format_names.hpp"

namespace ulp {
namespace {

/// Formats that hold negative numbers and zero.
bool can_hold_tensors(const FloatFormat& format) { return format.has_sign && format.has_subnormals; }

bool can_be_judged(const Quantization& how) {
    return how.transform.size == 0 && how.elements.rounding.rounding != Rounding::stochastic;
}

struct StoredType {
    std::string_view name, numpy;
    FloatFormat format;
};
constexpr std::array stored_types = {
    StoredType{"F64", "<f8", formats::fp64},          StoredType{"F32", "<f4", formats::fp32},
    StoredType{"F16", "<f2", formats::fp16},          StoredType{"BF16", "", formats::bf16},
    StoredType{"F8_E4M3", "", formats::e4m3},         StoredType{"F8_E5M2", "", formats::e5m2},
    StoredType{"F8_E4M3FNUZ", "", formats::e4m3fnuz}, StoredType{"F8_E5M2FNUZ", "", formats::e5m2fnuz},
    StoredType{"F8_E8M0", "", formats::e8m0}};

}  // namespace

JudgedFormat judged_format(const std::string& name) {
    std::vector<std::string> known;
    for (const NamedFormat& row : named_formats()) {
        if (!can_hold_tensors(row.format)) continue;
        if (row.name == name) return {name, row.format};
        known.emplace_back(row.name);
    }
    for (const NamedQuantization& row : named_quantizations()) {
        if (!can_be_judged(row.how)) continue;
        if (row.name == name) return {name, row.how.element, row.how};
        known.push_back(row.name);
    }
    throw UsageError(fmt::format("no format '{}' for tensors; there are {}", name, fmt::join(known, ", ")));
}

std::optional<FloatFormat> format_of_type(const std::string& type) {
    for (const StoredType& row : stored_types) {
        if (row.name == type || row.numpy == type) return row.format;
    }
    return std::nullopt;
}

std::optional<FloatFormat> counted_format(const std::string& type) {
    if (type == "F4") return formats::e2m1;
    if (type == "F6_E2M3") return formats::e2m3;
    if (type == "F6_E3M2") return formats::e3m2;
    return format_of_type(type);
}

}  // namespace ulp
