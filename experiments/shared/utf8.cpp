#include "experiments/shared/utf8.hpp"

#include <fmt/format.h>

#include <bit>

#include "softfloat/errors.hpp"

namespace ulp {
namespace {

/// The code point that starts at `at`, which is moved behind it; false where there is none.
bool next_point(std::string_view text, std::size_t& at, std::uint32_t& point) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const int ones = std::countl_one(byte(at));
    if (ones == 1 || ones > 4) return false;
    const std::size_t length = ones == 0 ? 1 : static_cast<std::size_t>(ones);
    if (at + length > text.size()) return false;
    point = byte(at) & (0xFFU >> (ones == 0 ? 1 : ones + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(at + i) & 0xC0) != 0x80) return false;
        point = point << 6 | (byte(at + i) & 0x3F);
    }
    constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};  // by length: below it the form is overlong
    at += length;
    return point >= least[length] && point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF);
}

}  // namespace

std::vector<std::uint32_t> code_points(std::string_view text, const std::string& name) {
    if (text.empty()) throw DataError(fmt::format("{} is empty; give a text to learn from", name));
    std::vector<std::uint32_t> points;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t start = at;
        std::uint32_t point = 0;
        if (!next_point(text, at, point)) {
            throw DataError(fmt::format("{} is not UTF-8 at byte {}; convert it first (iconv -t UTF-8)", name, start));
        }
        points.push_back(point);
    }
    return points;
}

}  // namespace ulp
