#include "softfloat/array/words.hpp"

#include <bit>
#include <stdexcept>
#include <string>

namespace ulp::array {

static_assert(std::endian::native == std::endian::little, "load_word and store_word put the low byte first");

std::uint64_t load_word(const void* words, std::size_t bytes, std::size_t element) {
    const auto* from = static_cast<const unsigned char*>(words) + bytes * element;
    std::uint64_t word = 0;
    for (std::size_t i = bytes; i-- > 0;) word = word << 8 | from[i];
    return word;
}

void store_word(void* words, std::size_t bytes, std::size_t element, std::uint64_t word) {
    auto* to = static_cast<unsigned char*>(words) + bytes * element;
    for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<unsigned char>(word >> (8 * i));
}

void require_same_size(std::string_view function, std::size_t from, std::size_t to) {
    if (from == to) return;
    throw std::invalid_argument(std::string(function) + ": arrays of " + std::to_string(from) + " and " +
                                std::to_string(to) + " elements; give arrays of the same size");
}

void require_sensible(const ArrayContext& context) {
    if (context.rounding != Rounding::stochastic) return;
    if (context.random_bits >= 1 && context.random_bits <= 32) return;
    throw std::invalid_argument("stochastic rounding with " + std::to_string(context.random_bits) +
                                " random bits; choose 1 to 32");
}

}  // namespace ulp::array
