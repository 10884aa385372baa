// `ulplab report`: pages of all results.
#include "experiments/framework/report.hpp"

#include <fmt/core.h>

#include <memory>

#include "engine/files/whole_file.hpp"
#include "experiments/cli/command.hpp"

namespace ulp {
namespace {

ExitCode report(const std::string& out) {
    const std::vector<ReportPage> pages = report_pages(read_results(out));
    const std::filesystem::path folder(out);
    for (const ReportPage& page : pages) replace_whole_file(folder / page.file, page.html);
    fmt::print("{}\n", (folder / pages.front().file).string());
    return ExitCode::good;
}

Action declare_report(OptionParser& app) {
    const auto out = std::make_shared<std::string>("out");
    app.add_option("--out", *out, "folder of the results").capture_default_str().type_name("DIR");
    return [out] { return report(*out); };
}

}  // namespace

Command report_command() {
    return {"report", "write report.html and a page for each chapter, from all results", declare_report};
}

}  // namespace ulp
