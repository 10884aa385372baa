// Pieces of HTML.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace ulp {

/// Text as HTML shows it.
std::string escaped(std::string_view text);

void replace_all(std::string& text, std::string_view from, std::string_view to);

/// The template with each {{mark}} replaced by its value; marks in a value stay as they are. Throws std::out_of_range
/// for a mark without a value.
std::string filled(std::string_view page, const std::map<std::string, std::string, std::less<>>& values);

/// A script's SHA-256 as a content security policy names it: "sha256-" and base64.
std::string script_hash(std::string_view script);

}  // namespace ulp
