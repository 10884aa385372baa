// Making recordings, and asking the deciding inputs of a device.
#pragma once

#include <string>
#include <vector>

#include "gpu/devices/recording.hpp"

namespace ulp::gpu {

/// How much of each tier.
struct RecordSettings {
    std::uint32_t sample_tiles = 1;   // of each class that is sampled
    std::uint32_t bulk_digests = 16;  // of each class: cases_per_digest cases each, for the formats of training
    std::uint32_t other_digests = 2;  // for the other instructions (integers, fp64, mixed FP8)
    std::uint64_t seed = 1;
    std::string date;
};

/// The probes made for an instruction: its formats and its k.
std::vector<const Probe*> probes_for(const Instruction& instruction);

/// Runs all three tiers on the executor.
Recording make_recording(const Executor& executor, const Instruction& instruction, const RecordSettings& settings);

/// What a device answers to a probe, and what that supports.
struct ProbeReport {
    const Probe* probe;
    const Instruction* instruction;
    std::uint32_t answer;
    std::vector<std::string> supported;  // hypotheses that predict the answer
    std::vector<std::string> contradicted;
    std::optional<std::uint32_t> claimed;  // what the architecture's row of the model table gives
};
std::vector<ProbeReport> ask_probes(const Executor& executor);

}  // namespace ulp::gpu
