#pragma once

/// The sum of x[0] ... x[n - 1], each the value of a half; exact, then rounded once to a single. 1 <= n <= 10000.
float sum(const float* x, int n);
