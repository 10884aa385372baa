// `ulplab gpu shapes`, `answers` and `predict`: products of cuBLAS, predicted before they run.
#include <chrono>

#include "engine/files/sha256.hpp"
#include "engine/files/whole_file.hpp"
#include "experiments/cli/gpu_commands.hpp"
#include "experiments/framework/long_work.hpp"
#include "experiments/framework/machine.hpp"
#include "gpu/untried/judgement.hpp"

namespace ulp {
namespace {

struct PredictOptions {
    std::string device = "cuda";
    std::string shapes, answers, out;
    std::uint64_t seed = 1;
    int count = 10'000;
    std::vector<std::string> types;
    bool quick = false;
    double seconds = 1e9;
};

ExitCode draw_shapes(const PredictOptions& options) {
    if (options.count < 1 || options.count > 1'000'000) {
        throw UsageError(fmt::format("--count is {}; give 1 to 1000000 shapes", options.count));
    }
    const std::string text = gpu::problems_text(gpu::draw_problems(options.seed, options.count), options.seed);
    write_text(options.out, text);
    fmt::print("{} shapes in {}, SHA-256 {}\n", options.count, options.out, sha256_of(text));
    return ExitCode::good;
}

std::vector<const gpu::ProblemType*> grid_types(const PredictOptions& options) {
    std::vector<const gpu::ProblemType*> types;
    for (const std::string& name : options.types) {
        if (name == "all") {
            for (const gpu::ProblemType& type : gpu::problem_types()) types.push_back(&type);
        } else if (name != "none") {
            types.push_back(&gpu::problem_type(name));
        }
    }
    return types;
}

/// What a file of an earlier call holds.
gpu::StoredAnswers answers_begun(const PredictOptions& options, const gpu::LibraryInfo& info) {
    gpu::StoredAnswers begun(info, gpu::usual_grid(options.quick));
    if (!std::filesystem::exists(options.out)) return begun;
    gpu::StoredAnswers known = gpu::StoredAnswers::read(options.out);
    if (known.info != info) {
        throw DataError(fmt::format("{} holds answers of {}, not of {}; give another --out", options.out,
                                    known.info.text(), info.text()));
    }
    if (known.grid() != begun.grid()) {
        throw DataError(fmt::format("{} holds answers of another grid; give another --out, or {} --quick", options.out,
                                    options.quick ? "leave out" : "add"));
    }
    return known;
}

ExitCode store_answers(const PredictOptions& options) {
    const TimeLimit limit(options.seconds);
    const auto types = grid_types(options);
    const auto shapes =
        options.shapes.empty() ? std::vector<gpu::LibraryProblem>{} : gpu::read_problems(options.shapes);
    const auto library = gpu::open_library(options.device);
    gpu::StoredAnswers stored = answers_begun(options, library->info());
    if (stored.tuples() > 0) {
        fmt::print("taken up with {} shapes and {} classes\n", stored.shapes(), stored.classes());
    }
    write_text(options.out, stored.text());  // a place that takes no file is told before the minutes pass
    auto written = std::chrono::steady_clock::now();
    const bool all = stored.ask(*library, shapes, types, [&] {
        const auto now = std::chrono::steady_clock::now();
        // A call that is ended must not take the answers with it.
        if (now - written > std::chrono::seconds(5)) {
            write_text(options.out, stored.text());
            written = now;
        }
        return !limit.over();
    });
    write_text(options.out, stored.text());
    fmt::print("{}: {} shapes, {} classes of the grid, {} different answers in {}{}\n", stored.info.text(),
               stored.shapes(), stored.classes(), stored.tuples(), options.out,
               all ? "" : "; the rest is left to another call");
    return ExitCode::good;
}

/// Asks the library, or looks into the stored answers where a file of them is named.
gpu::PredictionFile predict_all(const PredictOptions& options, const std::vector<gpu::LibraryProblem>& problems) {
    gpu::PredictionFile file;
    file.program = sha256_of(sources_digest(""));
    file.shapes_digest = sha256_of(read_whole_file(options.shapes));
    file.rows.resize(problems.size());
    if (!options.answers.empty()) {
        const auto stored = gpu::StoredAnswers::read(options.answers);
        file.info = stored.info;
        file.answers_digest = sha256_of(read_whole_file(options.answers));
        run_side_by_side(problems.size(), true, [&](std::size_t i) {
            const auto answer = stored.listed(problems[i]);
            const auto* known = std::get_if<gpu::HeuristicAnswer>(&answer);
            file.rows[i] =
                gpu::predicted(problems[i], stored.plan(problems[i]), known != nullptr ? known->text() : "-");
        });
        return file;
    }
    const auto library = gpu::open_library(options.device);
    file.info = library->info();
    file.answers_digest = "live";
    std::vector<std::optional<gpu::HeuristicAnswer>> answers;  // the library is asked by one thread
    for (const gpu::LibraryProblem& p : problems) answers.push_back(library->ask(p));
    run_side_by_side(problems.size(), true, [&](std::size_t i) {
        const auto& answer = answers[i];
        const gpu::KernelPlan plan = answer ? gpu::plan_of(*answer, problems[i], file.info)
                                            : gpu::KernelPlan{gpu::Declined{std::string(gpu::no_such_product)}};
        file.rows[i] = gpu::predicted(problems[i], plan, answer ? answer->text() : "-");
    });
    return file;
}

ExitCode predict(const PredictOptions& options) {
    const auto problems = gpu::read_problems(options.shapes);
    const gpu::PredictionFile file = predict_all(options, problems);
    const std::string text = gpu::predictions_text(file);
    write_text(options.out, text);
    std::map<std::string, int> reasons;
    int told = 0;
    for (const gpu::Prediction& row : file.rows) {
        if (!row.declined.empty()) ++reasons[row.declined];
        told += row.declined.empty() && row.mutants_found == 3 ? 1 : 0;
    }
    std::size_t declined = 0;
    for (const auto& [reason, count] : reasons) declined += static_cast<std::size_t>(count);
    fmt::print("{}: {} of {} shapes predicted, {} of them told from all three mutants\n", file.info.text(),
               file.rows.size() - declined, file.rows.size(), told);
    for (const auto& [reason, count] : reasons) fmt::print("  declined {}: {}\n", count, reason);
    fmt::print("commit {} before it is judged, SHA-256 {}\n", options.out, sha256_of(text));
    return ExitCode::good;
}

}  // namespace

Action declare_gpu_shapes(OptionParser& app) {
    const auto options = std::make_shared<PredictOptions>();
    app.add_option("--seed", options->seed, "seed of the list").capture_default_str();
    app.add_option("--count", options->count, "number of shapes").capture_default_str();
    app.add_option("--out", options->out, "file for the list: type,layout,m,n,k,alpha,beta a line").required();
    return [options] { return draw_shapes(*options); };
}

Action declare_gpu_answers(OptionParser& app) {
    const auto options = std::make_shared<PredictOptions>();
    options->types = {"all"};
    add_device_option(app, options->device);
    app.add_option("--shapes", options->shapes, "list of shapes whose answers are stored one by one");
    app.add_option("--type", options->types, "types asked on the grid of sizes: names as in a list, all, or none");
    app.add_flag("--quick", options->quick, "every third size of the grid");
    app.add_option("--seconds", options->seconds, "stop after this time; what was answered until then is kept");
    app.add_option("--out", options->out, "file for the answers; a call takes up there what an earlier one left")
        .required();
    app.footer("Asks cublasLt's heuristic alone: no product runs.");
    return [options] { return store_answers(*options); };
}

Action declare_gpu_predict(OptionParser& app) {
    const auto options = std::make_shared<PredictOptions>();
    const DeclaredOption device = add_device_option(app, options->device);
    app.add_option("--shapes", options->shapes, "list of shapes, from `ulplab gpu shapes`").required();
    app.add_option("--answers", options->answers,
                   "stored answers, from `ulplab gpu answers`; then no GPU is needed. Without: the device is asked, "
                   "and runs nothing")
        .excludes(device);
    app.add_option("--out", options->out, "file for the predictions").required();
    app.footer("Commit the file of predictions before `ulplab gpu judge` reads it.");
    return [options] { return predict(*options); };
}

// `ulplab gpu judge`: products of cuBLAS held against what was predicted of them.

namespace {

struct JudgeOptions {
    std::string device = "cuda";
    std::string predictions, out;
    double seconds = 1e9;
};

std::string counts_text(const gpu::VerdictCounts& counts) {
    std::string text;
    for (const gpu::PredictionVerdict verdict : gpu::verdicts) {
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts.of(verdict), gpu::name_of(verdict));
    }
    return text + fmt::format("; of the equal {} told from a mutant, {} from all three", counts.told_from_one,
                              counts.told_from_all);
}

void print_judgement(const gpu::PredictionFile& file, const gpu::Judgement& j) {
    for (const auto& [group, counts] : j.groups) fmt::print("{:<15} {}\n", group, counts_text(counts));
    fmt::print("{:<15} {}\n", "all", counts_text(j.all));
    const int predicted = j.all.compared();
    const int offered = predicted + j.all.of(gpu::PredictionVerdict::declined);
    if (predicted > 0) {
        fmt::print("predicted {:.2f} % of what the library offers, of these equal {:.3f} %\n",
                   100.0 * predicted / offered, 100.0 * j.all.of(gpu::PredictionVerdict::equal) / predicted);
    }
    for (std::size_t i = 0; i < j.verdicts.size(); ++i) {
        if (j.verdicts[i] != gpu::PredictionVerdict::different && j.verdicts[i] != gpu::PredictionVerdict::moved)
            continue;
        fmt::print("first: {} is {}; predicted {} from {}\n", file.rows[i].problem.text(), gpu::name_of(j.verdicts[i]),
                   file.rows[i].order.empty() ? file.rows[i].declined : file.rows[i].order, file.rows[i].answer);
        break;
    }
    if (j.stopped) {
        fmt::print("stopped by --seconds after {} of {} rows; the rest is left to another call\n", j.verdicts.size(),
                   file.rows.size());
    }
}

ExitCode judge(const JudgeOptions& options) {
    const TimeLimit limit(options.seconds);
    const gpu::PredictionFile file = gpu::read_predictions(options.predictions);
    const std::string digest = sha256_of(read_whole_file(options.predictions));
    gpu::Judgement judgement;
    judgement.date = today();
    if (!options.out.empty() && std::filesystem::exists(options.out)) {
        judgement = gpu::read_judgement(options.out, file, digest);
        const int failed = judgement.all.of(gpu::PredictionVerdict::failed);
        fmt::print("taken up after {} of {} rows{}\n", judgement.verdicts.size(), file.rows.size(),
                   failed == 0 ? "" : fmt::format(", of which {} failed and are tried again at the end", failed));
    }
    const auto library = gpu::open_library(options.device);
    std::chrono::steady_clock::time_point written;
    // A kernel that hangs, or a GPU that fails, must not take the verdicts with it.
    const auto write = [&] {
        written = std::chrono::steady_clock::now();
        if (!options.out.empty()) write_text(options.out, gpu::judgement_text(file, digest, judgement));
    };
    try {
        gpu::judge(*library, file, judgement, [&] {
            if (std::chrono::steady_clock::now() - written > std::chrono::seconds(5)) write();
            return !limit.over();
        });
    } catch (const std::exception&) {
        if (!judgement.verdicts.empty()) write();
        throw;
    }
    print_judgement(file, judgement);
    write();
    require_compared(judgement.all.compared() > 0, "no row up to here is predicted and offered by the library");
    if (const int failed = judgement.all.of(gpu::PredictionVerdict::failed); failed > 0) {
        throw DataError(fmt::format("the library or the GPU failed at {} of {} rows; another call tries them again",
                                    failed, file.rows.size()));
    }
    return judgement.holds() ? ExitCode::good : ExitCode::bits_differ;
}

}  // namespace

Action declare_gpu_judge(OptionParser& app) {
    const auto options = std::make_shared<JudgeOptions>();
    add_device_option(app, options->device);
    app.add_option("PREDICTIONS", options->predictions, "file from `ulplab gpu predict`").required();
    app.add_option("--seconds", options->seconds, "stop after that time and keep what was judged");
    app.add_option("--out", options->out,
                   "file for the verdicts, a line per shape; a call takes up there what an earlier one left");
    app.footer("Exit code 4 when a product differs from its prediction or the library answers otherwise than then.");
    return [options] { return judge(*options); };
}

}  // namespace ulp
