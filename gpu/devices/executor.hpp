// Where matrix instructions run: on a GPU, or in software for tests and dry runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/instructions/input_classes.hpp"
#include "gpu/instructions/instruction.hpp"
#include "gpu/instructions/product.hpp"

// A matrix of codes packed into 32-bit words, k fastest: what kernels read and write.

namespace ulp::gpu {

/// rows x columns codes of `bits` bits (1, 4, 8, 16, 32 or 64) without gaps; element (i, j) starts at bit
/// (i * columns + j) * bits, lowest bit first. An operand by columns (B) is stored as its transpose.
class PackedMatrix {
  public:
    PackedMatrix() = default;
    PackedMatrix(std::uint64_t rows, std::uint64_t columns, int bits)
        : rows_(rows),
          columns_(columns),
          bits_(bits),
          words_(static_cast<std::size_t>((rows * columns * static_cast<std::uint64_t>(bits) + 31) / 32)) {}

    [[nodiscard]] std::uint64_t rows() const { return rows_; }
    [[nodiscard]] std::uint64_t columns() const { return columns_; }
    [[nodiscard]] int bits() const { return bits_; }
    [[nodiscard]] bool empty() const { return words_.empty(); }

    [[nodiscard]] std::uint64_t get(std::uint64_t row, std::uint64_t column) const {
        const std::uint64_t bit = first_bit(row, column);
        const auto word = static_cast<std::size_t>(bit / 32);
        if (bits_ == 64) return words_[word] | std::uint64_t{words_[word + 1]} << 32;
        return (words_[word] >> (bit % 32)) & mask();
    }
    void set(std::uint64_t row, std::uint64_t column, std::uint64_t code) {
        const std::uint64_t bit = first_bit(row, column);
        const auto word = static_cast<std::size_t>(bit / 32);
        if (bits_ == 64) {
            words_[word] = static_cast<std::uint32_t>(code);
            words_[word + 1] = static_cast<std::uint32_t>(code >> 32);
            return;
        }
        const auto place = static_cast<int>(bit % 32);
        words_[word] = (words_[word] & ~(mask() << place)) | ((static_cast<std::uint32_t>(code) & mask()) << place);
    }

    [[nodiscard]] const std::vector<std::uint32_t>& words() const { return words_; }
    [[nodiscard]] std::vector<std::uint32_t>& words() { return words_; }
    bool operator==(const PackedMatrix&) const = default;

  private:
    [[nodiscard]] std::uint64_t first_bit(std::uint64_t row, std::uint64_t column) const {
        return (row * columns_ + column) * static_cast<std::uint64_t>(bits_);
    }
    [[nodiscard]] std::uint32_t mask() const {
        return bits_ == 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << bits_) - 1;
    }

    std::uint64_t rows_ = 0;
    std::uint64_t columns_ = 0;
    int bits_ = 0;
    std::vector<std::uint32_t> words_;
};

}  // namespace ulp::gpu

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

// Products filled with the inputs of a class, on the host.

/// a, b and, where there are any, c and the scales of the product from (class, seed): of a longer batch, the matrices
/// from `first_matrix`, a multiple of the product's own batch.
void fill_inputs(HostProduct& product, InputClass input_class, std::uint64_t seed, std::uint64_t first_matrix = 0);

/// `tiles` tiles of one instruction's size, each with its own rows and columns, filled.
HostProduct make_tiles(const Instruction& instruction, InputClass input_class, std::uint64_t seed, std::uint32_t tiles);

}  // namespace ulp::gpu
