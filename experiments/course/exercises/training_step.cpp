// Exercise: the eleven steps of one mixed-precision training step, of a linear model with one output.
#include <fmt/core.h>

#include <cmath>

#include "experiments/course/exercises/common.hpp"

namespace ulp::course {
namespace {

constexpr std::string_view name = "training_step";
constexpr int steps = 3;

using Floats = std::vector<float>;

struct Settings {
    float scale, rate, limit;
};
struct Model {
    Floats masters, weights;
};

Floats on_half_grid_all(Floats values) {
    for (float& x : values) x = on_half_grid(x);
    return values;
}

float norm_of(const Floats& values, bool in_double) {
    double wide = 0;
    float sum = 0;
    for (const float x : values) {
        sum += x * x;
        wide += static_cast<double>(x) * static_cast<double>(x);
    }
    return in_double ? static_cast<float>(std::sqrt(wide)) : std::sqrt(sum);
}
/// By limit / norm where the norm exceeds the limit. In which order the three are computed is left open.
Floats clipped(Floats values, float limit, std::string_view way = "") {
    const float norm = norm_of(values, way == "norm_in_double");
    if (!(norm > limit)) return values;
    for (float& x : values) {
        x = way == "product_first" ? x * limit / norm : way == "quotient_first" ? x / norm * limit : x * (limit / norm);
    }
    return values;
}

bool all_finite(const Floats& values) {
    for (const float x : values) {
        if (!std::isfinite(x)) return false;
    }
    return true;
}

/// Steps 2 to 5: the gradients of the scaled loss, on the grid of halves.
Floats scaled_gradients(const Model& model, const Floats& x, float target, float scale) {
    float sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += model.weights[i] * x[i];
    const float error = on_half_grid(sum) - target;
    const float output_gradient = on_half_grid(error * scale);
    Floats gradients;
    for (const float value : x) gradients.push_back(on_half_grid(output_gradient * value));
    return gradients;
}

bool step(Model& model, const Floats& x, float target, Settings settings, std::string_view mistake) {
    if (mistake == "not_scaled") settings.scale = 1;
    Floats gradients = scaled_gradients(model, x, target, settings.scale);
    if (!all_finite(gradients) && mistake != "not_skipped") return false;
    if (mistake == "clipped_before_unscaling") gradients = clipped(gradients, settings.limit);
    for (float& g : gradients) g = mistake == "multiplied" ? g * settings.scale : g / settings.scale;
    if (mistake == "unscaled_in_half") gradients = on_half_grid_all(gradients);
    if (mistake != "clipped_before_unscaling" && mistake != "not_clipped") {
        gradients = clipped(gradients, settings.limit, mistake);
    }
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        const float from = mistake == "no_masters" ? model.weights[i] : model.masters[i];
        model.masters[i] = from - settings.rate * gradients[i];
        if (mistake == "no_masters") model.masters[i] = on_half_grid(model.masters[i]);
    }
    if (mistake != "model_not_updated") model.weights = on_half_grid_all(model.masters);
    return true;
}

/// Question: n, scale, rate, limit, n masters, and for each of three steps the target and n inputs.
Words solve(const Words& question, std::string_view mistake) {
    const std::size_t n = question[0];
    std::size_t at = 1;
    const auto next = [&] { return single(question[at++]); };
    const auto list = [&] {
        Floats values;
        while (values.size() < n) values.push_back(next());
        return values;
    };
    const Settings settings{.scale = next(), .rate = next(), .limit = next()};
    Model model{.masters = list(), .weights = {}};
    model.weights = on_half_grid_all(model.masters);
    Words answer;
    for (int i = 0; i < steps; ++i) {
        const float target = next();
        answer.push_back(bits(step(model, list(), target, settings, mistake) ? 1.F : 0.F));
        for (const float x : model.masters) answer.push_back(bits(x));
        for (const float x : model.weights) answer.push_back(bits(x));
    }
    return answer;
}

std::string label(const Words& question, std::size_t index) {
    const std::size_t n = question[0];
    const std::size_t step_number = index / (2 * n + 1) + 1;
    const std::size_t place = index % (2 * n + 1);
    if (place == 0) return fmt::format("step {}: whether it stepped", step_number);
    return place <= n ? fmt::format("step {}: masters[{}]", step_number, place - 1)
                      : fmt::format("step {}: weights[{}]", step_number, place - n - 1);
}

struct Sizes {
    float scale, rate, limit;
    int error;   // exponent of target's distance
    int inputs;  // exponent of the inputs
};

Words question_of(Random& random, const Sizes& sizes) {
    const auto n = static_cast<Word>(random.between(2, 5));
    Words question{n, bits(sizes.scale), bits(sizes.rate), bits(sizes.limit)};
    for (Word i = 0; i < n; ++i) question.push_back(random_single(random, -2, 0));
    for (int i = 0; i < steps; ++i) {
        question.push_back(random_single(random, sizes.error, sizes.error + 1));
        for (Word k = 0; k < n; ++k) {
            question.push_back(bits(on_half_grid(single(random_single(random, sizes.inputs, sizes.inputs + 1)))));
        }
    }
    return question;
}

std::vector<Group> hidden(std::uint64_t seed) {
    const auto group = [seed](const char* title, int points, const Sizes& sizes) {
        return random_group(name, seed, title, points, 60, [&](Random& r) { return question_of(r, sizes); });
    };
    Group overflows = group("a step to be skipped", 2, {65536, 0.01F, 1000, 3, 1});
    return {group("ordinary gradients", 2, {128, 0.01F, 1000, 0, -2}),
            group("gradients that underflow unscaled", 2, {16384, 256, 1000, -12, -14}),
            group("updates that a half would swamp", 2, {1024, 0x1p-13F, 1000, -1, -2}),
            group("clipping", 2, {64, 0.125F, 0.5F, 3, 0}), overflows};
}

}  // namespace

Exercise training_step_exercise() {
    return {
        name,
        "The eleven steps",
        "is",
        "s",
        {{"clipped_before_unscaling", "clips before it unscales: the limit meets gradients that still carry the scale"},
         {"multiplied", "multiplies by the scale where it must divide: updates are too large by its square"},
         {"no_masters", "updates the halves themselves; the masters must keep what a half would swamp"},
         {"not_skipped", "steps although a gradient is infinite or NaN"},
         {"unscaled_in_half", "rounds the unscaled gradients to halves: what the scale saved is lost again"},
         {"not_scaled", "does not scale the loss"},
         {"not_clipped", "does not clip"},
         {"model_not_updated", "does not copy the new masters into the model's halves"}},
        solve,
        hidden,
        label,
        {"product_first", "quotient_first", "norm_in_double"},
        true};
}

}  // namespace ulp::course
