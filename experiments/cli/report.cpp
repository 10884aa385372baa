// `ulplab report`: pages of all results; with --draw their figures once more, from their data and the templates as they
// are now.
#include "engine/files/whole_file.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/framework/experiment.hpp"
#include "experiments/framework/figures.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/html.hpp"
#include "experiments/framework/record.hpp"

namespace ulp {
namespace {

struct ReportOptions {
    std::vector<std::string> names;
    std::string out = "out";
    bool draw = false;
};

void draw(const ReportOptions& options) {
    std::vector<std::string> names;
    for (const std::string& name : options.names) {
        names.push_back(experiment_by_name(name).name);
        read_result(options.out, names.back());
    }
    if (names.empty()) {
        for (const StoredResult& result : read_results(options.out)) names.push_back(result.experiment);
    }
    for (const std::string& name : names) {
        const std::string note = draw_figures(options.out, name);
        if (!note.empty()) throw DataError(note);
        fmt::print("{}/{}\n", options.out, name);
    }
}

ExitCode report(const ReportOptions& options) {
    if (!options.names.empty() && !options.draw) {
        throw UsageError("the report is of all results; NAME says whose figures --draw draws again");
    }
    const std::filesystem::path folder(options.out);
    static_cast<void>(read_results(options.out));  // a folder without results is refused as such
    require_writable(folder / "report.html");
    if (options.draw) draw(options);
    const std::vector<ReportPage> pages =
        report_pages(read_results(options.out), std::filesystem::exists(folder / "site/index.html") ? "site/" : "");
    for (const ReportPage& page : pages) replace_whole_file(folder / page.file, page.html);
    fmt::print("{}\n", (folder / pages.front().file).string());
    return ExitCode::good;
}

Action declare_report(OptionParser& app) {
    const auto options = std::make_shared<ReportOptions>();
    app.add_option("NAME", options->names, "with --draw: results whose figures are drawn; else of all in the folder");
    app.add_option("--out", options->out, "folder of the results").capture_default_str().type_name("DIR");
    app.add_flag("--draw", options->draw, "first draws the results' figures again, without computing");
    return [options] { return report(*options); };
}

}  // namespace

Command report_command() {
    return {"report", "write report.html and a page for each chapter, from all results", declare_report};
}

}  // namespace ulp
