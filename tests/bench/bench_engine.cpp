// Speed of training steps: name is net/recipe/backend[/what is watched]. The number of threads is that of
// OMP_NUM_THREADS.
//
// The nets (tests/bench/step_nets.hpp) are those of tests/bench/torch_steps.py, which trains them with PyTorch.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/tensor/storage.hpp"
#include "engine/watching/histogram.hpp"
#include "tests/bench/process_memory.hpp"
#include "tests/bench/step_nets.hpp"

namespace {

using namespace ulp;
using namespace ulp::bench;

constexpr OptimizerOptions adam{.kind = OptimizerKind::adam, .learning_rate = 1e-3};

/// What is kept on during the steps.
struct Watching {
    bool histograms = false;
    bool counters = false;
};

/// A net in training, and what watches it.
template <class Net>
struct Training {
    Trainer trainer;
    Net net;
    std::unordered_map<std::string, ExponentHistogram> histograms;  // of weights; of the rest in `watch`
    Watch watch;

    Training(const std::string& recipe, const std::string& backend, Watching watching)
        : trainer(Engine(recipe, backend), 1), net(trainer.model()) {
        trainer.keep_trace = false;
        trainer.optimize(adam);
        watch.count_rounding = watch.find_nonfinite = watching.counters;
        watch.histograms = watching.histograms;
        if (!watching.histograms && !watching.counters) return;
        trainer.observers().watch = &watch;
        if (!watching.histograms) return;
        trainer.watch([](std::int64_t) { return true; },
                      [&](const TapEvent& event) {
                          if (event.role == TensorRole::weight) histograms[std::string(event.name)].add(event.values);
                      });
    }
    Training(const Training&) = delete;
    Training& operator=(const Training&) = delete;

    double step() {
        return trainer.step([&](Tape& tape) { return net.loss(tape); }).loss;
    }
};

template <class Net>
void steps(benchmark::State& state, const std::string& recipe, const std::string& backend, Watching watching) {
    Training<Net> training(recipe, backend, watching);
    Trainer& trainer = training.trainer;
    const double before = restart_process_peak();
    const auto tensors_before = static_cast<double>(storage_bytes().live);
    training.step();  // fills caches and the optimizer's state
    for (auto _ : state) benchmark::DoNotOptimize(training.step());
    // The process also holds what the products pack and the tape's own structures; weights and batch were there before.
    const auto bytes = trainer.bytes();
    const auto accounted = static_cast<double>(bytes.total().held);
    const auto there = static_cast<double>(bytes.weights.held + bytes.masters.held);
    state.counters["accounted_MB"] = accounted * 1e-6;
    state.counters["tensors_MB"] = (static_cast<double>(storage_bytes().peak) - tensors_before + there) * 1e-6;
    state.counters["process_MB"] = (process_bytes("VmHWM:") - before + there) * 1e-6;
}

/// Processor time of this process and its threads, in seconds.
double processor_seconds() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// A watched step and one that nothing watches in turns: what else the machine does meets both. The counters are the
/// medians over all turns of the ratio of their processor times and of their wall times.
template <class Net>
void cost_of_watching(benchmark::State& state, const std::string& recipe, const std::string& backend) {
    Training<Net> plain(recipe, backend, {});
    Training<Net> watched(recipe, backend, {.histograms = true, .counters = true});
    struct Times {
        double processor, wall;
    };
    const auto times_of = [](Training<Net>& training) {
        const auto wall = std::chrono::steady_clock::now();
        const double processor = processor_seconds();
        benchmark::DoNotOptimize(training.step());
        const double used = processor_seconds() - processor;
        return Times{used, std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count()};
    };
    plain.step();
    watched.step();
    std::vector<double> processor, wall;
    for (auto _ : state) {
        const bool plain_first = processor.size() % 2 == 0;
        const Times first = times_of(plain_first ? plain : watched);
        const Times second = times_of(plain_first ? watched : plain);
        processor.push_back(plain_first ? second.processor / first.processor : first.processor / second.processor);
        wall.push_back(plain_first ? second.wall / first.wall : first.wall / second.wall);
    }
    const auto median = [](std::vector<double>& values) {
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
        std::nth_element(values.begin(), middle, values.end());
        return *middle;
    };
    state.counters["processor_ratio"] = median(processor);
    state.counters["wall_ratio"] = median(wall);
}

template <class Net>
void add(const std::string& net, const std::string& recipe, const std::string& backend, const std::string& suffix = "",
         Watching watching = {}) {
    benchmark::RegisterBenchmark((net + "/" + recipe + "/" + backend + suffix).c_str(),
                                 [=](benchmark::State& state) { steps<Net>(state, recipe, backend, watching); })
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime()
        ->MeasureProcessCPUTime();
}

template <class Net>
void add_net(const std::string& net) {
    add<Net>(net, "fp32", "eigen");
    add<Net>(net, "fp32", "soft:ieee");
    add<Net>(net, "bf16", "soft:h100");
    add<Net>(net, "fp8", "soft:h100");
    add<Net>(net, "mxfp8", "soft:b200");
    for (const auto& [recipe, backend] : {std::pair{"fp32", "eigen"}, std::pair{"mixed_fp16", "soft:h100"}}) {
        if (backend != std::string("eigen")) add<Net>(net, recipe, backend);
        add<Net>(net, recipe, backend, "/histograms", {.histograms = true});
        add<Net>(net, recipe, backend, "/counters", {.counters = true});
        add<Net>(net, recipe, backend, "/histograms_and_counters", {.histograms = true, .counters = true});
        benchmark::RegisterBenchmark((net + "/" + recipe + "/" + backend + "/cost_of_watching").c_str(),
                                     [=](benchmark::State& state) { cost_of_watching<Net>(state, recipe, backend); })
            ->Unit(benchmark::kMillisecond);
    }
}

}  // namespace

int main(int argc, char** argv) {
    add_net<Cnn>("cnn");
    add_net<LstmNet>("lstm");
    add_net<Transformer>("transformer");
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
