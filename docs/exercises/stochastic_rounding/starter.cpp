#include "exercise.hpp"

std::uint16_t round_stochastically(float x, std::uint32_t random) {
    (void)x;
    (void)random;
    return 0;  // to be written
}
