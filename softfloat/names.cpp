#include "softfloat/names.hpp"

#include <array>
#include <stdexcept>
#include <string>

namespace ulp {

namespace {
constexpr std::array rows{
    NamedFormat{"fp64", formats::fp64, "IEEE 754 binary64"},
    NamedFormat{"fp32", formats::fp32, "IEEE 754 binary32"},
    NamedFormat{"tf32", formats::tf32, "TensorFloat-32: fp32's exponent, fp16's fraction, in a 32-bit word"},
    NamedFormat{"bf16", formats::bf16, "bfloat16: the upper half of an fp32 word"},
    NamedFormat{"fp16", formats::fp16, "IEEE 754 binary16"},
    NamedFormat{"e5m2", formats::e5m2, "OCP FP8 E5M2"},
    NamedFormat{"e4m3", formats::e4m3, "OCP FP8 E4M3: no infinity, one NaN"},
    NamedFormat{"e5m2fnuz", formats::e5m2fnuz, "FP8 E5M2 without infinity and -0 (AMD)"},
    NamedFormat{"e4m3fnuz", formats::e4m3fnuz, "FP8 E4M3 without infinity and -0 (AMD)"},
    NamedFormat{"e3m2", formats::e3m2, "OCP FP6 E3M2: finite numbers only"},
    NamedFormat{"e2m3", formats::e2m3, "OCP FP6 E2M3: finite numbers only"},
    NamedFormat{"e2m1", formats::e2m1, "OCP FP4 E2M1: finite numbers only"},
    NamedFormat{"e8m0", formats::e8m0, "OCP scale E8M0: powers of two, no sign, no zero"},
};
}  // namespace

std::span<const NamedFormat> named_formats() { return rows; }

const FloatFormat& format_by_name(std::string_view name) {
    std::string names;
    for (const NamedFormat& row : rows) {
        if (row.name == name) return row.format;
        names += (names.empty() ? "" : ", ") + std::string(row.name);
    }
    throw std::invalid_argument("there is no format '" + std::string(name) + "'; choose one of " + names);
}

std::string name_of(const FloatFormat& format) {
    for (const NamedFormat& row : rows) {
        if (row.format == format) return std::string(row.name);
    }
    return "e" + std::to_string(format.exponent_bits) + "f" + std::to_string(format.fraction_bits);
}

namespace {
struct NamedRounding {
    std::string_view name;
    std::string_view testfloat_name;
    Rounding rounding;
};
constexpr std::array rounding_rows{
    NamedRounding{"nearest_even", "near_even", Rounding::nearest_even},
    NamedRounding{"nearest_away", "near_maxMag", Rounding::nearest_away},
    NamedRounding{"toward_zero", "minMag", Rounding::toward_zero},
    NamedRounding{"down", "min", Rounding::down},
    NamedRounding{"up", "max", Rounding::up},
    NamedRounding{"odd", "odd", Rounding::odd},
    NamedRounding{"stochastic", "stochastic", Rounding::stochastic},
};
}  // namespace

std::string_view name_of(Rounding rounding) { return rounding_rows[static_cast<std::size_t>(rounding)].name; }

Rounding rounding_by_name(std::string_view name) {
    std::string names;
    for (const NamedRounding& row : rounding_rows) {
        if (name == row.name || name == row.testfloat_name) return row.rounding;
        if (!name.empty() && name.front() == 'r' && name.substr(1) == row.testfloat_name) return row.rounding;
        names += (names.empty() ? "" : ", ") + std::string(row.name);
    }
    throw std::invalid_argument("there is no rounding mode '" + std::string(name) + "'; choose one of " + names);
}

}  // namespace ulp
