// Just enough JSON for the page: objects and lists, written in order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace playground {

inline std::string quoted(std::string_view text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += c == '\n' ? ' ' : c;
    }
    return result + '"';
}

/// An object: add its members, then take the text.
class Object {
  public:
    Object& text(std::string_view name, std::string_view value) { return raw(name, quoted(value)); }
    Object& number(std::string_view name, std::int64_t value) { return raw(name, std::to_string(value)); }
    Object& boolean(std::string_view name, bool value) { return raw(name, value ? "true" : "false"); }
    /// `value` is JSON already.
    Object& raw(std::string_view name, std::string_view value) {
        if (!members_.empty()) members_ += ',';
        (members_ += quoted(name)) += ':';
        members_ += value;
        return *this;
    }
    [[nodiscard]] std::string json() const { return '{' + members_ + '}'; }

  private:
    std::string members_;
};

inline std::string list_of(const std::vector<std::string>& values) {
    std::string list = "[";
    for (const std::string& value : values) {
        if (list.size() > 1) list += ',';
        list += value;
    }
    return list + ']';
}

}  // namespace playground
