// JSON of others: parsed with what nlohmann's parser lets pass.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ulp {

/// Throws std::invalid_argument for what is no JSON, for a name that stands twice in an object, and for more than
/// `deepest` brackets inside each other.
inline nlohmann::json checked_json(std::string_view text, int deepest = 32) {
    using Json = nlohmann::json;
    std::vector<std::set<std::string>> names;
    const auto check = [&](int depth, Json::parse_event_t event, Json& value) {
        if (depth > deepest) throw std::invalid_argument(fmt::format("brackets stand in more than {} others", deepest));
        if (event == Json::parse_event_t::object_start) names.emplace_back();
        if (event == Json::parse_event_t::object_end) names.pop_back();
        if (event == Json::parse_event_t::key && !names.back().insert(value.get<std::string>()).second) {
            throw std::invalid_argument(fmt::format("the name \"{}\" stands twice", value.get<std::string>()));
        }
        return true;
    };
    try {
        return Json::parse(text.begin(), text.end(), check);
    } catch (const Json::exception& error) {
        throw std::invalid_argument(error.what());
    }
}

}  // namespace ulp
