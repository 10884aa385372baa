// Training runs that a search asks for. Each leaves a file named by all that decides its result, so that none is made
// twice: not after an interruption, and not by another process that searches in the same folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/cli/net_declarations.hpp"
#include "experiments/framework/sweep.hpp"
#include "experiments/training/training.hpp"

namespace ulp {

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

}  // namespace ulp
