// Training runs that continue from the weights of others.
#pragma once

#include "engine/data/dataset.hpp"
#include "experiments/shared/binade_histogram.hpp"
#include "experiments/training/comparison.hpp"
#include "experiments/training/tasks.hpp"

namespace ulp::natural {

/// What the optimizer updates, parameter by parameter in the model's order.
using Weights = std::vector<Tensor>;
/// The task; keeps the weights after the last step.
TaskBuilder keeping_weights(const TaskBuilder& task);
/// The weights that the first arm of a comparison left with the same seed, of a task of keeping_weights(). The
/// comparison must outlive it.
std::function<Weights(std::uint64_t seed)> weights_left(const RunContext& context, const Comparison& comparison);
/// The task, whose net starts from these weights.
TaskBuilder starting_from(const TaskBuilder& task, const std::function<Weights(std::uint64_t seed)>& weights);

// Digits to learn first, and the same ones sheared to fine-tune to.

/// Every row moves to the right by that many hundredths of its distance from the middle, to the nearest pixel; 0 comes
/// in.
Dataset sheared(Dataset data, Index percent);

struct TunedDigits {
    DataSplit first;   // plain digits to train on, sheared ones to test on
    DataSplit second;  // sheared ones
};
/// By the setting "shear", too.
TunedDigits tuned_digits_of(const RunContext& context, Result& result);

/// Weights after the setting "first_steps" of Adam at 1e-3 on the first data, in fp32; the score
/// is that on sheared digits.
Comparison first_training(const RunContext& context, Result& result, const Layers& net, const TunedDigits& data,
                          ProgressPart part);

// A text as numbers of its characters, for language models.

struct NumberedText {
    std::vector<int> characters{};
    int classes = 0;

    explicit NumberedText(const std::string& text) {
        std::string seen = text;
        std::ranges::sort(seen);
        seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
        classes = static_cast<int>(seen.size());
        for (const char c : text)
            characters.push_back(static_cast<int>(std::ranges::lower_bound(seen, c) - seen.begin()));
    }
};

}  // namespace ulp::natural

// Which share of the gradients is 0 at each step: counted in 16 bits, or predicted from the histograms of fp32 runs.

namespace ulp {

/// Of the steps that were looked at.
using StepHistograms = std::map<std::int64_t, BinadeHistogram>;
using Shares = std::map<std::int64_t, double>;

/// The mean over the seeds: zeros, and with an exponent what fp16 makes 0 under a loss scale of 2^exponent, which is
/// what is not above 2^-25 once scaled.
Shares shares_of_zeros(const std::vector<const StepHistograms*>& seeds, std::optional<int> exponent);

/// Over the steps of `a`, which `b` has, too.
double largest_difference(const Shares& a, const Shares& b);

Series series_of(std::string name, const Shares& shares);
/// Pairs of series, over steps: a line for what was predicted, marks for what was counted.
void draw_predicted_shares(Figure& figure, std::string label);

}  // namespace ulp
