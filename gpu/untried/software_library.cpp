// A stand-in for cuBLAS, so that predictions can be made, judged and tested without a GPU.
#include <fmt/format.h>

#include "gpu/devices/cuda_errors.hpp"
#include "gpu/devices/executor.hpp"
#include "gpu/instructions/input_classes.hpp"
#include "gpu/untried/library.hpp"
#include "softfloat/errors.hpp"

namespace ulp::gpu {
namespace {

class SoftwareLibrary final : public Library {
  public:
    SoftwareLibrary(int architecture, StandInFault fault, std::uint64_t memory_bytes)
        : fault_(fault), memory_bytes_(memory_bytes) {
        info_ = {false, fmt::format("software stand-in of {}", architecture_name(architecture)), architecture, "0.0.0"};
    }
    [[nodiscard]] const LibraryInfo& info() const override { return info_; }

    [[nodiscard]] std::optional<HeuristicAnswer> ask(const LibraryProblem& p) override {
        ++asked_;
        const bool fp8 = bits_of(p.type->a) == 8;
        if (fp8 && (p.layout != "TN" || p.m % 16 != 0 || p.n % 16 != 0 || p.k % 16 != 0)) return std::nullopt;
        HeuristicAnswer answer = choose(p, fp8);
        if (fault_ == StandInFault::other_answer && asked_ > 100) ++answer.split;
        return answer;
    }

    [[nodiscard]] std::vector<std::uint32_t> run(const LibraryProblem& p, const ProblemSample& sample) override {
        const auto answer = ask(p);
        if (!answer) throw UsageError("the library has no product " + p.text());
        return compute(*answer, p, sample);
    }

    /// Like the library it takes no nvjet kernel for operands that it would not choose one for.
    [[nodiscard]] std::optional<std::vector<std::uint32_t>> run_as(const HeuristicAnswer& answer,
                                                                   const LibraryProblem& p,
                                                                   const ProblemSample& sample) override {
        if (answer.id == 66 && !is_aligned(p)) return std::nullopt;
        return compute(answer, p, sample);
    }

  private:
    void allocate(const LibraryProblem& p) const {
        std::uint64_t free_bytes = memory_bytes_;
        const auto take = [&](std::uint64_t bytes) {
            if (bytes > free_bytes) throw DataError(memory_failure(bytes, free_bytes, memory_bytes_));
            free_bytes -= bytes;
        };
        const auto matrix = [&](std::int64_t rows, std::int64_t columns, Element element) {
            take(static_cast<std::uint64_t>(rows * columns * p.batch * bits_of(element) / 8));
        };
        take(library_workspace);
        matrix(p.m, p.k, p.type->a);
        matrix(p.k, p.n, p.type->b);
        matrix(p.m, p.n, p.type->d);
    }
    [[nodiscard]] std::vector<std::uint32_t> compute(const HeuristicAnswer& answer, const LibraryProblem& p,
                                                     const ProblemSample& sample) const {
        if (memory_bytes_ > 0) allocate(p);
        const KernelPlan plan = plan_of(answer, p, info_);
        // Of what it cannot plan it computes something: nobody predicts it.
        const auto* planned = std::get_if<KernelOrder>(&plan);
        KernelOrder order = planned != nullptr ? *planned : KernelOrder{.unit = "fp32 fma"};
        if (fault_ == StandInFault::other_order && order.piece > 128) order.piece -= 64;
        std::vector<std::uint32_t> words = ordered_product(order, p, sample);
        if (fault_ == StandInFault::one_bit && p.m == 96) words.back() ^= 1;
        return words;
    }
    static bool is_aligned(const LibraryProblem& p) {
        const std::int64_t unit = 128 / bits_of(p.type->a);
        return p.m % unit == 0 && p.n % unit == 0 && p.k % unit == 0 && p.type->accumulator == Element::fp32;
    }
    static HeuristicAnswer choose(const LibraryProblem& p, bool fp8) {
        const std::int64_t outputs = p.m * p.n;
        int split = 1;
        while (split < 16 && outputs * split < 65536 && p.k / (2 * split) >= 256) split *= 2;
        if (mix(static_cast<std::uint64_t>(outputs)) % 64 == 0) return {.id = 41, .stages = 20};
        if (p.m == 1 || p.n == 1) return {.id = 13, .custom = 5};
        if (p.type->a == Element::fp32) return {.id = 0, .stages = 8};
        if (is_aligned(p)) {
            return {.id = 66, .tile = 24, .stages = fp8 ? 36 : 35, .split = split, .reduction = split > 1 ? 2 : 0};
        }
        if (outputs < 256 && bits_of(p.type->a) == 16 && p.type->accumulator == Element::fp32) return {.id = 16};
        return {.id = 21, .tile = 20, .stages = 10, .split = split, .reduction = split > 1 ? 4 : 0};
    }

    StandInFault fault_;
    std::uint64_t memory_bytes_;  // 0: as much as is asked for
    LibraryInfo info_;
    int asked_ = 0;
};

}  // namespace

std::unique_ptr<Library> open_software_library(int architecture, StandInFault fault, std::uint64_t memory_bytes) {
    return std::make_unique<SoftwareLibrary>(architecture, fault, memory_bytes);
}

std::unique_ptr<Library> open_library(std::string_view device) {
    if (device == "cuda") return open_cuda_library();
    const DeviceInfo info = open_device(device)->info();
    return open_software_library(info.architecture, StandInFault::none, info.memory_bytes);
}

}  // namespace ulp::gpu
