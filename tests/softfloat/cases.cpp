#include "tests/softfloat/cases.hpp"

#include <algorithm>

namespace ulp::test {

std::vector<std::uint64_t> interesting_codes(const FloatFormat& format) {
    const std::uint64_t hidden = std::uint64_t{1} << format.fraction_bits;
    const std::uint64_t all_ones = (std::uint64_t{1} << (format.exponent_bits + format.fraction_bits)) - 1;
    const std::uint64_t one = static_cast<std::uint64_t>(format.bias) << format.fraction_bits;
    const std::uint64_t top = all_ones - (static_cast<std::uint64_t>(format.unused_exponents) << format.fraction_bits);
    std::vector<std::uint64_t> magnitudes{0,
                                          1,
                                          2,
                                          3,
                                          hidden / 2,
                                          hidden / 2 + 1,
                                          hidden - 2,
                                          hidden - 1,
                                          hidden,
                                          hidden + 1,
                                          hidden * 2,
                                          one - hidden,
                                          one - 1,
                                          one,
                                          one + 1,
                                          one + 3,
                                          one + hidden / 2,
                                          one + hidden - 1,
                                          one + hidden,
                                          one + hidden * 2 + 1,
                                          one / 2,
                                          one / 2 + 1,
                                          one / 2 + hidden - 1,
                                          one + one / 2,
                                          top - hidden * 2,
                                          top - hidden - 1,
                                          top - hidden,
                                          top - hidden + 1,
                                          top - hidden / 2,
                                          top - hidden / 2 + 1,
                                          top - 1,
                                          top,
                                          all_ones,
                                          all_ones - hidden + 1};
    std::vector<std::uint64_t> codes;
    for (const std::uint64_t magnitude : magnitudes) {
        const std::uint64_t code = magnitude & all_ones;
        codes.push_back(code << format.padding_bits);
        if (format.has_sign) codes.push_back((code | (all_ones + 1)) << format.padding_bits);
    }
    std::sort(codes.begin(), codes.end());
    codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
    return codes;
}

std::vector<std::uint64_t> edge_codes(const FloatFormat& format) {
    const std::uint64_t hidden = std::uint64_t{1} << format.fraction_bits;
    const std::uint64_t sign = hidden << format.exponent_bits;
    const std::uint64_t one = static_cast<std::uint64_t>(format.bias) << format.fraction_bits;
    const std::uint64_t infinity = sign - hidden;
    std::vector<std::uint64_t> codes{0,
                                     sign,
                                     1,
                                     sign | (hidden - 1),
                                     hidden,
                                     one,
                                     sign | one,
                                     one + hidden,
                                     one + 1,
                                     one + hidden / 2 - 1,
                                     infinity - 1,
                                     infinity,
                                     sign | infinity,
                                     sign - 1,
                                     infinity + 1};
    for (std::uint64_t& code : codes) code <<= format.padding_bits;
    return codes;
}

std::vector<std::uint64_t> all_codes(const FloatFormat& format) {
    std::vector<std::uint64_t> codes(std::size_t{1} << format.code_bits());
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = std::uint64_t{i} << format.padding_bits;
    return codes;
}

std::uint64_t random_code(const FloatFormat& format, RandomWords& random, std::uint64_t near) {
    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - format.code_bits());
    const std::uint64_t uniform = random.next() & mask;
    if ((random.next() & 1) != 0) return uniform << format.padding_bits;
    // Its sign and fraction with the exponent of `near`, up to four binades away.
    const std::uint64_t last_field = (std::uint64_t{1} << format.exponent_bits) - 1;
    const std::uint64_t field = near >> (format.padding_bits + format.fraction_bits) & last_field;
    const std::uint64_t moved = std::clamp<std::uint64_t>(field + random.below(9), 4, last_field + 4) - 4;
    const std::uint64_t without_field = uniform & ~(last_field << format.fraction_bits);
    return (without_field | moved << format.fraction_bits) << format.padding_bits;
}

}  // namespace ulp::test
