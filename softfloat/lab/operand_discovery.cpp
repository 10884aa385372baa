#include "softfloat/lab/operand_discovery.hpp"

#include <cmath>

#include "softfloat/lab/dot_question.hpp"
#include "softfloat/lab/match_check.hpp"
#include "softfloat/names.hpp"

namespace ulp {

namespace {

using discovery::text;

/// Products of one operand with 1, beside c = -1 so that no rounding of a sum hides its last bits.
class OneOperand {
  public:
    OneOperand(const DotUnit& unit, bool is_a) : unit_(unit), is_a_(is_a) {}
    [[nodiscard]] const FloatFormat& format() const { return is_a_ ? unit_.a_format : unit_.b_format; }

    /// What is read of 1 + above, beyond 1: of either sign.
    [[nodiscard]] double read(double above, bool negative = false) const {
        const double sign = negative ? -1 : 1;
        return sign * (value(sign * (1 + above), sign) - value(sign, sign));
    }
    [[nodiscard]] double value(double x, double c) const {
        Context context;
        const auto code = [&](const FloatFormat& format, double number) {
            return convert_bits(format, formats::fp64, std::bit_cast<std::uint64_t>(number), context);
        };
        discovery::Question question(unit_);
        const std::uint64_t one = code(is_a_ ? unit_.b_format : unit_.a_format, 1);
        question.put_codes(0, is_a_ ? code(format(), x) : one, is_a_ ? one : code(format(), x));
        question.put(addend_leaf, {c > 0, 1, 0});
        return question.value();
    }

  private:
    const DotUnit& unit_;
    bool is_a_;
};

OperandReading reading_of(const DotUnit& unit, bool is_a, std::vector<std::string>& evidence) {
    const OneOperand operand(unit, is_a);
    const FloatFormat& format = operand.format();
    const std::string name = is_a ? "a" : "b";
    OperandReading reading;
    for (int f = 1; f <= format.fraction_bits; ++f) {
        const double above = std::ldexp(1.0, -f);
        if (operand.read(above) != above) break;
        reading.fraction_bits = f;
    }
    const int kept = reading.fraction_bits;
    if (kept == format.fraction_bits) {
        evidence.push_back(name + ": 1 + " + text(-kept) + " is read, and no finer number exists in " +
                           name_of(format));
    } else {
        const double place = std::ldexp(1.0, -kept);
        const auto goes_up = [&](double places, bool negative = false) {
            return operand.read(places * place, negative) > std::floor(places) * place;
        };
        const bool up = goes_up(0.75), down = goes_up(0.75, true), tie = goes_up(0.5), odd_tie = goes_up(1.5);
        reading.rounding = discovery::rounding_from(up, down);
        if (up && down && tie) reading.rounding = Rounding::nearest_away;
        if (kept + 2 <= format.fraction_bits && up && down && goes_up(0.25)) reading.rounding = Rounding::odd;
        const auto said = [](bool yes) { return yes ? std::string("up") : std::string("down"); };
        evidence.push_back(name + ": 1 + " + text(-kept) + " is read, 1 + " + text(-kept - 1) + " is not; 3/4 of " +
                           text(-kept) + " goes " + said(up) + " in magnitude (negative: " + said(down) +
                           "), a tie above an even number " + said(tie) + ", above an odd one " + said(odd_tie));
    }
    const FloatFormat& other = is_a ? unit.b_format : unit.a_format;
    const int large = std::min(other.emax(), -format.smallest_exponent());
    Context context;
    const std::uint64_t power = round_to_bits(other, false, large, std::uint64_t{1}, context);
    // With all of the bits that are read, however few.
    const std::uint64_t subnormal = pack(format, false, std::uint64_t{1} << (format.fraction_bits - 1));
    discovery::Question question(unit);
    question.put_codes(0, is_a ? subnormal : power, is_a ? power : subnormal);
    reading.subnormals = question.value() != 0;
    evidence.push_back(name + ": the subnormal " + text(format.emin() - 1) + " times " + text(large) +
                       (reading.subnormals ? " counts" : " counts as zero"));
    return reading;
}

/// Products of (1 + 2^-f)^2 = 1 + 2^(1-f) + 2^-2f: the last term is the product of what lies below a piece's bits.
void find_pieces(const DotUnit& unit, OperandDiscovery& found) {
    const int kept = std::min(found.a.fraction_bits, found.b.fraction_bits);
    // Further down an alignment or a rounding would leave it out, too.
    const int most = std::min(kept, unit.accumulator.fraction_bits) / 2;
    Context context;
    for (int f = 1; f <= most; ++f) {
        const double low = std::ldexp(1.0, -f);
        const auto code = [&](const FloatFormat& format) {
            return convert_bits(format, formats::fp64, std::bit_cast<std::uint64_t>(1 + low), context);
        };
        discovery::Question question(unit);
        question.put_codes(0, code(unit.a_format), code(unit.b_format));
        const double product = question.value();
        if (product == (1 + low) * (1 + low)) continue;
        if (product != 1 + 2 * low || f == 1) return;
        found.piece_bits = f - 1;
        found.evidence.push_back("products: (1 + " + text(1 - f) + ")^2 is whole, of (1 + " + text(-f) + ")^2 " +
                                 text(-2 * f) + " is left out: operands are read as pieces of " + std::to_string(f) +
                                 " bits, and products of lower pieces are not computed");
        return;
    }
}

FloatFormat format_of(const FloatFormat& format, const OperandReading& reading) {
    if (reading.fraction_bits >= format.fraction_bits) return format;
    for (const NamedFormat& row : named_formats()) {
        const bool same = row.format.exponent_bits == format.exponent_bits && row.format.bias == format.bias &&
                          row.format.fraction_bits == reading.fraction_bits && row.format.specials == format.specials;
        if (same) return row.format;
    }
    FloatFormat narrow = format;
    narrow.fraction_bits = reading.fraction_bits;
    return narrow;
}

}  // namespace

std::uint64_t as_read(const FloatFormat& format, const OperandReading& reading, std::uint64_t code) {
    if (reading.fraction_bits >= format.fraction_bits || is_nan(format, code) || is_infinity(format, code)) return code;
    FloatFormat narrow = format;
    narrow.fraction_bits = reading.fraction_bits;
    Context context{.rounding = reading.rounding.value_or(Rounding::toward_zero)};
    Context exact;
    return convert_bits(format, narrow, convert_bits(narrow, format, code, context), exact);
}

OperandDiscovery discover_operands(const DotUnit& unit) {
    OperandDiscovery found;
    found.a = reading_of(unit, true, found.evidence);
    found.b = reading_of(unit, false, found.evidence);
    find_pieces(unit, found);
    const bool whole =
        found.a.fraction_bits == unit.a_format.fraction_bits && found.b.fraction_bits == unit.b_format.fraction_bits;
    if (whole || found.piece_bits) return found;
    // With other bits below those that are read, or none, the unit must answer the same.
    BlockSource source(unit, 1);
    constexpr std::int64_t questions = 2000;
    for (; found.checked < questions; ++found.checked) {
        RandomBlock block = source.next();
        const std::uint64_t answer = unit.dot(block.a, block.b, block.c);
        for (std::uint64_t& code : block.a) code = as_read(unit.a_format, found.a, code);
        for (std::uint64_t& code : block.b) code = as_read(unit.b_format, found.b, code);
        found.differ += unit.dot(block.a, block.b, block.c) == answer ? 0 : 1;
    }
    return found;
}

DotUnit narrowed(const DotUnit& unit, const OperandDiscovery& found) {
    DotUnit narrow = unit;
    narrow.a_format = format_of(unit.a_format, found.a);
    narrow.b_format = format_of(unit.b_format, found.b);
    narrow.dot = [unit, narrow_a = narrow.a_format, narrow_b = narrow.b_format](
                     std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, std::uint64_t c) {
        Context exact;
        std::vector<std::uint64_t> x, y;
        for (const std::uint64_t code : a) x.push_back(convert_bits(unit.a_format, narrow_a, code, exact));
        for (const std::uint64_t code : b) y.push_back(convert_bits(unit.b_format, narrow_b, code, exact));
        return unit.dot(x, y, c);
    };
    return narrow;
}

}  // namespace ulp
