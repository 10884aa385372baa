// Matrix units that are not this program's: a shared library with one C function (softfloat/lab/ulplab_unit.h),
// or a program that answers on its standard output.
//
// Such a program is given one dot product a line, in the text form that Berkeley TestFloat's tools use for operands:
// storage words in hexadecimal, a[0] to a[k-1], then b[0] to b[k-1], then c, separated by spaces. It answers each line
// with one line, d's storage word, at once: it must flush its standard output after each line. It ends when its
// standard input does.
#pragma once

#include <string>
#include <string_view>

#include "softfloat/lab/discovery.hpp"
#include "softfloat/lab/integer_discovery.hpp"

namespace ulp {

/// "library:PATH" or "program:COMMAND".
bool is_black_box(std::string_view spec);

/// Most products that a unit is asked for.
inline constexpr int most_unit_k = 256;

/// How long a program may take for one answer.
inline constexpr int black_box_limit_seconds = 10;

/// For --help.
inline constexpr std::string_view black_box_forms =
    "library:PATH, a shared library with the function of ulplab_unit.h, or program:COMMAND, run by the shell, which "
    "answers lines of hexadecimal storage words";

/// What a unit answers with: "fp32" or "int32", and the bits of its storage word.
struct BoxAnswer {
    std::string name;
    int bits = 32;
};
/// k storage words of a, k of b, and c.
using BoxDot = decltype(DotUnit::dot);

/// The unit behind it, in formats of any kind; integers are words of two's complement. The function throws DataError as
/// that of open_black_box.
BoxDot open_box(const std::string& spec, const BoxAnswer& answer, int limit_seconds = black_box_limit_seconds);

/// The unit behind it. Its dot throws DataError where a library has no such function, speaks another version of the
/// interface or has no instruction of k products, and where a program cannot be started, ends, gives no answer in time,
/// or answers what is not a storage word of the accumulator.
DotUnit open_black_box(const std::string& spec, const FloatFormat& a, const FloatFormat& b,
                       const FloatFormat& accumulator, int k, int limit_seconds = black_box_limit_seconds);

/// open_black_box, or the unit of a row or of a file (FILE.json), whose formats must then be these. Throws UsageError
/// where they are others.
DotUnit open_unit(const std::string& spec, const FloatFormat& a, const FloatFormat& b, const FloatFormat& accumulator,
                  int k);

/// The integer unit behind a black box: operands in bytes, c and d words of two's complement.
IntegerUnit open_integer_box(const std::string& spec, int k);

/// The same, or the unit of a row or of a file. Throws UsageError for a row or a file of another kind.
IntegerUnit open_integer_unit(const std::string& spec, int k);

}  // namespace ulp
