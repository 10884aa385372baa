// The names of the formats, for programs and messages.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "softfloat/context.hpp"
#include "softfloat/format.hpp"

namespace ulp {

struct NamedFormat {
    std::string_view name;  // as given on the command line: "fp16"
    FloatFormat format;
    std::string_view description;
};

/// The formats that hardware multiplies and stores, widest first: what sweeps over formats take.
std::span<const NamedFormat> named_formats();

/// Further named formats: those of ml_dtypes, scales without a sign, tables of values (hif8, posits, integers).
std::span<const NamedFormat> further_formats();

/// The format of that name, in any case of letters: a row's name or what others call it ("float16", "float8_e4m3fn"),
/// one of IEEE P3109's (p3109_format), or a path to a file that describes a format (docs/format_files.md). The name is
/// the row's own, for a file the file's stem. Throws std::invalid_argument with the nearest name and the names there
/// are; DataError for a file that cannot be read.
NamedFormat named_format(std::string_view name);
inline FloatFormat format_by_name(std::string_view name) { return named_format(name).format; }

/// The name of a format: its row's, P3109's, its table's, or "e<exponent_bits>f<fraction_bits>".
std::string name_of(const FloatFormat& format);

/// How named_format reads a file. softfloat reads none by itself; the program and the Python package set the reader
/// (engine/files/format_file.hpp).
using FormatReader = FloatFormat (*)(std::string_view path);
void set_format_reader(FormatReader reader);

/// A text that stays while the process lives, for NamedFormat::name.
std::string_view kept_text(std::string_view text);

/// binary{bits}p{precision}{s|u}{e|f} of IEEE P3109's interim report: one NaN, no -0, ties to even codes; `extended`
/// has infinities. Widths 3 to 16, precisions from 1 to the width, signed: less than it. Throws std::invalid_argument
/// for others.
FloatFormat p3109_format(int bits, int precision, bool has_sign, bool extended);

// The names of the saturation modes.

/// "OvfInf", "SatFinite", "SatPropagate": P3109's names.
std::string_view name_of(Saturation saturation);
/// In any case of letters, also PTX's satfinite, ONNX's saturate, and none. Throws std::invalid_argument.
Saturation saturation_by_name(std::string_view name);

// The names of the rounding modes, for programs and messages.

/// "nearest_even", "toward_zero" and so on: the enumerator's name.
std::string_view name_of(Rounding rounding);

/// The mode of that name, or of the name that others have for it, in any case of letters: TestFloat's (near_even,
/// minMag, also with the r of its command line), rne, rtz, rtn, rtp, rna, nearest, truncate, floor, ceil and so on.
/// Throws std::invalid_argument with the nearest name and the names there are.
Rounding rounding_by_name(std::string_view name);

// Formats made at run time.

/// The format with `precision` significant bits and normal numbers from 2^emin up to below 2^(emax+1), with subnormals,
/// infinities and NaN, within fp64: 2 to 53 bits, -1022 <= emin <= emax <= 1023. (One bit would leave no fraction to
/// tell NaN from infinity.) Throws std::invalid_argument for anything else.
constexpr FloatFormat custom_format(int precision, int emin, int emax) {
    if (precision < 2 || precision > 53) {
        throw std::invalid_argument("a format's precision must lie in 2..53, not " + std::to_string(precision));
    }
    if (emin < -1022 || emin > emax || emax > 1023) {
        throw std::invalid_argument("a format needs -1022 <= emin <= emax <= 1023, not emin " + std::to_string(emin) +
                                    ", emax " + std::to_string(emax));
    }
    // One exponent code for the subnormals, one for the specials, and one a binade.
    int exponent_bits = 2;
    while ((1 << exponent_bits) - 2 < emax - emin + 1) ++exponent_bits;
    FloatFormat format = ieee_format(exponent_bits, precision - 1);
    format.bias = 1 - emin;
    format.unused_exponents = (1 << exponent_bits) - 2 - (emax - emin + 1);
    return format;
}

static_assert(custom_format(11, -14, 15) == formats::fp16 && custom_format(53, -1022, 1023) == formats::fp64);
static_assert(custom_format(4, -3, 2).emin() == -3 && custom_format(4, -3, 2).emax() == 2);

}  // namespace ulp
