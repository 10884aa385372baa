// Updates below half a unit in the last place of their weight, in ordinary training runs: how large updates are is seen
// in fp32, what 16-bit weights lose of them is predicted from that, and the ways to keep them are compared.
#pragma once

#include "experiments/natural/tuning.hpp"
#include "experiments/training/figures.hpp"

namespace ulp::natural {

/// The 16-bit formats of weights, in the order of what is told of each.
inline constexpr std::array weight_formats = {formats::bf16, formats::fp16};

/// Half a unit in the last place of a number of the format in the weight's binade. Nearer to the weight than this a
/// result of an update is rounded back to it.
double half_ulp(const FloatFormat& format, float weight);

/// Whose rates of fine-tuning are the usual ones.
inline constexpr std::string_view bert = "Devlin et al., BERT (NAACL 2019)";

/// Sizes of updates: bin i holds those of 2^(first_bin + i) to twice that, in ulps of their weights in bf16; what is
/// smaller or larger is in the first and the last one.
inline constexpr int first_bin = -16;
using UpdateSizes = std::array<std::int64_t, 25>;
/// Of a weight's update; nothing for 0.
void add_size(UpdateSizes& sizes, float weight, float update);
/// As shares of `all`.
Series series_of(std::string name, const UpdateSizes& sizes, std::int64_t all);

/// What became of the weights. Shares are of all weights, step by step.
struct WeightMoves {
    std::vector<double> standing{};  // that a step left exactly as they were
    /// In fp32 alone: that were moved by less than half an ulp of each of weight_formats.
    std::array<std::vector<double>, weight_formats.size()> predicted{};
    UpdateSizes sizes{};       // in fp32 alone: of all steps' updates that are not 0
    std::int64_t updates = 0;  // in fp32 alone: zeros included
};
/// The task; keeps WeightMoves.
TaskBuilder watching_moves(const TaskBuilder& task);

/// Where updates go, fp32 first. Nearest, stochastic, Kahan: 16-bit weights without masters.
enum WeightKeeping : std::size_t {
    fp32,
    bf16_masters,
    bf16_nearest,
    bf16_stochastic,
    bf16_kahan,
    fp16_masters,
    fp16_nearest
};
std::vector<Arithmetic> weight_keepings(const RunContext& context);
/// "masters" gives fp32 masters to weights that are updated to nearest, "nearest" rounds all 16-bit weights to nearest
/// without masters, "coarse" gives 2 fraction bits to fp16 weights, too.
Setting weight_keeping_control();

/// Runs of weight_keepings() that keep WeightMoves, and how they are judged.
struct LostUpdates {
    const Comparison& runs;
    Quantity quantity;      // of the first score
    Margin margin;          // within which an arm is as good as fp32
    std::string beginning;  // of the claims' statements: "Fine-tuned at 2e-5, "
};
/// Claims: predicted_start_ and predicted_ with bf16 and fp16 (the share that stands still, from fp32 alone; later a
/// run that lost updates has other weights and larger gradients); bf16_nearest, fp16_nearest (worse than fp32);
/// bf16_masters, bf16_stochastic, bf16_kahan, fp16_masters (as good).
void claim_lost_updates(Result& result, const LostUpdates& judged);

/// Axes of a histogram of sizes in ulps of bf16, and the lines left of which an update is less than half an ulp.
Axes update_axes(std::string x, std::string y);
std::vector<Guide> half_ulps(bool of_fp16 = true);
/// Sizes of updates in fp32, in ulps of their weights.
Figure figure_of_update_sizes(const Comparison& runs, std::string title);
/// The share of weights that stand still, as predicted and as it was.
Figure figure_of_standing_weights(const Comparison& runs, std::size_t window, std::string title);

}  // namespace ulp::natural
