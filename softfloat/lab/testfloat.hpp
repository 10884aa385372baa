// Berkeley TestFloat's operations and text format: any tool that speaks them can judge this library.
//
//     operands, result, flags in hexadecimal:   3C00 4000 4200 00      f16_add
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include "softfloat/context.hpp"
#include "softfloat/format.hpp"
#include "softfloat/support/bits.hpp"

namespace ulp::testfloat {

/// A word of up to 128 bits: TestFloat's widest operands.
using Operands = std::array<UInt128, 3>;

struct Operation {
    std::string name;  // "f16_mulAdd"
    int operand_count;
    int operand_bits;      // of each operand
    int result_bits;       // 1 for a truth value
    bool to_integer;       // a rounding to an integral value: TestFloat leaves its inexact flag to an option
    FloatFormat format{};  // of the operands, or of the result where they have none
    FloatFormat result{};  // of the result of a conversion between formats
    UInt128 (*compute)(const Operation& operation, const Operands& operands, Context& context) = nullptr;

    [[nodiscard]] UInt128 operator()(const Operands& operands, Context& context) const {
        return compute(*this, operands, context);
    }
};

/// FORMAT_OP for any format by name (f16, f32, f64, bf16, tf32, e4m3, ...) and any of TestFloat's operations: add, sub,
/// mul, mulAdd, div, rem, sqrt, roundToInt, eq, le, lt, eq_signaling, le_quiet, lt_quiet; and X_to_Y between two
/// formats, or a format and ui32, ui64, i32, i64, extF80 or f128. Throws std::invalid_argument that lists what there
/// is.
Operation operation_by_name(std::string_view name);

struct Options {
    Rounding rounding = Rounding::nearest_even;
    Tininess tininess = Tininess::after_rounding;
    bool exact = true;  // roundings to an integral value raise inexact (testfloat_gen -exact)
};

/// Reads a line of operands at a time from `in` (further fields are ignored) and writes operands, result and flags.
/// Throws DataError with the line's number where a line is malformed; the lines before it have been written.
void filter(const Operation& operation, const Options& options, std::istream& in, std::ostream& out);

}  // namespace ulp::testfloat
