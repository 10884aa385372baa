// Backends that wrap another: check it, record it, or answer in its place.
#pragma once

#include <filesystem>
#include <functional>

#include "engine/products/matmul.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/matrix_units/product.hpp"
#include "softfloat/matrix_units/units.hpp"

namespace ulp {

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

/// Products without block scales are added in this order, by the model that the backend promises for their types;
/// others are the backend's. `model_of` finds the model by its key. Throws std::invalid_argument for a product that the
/// backend promises no model for, and as soft_product() does.
std::unique_ptr<MatmulBackend> in_order(
    std::unique_ptr<MatmulBackend> backend, const ProductOrder& order,
    std::function<TensorCoreModel(const std::string& key)> model_of = unit_model<TensorCoreModel>);

std::vector<BackendFamily> decorator_families();

}  // namespace ulp
