// Exercise, the project: mixed-precision training of a net with one hidden layer, with a dynamic loss scale.
#include <cmath>

#include "engine/recipes/loss_scale.hpp"
#include "experiments/course/exercises/common.hpp"

namespace ulp::course {
namespace {

constexpr std::string_view name = "mixed_precision_training";
constexpr std::size_t head = 6;  // hidden, rate, scale, growth, backoff, interval; then the weights

using Floats = std::vector<float>;

struct Trainer {
    std::string_view mistake;
    Floats weights[3];  // masters, of the two inputs and of the output
    float rate;
    LossScale scale;
    std::int64_t interval, clean = 0;  // for a scale that does not move as it should
    float own_scale, growth, backoff;

    [[nodiscard]] bool is(std::string_view id) const { return mistake == id; }
    [[nodiscard]] float half(float x, std::string_view unrounded = "") const {
        return !unrounded.empty() && is(unrounded) ? x : on_half_grid(x);
    }
    [[nodiscard]] float scale_now() const { return mistake.empty() ? static_cast<float>(scale.value()) : own_scale; }
    void move_scale(bool found) {
        scale.update(found);
        clean = found ? 0 : clean + 1;
        if (found && !is("scale_not_lowered")) own_scale *= backoff;
        if (clean != interval) return;
        if (!is("scale_never_grows")) own_scale *= growth;
        clean = 0;
    }

    float step(const float* x, float target) {
        const std::size_t n = weights[2].size();
        Floats w[3], a, h, gradients[3];
        float sum = 0;
        for (int k = 0; k < 3; ++k) {
            for (const float master : weights[k]) w[k].push_back(half(master, "weights_not_rounded"));
        }
        for (std::size_t j = 0; j < n; ++j) {
            a.push_back(half(w[0][j] * x[0] + w[1][j] * x[1], "hidden_not_rounded"));
            h.push_back(a[j] > 0 ? a[j] : 0);
            sum += w[2][j] * h[j];
        }
        const float error = half(sum, "output_not_rounded") - target;
        const float factor = scale_now();
        const float loss = error * error / 2 * (is("loss_scaled") ? factor : 1);
        const float d = half(error * (is("not_scaled") ? 1 : factor));
        bool found = false;
        for (std::size_t j = 0; j < n; ++j) {
            float after = w[2][j];
            if (is("updated_weights_in_backward")) after = half(weights[2][j] - rate * (half(d * h[j]) / factor));
            const float dh = half(d * after);
            const float da = a[j] > 0 || is("relu_ignored") ? dh : 0;
            const float exact[] = {da * x[0], da * x[1], d * h[j]};
            for (int k = 0; k < 3; ++k) {
                gradients[k].push_back(half(exact[k], "gradients_not_rounded"));
                found = found || !std::isfinite(gradients[k].back());
            }
        }
        if (is("not_skipped")) found = false;
        for (int k = 0; k < 3 && !found; ++k) {
            for (std::size_t j = 0; j < n; ++j) {
                const bool as_is = is("not_scaled") || is("not_unscaled");
                const float change = rate * (as_is ? gradients[k][j] : gradients[k][j] / factor);
                weights[k][j] = is("no_masters") ? half(w[k][j] - change) : weights[k][j] - change;
            }
        }
        move_scale(found);
        return loss;
    }
};

/// Question: hidden units, rate, scale, growth, backoff, interval, the weights, and for each step target and inputs.
/// Answer: of each step the loss and then the scale.
Words solve(const Words& question, std::string_view mistake) {
    const std::size_t n = question[0];
    const float scale = single(question[2]);
    const float growth = single(question[3]);
    const float backoff = single(question[4]);
    const auto interval = static_cast<std::int64_t>(question[5]);
    Trainer trainer{mistake,
                    {},
                    single(question[1]),
                    LossScale({.dialect = "pytorch",
                               .dynamic = true,
                               .initial = scale,
                               .growth = growth,
                               .backoff = backoff,
                               .window = interval,
                               .fp32 = true}),
                    interval,
                    0,
                    scale,
                    growth,
                    backoff};
    std::size_t at = head;
    for (Floats& weights : trainer.weights) {
        while (weights.size() < n) weights.push_back(single(question[at++]));
    }
    Words answer;
    for (; at + 3 <= question.size(); at += 3) {
        const float x[] = {single(question[at + 1]), single(question[at + 2])};
        answer.push_back(bits(trainer.step(x, single(question[at]))));
        answer.push_back(bits(trainer.scale_now()));
    }
    return answer;
}

struct Kind {
    float rate, scale;
    int interval, steps;
    int kept = 11;          // significant bits of weights and inputs
    int weights = -1;       // exponent of them
    int inputs = -1;        // exponent of them
    bool positive = false;  // weights and inputs: every hidden unit is active
    int large_in = 0;       // one step in that many has inputs of 2^14
};

Words question_of(Random& random, const Kind& kind) {
    const auto n = static_cast<Word>(random.between(2, 4));
    Words question{n, bits(kind.rate), bits(kind.scale), bits(2), bits(0.5), static_cast<Word>(kind.interval)};
    const auto number = [&](int exponent) {
        const Word word = random_single(random, exponent, exponent + 1) & ~Word{0} << (24 - kind.kept);
        return kind.positive ? word & 0x7FFFFFFF : word;
    };
    for (Word i = 0; i < 3 * n; ++i) question.push_back(number(kind.weights));
    for (int step = 0; step < kind.steps; ++step) {
        const bool large = kind.large_in != 0 && random.below(static_cast<std::uint64_t>(kind.large_in)) == 0;
        const int inputs = large ? 14 : kind.inputs;
        question.push_back(number(-1));
        for (int i = 0; i < 2; ++i) question.push_back(number(inputs));
    }
    return question;
}

/// One function, of which the steps see samples: target = x[0] - x[1] / 2.
Words learning(Random& random) {
    Words question = question_of(random, {0.0625F, 1024, 1000, 0, 11, -1, -1, true});
    for (int step = 0; step < 40; ++step) {
        const float x[] = {on_half_grid(single(random_single(random, -2, 0))),
                           on_half_grid(single(random_single(random, -2, 0)))};
        for (const float value : {x[0] - x[1] / 2, x[0], x[1]}) question.push_back(bits(value));
    }
    return question;
}

std::vector<Group> hidden(std::uint64_t seed) {
    const Ideas ideas(name, seed);
    // What one step gets wrong all later ones see: a mistake pays in its own group.
    const auto group = [&](const char* title, int points, const std::vector<std::string_view>& catches, auto make,
                           int tolerance = 0) {
        Leniency lenient{.tolerance = tolerance};
        for (const Mistake& mistake : exercise_by_name(name).mistakes) {
            if (!contains(catches, mistake.id)) lenient.forgives.push_back(mistake.id);
        }
        return ideas.group(title, points, catches, 30, make, lenient);
    };
    const auto of = [](const Kind& kind) { return [kind](Random& r) { return question_of(r, kind); }; };
    return {
        group("forward and the loss", 3,
              {"hidden_not_rounded", "output_not_rounded", "weights_not_rounded", "loss_scaled"},
              of({0.0625F, 8, 100, 1, 15})),
        group("backward", 3, {"relu_ignored", "updated_weights_in_backward", "not_unscaled"}, of({0.5F, 4, 100, 2, 6})),
        group("gradients in halves under a scale", 3, {"not_scaled", "gradients_not_rounded"},
              of({0x1p15F, 1024, 100, 4, 11, -1, -14})),
        group("masters", 2, {"no_masters"}, of({0x1p-12F, 1, 100, 12, 11, 0, 0, true})),
        group("the dynamic scale", 2, {"not_skipped", "scale_not_lowered", "scale_never_grows"},
              of({0x1p-6F, 16, 3, 10, 11, -1, -1, false, 4})),
        group("it learns: 40 steps", 2, {}, learning, 1 << 18)};
}

}  // namespace

Exercise mixed_precision_training_exercise() {
    return {name,
            "The project: mixed-precision training of a net",
            "issssis",
            "s",
            {{"no_masters", "keeps no masters: the updated weights are rounded to halves"},
             {"weights_not_rounded", "computes with the masters; the model's weights are halves"},
             {"hidden_not_rounded", "does not round the hidden units to halves"},
             {"output_not_rounded", "does not round the output to a half"},
             {"loss_scaled", "returns the scaled loss"},
             {"relu_ignored", "lets gradients through hidden units that are not active"},
             {"updated_weights_in_backward", "updates the output's weights before it uses them in the backward pass"},
             {"not_unscaled", "updates with gradients that still carry the scale"},
             {"not_scaled", "does not scale the loss"},
             {"gradients_not_rounded", "does not round the weights' gradients to halves"},
             {"not_skipped", "steps although a gradient is infinite or NaN"},
             {"scale_not_lowered", "does not lower the scale after an overflow"},
             {"scale_never_grows", "does not let the scale grow after clean steps"}},
            solve,
            hidden,
            "hidden rate! scale! growth! backoff! interval! wa[hidden] wb[hidden] wo[hidden] step(target xa xb)",
            "step(loss scale)",
            {},
            true};
}

}  // namespace ulp::course
