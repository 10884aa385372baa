
#include <set>

#include "experiments/cli/black_box.hpp"
#include "experiments/cli/gpu_commands.hpp"
#include "gpu/devices/recording.hpp"
#include "softfloat/lab/integer_discovery.hpp"
#include "softfloat/lab/probes.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/policies.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/names.hpp"
#include "softfloat/text.hpp"

namespace ulp {
namespace {

/// The model's answer to a probe; probes fit instructions of their k or more.
std::uint32_t answer(const TensorCoreModel& model, const Probe& probe) {
    std::array<std::uint32_t, max_instruction_k> a{};
    std::array<std::uint32_t, max_instruction_k> b{};
    for (const ProbeLane& lane : probe.lanes) {
        a[static_cast<std::size_t>(lane.k)] = lane.a;
        b[static_cast<std::size_t>(lane.k)] = lane.b;
    }
    return chain_dot(model, a.data(), b.data(), probe.c, probe.instruction_k);
}

std::string hex(const TensorCoreModel& model, std::uint32_t code) {
    return fmt::format("{:0{}X}", code, model.accumulator.storage_bits() / 4);
}

std::string lanes_text(const Probe& probe, const TensorCoreModel& model) {
    std::string text;
    const int digits = model.a_format.storage_bits() / 4;
    const std::size_t shown = probe.lanes.size() > 4 ? 2 : probe.lanes.size();
    for (std::size_t i = 0; i < shown; ++i) {
        const ProbeLane& lane = probe.lanes[i];
        text += fmt::format("{}k{}:{:0{}X}*{:0{}X}", text.empty() ? "" : " ", lane.k, lane.a, digits, lane.b, digits);
    }
    if (shown < probe.lanes.size()) text += fmt::format(" ... ({} lanes)", probe.lanes.size());
    if (probe.c != 0) text += " c=" + hex(model, probe.c);
    return text;
}

std::vector<RowOf<TensorCoreModel>> rows_for(const std::string& architecture, const Probe& probe) {
    std::vector<RowOf<TensorCoreModel>> rows;
    for (const auto& [row, model] : rows_of<TensorCoreModel>()) {
        if (row.architecture == architecture && row.input == probe.input && row.output == probe.output &&
            takes_decoded(model)) {
            rows.push_back({row, model});
        }
    }
    return rows;
}

/// The hypotheses side by side, where they differ; otherwise the one answer.
void print_row(const RowOf<TensorCoreModel>& row, const Probe& probe) {
    std::vector<std::string> answers;
    for (const PolicySet& set : policy_sets) {
        answers.push_back(hex(row.model, answer(with_policies(row.model, set), probe)));
    }
    fmt::print("  {:<26}", row.row.key());
    for (const std::string& each : answers) fmt::print(" {:>8}", each);
    const std::set<std::string> different(answers.begin(), answers.end());
    fmt::print("{}\n", different.size() > 1 ? "" : "  all the same");
}

void print_probe(const std::string& architecture, const Probe& probe) {
    const auto rows = rows_for(architecture, probe);
    if (rows.empty()) return;
    fmt::print("{:<4} {}->{}  {}\n", probe.id, probe.input, probe.output, lanes_text(probe, rows.front().model));
    fmt::print("     {}\n", probe.question);
    std::string predicted;
    for (const ProbePrediction& prediction : probe.predictions) {
        predicted += fmt::format("{}{} {}", predicted.empty() ? "" : ", ", prediction.hypothesis,
                                 hex(rows.front().model, prediction.result));
    }
    fmt::print("     predicted: {}\n", predicted);
    for (const auto& row : rows) print_row(row, probe);
}

/// The unit's answer to a probe, and which of the predictions it is.
void print_answer(const DotUnit& unit, const Probe& probe) {
    std::vector<std::uint64_t> a(static_cast<std::size_t>(unit.k)), b(a.size());
    for (const ProbeLane& lane : probe.lanes) {
        a[static_cast<std::size_t>(lane.k)] = lane.a;
        b[static_cast<std::size_t>(lane.k)] = lane.b;
    }
    const std::uint64_t d = unit.dot(a, b, probe.c);
    std::string agreeing;
    for (const ProbePrediction& prediction : probe.predictions) {
        if (prediction.result == d) agreeing += (agreeing.empty() ? "" : ", ") + std::string(prediction.hypothesis);
    }
    const bool stable = unit.dot(a, b, probe.c) == d;
    fmt::print("{:<4} {}  as {}{}\n     {}\n", probe.id, to_hex_bits(unit.accumulator, d),
               agreeing.empty() ? "none of the predictions" : agreeing,
               stable ? "" : "; another result when asked again", probe.question);
}

void print_answer(const IntegerUnit& unit, const IntegerProbe& probe) {
    const std::int32_t d = answer_of(unit, probe);
    std::string agreeing;
    for (const IntegerHypothesis& each : probe.hypotheses) {
        if (predicted(probe, each) == d) agreeing += (agreeing.empty() ? "" : "; ") + std::string(each.name);
    }
    fmt::print("{:<4} {:11}  {}{}\n     {}\n", probe.id, d, agreeing.empty() ? "none of the predictions" : agreeing,
               answer_of(unit, probe) == d ? "" : "; another result when asked again", probe.question);
}

/// The probes whose lanes the unit's k holds.
ExitCode probe_integers(const ProbeTableOptions& options) {
    const IntegerUnit unit = open_integer_unit(options.unit, options.k);
    fmt::print("Answers of {}, integers -> s32, k = {}\n", options.unit, options.k);
    for (const IntegerProbe& probe : integer_probes()) {
        if (probe.a.size() <= static_cast<std::size_t>(unit.k)) print_answer(unit, probe);
    }
    return ExitCode::good;
}

/// The probes of the unit's formats that its k holds.
ExitCode probe_unit(const ProbeTableOptions& options) {
    if (options.output == "s32") return probe_integers(options);
    const DotUnit unit = options.open();
    fmt::print("Answers of {}, {} -> {}, k = {}\n", options.unit, options.input, options.output, options.k);
    int asked = 0;
    for (const Probe& probe : all_probes()) {
        const bool fits = std::ranges::all_of(probe.lanes, [&](const ProbeLane& lane) { return lane.k < unit.k; });
        if (probe.input != options.input || probe.output != options.output || !fits) continue;
        print_answer(unit, probe);
        ++asked;
    }
    if (asked > 0) return ExitCode::good;
    throw UsageError(
        fmt::format("there is no probe of {} -> {} with k = {} or less", options.input, options.output, options.k));
}

std::string line_of(const gpu::ProbeReport& report) {
    const bool as_claimed = report.claimed && *report.claimed == report.answer;
    std::string verdict = "the model table has no row";
    if (report.claimed) verdict = as_claimed ? "as the row" : fmt::format("the row gives {:08X}", *report.claimed);
    return fmt::format(
        "{:<4} {:<32} {:08X}  supports {:<24} against {:<16} {}\n", report.probe->id, report.instruction->name(),
        report.answer, report.supported.empty() ? "none" : fmt::format("{}", fmt::join(report.supported, "; ")),
        report.contradicted.empty() ? "none" : fmt::format("{}", fmt::join(report.contradicted, "; ")), verdict);
}

/// Every instruction of a card, or of its model, asked.
ExitCode probe_device(const ProbeTableOptions& options) {
    const auto device = gpu::open_device(options.unit);
    std::string text = provenance(device->info());
    bool as_claimed = true;
    std::string_view last_question;
    for (const gpu::ProbeReport& report : gpu::ask_probes(*device)) {
        if (report.probe->question != last_question) text += fmt::format("# {}\n", report.probe->question);
        last_question = report.probe->question;
        text += line_of(report);
        as_claimed = as_claimed && (!report.claimed || *report.claimed == report.answer);
    }
    fmt::print("{}", text);
    if (!options.out.empty()) write_text(options.out, text);
    return as_claimed ? ExitCode::good : ExitCode::bits_differ;
}

}  // namespace

ExitCode print_probe_table(const ProbeTableOptions& options) {
    if (options.unit == "cuda" || options.unit.starts_with("software:")) return probe_device(options);
    if (!options.out.empty()) {
        throw UsageError("--out keeps a card's answers with --table; name the card: --unit cuda");
    }
    if (!options.unit.empty()) return probe_unit(options);
    const std::string architecture = architecture_of(options.architecture);
    fmt::print("Answers of the models of {} under the policy sets\n", architecture);
    for (const PolicySet& set : policy_sets) fmt::print("  {}: {}\n", set.name, set.meaning);
    fmt::print("\n{:<28}", "");
    for (const PolicySet& set : policy_sets) fmt::print(" {:>8}", set.name);
    fmt::print("\n");
    for (const Probe& probe : all_probes()) print_probe(architecture, probe);
    return ExitCode::good;
}

}  // namespace ulp
