// Products of fp32 and fp64 matrices made of several products of a narrow unit, with bounds of their errors.
//
//     bf16x3, 6, 9   x = x[0] + x[1] 2^-8 + x[2] 2^-16 in bf16, each to nearest even; the products x[s] y[t] with
//                    s + t <= 1, <= 2 and all nine (cuBLAS guide, "BF16x9"; Henry, Tang, Heinecke, arXiv 1904.06376).
//                    bf16x3 has two numbers an operand, the others three, which hold every fp32 number exactly
//     3xtf32         the same with x[0] + x[1] 2^-11 in tf32 and three products (CUTLASS, example 27)
//     ozaki1         the rows of A and the columns of B share an exponent e; x = 2^e (x[0] 2^-b + x[1] 2^-2b + ...)
//     with
//                    whole numbers x[s] of b bits, cut toward zero; the n (n + 1) / 2 products with s + t < n (Ootomo,
//                    Ozaki, Yokota, arXiv 2306.11975)
//     ozaki2         x' = trunc(2^t x) for a row's t; A' B' by its remainders modulo n coprime numbers of up to 256,
//                    n products (Chinese remainders; Ozaki, Uchino, Imamura, arXiv 2504.08009)
//
// The products of the first four are rounded as the unit and the order do, and added in fp32 to nearest even, the
// smallest first: sum = fma(sum, 2^-8, next). Those of ozaki1 and ozaki2 are whole numbers that the unit adds without
// error, in stretches of k that keep them below its largest exact sum; what follows is exact but for one rounding to
// fp64 for each s + t, of ozaki2 one in all (libraries join remainders in fp64, with more roundings).
//
// Bounds. With tail_y(t) = |y - the first t parts of y| the products that are made differ from x y by at most
//
//     sum over s of |x[s]| tail_y(last - s) + tail_x(all) |y|,    last: the s + t of the first that is not made,
//
// of ozaki2 by (|x| - |x'|) |y| + |x| (|y| - |y'|). The unit adds its own bound for each product of parts
// (bound_operands.hpp), and n additions to nearest at most (1 + u)^n - 1 of the magnitudes that are added, which are
// the unit's S for the first four schemes, and at most sum |x y| where parts are cut toward zero.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "softfloat/matrix_units/bounds.hpp"
#include "softfloat/matrix_units/units.hpp"

namespace ulp {

enum class SchemeKind : std::uint8_t { bf16x3, bf16x6, bf16x9, tf32x3, ozaki1, ozaki2 };

/// parts: numbers that an operand is split into, or moduli; 0: as many as D's format needs.
struct Scheme {
    SchemeKind kind = SchemeKind::bf16x9;
    int parts = 0;
};

/// "bf16x9", "3xtf32", "ozaki1", "ozaki1:5" (five slices), "ozaki2:8" (eight moduli). Throws std::invalid_argument that
/// lists the names.
Scheme scheme_by_name(std::string_view name);
std::string name_of(const Scheme& scheme);

/// A scheme on a unit for sums of k.
struct SchemePlan {
    Scheme scheme;  // parts are set
    UnitModel unit;
    ProductOrder order;
    FloatFormat output;         // of D: fp32 or fp64
    int last = 0;               // products of parts s and t with s + t < last are made
    int shift = 0;              // parts are that many bits apart
    std::int64_t exact_k = 0;   // of ozaki1 and ozaki2: products that the unit adds without error
    std::int64_t products = 0;  // of the unit, each of whole matrices
    [[nodiscard]] bool of_integers() const { return exact_k > 0; }
};

/// Of D in fp64 or fp32, of operands in that format. ozaki1 has the fewest slices with (n + 1) 2^(-n b) <= 2^-p, p
/// being D's precision, and ozaki2 the fewest moduli with 2^t of p + 1 bits beside the root of k, 16 at most. Throws
/// std::invalid_argument, with the remedy, for a unit, an order or a format that the scheme cannot use.
SchemePlan plan_of(const Scheme& scheme, const UnitRow& unit, const ProductOrder& order, std::int64_t k,
                   const FloatFormat& output);

/// D = A * B + C, C added last. The numbers are of plan.output, which fp64 holds; where a row of A or a column of B is
/// not finite, its elements are the infinities and NaNs of fp64 sums. The bits depend neither on threads nor on the
/// processor. Throws std::invalid_argument as require_shapes does.
void scheme_product(const SchemePlan& plan, const Fp64Problem& problem);

/// |D - s| of each element, written to D; infinite where a sum might leave its format or an operand is not finite.
void scheme_bounds(const SchemePlan& plan, const Fp64Problem& problem);

/// For all operands: |D - s| <= gamma S + eta, S as in bounds.hpp for fp32 operands; of ozaki1 and ozaki2 S is k times
/// the largest |a| of the row times the largest |b| of the column, and |c|.
AprioriBound scheme_bound(const SchemePlan& plan, std::int64_t k);

/// D - s of an element, exactly where fp64 holds it: D is read. k below 2^20.
double error_of(const Fp64Problem& problem, std::int64_t i, std::int64_t j);

/// |c| + sum of |a b| of an element.
double magnitude_of(const Fp64Problem& problem, std::int64_t i, std::int64_t j);

// The largest error of the elements, relative to their magnitudes. k below 2^20.

double largest_error(const Fp64Problem& problem);
/// Of the unit alone, in place of D: its operands rounded to nearest even, too large ones to the largest number.
/// Nothing for units of integers and of block scales.
std::optional<double> largest_error_of(const UnitRow& unit, const Fp64Problem& problem);
/// Of one fma after the other in ascending k, in fp32 or fp64.
double largest_error_of_chain(const FloatFormat& format, const Fp64Problem& problem);

}  // namespace ulp
