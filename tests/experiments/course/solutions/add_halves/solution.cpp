// Add two halves: a solution. Every half is an integer times 2^-24, so the sum is exact in 64 bits.
#include "exercise.hpp"

namespace {

bool is_nan(std::uint16_t x) { return (x & 0x7FFF) > 0x7C00; }
bool is_infinite(std::uint16_t x) { return (x & 0x7FFF) == 0x7C00; }

/// In units of 2^-24.
std::int64_t units(std::uint16_t x) {
    const int field = x >> 10 & 31;
    const std::int64_t fraction = x & 1023;
    const std::int64_t magnitude = field == 0 ? fraction : (fraction + 1024) << (field - 1);
    return (x & 0x8000) != 0 ? -magnitude : magnitude;
}

/// To nearest even.
std::uint16_t rounded(std::int64_t value) {
    const std::uint16_t sign = value < 0 ? 0x8000 : 0;
    const std::int64_t magnitude = value < 0 ? -value : value;
    int cut = 0;  // that many bits of it do not fit
    while (magnitude >> cut >= 2048) ++cut;
    std::int64_t kept = magnitude >> cut;
    const std::int64_t rest = magnitude - (kept << cut);
    const std::int64_t half_way = cut == 0 ? 1 : std::int64_t{1} << (cut - 1);
    if (rest > half_way || (rest == half_way && (kept & 1) != 0)) ++kept;
    const std::int64_t code = kept + (std::int64_t{cut} << 10);  // the hidden one adds 1 to the field
    return static_cast<std::uint16_t>(sign | (code >= 0x7C00 ? 0x7C00 : code));
}

}  // namespace

std::uint16_t add(std::uint16_t a, std::uint16_t b) {
    if (is_nan(a) || is_nan(b) || (is_infinite(a) && is_infinite(b) && a != b)) return 0x7E00;
    if (is_infinite(a)) return a;
    if (is_infinite(b)) return b;
    const std::int64_t sum = units(a) + units(b);
    if (sum == 0) return a == 0x8000 && b == 0x8000 ? 0x8000 : 0;
    return rounded(sum);
}
