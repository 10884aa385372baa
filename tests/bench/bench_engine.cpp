// Speed of training steps: name is net/recipe/backend[/what is watched]. The number of threads is that of
// OMP_NUM_THREADS.
//
// The nets are those of tests/bench/torch_steps.py, which trains them with PyTorch:
//
//     cnn     28 x 28 images, 3x3 convolution to 8 channels, relu, pool, 3x3 to 16, relu, pool, linear to 10; batch 64
//     lstm    32 steps of 64 inputs, LSTM of 128, linear to 64 at each step; batch 32
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/histogram.hpp"
#include "engine/random.hpp"
#include "engine/recurrent.hpp"
#include "engine/storage.hpp"
#include "engine/trainer.hpp"

namespace {

using namespace ulp;

constexpr OptimizerOptions adam{.kind = OptimizerKind::adam, .learning_rate = 1e-3};

Tensor<float> normal_tensor(Shape shape, std::uint64_t seed) {
    Tensor<float> tensor(std::move(shape));
    Random random(seed);
    for (float& x : tensor.values()) x = static_cast<float>(random.normal());
    return tensor;
}

std::vector<int> labels(Index count, int classes) {
    std::vector<int> result;
    Random random(3);
    for (Index i = 0; i < count; ++i)
        result.push_back(static_cast<int>(random.below(static_cast<std::uint64_t>(classes))));
    return result;
}

Var<float> input(Tape<float>& tape, Tensor<float> batch) {
    batch.round_to_format(tape.engine().recipe.inputs);
    return tape.constant(std::move(batch));
}

/// A net with its batch: what one step does, after the construction.
struct Cnn {
    Conv2d<float> conv1, conv2;
    Linear<float> dense;
    Tensor<float> batch = normal_tensor({64, 1, 28, 28}, 2);
    std::vector<int> targets = labels(64, 10);

    explicit Cnn(Model<float>& model)
        : conv1(model, "conv1", 1, 8, 3, {.padding = 1}),
          conv2(model, "conv2", 8, 16, 3, {.padding = 1}),
          dense(model, "dense", 16 * 7 * 7, 10) {}

    Var<float> loss(Tape<float>& tape) const {
        const Var<float> one = max_pool2d(relu(conv1(input(tape, batch))), 2);
        const Var<float> two = max_pool2d(relu(conv2(one)), 2);
        return cross_entropy(dense(reshape(two, {64, 16 * 7 * 7})), targets);
    }
};

struct LstmNet {
    Lstm<float> lstm;
    Linear<float> out;
    Tensor<float> batch = normal_tensor({32, 32, 64}, 2);
    std::vector<int> targets = labels(32 * 32, 64);

    explicit LstmNet(Model<float>& model) : lstm(model, "lstm", 64, 128), out(model, "out", 128, 64) {}

    Var<float> loss(Tape<float>& tape) const {
        const Var<float> logits = out(lstm(input(tape, batch)));
        return cross_entropy(reshape(logits, {32 * 32, 64}), targets);
    }
};

/// A line of /proc/self/status ("VmHWM:"), in bytes; 0 where there is none.
double process_bytes(const std::string& field) {
    std::ifstream status("/proc/self/status");
    for (std::string name; status >> name; status.ignore(1000, '\n')) {
        double kibibytes = 0;
        if (name == field && status >> kibibytes) return kibibytes * 1024;
    }
    return 0;
}

/// The process's peak memory starts again at what it holds now (Linux: clear_refs, value 5).
double restart_process_peak() {
    restart_storage_peak();
    malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << "5";
    return process_bytes("VmRSS:");
}

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
