// The kernels of a bulk run before any GPU sees them: gpu/kernels/bulk_kernels.cu compiled for the CPU, with one thread
// a block and one block (tests/gpu/CMakeLists.txt takes the launches' brackets away). What threads do to each other is
// not tried; where each code and each result lies is.
#include <cuda_runtime.h>
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace {

struct KernelIndex {
    unsigned x;
};
constexpr KernelIndex threadIdx{0};
constexpr KernelIndex blockIdx{0};
constexpr KernelIndex gridDim{1};
std::uint64_t block_memory[48 * 1024 / 8];

void __syncthreads() {}
unsigned long long atomicAdd(unsigned long long* place, unsigned long long x) {
    const unsigned long long before = *place;
    *place += x;
    return before;
}
void atomicMin(unsigned long long* place, unsigned long long x) {
    if (x < *place) *place = x;
}

}  // namespace

#undef __launch_bounds__
#define __launch_bounds__(threads)
#include "gpu/devices/bulk.hpp"
#include "gpu/devices/executor.hpp"
#include "gpu/devices/reference.hpp"
#include "tests/gpu/on_cpu/bulk_kernels.inc"

using namespace ulp::gpu;

namespace {

/// One launch's data, its inputs made by the kernel and its result by the model.
struct Launched {
    Launched(const Instruction& row, InputClass input_class, int architecture)
        : product(row, bulk_extents(row, input_class, 2), true),
          layout{row,
                 static_cast<int>(product.extents.tiles_m) * row.shape.m,
                 static_cast<int>(product.extents.tiles_n) * row.shape.n,
                 row.shape.k,
                 static_cast<int>(product.extents.steps_k),
                 product.extents.batch},
          a(product.a.words().size()),
          b(product.b.words().size()),
          c(product.c.words().size()),
          queue(layout.elements()) {
        fill_inputs(product, input_class, 7);
        expected_product(product, architecture);
        enqueue_inputs(layout, input_class, 7, data());
    }
    [[nodiscard]] BulkData data() { return {a.data(), b.data(), c.data(), product.d.words().data(), nullptr, nullptr}; }
    BulkTally compared(const ulp::TensorCoreModel& model) {
        BulkTally tally{0, ~0ULL, 0};
        enqueue_decoded_comparison(layout, model, data(), &tally, queue.data());
        return tally;
    }

    HostProduct product;
    BulkLayout layout;
    std::vector<std::uint32_t> a, b, c, queue;
};

}  // namespace

TEST_CASE("kernels of a bulk run make the inputs of the host, and find the model's results and one wrong bit") {
    int cases = 0;
    unsigned long long mutants = 0;
    unsigned long long left = 0;
    for (const int architecture : {80, 89, 90, 100, 120}) {
        for (const Instruction& row : instructions()) {
            if (!row.availability.on(architecture)) continue;
            const auto claimed = promised_model(row, architecture);
            if (!claimed) continue;
            REQUIRE(has_decoded_path(claimed->model));
            for (const InputClass input_class : input_classes) {
                CAPTURE(row.name());
                CAPTURE(std::string(name_of(input_class)));
                Launched launched(row, input_class, architecture);
                CHECK(launched.a == launched.product.a.words());
                CHECK(launched.b == launched.product.b.words());
                CHECK(launched.c == launched.product.c.words());
                const BulkTally good = launched.compared(claimed->model);
                CHECK(good.mismatches == 0);
                left += good.in_queue;
                ulp::TensorCoreModel mutant = claimed->model;
                --mutant.fraction_bits;
                if (has_decoded_path(mutant)) mutants += launched.compared(mutant).mismatches;
                launched.product.d.set(3, 5, launched.product.d.get(3, 5) ^ 1);
                const BulkTally wrong = launched.compared(claimed->model);
                CHECK(wrong.mismatches == 1);
                CHECK(wrong.first == 3 * static_cast<unsigned>(launched.layout.columns) + 5);
                ++cases;
            }
        }
    }
    CHECK(cases > 1000);
    CHECK(mutants > 10000);
    CHECK(left > 10000);
}
