#include "softfloat/array/words.hpp"

#include <bit>
#include <stdexcept>
#include <string>

#include "softfloat/round.hpp"

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

void require_sensible(const Context& context) { static_cast<void>(can_round(context)); }

}  // namespace ulp::array
