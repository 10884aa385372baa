// The settings of an experiment: typed, with a default for each size of run, a range and a help text.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace ulp {

using SettingValue = std::variant<std::int64_t, double, std::string>;

/// How long a run is.
enum class RunSize : std::uint8_t {
    smoke,     // seconds in all, to compare bits: too short for most claims
    quick,     // the default
    full,      // what the register of claims rests on
    published  // the sources' own net: hours, one seed, of the experiments that have it
};
inline constexpr std::array run_sizes = {RunSize::smoke, RunSize::quick, RunSize::full, RunSize::published};
std::string_view name_of(RunSize size);
/// Throws DataError for a name that is none.
RunSize run_size_by_name(std::string_view name);

struct Setting {
    std::string name;
    std::string help;
    SettingValue quick;  // default with --quick; its type is the setting's type
    SettingValue full;   // default with --full
    double min = 0;      // of numbers, inclusive
    double max = 0;
    std::vector<std::string> choices;                  // of texts: what is allowed; empty: anything
    bool path = false;                                 // a place on this machine: in the manifest, not in the result
    std::optional<SettingValue> smoke_value = {};      // default with --smoke; none: that of quick
    std::optional<SettingValue> published_value = {};  // default with --published; none: that of full

    /// The same with another default for --smoke: integer_setting("steps", ...).smoke(2).
    template <class Value>
    [[nodiscard]] Setting smoke(Value value) && {
        smoke_value = as_setting(value);
        return std::move(*this);
    }
    /// The same with another default for --published.
    template <class Value>
    [[nodiscard]] Setting published(Value value) && {
        published_value = as_setting(value);
        return std::move(*this);
    }
    [[nodiscard]] const SettingValue& at(RunSize size) const {
        if (size == RunSize::published) return published_value ? *published_value : full;
        return size == RunSize::full ? full : size == RunSize::smoke && smoke_value ? *smoke_value : quick;
    }

  private:
    template <class Value>
    static SettingValue as_setting(Value value) {
        if constexpr (std::is_integral_v<Value>) {
            return static_cast<std::int64_t>(value);
        } else {
            return value;
        }
    }
};

Setting integer_setting(std::string name, std::string help, std::int64_t quick, std::int64_t full, std::int64_t min,
                        std::int64_t max);
Setting real_setting(std::string name, std::string help, double quick, double full, double min, double max);
Setting text_setting(std::string name, std::string help, std::string value, std::vector<std::string> choices = {});
/// A file or folder, none by default.
Setting path_setting(std::string name, std::string help);

/// What the setting "without" names, which every experiment has beside its own.
inline constexpr std::array parts_left_out = {"scale", "masters", "sums", "norms", "all"};

/// "key (default, range): help" on a line each.
std::string describe(const std::vector<Setting>& settings);

/// Decimal text of a value; the shortest that reads back.
std::string to_text(const SettingValue& value);

/// The values that hold in one run.
class Settings {
  public:
    Settings(std::vector<Setting> declared, RunSize size);

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
    /// What training runs leave out, a setting of every experiment; empty: nothing, and then it is none of the values.
    [[nodiscard]] std::string without() const;
    /// The places on this machine that were given, in the order of their settings.
    [[nodiscard]] std::vector<std::string> paths() const;
    /// "key=value" of those that are not the size's defaults.
    [[nodiscard]] std::vector<std::string> changed() const;

  private:
    std::vector<Setting> declared_;
    RunSize size_;
    Values values_;
};

}  // namespace ulp
