// Exercise: PyTorch's dynamic loss scale.
#include <algorithm>
#include <cmath>

#include "engine/recipes/loss_scale.hpp"
#include "experiments/course/exercises/common.hpp"

namespace ulp::course {
namespace {

constexpr std::string_view name = "grad_scaler";
constexpr std::size_t gradients_a_step = 3;

bool is_bad(float x, std::string_view mistake) {
    if (mistake == "nan_missed") return std::isinf(x);
    if (mistake == "infinity_missed") return std::isnan(x);
    return !std::isfinite(x);
}

/// Whether a gradient was not finite; the gradients, unscaled, are appended to `answer`.
bool unscale(const Words& question, std::size_t first, float scale, std::string_view mistake, Words& answer) {
    const auto inverse = static_cast<float>(1 / static_cast<double>(scale));
    bool found = false;
    for (std::size_t i = 0; i < gradients_a_step; ++i) {
        const float before = single(question[first + i]);
        const float after =
            mistake == "divided" ? before / scale : before * (mistake == "multiplied" ? scale : inverse);
        found = found || is_bad(mistake == "judged_after" ? after : before, mistake);
        answer.push_back(bits(after));
    }
    return found;
}

/// The rule written out, with places to go wrong. The right answer comes from the trainer's own class.
struct OwnScale {
    float scale, growth, backoff;
    std::int64_t interval;
    std::string_view mistake;
    std::int64_t tracker = 0;

    void update(bool found) {
        if (found) {
            scale *= backoff;
            if (mistake == "floor_at_one") scale = std::max(scale, 1.F);
            if (mistake != "tracker_not_reset") tracker = 0;
            return;
        }
        ++tracker;
        if (tracker < interval + (mistake == "grows_late" ? 1 : 0)) return;
        const float grown = scale * growth;
        if (std::isfinite(grown) || mistake == "grows_to_infinity") scale = grown;
        if (mistake != "grows_every_step") tracker = 0;
    }
};

/// Question: scale, growth, backoff, interval, then three gradients a step.
/// Answer: of each step whether infinities were found, the gradients unscaled, and then scale and tracker.
Words solve(const Words& question, std::string_view mistake) {
    const auto interval = static_cast<std::int64_t>(question[3]);
    LossScale right({.dialect = "pytorch",
                     .dynamic = true,
                     .initial = single(question[0]),
                     .growth = single(question[1]),
                     .backoff = single(question[2]),
                     .window = interval,
                     .fp32 = true});
    OwnScale own{single(question[0]), single(question[1]), single(question[2]), interval, mistake};
    Words answer;
    for (std::size_t at = 4; at + gradients_a_step <= question.size(); at += gradients_a_step) {
        const bool own_way = !mistake.empty() && mistake != "divided";
        const float scale = !own_way ? static_cast<float>(right.value()) : own.scale;
        Words unscaled;
        const bool found = unscale(question, at, scale, mistake, unscaled);
        right.update(found);
        own.update(found);
        answer.push_back(found ? 1 : 0);
        answer.insert(answer.end(), unscaled.begin(), unscaled.end());
        answer.push_back(!own_way ? bits(static_cast<float>(right.value())) : bits(own.scale));
        answer.push_back(static_cast<Word>(!own_way ? right.growth_tracker() : own.tracker));
    }
    return answer;
}

struct Kind {
    int scale_exponent;
    int interval;
    int steps;
    int bad_in;   // one step in that many has a bad gradient; 0: none
    int largest;  // exponent of gradients; 0: they are zero
};

Words question_of(Random& random, const Kind& kind) {
    Words question{bits(std::ldexp(1.F, kind.scale_exponent)), bits(2.F), bits(0.5F), static_cast<Word>(kind.interval)};
    if (random.below(4) == 0) question[1] = bits(3.F);
    for (int step = 0; step < kind.steps; ++step) {
        const std::size_t first = question.size();
        for (std::size_t i = 0; i < gradients_a_step; ++i) {
            question.push_back(kind.largest == 0 ? 0 : random_single(random, kind.largest - 12, kind.largest));
        }
        if (kind.bad_in != 0 && random.below(static_cast<std::uint64_t>(kind.bad_in)) == 0) {
            const Word bad[] = {0x7F800000, 0xFF800000, 0x7FC00000};
            question[first + random.below(gradients_a_step)] = bad[random.below(3)];
        }
    }
    return question;
}

/// An overflow at a scale of 1 or a half, and gradients that are infinite when divided by less.
Words below_one(Random& random) {
    Words question = question_of(random, {-static_cast<int>(random.between(0, 1)), 50, 6, 0, 127});
    question[4] = 0x7F800000;
    question[5] = 0x7FC00000;
    return question;
}

std::vector<Group> hidden(std::uint64_t seed) {
    const Ideas ideas(name, seed);
    const auto group = [&](const char* title, int points, std::vector<std::string_view> catches, const Kind& kind) {
        return ideas.group(title, points, std::move(catches), 50, [&](Random& r) { return question_of(r, kind); });
    };
    return {group("unscaling", 2, {"multiplied"}, {16, 50, 3, 0, -3}),
            group("growth after clean steps", 3, {"grows_every_step", "grows_late"}, {16, 4, 24, 0, 0}),
            group("overflows", 3, {"tracker_not_reset", "nan_missed", "infinity_missed"}, {16, 50, 24, 3, 0}),
            group("a scale at the end of fp32", 1, {"grows_to_infinity", "grows_every_step", "grows_late"},
                  {122, 2, 24, 0, 0}),
            ideas.group("scales below one", 1, {"floor_at_one", "judged_after", "multiplied"}, 50, below_one)};
}

}  // namespace

Exercise grad_scaler_exercise() {
    return {
        name,
        "A GradScaler",
        "sssi(s)",
        "(issssi)",
        {{"tracker_not_reset", "does not set the growth tracker back after an overflow"},
         {"grows_every_step",
          "does not set the growth tracker back after growing: it grows at every step from then on"},
         {"grows_late", "grows one step late: the interval counts the clean steps up to and with the growing one"},
         {"grows_to_infinity", "lets the scale grow to infinity; it grows only while the product is finite in fp32"},
         {"floor_at_one", "does not lower the scale below 1; PyTorch's scale has no floor"},
         {"multiplied", "multiplies gradients by the scale where it must divide"},
         {"nan_missed", "does not notice NaN gradients"},
         {"infinity_missed", "does not notice infinite gradients"},
         {"judged_after", "looks for infinities after unscaling; below a scale of 1 that makes new ones"}},
        solve,
        hidden,
        "scale! growth! backoff! interval! step(gradients[3])",
        "step(found gradients[3] scale tracker)",
        {"divided"},
        true};
}

}  // namespace ulp::course
