// Recordings of matrix instructions in the project's own format: one text file per instruction, three tiers.
//
// clang-format off
//     ulplab recording 1
//     source hardware                      or "software": made by a model, which proves nothing
//     gpu NVIDIA H200
//     architecture sm_90
//     driver 580.95.05                     "unknown" where the machine does not tell
//     cuda 13.0 13.0                       newest the driver knows, and the one the program was built with
//     date 2026-11-20
//     instruction mma.m16n8k16.fp16.fp32
//     model sm_90:mma.fp16.fp32            the row it is compared with; "none"
//     probes 12                            softfloat/lab/probes.hpp: k:a*b of the lanes that are not +0
//     Z1 c=00000000 d=30800000 0:0000*7F00 1:3080*3F80
//     samples 5                            whole tiles in full, as 32-bit words, k fastest, lowest bits first
//     tile ordinary seed 0000000000000001 steps 1
//     a 3C00BC00...                        by rows
//     b ...                                by columns
//     a_scales ...                         where the instruction has them: a byte a block of k, by rows of a; b_scales
//     c ...                                by rows
//     d ...                                by rows
//     bulk 5                               inputs made from the seed (gpu/instructions/input_classes.hpp), a digest per 4096 cases
//     run ordinary seed 0000000000000002 steps 1 tiles 2048 inputs 0123456789ABCDEF
//     0123456789ABCDEF ...                 digests of d
//     end
// clang-format on
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gpu/devices/executor.hpp"
#include "gpu/instructions/input_classes.hpp"
#include "softfloat/lab/probes.hpp"

namespace ulp::gpu {

struct RecordedProbe {
    std::string id;
    std::vector<ProbeLane> lanes;
    std::uint32_t c = 0;
    std::uint32_t d = 0;
};

struct RecordedTile {
    InputClass input_class;
    std::uint64_t seed;
    HostProduct product;
};

/// Cases in a digest of the bulk tier, and digests in a run at most: what a replay holds in memory.
inline constexpr std::uint32_t cases_per_digest = 4096;
inline constexpr std::uint32_t most_digests = 256;

struct RecordedRun {
    InputClass input_class;
    std::uint64_t seed;
    std::uint32_t tiles;
    std::uint64_t input_digest;
    std::vector<std::uint64_t> digests;  // of d, cases_per_digest elements each
};

struct Recording {
    DeviceInfo device;
    std::string date;  // "2026-11-20"
    const Instruction* instruction = nullptr;
    std::string model;  // key of the row it is compared with, or "none"
    std::vector<RecordedProbe> probes;
    std::vector<RecordedTile> tiles;
    std::vector<RecordedRun> runs;
};

/// Writes to a temporary name and renames. Throws DataError.
void write_recording(const std::filesystem::path& path, const Recording& recording);
/// Throws DataError naming the file, the line and what was expected there: also for text after the end, for an
/// instruction that the architecture lacks, and for a tier without content (probes only where there are any for it).
Recording read_recording_file(const std::filesystem::path& path);
/// The name of an instruction's file: "mma.m16n8k16.fp16.fp32.recording".
std::string recording_file_name(const Instruction& instruction);
/// The files of this format below a folder, or the file itself, sorted.
std::vector<std::filesystem::path> find_recording_files(const std::filesystem::path& path);

/// Tiles in a digest.
std::uint32_t tiles_per_digest(const Instruction& instruction);
/// The digest of each cases_per_digest elements of d.
std::vector<std::uint64_t> digests_of(const HostProduct& product);
/// Of a, b and c.
std::uint64_t input_digest_of(const HostProduct& product);

/// How a recording compares with what an executor computes from its inputs.
struct TierCount {
    std::uint64_t equal = 0;
    std::uint64_t total = 0;
};
struct RecordingReplay {
    TierCount probes;   // answers
    TierCount samples;  // elements of d
    TierCount bulk;     // digests
    std::string first;  // the first difference in full; empty if there is none
    [[nodiscard]] bool equal() const {
        return probes.equal == probes.total && samples.equal == samples.total && bulk.equal == bulk.total;
    }
};
/// Throws DataError unless the model line names the row that the instruction is compared with today, or "none".
void require_current_model(const Recording& recording);
/// Runs the recording's inputs on the executor: the software device of its architecture for the replay anywhere, a GPU
/// for the live one. Throws DataError if the bulk tier's inputs cannot be made again (another version of the
/// generator).
RecordingReplay replay_recording(const Recording& recording, const Executor& executor);

/// A product of one tile with a probe's lanes in every row of A and every column of B.
HostProduct probe_tile(const Instruction& instruction, const std::vector<ProbeLane>& lanes, std::uint32_t c);
/// The one answer of such a tile; throws DataError if its elements differ from each other.
std::uint32_t probe_answer(const HostProduct& product, const std::string& id);

// Making recordings, and asking the deciding inputs of a device.

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
