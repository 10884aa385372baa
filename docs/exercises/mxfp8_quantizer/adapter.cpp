#include "driver.hpp"
#include "exercise.hpp"

driver::Words driver::answer(const Words& question) {
    std::vector<float> x;
    for (std::size_t i = 1; i < question.size(); ++i) x.push_back(single(question[i]));
    if (question[0] == 0xFFFFFFFF) {
        x.resize(32);
        return {block_scale(x.data())};
    }
    Words words{question[0]};
    for (const float value : x) words.push_back(element(value, static_cast<std::uint8_t>(question[0])));
    return words;
}
