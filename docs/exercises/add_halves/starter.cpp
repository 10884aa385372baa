#include "exercise.hpp"

std::uint16_t add(std::uint16_t a, std::uint16_t b) {
    (void)a;
    (void)b;
    return 0;  // to be written
}
