// Training of a small net whose numbers are looked at on the way.
//
// The net trains in the recipe and matrix arithmetic asked for. At several steps the same weights and batch go once
// more through a probe: forward and backward in fp32, where no gradient is lost, so that the histograms show the true
// sizes.
#pragma once

#include <string_view>
#include <vector>

#include "engine/data/dataset.hpp"
#include "engine/nets/nets.hpp"
#include "experiments/shared/binade_histogram.hpp"
#include "experiments/training/training.hpp"

namespace ulp {

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

}  // namespace ulp
