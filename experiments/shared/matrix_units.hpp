// The matrix units that experiments compare, and what stands behind their models.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/products/matmul.hpp"
#include "experiments/framework/experiment.hpp"

namespace ulp {

struct MatrixUnit {
    std::string name;  // "V100", or the backend's specification
    std::string spec;  // "soft:v100"
    std::shared_ptr<const MatmulBackend> backend;
};

/// The models of V100, A100 and H100, and after them the backend that --backend names, if it is another.
/// Throws UsageError or std::invalid_argument for a backend that does not exist.
std::vector<MatrixUnit> matrix_units(const RunContext& context);

inline constexpr ProductTypes fp16_to_fp32{formats::fp16, formats::fp32};
inline constexpr ProductTypes fp16_to_fp16{formats::fp16, formats::fp16};

/// a . b + c through the unit; a, b and c lie on the formats' grids.
float dot(const MatmulBackend& backend, const ProductTypes& types, std::span<const float> a, std::span<const float> b,
          float c = 0);

/// "V100, fp16->fp32: recorded: ...": the row of the model table that the unit follows, and what proves it.
std::string evidence_of(const MatrixUnit& unit, const ProductTypes& types);

/// Of all units and types, a sentence each; also added to the result's evidence.
std::string evidence_of(const std::vector<MatrixUnit>& units, const std::vector<ProductTypes>& types, Result& result);

}  // namespace ulp
