#include "exercise.hpp"

void next_tile(Row& row, const float* scores, const float* values, int n) {
    (void)row;
    (void)scores;
    (void)values;
    (void)n;  // to be written
}

float result(const Row& row) {
    (void)row;
    return 0;  // to be written
}
