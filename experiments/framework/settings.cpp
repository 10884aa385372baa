#include "experiments/framework/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "softfloat/errors.hpp"

namespace ulp {
namespace {

template <class Number>
bool read_whole(std::string_view text, Number& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
}

std::string range_text(const Setting& setting) {
    if (std::holds_alternative<std::string>(setting.quick)) {
        return setting.choices.empty() ? "any text" : fmt::format("one of {}", fmt::join(setting.choices, ", "));
    }
    const char* kind = std::holds_alternative<std::int64_t>(setting.quick) ? "an integer" : "a number";
    return fmt::format("{} from {} to {}", kind, setting.min, setting.max);
}

[[noreturn]] void refuse(const Setting& setting, std::string_view value) {
    throw UsageError(fmt::format("setting {} must be {}, not \"{}\"", setting.name, range_text(setting), value));
}

SettingValue parse(const Setting& setting, std::string_view text) {
    if (std::holds_alternative<std::string>(setting.quick)) {
        const auto& choices = setting.choices;
        if (!choices.empty() && std::find(choices.begin(), choices.end(), text) == choices.end()) refuse(setting, text);
        return std::string(text);
    }
    if (std::holds_alternative<std::int64_t>(setting.quick)) {
        std::int64_t value = 0;
        if (!read_whole(text, value)) refuse(setting, text);
        if (static_cast<double>(value) < setting.min || static_cast<double>(value) > setting.max) refuse(setting, text);
        return value;
    }
    double value = 0;
    if (!read_whole(text, value) || !(value >= setting.min && value <= setting.max)) refuse(setting, text);
    return value;
}

}  // namespace

namespace {
constexpr std::array<std::string_view, run_sizes.size()> size_names = {"smoke", "quick", "full", "published"};
}  // namespace

std::string_view name_of(RunSize size) { return size_names.at(static_cast<std::size_t>(size)); }

RunSize run_size_by_name(std::string_view name) {
    const auto found = std::ranges::find(size_names, name);
    if (found == size_names.end()) throw DataError(fmt::format("there is no size of run \"{}\"", name));
    return run_sizes.at(static_cast<std::size_t>(found - size_names.begin()));
}

Setting integer_setting(std::string name, std::string help, std::int64_t quick, std::int64_t full, std::int64_t min,
                        std::int64_t max) {
    return {std::move(name),          std::move(help),           quick, full, static_cast<double>(min),
            static_cast<double>(max), std::vector<std::string>{}};
}

Setting real_setting(std::string name, std::string help, double quick, double full, double min, double max) {
    return {std::move(name), std::move(help), quick, full, min, max, {}};
}

Setting text_setting(std::string name, std::string help, std::string value, std::vector<std::string> choices) {
    return {std::move(name), std::move(help), value, value, 0, 0, std::move(choices)};
}

Setting path_setting(std::string name, std::string help) {
    Setting setting = text_setting(std::move(name), std::move(help), "");
    setting.path = true;
    return setting;
}

std::string to_text(const SettingValue& value) {
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *integer);
    return fmt::format("{}", std::get<double>(value));
}

std::string describe(const std::vector<Setting>& settings) {
    std::string text;
    for (const Setting& setting : settings) {
        const std::string quick = to_text(setting.quick);
        const std::string full = to_text(setting.full);
        std::string value = quick == full ? quick : fmt::format("{}, --full {}", quick, full);
        if (setting.published_value) value += ", --published " + to_text(*setting.published_value);
        text += fmt::format("  {:<18} {} [{}; {}]\n", setting.name, setting.help, value.empty() ? "none" : value,
                            range_text(setting));
    }
    return text.empty() ? "  none\n" : text;
}

Settings::Settings(std::vector<Setting> declared, RunSize size) : declared_(std::move(declared)), size_(size) {
    for (const Setting& setting : declared_) values_[setting.name] = setting.at(size);
    declared_.push_back(text_setting("without", "what training runs leave out, to see what needs it", "",
                                     {parts_left_out.begin(), parts_left_out.end()}));
}

std::string Settings::without() const { return knows("without") ? text("without") : ""; }

Settings::Values Settings::values_without_paths() const {
    Values values = values_;
    for (const Setting& setting : declared_) {
        if (setting.path) values.erase(setting.name);
    }
    return values;
}

std::vector<std::string> Settings::paths() const {
    std::vector<std::string> paths;
    for (const Setting& setting : declared_) {
        if (setting.path && !text(setting.name).empty()) paths.push_back(text(setting.name));
    }
    return paths;
}

std::vector<std::string> Settings::changed() const {
    std::vector<std::string> changed;
    for (const Setting& setting : declared_) {
        if (!knows(setting.name)) continue;
        const SettingValue& value = values_.at(setting.name);
        if (value != setting.at(size_)) changed.push_back(setting.name + "=" + to_text(value));
    }
    return changed;
}

bool Settings::knows(std::string_view key) const { return values_.contains(key); }

void Settings::set(std::string_view assignment) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string_view::npos) {
        throw UsageError(fmt::format("--set takes key=value, not \"{}\"", assignment));
    }
    const std::string_view key = assignment.substr(0, equals);
    const auto found =
        std::find_if(declared_.begin(), declared_.end(), [&](const Setting& s) { return s.name == key; });
    if (found == declared_.end()) {
        throw UsageError(fmt::format("there is no setting \"{}\"; the settings are:\n{}", key, describe(declared_)));
    }
    values_[found->name] = parse(*found, assignment.substr(equals + 1));
}

namespace {

template <class Type>
const Type& value_of(const std::map<std::string, SettingValue, std::less<>>& values, std::string_view key) {
    const auto found = values.find(key);
    if (found == values.end() || !std::holds_alternative<Type>(found->second)) {
        throw std::logic_error(fmt::format("setting {} is not declared with this type", key));
    }
    return std::get<Type>(found->second);
}

}  // namespace

std::int64_t Settings::integer(std::string_view key) const { return value_of<std::int64_t>(values_, key); }
double Settings::real(std::string_view key) const { return value_of<double>(values_, key); }
const std::string& Settings::text(std::string_view key) const { return value_of<std::string>(values_, key); }

}  // namespace ulp
