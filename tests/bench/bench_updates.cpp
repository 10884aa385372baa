// The optimizer's step alone, by how new weights are rounded: name is net/optimizer. Nearest and stochastic steps take
// turns; the counter "ratio" is the median over all turns of the second's time divided by the first's.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "engine/layers/layers.hpp"
#include "engine/tensor/random.hpp"
#include "engine/training/optimizer.hpp"

namespace {

using namespace ulp;

/// A net in bf16 without masters, and gradients for it.
struct Updated {
    Recipe recipe = recipe_by_name("bf16_weights");
    Model model{recipe, 1};
    Mlp net;
    Optimizer optimizer;
    std::vector<Tensor> gradients;

    Updated(const std::vector<Index>& widths, OptimizerKind kind, UpdateRounding rounding)
        : net(model, widths), optimizer(model, {.kind = kind, .learning_rate = 1e-3, .rounding = rounding}) {
        for (const Parameter& p : model.parameters()) {
            Tensor& g = gradients.emplace_back(p.value.shape());
            Random random(2, p.name);
            for (float& x : g.values()) x = static_cast<float>(random.normal() * 1e-3);
            g.round_to_format(formats::bf16);
        }
    }
    double step() {
        std::size_t i = 0;
        for (Parameter& p : model.parameters()) p.gradient = gradients[i++];
        const auto start = std::chrono::steady_clock::now();
        optimizer.step();
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
};

void rounded_updates(benchmark::State& state, const std::vector<Index>& widths, OptimizerKind kind) {
    Updated nearest(widths, kind, UpdateRounding::nearest);
    Updated stochastic(widths, kind, UpdateRounding::stochastic);
    nearest.step();
    stochastic.step();
    std::vector<double> ratios, plain;
    for (auto _ : state) {
        const bool nearest_first = ratios.size() % 2 == 0;
        const double first = nearest_first ? nearest.step() : stochastic.step();
        const double second = nearest_first ? stochastic.step() : nearest.step();
        ratios.push_back(nearest_first ? second / first : first / second);
        plain.push_back(nearest_first ? first : second);
    }
    const auto median = [](std::vector<double>& values) {
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
        std::nth_element(values.begin(), middle, values.end());
        return *middle;
    };
    state.counters["ratio"] = median(ratios);
    state.counters["nearest_ns_a_weight"] = median(plain) * 1e9 / static_cast<double>(nearest.model.parameter_count());
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::pair<std::string, std::vector<Index>>> nets = {{"mlp_784_128_128_10", {784, 128, 128, 10}},
                                                                          {"mlp_1M", {784, 768, 512, 10}}};
    for (const auto& [net, widths] : nets) {
        for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adamw}) {
            benchmark::RegisterBenchmark(
                (net + "/" + std::string(name_of(kind)) + "/stochastic_over_nearest").c_str(),
                [sizes = widths, kind](benchmark::State& state) { rounded_updates(state, sizes, kind); })
                ->Unit(benchmark::kMillisecond);
        }
    }
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
