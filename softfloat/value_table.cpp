#include "softfloat/value_table.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "softfloat/round.hpp"

namespace ulp {
namespace {

constexpr double infinite_value = std::numeric_limits<double>::infinity();
constexpr double quiet_nan_value = std::numeric_limits<double>::quiet_NaN();

/// A table with what rounding to it needs.
struct Prepared {
    ValueTable table;
    std::vector<Unpacked<std::uint64_t>> decoded;  // by code, with as many digits as the codes have where these suffice
    std::vector<double> numbers;                   // distinct, ascending; -0 and +0 are one
    std::vector<std::uint16_t> codes;              // of these
    std::vector<double> middles;                   // between number i and i + 1
    std::vector<std::int32_t> ranks;               // by code: the number's index; beyond both ends infinities
    std::array<double, 2> beyond{};                // what would follow the largest number, and the most negative
    std::optional<std::uint64_t> nan, zero, negative_zero;
    std::array<std::optional<std::uint64_t>, 2> infinities{};  // positive, negative
    [[nodiscard]] bool has_infinity() const { return infinities[0] || infinities[1]; }
};

Unpacked<std::uint64_t> unpacked(double value) {
    Unpacked<std::uint64_t> exact = decode(formats::fp64, std::bit_cast<std::uint64_t>(value));
    if (exact.kind == Kind::finite) {
        const int zeros = trailing_zeros(exact.significand);
        exact.significand >>= zeros;
        exact.exponent += zeros;
    }
    return exact;
}

[[noreturn]] void refuse(const ValueTable& table, const std::string& why) {
    throw std::invalid_argument("the table of values " + table.name + why);
}

/// Halfway between, where fp64 holds that.
double middle_of(const ValueTable& table, double a, double b) {
    const double sum = a + b, part = sum - a;
    if ((a - (sum - part)) + (b - part) != 0) {
        refuse(table, " has neighbours of too different sizes: fp64 does not hold their middle; leave one out");
    }
    return sum / 2;
}

void sort_numbers(Prepared& made) {
    const std::vector<double>& values = made.table.values;
    std::vector<std::size_t> order;
    for (std::size_t code = 0; code < values.size(); ++code) {
        const double x = values[code];
        made.decoded.push_back(unpacked(x));
        Unpacked<std::uint64_t>& value = made.decoded.back();
        const int up = std::countr_zero(values.size()) - bit_length(value.significand);
        if (value.kind == Kind::finite && up > 0) {
            value.significand <<= up;
            value.exponent -= up;
        }
        const auto set = [&](std::optional<std::uint64_t>& place) { place = place.value_or(code); };
        if (std::isnan(x)) {
            set(made.nan);
        } else if (std::isinf(x)) {
            set(made.infinities[x < 0 ? 1 : 0]);
        } else {
            if (static_cast<double>(static_cast<float>(x)) != x) {
                refuse(made.table, " has a number that fp32 does not hold; round the values to fp32");
            }
            if (x == 0) set(std::signbit(x) ? made.negative_zero : made.zero);
            order.push_back(code);
        }
    }
    if (order.empty()) refuse(made.table, " has no number; give at least one");
    if (!made.zero) made.zero = made.negative_zero;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    made.ranks.resize(values.size());
    for (const std::size_t code : order) {
        if (made.numbers.empty() || made.numbers.back() != values[code]) {
            made.numbers.push_back(values[code] == 0 ? 0 : values[code]);
            made.codes.push_back(static_cast<std::uint16_t>(values[code] == 0 ? *made.zero : code));
        }
        made.ranks[code] = static_cast<std::int32_t>(made.numbers.size()) - 1;
    }
    for (std::size_t code = 0; code < values.size(); ++code) {
        if (std::isinf(values[code])) {
            made.ranks[code] = values[code] < 0 ? -1 : static_cast<std::int32_t>(made.numbers.size());
        }
    }
}

std::unique_ptr<const Prepared> prepare(const ValueTable& table) {
    if (table.values.size() < 2 || table.values.size() > 65536 || !std::has_single_bit(table.values.size())) {
        refuse(table, " has " + std::to_string(table.values.size()) + " values; give 2, 4, 8 and so on up to 65536");
    }
    auto made = std::make_unique<Prepared>();
    made->table = table;
    sort_numbers(*made);
    const std::vector<double>& numbers = made->numbers;
    made->middles = table.middles;
    for (std::size_t i = 1; table.middles.empty() && i < numbers.size(); ++i) {
        made->middles.push_back(middle_of(table, numbers[i - 1], numbers[i]));
    }
    if (made->middles.size() + 1 != numbers.size()) {
        refuse(table,
               " has " + std::to_string(made->middles.size()) + " middles; give one less than there are numbers");
    }
    for (std::size_t i = 0; i + 1 < numbers.size(); ++i) {
        if (made->middles[i] >= numbers[i] && made->middles[i] <= numbers[i + 1]) continue;
        refuse(table, ": a middle does not lie between its neighbours; give them in the order of the numbers");
    }
    if (table.overflow != 0 && !(table.overflow > numbers.back() && std::isfinite(table.overflow))) {
        refuse(table, ": overflow begins beyond the largest number; give a larger one");
    }
    const auto next = [](double end, double neighbour) { return end + (end - neighbour); };
    const std::size_t last = numbers.size() - 1, before = last > 0 ? last - 1 : 0;
    const bool symmetric = numbers.front() == -numbers.back();
    made->beyond = {
        table.overflow != 0 ? table.overflow : next(numbers[last], numbers[before]),
        table.overflow != 0 && symmetric ? -table.overflow : next(numbers[0], numbers[std::min<std::size_t>(1, last)])};
    return made;
}

/// Tables are never removed: a format may be kept anywhere.
constexpr std::size_t most_tables = 4096;
std::array<std::atomic<const Prepared*>, most_tables> prepared{};

const Prepared& of(const FloatFormat& format) {
    return *prepared[static_cast<std::size_t>(format.bias)].load(std::memory_order_acquire);
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

/// The sign of (-1)^sign * significand * 2^exponent - value.
int compared(bool sign, int exponent, UInt128 significand, double value) {
    const Unpacked<std::uint64_t> other = unpacked(value);
    const int size = sign ? -1 : 1;
    if (other.kind == Kind::zero || other.sign != sign) return size;
    const int length = bit_length(significand), other_length = bit_length(other.significand);
    const int difference = exponent + length - other.exponent - other_length;
    if (difference != 0) return difference > 0 ? size : -size;
    const UInt128 mine = significand << (128 - length);
    const UInt128 its = static_cast<UInt128>(other.significand) << (128 - other_length);
    return mine == its ? 0 : mine > its ? size : -size;
}

/// Which of two neighbours a number between them becomes: whether the upper one. `side` is the sign of the number minus
/// their middle; codes are those of lower and upper.
bool takes_upper(const Context& context, int side, bool lower_is_larger, std::uint64_t lower, std::uint64_t upper) {
    const bool toward_zero_is_upper = lower_is_larger;
    const bool same_parity = ((lower ^ upper) & 1) == 0;
    switch (context.rounding) {
        case Rounding::down: return false;
        case Rounding::up: return true;
        case Rounding::toward_zero: return toward_zero_is_upper;
        case Rounding::odd: return same_parity ? toward_zero_is_upper : (upper & 1) != 0;
        case Rounding::nearest_away: return side != 0 ? side > 0 : !toward_zero_is_upper;
        case Rounding::nearest_even:
            if (side != 0) return side > 0;
            return same_parity ? toward_zero_is_upper : (upper & 1) == 0;
        default: break;
    }
    throw std::invalid_argument("stochastic rounding to a table of values is not defined; choose another mode");
}

}  // namespace

FloatFormat table_format(const ValueTable& table) {
    static std::mutex mutex;
    static std::size_t count = 0;
    const std::lock_guard lock(mutex);
    std::size_t number = 0;
    for (; number < count; ++number) {
        const ValueTable& known = prepared[number].load()->table;
        if (known.name == table.name && same_bits(known.values, table.values) && known.overflow == table.overflow &&
            same_bits(known.middles, table.middles) && known.saturation == table.saturation) {
            break;
        }
    }
    if (number == most_tables) refuse(table, " is one too many: a process keeps 4096");
    if (number == count) {
        prepared[number] = prepare(table).release();
        ++count;
    }
    return {.exponent_bits = 0,
            .fraction_bits = std::countr_zero(table.values.size()) - 1,
            .bias = static_cast<int>(number),
            .specials = Specials::table,
            .has_subnormals = false,
            .saturation = table.saturation};
}

const ValueTable& table_of(const FloatFormat& format) { return of(format).table; }

namespace tables {

bool has_infinity(const FloatFormat& format) { return of(format).has_infinity(); }
bool has_nan(const FloatFormat& format) { return of(format).nan.has_value(); }

Unpacked<std::uint64_t> decode(const FloatFormat& format, std::uint64_t bits) {
    return of(format).decoded[bits & (of(format).decoded.size() - 1)];
}

std::uint64_t nan_bits(const FloatFormat& format) {
    return of(format).nan.value_or(tables::largest_bits(format, false));
}

std::uint64_t largest_bits(const FloatFormat& format, bool sign) {
    return sign ? of(format).codes.front() : of(format).codes.back();
}

std::uint64_t infinity_bits(const FloatFormat& format, bool sign) {
    const Prepared& table = of(format);
    if (const auto& code = table.infinities[sign ? 1 : 0]) return *code;
    return table.nan ? *table.nan : tables::largest_bits(format, sign);
}

std::uint64_t zero_bits(const FloatFormat& format, bool sign, Context& context) {
    const Prepared& table = of(format);
    if (table.zero) return sign && table.negative_zero ? *table.negative_zero : *table.zero;
    context.flags |= flag::underflow | flag::inexact;
    const auto above = static_cast<std::size_t>(std::upper_bound(table.numbers.begin(), table.numbers.end(), 0.0) -
                                                table.numbers.begin());
    if (above == 0 || above == table.numbers.size()) return table.codes[above == 0 ? 0 : above - 1];
    const double middle = table.middles[above - 1];
    const bool lower_is_larger = table.numbers[above - 1] < -table.numbers[above];
    const std::uint64_t lower = table.codes[above - 1], upper = table.codes[above];
    return takes_upper(context, middle < 0 ? 1 : middle > 0 ? -1 : 0, lower_is_larger, lower, upper) ? upper : lower;
}

std::int64_t rank(const FloatFormat& format, std::uint64_t bits) {
    return of(format).ranks[bits & (of(format).ranks.size() - 1)];
}

std::uint64_t neighbour(const FloatFormat& format, std::uint64_t bits, bool up) {
    const Prepared& table = of(format);
    const auto count = static_cast<std::int64_t>(table.numbers.size());
    const std::int64_t at = rank(format, bits) + (up ? 1 : -1);
    if (at >= 0 && at < count) return table.codes[static_cast<std::size_t>(at)];
    return tables::infinity_bits(format, at < 0);
}

std::uint64_t round(const FloatFormat& format, bool sign, int exponent, UInt128 significand, Context& context) {
    const Prepared& table = of(format);
    const auto against = [&](double value) { return compared(sign, exponent, significand, value); };
    const auto& numbers = table.numbers;
    const auto above = std::partition_point(numbers.begin(), numbers.end(), [&](double x) { return against(x) >= 0; });
    const auto upper = static_cast<std::size_t>(above - numbers.begin());
    if (upper > 0 && against(numbers[upper - 1]) == 0) return table.codes[upper - 1];
    context.flags |= flag::inexact;
    const bool past_end = upper == 0 || upper == numbers.size();
    if (past_end) {
        const std::size_t end = upper == 0 ? 0 : upper - 1;
        // Nearer to zero than all numbers, or on its other side: no overflow.
        if (numbers[end] == 0 || (numbers[end] < 0) != sign || (upper == 0) != sign) return table.codes[end];
        const double beyond = table.beyond[sign ? 1 : 0];
        const int side = against((numbers[end] + beyond) / 2);
        const std::uint64_t code = table.codes[end];
        const bool overflows =
            against(beyond) * (sign ? -1 : 1) >= 0 || (sign ? !takes_upper(context, side, true, code + 1, code)
                                                            : takes_upper(context, side, false, code, code + 1));
        return overflows ? overflow_bits(format, sign, context) : code;
    }
    const std::size_t lower = upper - 1;
    const int side = against(table.middles[lower]);
    const bool lower_is_larger = std::fabs(numbers[lower]) > std::fabs(numbers[upper]);
    const std::size_t at =
        takes_upper(context, side, lower_is_larger, table.codes[lower], table.codes[upper]) ? upper : lower;
    if (numbers[at] != 0) return table.codes[at];
    context.flags |= flag::underflow;
    return sign && table.negative_zero ? *table.negative_zero : *table.zero;
}

}  // namespace tables

ValueTable hif8_table() {
    ValueTable table{.name = "hif8", .values = std::vector<double>(256), .overflow = 0x1.8p15};
    for (unsigned code = 0; code < 128; ++code) {
        // The dot field: 11, 10, 01, 001, 0001 for 4 to 0 exponent bits, 0000 for powers of two below.
        const int digits = code >= 32 ? static_cast<int>(code >> 5) + 1 : code >= 16 ? 1 : 0;
        const int fraction_bits = code >= 32 ? 5 - digits : 3;
        const unsigned exponent = digits == 0 ? 0 : (code >> fraction_bits) & ((1U << digits) - 1);
        const unsigned leading = digits == 0 ? 0 : 1U << (digits - 1);  // the exponent's hidden leading bit
        const int size = static_cast<int>(leading | (exponent & (leading == 0 ? 0 : leading - 1)));
        const bool negative = (exponent & leading) != 0;
        const double significand = 1 + std::ldexp(code & ((1U << fraction_bits) - 1), -fraction_bits);
        double value = std::ldexp(significand, negative ? -size : size);
        if (code < 8) value = code == 0 ? 0 : std::ldexp(1.0, static_cast<int>(code) - 23);
        if (code == 0x6F) value = infinite_value;
        table.values[code] = value;
        table.values[code + 128] = code == 0 ? quiet_nan_value : -value;
    }
    return table;
}

namespace {
/// The number of a positive posit code with two exponent bits.
double posit_value(unsigned code, int bits) {
    int at = bits - 2;
    const auto bit = [&](int place) { return place >= 0 ? (code >> place) & 1 : 0; };
    const unsigned first = bit(at);
    int run = 0;
    for (; at >= 0 && bit(at) == first; --at) ++run;
    --at;  // the bit that ends the run
    const int regime = first != 0 ? run - 1 : -run;
    const int exponent = static_cast<int>(bit(at) << 1 | bit(at - 1));
    const int fraction_bits = std::max(at - 1, 0);
    return std::ldexp(1 + std::ldexp(code & ((1U << fraction_bits) - 1), -fraction_bits), 4 * regime + exponent);
}
}  // namespace

ValueTable posit_table(int bits) {
    const unsigned half = 1U << (bits - 1);
    ValueTable table{.name = "posit" + std::to_string(bits),
                     .values = std::vector<double>(2 * half),
                     .middles = std::vector<double>(2 * half - 2),
                     .saturation = Saturation::sat_propagate};
    table.values[half] = quiet_nan_value;
    for (unsigned code = 1; code < half; ++code) {
        table.values[code] = posit_value(code, bits);
        table.values[2 * half - code] = -table.values[code];
        // Numbers are rounded as strings of bits: the middle is the posit with one bit more.
        if (code == half - 1) continue;
        table.middles[half - 1 + code] = posit_value(2 * code + 1, bits + 1);
        table.middles[half - 2 - code] = -table.middles[half - 1 + code];
    }
    return table;
}

ValueTable integer_table(int bits, int exponent) {
    ValueTable table{.name = (exponent == 0 ? "int" : "mxint") + std::to_string(bits),
                     .values = std::vector<double>(std::size_t{1} << bits)};
    const int half = 1 << (bits - 1);
    for (int code = 0; code < 2 * half; ++code) {
        table.values[static_cast<std::size_t>(code)] = std::ldexp(code < half ? code : code - 2 * half, exponent);
    }
    return table;
}

ValueTable dlfloat_table() {
    ValueTable table{.name = "dlfloat16", .values = std::vector<double>(65536)};
    for (unsigned code = 0; code < 32768; ++code) {
        const double value = std::ldexp(512 + (code & 511), static_cast<int>(code >> 9) - 31 - 9);
        table.values[code] = code == 0 ? 0 : code == 32767 ? quiet_nan_value : value;
        table.values[code + 32768] = -table.values[code];
    }
    return table;
}

}  // namespace ulp
