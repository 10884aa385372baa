// Matrix units that are not this program's: a shared library with one C function (softfloat/lab/ulplab_unit.h),
// or a program that answers on its standard output.
//
// Such a program is given one dot product a line, in the text form that Berkeley TestFloat's tools use for operands:
// storage words in hexadecimal, a[0] to a[k-1], then b[0] to b[k-1], then c, separated by spaces. It answers each line
// with one line, d's storage word, at once: it must flush its standard output after each line. It ends when its
// standard input does.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "experiments/framework/exit_codes.hpp"
#include "softfloat/lab/discovery.hpp"
#include "softfloat/lab/integer_discovery.hpp"
#include "softfloat/lab/match_check.hpp"
#include "softfloat/matrix_units/units.hpp"

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

// The inputs that decide between hypotheses: what every hypothesis and every model predicts for them, and what a unit
// or a card answers.

struct ProbeTableOptions {
    std::string architecture = "sm_90";  // whose models are listed where there is no unit
    std::string unit;                    // that answers instead; "cuda" or "software:sm_90": all its instructions
    std::string input, output;           // formats of the unit
    int k = 16;
    std::function<DotUnit()> open;  // the unit, where it adds no integers
    std::string out;                // file for a card's answers
};

/// Prints the table. bits_differ where a card's answer is not its row's. Throws UsageError where no probe has these
/// formats.
ExitCode print_probe_table(const ProbeTableOptions& options);

// What `ulplab discover` says of a unit that no row of the table describes, and of comparisons on random dot products.

/// One line, and one for the first contradiction with the options that give it to `ulplab explain`.
void print_check(const DotUnit& unit, const std::string& key, const MatchCheck& check);

/// Writes the model to a file in the form that --unit reads; nothing where `file` is empty.
void write_description(const std::string& file, const std::string& name, const UnitModel& model);

struct FitRequest {
    std::string name;  // of the unit: what was asked
    int blocks;        // random dot products
    std::uint64_t seed;
    std::string write;  // file for the description, or empty
};

/// Seeks a description of the unit and prints it beside the nearest row's. bits_differ where there is none.
ExitCode fit_unit(const DotUnit& unit, const FitRequest& request);

/// Compares the unit with a row or a description. bits_differ where they differ.
ExitCode check_against(const DotUnit& unit, const std::string& model_or_file, const FitRequest& request);

}  // namespace ulp
