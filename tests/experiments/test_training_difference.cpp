// Where two training runs part, step by step; traces as files; and the traces of GPUs, trained again by their models.
#include <doctest/doctest.h>

#include <filesystem>
#include <iostream>
#include <string>

#include "engine/training/trace.hpp"
#include "experiments/cli/net_declarations.hpp"
#include "experiments/framework/files.hpp"
#include "gpu/backends.hpp"
#include "softfloat/errors.hpp"
#include "tests/experiments/temporary_folder.hpp"

namespace {

using namespace ulp;

NetOptions run_of(const char* recipe) {
    NetOptions options;
    options.recipe = recipe;
    options.steps = 3;
    options.batch = 4;
    options.images = 12;
    return options;
}

std::unique_ptr<MatmulBackend> device_backend(int architecture, const char* family) {
    return gpu::make_instruction_backend("test",
                                         std::shared_ptr<const gpu::Executor>(gpu::open_software_device(architecture)),
                                         gpu::instruction_choice(family));
}

/// Changes one bit of one product, the `wrong`-th it makes.
class Faulty final : public MatmulBackend {
  public:
    explicit Faulty(int wrong) : wrong_(wrong) {}
    [[nodiscard]] std::string name() const override { return "faulty"; }
    [[nodiscard]] bool has_product(const ProductTypes& types) const override { return good_->has_product(types); }
    [[nodiscard]] std::string promised_model(const ProductTypes&) const override { return ""; }
    [[nodiscard]] std::string path(const ProductTypes&, Index, Index, Index) const override { return ""; }

  private:
    void compute(const Product& p) const override {
        good_->matmul(p);
        if (count_++ == wrong_) p.d(1, 2) = p.d(1, 2) + 1;
    }
    std::unique_ptr<MatmulBackend> good_ = make_backend("soft:h100");
    int wrong_;
    mutable int count_ = 0;
};

Trace trained(const NetOptions& options, std::unique_ptr<MatmulBackend> backend) {
    NetTraining training(options, net_of(options.net), Engine(recipe_of(options), std::move(backend)), options.seed,
                         optimizer_of(options));
    while (training.trainer.steps() < options.steps) (void)training.step();
    return training.trainer.trace();
}

/// "sm_90" in "NVIDIA H200, sm_90, driver ...".
int architecture_in(const std::string& device) {
    const auto at = device.find("sm_");
    REQUIRE(at != std::string::npos);
    return std::stoi(device.substr(at + 3));
}

}  // namespace

TEST_CASE("training through tiles of instructions leaves the trace of the software run") {
    for (const char* recipe : {"mixed_fp16", "bf16", "tf32"}) {
        CAPTURE(recipe);
        CHECK(first_training_difference(device_backend(90, "mma"), make_backend("soft:h100.mma"), run_of(recipe))
                  .empty());
        CHECK(first_training_difference(device_backend(90, "wgmma"), make_backend("soft:h100.wgmma"), run_of(recipe))
                  .empty());
    }
}

TEST_CASE("a fault is named: step, product, element, both results") {
    const std::string first =
        first_training_difference(make_backend("soft:h100"), std::make_unique<Faulty>(1), run_of("mixed_fp16"));
    CHECK(first.starts_with("step 0, product 1 "));
    CHECK(first.find("element (1, 2)") != std::string::npos);
    CHECK(first.find("operands ") != std::string::npos);
    const std::string later =
        first_training_difference(make_backend("soft:h100"), std::make_unique<Faulty>(7), run_of("mixed_fp16"));
    CHECK(later.starts_with("step 1, product "));
}

TEST_CASE("a trace reads back as it was written, with digests of 16 digits, and says how it is made again") {
    const test::TemporaryFolder folder;
    const std::filesystem::path path = folder / "trace.csv";
    NetOptions options = run_of("bf16");
    options.low = {"relu", "linear"};
    options.eps = 0x1p-3;
    options.optimizer = "adam";
    const TraceFile file{"software", words_of(options, "soft:h100"), trained(options, make_backend("soft:h100"))};
    write_trace(path, file);
    const TraceFile read = read_trace(path);
    CHECK(read.device == "software");
    CHECK(read.options == file.options);
    const NetOptions again = net_options_of(read.options);
    CHECK(again.backend == "soft:h100");
    CHECK(words_of(again, again.backend) == file.options);
    CHECK(read.trace.parameters == file.trace.parameters);
    CHECK(read.trace.steps.size() == 3);
    CHECK(read.trace.steps[2].loss_bits == file.trace.steps[2].loss_bits);
    CHECK(read.trace.steps[2].digests[0] == file.trace.steps[2].digests[0].substr(0, 16));
    TraceFile changed = read;
    changed.trace.steps[1].digests[2][0] ^= 1;
    CHECK(first_difference(read.trace, changed.trace)->find("step 1") != std::string::npos);
    CHECK_FALSE(first_difference(read.trace, read_trace(path).trace).has_value());
    // What 0.2.0 wrote: no head, digests of 64 digits.
    std::string text = read_file(path);
    text.erase(0, text.find("step,"));
    write_file(path, text.insert(text.size() - 1, std::string(48, 'a')));
    CHECK(read_trace(path).options.empty());
    CHECK_FALSE(first_difference(read.trace, read_trace(path).trace).has_value());
}

TEST_CASE("bad traces: one sentence with the file and the line, or the command that makes them anew") {
    const test::TemporaryFolder folder;
    const std::filesystem::path path = folder / "trace.csv";
    const auto complaint = [&](const std::string& text) {
        write_file(path, text);
        try {
            (void)read_trace(path);
        } catch (const DataError& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    const auto says = [&](const std::string& text, const char* words) {
        CAPTURE(text);
        CHECK(complaint(text).find(words) != std::string::npos);
    };
    const std::string columns = "# ulplab trace\n# --recipe bf16\nstep,loss,loss_bits,loss_scale,skipped,w\n";
    const std::string good = columns + "0,2,0x40000000,1,0,0123456789abcdef\n";
    CHECK(complaint(good) == "accepted");
    says(columns, "the trace has no step");
    says("# ulplab trace\n", ":2: this is no trace");
    says("something else\n", ":1: this is no trace");
    for (const char* bad :
         {"x,2,0x40000000,1,0,0123456789abcdef", "0,2,40000000,1,0,0123456789abcdef", "0,2,0x40000000,1,0,0123456789",
          "0,2,0x40000000,1,0", "0,2,0x4000000g,1,0,0123456789abcdef"}) {
        says(columns + bad, ":4: this is no step of a trace of 1 parameters");
    }
    const std::string old =
        "ulplab trace 1\nbackend cuda:mma\ndevice NVIDIA H100, sm_90\nrecipe tf32\nsteps 5\nhidden 128\n"
        "batch 64\nimages 4000\nseed 7\nparameters w\n0 40000000 1 0 0123456789abcdef\nend\n";
    says(old,
         "make it anew: ulplab train --unit cuda:mma --recipe tf32 --learning-rate 0.1 --steps 5 --batch 64 --images "
         "4000 --seed 7 --trace FILE");
    std::filesystem::remove(path);
    CHECK_THROWS_AS((void)read_trace(path), DataError);
}

TEST_CASE("committed training traces of GPUs: the model's training takes the same first steps") {
    int traces = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(ULPLAB_RECORDINGS)) {
        if (entry.path().extension() != ".trace") continue;
        CAPTURE(entry.path().filename().string());
        TraceFile recorded = read_trace(entry.path());
        NetOptions options = net_options_of(recorded.options);
        REQUIRE(options.backend.starts_with("cuda:"));
        ++traces;
        CHECK(recorded.trace.steps.size() == static_cast<std::size_t>(options.steps));
        options.steps = 3;
        const std::shared_ptr<const gpu::Executor> device = gpu::open_software_device(architecture_in(recorded.device));
        Trace computed = trained(options, gpu::make_instruction_backend(
                                              "model", device, gpu::instruction_choice(options.backend.substr(5))));
        shorten_digests(computed);
        recorded.trace.steps.resize(3);
        CHECK(first_difference(recorded.trace, computed).value_or("") == "");
    }
    if (traces == 0) std::cout << "skipped: no training traces of GPUs in tests/recordings\n";
}
