#include "experiments/framework/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "softfloat/errors.hpp"
#include "softfloat/support/nearest_names.hpp"

namespace ulp {

DeclaredOption DeclaredOption::required() { return DeclaredOption(option_->required()); }
DeclaredOption DeclaredOption::capture_default_str() { return DeclaredOption(option_->capture_default_str()); }
DeclaredOption DeclaredOption::type_name(const std::string& name) { return DeclaredOption(option_->type_name(name)); }
DeclaredOption DeclaredOption::delimiter(char mark) { return DeclaredOption(option_->delimiter(mark)); }
DeclaredOption DeclaredOption::excludes(const DeclaredOption& other) {
    return DeclaredOption(option_->excludes(other.option_));
}
DeclaredOption DeclaredOption::one_of(const std::vector<std::string>& values) {
    return DeclaredOption(option_->check(CLI::IsMember(values)));
}
template <typename T>
DeclaredOption DeclaredOption::range(T least, T most) {
    return DeclaredOption(option_->check(CLI::Range(least, most)));
}
template DeclaredOption DeclaredOption::range(int least, int most);
template DeclaredOption DeclaredOption::range(double least, double most);
DeclaredOption DeclaredOption::repeated() {
    return DeclaredOption(option_->expected(1)->allow_extra_args(false)->take_all());
}

OptionParser::OptionParser(const std::string& description, const std::string& name)
    : OptionParser(std::make_shared<CLI::App>(description, name)) {}
OptionParser::OptionParser(std::shared_ptr<CLI::App> app) : app_(std::move(app)) {}

namespace {

/// The type of one number of an option's value.
template <typename T>
struct NumberOf {
    using Type = T;
};
template <typename T>
struct NumberOf<std::vector<T>> : NumberOf<T> {};
template <typename T>
struct NumberOf<std::optional<T>> : NumberOf<T> {};

/// What is wrong with the text of a whole number, or nothing; then it is written without zeros in front. CLI11 would
/// take the nearest number of the type for one that is too large, the largest for -1 where there is no sign, and 010
/// for 8.
template <typename Integer>
std::string take_integer(std::string& text) {
    using Limits = std::numeric_limits<Integer>;
    Integer value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
        return "'" + text + "' is not a whole number from " + std::to_string(Limits::min()) + " to " +
               std::to_string(Limits::max());
    }
    text = std::to_string(value);
    return "";
}

}  // namespace

template <typename T>
DeclaredOption OptionParser::add_option(const std::string& names, T& value, const std::string& help) {
    CLI::Option* option = app_->add_option(names, value, help);
    using Number = typename NumberOf<T>::Type;
    if constexpr (std::is_integral_v<Number>) option->transform(CLI::Validator(take_integer<Number>, ""));
    return DeclaredOption(option);
}
template DeclaredOption OptionParser::add_option(const std::string&, std::string&, const std::string&);
template DeclaredOption OptionParser::add_option(const std::string&, std::vector<std::string>&, const std::string&);
template DeclaredOption OptionParser::add_option(const std::string&, std::vector<std::int64_t>&, const std::string&);
template DeclaredOption OptionParser::add_option(const std::string&, std::vector<int>&, const std::string&);
template DeclaredOption OptionParser::add_option(const std::string&, std::vector<double>&, const std::string&);
template DeclaredOption OptionParser::add_option(const std::string&, std::filesystem::path&, const std::string&);
template DeclaredOption OptionParser::add_option(const std::string&, int&, const std::string&);
template DeclaredOption OptionParser::add_option(const std::string&, unsigned&, const std::string&);
template DeclaredOption OptionParser::add_option(const std::string&, std::int64_t&, const std::string&);
template DeclaredOption OptionParser::add_option(const std::string&, std::optional<std::int64_t>&, const std::string&);
template DeclaredOption OptionParser::add_option(const std::string&, std::uint64_t&, const std::string&);
template DeclaredOption OptionParser::add_option(const std::string&, double&, const std::string&);
template DeclaredOption OptionParser::add_option(const std::string&, std::optional<float>&, const std::string&);
template DeclaredOption OptionParser::add_option(const std::string&, std::optional<double>&, const std::string&);

DeclaredOption OptionParser::add_parsed(const std::string& names, std::function<void(const std::string&)> take,
                                        const std::string& help) {
    const auto take_all = [take = std::move(take)](const std::vector<std::string>& texts) {
        for (const std::string& text : texts) take(text);
    };
    CLI::Option* const option = app_->add_option_function<std::vector<std::string>>(names, take_all, help);
    return DeclaredOption(option->expected(1)->allow_extra_args(false)->take_all()->type_name("TEXT"));
}

DeclaredOption OptionParser::add_flag(const std::string& names, bool& value, const std::string& help) {
    return DeclaredOption(app_->add_flag(names, value, help));
}

DeclaredOption OptionParser::add_flag(const std::string& names, std::string& value, const std::string& help) {
    return DeclaredOption(app_->add_flag(names, value, help));
}

OptionParser OptionParser::add_subcommand(const std::string& name, const std::string& summary) {
    // The program owns its subcommands; this shares that.
    return OptionParser(std::shared_ptr<CLI::App>(app_, app_->add_subcommand(name, summary)));
}
void OptionParser::require_subcommand() { app_->require_subcommand(1); }
bool OptionParser::parsed() const { return app_->parsed(); }

void OptionParser::footer(const std::string& text) { app_->footer(text); }
void OptionParser::version(const std::string& text) { app_->set_version_flag("--version", text); }
void OptionParser::allow_extras() { app_->allow_extras(); }
std::vector<std::string> OptionParser::remaining() const { return app_->remaining(); }

namespace {

/// Throws UsageError for the first argument that is no option of the subcommand, with the nearest of its options.
void refuse_unknown_option(const CLI::App& program) {
    const CLI::App* app = &program;
    std::string words = app->get_name();
    while (!app->get_subcommands().empty()) {
        app = app->get_subcommands().front();
        words += " " + app->get_name();
    }
    std::vector<std::string> names;
    for (const CLI::Option* option : app->get_options()) {
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    for (const std::string& extra : app->remaining()) {
        if (!extra.starts_with("--") || extra == "--") continue;
        const std::string name = extra.substr(0, extra.find('='));
        const bool is_short = name.size() == 3 && app->get_option_no_throw(name.substr(1)) != nullptr;
        std::string argument = name.substr(2);  // an argument without a name before it, as help shows it
        std::ranges::transform(argument, argument.begin(),
                               [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
        if (!is_short && app->get_option_no_throw(argument) != nullptr) {
            throw UsageError(words + " takes " + argument + " without " + name + ": see " + words + " --help");
        }
        throw UsageError(words + " has no option " + name + "; did you mean " +
                         (is_short ? name.substr(1) : nearest_names(name, names, 1)) + "? see " + words + " --help");
    }
}

}  // namespace

bool OptionParser::parse(const std::vector<std::string>& arguments) {
    try {
        app_->parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 wants them reversed
        return true;
    } catch (const CLI::Success& request) {
        app_->exit(request);
        return false;
    } catch (const CLI::ParseError& error) {
        refuse_unknown_option(*app_);
        std::string sentence = error.what();
        while (!sentence.empty() && (sentence.back() == '.' || sentence.back() == '\n')) sentence.pop_back();
        throw UsageError(sentence + "; see --help");
    }
}

}  // namespace ulp
