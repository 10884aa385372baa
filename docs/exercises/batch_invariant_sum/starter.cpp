#include "exercise.hpp"

void row_sums(const float* x, int rows, int columns, int workers, float* sums) {
    (void)x;
    (void)columns;
    (void)workers;
    for (int r = 0; r < rows; ++r) sums[r] = 0;  // to be written
}
