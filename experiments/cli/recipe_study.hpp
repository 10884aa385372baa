// The study of which cheap recipe suffices: one net trained in several recipes over several seeds, how the losses
// compare, and where the runs part from the reference's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "experiments/cli/trials.hpp"
#include "experiments/training/parity.hpp"

namespace ulp {

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

}  // namespace ulp
