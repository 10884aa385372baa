// What `ulplab inspect` finds, and the same as JSON.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/analysis/input_files.hpp"
#include "engine/analysis/scale_range.hpp"
#include "engine/analysis/tensor_counts.hpp"

namespace ulp {

struct Inspection {
    std::vector<JudgedFormat> formats;
    std::string target;                // the format of the loss scale
    std::vector<InputTensor> inputs;   // those that were counted,
    std::vector<NamedCounts> tensors;  // in the same order
    std::vector<InputTensor> skipped;  // of types that hold no floating-point numbers
    TensorCounts all;
    ScaleRange scale;
    bool are_weights = false;  // by their names: each ends in "weight" or "bias", and no file or tensor says "grad"
};

/// Files as input_tensors takes them, formats as judged_format does, and the format of the loss scale.
struct InspectionRequest {
    std::vector<std::string> files;
    std::vector<std::string> formats;
    std::string target;
    std::function<void()> before_each_tensor{};  // ends the inspection where it throws
};
/// Throws UsageError for formats and DataError for files, or where no tensor holds floating-point numbers.
Inspection inspect_tensors(const InspectionRequest& request);

/// What a reader must know of every loss scale that comes from dumped gradients.
extern const std::string loss_scale_caveat;
/// Why none is recommended for weights.
extern const std::string weights_caveat;

nlohmann::ordered_json json_of(const Inspection& inspection);

}  // namespace ulp
