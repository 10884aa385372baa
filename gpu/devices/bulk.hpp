// Billions of cases: inputs made where the instruction runs, results compared there with the model compiled for the
// same device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/devices/executor.hpp"
#include "gpu/instructions/input_classes.hpp"
#include "softfloat/lab/recordings.hpp"

namespace ulp::gpu {

struct BulkSettings {
    const Instruction* instruction = nullptr;
    InputClass input_class = InputClass::ordinary;
    std::uint64_t seed = 1;
    std::uint64_t blocks = 1'000'000;  // stop after that many
    double seconds = 1e9;              // or after that time
    bool plain = false;                // compare by the plain model alone, not by its fast twin
};

struct BulkReport {
    std::uint64_t blocks = 0;             // instructions' results checked: elements of D times steps of their chains
    std::uint64_t elements = 0;           // elements of D compared
    std::uint64_t mismatches = 0;         // of elements
    std::uint64_t by_plain = 0;           // elements that the fast twin left to the plain model (infinities and NaNs)
    std::uint64_t mutant_mismatches = 0;  // elements of one launch that differ from a model with one fraction bit less
    std::uint64_t mutant_elements = 0;    // 0 where there is no such model (integers, fp64)
    double seconds = 0;
    std::string first;  // the first mismatch in full: seed, place, operands, both results
};

/// How a launch is cut: matrices of 2048 elements of D, 64 x 32 or, where a tile has 128 rows, 128 x 16, each with rows
/// and columns of its own.
ProductExtents bulk_extents(const Instruction& instruction, InputClass input_class, std::uint32_t matrices);
/// The seed of a launch.
constexpr std::uint64_t launch_seed(std::uint64_t seed, std::uint64_t launch) { return mix(seed ^ mix(launch)); }

/// On the CUDA device. Throws DataError without one, UsageError for an instruction it lacks or that has no reference.
BulkReport run_bulk_on_cuda(const Executor& executor, const BulkSettings& settings);
/// The same with inputs and comparison on the host, for any executor: the twin that tests compare with.
BulkReport run_bulk_on_host(const Executor& executor, const BulkSettings& settings);

/// The element of a product in full.
std::string describe_mismatch(const HostProduct& product, const HostProduct& expected, std::uint64_t element,
                              std::uint64_t seed, InputClass input_class);

// Recordings of GPUs, run again on the device at hand.

/// A recorded set on one instruction of the device.
struct LiveComparison {
    std::string set;          // "H100 fp16->fp32"
    std::string instruction;  // that ran
    std::uint64_t rows = 0;
    std::uint64_t equal_recorded = 0;
    bool must_equal_recorded = false;  // the set is of this architecture and made by this family of instructions
    std::uint64_t equal_model = 0;
    bool has_model = false;
    std::string first;  // the first row that should agree and does not
    [[nodiscard]] bool good() const {
        return (!must_equal_recorded || equal_recorded == rows) && (!has_model || equal_model == rows);
    }
};

/// The rows of a set on the device's instructions of its formats, one comparison a family.
std::vector<LiveComparison> run_recorded_set(const Executor& executor, const RecordedSet& set);

}  // namespace ulp::gpu
