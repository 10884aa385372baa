#include "engine/layers/decoding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace ulp {

std::vector<int> best_path(const Tensor& scores, Index sequence, Index steps, int blank) {
    if (scores.rank() != 3 || sequence < 0 || sequence >= scores.dim(1) || steps < 0 || steps > scores.dim(0)) {
        throw std::invalid_argument(
            fmt::format("best_path: scores {} (time, batch, classes) have no {} steps of sequence {}",
                        text_of(scores.shape()), steps, sequence));
    }
    const Index classes = scores.dim(2);
    std::vector<int> labels;
    int before = blank;
    for (Index t = 0; t < steps; ++t) {
        const float* row = scores.data() + (t * scores.dim(1) + sequence) * classes;
        const int label = static_cast<int>(std::max_element(row, row + classes) - row);
        if (label != before && label != blank) labels.push_back(label);
        before = label;
    }
    return labels;
}

Index edit_distance(std::span<const int> a, std::span<const int> b) {
    // Row i: the distance of a's first i labels to b's first 0, 1, 2, ...
    std::vector<Index> row(b.size() + 1);
    std::iota(row.begin(), row.end(), Index{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        Index diagonal = row[0]++;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const Index replaced = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

}  // namespace ulp
