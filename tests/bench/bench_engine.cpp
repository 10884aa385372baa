// Speed of training steps: name is net/recipe/backend[/what is watched]. The number of threads is that of
// OMP_NUM_THREADS.
//
// The nets (tests/bench/step_nets.hpp) are those of tests/bench/torch_steps.py, which trains them with PyTorch.
#include <benchmark/benchmark.h>

#include <functional>
#include <map>
#include <string>

#include "engine/histogram.hpp"
#include "engine/storage.hpp"
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

template <class Net>
void steps(benchmark::State& state, const std::string& recipe, const std::string& backend, Watching watching) {
    Trainer<float> trainer(Engine(recipe, backend), 1);
    trainer.keep_trace = false;
    const Net net(trainer.model());
    trainer.optimize(adam);
    std::map<std::string, ExponentHistogram, std::less<>> histograms;
    if (watching.histograms) {
        trainer.watch([](std::int64_t) { return true; },
                      [&](const TapEvent& event) {
                          auto entry = histograms.find(event.name);
                          if (entry == histograms.end())
                              entry = histograms.emplace(event.name, ExponentHistogram{}).first;
                          entry->second.add(event.values);
                      });
    }
    Watch watch;
    if (watching.counters) trainer.engine().watch = &watch;
    const auto forward = [&](Tape<float>& tape) { return net.loss(tape); };
    const double before = restart_process_peak();
    const auto tensors_before = static_cast<double>(storage_bytes().live);
    trainer.step(forward);  // fills caches and the optimizer's state
    for (auto _ : state) benchmark::DoNotOptimize(trainer.step(forward).loss);
    // The process also holds what the products pack and the tape's own structures; weights and batch were there before.
    const auto bytes = trainer.bytes();
    const auto accounted = static_cast<double>(bytes.total().held);
    const auto there = static_cast<double>(bytes.weights.held + bytes.masters.held);
    state.counters["accounted_MB"] = accounted * 1e-6;
    state.counters["tensors_MB"] = (static_cast<double>(storage_bytes().peak) - tensors_before + there) * 1e-6;
    state.counters["process_MB"] = (process_bytes("VmHWM:") - before + there) * 1e-6;
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
    for (const auto& [recipe, backend] : {std::pair{"fp32", "eigen"}, std::pair{"mixed_fp16", "soft:h100"}}) {
        if (backend != std::string("eigen")) add<Net>(net, recipe, backend);
        add<Net>(net, recipe, backend, "/histograms", {.histograms = true});
        add<Net>(net, recipe, backend, "/counters", {.counters = true});
        add<Net>(net, recipe, backend, "/histograms_and_counters", {.histograms = true, .counters = true});
    }
}

}  // namespace

int main(int argc, char** argv) {
    add_net<Cnn>("cnn");
    add_net<LstmNet>("lstm");
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
