#include "exercise.hpp"

std::uint8_t block_scale(const float* x) {
    (void)x;
    return 0;  // to be written
}

std::uint8_t element(float x, std::uint8_t scale) {
    (void)x;
    (void)scale;
    return 0;  // to be written
}
