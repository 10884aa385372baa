// One Tensor Core block: a solution.
#include <algorithm>
#include <vector>

#include "exercise.hpp"

namespace {

/// (-1)^negative * significand * 2^(exponent - point)
struct Term {
    bool negative;
    int exponent;
    int point;
    std::uint64_t significand;
};

Term decode(std::uint32_t bits, int exponent_bits, int fraction_bits) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int field = static_cast<int>(bits >> fraction_bits & ((1U << exponent_bits) - 1));
    const std::uint64_t fraction = bits & ((1U << fraction_bits) - 1);
    const bool negative = (bits >> (exponent_bits + fraction_bits) & 1) != 0;
    if (field == 0) return {negative, 1 - bias, fraction_bits, fraction};
    return {negative, field - bias, fraction_bits, fraction | std::uint64_t{1} << fraction_bits};
}

/// The term in units of 2^(largest - fraction_bits), cut.
std::int64_t aligned(const Term& term, int largest, int fraction_bits) {
    const int up = term.exponent - term.point - (largest - fraction_bits);
    if (up <= -64) return 0;
    const std::uint64_t magnitude = up >= 0 ? term.significand << up : term.significand >> -up;
    return term.negative ? -static_cast<std::int64_t>(magnitude) : static_cast<std::int64_t>(magnitude);
}

/// sum * 2^exponent as a single, toward zero.
std::uint32_t to_single(std::int64_t sum, int exponent) {
    if (sum == 0) return 0;
    std::uint64_t magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
    while (magnitude >= 1U << 24) {
        magnitude >>= 1;
        ++exponent;
    }
    while (magnitude < 1U << 23) {
        magnitude <<= 1;
        --exponent;
    }
    const auto field = static_cast<std::uint32_t>(exponent + 23 + 127);
    return (sum < 0 ? 0x80000000 : 0) | field << 23 | (static_cast<std::uint32_t>(magnitude) & 0x7FFFFF);
}

constexpr std::uint32_t nan = 0x7FFFFFFF;
bool is_nan(std::uint16_t x) { return (x & 0x7FFF) > 0x7C00; }
bool is_infinite(std::uint16_t x) { return (x & 0x7FFF) == 0x7C00; }
bool is_zero(std::uint16_t x) { return (x & 0x7FFF) == 0; }

/// The result where a special value takes part; 0 where none does.
std::uint32_t special(int n, const std::uint16_t* a, const std::uint16_t* b, std::uint32_t c) {
    bool plus = c == 0x7F800000;
    bool minus = c == 0xFF800000;
    if ((c & 0x7FFFFFFF) > 0x7F800000) return nan;
    for (int k = 0; k < n; ++k) {
        if (is_nan(a[k]) || is_nan(b[k])) return nan;
        if (!is_infinite(a[k]) && !is_infinite(b[k])) continue;
        if (is_zero(a[k]) || is_zero(b[k])) return nan;
        (((a[k] ^ b[k]) & 0x8000) != 0 ? minus : plus) = true;
    }
    if (plus && minus) return nan;
    return plus ? 0x7F800000 : minus ? 0xFF800000 : 0;
}

}  // namespace

std::uint32_t block(int n, int fraction_bits, const std::uint16_t* a, const std::uint16_t* b, std::uint32_t c) {
    if (const std::uint32_t result = special(n, a, b, c)) return result;
    std::vector<Term> terms;
    for (int k = 0; k < n; ++k) {
        const Term x = decode(a[k], 5, 10);
        const Term y = decode(b[k], 5, 10);
        terms.push_back({x.negative != y.negative, x.exponent + y.exponent, 20, x.significand * y.significand});
    }
    terms.push_back(decode(c, 8, 23));
    int largest = -1000;
    for (const Term& term : terms) {
        if (term.significand != 0) largest = std::max(largest, term.exponent);
    }
    std::int64_t sum = 0;
    for (const Term& term : terms) sum += aligned(term, largest, fraction_bits);
    return to_single(sum, largest - fraction_bits);
}
