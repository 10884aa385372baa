// How far a unit's result D can lie from the exact s = c + a[0] b[0] + ... + a[k-1] b[k-1]: bounds that hold for all
// operands,
//
//     |D - s| <= gamma * S + eta + unseen,    S = |c| + sum of |a[i] b[i]|, lifted (Magnitude, operands.hpp),
//
// from the parameters of the unit's row and the order of summation. Units that cut aligned terms toward zero lose at
// most (group - 1) 2^-F + 2^-f of S in each group: linear in k, for every k. Units that round to nearest obey the
// classical bounds (Jeannerod and Rump 2013; Blanchard, Higham, Lopez, Mary and Pranesh 2020 for blocks of products).
// Units of files that round terms, products or sums in other ways obey bounds that grow as (1 + g)^groups, g being the
// loss of one group. What a unit does not see at all, a flushed operand or a c that it drops, is Magnitude::unseen.
#pragma once

#include <cstdint>

#include "softfloat/matrix_units/model.hpp"
#include "softfloat/matrix_units/product.hpp"

namespace ulp {

/// What gamma is the sum of.
struct BoundShares {
    double alignment = 0;  // terms cut to the alignment of their group
    double rounding = 0;   // of the groups' sums, or of the single operations
    double addend = 0;     // a c with more bits than the alignment keeps
    double pieces = 0;     // additions of partial sums, and of a c that enters after the products
    double products = 0;   // products rounded before they are added
};

struct AprioriBound {
    double gamma = 0;         // relative to S
    double eta = 0;           // absolute: what underflow may add
    std::int64_t groups = 0;  // of products that are rounded together, in the longest chain
    std::int64_t sums = 1;    // that start at zero: pieces of k and promoted stretches
    bool drops_sums = false;  // the unit may leave out c and all products before its last instruction's
    bool drops_any = false;   // in an order other than ascending k it may leave out any of them
    double largest_sum = 0;   // > 0: partial sums beyond it may leave their format
    BoundShares shares{};
};

/// The bound for sums of k products in the order, without its epilogue. Of n pieces each has the bound of the longest
/// and is rounded to its format, relative error v; each of the n - 1 additions is rounded, to nearest, u, and its total
/// to its format, w: the whole error is at most ((1 + gamma)(1 + v)((1 + u)(1 + w))^n - 1) S, since no magnitude grows
/// by more in any order of the additions, and each rounding adds at most its format's least subnormal. All values are
/// rounded up. Throws std::invalid_argument for k below 0 and orders that do not fit the model.
AprioriBound apriori_bound(const TensorCoreModel& model, std::int64_t k, const ProductOrder& order = {});

/// |D - s| where D = alpha * sum + beta * c: from the bound of the sum's error, the sum of its products' magnitudes and
/// |c|; the epilogue is computed in the format, fp32 or fp64.
double epilogue_bound(const LinearEpilogue& epilogue, double error, double products, double c,
                      const FloatFormat& format = formats::fp32);

/// Products that a model rounds or aligns together in sums of k, each instruction's groups counted.
std::int64_t groups_of(const TensorCoreModel& model, std::int64_t k);

}  // namespace ulp
