// What the searches share: options, the fp32 runs that all others are compared with, and who prints what.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/cli/command.hpp"
#include "experiments/cli/recipe_study.hpp"

namespace ulp {

struct SearchOptions : NetOptions {
    std::string out = "out/search";
    std::string shard = "1/1";
    std::int64_t seeds = 5;
    double margin = 0.02;
};
/// The net's options, --seeds, --margin, --out and --shard.
void declare_search(OptionParser& app, SearchOptions& options);

Action declare_search_fp32(OptionParser& app);
Action declare_search_scale(OptionParser& app);
Action declare_search_format(OptionParser& app);

/// Throws UsageError for what makes no sense.
void require_search(const SearchOptions& options);
/// The trials of a search, after require_search.
Trials trials_of(const SearchOptions& options, const NetDescription& net);

/// The losses of fp32, one per seed, printed. Nothing, with a sentence, where fp32 itself does not train.
struct SearchReference {
    std::vector<double> losses;
    std::vector<TrialResult> results;
    double room;  // by which a loss may lie above that of the same seed
};
std::optional<SearchReference> reference_of(Trials& trials, const SearchOptions& options, bool counts_gradients);
/// "2 % of fp32's loss, 0.0062".
std::string room_text(const SearchOptions& options, const SearchReference& reference);

/// The loss minus fp32's, of the seed where it is worst; infinity where a loss is infinite or NaN.
double worst_difference(const std::vector<TrialResult>& results, const SearchReference& reference);
/// "+0.0123", or "NaN or infinite".
std::string difference_text(double difference);

/// The shortest list of operations that must stay in fp32, printed.
ExitCode search_fp32(const SearchOptions& options);

/// Runs a search; after Ctrl-C a sentence says how to go on.
ExitCode searched(const std::function<ExitCode()>& search);

}  // namespace ulp
