// The project, mixed-precision training of a net: a solution.
#include <cmath>

#include "exercise.hpp"

float train_step(Trainer& trainer, const float* x, float target) {
    const std::size_t n = trainer.wo.size();
    std::vector<float> wa, wb, wo, a, h;
    for (std::size_t j = 0; j < n; ++j) {
        wa.push_back(to_half(trainer.wa[j]));
        wb.push_back(to_half(trainer.wb[j]));
        wo.push_back(to_half(trainer.wo[j]));
    }
    // Forward.
    float sum = 0;
    for (std::size_t j = 0; j < n; ++j) {
        a.push_back(to_half(wa[j] * x[0] + wb[j] * x[1]));
        h.push_back(a[j] > 0 ? a[j] : 0);
        sum += wo[j] * h[j];
    }
    const float error = to_half(sum) - target;
    const float loss = error * error / 2;
    // Backward, in halves.
    const float d = to_half(error * trainer.scale);
    std::vector<float> ga, gb, go;
    bool finite = true;
    for (std::size_t j = 0; j < n; ++j) {
        const float dh = to_half(d * wo[j]);
        const float da = a[j] > 0 ? dh : 0;
        go.push_back(to_half(d * h[j]));
        ga.push_back(to_half(da * x[0]));
        gb.push_back(to_half(da * x[1]));
        finite = finite && std::isfinite(go[j]) && std::isfinite(ga[j]) && std::isfinite(gb[j]);
    }
    // The step, or none.
    if (!finite) {
        trainer.scale *= trainer.backoff;
        trainer.tracker = 0;
        return loss;
    }
    for (std::size_t j = 0; j < n; ++j) {
        trainer.wa[j] -= trainer.rate * (ga[j] / trainer.scale);
        trainer.wb[j] -= trainer.rate * (gb[j] / trainer.scale);
        trainer.wo[j] -= trainer.rate * (go[j] / trainer.scale);
    }
    if (++trainer.tracker == trainer.interval) {
        trainer.scale *= trainer.growth;
        trainer.tracker = 0;
    }
    return loss;
}
