// What a training run leaves behind for comparison: the bits of the loss and a digest of every parameter, every step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/files/sha256.hpp"
#include "engine/tape/parameter.hpp"

namespace ulp::inline ULPLAB_MODE {

struct TraceStep {
    std::int64_t step = 0;
    std::uint64_t loss_bits = 0;  // of the fp32 loss (fp64 in fp64 mode), NaNs made alike
    double loss_scale = 1;
    bool skipped = false;
    std::vector<std::string> digests;  // SHA-256 of each parameter as the optimizer holds it, in the model's order

    bool operator==(const TraceStep&) const = default;
};

struct Trace {
    std::vector<std::string> parameters;  // their names
    std::vector<TraceStep> steps;
    /// Of a run that was resumed: that many steps came before these, and the digest has taken them.
    std::int64_t steps_before = 0;
    Sha256 before{};

    /// The digest as it stands after the last step.
    [[nodiscard]] Sha256 taken() const;
    /// SHA-256 over all steps, those before these included: that of the run as if it had never stopped.
    [[nodiscard]] std::string digest() const { return taken().hex(); }
};

/// The digests of a model's parameters now.
std::vector<std::string> digests_of(const Model& model);

/// Where two traces first differ, in words ("step 12: fc1.weight differs"), or nothing.
std::optional<std::string> first_difference(const Trace& a, const Trace& b);

/// A trace as a file, CSV under a head that says how the training was made:
///
///     # ulplab trace
///     # device NVIDIA H200, sm_90, driver 580.95.05, CUDA 13.0
///     # --unit cuda:mma
///     # --recipe bf16
///     step,loss,loss_bits,loss_scale,skipped,fc1.weight,fc1.bias
///     0,2.329661,0x40149112,1,0,8891f9cc494853c5,acd17d9e5df714b9
///
/// Digests are cut to 16 of their 64 digits: enough to tell tensors apart.
struct TraceFile {
    std::string device{};                                        // what multiplied; "software" where no card did
    std::vector<std::pair<std::string, std::string>> options{};  // that make it again: "--unit", "cuda:mma"
    Trace trace{};
};

/// Cuts a trace's digests to the length that files hold.
void shorten_digests(Trace& trace);
void write_trace(const std::string& path, const TraceFile& file);
/// Whether a file begins as a trace does, also one of `ulplab gpu train` of ulplab 0.2.
bool is_trace(const std::string& path);
/// What write_trace wrote; the head may be missing. Throws DataError naming the file and the line, and for a file of
/// `ulplab gpu train` the command that makes it anew.
TraceFile read_trace(const std::string& path);

}  // namespace ulp::inline ULPLAB_MODE
