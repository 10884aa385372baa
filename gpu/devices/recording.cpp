#include "gpu/devices/recording.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/devices/executor.hpp"
#include "gpu/devices/reference.hpp"
#include "gpu/instructions/input_classes.hpp"
#include "softfloat/errors.hpp"

namespace ulp::gpu {

std::string recording_file_name(const Instruction& instruction) { return instruction.name() + ".recording"; }

std::vector<std::filesystem::path> find_recording_files(const std::filesystem::path& path) {
    std::vector<std::filesystem::path> files;
    if (std::filesystem::is_directory(path)) {
        for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
            if (entry.path().extension() == ".recording") files.push_back(entry.path());
        }
        std::sort(files.begin(), files.end());
    } else if (path.extension() == ".recording") {
        files.push_back(path);
    }
    return files;
}

std::uint32_t tiles_per_digest(const Instruction& instruction) {
    return cases_per_digest / static_cast<std::uint32_t>(instruction.shape.m * instruction.shape.n);
}

std::vector<std::uint64_t> digests_of(const HostProduct& product) {
    const std::uint64_t words =
        product.d.words().size() * tiles_per_digest(*product.instruction) / product.extents.batch;
    std::vector<std::uint64_t> digests;
    const std::span<const std::uint32_t> all(product.d.words());
    for (std::uint64_t first = 0; first < all.size(); first += words)
        digests.push_back(digest(all.subspan(first, words)));
    return digests;
}

std::uint64_t input_digest_of(const HostProduct& product) {
    const std::uint64_t products = mix(mix(digest(product.a.words())) + digest(product.b.words()));
    const std::uint64_t inputs = products + digest(product.c.words());
    if (product.a_scales.empty()) return inputs;
    return mix(mix(inputs) + digest(product.a_scales.words())) + digest(product.b_scales.words());
}

HostProduct probe_tile(const Instruction& instruction, const std::vector<ProbeLane>& lanes, std::uint32_t c) {
    HostProduct product(instruction);
    for (const ProbeLane& lane : lanes) {
        const auto k = static_cast<std::uint64_t>(lane.k);
        for (std::uint64_t i = 0; i < product.a.rows(); ++i) product.a.set(i, k, lane.a);
        for (std::uint64_t j = 0; j < product.b.rows(); ++j) product.b.set(j, k, lane.b);
    }
    for (std::uint64_t i = 0; i < product.c.rows(); ++i) {
        for (std::uint64_t j = 0; j < product.c.columns(); ++j) product.c.set(i, j, c);
    }
    return product;
}

std::uint32_t probe_answer(const HostProduct& product, const std::string& id) {
    const std::uint64_t answer = product.d.get(0, 0);
    for (std::uint64_t i = 0; i < product.d.rows(); ++i) {
        for (std::uint64_t j = 0; j < product.d.columns(); ++j) {
            if (product.d.get(i, j) == answer) continue;
            throw DataError(
                fmt::format("probe {} of {}: element (0, 0) is {:X}, but ({}, {}) is {:X} from the same inputs", id,
                            product.instruction->name(), answer, i, j, product.d.get(i, j)));
        }
    }
    return static_cast<std::uint32_t>(answer);
}

namespace {

void note_first(RecordingReplay& replay, const std::string& text) {
    if (replay.first.empty()) replay.first = text;
}

void replay_probes(const Recording& recording, const Executor& executor, RecordingReplay& replay) {
    for (const RecordedProbe& probe : recording.probes) {
        HostProduct product = probe_tile(*recording.instruction, probe.lanes, probe.c);
        executor.run(product);
        const std::uint32_t answer = probe_answer(product, probe.id);
        ++replay.probes.total;
        if (answer == probe.d) {
            ++replay.probes.equal;
        } else {
            note_first(replay, fmt::format("probe {}: recorded {:08X}, {} gives {:08X}", probe.id, probe.d,
                                           executor.info().name, answer));
        }
    }
}

/// Row and column of an element in full: both results, c, every pair of operands, and the scales.
std::string describe_element(const HostProduct& p, std::uint64_t row, std::uint64_t column, std::uint64_t recorded) {
    const std::uint64_t b_row = row / (p.d.rows() / p.extents.batch) * p.d.columns() + column;
    std::string text = fmt::format("element ({}, {}): recorded {:X}, now {:X}, c {:X}", row, column, recorded,
                                   p.d.get(row, column), p.c.empty() ? 0 : p.c.get(row, column));
    for (std::uint64_t k = 0; k < p.a.columns(); ++k) {
        text += fmt::format("{}{:X}*{:X}", k == 0 ? ", products " : " ", p.a.get(row, k), p.b.get(b_row, k));
    }
    return text + scales_text(p, row, b_row);
}

void replay_tiles(const Recording& recording, const Executor& executor, RecordingReplay& replay) {
    for (const RecordedTile& tile : recording.tiles) {
        HostProduct product = tile.product;
        executor.run(product);
        for (std::uint64_t i = 0; i < product.d.rows(); ++i) {
            for (std::uint64_t j = 0; j < product.d.columns(); ++j) {
                const std::uint64_t recorded = tile.product.d.get(i, j);
                ++replay.samples.total;
                if (product.d.get(i, j) == recorded) {
                    ++replay.samples.equal;
                } else {
                    note_first(replay, fmt::format("sample {} seed {:016X}, {}", name_of(tile.input_class), tile.seed,
                                                   describe_element(product, i, j, recorded)));
                }
            }
        }
    }
}

void replay_runs(const Recording& recording, const Executor& executor, RecordingReplay& replay) {
    for (const RecordedRun& run : recording.runs) {
        HostProduct product = make_tiles(*recording.instruction, run.input_class, run.seed, run.tiles);
        if (input_digest_of(product) != run.input_digest) {
            throw DataError(
                fmt::format("the bulk inputs {} seed {:016X} of {} come out otherwise than when they were recorded: "
                            "the generator has changed; record again",
                            name_of(run.input_class), run.seed, recording.instruction->name()));
        }
        executor.run(product);
        const auto digests = digests_of(product);
        for (std::size_t i = 0; i < digests.size(); ++i) {
            ++replay.bulk.total;
            if (digests[i] == run.digests.at(i)) {
                ++replay.bulk.equal;
            } else {
                note_first(replay,
                           fmt::format("bulk {} seed {:016X}, cases {} to {}: recorded digest {:016X}, now {:016X}",
                                       name_of(run.input_class), run.seed, i * cases_per_digest,
                                       (i + 1) * cases_per_digest - 1, run.digests[i], digests[i]));
            }
        }
    }
}

}  // namespace

void require_current_model(const Recording& recording) {
    const std::string key = claimed_key(*recording.instruction, recording.device.architecture);
    if (recording.model == "none" || recording.model == key) return;
    throw DataError(
        fmt::format("the recording of {} on {} names the model '{}', but is compared with '{}'; correct its model line",
                    recording.instruction->name(), architecture_name(recording.device.architecture), recording.model,
                    key.empty() ? "none" : key));
}

RecordingReplay replay_recording(const Recording& recording, const Executor& executor) {
    RecordingReplay replay;
    replay_probes(recording, executor, replay);
    replay_tiles(recording, executor, replay);
    replay_runs(recording, executor, replay);
    return replay;
}

}  // namespace ulp::gpu
