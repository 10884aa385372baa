// `ulplab compare A B`: where two training runs diverge.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "experiments/cli/command.hpp"
#include "experiments/cli/train_report.hpp"
#include "gpu/training.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

struct CompareCommandOptions {
    std::string a;
    std::string b;
    gpu::TrainingRun run;
};

void require_same_run(const gpu::TraceFile& a, const gpu::TraceFile& b) {
    const auto describe = [](const gpu::TrainingRun& run) {
        return fmt::format("recipe {}, {} steps, hidden {}, batch {}, images {}, seed {}", run.recipe, run.steps,
                           run.hidden, run.batch, run.images, run.seed);
    };
    if (describe(a.run) == describe(b.run)) return;
    throw UsageError(fmt::format("the traces are of different runs ({}; {}); compare runs with the same settings",
                                 describe(a.run), describe(b.run)));
}

/// The first step at which the traces differ, if both have one there.
std::optional<std::size_t> first_different_step(const Trace& a, const Trace& b) {
    for (std::size_t i = 0; i < a.steps.size() && i < b.steps.size(); ++i) {
        if (a.steps[i] != b.steps[i]) return i;
    }
    return std::nullopt;
}

/// What this build gives for a trace's run, up to a step; empty where its backend cannot run here.
std::string trained_again(const gpu::TraceFile& file, const std::string& name, std::int64_t steps) {
    gpu::TrainingRun run = file.run;
    run.steps = steps;
    gpu::TraceFile again{file.backend, "", run, gpu::train(make_backend(file.backend), run)};
    gpu::TraceFile known = file;
    gpu::shorten_digests(again.trace);
    known.trace.steps.resize(static_cast<std::size_t>(steps));
    const bool same = !first_difference(again.trace, known.trace);
    return fmt::format("retrained here, {} {} {}", file.backend, same ? "reproduces" : "does not reproduce", name);
}

/// Two software runs can be trained again, in step, to see the product and the element. Hardware's cannot be without
/// it: there the text says what to do.
std::string closer_look(const gpu::TraceFile& a, const gpu::TraceFile& b, const CompareCommandOptions& options,
                        std::size_t step) {
    gpu::TrainingRun run = a.run;
    run.steps = static_cast<std::int64_t>(step) + 1;
    for (const gpu::TraceFile* file : {&a, &b}) {
        if (file->device == "software") continue;
        return fmt::format(
            "for the product and the element, on a machine with {}: ulplab compare {} {} --recipe {} --steps {} "
            "--hidden {} --batch {} --images {} --seed {}",
            file->device, a.backend, b.backend, run.recipe, run.steps, run.hidden, run.batch, run.images, run.seed);
    }
    if (a.backend == b.backend) {
        return trained_again(a, options.a, run.steps) + "\n" + trained_again(b, options.b, run.steps);
    }
    const std::string difference = gpu::first_training_difference(a.backend, b.backend, run);
    if (!difference.empty()) return "trained again here: " + difference;
    return "trained again here, both give the same: one of the traces comes from another build";
}

ExitCode compare_traces(const CompareCommandOptions& options) {
    const gpu::TraceFile a = gpu::read_trace(options.a);
    const gpu::TraceFile b = gpu::read_trace(options.b);
    require_same_run(a, b);
    if (const auto difference = first_difference(a.trace, b.trace)) {
        fmt::print("{} ({}) and {} ({}): {}\n", a.backend, a.device, b.backend, b.device, *difference);
        std::fflush(stdout);
        const auto step = first_different_step(a.trace, b.trace);
        if (step) fmt::print("{}\n", closer_look(a, b, options, *step));
        return ExitCode::bits_differ;
    }
    fmt::print("{} ({}) and {} ({}): equal in all {} steps\n", a.backend, a.device, b.backend, b.device,
               a.trace.steps.size());
    return ExitCode::good;
}

ExitCode compare_backends(const CompareCommandOptions& options) {
    const std::string difference = gpu::first_training_difference(options.a, options.b, options.run);
    if (!difference.empty()) {
        fmt::print("{} and {}: {}\n", options.a, options.b, difference);
        return ExitCode::bits_differ;
    }
    fmt::print("{} and {}: equal in all {} steps, every product, every parameter\n", options.a, options.b,
               options.run.steps);
    return ExitCode::good;
}

/// Of a file of either kind, with digests of the length that both have.
Trace trace_in(const std::string& file) {
    Trace trace = is_step_table(file) ? read_step_table(file) : gpu::read_trace(file).trace;
    gpu::shorten_digests(trace);
    return trace;
}

/// Of `ulplab train --trace`, of whatever net and backend, or one of these and one of `ulplab gpu train`.
ExitCode compare_step_tables(const CompareCommandOptions& options) {
    const bool both = is_step_table(options.a) && is_step_table(options.b);
    const Trace a = both ? read_step_table(options.a) : trace_in(options.a);
    const Trace b = both ? read_step_table(options.b) : trace_in(options.b);
    if (const auto difference = first_difference(a, b)) {
        fmt::print("{} and {}: {}\n", options.a, options.b, *difference);
        return ExitCode::bits_differ;
    }
    fmt::print("{} and {}: equal in all {} steps\n", options.a, options.b, a.steps.size());
    return ExitCode::good;
}

ExitCode compare(const CompareCommandOptions& options) {
    const bool file_a = std::filesystem::exists(options.a);
    const bool file_b = std::filesystem::exists(options.b);
    if (file_a && file_b && (is_step_table(options.a) || is_step_table(options.b))) return compare_step_tables(options);
    if (file_a && file_b) return compare_traces(options);
    const auto looks_like_file = [](const std::string& text) {
        return text.find('/') != std::string::npos || text.ends_with(".trace") || text.ends_with(".csv");
    };
    for (const std::string& name : {options.a, options.b}) {
        if (looks_like_file(name) && !std::filesystem::exists(name)) {
            throw DataError(fmt::format("there is no trace {}; make one with `ulplab train --trace`", name));
        }
    }
    if (file_a || file_b) throw UsageError("give two traces or two backends, not one of each");
    return compare_backends(options);
}

Action declare_compare(OptionParser& app) {
    const auto options = std::make_shared<CompareCommandOptions>();
    app.add_option("A", options->a, "a trace file (ulplab train --trace), or a backend: cuda:mma, soft:h100, ...")
        .required();
    app.add_option("B", options->b, "another").required();
    app.add_option("--recipe", options->run.recipe, "backends: how precise").capture_default_str();
    app.add_option("--steps", options->run.steps, "backends: of training").capture_default_str();
    app.add_option("--hidden", options->run.hidden, "backends: width of the hidden layer").capture_default_str();
    app.add_option("--batch", options->run.batch, "backends: images a step").capture_default_str();
    app.add_option("--images", options->run.images, "backends: of the data set").capture_default_str();
    app.add_option("--seed", options->run.seed, "backends: of data and weights").capture_default_str();
    app.footer(
        "Two traces: names the first step and tensor that differ; where both are of `ulplab gpu train` and of "
        "software, "
        "trains both again up to that step and names the product and element too. Two backends: trains on both in step "
        "and names the first "
        "step, product and element that differ, with its operands. Exit code 4 on a difference.");
    return [options] { return compare(*options); };
}

}  // namespace

Command compare_command() { return {"compare", "find where two training runs diverge", declare_compare}; }

}  // namespace ulp
