#include "exercise.hpp"

std::uint16_t fuse(std::uint16_t a, std::uint16_t b, std::uint16_t c) {
    (void)a;
    (void)b;
    (void)c;
    return 0;  // to be written
}
