// What the searches share: options, the fp32 runs that all others are compared with, and who prints what.
#pragma once

#include <cstdint>
#include <map>

#include "experiments/cli/command.hpp"
#include "experiments/cli/net_declarations.hpp"
#include "experiments/framework/sweep.hpp"
#include "experiments/training/parity.hpp"
#include "experiments/training/training.hpp"

namespace ulp {

// The study of which cheap recipe suffices: one net trained in several recipes over several seeds, how the losses
// compare, and where the runs part from the reference's.

// Training runs that a search asks for. Each leaves a file named by all that decides its result, so that none is made
// twice: not after an interruption, and not by another process that searches in the same folder.

/// One training: the arithmetic, whose name is for people, and the seed. Runs of one seed share data, order and initial
/// weights.
struct Trial {
    Arithmetic arithmetic;
    std::uint64_t seed = 1;
    bool counts_gradients = false;          // of a recipe whose loss scale is 1
    std::optional<Arithmetic> beside = {};  // trained in step, to tell how far the weights lie from its weights
};

/// The gradients of one tensor over all steps.
struct GradientCounts {
    std::map<int, std::int64_t> exponents;  // numbers with magnitude in [2^e, 2^(e + 1))
    float largest = 0;                      // finite magnitude
    bool operator==(const GradientCounts&) const = default;
};

/// How far the weights lie from those of the training beside: |w - w_ref| / |w_ref|, in fp64.
struct WeightDistances {
    std::int64_t step;  // after that many steps
    std::vector<std::pair<std::string, double>> parameters;
};

struct TrialResult {
    /// The score by which training runs are compared: the mean loss of the last 8 steps' batches in fp32, with the
    /// weights that the training left, so that a recipe's rounding of the loss does not judge it. NaN where the
    /// training's own loss was not finite in one of these steps.
    double loss = 0;
    std::vector<double> losses{};  // of each step, as the training saw it
    double scale = 1;              // the last step's loss scale
    std::int64_t skipped = 0;
    std::map<std::string, GradientCounts> gradients{};  // where the trial counts them
    std::vector<WeightDistances> distances{};  // after 1, 2, 4, ... steps and the last, of a trial beside another
};

/// Ctrl-C: what is finished is kept.
struct SearchInterrupted {
    int signal;
};

class Trials {
  public:
    /// Files lie in `folder`. Throws DataError where it cannot be written.
    Trials(NetOptions options, NetDescription net, std::filesystem::path folder, const Shard& shard);

    /// In the order of the trials. Trains those that no process has finished: first every n-th from the shard's i-th
    /// on, then whatever no other process works on; waits for the rest. Throws SearchInterrupted.
    std::vector<TrialResult> results(const std::vector<Trial>& trials);
    /// The same trial with the options' seed and the next ones.
    [[nodiscard]] std::vector<Trial> over_seeds(const Trial& trial, std::int64_t seeds) const;
    /// What one step stores, weights, gradients and the optimizer's tensors included.
    [[nodiscard]] std::int64_t bytes_of_step(const Arithmetic& arithmetic) const;

  private:
    [[nodiscard]] std::filesystem::path file_of(const Trial& trial);
    [[nodiscard]] TrialResult trained(const Trial& trial) const;
    bool train_unless_taken(const Trial& trial, const std::filesystem::path& file) const;

    NetOptions options_;
    NetDescription net_;
    std::filesystem::path folder_;
    Shard shard_;
    std::string weights_;                        // their SHA-256
    std::map<std::uint64_t, std::string> data_;  // by seed: which
};

/// The losses of results.
std::vector<double> losses_of(const std::vector<TrialResult>& results);

/// "mixed_fp16", or "mixed_fp16@2^12" with that constant loss scale. Throws UsageError.
Arithmetic arithmetic_of_text(const std::string& text, const NetOptions& options);
/// The same for what others are compared with: in IEEE fp32 where the options' backend has no such product.
Arithmetic reference_arithmetic(const std::string& text, const NetOptions& options);

/// What a recipe costs: bits of an operand of the forward products with their share of a scale, then stored bytes.
struct RecipeCost {
    double operand_bits = 0;
    std::int64_t bytes = 0;
    auto operator<=>(const RecipeCost&) const = default;
};

struct StudyArm {
    Arithmetic arithmetic;
    RecipeCost cost{};
    std::vector<TrialResult> runs{};  // by seed; those of the first tell the distances from the reference's weights
};

struct RecipeStudy {
    double margin = 0;           // share of the reference's loss by which another may lie above it
    std::vector<StudyArm> arms;  // that were trained: the reference, then the others from the cheapest on
};

struct StudyOptions {
    std::int64_t seeds;
    double margin;
    bool all = false;  // the dearer ones, too, once one suffices
};

/// What became of an arm beside the reference.
struct ArmVerdict {
    Outcome outcome = Outcome::undecided;
    std::int64_t more_seeds = 0;       // that would probably decide; 0: unknown
    double loss = 0;                   // mean over the seeds
    PairedDifference difference{};     // from the reference's loss
    std::int64_t leaves_band_at = -1;  // the first step whose loss lies outside the reference's band for good
    std::string layer{};               // the parameter that has then moved farthest, relatively
};

/// Trains the reference and then the others, from the cheapest on, until one suffices; `told` is called with the study
/// so far after each. The others are left out where the reference's own loss is not finite. Throws as Trials::results.
RecipeStudy study_recipes(Trials& trials, const Arithmetic& reference, const std::vector<Arithmetic>& others,
                          const StudyOptions& options, const std::function<void(const RecipeStudy&)>& told);

/// By how much a loss may lie above the reference's.
Margin margin_of(const std::vector<double>& reference_losses, double share);
/// Of an arm of the study; the reference's holds.
ArmVerdict verdict_of(const RecipeStudy& study, const StudyArm& arm);
/// The first arm that suffices, or null. The reference is none.
const StudyArm* sufficient_arm(const RecipeStudy& study);
/// "fp8 suffices: it is the cheapest whose loss is ...", "nothing found: ...".
std::string verdict_sentence(const RecipeStudy& study);

/// "0.0858", "not finite".
std::string loss_text(double loss);
/// "suffices", "too high", "undecided: 8 more seeds".
std::string outcome_text(const ArmVerdict& verdict);
std::int64_t skips_of(const StudyArm& arm);

// A study of recipes as one page without a network.

std::string recipe_page(const RecipeStudy& study, const std::string& net);

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
