#include "softfloat/text.hpp"

#include <cctype>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "softfloat/decimal.hpp"

namespace ulp {

namespace {

/// The text of a value that is not finite, or nothing.
std::optional<std::string> special_text(const FloatFormat& format, std::uint64_t bits) {
    if (is_nan(format, bits)) return "nan";
    if (is_infinity(format, bits)) return sign_of(format, bits) ? "-inf" : "inf";
    return std::nullopt;
}

/// Below 2^24 without a fraction. (Digits of the same length compare as their numbers do.)
bool is_small_integer(const Decimal& x) {
    static constexpr std::string_view limit = "16777216";
    constexpr auto most = static_cast<int>(limit.size());
    if (static_cast<int>(x.digits.size()) > x.point || x.point > most) return false;
    return x.point < most || x.digits < limit;
}

/// The first `count` digits of a longer decimal, and the same with one more in the last place.
std::pair<Decimal, Decimal> neighbours_with_digits(const Decimal& exact, std::size_t count) {
    Decimal below{exact.digits.substr(0, count), exact.point};
    Decimal above = below;
    std::size_t i = count;
    while (i > 0 && above.digits[i - 1] == '9') above.digits[--i] = '0';
    if (i > 0) {
        ++above.digits[i - 1];
    } else {
        above.digits.insert(above.digits.begin(), '1');
        ++above.point;
    }
    drop_zeros(below);
    drop_zeros(above);
    return {below, above};
}

}  // namespace

std::string to_decimal(const FloatFormat& format, std::uint64_t bits) {
    if (const auto special = special_text(format, bits)) return *special;
    const auto value = decode(format, bits);
    const Decimal exact = exact_decimal(value);
    if (is_small_integer(exact)) return layout(exact, value.sign, true);
    for (std::size_t count = 1; count < exact.digits.size(); ++count) {
        auto [below, above] = neighbours_with_digits(exact, count);
        // The nearer of the two first: above if the dropped digits are more than half, or half after an odd digit.
        const int half = exact.digits.compare(count, std::string::npos, "5");
        if (half > 0 || (half == 0 && (exact.digits[count - 1] - '0') % 2 != 0)) std::swap(below, above);
        for (const Decimal& candidate : {below, above}) {
            Context context;
            const bool reads_back = round_decimal(format, value.sign, candidate, context) == bits;
            // A format without infinity reads every larger number as its largest: that does not count.
            if (reads_back && (context.flags & flag::overflow) == 0) {
                return layout(candidate, value.sign, true);
            }
        }
    }
    return layout(exact, value.sign, true);
}

std::string to_exact_decimal(const FloatFormat& format, std::uint64_t bits) {
    if (const auto special = special_text(format, bits)) return *special;
    const auto value = decode(format, bits);
    return layout(exact_decimal(value), value.sign, false);
}

std::string to_hex_float(const FloatFormat& format, std::uint64_t bits) {
    if (const auto special = special_text(format, bits)) return *special;
    const auto value = decode(format, bits);
    const std::string sign = value.sign ? "-" : "";
    if (value.kind == Kind::zero) return sign + "0x0p+0";
    // The fraction left-aligned to whole hexadecimal digits.
    const int fraction_bits = format.is_table() ? bit_length(value.significand) - 1 : format.fraction_bits;
    const int digits = (fraction_bits + 3) / 4;
    const std::uint64_t hidden = value.significand >> fraction_bits;
    std::uint64_t fraction = (value.significand ^ hidden << fraction_bits) << (digits * 4 - fraction_bits);
    std::string text;
    for (int i = 0; i < digits; ++i, fraction >>= 4) text.insert(text.begin(), "0123456789abcdef"[fraction & 15]);
    text.erase(text.find_last_not_of('0') + 1);
    const int exponent = value.exponent + fraction_bits;
    return sign + "0x" + std::to_string(hidden) + (text.empty() ? "" : "." + text) + "p" + (exponent < 0 ? "" : "+") +
           std::to_string(exponent);
}

std::string to_exact_code(const FloatFormat& format, std::uint64_t bits) {
    const auto value = decode(format, bits);
    if (value.kind == Kind::nan) return "nan";
    if (value.kind == Kind::zero) return value.sign ? "-0" : "0";
    const std::string sign = value.sign ? "-" : "+";
    if (value.kind == Kind::infinity) return sign + "inf";
    const int zeros = trailing_zeros(value.significand);
    return sign + std::to_string(value.significand >> zeros) + "p" + std::to_string(value.exponent + zeros);
}

std::string to_bit_string(const FloatFormat& format, std::uint64_t bits) {
    const std::uint64_t code = bits >> format.padding_bits;
    std::string text;
    for (int bit = format.code_bits() - 1; bit >= 0; --bit) {
        text += ((code >> bit) & 1) != 0 ? '1' : '0';
        if (format.is_table()) continue;
        const bool after_sign = format.has_sign && bit == format.exponent_bits + format.fraction_bits;
        if (after_sign || (bit == format.fraction_bits && bit > 0)) text += ' ';
    }
    return text;
}

std::string to_hex_bits(const FloatFormat& format, std::uint64_t bits) {
    std::string text;
    for (int digit = (format.storage_bits() + 3) / 4 - 1; digit >= 0; --digit) {
        text += "0123456789ABCDEF"[(bits >> (digit * 4)) & 15];
    }
    return text;
}

namespace {

/// Reads text from left to right.
class Reader {
  public:
    explicit Reader(std::string_view text) : rest_(text) {}
    [[nodiscard]] bool at_end() const { return rest_.empty(); }
    [[nodiscard]] char peek() const {
        return rest_.empty() ? '\0' : static_cast<char>(std::tolower(static_cast<unsigned char>(rest_[0])));
    }
    bool take(std::string_view word) {
        if (rest_.size() < word.size()) return false;
        for (std::size_t i = 0; i < word.size(); ++i) {
            if (std::tolower(static_cast<unsigned char>(rest_[i])) != word[i]) return false;
        }
        rest_.remove_prefix(word.size());
        return true;
    }
    char next() {
        const char c = peek();
        rest_.remove_prefix(1);
        return c;
    }
    /// Digits for which `is_digit` holds, with at most one point among them. `after_point` counts those behind it.
    template <class IsDigit>
    std::string digits(IsDigit is_digit, int& after_point) {
        std::string result;
        bool seen_point = false;
        after_point = 0;
        while (is_digit(peek()) || (peek() == '.' && !seen_point)) {
            if (const char c = next(); c == '.') {
                seen_point = true;
            } else {
                result += c;
                if (seen_point) ++after_point;
            }
        }
        return result;
    }
    /// An integer with an optional sign, held within +-100000; nothing where there is none.
    std::optional<int> integer() {
        const bool negative = peek() == '-';
        if (peek() == '-' || peek() == '+') next();
        if (std::isdigit(static_cast<unsigned char>(peek())) == 0) return std::nullopt;
        int value = 0;
        while (std::isdigit(static_cast<unsigned char>(peek())) != 0)
            value = std::min(value * 10 + next() - '0', 100000);
        return negative ? -value : value;
    }

  private:
    std::string_view rest_;
};

[[noreturn]] void not_a_number(std::string_view text) {
    throw std::invalid_argument("'" + std::string(text) + "' is not a number; write it like 0.1, -1.5e-3 or 0x1.8p-10");
}

std::uint64_t parse_hex_float(const FloatFormat& format, bool sign, Reader& reader, std::string_view text,
                              Context& context) {
    int after_point = 0;
    const auto is_hex = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; };
    const std::string digits = reader.digits(is_hex, after_point);
    int exponent = -4 * after_point;
    if (digits.empty()) not_a_number(text);
    if (reader.take("p")) {
        const auto written = reader.integer();
        if (!written) not_a_number(text);
        exponent += *written;
    }
    if (!reader.at_end()) not_a_number(text);
    UInt128 significand = 0;
    for (const char c : digits) {
        const auto digit = static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
        if (bit_length(significand) > 120) {
            significand |= digit != 0 ? 1 : 0;  // far below the last place: sticky
            exponent += 4;
        } else {
            significand = significand << 4 | digit;
        }
    }
    return round_to_bits(format, sign, exponent, significand, context);
}

Decimal read_decimal(Reader& reader, std::string_view text) {
    int after_point = 0;
    const auto is_decimal = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    Decimal decimal{reader.digits(is_decimal, after_point), 0};
    if (decimal.digits.empty()) not_a_number(text);
    decimal.point = static_cast<int>(decimal.digits.size()) - after_point;
    if (reader.take("e")) {
        const auto written = reader.integer();
        if (!written) not_a_number(text);
        decimal.point += *written;
    }
    if (!reader.at_end()) not_a_number(text);
    drop_zeros(decimal);
    return decimal;
}

}  // namespace

std::uint64_t parse_bits(const FloatFormat& format, std::string_view text, Context& context) {
    Reader reader(text);
    const bool sign = reader.peek() == '-';
    if (reader.peek() == '-' || reader.peek() == '+') reader.next();
    if (reader.take("infinity") || reader.take("inf")) {
        if (!reader.at_end()) not_a_number(text);
        return infinite_bits(format, sign, context);
    }
    if (reader.take("nan")) {
        if (!reader.at_end()) not_a_number(text);
        if (!format.has_nan()) return invalid_bits(format, context);
        return sign && format.has_sign ? negate_bits(format, nan_bits(format)) : nan_bits(format);
    }
    if (reader.take("0x")) return parse_hex_float(format, sign, reader, text, context);

    return round_decimal(format, sign, read_decimal(reader, text), context);
}

std::optional<SignedDecimal> parse_decimal(std::string_view text) {
    Reader reader(text);
    const bool negative = reader.peek() == '-';
    if (reader.peek() == '-' || reader.peek() == '+') reader.next();
    if (reader.peek() == 'i' || reader.peek() == 'n') return std::nullopt;
    if (reader.take("0x")) {
        Context context;
        const std::uint64_t bits = parse_bits(formats::fp64, text, context);
        if (context.flags != 0) return std::nullopt;
        return SignedDecimal{negative, exact_decimal(decode(formats::fp64, bits))};
    }
    return SignedDecimal{negative, read_decimal(reader, text)};
}

}  // namespace ulp
