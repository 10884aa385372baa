// The answer of `ulplab bound`: of sums of a length, or of all elements of a product.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/analysis/product_bound.hpp"
#include "softfloat/matrix_units/bounds.hpp"
#include "softfloat/matrix_units/schemes.hpp"
#include "softfloat/matrix_units/units.hpp"

namespace ulp {

/// The row's floating-point model, of a unit with block scales that without them. Throws UsageError for integer units,
/// which have no bounds.
TensorCoreModel bounded_model(const UnitRow& row);
/// The question about a row in an order; with `has_scales` sums are promoted, every 128 k unless the order says where.
BoundQuestion bound_question(const UnitRow& row, const ProductOrder& order, const std::string& level, bool has_scales);

/// Sets `ordered`, and the level where it is empty: running where there are operands and the unit has it, else apriori.
/// Throws UsageError for a level that the unit or the order does not have.
void settle_level(BoundQuestion& q, const std::string& unit, bool has_operands);

struct BoundAnswer {
    std::string level;
    std::int64_t k = 0;
    bool has_scales = false;  // then there is no gamma
    AprioriBound apriori{};
    std::optional<double> max_absolute{}, max_relative{}, atol{}, rtol{};
    std::optional<double> expected_bias = 0;  // relative to S
    std::optional<std::pair<std::int64_t, std::int64_t>> at{};
    std::string overflow = "excluded";
    std::int64_t unbounded = 0;  // elements
    std::optional<std::int64_t> violations{};
    double largest_ratio = 0;  // of D's errors to their bounds
    std::string scheme{};      // where several products of the unit make one, and how many
    std::int64_t products = 1;
};

/// What D is compared with: the exact product, fp64 sums in any order, or another unit.
enum class BoundReference { exact, fp64_sums, unit };

/// A is m x k, B k x n, C and D m x n, all on the unit's formats; of double for units with fp64 operands alone.
template <class Real>
struct BasicBoundedProduct {
    BasicMatrixView<const Real> a{}, b{};
    std::optional<BasicMatrixView<const Real>> c{}, d{};
    BlockScales scales{};  // where the question has scales
    BoundReference reference = BoundReference::exact;
    std::optional<BoundQuestion> other{};  // the other unit
    bool nonnegative = false;              // all numbers have one sign: the tolerance is relative
    std::function<bool()> stops{};         // asked by several threads in turn; true: the rest is left out
};
using BoundedProduct = BasicBoundedProduct<float>;
/// The bound of each element goes to `bounds`, row by row. Throws UsageError for a k that is too long and for another
/// unit that has other operands.
template <class Real>
BoundAnswer bound_of_product(const BoundQuestion& q, const BasicBoundedProduct<Real>& product,
                             std::vector<double>& bounds);

/// Sums of k products; the largest magnitudes where they are known.
struct BoundedSizes {
    std::int64_t k = 0;
    std::optional<double> max_a{}, max_b{}, max_c{};
    bool nonnegative = false;
};
BoundAnswer bound_of_sizes(const BoundQuestion& q, const BoundedSizes& sizes);

/// Of a scheme, at level apriori: S is that of schemes.hpp. `judges`: D is compared with the bounds. Throws UsageError
/// as the others do.
BoundAnswer bound_of_scheme(const SchemePlan& plan, const Fp64Problem& product, bool judges,
                            std::vector<double>& bounds);
BoundAnswer bound_of_scheme(const SchemePlan& plan, const BoundedSizes& sizes);

/// {"model", "k", "groups", "gamma", "eta", "shares", "level", "max_absolute", ...}.
std::string json_of(const std::string& unit, const BoundAnswer& answer);

}  // namespace ulp
