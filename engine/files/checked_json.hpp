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

/// What checked_json refuses, found while the text is read: nothing is built, so large texts cost little.
class JsonCheck : public nlohmann::json_sax<nlohmann::json> {
  public:
    explicit JsonCheck(int deepest) : deepest_(deepest) {}
    bool null() override { return shallow(); }
    bool boolean(bool) override { return shallow(); }
    bool number_integer(number_integer_t) override { return shallow(); }
    bool number_unsigned(number_unsigned_t) override { return shallow(); }
    bool number_float(number_float_t, const string_t&) override { return shallow(); }
    bool string(string_t&) override { return shallow(); }
    bool binary(binary_t&) override { return shallow(); }
    bool start_object(std::size_t) override {
        names_.emplace_back();
        return start_array(0);
    }
    bool key(string_t& name) override {
        if (names_.back().insert(name).second) return shallow();
        throw std::invalid_argument(fmt::format("the name \"{}\" stands twice", name));
    }
    bool end_object() override {
        names_.pop_back();
        return end_array();
    }
    bool start_array(std::size_t) override {
        const bool good = shallow();
        ++depth_;
        return good;
    }
    bool end_array() override {
        --depth_;
        return true;
    }
    bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) override {
        throw std::invalid_argument(error.what());
    }

  private:
    [[nodiscard]] bool shallow() const {
        if (depth_ <= deepest_) return true;
        throw std::invalid_argument(fmt::format("brackets stand in more than {} others", deepest_));
    }

    int deepest_;
    int depth_ = 0;
    std::vector<std::set<std::string>> names_;
};

/// Throws std::invalid_argument for what is no JSON, for a name that stands twice in an object, and for more than
/// `deepest` brackets inside each other.
inline nlohmann::json checked_json(std::string_view text, int deepest = 32) {
    {
        JsonCheck check(deepest);
        nlohmann::json::sax_parse(text, &check);
    }
    try {
        return nlohmann::json::parse(text);
    } catch (const nlohmann::json::exception& error) {  // numbers that no type holds
        throw std::invalid_argument(error.what());
    }
}

}  // namespace ulp
