// Nets of several kinds whose numbers are looked at while they train in fp32: exponents of weights, activations and
// both gradients, frame by frame.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "engine/watching/watch.hpp"
#include "experiments/shared/binade_histogram.hpp"
#include "experiments/training/comparison.hpp"

namespace ulp {

inline constexpr std::size_t watched_roles = 4;  // in the order of TensorRole

/// What one net's numbers looked like at a step.
struct NetFrame {
    std::int64_t step;
    std::array<BinadeHistogram, watched_roles> roles;

    [[nodiscard]] const BinadeHistogram& of(TensorRole role) const { return roles[static_cast<std::size_t>(role)]; }
};

struct WatchedNet {
    std::string name;  // cnn, normalised_cnn, lstm, transformer
    std::vector<NetFrame> frames;
};

struct WatchedNetOptions {
    std::int64_t steps = 100;
    int frames = 8;
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

}  // namespace ulp
