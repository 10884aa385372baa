// What dumped tensors say about a training that went wrong, in the order of what to try first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/analysis/inspection_json.hpp"

namespace ulp {

struct TensorFinding {
    std::string what;    // a sentence with its numbers
    std::string remedy;  // what to try; empty where nothing is wrong
};

/// `carried` is the exponent of the loss scale that the dumped numbers still carry; 0 for unscaled gradients.
///
/// The exponent of the loss scale to use, the dumped numbers' own included; nothing where none fits.
std::optional<int> recommended_scale(const Inspection& inspection, int carried);
/// The range of loss scales with the dumped numbers' own included, and without the scale that gave infinities or NaNs.
ScaleRange scale_to_use(const Inspection& inspection, int carried);
/// Which of the formats keep the numbers as they are: at most one in a thousand lost, none overflows. "" for no
/// numbers.
std::string formats_sentence(const Inspection& inspection);
/// What is wrong comes first, then what the numbers say otherwise.
std::vector<TensorFinding> findings_of(const Inspection& inspection, int carried);

}  // namespace ulp
