// Sum without swamping: a solution. Numbers are integers times 2^-149; the sum is an integer of 320 bits, in limbs
// of 32.
#include <bit>
#include <cstdint>

#include "exercise.hpp"

namespace {

constexpr int limbs = 10;

/// Limbs may grow beyond 32 bits, or below zero, until carries are moved on.
struct Register {
    std::int64_t limb[limbs] = {};

    void add(float x) {
        const auto bits = std::bit_cast<std::uint32_t>(x);
        const auto field = static_cast<int>(bits >> 23 & 255);
        const std::uint64_t significand = (bits & 0x7FFFFF) | (field == 0 ? 0U : 0x800000U);
        const int place = field == 0 ? 0 : field - 1;  // of the significand's last bit, above 2^-149
        const std::uint64_t moved = significand << place % 32;
        const std::int64_t sign = (bits >> 31) != 0 ? -1 : 1;
        limb[place / 32] += sign * static_cast<std::int64_t>(moved & 0xFFFFFFFF);
        limb[place / 32 + 1] += sign * static_cast<std::int64_t>(moved >> 32);
    }
    /// All limbs but the last in [0, 2^32).
    void carry() {
        for (int i = 0; i + 1 < limbs; ++i) {
            const std::int64_t over = limb[i] >> 32;  // floor
            limb[i] -= over * (std::int64_t{1} << 32);
            limb[i + 1] += over;
        }
    }
    [[nodiscard]] int bit(int place) const { return static_cast<int>(limb[place / 32] >> place % 32 & 1); }
};

}  // namespace

float sum(const float* x, int n) {
    Register total;
    for (int i = 0; i < n; ++i) total.add(x[i]);
    total.carry();
    const bool negative = total.limb[limbs - 1] < 0;
    if (negative) {
        for (std::int64_t& limb : total.limb) limb = -limb;
        total.carry();
    }
    int top = limbs * 32 - 1;
    while (top >= 0 && total.bit(top) == 0) --top;
    if (top < 0) return 0;
    const int last = top < 23 ? 0 : top - 23;  // the last place of the result
    std::uint32_t kept = 0;
    for (int place = top; place >= last; --place) kept = kept << 1 | static_cast<std::uint32_t>(total.bit(place));
    bool more = false;
    for (int place = 0; place + 1 < last; ++place) more = more || total.bit(place) != 0;
    if (last > 0 && total.bit(last - 1) != 0 && (more || (kept & 1) != 0)) ++kept;
    // The hidden one adds 1 to the exponent field; so does a carry.
    const std::uint32_t magnitude = (static_cast<std::uint32_t>(last) << 23) + kept;
    return std::bit_cast<float>(magnitude | (negative ? 0x80000000U : 0U));
}
