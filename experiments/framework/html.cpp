#include "experiments/framework/html.hpp"

#include <cstdint>

#include "engine/files/sha256.hpp"

namespace ulp {

std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text) {
        switch (c) {
            case '&': result += "&amp;"; break;
            case '<': result += "&lt;"; break;
            case '>': result += "&gt;"; break;
            case '"': result += "&quot;"; break;
            default: result += c;
        }
    }
    return result;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
        text.replace(at, from.size(), to);
    }
}

std::string filled(std::string_view page, const std::map<std::string, std::string, std::less<>>& values) {
    std::string result;
    for (std::size_t mark = 0; (mark = page.find("{{")) != std::string_view::npos;) {
        const std::size_t end = page.find("}}", mark);
        result += page.substr(0, mark);
        result += values.at(std::string(page.substr(mark + 2, end - mark - 2)));
        page.remove_prefix(end + 2);
    }
    return result + std::string(page);
}

std::string script_hash(std::string_view script) {
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    // Three hexadecimal digits are two of base64; 64 of them leave one, which stands for its four bits and two zeros.
    const std::string hex = sha256_of(script) + "00";
    std::string text = "sha256-";
    for (std::size_t at = 0; at + 3 <= hex.size(); at += 3) {
        const unsigned bits = static_cast<unsigned>(std::stoul(hex.substr(at, 3), nullptr, 16));
        text += digits[bits >> 6];
        text += digits[bits & 63];
    }
    text.back() = '=';  // 43 digits hold 256 bits; the 44th is filling
    return text;
}

}  // namespace ulp
