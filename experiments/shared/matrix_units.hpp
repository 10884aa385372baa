// The matrix units that experiments compare, and what stands behind their models.
#pragma once

#include "engine/products/matmul.hpp"
#include "experiments/framework/experiment.hpp"

namespace ulp {

struct MatrixUnit {
    std::string name;  // "V100", or the backend's specification
    std::string spec;  // "soft:v100"
    std::shared_ptr<const MatmulBackend> backend;
};

/// A backend's specification without what may not stand in a series' name: "checked(soft:h100;soft:v100)".
std::string series_name(std::string backend);

/// The models of V100, A100 and H100, and after them the backend that --unit names, if it is another.
/// Throws UsageError or std::invalid_argument for a backend that does not exist.
std::vector<MatrixUnit> matrix_units(const RunContext& context);

/// "v100" for ids of claims: the name in small letters, without "soft:", with "_" instead of signs.
std::string id_of(const MatrixUnit& unit);
/// Whether its products of fp16 follow a row of the table of units: software, a real GPU, or one checked with the
/// other.
bool is_matrix_unit(const MatrixUnit& unit);

inline constexpr ProductTypes fp16_to_fp32{formats::fp16, formats::fp32};
inline constexpr ProductTypes fp16_to_fp16{formats::fp16, formats::fp16};

/// a . b + c through the unit; a, b and c lie on the formats' grids.
float dot(const MatmulBackend& backend, const ProductTypes& types, std::span<const float> a, std::span<const float> b,
          float c = 0);

/// "sm_70:mma.fp16.fp32: recorded; recordings of V100": what proves the ordinary values of a row, for a caption. The
/// result's evidence gets the row's evidence aspect by aspect. Throws std::invalid_argument for a key without a row.
std::string evidence_of_row(const std::string& key, Result& result);

/// Of all units and types, a sentence each, for a caption; the result's evidence gets them aspect by aspect.
std::string evidence_of(const std::vector<MatrixUnit>& units, const std::vector<ProductTypes>& types, Result& result);

}  // namespace ulp
