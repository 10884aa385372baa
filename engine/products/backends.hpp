// The backends that need no special hardware.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "engine/products/matmul.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/matrix_units/product.hpp"
#include "softfloat/matrix_units/units.hpp"

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
/// "rtx4090.mma" for "RTX 4090.mma": of a GPU that architecture_of knows, in lower case; empty where there is none.
std::string spelled_tensor_core_argument(std::string_view text);

/// The unit that a file describes (unit_file.hpp). It has the products of its formats alone; integers have none.
std::unique_ptr<MatmulBackend> make_unit_file_backend(std::string_view file);

std::vector<BackendFamily> built_in_backends();

// Backends that wrap another: check it, record it, or answer in its place.

/// Products without block scales are added in this order, by the model that the backend promises for their types;
/// others are the backend's. `model_of` finds the model by its key. Throws std::invalid_argument for a product that the
/// backend promises no model for, and as soft_product() does.
std::unique_ptr<MatmulBackend> in_order(
    std::unique_ptr<MatmulBackend> backend, const ProductOrder& order,
    std::function<TensorCoreModel(const std::string& key)> model_of = unit_model<TensorCoreModel>);

/// "checked(BACKEND,REFERENCE)": computes every product twice and stops with BitsDiffer at the first element that
/// differs, naming its place, both bit patterns and the row and column it came from. NaNs count as equal.
std::unique_ptr<MatmulBackend> checked(std::unique_ptr<MatmulBackend> backend,
                                       std::unique_ptr<MatmulBackend> reference);

/// "recorded(FILE,BACKEND)": writes each product's shape, a digest of its operands, and its result. The file takes its
/// name when the backend goes; until then the records stand under a temporary name (WholeFile). Throws DataError where
/// it cannot be written.
std::unique_ptr<MatmulBackend> recorded(std::unique_ptr<MatmulBackend> backend, const std::filesystem::path& file);

/// "replayed(FILE)": answers from a recording, by the digest of the operands; claims what the recorded backend claimed.
/// Throws DataError for a file that is no recording, and BitsDiffer for a product that is not in it.
std::unique_ptr<MatmulBackend> replayed(const std::filesystem::path& file);

/// "with_ieee(BACKEND)": products of fp32 that the backend lacks, as matrix units do, are computed by soft:ieee.
std::unique_ptr<MatmulBackend> with_ieee(std::unique_ptr<MatmulBackend> backend);

std::vector<BackendFamily> decorator_families();

}  // namespace ulp
