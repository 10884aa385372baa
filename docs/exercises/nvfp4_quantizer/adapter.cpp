#include "driver.hpp"
#include "exercise.hpp"

driver::Words driver::answer(const Words& question) {
    std::vector<float> x;
    for (std::size_t i = 3; i < question.size(); ++i) x.push_back(single(question[i]));
    if (question[0] == 0) return {bits(tensor_scale(x.data(), static_cast<int>(x.size()))), 0};
    if (question[0] == 1) {
        x.resize(16);
        return {0, block_scale(x.data(), single(question[1]))};
    }
    Words words{question[1], question[2]};
    for (const float value : x) {
        words.push_back(element(value, single(question[1]), static_cast<std::uint8_t>(question[2])));
    }
    return words;
}
