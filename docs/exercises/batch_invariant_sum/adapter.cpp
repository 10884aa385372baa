#include "driver.hpp"
#include "exercise.hpp"

driver::Words driver::answer(const Words& question) {
    const std::size_t rows = question[0];
    std::vector<float> x;
    for (std::size_t i = 3; i < question.size(); ++i) x.push_back(single(question[i]));
    std::vector<float> sums(rows);
    row_sums(x.data(), static_cast<int>(rows), static_cast<int>(question[1]), static_cast<int>(question[2]),
             sums.data());
    Words words;
    for (const float sum : sums) words.push_back(bits(sum));
    return words;
}
