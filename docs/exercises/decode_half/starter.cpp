#include "exercise.hpp"

float value_of_half(std::uint16_t bits) {
    (void)bits;
    return 0;  // to be written
}
