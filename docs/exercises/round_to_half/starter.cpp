#include "exercise.hpp"

std::uint16_t half_from_single(float x) {
    (void)x;
    return 0;  // to be written
}
