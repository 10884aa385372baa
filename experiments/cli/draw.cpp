// `ulplab draw`: the figures of stored results once more, from their data and the templates as they are now.
#include <fmt/core.h>

#include <memory>

#include "experiments/cli/command.hpp"
#include "experiments/framework/experiment.hpp"
#include "experiments/framework/figures.hpp"
#include "experiments/framework/stored_results.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

struct DrawOptions {
    std::vector<std::string> names;
    std::string out = "out";
};

ExitCode draw(const DrawOptions& options) {
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
    return ExitCode::good;
}

Action declare_draw(OptionParser& app) {
    const auto options = std::make_shared<DrawOptions>();
    app.add_option("NAME", options->names, "results to draw; all in the folder by default");
    app.add_option("--out", options->out, "folder of the results").capture_default_str().type_name("DIR");
    return [options] { return draw(*options); };
}

}  // namespace

Command draw_command() { return {"draw", "draw the figures of stored results again, without computing", declare_draw}; }

}  // namespace ulp
