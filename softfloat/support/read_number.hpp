// Numbers in texts: what recordings, options and stored answers are read with.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>

namespace ulp {

/// All of a text as a number, in that base where it is an integer; nothing where the text is empty, holds anything
/// else, or does not fit.
template <class Number>
std::optional<Number> read_number(std::string_view text, int base = 10) {
    Number value{};
    const char* const end = text.data() + text.size();
    std::from_chars_result read{};
    if constexpr (std::integral<Number>) {
        read = std::from_chars(text.data(), end, value, base);
    } else {
        read = std::from_chars(text.data(), end, value);
    }
    return read.ec == std::errc{} && read.ptr == end ? std::optional(value) : std::nullopt;
}

}  // namespace ulp
