#include "gpu/devices/executor.hpp"
#include "gpu/devices/recording.hpp"
#include "gpu/devices/reference.hpp"

namespace ulp::gpu {

std::vector<const Probe*> probes_for(const Instruction& instruction) {
    std::vector<const Probe*> probes;
    for (const Probe& probe : all_probes()) {
        if (probe.input == instruction.input_name() && probe.output == name_of(instruction.accumulator) &&
            probe.instruction_k == instruction.shape.k) {
            probes.push_back(&probe);
        }
    }
    return probes;
}

namespace {

/// Same formats and neither integers nor fp64: the instructions that the model table is about.
bool is_main(const Instruction& row) { return is_float(row.a) && row.a != Element::fp64 && row.a == row.b; }

std::uint64_t seed_for(const RecordSettings& settings, const Instruction& row, InputClass input_class, unsigned tier) {
    std::uint64_t seed = mix(settings.seed + tier);
    for (const char c : row.name()) seed = mix(seed ^ static_cast<unsigned char>(c));
    return mix(seed ^ static_cast<std::uint64_t>(input_class));
}

/// The classes sampled in full: all for the main instructions, but chains only where a tile is small (they are in the
/// bulk tier, too); for the others the one with the extremes.
std::vector<InputClass> sample_classes(const Instruction& row) {
    if (!is_main(row)) return {is_float(row.a) ? InputClass::bits : InputClass::wide};
    std::vector<InputClass> classes(input_classes.begin(), input_classes.end());
    if (row.shape.m * row.shape.n > 128) classes.pop_back();
    return classes;
}

void record_tiles(const Executor& executor, const RecordSettings& settings, Recording& recording) {
    const Instruction& row = *recording.instruction;
    for (const InputClass input_class : sample_classes(row)) {
        for (std::uint32_t i = 0; i < settings.sample_tiles; ++i) {
            const std::uint64_t seed = seed_for(settings, row, input_class, 2 + i);
            RecordedTile tile{input_class, seed, make_tiles(row, input_class, seed, 1)};
            executor.run(tile.product);
            recording.tiles.push_back(std::move(tile));
        }
    }
}

void record_runs(const Executor& executor, const RecordSettings& settings, Recording& recording) {
    const Instruction& row = *recording.instruction;
    const std::uint32_t digests = is_main(row) ? settings.bulk_digests : settings.other_digests;
    for (const InputClass input_class : input_classes) {
        const std::uint64_t seed = seed_for(settings, row, input_class, 1);
        const std::uint32_t tiles = digests * tiles_per_digest(row);
        if (tiles == 0) continue;
        HostProduct product = make_tiles(row, input_class, seed, tiles);
        executor.run(product);
        recording.runs.push_back({input_class, seed, tiles, input_digest_of(product), digests_of(product)});
    }
}

}  // namespace

Recording make_recording(const Executor& executor, const Instruction& instruction, const RecordSettings& settings) {
    Recording recording;
    recording.device = executor.info();
    recording.date = settings.date;
    recording.instruction = &instruction;
    const std::string claimed = claimed_key(instruction, executor.info().architecture);
    recording.model = claimed.empty() ? "none" : claimed;
    for (const Probe* probe : probes_for(instruction)) {
        HostProduct product = probe_tile(instruction, probe->lanes, probe->c);
        executor.run(product);
        const std::string id(probe->id);
        recording.probes.push_back({id, probe->lanes, probe->c, probe_answer(product, id)});
    }
    record_tiles(executor, settings, recording);
    record_runs(executor, settings, recording);
    return recording;
}

std::vector<ProbeReport> ask_probes(const Executor& executor) {
    std::vector<ProbeReport> reports;
    const int architecture = executor.info().architecture;
    for (const Instruction& row : instructions()) {
        if (!executor.has(row)) continue;
        for (const Probe* probe : probes_for(row)) {
            HostProduct product = probe_tile(row, probe->lanes, probe->c);
            executor.run(product);
            ProbeReport report{probe, &row, probe_answer(product, std::string(probe->id)), {}, {}, std::nullopt};
            for (const ProbePrediction& prediction : probe->predictions) {
                auto& list = prediction.result == report.answer ? report.supported : report.contradicted;
                list.emplace_back(prediction.hypothesis);
            }
            if (promised_model(row, architecture)) {
                expected_product(product, architecture);
                report.claimed = probe_answer(product, std::string(probe->id));
            }
            reports.push_back(std::move(report));
        }
    }
    return reports;
}

}  // namespace ulp::gpu
