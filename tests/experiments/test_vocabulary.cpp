// One vocabulary over the whole command line: how many commands and options there are, what --format and --json mean,
// and that old names are refused with the new ones.
#include <doctest/doctest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "experiments/cli/command.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/names.hpp"

namespace {

using ulp::OldName;

/// A command with its words: "gpu info".
struct Declared {
    const CLI::App* app;
    std::string words;
};

void collect(const CLI::App& app, const std::string& words, std::vector<Declared>& all) {
    if (!words.empty()) all.push_back({&app, words});
    for (const CLI::App* sub : app.get_subcommands({})) {
        collect(*sub, words.empty() ? sub->get_name() : words + " " + sub->get_name(), all);
    }
}

const ulp::OptionParser& program() {
    static const ulp::OptionParser declared = ulp::declared_program();
    return declared;
}

std::vector<Declared> declared_commands() {
    std::vector<Declared> all;
    collect(program().declared(), "", all);
    return all;
}

/// "--out", "-k", ... of one command; those without an argument have no long name.
std::vector<std::string> names_of(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_positional()) continue;
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
        if (option->get_lnames().empty()) {
            for (const std::string& name : option->get_snames()) names.push_back("-" + name);
        }
    }
    return names;
}

bool has(const CLI::App& app, const std::string& option) {
    const std::vector<std::string> names = names_of(app);
    return std::ranges::find(names, option) != names.end();
}

std::vector<std::string> words_of(std::string_view text) {
    std::istringstream stream{std::string(text)};
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

}  // namespace

TEST_CASE("what prints data prints it as JSON, too, with --json") {
    const std::vector<Declared> all = declared_commands();
    for (const char* words : {"list", "run", "claims", "models", "formats", "codes", "show", "explain", "bound",
                              "inspect", "compare", "diagnose", "doctor"}) {
        CAPTURE(std::string(words));
        const auto command = std::ranges::find(all, words, &Declared::words);
        REQUIRE(command != all.end());
        CHECK(has(*command->app, "--json"));
    }
}

TEST_CASE("--format names number formats, in every command that has it") {
    for (const Declared& command : declared_commands()) {
        CAPTURE(command.words);
        const CLI::Option* const option = command.app->get_option_no_throw("--format");
        if (option == nullptr) continue;
        CHECK(option->get_description().find("format") != std::string::npos);
        // Choices, where the parser knows some: "TEXT:{fp16,bf16}".
        const std::string type = option->get_type_name();
        const std::size_t brace = type.find('{');
        if (brace == std::string::npos) continue;
        std::string choices = type.substr(brace + 1, type.find('}') - brace - 1);
        std::ranges::replace(choices, ',', ' ');
        for (const std::string& choice : words_of(choices)) CHECK_NOTHROW(ulp::format_by_name(choice));
    }
}

TEST_CASE("no option is called as the vocabulary of 0.2.0 called it") {
    for (const Declared& command : declared_commands()) {
        for (const OldName& row : ulp::old_names()) {
            const bool here = row.command.empty() || row.command == command.words;
            if (!here || row.option.empty() || row.option.find(' ') != std::string_view::npos) continue;
            CAPTURE(command.words);
            CAPTURE(std::string(row.option));
            CHECK_FALSE(has(*command.app, std::string(row.option)));
        }
    }
}

TEST_CASE("an old name is refused with the new one, which there is") {
    const std::vector<Declared> all = declared_commands();
    for (const OldName& row : ulp::old_names()) {
        std::vector<std::string> arguments = words_of(row.command.empty() ? "any" : row.command);
        for (const std::string& word : words_of(row.option)) arguments.push_back(word);
        const std::string sentence =
            std::string(row.option.empty() ? row.command : row.option) + " is now: " + std::string(row.now);
        CAPTURE(sentence);
        CHECK_THROWS_WITH_AS(ulp::refuse_old_names(arguments), sentence.c_str(), ulp::UsageError);
        const std::vector<std::string> now = words_of(row.now);
        if (now.front() == "ulplab") {
            CHECK(std::ranges::any_of(all, [&](const Declared& command) {
                return command.words == now[1] ||
                       command.words == now[1] + " " + now[std::min<std::size_t>(2, now.size() - 1)];
            }));
        } else if (now.front().starts_with("--")) {
            CHECK(std::ranges::any_of(all, [&](const Declared& command) {
                const bool here = row.command.empty() || row.command == command.words;
                return here && has(*command.app, now.front());
            }));
        }
    }
    CHECK_NOTHROW(ulp::refuse_old_names({"show", "--", "--model"}));
    CHECK_NOTHROW(ulp::refuse_old_names({"matmul", "--rounding", "nearest_even"}));
    CHECK_THROWS_WITH_AS(ulp::refuse_old_names({"explain", "--model=x"}), "--model is now: --unit", ulp::UsageError);
}
