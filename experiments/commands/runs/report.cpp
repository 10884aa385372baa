// `ulplab report`: one page of all results.
#include "experiments/results/report.hpp"

#include <fmt/core.h>

#include <memory>

#include "engine/files/whole_file.hpp"
#include "experiments/commands/command.hpp"

namespace ulp {
namespace {

ExitCode report(const std::string& out) {
    const std::filesystem::path place = std::filesystem::path(out) / "report.html";
    replace_whole_file(place, report_html(read_results(out)));
    fmt::print("{}\n", place.string());
    return ExitCode::good;
}

Action declare(OptionParser& app) {
    const auto out = std::make_shared<std::string>("out");
    app.add_option("--out", *out, "folder of the results").capture_default_str().type_name("DIR");
    return [out] { return report(*out); };
}

}  // namespace

Command report_command() { return {"report", "write report.html, one self-contained page of all results", declare}; }

}  // namespace ulp
