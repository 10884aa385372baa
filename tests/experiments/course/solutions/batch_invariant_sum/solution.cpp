// A batch-invariant sum: a solution.
#include <vector>

#include "exercise.hpp"

void row_sums(const float* x, int rows, int columns, int workers, float* sums) {
    (void)workers;
    for (int r = 0; r < rows; ++r) {
        const float* row = x + r * columns;
        std::vector<float> parts;
        for (int first = 0; first < columns; first += 8) {
            float sum = 0;
            for (int i = first; i < columns && i < first + 8; ++i) sum += row[i];
            parts.push_back(sum);
        }
        while (parts.size() > 1) {
            std::vector<float> pairs;
            for (std::size_t i = 0; i + 1 < parts.size(); i += 2) pairs.push_back(parts[i] + parts[i + 1]);
            if (parts.size() % 2 == 1) pairs.push_back(parts.back());
            parts = pairs;
        }
        sums[r] = parts[0];
    }
}
