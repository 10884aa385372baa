#include "softfloat/lab/integer_discovery.hpp"

#include <array>
#include <limits>
#include <stdexcept>

#include "softfloat/lab/random_codes.hpp"

namespace ulp {

namespace {

/// The value of a byte's low bits.
std::int32_t value_of(const IntegerModel& model, bool is_signed, std::uint8_t code) {
    const std::int32_t low = code & ((1 << model.bits) - 1);
    return is_signed && low >> (model.bits - 1) != 0 ? low - (1 << model.bits) : low;
}

constexpr int most_lanes = 256;

class IntegerTest {
  public:
    explicit IntegerTest(const IntegerUnit& unit) : unit_(unit) {
        if (unit.k < 1 || unit.k > most_lanes) throw std::invalid_argument("a unit has 1 to 256 products");
    }

    /// a0 b0 + a1 b1 + c, the second in the last lane.
    [[nodiscard]] std::int64_t ask(int a0, int b0, std::int32_t c = 0, int a1 = 0, int b1 = 0) const {
        const auto count = static_cast<std::size_t>(unit_.k);
        std::array<std::uint8_t, most_lanes> a{}, b{};
        a[count - 1] = static_cast<std::uint8_t>(a1);
        b[count - 1] = static_cast<std::uint8_t>(b1);
        a[0] = static_cast<std::uint8_t>(a0);
        b[0] = static_cast<std::uint8_t>(b0);
        return unit_.dot(std::span(a).first(count), std::span(b).first(count), c);
    }

  private:
    const IntegerUnit& unit_;
};

}  // namespace

IntegerUnit unit_of(const IntegerModel& model) {
    return {model.instruction_k,
            [model](std::span<const std::uint8_t> a, std::span<const std::uint8_t> b, std::int32_t c) {
                std::vector<std::int32_t> x, y;
                for (const std::uint8_t code : a) x.push_back(value_of(model, model.a_signed, code));
                for (const std::uint8_t code : b) y.push_back(value_of(model, model.b_signed, code));
                return integer_dot(model, x.data(), y.data(), c, static_cast<std::int64_t>(x.size()));
            }};
}

std::function<std::uint64_t(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, std::uint64_t c)>
words_of(const IntegerUnit& unit) {
    return [dot = unit.dot](std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, std::uint64_t c) {
        const auto bytes = [](std::span<const std::uint64_t> words) {
            std::vector<std::uint8_t> codes;
            for (const std::uint64_t word : words) codes.push_back(static_cast<std::uint8_t>(word));
            return codes;
        };
        const auto d = static_cast<std::uint32_t>(dot(bytes(a), bytes(b), static_cast<std::int32_t>(c)));
        return std::uint64_t{d};
    };
}

IntegerDiscovery discover(const IntegerUnit& unit) {
    constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
    const IntegerTest test(unit);
    IntegerDiscovery found;
    IntegerModel& model = found.model;
    model.instruction_k = unit.k;
    const auto say = [&](const std::string& sentence) { found.evidence.push_back(sentence); };
    const auto shown = [](std::int64_t x) { return std::to_string(x); };

    model.bits = 1;
    for (int bits = 2; bits <= 8; ++bits) {
        if (test.ask(1 << (bits - 1), 1) != test.ask(0, 1)) model.bits = bits;
    }
    say("bits: of an operand's byte the lowest " + shown(model.bits) + " count");
    if (model.bits == 1) {
        const bool differ = test.ask(1, 0) == 1;
        model.product = differ ? IntegerProduct::exclusive_or : IntegerProduct::conjunction;
        say("products: 1 with 0 gives " + shown(test.ask(1, 0)) + ", 1 with 1 gives " + shown(test.ask(1, 1)));
    }
    const int ones = (1 << model.bits) - 1;
    const std::int64_t a_ones = test.ask(ones, 1);
    const std::int64_t b_ones = test.ask(1, ones);
    model.a_signed = a_ones < 0;
    model.b_signed = b_ones < 0;
    say("signs: all ones times 1 is " + shown(a_ones) + ", 1 times all ones is " + shown(b_ones));

    // 1 with 0 by xor, else 1 with 1.
    const int one = model.product == IntegerProduct::exclusive_or ? 0 : 1;
    const std::int64_t beyond = test.ask(1, one, most);
    model.saturates = beyond == most;
    say("overflow: " + shown(most) + " plus 1 is " + shown(beyond));
    if (model.saturates && (model.a_signed || model.b_signed)) {
        const int a_minus = model.a_signed ? ones : 1;
        const int b_minus = model.a_signed ? 1 : ones;
        const std::int64_t both = test.ask(1, 1, most, a_minus, b_minus);
        found.clamps_once = both == most;
        say("clamp: " + shown(most) + " plus 1 in the first lane minus 1 in the last is " + shown(both));
    }
    say("order: sums of integers do not show it");
    return found;
}

std::vector<const UnitRow*> matching_rows(const IntegerDiscovery& found) {
    std::vector<const UnitRow*> rows;
    for (const UnitRow& row : unit_table()) {
        const auto* model = row.as<IntegerModel>();
        if (model != nullptr && *model == found.model) rows.push_back(&row);
    }
    return rows;
}

namespace {

constexpr std::int32_t greatest_sum = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t least_sum = std::numeric_limits<std::int32_t>::min();

constexpr IntegerModel integers(int bits, bool is_signed, bool saturates = false, int instruction_k = 32) {
    return {.bits = bits,
            .a_signed = is_signed,
            .b_signed = is_signed,
            .saturates = saturates,
            .instruction_k = instruction_k};
}
constexpr IntegerModel bits_with(IntegerProduct product) {
    return {.bits = 1, .a_signed = false, .b_signed = false, .product = product};
}
constexpr IntegerModel bits_with_and = bits_with(IntegerProduct::conjunction);
constexpr IntegerModel bits_with_xor = bits_with(IntegerProduct::exclusive_or);

std::vector<IntegerProbe> make_integer_probes() {
    const std::vector<IntegerHypothesis> signs = {{"signed", integers(8, true)},
                                                  {"unsigned, 8 bits", integers(8, false)},
                                                  {"unsigned, 4 bits", integers(4, false)},
                                                  {"and of bits", bits_with_and},
                                                  {"xor of bits", bits_with_xor}};
    return {
        {"I1",
         "how many bits of an operand's byte count?",
         {0x52},
         {1},
         0,
         {{"8", integers(8, true)},
          {"4", integers(4, true)},
          {"1, and of bits", bits_with_and},
          {"1, xor of bits", bits_with_xor}}},
        {"I2", "are a's operands signed?", {0xFF}, {1}, 0, signs},
        {"I3", "are b's operands signed?", {1}, {0xFF}, 0, signs},
        {"I4",
         "is 1 with 0 nothing?",
         {1},
         {0},
         0,
         {{"a product, or and of bits", integers(8, true)}, {"xor of bits", bits_with_xor}}},
        {"I5",
         "what becomes of a sum above the range of s32?",
         {1, 1},
         {1, 0},
         greatest_sum,
         {{"it wraps", integers(8, true)}, {"it is clamped", integers(8, true, true)}}},
        {"I6",
         "what becomes of a sum below that range?",
         {0xFF},
         {1},
         least_sum,
         {{"it wraps", integers(8, true)},
          {"it is clamped", integers(8, true, true)},
          {"a's operands are unsigned, 8 bits", integers(8, false)},
          {"a's operands are unsigned, 4 bits", integers(4, false)}}},
        {"I7",
         "is a sum clamped after each product?",
         {1, 0xFF},
         {1, 1},
         greatest_sum,
         {{"no, signed", integers(8, true)},
          {"after each, signed", integers(8, true, true, 1)},
          {"unsigned, wraps, 8 bits", integers(8, false)},
          {"unsigned, wraps, 4 bits", integers(4, false)},
          {"unsigned, clamped", integers(8, false, true)}}},
    };
}

}  // namespace

std::span<const IntegerProbe> integer_probes() {
    static const std::vector<IntegerProbe> probes = make_integer_probes();
    return probes;
}

std::int32_t answer_of(const IntegerUnit& unit, const IntegerProbe& probe) {
    std::vector<std::uint8_t> a = probe.a, b = probe.b;
    a.resize(static_cast<std::size_t>(unit.k));
    b.resize(static_cast<std::size_t>(unit.k));
    return unit.dot(a, b, probe.c);
}

std::int32_t predicted(const IntegerProbe& probe, const IntegerHypothesis& hypothesis) {
    return unit_of(hypothesis.model).dot(probe.a, probe.b, probe.c);
}

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
