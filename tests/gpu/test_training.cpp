// Traces of training runs: written, read, compared; and where two backends part.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "gpu/backends.hpp"
#include "gpu/training.hpp"
#include "softfloat/errors.hpp"

using namespace ulp::gpu;

namespace {

std::filesystem::path temporary(const std::string& name) {
    return std::filesystem::temp_directory_path() / (name + std::to_string(getpid()));
}

const TrainingRun small{.recipe = {}, .steps = 3, .hidden = 8, .batch = 4, .images = 12};

TrainingRun run_of(const char* recipe) {
    TrainingRun run = small;
    run.recipe = recipe;
    return run;
}

std::unique_ptr<ulp::MatmulBackend> device_backend(int architecture, const char* family) {
    return make_instruction_backend("test", std::shared_ptr<const Executor>(open_software_device(architecture)),
                                    instruction_choice(family));
}

/// Changes one bit of one product, the `wrong`-th it makes.
class Faulty final : public ulp::MatmulBackend {
  public:
    explicit Faulty(int wrong) : wrong_(wrong) {}
    [[nodiscard]] std::string name() const override { return "faulty"; }
    [[nodiscard]] bool has_product(const ulp::ProductTypes& types) const override { return good_->has_product(types); }
    [[nodiscard]] std::string promised_model(const ulp::ProductTypes&) const override { return ""; }
    [[nodiscard]] std::string path(const ulp::ProductTypes&, ulp::Index, ulp::Index, ulp::Index) const override {
        return "";
    }

  private:
    void compute(const ulp::Product& p) const override {
        good_->matmul(p);
        if (count_++ == wrong_) p.d(1, 2) = p.d(1, 2) + 1;
    }
    std::unique_ptr<ulp::MatmulBackend> good_ = ulp::make_backend("soft:h100");
    int wrong_;
    mutable int count_ = 0;
};

}  // namespace

TEST_CASE("training through tiles of instructions leaves the trace of the software run") {
    for (const char* recipe : {"mixed_fp16", "bf16", "tf32"}) {
        CAPTURE(recipe);
        CHECK(first_training_difference(device_backend(90, "mma"), ulp::make_backend("soft:h100.mma"), run_of(recipe))
                  .empty());
        CHECK(
            first_training_difference(device_backend(90, "wgmma"), ulp::make_backend("soft:h100.wgmma"), run_of(recipe))
                .empty());
    }
}

TEST_CASE("a fault is named: step, product, element, both results") {
    const std::string first =
        first_training_difference(ulp::make_backend("soft:h100"), std::make_unique<Faulty>(1), run_of("mixed_fp16"));
    CHECK(first.starts_with("step 0, product 1 "));
    CHECK(first.find("element (1, 2)") != std::string::npos);
    CHECK(first.find("operands ") != std::string::npos);
    const std::string later =
        first_training_difference(ulp::make_backend("soft:h100"), std::make_unique<Faulty>(7), run_of("mixed_fp16"));
    CHECK(later.starts_with("step 1, product "));
}

TEST_CASE("a trace reads back as it was written") {
    const auto path = temporary("ulplab-trace-");
    TraceFile file{"soft:h100", "software", run_of("bf16"), {}};
    file.trace = train(ulp::make_backend("soft:h100"), file.run);
    write_trace(path, file);
    const TraceFile read = read_trace(path);
    CHECK(read.backend == "soft:h100");
    CHECK(read.run.recipe == "bf16");
    CHECK(read.run.hidden == 8);
    CHECK(read.trace.parameters == file.trace.parameters);
    CHECK(read.trace.steps.size() == 3);
    CHECK(read.trace.steps[2].loss_bits == file.trace.steps[2].loss_bits);
    CHECK(read.trace.steps[2].digests[0] == file.trace.steps[2].digests[0].substr(0, 16));
    TraceFile changed = read;
    changed.trace.steps[1].digests[2][0] ^= 1;
    CHECK(ulp::first_difference(read.trace, changed.trace)->find("step 1") != std::string::npos);
    CHECK_FALSE(ulp::first_difference(read.trace, read_trace(path).trace).has_value());
    std::filesystem::remove(path);
}

TEST_CASE("bad traces: one sentence with the file and the line") {
    const auto path = temporary("ulplab-bad-trace-");
    TraceFile file{"soft:h100", "software", run_of("bf16"), {}};
    file.run.steps = 1;
    file.trace = train(ulp::make_backend("soft:h100"), file.run);
    write_trace(path, file);
    std::ostringstream good;
    good << std::ifstream(path).rdbuf();
    const auto complaint = [&](const std::string& text) {
        std::ofstream(path) << text;
        try {
            read_trace(path);
        } catch (const ulp::DataError& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    const std::string text = good.str();
    CHECK(complaint(text) == "accepted");
    CHECK(complaint(text.substr(0, text.size() - 4)).find("truncated") != std::string::npos);
    CHECK(complaint("something else\n").find("line 1") != std::string::npos);
    std::string broken = text;
    broken.replace(broken.find("steps 1"), 7, "steps x");
    CHECK(complaint(broken).find("line 5: 'x' is no number") != std::string::npos);
    std::filesystem::remove(path);
    CHECK_THROWS_WITH_AS(read_trace(path), doctest::Contains("cannot open"), ulp::DataError);
}
