#include "experiments/natural/tuning.hpp"

namespace ulp::natural {

TaskBuilder keeping_weights(const TaskBuilder& task) {
    return [task](Model& model, std::uint64_t seed) {
        Task result = task(model, seed);
        result.measure = [measure = result.measure, &model](Evaluation& evaluation, Learned& learned) {
            if (measure) measure(evaluation, learned);
            Weights weights;
            for (const Parameter& parameter : model.parameters()) weights.push_back(parameter.updated());
            learned.more = std::move(weights);
        };
        return result;
    };
}

std::function<Weights(std::uint64_t)> weights_left(const RunContext& context, const Comparison& comparison) {
    return [&comparison, first = context.seed](std::uint64_t seed) {
        return comparison.runs.front().at(static_cast<std::size_t>(seed - first)).kept<Weights>();
    };
}

TaskBuilder starting_from(const TaskBuilder& task, const std::function<Weights(std::uint64_t)>& weights) {
    return [task, weights](Model& model, std::uint64_t seed) {
        Task result = task(model, seed);
        const Weights start = weights(seed);
        std::size_t i = 0;
        for (Parameter& parameter : model.parameters()) parameter.assign(start.at(i++));
        return result;
    };
}

}  // namespace ulp::natural
