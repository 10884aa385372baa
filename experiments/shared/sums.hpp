// Sums in the arithmetic of a format, in two written orders.
#pragma once

#include <span>
#include <vector>

#include "softfloat/float.hpp"

namespace ulp {

/// ((x0 + x1) + x2) + ..., each sum rounded to T.
template <class T>
T sum_one_by_one(std::span<const T> values) {
    T sum{};
    for (const T value : values) sum += value;
    return sum;
}

/// The sum of the first half plus the sum of the second, all the way down, each sum rounded to T.
template <class T>
T sum_pairwise(std::span<const T> values) {
    if (values.empty()) return T{};
    if (values.size() == 1) return values.front();
    const std::size_t half = values.size() / 2;
    return sum_pairwise(values.first(half)) + sum_pairwise(values.subspan(half));
}

/// The squares of the differences from the mean, one after the other as a layer norm adds them up: each difference,
/// square and sum rounded to T.
template <class T>
T squares_one_by_one(std::span<const T> values) {
    const T mean = sum_one_by_one(values) / T(static_cast<double>(values.size()));
    T squares{};
    for (const T value : values) {
        const T difference = value - mean;
        squares += difference * difference;
    }
    return squares;
}

/// `count` copies of one value.
template <class T>
std::vector<T> copies(std::size_t count, double value) {
    return std::vector<T>(count, T(value));
}

}  // namespace ulp
