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
    std::size_t at = 6;
    const auto list = [&] {
        std::vector<float> values;
        for (std::size_t i = 0; i < n; ++i) values.push_back(single(question[at++]));
        return values;
    };
    Trainer trainer{};
    trainer.rate = single(question[1]);
    trainer.scale = single(question[2]);
    trainer.growth = single(question[3]);
    trainer.backoff = single(question[4]);
    trainer.interval = static_cast<int>(question[5]);
    trainer.wa = list();
    trainer.wb = list();
    trainer.wo = list();
    Words words;
    for (; at + 3 <= question.size(); at += 3) {
        const float x[] = {single(question[at + 1]), single(question[at + 2])};
        words.push_back(bits(train_step(trainer, x, single(question[at]))));
        words.push_back(bits(trainer.scale));
    }
    return words;
}
