#include "driver.hpp"
#include "exercise.hpp"

driver::Words driver::answer(const Words& question) {
    const Word n = question[0];
    std::vector<std::uint16_t> a;
    std::vector<std::uint16_t> b;
    for (Word k = 0; k < n; ++k) {
        a.push_back(static_cast<std::uint16_t>(question[3 + k]));
        b.push_back(static_cast<std::uint16_t>(question[3 + n + k]));
    }
    return {block(static_cast<int>(n), static_cast<int>(question[1]), a.data(), b.data(), question[2])};
}
