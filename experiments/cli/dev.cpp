// `ulplab dev ...`: what only those need who work on ulplab itself.
#include <iostream>

#include "experiments/cli/command.hpp"
#include "experiments/cli/pages.hpp"
#include "experiments/framework/experiment.hpp"
#include "experiments/framework/record.hpp"
#include "experiments/framework/register.hpp"
#include "softfloat/lab/testfloat.hpp"
#include "softfloat/names.hpp"

namespace ulp {

Command bench_command();
Command digests_command();
Command manual_command();

namespace {

struct NamedPage {
    const char* name;
    std::string (*text)();
};
constexpr std::array pages{NamedPage{"claims", claims_page},
                           NamedPage{"commands", commands_page},
                           NamedPage{"experiments", experiments_table},
                           NamedPage{"formats", formats_page},
                           NamedPage{"models", models_page},
                           NamedPage{"quantizations", quantizations_page},
                           NamedPage{"trainings", trainings_page}};

}  // namespace

std::map<std::string, std::string> reference_tables() {
    return {{"commands", commands_page()}, {"models", models_page()}};
}

namespace {

Action declare_page(OptionParser& app) {
    std::vector<std::string> names;
    for (const NamedPage& page : pages) names.emplace_back(page.name);
    const auto name = std::make_shared<std::string>();
    app.add_option("NAME", *name, fmt::format("{}", fmt::join(names, ", "))).required().one_of(names);
    return [name] {
        fmt::print("{}", std::ranges::find(pages, *name, &NamedPage::name)->text());
        return ExitCode::good;
    };
}

struct RegisterOptions {
    std::string out = "out", into;
};

/// Throws DataError for a result of other sources than this program's.
void require_own_build(const StoredResult& result) {
    const Experiment& experiment = experiment_by_name(result.experiment);
    const RunSize size = run_size_by_name(result.mode);
    Settings settings(experiment.settings, size);
    for (const auto& [key, value] : result.changed_settings) settings.set(key + "=" + value);
    if (request_digest(experiment, {result.seed, size, "", settings, {}}) == result.request) return;
    throw DataError(
        fmt::format("the result of {0} is of another build of ulplab; run `ulplab run {0}` again with its "
                    "settings, seed and --out",
                    result.experiment));
}

ExitCode print_register(const RegisterOptions& options) {
    const std::vector<StoredResult> results = read_results(options.out);
    std::ranges::for_each(results, require_own_build);
    Register all = register_of(results);
    const bool has_texts = all.size == RunSize::quick && all.seed == 1 && all.without.empty();
    if (!options.into.empty()) {
        if (name_of(all.size) != options.into) {
            throw DataError(fmt::format("these are {}, and --register says {}", name_of(all), options.into));
        }
        const auto known = find_register(all.size, all.seed, all.without);
        Register empty{all.size, all.seed, "", "", "", {}};
        empty.without = all.without;
        all = merged(known ? *known : empty, all, committed_registers());
    }
    const std::optional<Register> texts = has_texts ? std::nullopt : find_register(RunSize::quick);
    fmt::print("{}", register_json(all, texts ? &*texts : nullptr));
    return ExitCode::good;
}

Action declare_register(OptionParser& app) {
    const auto options = std::make_shared<RegisterOptions>();
    app.add_option("--out", options->out, "folder of the results").capture_default_str().type_name("DIR");
    app.add_option("--register", options->into,
                   "the committed register of such runs, with the results' rows instead of its own; of another seed or "
                   "with something left out as the results are")
        .one_of({"quick", "full", "published"});
    return [options] { return print_register(*options); };
}

// `ulplab testfloat OP`: a filter between testfloat_gen and testfloat_ver.

struct TestfloatOptions {
    std::string operation;
    std::string rounding = "near_even";
    std::string tininess = "after";
    bool not_exact = false;
};

ExitCode filter(const TestfloatOptions& options) {
    const testfloat::Operation operation = testfloat::operation_by_name(options.operation);
    const Rounding rounding = rounding_by_name(options.rounding);
    if (is_stochastic(rounding)) throw UsageError("TestFloat has no stochastic rounding; choose another mode");
    const Tininess tininess = options.tininess == "before" ? Tininess::before_rounding : Tininess::after_rounding;
    std::ios::sync_with_stdio(false);
    testfloat::filter(operation, {rounding, tininess, !options.not_exact}, std::cin, std::cout);
    if (std::cin.bad()) throw DataError("the operands could not be read from the standard input");
    std::cout.flush();
    if (!std::cout) throw DataError("the results could not be written to the standard output");
    return ExitCode::good;
}

Action declare_testfloat(OptionParser& app) {
    const auto options = std::make_shared<TestfloatOptions>();
    app.add_option("OP", options->operation,
                   "operation by TestFloat's name, of any format: f16_add, e4m3_mulAdd, f32_to_bf16")
        .required();
    app.add_option("--rounding", options->rounding,
                   "near_even, near_maxMag, minMag, min, max or odd, or the names that `ulplab show` takes");
    app.add_option("--tininess", options->tininess, "underflow is detected before or after rounding")
        .one_of({"before", "after"});
    app.add_flag("--notexact", options->not_exact, "roundings to an integer raise no inexact flag");
    return [options] { return filter(*options); };
}

Action declare_dev(OptionParser& app) {
    static const std::array parts = {
        Command{"page", "a page of docs/reference, as Markdown", declare_page},
        Command{"register", "the register of the results in a folder, as JSON", declare_register},
        manual_command(),
        digests_command(),
        Command{"testfloat", "operands in, results and flags out, in the text format of Berkeley TestFloat",
                declare_testfloat},
        bench_command(),
    };
    return declare_subcommands(app, parts);
}

}  // namespace

Command dev_command() {
    return {"dev", "for those who work on ulplab: pages, registers, digests, speeds", declare_dev};
}

}  // namespace ulp
