// `ulplab verify PATH...`: replays recordings of GPUs against the models.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "experiments/commands/command.hpp"
#include "experiments/commands/units/black_box.hpp"
#include "gpu/devices/reference.hpp"
#include "gpu/recordings/recording.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/lab/recordings.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/policies.hpp"

namespace ulp {
namespace {

struct Options {
    std::vector<std::string> paths;
    std::string policy, unit;
};

std::string formatted(std::uint32_t code, const FloatFormat& format) {
    const int digits = format.storage_bits() / 4;
    return fmt::format("{:0{}X} ({})", code, digits, in_fp32_container(format, code));
}

/// The first difference in full: place, both results, c and every pair of operands.
void print_mismatch(const RecordedSet& set, const std::string& key, const TensorCoreModel& model,
                    const Mismatch& mismatch) {
    const auto index = static_cast<std::size_t>(mismatch.row);
    const std::uint32_t c = recorded_with_zero_c(set) ? 0 : set.c[index];
    fmt::print("  first difference: row {} of {}, model {}\n", mismatch.row + 1, set.path.string(), key);
    fmt::print("    recorded {}\n", formatted(mismatch.expected, model.accumulator));
    fmt::print("    model    {}\n", formatted(mismatch.got, model.accumulator));
    fmt::print("    c        {}\n", formatted(c, model.accumulator));
    for (std::int64_t k = 0; k < set.products; ++k) {
        const auto at = static_cast<std::size_t>(mismatch.row * set.products + k);
        fmt::print("    k {:<3} a {}  b {}\n", k, formatted(set.a[at], model.a_format),
                   formatted(set.b[at], model.b_format));
    }
}

/// How one recording compares with its model.
enum class Comparison { equal, different, no_model };

Comparison verify_set(const RecordedFiles& files, const PolicySet* policies, const std::string& unit) {
    const RecordedSet set = read_recording(files);
    const std::string name = fmt::format("{} {} {}->{}", set.gpu, set.input, set.input, set.output);
    const auto row = model_of(set);
    if (!row) {
        fmt::print("{} has no model\n", name);
        return Comparison::no_model;
    }
    const TensorCoreModel model = policies == nullptr ? row->model : with_policies(row->model, *policies);
    const DotUnit answering = unit.empty() ? unit_of(model)
                                           : open_unit(unit, model.a_format, model.b_format, model.accumulator,
                                                       static_cast<int>(set.products));
    const ReplayResult result = replay(set, answering, recorded_with_zero_c(set));
    fmt::print("{} {}/{}\n", name, result.equal, result.rows);
    if (result.first) print_mismatch(set, unit.empty() ? row->row.key() : unit, model, *result.first);
    return result.first ? Comparison::different : Comparison::equal;
}

/// A recording in the project's own format, one instruction with its three tiers.
Comparison verify_own(const std::filesystem::path& path, const PolicySet* policies) {
    const gpu::Recording recording = gpu::read_recording_file(path);
    const auto model = gpu::open_software_device(recording.device.architecture, policies);
    const std::string name = fmt::format("{} {}", recording.device.name, recording.instruction->name());
    gpu::require_current_model(recording);
    if (!gpu::has_reference(*recording.instruction, recording.device.architecture)) {
        fmt::print("{} has no model\n", name);
        return Comparison::no_model;
    }
    const gpu::RecordingReplay replay = gpu::replay_recording(recording, *model);
    fmt::print("{} probes {}/{}, samples {}/{}, bulk {}/{}{}\n", name, replay.probes.equal, replay.probes.total,
               replay.samples.equal, replay.samples.total, replay.bulk.equal, replay.bulk.total,
               recording.device.hardware ? "" : " (made by software: no evidence)");
    if (!replay.first.empty()) fmt::print("  first difference: {}\n", replay.first);
    return replay.equal() ? Comparison::equal : Comparison::different;
}

ExitCode verify(const Options& options) {
    if (!options.unit.empty() && !options.policy.empty())
        throw UsageError("--policy is of the table's models, not of --unit");
    const PolicySet* policies = options.policy.empty() ? nullptr : &policy_set(options.policy);
    std::map<Comparison, int> counts;
    for (const std::string& path : options.paths) {
        const auto own = gpu::find_recording_files(path);
        if (!own.empty() && !options.unit.empty()) {
            throw UsageError(path +
                             " holds .recording files, whose bulk no unit of --unit can answer; give folders in the "
                             "published layout");
        }
        for (const auto& file : own) ++counts[verify_own(file, policies)];
        // Of neither kind: find_recordings says what is missing.
        const auto published = own.empty() ? find_recordings(path) : list_recordings(path);
        for (const RecordedFiles& files : published) ++counts[verify_set(files, policies, options.unit)];
    }
    if (counts[Comparison::different] > 0) return ExitCode::bits_differ;
    if (const int none = counts[Comparison::no_model]; none > 0) {
        throw DataError(
            fmt::format("{} of the recordings could not be compared: no model has these formats on this GPU "
                        "(`ulplab models` lists what there is)",
                        none));
    }
    return ExitCode::good;
}

Action declare(OptionParser& app) {
    const auto options = std::make_shared<Options>();
    app.add_option("PATH", options->paths,
                   "recordings: .recording files and folders of them, or folders in the published "
                   "layout, of several GPUs, of one, or of one format")
        .required();
    app.add_option("--policy", options->policy, "policy set used instead of the table's: A, B, C, D, E or H");
    app.add_option("--unit", options->unit,
                   fmt::format("unit compared in place of the table's model: a row, FILE.json, {}", black_box_forms));
    app.footer(
        "Prints a line per recording; of a folder with both kinds, both. Exit code 4 when a bit differs from the "
        "model, 3 "
        "when a recording is incomplete or has no model.");
    return [options] { return verify(*options); };
}

}  // namespace

Command verify_command() { return {"verify", "replay recordings of GPUs against the models", declare}; }

}  // namespace ulp
