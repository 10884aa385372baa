#include "softfloat/lab/integer_discovery.hpp"

#include <array>
#include <limits>
#include <stdexcept>

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

}  // namespace ulp
