// The orders in which a library's kernel may add the products of one element, as the study of cuBLAS tries them.
#pragma once

#include <string>
#include <vector>

#include "softfloat/matrix_units/product.hpp"

namespace ulp::gpu {

/// "ascending k", "split-k 2", "sliced k: 2 x 32", "ascending k, promoted every 128".
std::string name_of(const ProductOrder& order);

/// The orders that the study tries, the simplest first.
const std::vector<ProductOrder>& candidate_orders();

/// Pieces of k of one length each, as split-k kernels round them, with the rest of each piece's tiles first or not.
std::vector<ProductOrder> split_orders(std::int64_t k, bool narrow);

}  // namespace ulp::gpu
