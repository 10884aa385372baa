#include "softfloat/names.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "softfloat/support/nearest_names.hpp"

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

/// What others call the formats: C, NumPy, PyTorch, ml_dtypes, MLIR, safetensors, TestFloat. (ml_dtypes' float8_e4m3
/// has infinities: it is not OCP's E4M3.)
struct OtherNames {
    std::string_view name;
    std::string_view others;  // with a space between them
};
constexpr std::array other_names{
    OtherNames{"fp64", "float64 double f64 binary64"},
    OtherNames{"fp32", "float32 single float f32 binary32"},
    OtherNames{"tf32", "tensorfloat32 tensorfloat_32 xf32"},
    OtherNames{"bf16", "bfloat16 brain_float16"},
    OtherNames{"fp16", "float16 half f16 binary16"},
    OtherNames{"e5m2", "float8_e5m2 fp8_e5m2 f8_e5m2 f8e5m2"},
    OtherNames{"e4m3", "float8_e4m3fn e4m3fn fp8_e4m3 fp8_e4m3fn f8_e4m3 f8e4m3fn"},
    OtherNames{"e5m2fnuz", "float8_e5m2fnuz fp8_e5m2fnuz f8_e5m2fnuz f8e5m2fnuz"},
    OtherNames{"e4m3fnuz", "float8_e4m3fnuz fp8_e4m3fnuz f8_e4m3fnuz f8e4m3fnuz"},
    OtherNames{"e3m2", "float6_e3m2fn e3m2fn fp6_e3m2 f6_e3m2 f6e3m2fn"},
    OtherNames{"e2m3", "float6_e2m3fn e2m3fn fp6_e2m3 f6_e2m3 f6e2m3fn"},
    OtherNames{"e2m1", "float4_e2m1fn e2m1fn fp4_e2m1 fp4 f4 f4e2m1fn"},
    OtherNames{"e8m0", "float8_e8m0fnu e8m0fnu ue8m0 f8_e8m0 f8e8m0fnu"},
};

/// Calls f(word) for each word of a text until f is true of one.
template <class Function>
bool any_word(std::string_view text, const Function& f) {
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        if (f(text.substr(0, end))) return true;
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return false;
}

/// The row of that name, or of what others call it, in any case of letters; else invalid_argument with the nearest name
/// and the rows' own names.
template <class Rows>
std::size_t row_by_name(std::string_view what, std::string_view name, const Rows& of_rows) {
    const auto is_it = [&](std::string_view known) { return equal_ignoring_case(known, name); };
    std::string names;
    std::vector<std::string> all;
    for (std::size_t i = 0; i < of_rows.size(); ++i) {
        if (is_it(of_rows[i].name) || any_word(of_rows[i].others, is_it)) return i;
        names += (names.empty() ? "" : ", ") + std::string(of_rows[i].name);
        all.emplace_back(of_rows[i].name);
        any_word(of_rows[i].others, [&](std::string_view other) { return all.emplace_back(other).empty(); });
    }
    throw std::invalid_argument("there is no " + std::string(what) + " '" + std::string(name) + "'; did you mean " +
                                nearest_names(name, all, 1) + "? choose one of " + names);
}
}  // namespace

std::span<const NamedFormat> named_formats() { return rows; }

const FloatFormat& format_by_name(std::string_view name) {
    return rows[row_by_name("format", name, other_names)].format;
}

std::string name_of(const FloatFormat& format) {
    for (const NamedFormat& row : rows) {
        if (row.format == format) return std::string(row.name);
    }
    return "e" + std::to_string(format.exponent_bits) + "f" + std::to_string(format.fraction_bits);
}

namespace {
/// In the order of the enumeration. TestFloat's names, each also with the r of its command line; those of IEEE 754, C,
/// PTX, RISC-V, P3109 and Python's decimal.
constexpr std::array rounding_rows{
    OtherNames{"nearest_even",
               "near_even rnear_even rne rn nearest nearest_ties_to_even nearesttiestoeven roundtiestoeven "
               "tiestoeven half_even even"},
    OtherNames{
        "nearest_away",
        "near_maxmag rnear_maxmag rna rmm nearest_ties_to_away nearesttiestoaway roundtiestoaway tiestoaway half_up"},
    OtherNames{"toward_zero", "minmag rminmag rtz rz towards_zero towardzero roundtowardzero truncate trunc zero"},
    OtherNames{"down", "min rmin rtn rdn rd rm toward_negative towardnegative roundtowardnegative floor downward"},
    OtherNames{"up", "max rmax rtp rup ru rp toward_positive towardpositive roundtowardpositive ceil ceiling upward"},
    OtherNames{"odd", "rodd rto to_odd toodd"},
    OtherNames{"stochastic", "sr rs stochastic_rounding"},
};
}  // namespace

std::string_view name_of(Rounding rounding) { return rounding_rows[static_cast<std::size_t>(rounding)].name; }

Rounding rounding_by_name(std::string_view name) {
    return static_cast<Rounding>(row_by_name("rounding mode", name, rounding_rows));
}

}  // namespace ulp
