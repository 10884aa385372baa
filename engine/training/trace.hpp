// What a training run leaves behind for comparison: the bits of the loss and a digest of every parameter, every step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
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
    /// Of a run that was resumed: so many steps came before these, and the digest has taken them.
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

}  // namespace ulp::inline ULPLAB_MODE
