#include "softfloat/lab/integer_match.hpp"

#include "softfloat/lab/random_codes.hpp"

namespace ulp {

IntegerCheck check_match(const IntegerUnit& unit, const IntegerModel& model, std::int64_t blocks, std::uint64_t seed) {
    IntegerCheck check{.blocks = blocks};
    const IntegerUnit expected = unit_of(model);
    IntegerContradiction dot;
    std::uint64_t next = 0;
    const auto fill = [&](std::vector<std::uint8_t>& codes) {
        constexpr std::uint8_t extremes[] = {0x7F, 0x80, 0xFF, 0x01};
        codes.resize(static_cast<std::size_t>(unit.k));
        const bool extreme = random_word(seed, next++) % 4 == 0;
        for (std::uint8_t& code : codes) {
            const std::uint64_t word = random_word(seed, next++);
            code = extreme ? extremes[word >> 20 & 3] : static_cast<std::uint8_t>(word >> 20);
        }
    };
    for (std::int64_t i = 0; i < blocks; ++i) {
        fill(dot.a);
        fill(dot.b);
        const std::uint64_t word = random_word(seed, next++);
        const auto near_end =
            0x7FFFFFFFU - static_cast<std::uint32_t>(word >> 50) + static_cast<std::uint32_t>(word & 2);
        dot.c = static_cast<std::int32_t>((word & 1) != 0 ? near_end : static_cast<std::uint32_t>(word >> 32));
        dot.unit = unit.dot(dot.a, dot.b, dot.c);
        dot.model = expected.dot(dot.a, dot.b, dot.c);
        check.unstable += unit.dot(dot.a, dot.b, dot.c) == dot.unit ? 0 : 1;
        if (dot.unit == dot.model) continue;
        ++check.differ;
        if (!check.first) check.first = dot;
    }
    return check;
}

}  // namespace ulp
