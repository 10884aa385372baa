// `ulplab dev ...`: what only those need who work on ulplab itself.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "experiments/cli/command.hpp"
#include "experiments/cli/pages.hpp"
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
                           NamedPage{"quantizations", quantizations_page},
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

ExitCode print_register(const RegisterOptions& options) {
    const Register made = register_of(read_results(options.out));
    const bool alone = options.into.empty();
    fmt::print("{}", register_json(alone ? made : merged(read_register(run_size_by_name(options.into)), made)));
    return ExitCode::good;
}

Action declare_register(OptionParser& app) {
    const auto options = std::make_shared<RegisterOptions>();
    app.add_option("--out", options->out, "folder of the results").capture_default_str().type_name("DIR");
    app.add_option("--register", options->into,
                   "the committed register of these runs, with the results' rows instead of its own")
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
