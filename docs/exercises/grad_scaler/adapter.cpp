#include "driver.hpp"
#include "exercise.hpp"

driver::Words driver::answer(const Words& question) {
    Scaler scaler{single(question[0]), single(question[1]), single(question[2]), static_cast<int>(question[3])};
    Words words;
    for (std::size_t at = 4; at + 3 <= question.size(); at += 3) {
        float gradients[] = {single(question[at]), single(question[at + 1]), single(question[at + 2])};
        const bool found = unscale(scaler, gradients, 3);
        update(scaler, found);
        words.push_back(found ? 1 : 0);
        for (const float g : gradients) words.push_back(bits(g));
        words.push_back(bits(scaler.scale));
        words.push_back(static_cast<Word>(scaler.tracker));
    }
    return words;
}
