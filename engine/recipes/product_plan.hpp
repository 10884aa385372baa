// How a backend computes a product of quantised operands.
#pragma once

#include <optional>
#include <string>

#include "engine/products/matmul.hpp"
#include "engine/recipes/product_rules.hpp"

namespace ulp {

/// The ways, the first that fits is taken.
enum class ProductWay : std::uint8_t {
    plain,         // operands as they are
    promoted,      // elements, in pieces of promote_every along k; scales at each piece's end
    block_scaled,  // elements and scales on the unit's block-scaled row
    scaled_after,  // elements; the scales, which do not vary along k, at the end
    dequantised    // the numbers that elements and scales stand for
};

struct ProductPlan {
    ProductWay way;
    ProductTypes types;  // that the backend is asked for
};

/// `plain` are the types without quantisation. Throws std::invalid_argument for operands that do not fit each other:
/// one with a transform along k, the other with another one.
ProductPlan plan_product(const ProductRule& rule, const ProductTypes& plain, const MatmulBackend& backend);

/// For the log of products: ", of the numbers that the blocks stand for"; empty for the ways that the types tell.
std::string text_of(const ProductPlan& plan, const ProductRule& rule);

struct Recipe;
/// Why a backend cannot compute a recipe's products, with a backend that can, in one sentence; none where it can.
std::optional<std::string> refusal_of(const Recipe& recipe, const MatmulBackend& backend);

}  // namespace ulp
