#include "driver.hpp"
#include "exercise.hpp"

driver::Words driver::answer(const Words& question) {
    std::vector<float> numbers;
    for (const Word word : question) numbers.push_back(single(word));
    return {bits(sum(numbers.data(), static_cast<int>(numbers.size())))};
}
