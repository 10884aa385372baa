#include "experiments/natural/average_watch.hpp"

#include <cmath>

#include "experiments/training/tasks.hpp"

namespace ulp::natural {
namespace {

/// Averages of one training, and what fp32 alone says of them.
struct AverageWatch {
    std::vector<Averages> averages;                   // [decay][keeping]
    std::vector<std::vector<float>> start, farthest;  // by parameter: the weights, and how far they went from there
    std::vector<std::vector<float>> started;          // by average: as it began, all parameters in a row

    void begin(const Model& model, const std::vector<AverageKeeping>& keepings, std::uint64_t seed) {
        for (const double decay : decays) {
            for (const AverageKeeping& keeping : keepings) {
                averages.emplace_back(model, AverageOptions{decay, keeping.format, keeping.rounding, seed});
                started.push_back(numbers_of(averages.back()));
            }
        }
        for (const Parameter& p : model.parameters()) {
            start.emplace_back(p.value.values().begin(), p.value.values().end());
            farthest.emplace_back(start.back().size(), 0.0F);
        }
    }
    void follow(const Model& model, std::int64_t step) {
        for (Averages& average : averages) average.update(model, step);
        for (std::size_t p = 0; p < start.size(); ++p) {
            const Tensor& now = model.parameters()[p].value;
            for (std::size_t i = 0; i < start[p].size(); ++i) {
                farthest[p][i] = std::max(farthest[p][i], std::fabs(now[static_cast<Index>(i)] - start[p][i]));
            }
        }
    }
    static std::vector<float> numbers_of(const Averages& average) {
        std::vector<float> numbers;
        for (const auto& [name, tensor] : average.tensors()) {
            numbers.insert(numbers.end(), tensor.values().begin(), tensor.values().end());
        }
        return numbers;
    }
};

Standstill standstill_of(const AverageWatch& watch) {
    Standstill found;
    for (std::size_t a = 0; a < watch.averages.size(); ++a) {
        const std::vector<float> now = AverageWatch::numbers_of(watch.averages[a]);
        double same = 0;
        for (std::size_t i = 0; i < now.size(); ++i) same += now[i] == watch.started[a][i] ? 1 : 0;
        found.measured.push_back(same / static_cast<double>(now.size()));
    }
    for (const double decay : decays) {
        std::array<double, 2> lost{};
        UpdateSizes sizes{};
        double count = 0;
        for (std::size_t p = 0; p < watch.start.size(); ++p) {
            for (std::size_t i = 0; i < watch.start[p].size(); ++i, ++count) {
                const float weight = watch.start[p][i];
                const auto step = static_cast<float>((1 - decay) * static_cast<double>(watch.farthest[p][i]));
                for (std::size_t f = 0; f < lost.size(); ++f) {
                    lost[f] += static_cast<double>(step) < half_ulp(weight_formats[f], weight) ? 1 : 0;
                }
                add_size(sizes, weight, step);
            }
        }
        for (double& share : lost) share /= count;
        found.predicted.push_back(lost);
        found.largest_steps.push_back(sizes);
    }
    return found;
}

}  // namespace

TaskBuilder averaged_task(const TaskBuilder& task, const std::vector<AverageKeeping>& keepings) {
    return [=](Model& model, std::uint64_t seed) {
        Task result = task(model, seed);
        const auto watch = std::make_shared<AverageWatch>();
        result.before_update = [=](Optimizer& optimizer) {
            if (watch->averages.empty()) watch->begin(optimizer.model(), keepings, seed);
        };
        result.after_step = [watch](Trainer& trainer, const StepResult& done) {
            watch->follow(trainer.model(), done.step);
        };
        result.measure = [=, measure = result.measure, &model](Evaluation& evaluation, Learned& learned) {
            std::vector<double> scores;
            for (const Averages& average : watch->averages) {
                for (Parameter& parameter : model.parameters()) parameter.assign(average.tensors().at(parameter.name));
                measure(evaluation, learned);
                scores.push_back(learned.scores.at(test_accuracy));
            }
            learned.scores = std::move(scores);
            learned.more = standstill_of(*watch);
        };
        return result;
    };
}

}  // namespace ulp::natural
