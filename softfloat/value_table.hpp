// Formats whose values stand in a table, code by code: posits, HiFloat8, codebooks, integers. A FloatFormat with
// Specials::table is one; every function of round.hpp takes it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "softfloat/format.hpp"

namespace ulp {

/// What the codes mean, and what lies beyond.
struct ValueTable {
    std::string name;
    /// 2, 4, 8 ... 65536 values, that of code 0 first: numbers of fp32, infinities, NaN. -0 counts as a number of its
    /// own. A value that occurs again is decoded, but never encoded.
    std::vector<double> values;
    /// Where numbers begin to overflow: halfway from the largest number to this one. 0: as far beyond the largest as
    /// its neighbour lies below it.
    double overflow = 0;
    /// Below and above which of two neighbours a number is rounded to, for the distinct numbers in ascending order.
    /// None: the arithmetic middles. (Posits have others where exponent bits are cut off, and never round to zero.)
    std::vector<double> middles{};
    Saturation saturation{};
};

/// The format with this table. The same table gives the same format again. Rounding to nearest compares with the
/// middle of neighbours; a tie goes to the even code, or where both or none is even to the smaller magnitude.
/// Stochastic rounding is not defined: std::invalid_argument. Throws std::invalid_argument for other sizes, for numbers
/// that fp32 does not hold or whose middles fp64 does not hold, and for a table without a number.
FloatFormat table_format(const ValueTable& table);

/// The table of a format with Specials::table.
const ValueTable& table_of(const FloatFormat& format);

// Tables by rule.

/// HiFloat8 (Luo et al. 2024, "Ascend HiFloat8 format for deep learning", table 1): a prefix code says how many bits
/// the exponent has; +-infinity and one NaN.
ValueTable hif8_table();
/// Posit<bits, 2> (Posit standard 2022): NaR is NaN; numbers beyond the largest become the largest.
ValueTable posit_table(int bits);
/// Two's complement integers, times 2^exponent: int8, int4, MX's int8 elements (2^-6).
ValueTable integer_table(int bits, int exponent);
/// DLFloat (Agrawal et al. 2019): 6 exponent and 9 fraction bits, no subnormals, infinities and NaN in one.
ValueTable dlfloat_table();

}  // namespace ulp
