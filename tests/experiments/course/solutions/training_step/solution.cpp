// The eleven steps: a solution.
#include <cmath>

#include "exercise.hpp"

bool training_step(Model& model, const std::vector<float>& x, float target, const Settings& settings) {
    // 1, 2: the model's halves, forward; products and sum in single precision, the output a half.
    const std::size_t n = x.size();
    float sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += model.weights[i] * x[i];
    // 3, 4: the loss in single precision, and the gradient of the scaled loss.
    const float error = to_half(sum) - target;
    const float output_gradient = to_half(error * settings.scale);
    // 5: backward, in halves.
    std::vector<float> gradients;
    for (std::size_t i = 0; i < n; ++i) gradients.push_back(to_half(output_gradient * x[i]));
    for (const float g : gradients) {
        if (!std::isfinite(g)) return false;
    }
    // 6, 7: in single precision, without the scale.
    for (float& g : gradients) g /= settings.scale;
    // 8: clip.
    float squares = 0;
    for (const float g : gradients) squares += g * g;
    const float norm = std::sqrt(squares);
    if (norm > settings.limit) {
        const float factor = settings.limit / norm;
        for (float& g : gradients) g *= factor;
    }
    // 9 to 11: the masters, and what the model sees of them.
    for (std::size_t i = 0; i < n; ++i) {
        model.masters[i] -= settings.rate * gradients[i];
        model.weights[i] = to_half(model.masters[i]);
    }
    return true;
}
