#include "experiments/framework/site.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "engine/files/whole_file.hpp"
#include "experiments/framework/claims.hpp"
#include "experiments/framework/figures.hpp"
#include "experiments/framework/html.hpp"
#include "experiments/framework/markdown.hpp"
#include "softfloat/errors.hpp"

namespace fs = std::filesystem;

namespace ulp {
namespace {

constexpr std::pair<std::string_view, std::string_view> parts_of_site[] = {{"index.html", "ulplab"},
                                                                           {"lessons/index.html", "Lessons"},
                                                                           {"exercises/index.html", "Exercises"},
                                                                           {"playground/index.html", "Playground"},
                                                                           {"report/report.html", "Report"},
                                                                           {"guides.html", "Guides"},
                                                                           {"notebooks/index.html", "Notebooks"},
                                                                           {"reference/index.html", "Reference"},
                                                                           {"find.html", "Search"}};

/// A page before its links to others are known.
struct SitePage {
    std::string source;  // in the project: "docs/lessons/04_addition_and_swamping.md"; "" for what has none
    std::string title, body;
    std::vector<PageSection> sections{};
};

bool has_extension(const fs::path& path, std::string_view list) {
    const std::string extension = path.extension().string();
    return !extension.empty() && list.find(extension + " ") != std::string_view::npos;
}

/// Of the paragraph below a page's title, without tags; empty where a table or commands stand there, or who wrote the
/// page.
std::string first_sentence(const std::string& body) {
    constexpr std::string_view mark = "</h1>\n<p>";
    const std::size_t at = body.find(mark);
    if (at == std::string::npos) return "";
    std::string text = body.substr(at + mark.size(), body.find("</p>", at) - at - mark.size()) + " ";
    text = std::regex_replace(std::regex_replace(text, std::regex("<[^>]*>"), ""), std::regex("\n"), " ");
    return text.starts_with("Written by ") ? "" : text.substr(0, text.find(". ") + 1);
}

/// `<!-- predict: question | answer | choice, choice -->` as a form; without choices the answer is typed.
/// plots/lesson.js judges it. Throws DataError for a comment that lacks a part.
std::string prediction_html(std::string_view text) {
    const auto part = [&text] {
        const std::size_t end = std::min(text.find(" | "), text.size());
        const std::string value = escaped(text.substr(0, end));
        text.remove_prefix(std::min(end + 3, text.size()));
        return value;
    };
    const std::string question = part(), answer = part(), choices = part();
    if (answer.empty()) throw DataError(fmt::format("a prediction has no answer: {}", question));
    std::string field = "<input autocomplete=\"off\" spellcheck=\"false\" size=\"12\">";
    if (!choices.empty()) {
        std::string options = "<option>" + choices;
        replace_all(options, ", ", "<option>");
        field = "<select><option></option>" + options + "</select>";
    }
    return fmt::format(
        "<form class=\"predict\" data-question=\"{0}\" data-answer=\"{1}\"><label><strong>Predict.</strong> {3} "
        "{2}</label> <button>check</button> <button type=\"button\" class=\"show\">show the output</button> "
        "<output aria-live=\"polite\"></output></form>\n",
        question, answer, field, with_powers(question));
}

std::string with_predictions(std::string_view html) {
    constexpr std::string_view mark = "<!-- predict: ", close = " -->";
    std::string result;
    for (std::size_t at = 0; (at = html.find(mark)) != std::string_view::npos;) {
        const std::size_t end = html.find(close, at);
        if (end == std::string_view::npos) break;
        result += html.substr(0, at);
        result += prediction_html(html.substr(at + mark.size(), end - at - mark.size()));
        html.remove_prefix(end + close.size());
    }
    return result + std::string(html);
}

/// `<!-- live: swamp -->` as the place of a live figure (docs/playground/live.js).
std::string with_live_figures(std::string html) {
    constexpr std::string_view mark = "<!-- live: ", close = " -->";
    for (std::size_t at = 0; (at = html.find(mark, at)) != std::string::npos;) {
        const std::size_t end = html.find(close, at);
        const std::string name = html.substr(at + mark.size(), end - at - mark.size());
        html.replace(
            at, end + close.size() - at,
            fmt::format("<section class=\"live try\" data-live=\"{}\"><h2>Try it</h2><noscript>This figure needs "
                        "scripts.</noscript></section>",
                        escaped(name)));
    }
    return html;
}

/// The questions at a lesson's end with their folded answers: items of a list.
std::vector<std::string> questions_of(const std::string& body) {
    std::vector<std::string> questions;
    for (std::size_t at = body.find("<h2 id=\"questions\">"); (at = body.find("<li>", at)) != std::string::npos;) {
        const std::size_t end = body.find("</li>", at);
        questions.push_back(body.substr(at + 4, end - at - 4));
        at = end;
    }
    return questions;
}

bool is_lesson(const std::string& source) {
    return source.starts_with("docs/lessons/") && std::isdigit(static_cast<unsigned char>(source[13])) != 0;
}

class Site {
  public:
    Site(fs::path folder, fs::path root, fs::path out, const std::vector<StoredResult>& results,
         const std::map<std::string, std::string>& tables)
        : folder_(std::move(folder)), root_(std::move(root)), out_(std::move(out)), results_(results) {
        for (const auto& [name, text] : tables) tables_["docs/reference/" + name + ".md"] = text;
    }

    std::size_t write() {
        for (const auto& entry : fs::recursive_directory_iterator(root_ / "docs")) {
            const std::string source = fs::relative(entry.path(), root_).generic_string();
            const bool is_playground =
                source.starts_with("docs/playground/") && has_extension(source, ".js .css .html ");
            if (has_extension(source, ".md .ipynb ") || is_playground) sources_.insert(source);
        }
        for (const auto& [source, text] : tables_) sources_.insert(source);
        for (const std::string& source : std::set<std::string>(sources_)) static_cast<void>(file_of(source));
        while (!waiting_.empty()) {
            const std::string source = waiting_.front();
            waiting_.pop_front();
            add(source);
        }
        for (const auto& [source, text] : tables_) {
            const std::string name = fs::path(source).stem(), command = "<code>ulplab dev page " + name + "</code>";
            replace_all(pages_.at("reference/index.html").body, command,
                        fmt::format("<a href=\"{}.html\">{}</a>", name, command));
        }
        pages_["guides.html"] = listing("Guides", "docs/", ".md ");
        pages_["notebooks/index.html"] = listing("Notebooks", "docs/notebooks/", ".ipynb ");
        write_report();
        pages_["index.html"] = {
            "", "numbers of few bits, and what they do to training",
            filled(plot_template("site_index.html"), {{"doors", filled(plot_template("doors.html"), {{"site", ""}})}})};
        for (const auto& [file, page] : pages_) put(file, whole_page(file, page));
        put("find.html", search_page());
        return pages_.size() + 1;
    }

  private:
    void put(const std::string& file, std::string_view bytes) {
        fs::create_directories((folder_ / file).parent_path());
        replace_whole_file(folder_ / file, bytes);
    }

    /// Where a file of the project lies on the site; what is not there yet is added.
    std::string file_of(const std::string& source) {
        const auto known = files_.find(source);
        if (known != files_.end()) return known->second;
        fs::path file = source.starts_with("docs/") ? source.substr(5) : source;
        const bool is_page = has_extension(source, ".md .ipynb ");
        const bool is_file = source.starts_with("docs/playground/") || has_extension(source, ".svg .png .npz .gz ");
        if (is_page && file.stem() == "README") {
            file.replace_filename(file.has_parent_path() ? "index.html" : "readme.html");
        } else if (is_page) {
            file.replace_extension(".html");
        } else if (!is_file) {
            file = "source/" + source + ".html";
        }
        waiting_.push_back(source);
        return files_[source] = file.generic_string();
    }

    void add(const std::string& source) {
        const std::string file = files_[source];
        const auto table = tables_.find(source);
        const std::string text = table != tables_.end() ? table->second : read_whole_file(root_ / source);
        if (has_extension(source, ".md ")) {
            add_markdown(source, markdown_page(text));
        } else if (has_extension(source, ".ipynb ")) {
            add_markdown(source, notebook_page(text));
        } else if (file == "playground/index.html") {
            put(file, with_navigation(text, file));
        } else if (file.starts_with("source/")) {
            pages_[file] = {source, source,
                            fmt::format("<h1>{}</h1>\n<pre tabindex=\"0\">{}</pre>\n", escaped(source), escaped(text))};
        } else {
            put(file, text);
        }
    }

    void add_markdown(const std::string& source, MarkdownPage page) {
        std::string body =
            with_live_figures(with_predictions(with_drawings(source, with_links(source, with_powers(page.html)))));
        replace_all(body, "<table>", "<div class=\"wide\" tabindex=\"0\"><table>");
        replace_all(body, "<pre", "<pre tabindex=\"0\"");  // what scrolls can be reached by keys
        replace_all(body, "</table>", "</table></div>");
        pages_[files_[source]] = {source, page.title, "<div class=\"text\">\n" + body, std::move(page.sections)};
    }

    /// Cells of text and code, and below a cell of code what it printed.
    static MarkdownPage notebook_page(const std::string& text) {
        const auto joined = [](const nlohmann::json& lines) {
            std::string all;
            for (const auto& line : lines) all += line.get<std::string>();
            return all;
        };
        MarkdownPage page;
        const auto notebook = nlohmann::json::parse(text);
        for (const auto& cell : notebook.at("cells")) {
            const std::string source = joined(cell.at("source"));
            if (cell.at("cell_type") == "markdown") {
                MarkdownPage part = markdown_page(source);
                if (page.title.empty()) page.title = part.title;
                page.html += part.html;
                page.sections.insert(page.sections.end(), part.sections.begin(), part.sections.end());
                continue;
            }
            page.html += fmt::format("<pre><code>{}</code></pre>\n", escaped(source));
            for (const auto& output : cell.value("outputs", nlohmann::json::array())) {
                page.html += fmt::format("<pre class=\"printed\">{}</pre>\n", escaped(joined(output.at("text"))));
            }
        }
        return page;
    }

    /// The file of the project that a link of a page leads to, or "".
    [[nodiscard]] std::string target_of(const std::string& source, const std::string& path) const {
        fs::path target = (fs::path(source).parent_path() / path).lexically_normal();
        if (target.generic_string().starts_with("..")) return "";
        if (fs::is_directory(root_ / target)) target /= "README.md";
        return fs::is_regular_file(root_ / target) ? target.generic_string() : "";
    }

    static std::string relative(const std::string& from, const std::string& to) {
        return fs::path(to).lexically_relative(fs::path(from).parent_path()).generic_string();
    }

    /// Links of the project's tree as links of the site. What the site cannot show stays as text.
    std::string with_links(const std::string& source, std::string_view html) {
        constexpr std::string_view mark = " href=\"";
        std::string result;
        for (std::size_t at = 0; (at = html.find(mark)) != std::string_view::npos;) {
            const std::size_t end = html.find('"', at + mark.size());
            const std::string link(html.substr(at + mark.size(), end - at - mark.size()));
            const std::size_t length = std::min(link.find_first_of("#?"), link.size());
            const bool stays = length == 0 || link.find(':') < length;
            const std::string target = stays ? "" : target_of(source, link.substr(0, length));
            result += html.substr(0, at);
            if (stays) result += fmt::format(" href=\"{}\"", link);
            if (!target.empty()) {
                referrers_[target].insert(source);
                result += fmt::format(" href=\"{}{}\"", relative(files_[source], file_of(target)), link.substr(length));
            }
            html.remove_prefix(end + 1);
        }
        return result + std::string(html);
    }

    /// Pictures as part of the page, in its colours; one of a result's figures leads to the report.
    std::string with_drawings(const std::string& source, std::string_view html) {
        constexpr std::string_view mark = "<img src=\"";
        std::string result;
        for (std::size_t at = 0; (at = html.find(mark)) != std::string_view::npos;) {
            const std::string path(html.substr(at + mark.size(), html.find('"', at + mark.size()) - at - mark.size()));
            const std::size_t end = html.find('>', at) + 1;
            const std::string_view tag = html.substr(at, end - at);
            const std::size_t alt = tag.find(" alt=\"");
            const std::string title(
                alt == std::string_view::npos ? "" : tag.substr(alt + 6, tag.find('"', alt + 6) - alt - 6));
            const std::string target = target_of(source, path);
            std::string drawing = report_figure(source, target);
            if (drawing.empty() && has_extension(target, ".svg ")) {
                drawing = svg_html(read_whole_file(root_ / target), fs::path(target).stem(), title);
                if (!drawing.empty()) drawing = "<span class=\"drawing\" tabindex=\"0\">" + drawing + "</span>";
            }
            result += html.substr(0, at);
            if (!drawing.empty()) {
                result += drawing;
            } else if (!target.empty()) {
                result += fmt::format("<img src=\"{}\" alt=\"{}\">", relative(files_[source], file_of(target)), title);
            }
            html.remove_prefix(end);
        }
        return result + std::string(html);
    }

    /// A result's figure, <experiment>_<figure>.svg, as the report shows it, on a phone, too; "" for any other.
    std::string report_figure(const std::string& source, const std::string& target) {
        const std::string name = fs::path(target).stem();
        for (const StoredResult& result : results_) {
            for (const StoredFigure& figure : result.figures) {
                if (name != result.experiment + "_" + figure.name || figure.svg.empty()) continue;
                shown_in_[result.experiment + "/" + figure.name].insert(source);
                return fmt::format(
                    "{} <a href=\"{}#{}-{}\">This figure in the report</a>", drawing_html(result, figure),
                    relative(files_[source], "report/" + chapter_page(result.chapter)), result.experiment, figure.name);
            }
        }
        return "";
    }

    /// The pages directly in a folder, each with its first paragraph.
    SitePage listing(const std::string& title, const std::string& parent, std::string_view extension) {
        std::string body = fmt::format("<h1>{}</h1>\n<ul class=\"pages\">\n", title);
        const std::string here = parent == "docs/" ? "guides.html" : parent.substr(5) + "index.html";
        for (const std::string& source : sources_) {
            if (!source.starts_with(parent) || source.find('/', parent.size()) != std::string::npos) continue;
            if (!has_extension(source, extension) || fs::path(source).stem() == "README") continue;
            const SitePage& page = pages_.at(files_[source]);
            body += fmt::format("<li><a href=\"{}\">{}</a><br>{}</li>\n", relative(here, files_[source]),
                                escaped(page.title), first_sentence(page.body));
        }
        return {"", title, body + "</ul>\n"};
    }

    void write_report() {
        if (results_.empty()) {
            pages_["report/report.html"] = {
                "", "Report",
                fmt::format(
                    "<h1>Report</h1>\n<p>There are no results of this version in <code>{}</code>. Make them with "
                    "<code>ulplab run all</code>, then write the site again.</p>\n",
                    escaped(out_.string()))};
            return;
        }
        for (const ReportPage& page : report_pages(results_, "../")) {
            std::string html = with_navigation(page.html, "report/" + page.file);
            for (const auto& [figure, lessons] : shown_in_) {
                const std::string place = fmt::format("<a href=\"{}.png\">PNG</a>", figure);
                std::string links;
                for (const std::string& source : lessons) {
                    links += fmt::format("<a href=\"../{}\">{}</a> ", files_[source],
                                         escaped(pages_.at(files_[source]).title));
                }
                replace_all(html, place, links + place);
            }
            put("report/" + page.file, html);
        }
        for (const StoredResult& result : results_) {
            for (const auto& entry : fs::directory_iterator(out_ / result.experiment)) {
                if (!entry.is_regular_file() || has_extension(entry.path(), ".gp ")) continue;
                fs::create_directories(folder_ / "report" / result.experiment);
                fs::copy_file(entry.path(), folder_ / "report" / result.experiment / entry.path().filename());
            }
        }
    }

    [[nodiscard]] static std::string navigation(const std::string& file) {
        const std::string part = file.substr(0, file.find('/') + 1);
        std::string html = "<nav class=\"site\" aria-label=\"site\">\n";
        for (const auto& [place, name] : parts_of_site) {
            const bool here = place == file || (!part.empty() && place.starts_with(part));
            html += fmt::format("<a href=\"{}\"{}>{}</a>\n", relative(file, std::string(place)),
                                here ? " aria-current=\"true\"" : "", name);
        }
        return html + "</nav>\n";
    }

    static std::string with_navigation(std::string html, const std::string& file) {
        replace_all(html, "<nav aria-label=\"pages\">\n\n</nav>\n", "");
        replace_all(html, "<body>\n", "<body>\n" + navigation(file));
        return html;
    }

    /// Below a page that lessons lead to: these lessons.
    std::string footer(const std::string& file, const SitePage& page) {
        std::string links;
        for (const std::string& source : referrers_[page.source]) {
            if (!is_lesson(source) || is_lesson(page.source)) continue;
            links += fmt::format("{}<a href=\"{}\">{}</a>", links.empty() ? "Lessons on this: " : "; ",
                                 relative(file, files_[source]), escaped(pages_.at(files_[source]).title));
        }
        return links.empty() ? "" : "<p class=\"footer\">" + links + "</p>\n";
    }

    /// A lesson opens with a question of each of the two lessons before it; their answers are folded.
    std::string with_recall(const std::string& source, const std::string& body) {
        std::string items;
        auto lesson = sources_.find(source);
        for (std::size_t back = 0; back < 2 && lesson != sources_.begin() && is_lesson(*std::prev(lesson)); ++back) {
            --lesson;
            const std::vector<std::string> questions = questions_of(pages_.at(files_[*lesson]).body);
            if (!questions.empty()) items += "<li>" + questions[(back + 1) % questions.size()] + "</li>\n";
        }
        const std::size_t end = body.find("</h1>");
        if (items.empty() || end == std::string::npos) return body;
        return body.substr(0, end + 5) + "\n<section class=\"recall\"><h2>Do you remember?</h2>\n<ul>\n" + items +
               "</ul></section>\n" + body.substr(end + 5);
    }

    std::string whole_page(const std::string& file, const SitePage& page) {
        const bool is_text = page.body.starts_with("<div class=\"text\">");
        const std::string script =
            page.body.find("<form class=\"predict\"") != std::string::npos ? plot_template("lesson.js") : "";
        std::string body = is_lesson(page.source) ? with_recall(page.source, page.body) : page.body;
        std::string allowed = script_hash(script);
        if (body.find("data-live=") !=
            std::string::npos) {  // softfloat is WebAssembly, in a file beside the playground
            for (const char* name : {"softfloat.js", "live.js"}) {
                body += fmt::format("<script defer src=\"{}\"></script>\n",
                                    relative(file, fmt::format("playground/{}", name)));
            }
            allowed += "' 'self' 'wasm-unsafe-eval'; connect-src data: 'self";
        }
        return with_navigation(filled(plot_template("report.html"),
                                      {{"title", escaped(page.title)},
                                       {"style", plot_template("report.css") + plot_template("single_page.css")},
                                       {"navigation", ""},
                                       {"body", body + (is_text ? footer(file, page) + "</div>\n" : "")},
                                       {"script", script},
                                       {"script_hash", allowed}}),
                               file);
    }

    /// The index of the search is in the page itself: a browser without a network reads no second file as data.
    std::string search_page() {
        constexpr std::size_t longest = 600;  // characters of a section; the reference has its headings alone
        auto index = nlohmann::ordered_json::array();
        for (const auto& [file, page] : pages_) {
            for (const PageSection& section : page.sections) {
                if (section.title.empty() && section.text.empty()) continue;
                const bool is_reference = file.starts_with("reference/");
                index.push_back({file + (section.anchor.empty() ? "" : "#" + section.anchor), page.title, section.title,
                                 is_reference ? "" : section.text.substr(0, longest)});
            }
        }
        for (const StoredResult& result : results_) {
            index.push_back({fmt::format("report/{}#{}", chapter_page(result.chapter), result.experiment), "Report",
                             result.title, result.question});
        }
        std::string list = index.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        replace_all(list, "</", "<\\/");
        const std::string script = "const pages = " + list + ";\n" + plot_template("search.js");
        return with_navigation(
            filled(plot_template("report.html"),
                   {{"title", "search"},
                    {"style", plot_template("report.css") + plot_template("single_page.css")},
                    {"navigation", ""},
                    {"body",
                     "<h1>Search</h1>\n<p><input id=\"words\" type=\"search\" aria-label=\"words\" autofocus></p>\n"
                     "<ol id=\"found\" class=\"pages\" aria-live=\"polite\"></ol>\n"
                     "<noscript><p>The search needs scripts.</p></noscript>\n"},
                    {"script", script},
                    {"script_hash", script_hash(script)}}),
            "find.html");
    }

    fs::path folder_, root_, out_;
    const std::vector<StoredResult>& results_;
    std::map<std::string, std::string> tables_;               // sources that no file holds, with their text
    std::set<std::string> sources_;                           // what the site begins with, in order
    std::map<std::string, std::string> files_;                // a file of the project and its place on the site
    std::deque<std::string> waiting_;                         // files that have a place and are not added yet
    std::map<std::string, SitePage> pages_;                   // by place
    std::map<std::string, std::set<std::string>> referrers_;  // of a file: the pages that link it
    std::map<std::string, std::set<std::string>> shown_in_;   // "overflow/norms": the pages that show it
};

}  // namespace

std::size_t write_site(const fs::path& folder, const fs::path& root, const fs::path& out,
                       const std::vector<StoredResult>& results, const std::map<std::string, std::string>& tables) {
    return Site(folder, root, out, results, tables).write();
}

}  // namespace ulp
