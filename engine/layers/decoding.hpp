// From a net's scores to what it says, and how far that is from what was said.
#pragma once

#include <span>
#include <vector>

#include "engine/tensor/tensor.hpp"

namespace ulp {

/// The best path through the scores (time, batch, classes) of a net that was trained with ctc: the largest score (the
/// first of equals) of each of the first `steps` steps, repeats told once, blanks left out (Graves et al., ICML 2006,
/// section 3.2). Throws std::invalid_argument for another rank, or a sequence or steps that are not there.
std::vector<int> best_path(const Tensor& scores, Index sequence, Index steps, int blank = 0);

/// The least number of labels to insert, drop and replace that makes one sequence the other (Levenshtein, 1966).
Index edit_distance(std::span<const int> a, std::span<const int> b);

}  // namespace ulp
