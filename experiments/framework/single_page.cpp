#include "experiments/framework/single_page.hpp"

#include <fmt/format.h>

#include "experiments/framework/figures.hpp"
#include "experiments/framework/html.hpp"

namespace ulp {

std::string single_page(std::string_view command, std::string_view title, std::string_view body) {
    return filled(plot_template("report.html"),
                  {{"title", escaped(title)},
                   {"style", plot_template("report.css") + plot_template("single_page.css")},
                   {"navigation", fmt::format("<strong>{}</strong>", escaped(command))},
                   {"body", fmt::format("<h1>{}</h1>\n{}", escaped(title), body)},
                   {"script", ""},
                   {"script_hash", script_hash("")}});
}

std::string table_html(const std::vector<std::vector<std::string>>& rows) {
    std::string html = "<div class=\"wide\"><table class=\"numbers\">\n";
    for (std::size_t r = 0; r < rows.size(); ++r) {
        html += "<tr>";
        for (std::size_t c = 0; c < rows[r].size(); ++c) {
            const std::string_view tag = r == 0 ? "th scope=\"col\"" : c == 0 ? "th scope=\"row\"" : "td";
            html += fmt::format("<{}>{}</{}>", tag, escaped(rows[r][c]), tag.substr(0, 2));
        }
        html += "</tr>\n";
    }
    return html + "</table></div>\n";
}

}  // namespace ulp
