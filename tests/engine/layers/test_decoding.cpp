#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>

#include "engine/layers/decoding.hpp"
#include "engine/tensor/random.hpp"

namespace {

using namespace ulp;
using Labels = std::vector<int>;

/// Scores (time, 1, classes) whose largest is the given class in each step.
Tensor saying(const Labels& path, Index classes) {
    Tensor scores({static_cast<Index>(path.size()), 1, classes});
    for (std::size_t t = 0; t < path.size(); ++t) scores[static_cast<Index>(t) * classes + path[t]] = 1;
    return scores;
}

TEST_CASE("the best path tells repeats once and leaves blanks out") {
    CHECK(best_path(saying({0, 1, 1, 0, 0, 2, 2}, 3), 0, 7) == Labels{1, 2});
    CHECK(best_path(saying({1, 0, 1}, 3), 0, 3) == Labels{1, 1});  // a blank between: said twice
    CHECK(best_path(saying({1, 1, 2, 1}, 3), 0, 4) == Labels{1, 2, 1});
    CHECK(best_path(saying({1, 1, 2, 1}, 3), 0, 2) == Labels{1});        // the rest is padding
    CHECK(best_path(saying({0, 2, 1, 2}, 3), 0, 4, 2) == Labels{0, 1});  // another blank
    CHECK(best_path(Tensor(Shape{2, 1, 3}), 0, 2, 1) == Labels{0});      // the first of equals
    CHECK(best_path(saying({1, 2}, 3), 0, 0).empty());
    Tensor two({2, 2, 3});
    two[0 + 1] = two[3 + 2] = two[6 + 1] = two[9 + 0] = 1;
    CHECK(best_path(two, 0, 2) == Labels{1});
    CHECK(best_path(two, 1, 2) == Labels{2});
    CHECK_THROWS_AS((void)best_path(two, 2, 2), std::invalid_argument);
    CHECK_THROWS_AS((void)best_path(two, 0, 3), std::invalid_argument);
    CHECK_THROWS_AS((void)best_path(Tensor(Shape{2, 3}), 0, 2), std::invalid_argument);
}

/// By the definition: the last labels are the same, or one of them is dropped, inserted or replaced.
Index plain_distance(const Labels& a, const Labels& b) {
    if (a.empty() || b.empty()) return static_cast<Index>(a.size() + b.size());
    const Labels shorter_a(a.begin(), a.end() - 1);
    const Labels shorter_b(b.begin(), b.end() - 1);
    return std::min({plain_distance(shorter_a, shorter_b) + (a.back() == b.back() ? 0 : 1),
                     plain_distance(shorter_a, b) + 1, plain_distance(a, shorter_b) + 1});
}

TEST_CASE("the edit distance is the least number of edits") {
    CHECK(edit_distance(Labels{}, Labels{}) == 0);
    CHECK(edit_distance(Labels{1, 2, 3}, Labels{}) == 3);
    CHECK(edit_distance(Labels{1, 2, 3}, Labels{2, 3}) == 1);
    CHECK(edit_distance(Labels{1, 2, 3}, Labels{1, 4, 3}) == 1);
    CHECK(edit_distance(Labels{1, 2}, Labels{2, 1}) == 2);
    Random random(1);
    int differences = 0;
    for (int i = 0; i < 500; ++i) {
        Labels a(random.below(6));
        Labels b(random.below(6));
        for (int& label : a) label = static_cast<int>(random.below(3));
        for (int& label : b) label = static_cast<int>(random.below(3));
        differences += edit_distance(a, b) == plain_distance(a, b) ? 0 : 1;
    }
    CHECK(differences == 0);
}

}  // namespace
