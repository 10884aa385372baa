// Trainings that a search asks for. Each leaves a file named by all that decides its result, so that none is made
// twice: not after an interruption, and not by another process that searches in the same folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/nets/net_options.hpp"
#include "experiments/framework/sweep.hpp"

namespace ulp {

/// One training: the arithmetic and the seed. Runs of one seed share data, order and initial weights.
struct Trial {
    std::string label;  // for people
    Recipe recipe;
    std::string backend;
    std::uint64_t seed = 1;
    bool counts_gradients = false;  // of a recipe whose loss scale is 1
};

/// The gradients of one tensor over all steps.
struct GradientCounts {
    std::map<int, std::int64_t> exponents;  // numbers with magnitude in [2^e, 2^(e + 1))
    float largest = 0;                      // finite magnitude
    bool operator==(const GradientCounts&) const = default;
};

struct TrialResult {
    double loss = 0;  // mean of the steps' losses in the last tenth of the training; NaN if one of them is
    std::int64_t skipped = 0;
    std::map<std::string, GradientCounts> gradients{};  // where the trial counts them
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
    [[nodiscard]] std::int64_t bytes_of_step(const Recipe& recipe, const std::string& backend) const;

    [[nodiscard]] const NetOptions& options() const { return options_; }
    [[nodiscard]] const NetDescription& net() const { return net_; }

  private:
    [[nodiscard]] std::filesystem::path file_of(const Trial& trial);
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
