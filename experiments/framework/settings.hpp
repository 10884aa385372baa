// The settings of an experiment: typed, with a default for quick and for full runs, a range and a help text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ulp {

using SettingValue = std::variant<std::int64_t, double, std::string>;

struct Setting {
    std::string name;
    std::string help;
    SettingValue quick;  // default with --quick; its type is the setting's type
    SettingValue full;   // default with --full
    double min = 0;      // of numbers, inclusive
    double max = 0;
    std::vector<std::string> choices;  // of texts: what is allowed; empty: anything
    bool path = false;                 // a place on this machine: it stands in the manifest, not in the result
};

Setting integer_setting(std::string name, std::string help, std::int64_t quick, std::int64_t full, std::int64_t min,
                        std::int64_t max);
Setting real_setting(std::string name, std::string help, double quick, double full, double min, double max);
Setting text_setting(std::string name, std::string help, std::string value, std::vector<std::string> choices = {});
/// A file or folder, none by default.
Setting path_setting(std::string name, std::string help);

/// "key (default, range): help" on a line each.
std::string describe(const std::vector<Setting>& settings);

/// Decimal text of a value; the shortest that reads back.
std::string to_text(const SettingValue& value);

/// The values that hold in one run.
class Settings {
  public:
    Settings(std::vector<Setting> declared, bool quick);

    /// Applies "key=value". Throws UsageError: no "=", an unknown key (lists the keys), a wrong type or range.
    void set(std::string_view assignment);
    [[nodiscard]] bool knows(std::string_view key) const;

    /// Throw std::logic_error where the experiment declared no such setting of that type.
    [[nodiscard]] std::int64_t integer(std::string_view key) const;
    [[nodiscard]] double real(std::string_view key) const;
    [[nodiscard]] const std::string& text(std::string_view key) const;

    using Values = std::map<std::string, SettingValue, std::less<>>;
    [[nodiscard]] const Values& values() const { return values_; }
    /// Those that decide the result: all but the paths.
    [[nodiscard]] Values values_without_paths() const;
    /// The places on this machine that were given, in the order of their settings.
    [[nodiscard]] std::vector<std::string> paths() const;
    /// "key=value" of those that are not the mode's defaults.
    [[nodiscard]] std::vector<std::string> changed() const;

  private:
    std::vector<Setting> declared_;
    bool quick_;
    Values values_;
};

}  // namespace ulp
