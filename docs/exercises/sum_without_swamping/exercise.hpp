#pragma once

/// The sum of x[0] ... x[n - 1], finite numbers; exact, then rounded once to a single. 1 <= n <= 10000.
float sum(const float* x, int n);
