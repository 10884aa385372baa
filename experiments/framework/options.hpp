// The options of a program or a subcommand. CLI11 does the work, behind this header: its own headers would cost each
// file that includes them many seconds of compilation.
//
//     OptionParser parser("adds numbers", "add");
//     parser.add_option("--limit", limit, "the largest sum").capture_default_str();
//     if (!parser.parse(arguments)) return ExitCode::good;
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ulp {

/// An option just added, to be described further. The functions are CLI11's of the same names, unless they say more.
class DeclaredOption {
  public:
    explicit DeclaredOption(CLI::Option* option) : option_(option) {}

    DeclaredOption required();
    DeclaredOption capture_default_str();
    DeclaredOption type_name(const std::string& name);
    DeclaredOption delimiter(char mark);
    DeclaredOption excludes(const DeclaredOption& other);
    DeclaredOption one_of(const std::vector<std::string>& values);
    /// least <= value <= most; for int and double.
    template <typename T>
    DeclaredOption range(T least, T most);
    /// The option may be repeated, and takes one value each time.
    DeclaredOption repeated();

  private:
    CLI::Option* option_;
};

class OptionParser {
  public:
    /// Of a whole program.
    OptionParser(const std::string& description, const std::string& name);

    /// Sets `value` to what the command line says. T is one of the types that options.cpp lists.
    template <typename T>
    DeclaredOption add_option(const std::string& names, T& value, const std::string& help);
    /// Gives the text of the value to `take`, which throws UsageError for a wrong one; of an option that is repeated
    /// each text in turn.
    DeclaredOption add_parsed(const std::string& names, std::function<void(const std::string&)> take,
                              const std::string& help);
    /// Sets `value` to true, or to false for names that begin with an exclamation mark.
    DeclaredOption add_flag(const std::string& names, bool& value, const std::string& help);
    /// Sets `value` to "true", or to the text behind "=": --saturate, --saturate=SatPropagate.
    DeclaredOption add_flag(const std::string& names, std::string& value, const std::string& help);

    OptionParser add_subcommand(const std::string& name, const std::string& summary);
    void require_subcommand();
    /// Whether the command line chose this subcommand.
    [[nodiscard]] bool parsed() const;

    void footer(const std::string& text);
    void version(const std::string& text);
    /// Arguments that no option takes are no error: remaining() has them.
    void allow_extras();
    [[nodiscard]] std::vector<std::string> remaining() const;

    /// False if the arguments asked for --help or --version, which has been printed. Throws UsageError for wrong ones.
    bool parse(const std::vector<std::string>& arguments);

    /// What has been declared.
    [[nodiscard]] const CLI::App& declared() const { return *app_; }

  private:
    explicit OptionParser(std::shared_ptr<CLI::App> app);

    std::shared_ptr<CLI::App> app_;
};

}  // namespace ulp
