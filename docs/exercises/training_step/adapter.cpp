#include <cmath>

#include "driver.hpp"
#include "exercise.hpp"

float to_half(float x) {
    if (x == 0 || !std::isfinite(x)) return x;
    const int exponent = std::ilogb(x) < -14 ? -14 : std::ilogb(x);
    const float rounded = std::ldexp(std::nearbyint(std::ldexp(x, 10 - exponent)), exponent - 10);
    return std::fabs(rounded) > 65504 ? std::copysign(INFINITY, x) : rounded;
}

driver::Words driver::answer(const Words& question) {
    const std::size_t n = question[0];
    const Settings settings{single(question[2]), single(question[3]), single(question[4])};
    std::size_t at = 5;
    Model model;
    for (std::size_t i = 0; i < n; ++i) {
        model.masters.push_back(single(question[at++]));
        model.weights.push_back(to_half(model.masters.back()));
    }
    Words words;
    while (at + n + 1 <= question.size()) {
        const float target = single(question[at++]);
        std::vector<float> x;
        for (std::size_t i = 0; i < n; ++i) x.push_back(single(question[at++]));
        words.push_back(bits(training_step(model, x, target, settings) ? 1.F : 0.F));
        for (std::size_t i = 0; i < n; ++i) words.push_back(i < model.weights.size() ? bits(model.weights[i]) : 0);
        if (question[1] != 0) words.push_back(model.masters.empty() ? 0 : bits(model.masters[0]));
    }
    return words;
}
