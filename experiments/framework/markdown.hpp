// Markdown as HTML, in the dialect of code hosts (library md4c).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ulp {

/// A heading and the text below it, without tags. The text before a page's first heading has neither anchor nor title.
struct PageSection {
    std::string anchor, title, text;
};

struct MarkdownPage {
    std::string title;  // the first heading
    std::string html;   // each heading has an id, made as code hosts make it
    std::vector<PageSection> sections;
};

/// HTML in the text stays as it is: only files of this project are given here. Throws DataError where md4c gives up.
MarkdownPage markdown_page(std::string_view markdown);

}  // namespace ulp
