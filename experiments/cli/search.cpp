// `ulplab search`: which operations must stay in fp32, which loss scales work, which format is enough.
#include <signal.h>

#include <limits>

#include "experiments/cli/search_parts.hpp"
#include "experiments/framework/long_work.hpp"
#include "experiments/training/parity.hpp"

namespace ulp {

void declare_search(OptionParser& app, SearchOptions& options) {
    declare_net(app, options);
    declare_backend(app, options);
    app.add_option("--seeds", options.seeds,
                   "runs of each arithmetic, with data, order and weights of seed, seed + 1, ...")
        .capture_default_str();
    app.add_option("--margin", options.margin,
                   "share of fp32's loss by which another may lie above it; losses are of the last 8 steps' batches in "
                   "fp32, with the trained weights")
        .capture_default_str();
    app.add_option("--out", options.out, "folder for the training runs, which are not made twice")
        .capture_default_str();
    app.add_option("--shard", options.shard, "begin with every n-th training, from the i-th on; then help the others")
        .capture_default_str()
        .type_name("i/n");
    app.footer(recipe_lines());
}

void require_search(const SearchOptions& options) {
    require_sensible(options);
    constexpr std::int64_t most_seeds = 1000;
    if (options.seeds < 1 || options.seeds > most_seeds) {
        throw UsageError(fmt::format("--seeds is {}; give 1 to {}", options.seeds, most_seeds));
    }
    if (!(options.margin > 0) || !(options.margin < 1)) {
        throw UsageError(
            fmt::format("--margin is {}; give a share of the loss between 0 and 1, as 0.02", options.margin));
    }
}

Trials trials_of(const SearchOptions& options, const NetDescription& net) {
    require_search(options);
    return {options, net, options.out, parse_shard(options.shard)};
}

std::optional<SearchReference> reference_of(Trials& trials, const SearchOptions& options, bool counts_gradients) {
    std::vector<Trial> runs = trials.over_seeds({reference_arithmetic("fp32", options)}, options.seeds);
    runs.front().counts_gradients = counts_gradients;
    SearchReference reference;
    reference.results = trials.results(runs);
    reference.losses = losses_of(reference.results);
    for (const double loss : reference.losses) {
        if (std::isfinite(loss)) continue;
        fmt::print(
            "fp32 itself ends with a loss that is infinite or NaN, so there is nothing to compare with; try a smaller "
            "--learning-rate\n");
        return std::nullopt;
    }
    reference.room = margin_of(reference.losses, options.margin).size;
    fmt::print("fp32: loss {:.4f}, mean of {} seeds\n", mean_of(reference.losses), options.seeds);
    return reference;
}

std::string room_text(const SearchOptions& options, const SearchReference& reference) {
    return fmt::format("{:g} % of fp32's loss, {:.4g}", 100 * options.margin, reference.room);
}

double worst_difference(const std::vector<TrialResult>& results, const SearchReference& reference) {
    double worst = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < results.size(); ++i) {
        const double difference = results[i].loss - reference.losses[i];
        worst = std::isfinite(difference) ? std::max(worst, difference) : std::numeric_limits<double>::infinity();
        if (std::isinf(worst) && worst > 0) break;
    }
    return worst;
}

std::string difference_text(double difference) {
    return std::isfinite(difference) ? fmt::format("{:+.4f}", difference) : "NaN or infinite";
}

ExitCode searched(const std::function<ExitCode()>& search) {
    const Interruption interruption;
    try {
        return search();
    } catch (const SearchInterrupted& interrupted) {
        fmt::print(stderr, "ulplab: interrupted; the training runs that are finished are kept; to resume:\n    {}\n",
                   command_line());
        return ended_by(interrupted.signal);
    }
}

namespace {

constexpr Command search_kinds[] = {
    {"fp32", "the shortest list of operations that must stay in fp32", declare_search_fp32},
    {"scale", "the loss scales that work, predicted and measured", declare_search_scale},
    {"format", "the cheapest recipe whose loss is as good as fp32's", declare_search_format},
};

Action declare_searches(OptionParser& app) {
    return [action = declare_subcommands(app, search_kinds)] { return searched(action); };
}

}  // namespace

Command search_command() {
    return {"search", "find what a net needs: operations in fp32, a loss scale, a recipe", declare_searches};
}

}  // namespace ulp
