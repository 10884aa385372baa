// `ulplab verify PATH...`: replays recordings of GPUs against the models, or on a device.
#include <map>

#include "experiments/cli/black_box.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/cli/product_options.hpp"
#include "gpu/devices/bulk.hpp"
#include "gpu/devices/executor.hpp"
#include "gpu/devices/recording.hpp"
#include "gpu/devices/reference.hpp"
#include "softfloat/lab/integer_discovery.hpp"
#include "softfloat/lab/recordings.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/policies.hpp"

namespace ulp {
namespace {

struct Options {
    std::vector<std::string> paths;
    std::string policy, unit, device;
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

bool same_numbers(const FloatFormat& x, const FloatFormat& y) {
    FloatFormat unpadded = x;
    unpadded.padding_bits = y.padding_bits;
    return unpadded == y;
}

/// The model in the formats of an instruction's registers, if its numbers are theirs.
std::optional<TensorCoreModel> in_registers(const TensorCoreModel& model, const gpu::Instruction& instruction) {
    if (!gpu::is_float(instruction.a)) return std::nullopt;
    TensorCoreModel own = model;
    own.a_format = gpu::format_of(instruction.a);
    own.b_format = gpu::format_of(instruction.b);
    const bool same = same_numbers(model.a_format, own.a_format) && same_numbers(model.b_format, own.b_format) &&
                      model.accumulator == gpu::format_of(instruction.accumulator);
    return same ? std::optional(own) : std::nullopt;
}

bool is_of(const IntegerModel& model, const gpu::Instruction& instruction) {
    const auto is_signed = [](gpu::Element element) {
        return element == gpu::Element::s8 || element == gpu::Element::s4;
    };
    const bool conjunction = instruction.bit_operation == gpu::BitOperation::conjunction;
    const bool exclusive_or = instruction.bit_operation == gpu::BitOperation::exclusive_or;
    return !gpu::is_float(instruction.a) && gpu::bits_of(instruction.a) == model.bits &&
           model.a_signed == is_signed(instruction.a) && model.b_signed == is_signed(instruction.b) &&
           (model.product == IntegerProduct::conjunction) == conjunction &&
           (model.product == IntegerProduct::exclusive_or) == exclusive_or;
}

/// What fills an instruction's product by the unit of --unit.
std::function<void(gpu::HostProduct&)> product_of_unit(const std::string& spec, const gpu::Instruction& instruction) {
    const bool scaled = instruction.scaling != gpu::Scaling::none;
    if (is_black_box(spec)) {
        if (scaled) throw UsageError(instruction.name() + " has block scales, which black boxes are not given");
        const gpu::Element d = instruction.accumulator;
        const BoxDot dot = open_box(spec, {std::string(name_of(d)), gpu::bits_of(d)});
        return [dot](gpu::HostProduct& product) { gpu::product_by_dot(product, dot); };
    }
    const UnitRow row = unit_named(spec);
    if (const auto* model = row.as<TensorCoreModel>(); model != nullptr && !scaled) {
        if (const auto own = in_registers(*model, instruction)) {
            const auto dot = unit_of(*own).dot;
            return [dot](gpu::HostProduct& product) { gpu::product_by_dot(product, dot); };
        }
    } else if (const auto* integers = row.as<IntegerModel>(); integers != nullptr && is_of(*integers, instruction)) {
        const auto dot = words_of(unit_of(*integers));
        return [dot](gpu::HostProduct& product) { gpu::product_by_dot(product, dot); };
    } else if (const auto* blocks = row.as<BlockScaledModel>(); blocks != nullptr && scaled) {
        BlockScaledModel own = *blocks;
        if (const auto unscaled = in_registers(blocks->unscaled, instruction)) {
            own.unscaled = *unscaled;
            return [own](gpu::HostProduct& product) { gpu::product_by_model(product, own); };
        }
    }
    throw UsageError(
        fmt::format("{} is {} -> {}, and the recording of {}", row.key(), row.input, row.output, instruction.name()));
}

/// A recording in the project's own format, one instruction with its three tiers.
Comparison verify_own(const std::filesystem::path& path, const PolicySet* policies, const std::string& unit) {
    const gpu::Recording recording = gpu::read_recording_file(path);
    const int architecture = recording.device.architecture;
    const auto model = unit.empty()
                           ? gpu::open_software_device(architecture, policies)
                           : gpu::open_unit_device(unit, architecture, product_of_unit(unit, *recording.instruction));
    const std::string name = fmt::format("{} {}", recording.device.name, recording.instruction->name());
    gpu::require_current_model(recording);
    if (unit.empty() && !gpu::has_reference(*recording.instruction, architecture)) {
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

bool run_set(const gpu::Executor& device, const RecordedFiles& files) {
    bool good = true;
    const RecordedSet set = read_recording(files);
    const auto comparisons = gpu::run_recorded_set(device, set);
    if (comparisons.empty()) {
        fmt::print("{} {}->{}: the device has no such instruction\n", set.gpu, set.input, set.output);
    }
    for (const gpu::LiveComparison& c : comparisons) {
        fmt::print("{} on {}: as recorded {}/{}{}, as the model {}\n", c.set, c.instruction, c.equal_recorded, c.rows,
                   c.must_equal_recorded ? "" : " (another architecture or instruction)",
                   c.has_model ? fmt::format("{}/{}", c.equal_model, c.rows) : "none");
        if (!c.first.empty()) fmt::print("  {}\n", c.first);
        good = good && c.good();
    }
    return good;
}

bool run_recording(const gpu::Executor& device, const std::filesystem::path& path) {
    const gpu::Recording recording = gpu::read_recording_file(path);
    if (!device.has(*recording.instruction)) {
        fmt::print("{}: the device has no such instruction\n", recording.instruction->name());
        return true;
    }
    const gpu::RecordingReplay replay = gpu::replay_recording(recording, device);
    const bool same = recording.device.architecture == device.info().architecture;
    fmt::print("{} of {}{}: probes {}/{}, samples {}/{}, bulk {}/{}\n", recording.instruction->name(),
               recording.device.name, same ? "" : " (another architecture)", replay.probes.equal, replay.probes.total,
               replay.samples.equal, replay.samples.total, replay.bulk.equal, replay.bulk.total);
    if (!replay.first.empty()) fmt::print("  {}\n", replay.first);
    return !same || replay.equal();
}

/// Runs the recorded inputs on the device, and compares with what was recorded and with the device's models.
ExitCode verify_on_device(const Options& options) {
    const auto device = gpu::open_device(options.device);
    bool good = true;
    for (const std::string& path : options.paths) {
        const auto own = gpu::find_recording_files(path);
        for (const auto& file : own) good = run_recording(*device, file) && good;
        // Of neither kind: find_recordings says what is missing.
        const auto published = own.empty() ? find_recordings(path) : list_recordings(path);
        for (const RecordedFiles& files : published) good = run_set(*device, files) && good;
    }
    return good ? ExitCode::good : ExitCode::bits_differ;
}

ExitCode verify(const Options& options) {
    if (!options.device.empty()) {
        if (!options.unit.empty() || !options.policy.empty()) {
            throw UsageError(
                "--device runs the recorded inputs there; leave out --unit and --policy, which replace it");
        }
        return verify_on_device(options);
    }
    if (!options.unit.empty() && !options.policy.empty())
        throw UsageError("--policy is of the table's models, not of --unit");
    const PolicySet* policies = options.policy.empty() ? nullptr : &policy_set_by_word(options.policy);
    std::map<Comparison, int> counts;
    for (const std::string& path : options.paths) {
        const auto own = gpu::find_recording_files(path);
        for (const auto& file : own) ++counts[verify_own(file, policies, options.unit)];
        // Of neither kind: find_recordings says what is missing.
        const auto published = own.empty() ? find_recordings(path) : list_recordings(path);
        for (const RecordedFiles& files : published) ++counts[verify_set(files, policies, options.unit)];
    }
    if (counts[Comparison::different] > 0) return ExitCode::bits_differ;
    if (const int none = counts[Comparison::no_model]; none > 0) {
        throw DataError(
            fmt::format("{} of the recordings could not be compared: no model has these formats on this GPU (`ulplab "
                        "models` lists what there is)",
                        none));
    }
    return ExitCode::good;
}

Action declare(OptionParser& app) {
    const auto options = std::make_shared<Options>();
    app.add_option("PATH", options->paths,
                   "recordings: .recording files and folders of them, or folders in the published layout, of several "
                   "GPUs, of one, or of one format")
        .required();
    declare_policy(app, options->policy);
    app.add_option("--unit", options->unit,
                   fmt::format("unit compared in place of the table's model: a row, FILE.json, {}", black_box_forms));
    app.add_option("--device", options->device,
                   "device that runs the recorded inputs: cuda, or software:sm_90 and the like; its answers are "
                   "compared with the recording and with its models");
    app.footer(
        "Prints a line per recording; of a folder with both kinds, both. Exit code 4 when a bit differs from the model "
        "or, with --device, from a recording of the same architecture, 3 when a recording is incomplete or has no "
        "model.");
    return [options] { return verify(*options); };
}

}  // namespace

Command verify_command() { return {"verify", "replay recordings of GPUs against the models", declare}; }

}  // namespace ulp
