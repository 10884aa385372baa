

#include "experiments/cli/command.hpp"

namespace ulp {
namespace {

constexpr std::array table{
    // Commands.
    OldName{"sweep", "", "ulplab run --grid FILE"},
    OldName{"draw", "", "ulplab report --draw [NAME...]"},
    OldName{"trainings", "", "ulplab dev page trainings"},
    OldName{"manual", "", "ulplab dev manual"},
    OldName{"digests", "", "ulplab dev digests"},
    OldName{"testfloat", "", "ulplab dev testfloat"},
    OldName{"bench", "", "ulplab dev bench"},
    OldName{"recipes", "", "ulplab search format"},
    OldName{"probe-table", "", "ulplab discover --table"},
    OldName{"gpu probe", "", "ulplab discover --table --unit cuda"},
    OldName{"gpu verify", "", "ulplab verify --device cuda"},
    OldName{"gpu train", "", "ulplab train --trace FILE"},
    // A matrix unit is --unit.
    OldName{"", "--model", "--unit"},
    OldName{"", "--backend", "--unit"},
    OldName{"", "--gpu", "--unit"},
    OldName{"", "--like", "--unit"},
    // --format is a number format, JSON is --json, Markdown is of `ulplab dev`.
    OldName{"", "--number-format", "--format"},
    OldName{"", "--format json", "--json"},
    OldName{"", "--format console", "no option: it is the default"},
    OldName{"claims", "--format markdown", "ulplab dev page claims"},
    OldName{"claims", "--format register", "ulplab dev register"},
    OldName{"formats", "--format markdown", "ulplab dev page formats"},
    OldName{"list", "--format markdown", "ulplab dev page experiments"},
    OldName{"models", "--format markdown", "ulplab dev page models"},
    OldName{"", "--output json", "--json"},
    OldName{"", "--output console", "no option: it is the default"},
    // What is written goes to --out.
    OldName{"matmul", "--output", "--out"},
    OldName{"bound", "--output", "--out"},
    OldName{"", "-o", "--out"},
    OldName{"", "--write", "--out"},
    OldName{"", "--markdown", "--out"},
    OldName{"dev bench", "--min-time", "--seconds"},
    OldName{"discover", "--input", "--format IN,OUT"},
    OldName{"discover", "--output", "--format IN,OUT"},
    // Operands.
    OldName{"matmul", "--a-file", "the argument A"},
    OldName{"matmul", "--b-file", "the argument B"},
    OldName{"", "--a-file", "--a FILE.npy"},
    OldName{"", "--b-file", "--b FILE.npy"},
    OldName{"", "--c-file", "--c FILE.npy"},
    OldName{"", "--d-file", "--d FILE.npy"},
    OldName{"inspect", "--against", "ulplab compare A B"},
    OldName{"explain", "--separate", "--out"},
    OldName{"compare", "--unit2", "--against"},
    OldName{"compare", "--rtol", "--limit rtol=N"},
    OldName{"compare", "--atol", "--limit atol=N"},
    OldName{"explain", "--result", "--d"},
    OldName{"explain", "--row", "--at ROW,COLUMN"},
    OldName{"explain", "--column", "--at ROW,COLUMN"},
    OldName{"", "--max-a", "--max A,B[,C]"},
    OldName{"", "--max-b", "--max A,B[,C]"},
    OldName{"", "--max-c", "--max A,B[,C]"},
    OldName{"", "--transpose-a", "--transpose a"},
    OldName{"", "--transpose-b", "--transpose b"},
    OldName{"", "--round", "--rounding nearest_even"},
    OldName{"quantize", "--random-bits", "--rounding stochastic:BITS"},
    // Orders of summation.
    OldName{"", "--split-k", "--order split=N"},
    OldName{"", "--piece-k", "--order piece=N"},
    OldName{"", "--slice-k", "--order slice=N"},
    OldName{"", "--tile-k", "--order tile=N"},
    OldName{"", "--promote", "--order promote=N"},
    OldName{"", "--narrow-sums", "--order sum=FORMAT"},
    OldName{"course export", "--exercise", "course export --gradescope DIR NAME"},
    // Nets.
    OldName{"train", "--save-weights", "--out"},
    OldName{"search format", "--recipes", "--recipe"},
    OldName{"compare", "--hidden", "--net"},
    OldName{"", "--override", "--set"},
    OldName{"", "--scaler", "--loss-scale"},
    OldName{"run", "--text", "--data"},
    // A GPU.
    OldName{"gpu fma", "--first", "--from"},
    OldName{"gpu fma", "--pairs", "--count"},
    OldName{"gpu fma", "--range", "--every"},
    OldName{"gpu record", "--digests", "--count"},
    OldName{"gpu throughput", "--repeats", "--count"},
    OldName{"gpu functions", "--only", "NAME without an option"},
    OldName{"gpu functions", "--ranges", "--count"},
    OldName{"gpu functions", "--results", "--answers"},
    OldName{"gpu answers", "--types", "--type"},
    OldName{"gpu cublas-study", "--without-tensor-cores", "--type simt"},
    OldName{"gpu attention", "--lengths", "--size"},
    OldName{"gpu attention", "--head", "--set head=N"},
    OldName{"gpu attention", "--causal", "--set mask=causal"},
    OldName{"gpu transformer", "--layers", "--set layers=N"},
    OldName{"gpu transformer", "--heads", "--set heads=N"},
    OldName{"gpu transformer", "--width", "--set width=N"},
    OldName{"gpu transformer", "--vocabulary", "--set vocabulary=N"},
    OldName{"gpu transformer", "--tokens", "--set tokens=N"},
    OldName{"gpu transformer", "--tile", "--set tile=N"},
    // The course.
    OldName{"grade", "--cpu", "--limit cpu=SECONDS"},
    OldName{"grade", "--wall", "--limit wall=SECONDS"},
    OldName{"grade", "--memory", "--limit memory=MIB"},
};

/// Whether the argument, and the one behind it, are the old option: "--format json", "--format=json" or "--model".
bool is_option(std::string_view option, std::string_view argument, std::string_view next) {
    const std::size_t space = option.find(' ');
    if (space == std::string_view::npos) return argument.substr(0, argument.find('=')) == option;
    const std::string_view name = option.substr(0, space);
    const std::string_view value = option.substr(space + 1);
    if (argument == name) return next == value;
    return argument.starts_with(name) && argument.substr(name.size()) == fmt::format("={}", value);
}

/// Whether the command line begins with the words of the command.
bool is_command(std::string_view command, const std::vector<std::string>& arguments) {
    const std::size_t space = std::min(command.find(' '), command.size());
    if (arguments.empty() || arguments[0] != command.substr(0, space)) return false;
    return space == command.size() || (arguments.size() > 1 && arguments[1] == command.substr(space + 1));
}

}  // namespace

std::span<const OldName> old_names() { return table; }

void refuse_old_names(const std::vector<std::string>& arguments) {
    for (const OldName& row : table) {
        if (row.option.empty() && is_command(row.command, arguments)) {
            throw UsageError(fmt::format("{} is now: {}", row.command, row.now));
        }
    }
    for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
        const std::string_view next = i + 1 < arguments.size() ? std::string_view(arguments[i + 1]) : "";
        for (const OldName& row : table) {
            const bool here = row.command.empty() || is_command(row.command, arguments);
            if (row.option.empty() || !here || !is_option(row.option, arguments[i], next)) continue;
            throw UsageError(fmt::format("{} is now: {}", row.option, row.now));
        }
    }
}

}  // namespace ulp
