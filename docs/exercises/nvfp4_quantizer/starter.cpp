#include "exercise.hpp"

float tensor_scale(const float* x, int n) {
    (void)x;
    (void)n;
    return 0;  // to be written
}

std::uint8_t block_scale(const float* x, float largest) {
    (void)x;
    (void)largest;
    return 0;  // to be written
}

std::uint8_t element(float x, float tensor, std::uint8_t block) {
    (void)x;
    (void)tensor;
    (void)block;
    return 0;  // to be written
}
