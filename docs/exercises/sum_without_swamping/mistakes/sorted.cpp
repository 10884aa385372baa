// A planted mistake: sorted.
#include <algorithm>
#include <cmath>
#include <vector>

#include "exercise.hpp"

float sum(const float* x, int n) {
    std::vector<float> numbers(x, x + n);
    std::stable_sort(numbers.begin(), numbers.end(), [](float a, float b) { return std::fabs(a) < std::fabs(b); });
    float total = 0;
    for (const float number : numbers) total += number;
    return total;
}
