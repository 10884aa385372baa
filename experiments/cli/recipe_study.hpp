// One net trained in several recipes over several seeds: how the losses compare, where the runs part, and which recipe
// is the cheapest that suffices.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/nets/net_options.hpp"
#include "experiments/training/comparison.hpp"

namespace ulp {

/// "mixed_fp16", or "mixed_fp16@2^12" with that constant loss scale. Throws UsageError.
Arithmetic arithmetic_of_text(const std::string& text, const NetOptions& options);

struct RecipeStudyOptions {
    std::vector<Arithmetic> arithmetics{};  // the first is the reference
    NetOptions training{};                  // data, optimizer, steps, initial weights; `seed` is that of the first runs
    std::int64_t seeds = 3;
    double margin = 0.02;  // of the reference's loss, that a recipe may lie above it
};

/// How far an arm's weights lie from the reference's of the same seed: |w - w_ref| / |w_ref|, in fp64.
struct Divergence {
    std::int64_t step;                            // after so many steps
    std::vector<std::vector<double>> parameters;  // [arm][parameter]
};

struct RecipeStudy {
    RecipeStudyOptions options;
    Comparison comparison;                // scores: the last batches' loss in fp32
    std::vector<std::string> parameters;  // names
    std::vector<Divergence> divergence;   // of the first seed
};

/// `progress` is told the share done. Throws as task_of and load_weights.
RecipeStudy study_recipes(const NetDescription& net, const RecipeStudyOptions& options,
                          const std::function<void(double)>& progress);

/// What became of an arm beside the reference.
struct ArmVerdict {
    Outcome outcome = Outcome::undecided;
    std::int64_t more_seeds = 0;       // that would probably decide; 0: unknown
    double loss = 0;                   // mean over the seeds
    PairedDifference difference{};     // from the reference's loss
    std::int64_t leaves_band_at = -1;  // the first step whose loss lies outside the reference's band for good
    std::string layer{};               // the parameter that has then moved farthest, relatively
};
/// One for each arm; the reference's holds.
std::vector<ArmVerdict> verdicts_of(const RecipeStudy& study);
/// "0.0858", "not finite".
std::string loss_text(double loss);
/// "fp8 suffices", "keep mixed_fp16 with 2^12: ...", "undecided: 8 more seeds ...".
std::string verdict_sentence(const RecipeStudy& study, const std::vector<ArmVerdict>& judged);

/// What a recipe's products cost: bits of an operand; where they are equal, bits of a stored tensor decide.
int cost_of(const Recipe& recipe);

}  // namespace ulp
