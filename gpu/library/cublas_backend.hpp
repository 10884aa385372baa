// cuBLAS as a backend of products: "cublas:fp16" is cublasGemmEx as it chooses, "cublaslt:fp16" cublasLt with a fixed
// algorithm.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/products/matmul.hpp"

namespace ulp::gpu {

/// Claims no model: the order of its sums is the library's own. FP8 is filled up to multiples of 16. Throws DataError
/// without the library or a GPU, std::invalid_argument for a name that is not in library_products().
std::unique_ptr<MatmulBackend> make_cublas_backend(std::string_view product, bool fixed_algorithm);

/// The products with floating-point inputs; without `fixed_algorithm` those that cublasGemmEx has.
std::vector<std::string> cublas_arguments(bool fixed_algorithm);

}  // namespace ulp::gpu
