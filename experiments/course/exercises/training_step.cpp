// Exercise: the eleven steps of one mixed-precision training step, of a linear model with one output.
#include <cmath>

#include "experiments/course/exercises/common.hpp"

namespace ulp::course {
namespace {

constexpr std::string_view name = "training_step";

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
Floats scaled_gradients(const Model& model, const Floats& x, float target, float scale, std::string_view mistake) {
    float sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += model.weights[i] * x[i];
    const float error = (mistake == "output_not_rounded" ? sum : on_half_grid(sum)) - target;
    const float exact = error * scale;
    const float output_gradient = mistake == "output_gradient_not_rounded" ? exact : on_half_grid(exact);
    Floats gradients;
    for (const float value : x) gradients.push_back(output_gradient * value);
    return mistake == "gradients_not_rounded" ? gradients : on_half_grid_all(gradients);
}

bool step(Model& model, const Floats& x, float target, Settings settings, std::string_view mistake) {
    if (mistake == "not_scaled") settings.scale = 1;
    Floats gradients = scaled_gradients(model, x, target, settings.scale, mistake);
    if (!all_finite(gradients) && mistake != "not_skipped") return false;
    if (mistake == "clipped_before_unscaling") gradients = clipped(gradients, settings.limit);
    for (float& g : gradients) g = mistake == "multiplied" ? g * settings.scale : g / settings.scale;
    if (mistake == "unscaled_in_half") gradients = on_half_grid_all(gradients);
    if (mistake != "clipped_before_unscaling" && mistake != "not_clipped") {
        gradients = clipped(gradients, settings.limit, mistake);
    }
    if (mistake == "weights_updated" || mistake == "weights_updated_unrounded") {
        for (std::size_t i = 0; i < gradients.size(); ++i) model.weights[i] -= settings.rate * gradients[i];
        if (mistake == "weights_updated") model.weights = on_half_grid_all(model.weights);
        return true;
    }
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        const float from = mistake == "no_masters" ? model.weights[i] : model.masters[i];
        model.masters[i] = from - settings.rate * gradients[i];
        if (mistake == "no_masters") model.masters[i] = on_half_grid(model.masters[i]);
    }
    if (mistake != "model_not_updated") model.weights = on_half_grid_all(model.masters);
    return true;
}

/// Question: n, whether the first master is shown, scale, rate, limit, n masters, and for each step the target and n
/// inputs. Answer: of each step whether it stepped, the weights, and the master.
Words solve(const Words& question, std::string_view mistake) {
    const std::size_t n = question[0];
    const bool shown = question[1] != 0;
    std::size_t at = 2;
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
    while (at + n + 1 <= question.size()) {
        const float target = next();
        answer.push_back(bits(step(model, list(), target, settings, mistake) ? 1.F : 0.F));
        for (const float x : model.weights) answer.push_back(bits(x));
        if (shown) answer.push_back(bits(model.masters[0]));
    }
    return answer;
}

struct Sizes {
    float scale, rate, limit;
    int error;   // exponent of target's distance
    int inputs;  // exponent of the inputs
    int steps = 1;
    int master_bits = 11;  // 0: the masters are zero
    int target_bits = 11;
    int input_bits = 11;
    bool shown = false;  // the first master
};

Words question_of(Random& random, const Sizes& sizes) {
    const auto n = static_cast<Word>(random.between(2, 4));
    const auto number = [&](int low, int kept) {
        return random_single(random, low, low + 1) & ~Word{0} << (24 - kept);
    };
    Words question{n, sizes.shown ? 1U : 0U, bits(sizes.scale), bits(sizes.rate), bits(sizes.limit)};
    for (Word i = 0; i < n; ++i) question.push_back(sizes.master_bits == 0 ? 0 : number(-1, sizes.master_bits));
    for (int i = 0; i < sizes.steps; ++i) {
        question.push_back(number(sizes.error, sizes.target_bits));
        for (Word k = 0; k < n; ++k) question.push_back(number(sizes.inputs, sizes.input_bits));
    }
    return question;
}

/// Where a rounding shows: y beside the target, its gradient below 2^-14, or those of the weights there.
Words where_roundings_show(Random& random) {
    if (random.below(3) != 0) {
        const bool weights = random.below(2) == 0;
        return question_of(random,
                           {1, 0x1p16F, 1000, weights ? -6 : -17, weights ? -14 : -1, 1, 0, 11, weights ? 11 : 3});
    }
    Words question = question_of(random, {1, 0x1p8F, 1000, 0, -1});
    const std::size_t n = question[0];
    float sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += single(question[5 + i]) * single(question[6 + n + i]);
    question[5 + n] = bits(sum + single(random_single(random, -12, -11)));
    return question;
}

/// A step that overflows, and then a plain one.
Words skipped_and_made(Random& random) {
    Words question = question_of(random, {1, 0.5F, 1000, 13, 4, 1, 2, 2, 1});
    for (Word i = 0; i <= question[0]; ++i) question.push_back(bits(static_cast<float>(random.between(1, 3))));
    return question;
}

std::vector<Group> hidden(std::uint64_t seed) {
    const Ideas ideas(name, seed);
    // A program that updates the wrong one of masters and weights pays with the masters' points.
    const Leniency lenient{.forgives = {"model_not_updated", "weights_updated_unrounded"}};
    const auto group = [&](const char* title, int points, std::vector<std::string_view> catches, const Sizes& sizes) {
        return ideas.group(
            title, points, std::move(catches), 60, [&](Random& r) { return question_of(r, sizes); }, lenient);
    };
    return {group("one step of numbers that need no rounding", 1, {}, {1, 0.5F, 1000, 0, -1, 1, 2, 2, 1}),
            ideas.group("roundings to halves, forward and backward", 2,
                        {"output_not_rounded", "output_gradient_not_rounded", "gradients_not_rounded"}, 60,
                        where_roundings_show, lenient),
            group("scaling, and unscaling in singles", 2, {"multiplied", "not_scaled", "unscaled_in_half"},
                  {16384, 0x1p16F, 1000, -12, -14, 1, 0, 11, 1}),
            ideas.group("masters, and weights made of them", 2,
                        {"no_masters", "weights_updated", "weights_updated_unrounded", "model_not_updated"}, 60,
                        [](Random& r) {
                            return question_of(r, {1, 0x1p-11F, 1000, 0, -1, 3, 24, 11, 2, true});
                        }),
            group("clipping", 2, {"clipped_before_unscaling", "not_clipped"}, {64, 0.125F, 0.5F, 3, 0, 1, 5, 4, 1}),
            ideas.group("a step to be skipped", 1, {"not_skipped"}, 60, skipped_and_made,
                        {.forgives = {"model_not_updated", "weights_updated_unrounded", "gradients_not_rounded"}})};
}

}  // namespace

Exercise training_step_exercise() {
    return {
        name,
        "The eleven steps",
        "iis",
        "s",
        {{"clipped_before_unscaling", "clips before it unscales: the limit meets gradients that still carry the scale"},
         {"multiplied", "multiplies by the scale where it must divide: updates are too large by its square"},
         {"no_masters", "updates the halves themselves; the masters must keep what a half would swamp"},
         {"not_skipped", "steps although a gradient is infinite or NaN"},
         {"unscaled_in_half", "rounds the unscaled gradients to halves: what the scale saved is lost again"},
         {"not_scaled", "does not scale the loss"},
         {"not_clipped", "does not clip"},
         {"model_not_updated", "does not copy the new masters into the model's halves"},
         {"weights_updated", "updates the model's halves and leaves the masters as they were"},
         {"weights_updated_unrounded", "updates the model's weights without rounding, and leaves the masters"},
         {"output_not_rounded", "does not round y to a half"},
         {"output_gradient_not_rounded", "does not round the gradient with regard to y to a half"},
         {"gradients_not_rounded", "does not round the weights' gradients to halves"}},
        solve,
        hidden,
        "n shown! scale! rate! limit! masters[n] step(target x[n])",
        "step(stepped weights[n] masters[shown])",
        {"product_first", "quotient_first", "norm_in_double"},
        true};
}

}  // namespace ulp::course
