// The backends that need no special hardware.
#pragma once

#include <vector>

#include "engine/products/matmul.hpp"

namespace ulp {

/// Each step rounded. d starts from c, or from +0 without one; then for ascending k
///
///     d(i, j) = round(d(i, j) + round(a(i, k) * b(k, j)))
///
/// with both roundings to the accumulator's format, to nearest even, and no fused multiply-add. Takes any types without
/// scales.
std::unique_ptr<MatmulBackend> make_ieee_backend();

/// Eigen's fp32 product, then one rounding to the accumulator's format. Its order of summation depends on the vector
/// width and the processor's caches (not on the number of threads), so it claims no model: for speed, and for study.
/// Takes any types without scales.
std::unique_ptr<MatmulBackend> make_eigen_backend();

/// The matrix unit of a GPU, "h100", or one instruction of it, "h100.wgmma", through the tables of models; the
/// row is picked by the product's types, a block-scaled one by those with scales. Products that the unit does not have
/// throw std::invalid_argument.
std::unique_ptr<MatmulBackend> make_tensor_core_backend(std::string_view argument);
std::vector<std::string> tensor_core_arguments();

/// The unit that a file describes (unit_file.hpp). It has the products of its formats alone; integers have none.
std::unique_ptr<MatmulBackend> make_unit_file_backend(std::string_view file);

std::vector<BackendFamily> built_in_backends();

}  // namespace ulp
