// `ulplab dev ...`: what only those need who work on ulplab itself.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "experiments/cli/command.hpp"
#include "experiments/cli/pages.hpp"
#include "experiments/framework/experiment.hpp"
#include "experiments/framework/record.hpp"
#include "experiments/framework/register.hpp"
#include "softfloat/errors.hpp"

namespace ulp {

Command bench_command();
Command digests_command();
Command manual_command();
Command testfloat_command();

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
                           NamedPage{"trainings", trainings_page}};

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
    if (!result.without.empty()) settings.set("without=" + result.without);
    if (!result.own_settings) return;  // register_of says so
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
        .one_of({"quick", "full"});
    return [options] { return print_register(*options); };
}

Action declare_dev(OptionParser& app) {
    static const std::array parts = {
        Command{"page", "a page of docs/reference, as Markdown", declare_page},
        Command{"register", "the register of the results in a folder, as JSON", declare_register},
        manual_command(),
        digests_command(),
        testfloat_command(),
        bench_command(),
    };
    return declare_subcommands(app, parts);
}

}  // namespace

Command dev_command() {
    return {"dev", "for those who work on ulplab: pages, registers, digests, speeds", declare_dev};
}

}  // namespace ulp
