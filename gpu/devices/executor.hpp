// Where matrix instructions run: on a GPU, or in software for tests and dry runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "gpu/devices/packed_matrix.hpp"
#include "gpu/instructions/instruction.hpp"
#include "gpu/instructions/product.hpp"

namespace ulp {
struct PolicySet;
}

namespace ulp::gpu {

/// What a recording says about where it was made.
struct DeviceInfo {
    bool hardware = false;     // false: a model made the numbers
    std::string name;          // "NVIDIA H200"
    int architecture = 0;      // 90 for compute capability 9.0
    std::string driver;        // release of the driver, "580.95.05"; empty if it cannot be found out
    std::string cuda_driver;   // newest CUDA the driver knows, "13.0"
    std::string cuda_runtime;  // CUDA that this program was built with
    int multiprocessors = 0;
    std::uint64_t memory_bytes = 0;
};

/// A folder's name for the card's evidence: "h100_80gb_hbm3" for "NVIDIA H100 80GB HBM3".
std::string card_name(const DeviceInfo& info);

/// A batch of products by one instruction, on the host. Rows of a: batch * tiles_m * m, by k. Rows of b: columns of B,
/// batch * tiles_n * n, by k. c (may be empty: no C) and d: batch * tiles_m * m rows by tiles_n * n columns. The
/// scales, where the instruction has any: a byte for each block of k of a row of a and of b.
struct HostProduct {
    HostProduct(const Instruction& row, const ProductExtents& size, bool with_c);
    /// For one tile of one step: the instruction itself.
    explicit HostProduct(const Instruction& row) : HostProduct(row, ProductExtents{}, true) {}

    [[nodiscard]] int k() const { return static_cast<int>(extents.steps_k) * instruction->shape.k; }

    const Instruction* instruction;
    ProductExtents extents;
    PackedMatrix a;
    PackedMatrix b;
    PackedMatrix c;
    PackedMatrix d;
    PackedMatrix a_scales;
    PackedMatrix b_scales;
};

/// ", scales 7F*80 ..." of a row of a and a row of b; empty where there are none.
std::string scales_text(const HostProduct& product, std::uint64_t a_row, std::uint64_t b_row);

class Executor {
  public:
    virtual ~Executor() = default;
    Executor() = default;
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;

    [[nodiscard]] virtual const DeviceInfo& info() const = 0;
    /// Whether the instruction exists there; if not, `run` throws UsageError.
    [[nodiscard]] bool has(const Instruction& instruction) const {
        return instruction.availability.on(info().architecture);
    }
    /// Fills product.d. Throws UsageError for an instruction the architecture lacks, DataError with a sentence that
    /// names the failed call and a remedy where the device fails.
    void run(HostProduct& product) const;

  private:
    virtual void compute(HostProduct& product) const = 0;
};

/// The first CUDA device. Throws DataError where the build has no CUDA, or the machine no usable GPU.
std::unique_ptr<Executor> open_cuda_device();
/// The project's models in place of a GPU of that architecture, with the policies of a named set where one is given;
/// its info says so. With `memory_bytes` it has so much memory: what needs more fails as on a GPU.
std::unique_ptr<Executor> open_software_device(int architecture, const PolicySet* policies = nullptr,
                                               std::uint64_t memory_bytes = 0);
/// A unit in place of a GPU of that architecture: `compute` fills product.d.
std::unique_ptr<Executor> open_unit_device(std::string name, int architecture,
                                           std::function<void(HostProduct& product)> compute);
/// "cuda", "software:sm_90", or to try what a small or a shared GPU does "software:sm_90:BYTES" of memory and
/// "software:sm_90:busy", which fails to open with DataError. Throws UsageError for any other text, and for software of
/// an architecture that has no models.
std::unique_ptr<Executor> open_device(std::string_view spec);

}  // namespace ulp::gpu
