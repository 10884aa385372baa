// Averages of the weights of one training in several formats at once, and what fp32 alone says of them.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "experiments/natural/lost_updates.hpp"

namespace ulp::natural {

inline constexpr std::array decays = {0.99, 0.999, 0.9999};

/// How averages are kept.
struct AverageKeeping {
    std::string name;
    FloatFormat format;
    UpdateRounding rounding = UpdateRounding::nearest;
};

/// What is left of the averages of one training: shares of those that never left their start, and their largest steps.
struct Standstill {
    std::vector<double> measured;                  // [decay][keeping]
    std::vector<std::array<double, 2>> predicted;  // [decay]: in bf16 and fp16, from fp32 alone
    std::vector<UpdateSizes> largest_steps;        // [decay]: in ulps of bf16
};

/// The task, with averages for each of `decays` in each way. Scores: the accuracy of each average, [decay][keeping];
/// keeps Standstill.
TaskBuilder averaged_task(const TaskBuilder& task, const std::vector<AverageKeeping>& keepings);

}  // namespace ulp::natural
