// Training runs to compare, step by step: the same net on two backends must leave the same trace.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "engine/products/matmul.hpp"
#include "engine/training/trace.hpp"

namespace ulp::gpu {

struct TrainingRun {
    std::string recipe = "mixed_fp16";
    std::int64_t steps = 500;
    std::int64_t hidden = 128;  // a 784-hidden-10 net on generated digits
    std::int64_t batch = 64;
    std::int64_t images = 4000;  // of the data set
    std::uint64_t seed = 1;
};

/// A trace and how it came about, as a text file.
struct TraceFile {
    std::string backend;
    std::string device;  // what multiplied: "NVIDIA H200, sm_90, driver 580.95.05", or "software"
    TrainingRun run;
    Trace trace;
};

/// Trains on the backend.
Trace train(std::unique_ptr<MatmulBackend> backend, const TrainingRun& run);

/// Cuts a trace's digests to the length that files hold.
void shorten_digests(Trace& trace);
void write_trace(const std::filesystem::path& path, const TraceFile& file);
/// Throws DataError naming the file and the line.
TraceFile read_trace(const std::filesystem::path& path);

/// Trains on both backends in step. Empty if they do not differ; else in words: the step and the product that differ
/// first (its place in the step, layer, pass, types and shapes), the element of it with both results, the first
/// parameter and element that differ later, after which step, and the product's operands; or the parameter alone, if no
/// product differs before it.
std::string first_training_difference(const std::string& backend_a, const std::string& backend_b,
                                      const TrainingRun& run);
std::string first_training_difference(std::unique_ptr<MatmulBackend> a, std::unique_ptr<MatmulBackend> b,
                                      const TrainingRun& run);

}  // namespace ulp::gpu
