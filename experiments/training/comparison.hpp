// The same training in several arithmetics, over several seeds: what differs by rounding stands beside what differs by
// chance.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/recipes/loss_scale.hpp"
#include "engine/recipes/recipe.hpp"
#include "experiments/framework/control.hpp"

namespace ulp {

/// A way to compute: a recipe, and the backend of its products.
struct Arithmetic {
    std::string name;  // of the curve
    Recipe recipe;
    std::string backend;
};

/// The backend of mixed runs: the one that was asked for, else the model of an H100.
std::string mixed_backend(const RunContext& context);
/// fp32 on soft:ieee: the reference.
Arithmetic fp32_arithmetic();
/// fp16 storage, fp32 masters and loss, on mixed_backend().
Arithmetic mixed_arithmetic(const RunContext& context, std::string name, LossScaleOptions loss_scale);
/// PyTorch's scaler with another window (steps between growths), for runs shorter than 2000 steps.
LossScaleOptions dynamic_loss_scale(std::int64_t window, double initial = 0x1p16);

/// The control "pure_fp16", with which the claims about mixed precision must fail.
Setting pure_fp16_control();
/// The same arithmetics; under the control all but the first store, update and accumulate in fp16, without a scale.
std::vector<Arithmetic> under_control(const RunContext& context, std::vector<Arithmetic> arithmetics);

/// What one run of training left.
struct Learned {
    std::vector<double> losses{};  // of each step, unscaled; values of fp32
    std::vector<double> scales{};  // of each step
    std::vector<double> scores{};  // what the experiment measures at the end, in an order of its own
    std::int64_t skipped = 0;      // steps
};

struct Comparison {
    std::vector<Arithmetic> arithmetics;     // the first is the reference
    std::vector<std::vector<Learned>> runs;  // [arithmetic][seed]

    [[nodiscard]] double mean(std::size_t arithmetic, std::size_t score) const;
    /// Largest less smallest over the seeds.
    [[nodiscard]] double spread(std::size_t arithmetic, std::size_t score) const;
};

/// Trains once in an arithmetic; seeds are context.seed, context.seed + 1, ...
using TrainOnce = std::function<Learned(const Arithmetic& arithmetic, std::uint64_t seed)>;

/// All runs, side by side on the machine's cores where the backend is a software one; the numbers do not depend on how
/// many there are. The first error is passed on. Progress goes from `from` to `to`.
Comparison compare(const RunContext& context, std::vector<Arithmetic> arithmetics, std::int64_t seeds,
                   const TrainOnce& train, double from = 0, double to = 1);

/// How a score is told: "accuracy", "%", 100 (1 is shown as 100), 1 decimal.
struct ScoreText {
    std::string name;
    std::string unit;
    double factor = 1;
    int decimals = 3;
    [[nodiscard]] std::string text(double value) const;
};

/// Claims of each arithmetic but the first, and of `only` alone if it is not 0: its mean lies within fp32's of it by no
/// more than the larger of fp32's own spread over the seeds and `floor` (as the score is measured). The id gets "_" and
/// the arithmetic's number behind it.
void claim_parity(Result& result, const Comparison& comparison, std::size_t score, const ScoreText& text, double floor,
                  const std::string& id, const std::string& source, const std::string& statement, std::size_t only = 0);

/// Every seed's score by arithmetic, over the band of fp32's seeds.
Figure figure_of_seeds(const Comparison& comparison, std::size_t score, const ScoreText& text, std::string name,
                       std::string title, std::string meaning, std::string evidence);
/// Losses: the band of fp32's seeds, and the mean over the seeds of the others, both averaged over `window` steps.
Figure figure_of_losses(const Comparison& comparison, std::size_t window, std::string name, std::string title,
                        std::string meaning, std::string evidence, bool logarithmic = true);
/// log2 of the loss scale over the steps of the first seed, of the arithmetics whose scale moves.
Figure figure_of_scales(const Comparison& comparison, std::string name, std::string title, std::string meaning,
                        std::string evidence);

/// What stands behind the matrix arithmetic of the mixed runs; also added to the result's evidence.
std::string evidence_of(const Comparison& comparison, Result& result);

}  // namespace ulp
