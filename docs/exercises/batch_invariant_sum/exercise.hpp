#pragma once

/// sums[r]: the sum of the numbers x[r * columns] ... x[r * columns + columns - 1], for r from 0 to rows - 1.
void row_sums(const float* x, int rows, int columns, int workers, float* sums);
