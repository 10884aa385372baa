// `ulplab site`: lessons, playground, report, guides, notebooks and reference as one folder of pages.
#include "experiments/framework/site.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "experiments/cli/command.hpp"
#include "experiments/cli/pages.hpp"
#include "experiments/framework/experiment.hpp"
#include "experiments/framework/files.hpp"

namespace ulp {
namespace {

struct SiteOptions {
    std::string out = "out";
};

ExitCode site(const SiteOptions& options) {
    const std::filesystem::path out(options.out);
    const std::filesystem::path root = shared_file("docs/lessons").parent_path().parent_path();
    std::vector<StoredResult> results;
    const auto is_there = [&](const Experiment& one) {
        return std::filesystem::exists(out / one.name / "result.json");
    };
    if (std::ranges::any_of(experiments(), is_there)) results = read_results(out);
    std::filesystem::create_directories(out);
    StagedFolder staged(out, "site");
    const std::size_t pages = write_site(staged.path(), root, out, results, reference_tables());
    staged.publish();
    fmt::print("{}: {} pages, and the report of {} results\n", (out / "site/index.html").string(), pages,
               results.size());
    return ExitCode::good;
}

Action declare_site(OptionParser& app) {
    const auto options = std::make_shared<SiteOptions>();
    app.add_option("--out", options->out, "folder of the results; the site is written into its folder site")
        .capture_default_str()
        .type_name("DIR");
    return [options] { return site(*options); };
}

}  // namespace

Command site_command() {
    return {"site", "write lessons, playground, report and reference as one folder of pages", declare_site};
}

}  // namespace ulp
