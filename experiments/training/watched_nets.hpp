// Nets of several kinds whose numbers are looked at while they train in fp32: exponents of weights, activations and
// both gradients, frame by frame.
#pragma once

#include "engine/data/dataset.hpp"
#include "engine/nets/nets.hpp"
#include "engine/watching/watch.hpp"
#include "experiments/shared/binade_histogram.hpp"
#include "experiments/training/comparison.hpp"
#include "experiments/training/training.hpp"

namespace ulp {

inline constexpr std::size_t watched_roles = 4;  // in the order of TensorRole

/// What one net's numbers looked like at a step.
struct NetFrame {
    std::int64_t step;
    std::array<BinadeHistogram, watched_roles> roles;

    [[nodiscard]] const BinadeHistogram& of(TensorRole role) const { return roles[static_cast<std::size_t>(role)]; }
};

struct WatchedNet {
    std::string name;  // cnn, normalised_cnn (of another net than "plain" its name), lstm, transformer
    std::vector<NetFrame> frames;
};

struct WatchedNetOptions {
    std::int64_t steps = 100;
    int frames = 8;
    std::string normalised = "plain";  // which net on batch normalisation
};

/// A CNN without and one with batch normalisation on generated digits, an LSTM and a Transformer on generated text.
/// fp32 on soft:ieee, so that no gradient is lost; side by side.
std::vector<WatchedNet> train_watched_nets(const RunContext& context, Result& result, const WatchedNetOptions& options,
                                           ProgressPart part);

/// The exponent that half of the finite numbers of a histogram lie below (zeros left out), where there is one.
std::optional<int> median_exponent(const BinadeHistogram& histogram);

/// The published histogram of a detection net's activation gradients (NVIDIA's documentation, as the notebook quotes
/// it), as shares: zeros, numbers that fp16 makes 0, and the rest.
struct PublishedShares {
    double zeros = 0.668;
    double lost = 0.31;
    double kept = 0.053;
};
inline constexpr PublishedShares published_shares;

/// A histogram made after the published one: `count` numbers with the published share of zeros; of the others as many
/// are lost in fp16 and kept as the source's shares say.
BinadeHistogram published_replica(std::int64_t count, double scale, std::uint64_t seed);

// Training of a small net whose numbers are looked at on the way.
//
// The net trains in the recipe and matrix arithmetic asked for. At several steps the same weights and batch go once
// more through a probe: forward and backward in fp32, where no gradient is lost, so that the histograms show the true
// sizes.

/// A tensor that is looked at: its role in training and the name that the trainer gives it.
struct Watched {
    TensorRole role;
    std::string_view tensor;
};
/// In the order of the figures.
inline constexpr Watched watched[] = {
    {TensorRole::weight, "fc1.weight"},          {TensorRole::weight, "fc2.weight"},
    {TensorRole::activation, "fc1/linear"},      {TensorRole::activation, "relu"},
    {TensorRole::activation, "fc2/linear"},      {TensorRole::weight_gradient, "fc1.weight"},
    {TensorRole::weight_gradient, "fc2.weight"}, {TensorRole::activation_gradient, "fc1/linear"},
    {TensorRole::activation_gradient, "relu"},   {TensorRole::activation_gradient, "fc2/linear"},
};
/// Where the gradient of fc1's output stands among them.
inline constexpr std::size_t gradient_of_fc1 = 7;

/// One histogram for each row of `watched`.
using Histograms = std::vector<BinadeHistogram>;

struct Snapshot {
    std::int64_t step;
    Histograms histograms;  // in fp32, scale 1
};

/// What the probes saw at four places of the training.
struct Probes {
    std::vector<Snapshot> snapshots;
    // The last snapshot's weights and batch once more: in fp32 with the scale; as the net trains without and with it.
    Histograms fp32_scaled, low, low_scaled;
};

struct ProbeOptions {
    Layers net;  // two linear layers with relu between them
    Index batch = 64;
    std::int64_t steps = 0;
    Arithmetic trained;  // as the net trains
    double scale = 1;    // the loss scale of the probes with one
};
/// Digits told apart, with probes on the way; keeps Probes.
TaskBuilder probed_task(const ProbeOptions& options, const DataSplit& data);

static_assert(watched[gradient_of_fc1].tensor == "fc1/linear" && is_gradient(watched[gradient_of_fc1].role));

// Which constant loss scales suit a net, predicted from the exponents of its gradients in fp32.

/// What a run's gradients are like, over all its steps.
struct GradientRanges {
    BinadeHistogram histogram{};
    std::map<std::string, BinadeHistogram> by_tensor{};
    float largest = 0;          // finite magnitude, without the loss scale
    std::int64_t infinite = 0;  // steps whose weight gradients were not all finite
};
/// Looks at every gradient that lies in 16 bits when the net trains in fp16: all but the loss's own. Keeps
/// GradientRanges.
TaskBuilder watching_gradient_ranges(const TaskBuilder& task);
/// Those of all seeds together.
BinadeHistogram gradients_of(const std::vector<Learned>& runs);

/// What one pass over fp32 runs says about a scale of 2^n; the runs must outlive it.
struct ScalePrediction {
    BinadeHistogram gradients;                      // of all seeds
    std::vector<const BinadeHistogram*> tensors{};  // by seed and tensor
    float largest = 0;

    explicit ScalePrediction(const std::vector<Learned>& runs);
    /// The least n in 0..60 of which no tensor loses more than half of its gradients.
    [[nodiscard]] int first_exponent() const;
    /// The largest n in 0..60 with which the largest gradient stays finite in fp16.
    [[nodiscard]] int last_exponent() const;
};

}  // namespace ulp
