// Finding the model of a black box by hypotheses: of all models that differ in one parameter from the best one so far,
// the one that answers most of the unit's random dot products as the unit did, until all are answered; then more dot
// products, and those that contradict the model join the others. What discovery.hpp asks is not needed for it, so it
// finds units whose answers to those questions make no sense there.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "softfloat/lab/discovery.hpp"
#include "softfloat/lab/match_check.hpp"

namespace ulp {

struct FitOptions {
    std::int64_t sample = 2800;     // random dot products of all classes to begin with
    std::int64_t blocks = 100'000;  // on which a model that answers all of them is checked
    int rounds = 6;                 // how often a contradicted model is corrected
    std::uint64_t seed = 1;
    std::function<bool(const TensorCoreModel&)> allowed;  // whether the definitions hold a model's parameters
};

/// What one parameter can be instead.
struct ModelChange {
    std::string name;  // "sticky = true"
    std::function<void(TensorCoreModel&)> apply;
};
/// All changes of one parameter of a model with these formats; some leave it as it is.
std::vector<ModelChange> changes_of(const TensorCoreModel& model);

/// The nearest model that was found.
struct ModelFit {
    TensorCoreModel model;
    std::size_t start = 0;               // which of the starts it came from
    std::int64_t asked = 0;              // dot products of the sample in the end
    std::int64_t differ = 0;             // of these
    MatchCheck check;                    // on the last round's further dot products
    std::vector<std::string> undecided;  // changes with which the model answers the sample just as well
    [[nodiscard]] bool found() const { return differ == 0 && check.blocks > 0 && check.agrees(); }
};

/// Seeks from each of the starts, whose formats must be the unit's, and whose instruction_k divides its k, the
/// likeliest first. Where the unit answers a question differently when asked again, the search ends with check.unstable
/// > 0.
ModelFit fit_model(const DotUnit& unit, std::span<const TensorCoreModel> starts, const FitOptions& options);

/// Starts for a unit: the models of the table with its formats, and for other formats and lengths units that fuse, and
/// chains. More than max_instruction_k products are a chain of equal instructions.
std::vector<TensorCoreModel> fit_starts(const DotUnit& unit);

}  // namespace ulp
