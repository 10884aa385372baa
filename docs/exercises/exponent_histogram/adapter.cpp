#include "driver.hpp"
#include "exercise.hpp"

driver::Words driver::answer(const Words& question) {
    std::vector<float> x;
    for (const Word word : question) x.push_back(single(word));
    const Histogram h = histogram(x.data(), static_cast<int>(x.size()));
    Words words;
    for (const int n : {h.zeros, h.infinities, h.nans, h.lost_in_half, h.largest_shift}) {
        words.push_back(static_cast<Word>(n));
    }
    for (const int n : h.counts) words.push_back(static_cast<Word>(n));
    return words;
}
