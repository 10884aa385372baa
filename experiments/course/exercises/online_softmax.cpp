// Exercise: the softmax of a row of scores that come tile by tile, times values, as fused attention computes it.
#include "softfloat/functions/online_softmax.hpp"

#include <cmath>

#include "experiments/course/exercises/common.hpp"

namespace ulp::course {
namespace {

constexpr std::string_view name = "online_softmax";
constexpr float nothing = -std::numeric_limits<float>::infinity();

float exponential(float x) { return evaluate_fp32<functions::Exp>(x); }

/// The rule written out, with places to go wrong. The right weights, sums and factors are those of the attention model.
struct OwnRow {
    std::string_view mistake;
    float largest = nothing, sum = 0, out = 0;

    void take(const std::vector<float>& scores, const std::vector<float>& values) {
        float now = mistake == "tile_maximum" ? nothing : largest;
        for (const float score : scores) now = std::max(now, score);
        if (mistake == "no_maximum") largest = now = 0;
        if (std::isinf(now) && mistake != "masked_nan") return;
        float factor = exponential(largest - now);
        if (mistake == "factor_inverted" && !std::isinf(largest)) factor = exponential(now - largest);
        if (mistake != "sum_not_rescaled") sum *= factor;
        if (mistake != "out_not_rescaled") out *= factor;
        largest = now;
        float tile_sum = 0;
        float tile_out = 0;
        const bool apart = mistake == "tile_sums_first";
        for (std::size_t i = 0; i < scores.size(); ++i) {
            const float weight = exponential(scores[i] - now);
            (apart ? tile_sum : sum) += weight;
            (apart ? tile_out : out) += weight * values[i];
        }
        sum += tile_sum;
        out += tile_out;
    }
    [[nodiscard]] float result() const { return sum == 0 && mistake != "zero_by_zero" ? 0 : out / sum; }
};

/// Question: n, the keys of a tile, n scores, n values. Answer: the result after each tile.
Words solve(const Words& question, std::string_view mistake) {
    const std::size_t n = question[0];
    const std::size_t tile = question[1];
    OwnRow own{mistake};
    SoftmaxRow right;
    float out = 0;
    Words answer;
    for (std::size_t first = 0; first < n; first += tile) {
        std::vector<float> scores, values;
        for (std::size_t i = first; i < std::min(first + tile, n); ++i) {
            scores.push_back(single(question[2 + i]));
            values.push_back(single(question[2 + n + i]));
        }
        if (!mistake.empty()) {
            own.take(scores, values);
            answer.push_back(bits(own.result()));
            continue;
        }
        out *= next_tile(right, scores.data(), static_cast<std::int64_t>(scores.size()));
        for (std::size_t i = 0; i < scores.size(); ++i) out += scores[i] * values[i];
        answer.push_back(bits(right.sum == 0 ? 0 : out / right.sum));
    }
    return answer;
}

/// Scores in [low, high], in a row of some tiles; the first of them is the largest of all where `first_largest`.
struct Kind {
    int low, high;
    int tiles;
    int tile = 0;  // 0: 2 to 4 keys
    bool first_largest = false;
    bool rising = false;  // each tile has the largest score so far
};

Words question_of(Random& random, const Kind& kind) {
    const auto tile = static_cast<Word>(kind.tile != 0 ? kind.tile : random.between(2, 4));
    const Word n = tile * static_cast<Word>(kind.tiles);
    Words question{n, tile};
    for (Word i = 0; i < n; ++i) {
        const double part = static_cast<double>(random.below(1 << 16)) / (1 << 16);
        const double place = kind.rising ? (i + part) / n : part;
        question.push_back(bits(static_cast<float>(kind.low + place * (kind.high - kind.low))));
    }
    if (kind.first_largest) question[2] = bits(static_cast<float>(kind.high));
    for (Word i = 0; i < n; ++i) question.push_back(random_single(random, -2, 1));
    return question;
}

Words masked(Random& random) {
    Words question = question_of(random, {-3, 0, 3, 1, true});
    std::swap(question[2], question[2 + random.below(3)]);
    for (std::size_t i = 2; i < 5; ++i) {
        if (question[i] != 0 && random.below(3) != 0) question[i] = bits(nothing);
        if (random.below(8) == 0) question[2] = question[3] = question[4] = bits(nothing);
    }
    return question;
}

std::vector<Group> hidden(std::uint64_t seed) {
    const Ideas ideas(name, seed);
    const auto group = [&](const char* title, int points, std::vector<std::string_view> catches, const Kind& kind) {
        return ideas.group(title, points, std::move(catches), 40, [&](Random& r) { return question_of(r, kind); });
    };
    return {
        group("one tile, the largest score is 0", 2, {}, {-6, 0, 1, 0, true}),
        group("scores of any size", 2, {"no_maximum"}, {60, 200, 1}),
        group("a larger score comes later", 3,
              {"sum_not_rescaled", "out_not_rescaled", "factor_inverted", "no_maximum"}, {-3, 3, 4, 1, false, true}),
        group("the largest score came first", 1, {"tile_maximum"}, {-4, 0, 4, 1, true}),
        group("sums one by one, across tiles", 1, {"tile_sums_first", "tile_maximum"}, {-3, 0, 3, 0, true}),
        ideas.group("masked keys", 1, {"masked_nan", "zero_by_zero", "tile_maximum"}, 60, masked)};
}

}  // namespace

Exercise online_softmax_exercise() {
    return {
        name,
        "Online softmax",
        "iis",
        "s",
        {{"no_maximum", "does not subtract the largest score: exponentials overflow, and other bits come out"},
         {"sum_not_rescaled", "does not rescale the sum when a larger score comes"},
         {"out_not_rescaled", "does not rescale the sum of the values when a larger score comes"},
         {"factor_inverted", "rescales by exp(new - old); the factor is exp(old - new), at most 1"},
         {"tile_maximum", "takes each tile's own largest score as the reference, also where an earlier one is larger"},
         {"tile_sums_first", "adds up a tile by itself and then adds that to the row: another order"},
         {"masked_nan", "subtracts -infinity from -infinity where all keys so far are masked"},
         {"zero_by_zero", "divides 0 by 0 where all keys are masked"}},
        solve,
        hidden,
        "n tile! scores[n] values[n]",
        "tile(result)",
        {},
        true};
}

}  // namespace ulp::course
