#include "experiments/framework/markdown.hpp"

#include <fmt/format.h>
#include <md4c-html.h>

#include <cctype>
#include <map>

#include "experiments/framework/html.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

std::string html_of(std::string_view markdown) {
    std::string html;
    const auto append = [](const MD_CHAR* text, MD_SIZE size, void* to) {
        static_cast<std::string*>(to)->append(text, size);
    };
    if (md_html(markdown.data(), static_cast<MD_SIZE>(markdown.size()), append, &html, MD_DIALECT_GITHUB, 0) != 0) {
        throw DataError("a page's Markdown cannot be read");
    }
    return html;
}

/// What a reader sees of HTML: no tags, each run of spaces one space.
std::string text_of_html(std::string_view html) {
    std::string text;
    bool in_tag = false;
    for (const char c : html) {
        if (c == '<') in_tag = true;
        const bool space = in_tag || std::isspace(static_cast<unsigned char>(c)) != 0;
        if (!space) text += c;
        if (space && !text.empty() && text.back() != ' ' && !(in_tag && c != '<')) text += ' ';
        if (c == '>') in_tag = false;
    }
    for (const auto& [entity, letter] :
         std::map<std::string_view, std::string_view>{{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}}) {
        replace_all(text, entity, letter);
    }
    replace_all(text, "&amp;", "&");
    if (text.ends_with(' ')) text.pop_back();
    return text;
}

/// "What a float is" becomes "what-a-float-is".
std::string anchor_of(std::string_view title) {
    std::string anchor;
    for (const char c : title) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == ' ') anchor += '-';
        if (byte >= 128 || std::isalnum(byte) != 0 || c == '-' || c == '_') {
            anchor += static_cast<char>(std::tolower(byte));
        }
    }
    return anchor;
}

}  // namespace

MarkdownPage markdown_page(std::string_view markdown) {
    const std::string html = html_of(markdown);
    MarkdownPage page{"", "", {{}}};
    std::map<std::string, int> times;
    std::size_t done = 0;
    for (std::size_t at = 0; (at = html.find("<h", at)) != std::string::npos; ++at) {
        if (at + 3 >= html.size() || html[at + 2] < '1' || html[at + 2] > '6' || html[at + 3] != '>') continue;
        const std::size_t end = html.find("</h", at);
        const std::string title = text_of_html(std::string_view(html).substr(at + 4, end - at - 4));
        std::string anchor = anchor_of(title);
        if (const int before = times[anchor]++; before > 0) anchor += fmt::format("-{}", before);
        if (page.title.empty()) page.title = title;
        page.sections.back().text = text_of_html(std::string_view(html).substr(done, at - done));
        page.sections.push_back({anchor, title, ""});
        page.html += html.substr(done, at - done) + fmt::format("<h{} id=\"{}\">", html[at + 2], escaped(anchor));
        page.html += html.substr(at + 4, end - at - 4);
        done = at = end;
    }
    page.sections.back().text = text_of_html(std::string_view(html).substr(done));
    page.html += html.substr(done);
    return page;
}

}  // namespace ulp
