// Two dumps of the same tensors, bit by bit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/analysis/input_files.hpp"

namespace ulp {

struct TensorDifference {
    std::string name;
    std::optional<std::int64_t> step;  // as the file's name says
    std::int64_t count = 0;
    std::int64_t differ = 0;  // numbers whose bits differ
    std::int64_t first = -1;  // the first of them, in C order
    std::uint64_t first_bits = 0, first_other_bits = 0;
    std::uint64_t most_ulps = 0;  // between two numbers; zeros of either sign are equal here
    std::int64_t most_ulps_at = -1;
    double largest_difference = 0;  // of finite numbers
    std::int64_t only_one_nan = 0;  // numbers that are NaN in one of the two
};

/// Tensor by tensor, in the order of `tensors`, which are paired by name; one tensor on each side is a pair whatever
/// the names. Types without a format are compared byte by byte, without ulps. Throws DataError: a tensor has no
/// partner, or one of another type or shape.
std::vector<TensorDifference> differences(const std::vector<InputTensor>& tensors,
                                          const std::vector<InputTensor>& others);

// How two dumps of several steps come apart.

/// All tensors of one step.
struct StepDrift {
    std::optional<std::int64_t> step;  // as the files' names say
    std::int64_t tensors = 0, tensors_differ = 0;
    std::int64_t count = 0, differ = 0;  // numbers
    std::uint64_t most_ulps = 0;
    double largest_difference = 0;
    std::string first{};  // tensor that differs; empty where none does
};

/// In the order of the differences, which is that of the steps.
std::vector<StepDrift> drift_over_steps(const std::vector<TensorDifference>& differences);

/// "The dumps differ from step 12 on, first in layer.weight; ... grew 8-fold to step 40." Empty with fewer than two
/// steps.
std::string drift_sentence(const std::vector<StepDrift>& drift);

}  // namespace ulp
