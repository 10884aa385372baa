// A grid of settings for one experiment: all combinations, each run once, and one table of what they gave.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/framework/runner.hpp"

namespace ulp {

/// One combination. Its folder's name is made from all that decides the result, so a case keeps its place when the
/// grid grows.
struct SweepCase {
    Request request;
    std::string folder;
};

/// The cases of a description, the last setting changing fastest. The description is JSON:
///
///     {"experiment": "swamping", "mode": "quick", "seeds": [1, 2, 3], "backends": ["soft:v100", "soft:h100"],
///      "settings": {"samples": [1000, 10000], "updates": 5000}}
///
/// Only "experiment" is needed. Throws DataError for what is not such a description, UsageError for an experiment, a
/// backend or a setting that there is not, and for a value out of range. `place` names the file in the errors.
std::vector<SweepCase> sweep_cases(std::string_view description, const std::string& place);

/// The i-th of n parts, 1 <= i <= n: every n-th case from the i-th on.
struct Shard {
    std::size_t index = 1;
    std::size_t count = 1;
};
/// From "2/8". Throws UsageError.
Shard parse_shard(std::string_view text);
std::vector<SweepCase> cases_of(const std::vector<SweepCase>& cases, const Shard& shard);

/// Every point of every case a row: experiment, mode, backend, seed, a column a setting, then the columns of data.csv.
/// `folder` holds the cases' folders, all complete. Throws DataError.
std::string sweep_points_csv(const std::vector<SweepCase>& cases, const std::filesystem::path& folder);
/// Every claim of every case a row: the same first columns, then id, verdict, expected and measured.
std::string sweep_claims_csv(const std::vector<SweepCase>& cases, const std::filesystem::path& folder);

}  // namespace ulp
