// `ulplab dev manual` and `ulplab dev page commands`: the manual pages and the reference of the command line, from the
// same declarations as --help.
#include <CLI/CLI.hpp>

#include "engine/files/whole_file.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/cli/pages.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/machine.hpp"
#include "experiments/framework/values.hpp"

namespace ulp {
namespace {

namespace fs = std::filesystem;

struct ManualOptions {
    std::vector<std::string> names;
    std::string out;
};

/// A subcommand, or the program itself, and its words on the command line: "ulplab gpu info".
struct Page {
    const CLI::App* app;
    std::string words;

    [[nodiscard]] std::string file_name() const {
        std::string name = words;
        std::replace(name.begin(), name.end(), ' ', '-');
        return name + ".1";
    }
};

void add_pages(const CLI::App& app, const std::string& words, std::vector<Page>& pages) {
    pages.push_back({&app, words});
    for (const CLI::App* sub : app.get_subcommands({})) add_pages(*sub, words + " " + sub->get_name(), pages);
}

/// "--set KEY=VALUE", "NAME..."
struct OptionText {
    std::string names, value, explanation;
    bool positional;
};

OptionText text_of(const CLI::Option& option) {
    const bool many = option.get_items_expected_max() > 1;
    OptionText text{option.get_name(option.get_positional()), "", option.get_description(), option.get_positional()};
    if (text.positional) {
        if (many) text.names += "...";
    } else if (option.get_items_expected_max() > 0) {
        text.value = option.get_type_name().substr(0, option.get_type_name().find(':'));
    }
    if (!option.get_default_str().empty()) text.explanation += fmt::format(" (default: {})", option.get_default_str());
    if (option.get_required() && !text.positional) text.explanation += " (required)";
    return text;
}

std::vector<OptionText> options_of(const CLI::App& app) {
    std::vector<OptionText> texts;
    for (const CLI::Option* option : app.get_options()) texts.push_back(text_of(*option));
    std::stable_partition(texts.begin(), texts.end(), [](const OptionText& text) { return text.positional; });
    return texts;
}

std::string synopsis_arguments(const CLI::App& app) {
    std::string arguments = app.get_subcommands({}).empty() ? "[OPTIONS]" : "SUBCOMMAND ...";
    for (const CLI::Option* option : app.get_options()) {
        if (!option->get_positional()) continue;
        const std::string name = text_of(*option).names;
        arguments += option->get_required() ? " " + name : " [" + name + "]";
    }
    return arguments;
}

constexpr const char* exit_codes[][2] = {{"0", "good"},
                                         {"1", "a claim failed"},
                                         {"2", "wrong usage"},
                                         {"3", "missing or bad data, or a place that cannot be written"},
                                         {"4", "bits differ"},
                                         {"129", "ended by SIGHUP"},
                                         {"130", "ended by Ctrl-C"},
                                         {"143", "ended by SIGTERM"}};

/// Text for roff: hyphens that stay what they are, no line that starts as a request.
std::string roff(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '\\') {
            result += "\\e";
        } else if (c == '-') {
            result += "\\-";
        } else {
            result += c;
        }
    }
    return result.starts_with('.') || result.starts_with('\'') ? "\\&" + result : result;
}

std::string roff_options(const CLI::App& app) {
    std::string text;
    for (const OptionText& option : options_of(app)) {
        text +=
            fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", roff(option.names),
                        option.value.empty() ? "" : " \\fI" + roff(option.value) + "\\fR", roff(option.explanation));
    }
    return text;
}

/// A page of section 1, without a date: the same for the same program.
std::string man_page(const Page& page) {
    std::string title = page.file_name();
    title.resize(title.size() - 2);
    std::string text =
        fmt::format(".\\\" Written by ulplab dev manual.\n.TH \"{}\" 1 \"\" \"ulplab {}\" \"User Commands\"\n", title,
                    program_version());
    std::string summary = page.app->get_description();
    if (summary.starts_with("ulplab: ")) summary.erase(0, 8);
    text += fmt::format(".SH NAME\n{} \\- {}\n", roff(title), roff(summary));
    text += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR {}\n", page.words, roff(synopsis_arguments(*page.app)));
    const auto parts = page.app->get_subcommands({});
    if (!parts.empty()) {
        text += ".SH SUBCOMMANDS\n";
        for (const CLI::App* sub : parts) {
            text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(sub->get_name()), roff(sub->get_description()));
        }
    }
    text += ".SH OPTIONS\n" + roff_options(*page.app);
    if (!page.app->get_footer().empty()) text += ".PP\n.nf\n" + roff(page.app->get_footer()) + "\n.fi\n";
    text += ".SH EXIT STATUS\n";
    for (const auto& [code, meaning] : exit_codes) text += fmt::format(".TP\n{}\n{}\n", code, meaning);
    if (page.words == "ulplab") return text;
    return text + ".SH SEE ALSO\n.BR ulplab (1)\n";
}

/// A sentence in Markdown, where an angle bracket outside of code would start an HTML tag.
std::string prose(std::string_view text) {
    std::string result;
    bool code = false;
    for (const char c : text) {
        if (c == '`') code = !code;
        if (c == '<' && !code) result += '\\';
        result += c;
    }
    return result;
}

std::string markdown_section(const Page& page) {
    std::string text = fmt::format("## {}\n\n{}.\n\n    {} {}\n\n", page.words, page.app->get_description(), page.words,
                                   synopsis_arguments(*page.app));
    std::vector<std::vector<std::string>> rows;
    for (const OptionText& option : options_of(*page.app)) {
        if (option.names == "--help" || option.names == "-h,--help") continue;
        rows.push_back({fmt::format("`{}{}{}`", option.names, option.value.empty() ? "" : " ", option.value),
                        prose(option.explanation)});
    }
    if (!rows.empty()) text += markdown_table({"option", "meaning"}, rows) + "\n";
    // A footer of several lines is a list.
    std::string footer = page.app->get_footer();
    if (footer.find('\n') == std::string::npos) return text;
    if (footer.back() != '\n') footer += '\n';
    return text + fmt::format("```text\n{}```\n\n", footer);
}

std::string markdown_document(const std::vector<Page>& pages) {
    std::vector<std::vector<std::string>> codes;
    for (const auto& [code, meaning] : exit_codes) codes.push_back({code, meaning});
    std::string text = "Every command takes `--help`.\n\n" + markdown_table({"exit code", "meaning"}, codes) + "\n";
    for (const Page& page : pages) text += markdown_section(page);
    text.pop_back();
    return generated_document("The command line", "ulplab dev page commands", text);
}

std::vector<Page> choose(const std::vector<Page>& pages, const std::vector<std::string>& names) {
    if (names.empty()) return {pages.front()};
    std::string words = "ulplab";
    for (const std::string& name : names) words += " " + name;
    for (const Page& page : pages) {
        if (page.words == words) return {page};
    }
    throw UsageError(fmt::format("there is no command \"{}\"; see ulplab --help", words));
}

ExitCode manual(const ManualOptions& options) {
    const OptionParser program = declared_program();
    std::vector<Page> pages;
    add_pages(program.declared(), "ulplab", pages);
    if (options.out.empty()) {
        fmt::print("{}", man_page(choose(pages, options.names).front()));
    } else {
        make_writable_folder(options.out);
        for (const Page& page : pages) replace_whole_file(fs::path(options.out) / page.file_name(), man_page(page));
    }
    return ExitCode::good;
}

Action declare_manual(OptionParser& app) {
    const auto options = std::make_shared<ManualOptions>();
    app.add_option("COMMAND", options->names, "the page of this command, such as: gpu info; else of ulplab itself");
    app.add_option("--out", options->out, "write all pages into this folder").type_name("DIR");
    return [options] { return manual(*options); };
}

}  // namespace

std::string commands_page() {
    const OptionParser program = declared_program();
    std::vector<Page> pages;
    add_pages(program.declared(), "ulplab", pages);
    return markdown_document(pages);
}

Command manual_command() { return {"manual", "the manual pages, from the same text as --help", declare_manual}; }

}  // namespace ulp
