#include "exercise.hpp"

std::uint32_t block(int n, int fraction_bits, const std::uint16_t* a, const std::uint16_t* b, std::uint32_t c) {
    (void)n;
    (void)fraction_bits;
    (void)a;
    (void)b;
    (void)c;
    return 0;  // to be written
}
