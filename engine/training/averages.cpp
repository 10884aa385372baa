#include "engine/training/averages.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "engine/tensor/random.hpp"
#include "engine/tensor/rounder.hpp"

namespace ulp::inline ULPLAB_MODE {

Averages::Averages(const Model& model, const AverageOptions& options) : options_(options) {
    if (!(options.decay >= 0 && options.decay <= 1)) {
        throw std::invalid_argument(
            fmt::format("the decay of averages is {}; give a number from 0 to 1", options.decay));
    }
    if (options.rounding == UpdateRounding::kahan) {
        throw std::invalid_argument("averages are rounded to nearest or stochastically, not with Kahan's sums");
    }
    if (options.rounding == UpdateRounding::stochastic && options.format == container_format) {
        throw std::invalid_argument(
            "averages in fp32 are not rounded; take stochastic rounding with a narrower format");
    }
    for (const Parameter& parameter : model.parameters()) {
        Tensor& average = tensors_[parameter.name];
        average = parameter.updated();
        average.set_format(container_format);
        average.round_to_format(options.format);
    }
}

void Averages::update(const Model& model, std::int64_t step) {
    const auto take = static_cast<Real>(1 - options_.decay);
    for (const Parameter& parameter : model.parameters()) {
        Tensor& average = tensors_.at(parameter.name);
        const Tensor& weights = parameter.updated();
        for (Index i = 0; i < average.size(); ++i) average[i] += take * (weights[i] - average[i]);
        average.set_format(container_format);
        if (options_.rounding == UpdateRounding::stochastic) {
            const std::uint64_t stream = hash_of("average/" + parameter.name) + static_cast<std::uint64_t>(step);
            round_stochastically(options_.format, options_.seed, stream, 0, average.values());
            average.set_format(options_.format);
        } else {
            average.round_to_format(options_.format);
        }
    }
}

}  // namespace ulp::inline ULPLAB_MODE
