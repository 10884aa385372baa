#include "experiments/natural/tuning.hpp"

#include <utility>

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

Dataset sheared(Dataset data, Index percent) {
    const std::vector<std::uint8_t> from = data.pixels;
    const Index rows = data.size() * data.channels * data.height;
    for (Index row = 0; row < rows; ++row) {
        const Index below = (2 * (row % data.height) + 1 - data.height) * percent;  // in 200ths of a pixel
        const Index shift = (below + (below < 0 ? -100 : 100)) / 200;
        for (Index x = 0; x < data.width; ++x) {
            const Index source = x - shift;
            const bool inside = source >= 0 && source < data.width;
            data.pixels[static_cast<std::size_t>(row * data.width + x)] =
                inside ? from[static_cast<std::size_t>(row * data.width + source)] : std::uint8_t{0};
        }
    }
    return data;
}

TunedDigits tuned_digits_of(const RunContext& context, Result& result) {
    const DataSplit plain = digits_of(context, result);
    const auto shear = context.settings.integer("shear");
    const Dataset test = sheared(plain.test, shear);
    return {{plain.train, test}, {sheared(plain.train, shear), test}};
}

Comparison first_training(const RunContext& context, Result& result, const Layers& net, const TunedDigits& data,
                          ProgressPart part) {
    const Training training{.task = keeping_weights(images_task(net, data.first, 64)),
                            .optimizer = {.kind = OptimizerKind::adam, .learning_rate = 1e-3},
                            .steps = context.settings.integer("first_steps")};
    return compare(context, result, {fp32_arithmetic()}, training, context.settings.integer("seeds"), part);
}

}  // namespace ulp::natural

namespace ulp {

Shares shares_of_zeros(const std::vector<const StepHistograms*>& seeds, std::optional<int> exponent) {
    Shares shares;
    for (const StepHistograms* steps : seeds) {
        for (const auto& [step, h] : *steps) {
            const std::int64_t zeros = h.zeros() + (exponent ? h.below(-25 - *exponent) : 0);
            shares[step] += h.share(zeros) / static_cast<double>(seeds.size());
        }
    }
    return shares;
}

double largest_difference(const Shares& a, const Shares& b) {
    double largest = 0;
    for (const auto& [step, share] : a) largest = larger(largest, std::fabs(share - b.at(step)));
    return largest;
}

Series series_of(std::string name, const Shares& shares) {
    Series series{std::move(name)};
    for (const auto& [step, share] : shares) series.points.push_back({static_cast<double>(step), share});
    return series;
}

void draw_predicted_shares(Figure& figure, std::string label) {
    figure.axes = {{.label = "step"}, share_axis(std::move(label))};
    for (std::size_t i = 0; i < figure.series.size(); ++i) {
        const int colour = formatless_colour(i / 2);
        figure.looks.push_back(i % 2 == 0 ? Look{.colour = colour, .width = 4}
                                          : Look{.mark = Mark::points, .colour = colour, .size = 1.6});
    }
}

}  // namespace ulp
