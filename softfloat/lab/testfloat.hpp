// Berkeley TestFloat's operations and text format: any tool that speaks them can judge this library.
//
//     operands, result, flags in hexadecimal:   3C00 4000 4200 00      f16_add
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string_view>

#include "softfloat/context.hpp"
#include "softfloat/support/bits.hpp"

namespace ulp::testfloat {

/// A word of up to 128 bits: TestFloat's widest operands.
using Operands = std::array<UInt128, 3>;

struct Operation {
    std::string_view name;  // "f16_mulAdd"
    int operand_count;
    int operand_bits;  // of each operand
    int result_bits;   // 1 for a truth value
    bool to_integer;   // a rounding to an integral value: TestFloat leaves its inexact flag to an option
    UInt128 (*compute)(const Operands& operands, Context& context);
};

/// Every f16 operation, with the conversions from and to the 80- and 128-bit formats, and those between bf16 and f32.
std::span<const Operation> operations();

/// The operation of that name. Throws std::invalid_argument that lists the names there are.
const Operation& operation_by_name(std::string_view name);

struct Options {
    Rounding rounding = Rounding::nearest_even;
    Tininess tininess = Tininess::after_rounding;
    bool exact = true;  // roundings to an integral value raise inexact (testfloat_gen -exact)
};

/// Reads a line of operands at a time from `in` (further fields are ignored) and writes operands, result and flags.
/// Throws DataError with the line's number where a line is malformed; the lines before it have been written.
void filter(const Operation& operation, const Options& options, std::istream& in, std::ostream& out);

}  // namespace ulp::testfloat
