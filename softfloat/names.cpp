#include "softfloat/names.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "softfloat/support/nearest_names.hpp"
#include "softfloat/value_table.hpp"

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

std::span<const NamedFormat> further_formats() {
    static const std::vector<NamedFormat> further = [] {
        FloatFormat even_e8m0 = formats::e8m0;
        even_e8m0.even_codes = true;
        const FloatFormat ue4m3{
            .exponent_bits = 4, .fraction_bits = 3, .bias = 7, .specials = Specials::all_ones_nan, .has_sign = false};
        const FloatFormat ue5m3{
            .exponent_bits = 5, .fraction_bits = 3, .bias = 15, .specials = Specials::all_ones_nan, .has_sign = false};
        const FloatFormat b11{
            .exponent_bits = 4, .fraction_bits = 3, .bias = 11, .specials = Specials::negative_zero_nan};
        return std::vector<NamedFormat>{
            {"dlfloat16", table_format(dlfloat_table()), "DLFloat (IBM): 6 exponent bits, no subnormals"},
            {"posit16", table_format(posit_table(16)), "Posit standard's posit16: tapered precision, es = 2"},
            {"e4m3ieee", ieee_format(4, 3), "FP8 E4M3 with infinities (ml_dtypes' float8_e4m3)"},
            {"e3m4", ieee_format(3, 4), "FP8 E3M4 with infinities (ml_dtypes' float8_e3m4)"},
            {"e4m3b11fnuz", b11, "FP8 E4M3 with bias 11, without infinity and -0"},
            {"hif8", table_format(hif8_table()), "HiFloat8 (Huawei): tapered precision"},
            {"posit8", table_format(posit_table(8)), "Posit standard's posit8: tapered precision, es = 2"},
            {"ue5m3", ue5m3, "scale UE5M3: E5M3 without a sign, one NaN"},
            {"int8", table_format(integer_table(8, 0)), "two's complement integers of 8 bits"},
            {"mxint8", table_format(integer_table(8, -6)), "OCP MX's INT8 elements: integers times 2^-6"},
            {"e8m0_even", even_e8m0, "E8M0 with ties to even codes; e8m0 rounds ties up"},
            {"ue4m3", ue4m3, "scale UE4M3: E4M3 without a sign, 7 bits"},
            {"int4", table_format(integer_table(4, 0)), "two's complement integers of 4 bits"}};
    }();
    return further;
}

std::string_view kept_text(std::string_view text) {
    static std::mutex mutex;
    static std::set<std::string, std::less<>> texts;
    const std::lock_guard lock(mutex);
    return *texts.emplace(text).first;
}

namespace {
std::atomic<FormatReader> format_reader = nullptr;

/// binary8p3se in any case of letters, with digits that stand for no other number.
std::optional<FloatFormat> p3109_by_name(std::string_view name) {
    constexpr std::string_view binary = "binary";
    if (name.size() < 10 || name.size() > 13 || !equal_ignoring_case(name.substr(0, 6), binary)) return std::nullopt;
    const auto letter = [&](std::size_t from_end) { return static_cast<char>(name[name.size() - from_end] | 0x20); };
    const std::string_view numbers = name.substr(6, name.size() - 8);
    const std::size_t p = std::min(numbers.find('p'), numbers.find('P'));
    if (p == std::string_view::npos || std::string_view("su").find(letter(2)) == std::string_view::npos ||
        std::string_view("ef").find(letter(1)) == std::string_view::npos) {
        return std::nullopt;
    }
    const auto number = [](std::string_view digits) {
        int value = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        return error == std::errc() && end == digits.data() + digits.size() && digits[0] != '0' ? value : -1;
    };
    const int bits = number(numbers.substr(0, p));
    const int precision = p + 1 < numbers.size() ? number(numbers.substr(p + 1)) : -1;
    if (bits < 0 || precision < 0) return std::nullopt;
    return p3109_format(bits, precision, letter(2) == 's', letter(1) == 'e');
}

std::string p3109_name(const FloatFormat& format) {
    const int bits = format.code_bits();
    const bool extended = format.specials == Specials::one_nan_infinity;
    if (format.is_table() || bits < 3 || bits > 16 || format.exponent_bits < 1 ||
        p3109_format(bits, format.precision(), format.has_sign, extended) != format) {
        return "";
    }
    return "binary" + std::to_string(bits) + "p" + std::to_string(format.precision()) + (format.has_sign ? "s" : "u") +
           (extended ? "e" : "f");
}

/// What others call the further formats.
constexpr std::array further_names{
    OtherNames{"dlfloat16", "dlfloat"},
    OtherNames{"posit16", "posit16_2"},
    OtherNames{"e4m3ieee", "float8_e4m3 e4m3_ieee f8e4m3_ieee"},
    OtherNames{"e3m4", "float8_e3m4 fp8_e3m4 f8e3m4"},
    OtherNames{"e4m3b11fnuz", "float8_e4m3b11fnuz f8e4m3b11fnuz"},
    OtherNames{"hif8", "hifloat8"},
    OtherNames{"posit8", "posit8_2"},
    OtherNames{"ue5m3", "float8_ue5m3"},
    OtherNames{"int8", "s8 i8"},
    OtherNames{"mxint8", "mx_int8"},
    OtherNames{"e8m0_even", "float8_e8m0fnu_even"},
    OtherNames{"ue4m3", "float8_ue4m3"},
    OtherNames{"int4", "s4 i4"},
};
}  // namespace

void set_format_reader(FormatReader chosen) { format_reader = chosen; }

FloatFormat p3109_format(int bits, int precision, bool has_sign, bool extended) {
    const int most = has_sign ? bits - 1 : bits;
    if (bits < 3 || bits > 16 || precision < 1 || precision > most) {
        throw std::invalid_argument("P3109's formats have 3 to 16 bits, not " + std::to_string(bits) +
                                    ", and a precision from 1 to their width (signed: to one less), not " +
                                    std::to_string(precision) + "; binary8p3se is one");
    }
    const int exponent_bits = most - precision + 1;
    return {.exponent_bits = exponent_bits,
            .fraction_bits = precision - 1,
            .bias = 1 << (exponent_bits - 1),
            .specials = extended   ? Specials::one_nan_infinity
                        : has_sign ? Specials::negative_zero_nan
                                   : Specials::all_ones_nan,
            .has_sign = has_sign,
            .even_codes = precision == 1,
            .largest_for_infinity = !extended};
}

NamedFormat named_format(std::string_view name) {
    if (name.find('/') != std::string_view::npos || name.ends_with(".json")) {
        const FormatReader read = format_reader;
        if (read == nullptr) throw std::invalid_argument(std::string(name) + " is a file, and this program reads none");
        const FloatFormat format = read(name);
        const std::size_t slash = name.rfind('/');
        const std::string_view file = name.substr(slash == std::string_view::npos ? 0 : slash + 1);
        const std::string stem(file.substr(0, file.rfind('.')));
        return {kept_text(format.is_table() ? table_of(format).name : stem), format, "described by a file"};
    }
    if (const auto p3109 = p3109_by_name(name)) {
        std::string lower(name);
        for (char& c : lower) c = static_cast<char>(c | 0x20);
        return {kept_text(lower), *p3109, "IEEE P3109, interim report"};
    }
    // The names of both lists in one, so that the nearest of all is named where there is none.
    static const std::vector<OtherNames> all = [] {
        std::vector<OtherNames> both(other_names.begin(), other_names.end());
        both.insert(both.end(), further_names.begin(), further_names.end());
        return both;
    }();
    const std::size_t row = row_by_name("format", name, all);
    return row < rows.size() ? rows[row] : further_formats()[row - rows.size()];
}

std::string name_of(const FloatFormat& format) {
    for (const std::span<const NamedFormat> list : {named_formats(), further_formats()}) {
        for (const NamedFormat& row : list) {
            if (row.format == format) return std::string(row.name);
        }
    }
    if (format.is_table()) return table_of(format).name;
    if (const std::string name = p3109_name(format); !name.empty()) return name;
    return "e" + std::to_string(format.exponent_bits) + "f" + std::to_string(format.fraction_bits);
}

namespace {
constexpr std::array saturation_rows{
    OtherNames{"OvfInf", "ovf_inf none false"},
    OtherNames{"SatFinite", "sat_finite saturate true"},
    OtherNames{"SatPropagate", "sat_propagate propagate"},
};
}  // namespace

std::string_view name_of(Saturation saturation) { return saturation_rows[saturation.mode].name; }

Saturation saturation_by_name(std::string_view name) {
    return static_cast<Saturation::Mode>(row_by_name("saturation mode", name, saturation_rows));
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
    OtherNames{"stochastic", "sr rs stochastic_rounding stochastic_a stochastica cvt_rs"},
    OtherNames{"stochastic_b", "stochasticb"},
    OtherNames{"stochastic_c", "stochasticc"},
};
}  // namespace

std::string_view name_of(Rounding rounding) { return rounding_rows[static_cast<std::size_t>(rounding)].name; }

Rounding rounding_by_name(std::string_view name) {
    return static_cast<Rounding>(row_by_name("rounding mode", name, rounding_rows));
}

}  // namespace ulp
