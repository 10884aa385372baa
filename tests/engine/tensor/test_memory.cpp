// What the system gives a process for training steps, against what the byte accounting says.
#include <doctest/doctest.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/bench/process_memory.hpp"
#include "tests/bench/step_nets.hpp"

namespace {

using namespace ulp;
using namespace ulp::bench;

/// Memory that each step leaves behind, as a share of what the accounting says.
struct Leak {
    double a_step = 0;
};

constexpr int steps = 3;

/// The growth of this process in some steps over the accounted bytes.
template <class Net>
double growth_over_accounted(const char* recipe, const char* backend, Leak leak) {
    omp_set_num_threads(2);
    const auto step = [](Trainer& trainer, const Net& net) {
        trainer.step([&](Tape& tape) { return net.loss(tape); });
    };
    const OptimizerOptions adam{.kind = OptimizerKind::adam, .learning_rate = 1e-3};
    {
        Trainer small(Engine("fp32", "eigen"), 1);  // brings the program and the threads into memory
        const Net net(small.model(), 1);
        small.optimize(adam);
        step(small, net);
    }
    Trainer trainer(Engine(recipe, backend), 1);
    trainer.keep_trace = false;
    const Net net(trainer.model());
    trainer.optimize(adam);
    const double before = restart_process_peak();
    std::vector<std::vector<char>> left;
    for (int i = 0; i < steps; ++i) {
        step(trainer, net);
        left.emplace_back(static_cast<std::size_t>(leak.a_step * static_cast<double>(trainer.bytes().total().held)), 1);
    }
    const auto bytes = trainer.bytes();
    const auto there = static_cast<double>(bytes.weights.held + bytes.masters.held);  // before the first step
    return (process_bytes("VmHWM:") - before + there) / static_cast<double>(bytes.total().held);
}

/// The same in a process of its own: what one run keeps does not hide in the next one's start.
template <class Net>
double growth_in_new_process(const char* recipe, const char* backend, Leak leak = {}) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        const double growth = growth_over_accounted<Net>(recipe, backend, leak);
        ::_exit(::write(ends[1], &growth, sizeof growth) == sizeof growth ? 0 : 1);
    }
    ::close(ends[1]);
    double growth = 0;
    CHECK(::read(ends[0], &growth, sizeof growth) == sizeof growth);
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    return growth;
}

#ifdef __SANITIZE_ADDRESS__
constexpr bool counted = false;  // the sanitizer keeps memory of its own
#else
const bool counted = process_bytes("VmHWM:") > 0;
#endif

// docs/trainer_speed.md has the growth of long runs, which is less: here the system's first pages count, too.
TEST_CASE("a process grows by at most 1.3 times the accounted bytes, whatever the recipe") {
    if (!counted) {
        MESSAGE("skipped: no count of this process's memory");
        return;
    }
    for (const auto& [recipe, backend] : {std::pair{"fp32", "eigen"},
                                          {"fp32", "soft:ieee"},
                                          {"bf16", "soft:h100"},
                                          {"mixed_fp16", "soft:h100"},
                                          {"fp8", "soft:h100"},
                                          {"mxfp8", "soft:h100"},
                                          {"mxfp8", "soft:b200"}}) {
        const std::string name = std::string(recipe) + " on " + backend;
        CAPTURE(name);
        const double cnn = growth_in_new_process<Cnn>(recipe, backend);
        const double lstm = growth_in_new_process<LstmNet>(recipe, backend);
        MESSAGE(name << ": CNN " << cnn << ", LSTM " << lstm);
        for (const double growth : {cnn, lstm}) {
            CHECK(growth < 1.3);
            CHECK(growth > 0.6);
        }
    }
}

TEST_CASE("a step that leaves a tenth of its memory behind is caught") {
    if (!counted) {
        MESSAGE("skipped: no count of this process's memory");
        return;
    }
    CHECK(growth_in_new_process<Cnn>("mixed_fp16", "soft:h100", {.a_step = 0.1}) > 1.3);
}

}  // namespace
