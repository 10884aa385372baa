// Multiply and add with one rounding: a solution. Everything is an integer times 2^-48, in 128 bits.
#include "exercise.hpp"

namespace {

__extension__ using Wide = __int128;

bool is_nan(std::uint16_t x) { return (x & 0x7FFF) > 0x7C00; }
bool is_infinite(std::uint16_t x) { return (x & 0x7FFF) == 0x7C00; }
bool is_zero(std::uint16_t x) { return (x & 0x7FFF) == 0; }

/// In units of 2^-24.
std::int64_t units(std::uint16_t x) {
    const int field = x >> 10 & 31;
    const std::int64_t fraction = x & 1023;
    const std::int64_t magnitude = field == 0 ? fraction : (fraction + 1024) << (field - 1);
    return (x & 0x8000) != 0 ? -magnitude : magnitude;
}

/// A multiple of 2^-48 to the nearest half, ties to even.
std::uint16_t rounded(Wide value) {
    const std::uint16_t sign = value < 0 ? 0x8000 : 0;
    const Wide magnitude = value < 0 ? -value : value;
    int cut = 24;  // the bits below 2^-24 never fit
    while (magnitude >> cut >= 2048) ++cut;
    if (cut > 24 + 30) return sign | 0x7C00;
    Wide kept = magnitude >> cut;
    const Wide rest = magnitude - (kept << cut);
    const Wide half_way = Wide{1} << (cut - 1);
    if (rest > half_way || (rest == half_way && (kept & 1) != 0)) ++kept;
    const Wide code = kept + (Wide{cut - 24} << 10);
    return static_cast<std::uint16_t>(sign | (code >= 0x7C00 ? 0x7C00 : static_cast<int>(code)));
}

}  // namespace

std::uint16_t fuse(std::uint16_t a, std::uint16_t b, std::uint16_t c) {
    if (is_nan(a) || is_nan(b) || is_nan(c)) return 0x7E00;
    const std::uint16_t sign = (a ^ b) & 0x8000;
    if (is_infinite(a) || is_infinite(b)) {
        const std::uint16_t product = sign | 0x7C00;
        if (is_zero(a) || is_zero(b) || (is_infinite(c) && c != product)) return 0x7E00;
        return product;
    }
    if (is_infinite(c)) return c;
    const Wide sum = Wide{units(a)} * units(b) + (Wide{units(c)} * (1 << 24));
    if (sum == 0) return sign != 0 && c == 0x8000 && (is_zero(a) || is_zero(b)) ? 0x8000 : 0;
    return rounded(sum);
}
