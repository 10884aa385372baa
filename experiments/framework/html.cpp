#include "experiments/framework/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <limits>

#include "engine/files/sha256.hpp"
#include "engine/tensor/steps.hpp"
#include "experiments/framework/figures.hpp"

namespace ulp {

std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text) {
        switch (c) {
            case '&': result += "&amp;"; break;
            case '<': result += "&lt;"; break;
            case '>': result += "&gt;"; break;
            case '"': result += "&quot;"; break;
            default: result += c;
        }
    }
    return result;
}

std::string with_powers(std::string_view html) {
    std::string result;
    bool literal = false;  // in a block or a piece of code
    for (std::size_t at = 0; at < html.size(); ++at) {
        if (html[at] == '<') {
            const std::size_t end = std::min(html.find('>', at), html.size() - 1);
            const std::string_view tag = html.substr(at, end + 1 - at);
            if (tag.starts_with("<pre") || tag.starts_with("<code")) literal = true;
            if (tag.starts_with("</pre") || tag.starts_with("</code")) literal = false;
            result += tag;
            at = end;
            continue;
        }
        const bool raised = !literal && html[at] == '^' && at > 0 &&
                            (html[at - 1] == ')' || std::isalnum(static_cast<unsigned char>(html[at - 1])) != 0);
        const std::size_t open = raised && at + 1 < html.size() && html[at + 1] == '(' ? 1 : 0;
        std::size_t end = at + 1 + open;
        if (raised && end < html.size() && html[end] == '-') ++end;
        const std::size_t digits = end;
        end = std::min(html.find_first_not_of("0123456789.", end), html.size());
        if (end > digits && html[end - 1] == '.') --end;
        const auto is_sign = [&](std::size_t i) {
            return i < html.size() && std::isalnum(static_cast<unsigned char>(html[i])) != 0;
        };
        if (end == digits && is_sign(end) && open == 0 && !is_sign(end + 1)) ++end;  // 2^e
        while (end > at && open == 1 && end < html.size() && (is_sign(end) || html[end] == '+' || html[end] == '-'))
            ++end;
        if (!raised || end == digits || (open == 1 && (end == html.size() || html[end] != ')'))) {
            result += html[at];
            continue;
        }
        result += "<sup>" + std::string(html.substr(at + 1 + open, end - at - 1 - open)) + "</sup>";
        at = end - 1 + open;
    }
    return result;
}

std::string prose_html(std::string_view text) {
    std::string html = escaped(text);
    bool inside = false;
    for (std::size_t at = 0; (at = html.find('`', at)) != std::string::npos; inside = !inside) {
        if (!inside && html.find('`', at + 1) == std::string::npos) break;
        html.replace(at, 1, inside ? "</code>" : "<code>");
    }
    return with_powers(html);
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
        text.replace(at, from.size(), to);
    }
}

std::string filled(std::string_view page, const std::map<std::string, std::string, std::less<>>& values) {
    std::string result;
    for (std::size_t mark = 0; (mark = page.find("{{")) != std::string_view::npos;) {
        const std::size_t end = page.find("}}", mark);
        result += page.substr(0, mark);
        result += values.at(std::string(page.substr(mark + 2, end - mark - 2)));
        page.remove_prefix(end + 2);
    }
    return result + std::string(page);
}

std::string script_hash(std::string_view script) {
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    // Three hexadecimal digits are two of base64; 64 of them leave one, which stands for its four bits and two zeros.
    const std::string hex = sha256_of(script) + "00";
    std::string text = "sha256-";
    for (std::size_t at = 0; at + 3 <= hex.size(); at += 3) {
        const unsigned bits = static_cast<unsigned>(std::stoul(hex.substr(at, 3), nullptr, 16));
        text += digits[bits >> 6];
        text += digits[bits & 63];
    }
    text.back() = '=';  // 43 digits hold 256 bits; the 44th is filling
    return text;
}

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
    std::string html = "<div class=\"wide\" tabindex=\"0\"><table class=\"numbers\">\n";
    for (std::size_t r = 0; r < rows.size(); ++r) {
        html += "<tr>";
        for (std::size_t c = 0; c < rows[r].size(); ++c) {
            const std::string_view tag = r == 0 ? "th scope=\"col\"" : c == 0 ? "th scope=\"row\"" : "td";
            const std::string cell = prose_html(rows[r][c]);
            const bool words = c > 0 && r > 0 && rows[r][c].size() > 24;
            html += fmt::format("<{}{}>{}</{}>", tag, words ? " class=\"words\"" : "", cell, tag.substr(0, 2));
        }
        html += "</tr>\n";
    }
    return html + "</table></div>\n";
}

namespace {

constexpr double width = 480;
constexpr double left = 60, right = 12, top = 12;
constexpr double plot_height = 150;
constexpr double row_height = 18;
constexpr double slot = 30;  // of zeros, infinities and NaNs, which have no place on the axis

double log10_of(double x) { return step::log(x) / step::log(10.0); }

std::string opened(double height, std::string_view title) {
    return fmt::format(
        "<p class=\"chart-title\">{0}</p>\n<svg class=\"chart\" viewBox=\"0 0 {1} {2}\" role=\"img\" "
        "aria-label=\"{0}\">\n",
        escaped(title), width, height);
}
std::string text_at(double x, double y, std::string_view anchor, std::string_view text) {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, escaped(text));
}
std::string power_at(double x, double y, std::string_view anchor, int base, double exponent) {
    return fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}<tspan dy=\"-5\" font-size=\"80%\">{:g}</tspan></text>\n",
        x, y, anchor, base, exponent);
}
std::string rule(double x1, double y1, double x2, double y2) {
    return fmt::format("<line class=\"axis\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", x1, y1, x2,
                       y2);
}
std::string bar(std::string_view kind, double x, double y, double w, double h, std::string_view what) {
    return fmt::format(
        "<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"><title>{}</title></rect>\n",
        kind, x, y, w, h, escaped(what));
}

/// The exponents of the chart, and where they stand.
struct ExponentScale {
    int first, last;
    double size;  // of the drawing, in x

    [[nodiscard]] double at(int exponent) const { return left + size * (exponent - first) / (last + 1 - first); }
    [[nodiscard]] int inside(int exponent) const { return std::clamp(exponent, first, last + 1); }
};

std::string range_row(const ExponentScale& scale, const ExponentRange& range, double y) {
    const double lowest = scale.at(scale.inside(range.lowest));
    const double normal = scale.at(scale.inside(range.normal));
    const double end = scale.at(scale.inside(range.highest + 1));
    std::string svg = text_at(left - 4, y + 11, "end", range.name);
    if (normal > lowest) {
        svg += bar("subnormal", lowest, y + 5, normal - lowest, 4,
                   fmt::format("{}: subnormal from 2^{}", range.name, range.lowest));
    }
    if (end > normal) {
        svg += bar("normal", normal, y + 3, end - normal, 8,
                   fmt::format("{}: normal from 2^{} to 2^{}", range.name, range.normal, range.highest));
    }
    return svg;
}

/// Round steps for an axis: 1, 2 or 5 times a power of ten, at most `most` of them.
double step_of_axis(double span, int most) {
    double unit = 1;
    while (unit * 10 * most < span) unit *= 10;
    while (unit * most > span) unit /= 10;
    for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
        if (span / (unit * factor) <= most) return unit * factor;
    }
    return unit * 10;
}

struct Extent {
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();

    void take(double x) {
        if (!std::isfinite(x)) return;
        low = std::min(low, x);
        high = std::max(high, x);
    }
    [[nodiscard]] bool empty() const { return low > high; }
    void widen() {
        if (high - low < 1e-12) high = low + (low == 0 ? 1 : std::fabs(low));
    }
};

/// Points of one colour; gaps where a number is missing.
std::string polyline(const std::vector<std::pair<double, double>>& points, int colour) {
    std::string svg;
    std::string part;
    const auto end = [&] {
        if (!part.empty())
            svg += fmt::format("<polyline class=\"line c{}\" style=\"fill:none\" points=\"{}\"/>\n", colour, part);
        part.clear();
    };
    for (const auto& [x, y] : points) {
        if (std::isfinite(y)) {
            part += fmt::format("{:.1f},{:.1f} ", x, y);
        } else {
            end();
        }
    }
    end();
    return svg;
}

}  // namespace

std::string exponent_chart(const std::map<int, std::int64_t>& numbers,
                           const std::vector<std::pair<std::string, std::int64_t>>& others,
                           const std::vector<ExponentRange>& ranges, std::string_view title) {
    if (numbers.empty()) return "";
    const bool has_others = std::ranges::any_of(others, [](const auto& each) { return each.second > 0; });
    const double beyond = width - right - (has_others ? slot * static_cast<double>(others.size()) : 0);
    ExponentScale scale{numbers.begin()->first - 2, numbers.rbegin()->first + 2, beyond - left - (has_others ? 12 : 0)};
    if (!ranges.empty()) {
        scale.first = std::min(scale.first, std::max(ranges.front().lowest, scale.first - 30) - 1);
        scale.last = std::max(scale.last, std::min(ranges.front().highest, scale.last + 30) + 1);
    }
    std::int64_t most = 1;
    for (const auto& [exponent, count] : numbers) most = std::max(most, count);
    for (const auto& [name, count] : others) most = std::max(most, count);
    const int decades = static_cast<int>(std::ceil(log10_of(static_cast<double>(most) + 1)));
    const double bottom = top + plot_height;
    std::string svg = opened(bottom + 36 + row_height * static_cast<double>(ranges.size()), title);
    for (int d = 0; d <= decades; d += decades > 5 ? 2 : 1) {
        const double y = bottom - plot_height * d / decades;
        svg += rule(left - 3, y, left, y) + power_at(left - 6, y + 4, "end", 10, d);
    }
    const auto add_bar = [&](const char* kind, double x, double size, std::int64_t count, const std::string& what) {
        if (count == 0) return;
        const double height = std::max(1.5, plot_height * log10_of(static_cast<double>(count)) / decades);
        svg += bar(kind, x, bottom - height, size, height, what);
    };
    const double bar_width = scale.size / (scale.last + 1 - scale.first);
    for (const auto& [exponent, count] : numbers) {
        add_bar("bar", scale.at(exponent), bar_width * 0.85, count, fmt::format("2^{}: {} numbers", exponent, count));
    }
    svg += rule(left, bottom, left + scale.size, bottom);
    for (std::size_t i = 0; has_others && i < others.size(); ++i) {
        const double x = beyond + slot * static_cast<double>(i);
        add_bar("special", x + 3, slot - 6, others[i].second, fmt::format("{}: {}", others[i].first, others[i].second));
        svg +=
            rule(x + 3, bottom, x + slot - 3, bottom) + text_at(x + slot / 2, bottom + 15, "middle", others[i].first);
    }
    const auto step = static_cast<int>(std::max(1.0, step_of_axis(scale.last - scale.first, 6)));
    for (int e = scale.first; e <= scale.last; ++e) {
        if (e % step == 0) svg += power_at(scale.at(e) + bar_width / 2, bottom + 17, "middle", 2, e);
    }
    double y = bottom + 24;
    for (const ExponentRange& range : ranges) {
        svg += range_row(scale, range, y);
        y += row_height;
    }
    return svg + "</svg>\n";
}

std::string line_chart(const std::vector<ChartLine>& lines, const ChartAxes& axes) {
    const auto y_of = [&](double y) {
        if (!axes.logarithmic) return y;
        return y > 0 && std::isfinite(y) ? log10_of(y) : std::numeric_limits<double>::quiet_NaN();
    };
    Extent xs, ys;
    for (const ChartLine& line : lines) {
        for (const double x : line.x) xs.take(x);
        for (const auto* each : {&line.low, &line.middle, &line.high}) {
            for (const double y : *each) ys.take(y_of(y));
        }
    }
    if (xs.empty() || ys.empty()) return "";
    xs.widen();
    ys.widen();
    // Few lines with short names have them at their ends, others in rows below.
    std::size_t longest = 0;
    for (const ChartLine& line : lines) longest = std::max(longest, line.name.size());
    const bool direct = lines.size() <= few_curves && longest <= brief_name;
    const double end = width - right - (direct ? 8 * static_cast<double>(longest) : 0);
    const double bottom = top + plot_height + 60;
    const auto place_x = [&](double x) { return left + (end - left) * (x - xs.low) / (xs.high - xs.low); };
    const auto place_y = [&](double y) { return bottom - (bottom - top) * (y_of(y) - ys.low) / (ys.high - ys.low); };
    std::vector<std::pair<double, const ChartLine*>> ends, rows;  // lines by the height of their last point
    for (const ChartLine& line : lines) {
        const auto last =
            std::find_if(line.middle.rbegin(), line.middle.rend(), [&](double y) { return std::isfinite(y_of(y)); });
        const bool is_drawn = last != line.middle.rend();
        (direct && is_drawn ? ends : rows).emplace_back(is_drawn ? place_y(*last) : std::nan(""), &line);
    }
    std::ranges::sort(ends);
    std::string svg = opened(bottom + 42 + row_height * static_cast<double>(rows.size()), axes.title);
    const double step_y = std::max(axes.logarithmic ? 1.0 : 0.0, step_of_axis(ys.high - ys.low, 6));
    for (double y = std::ceil(ys.low / step_y) * step_y; y <= ys.high; y += step_y) {
        const double at = bottom - (bottom - top) * (y - ys.low) / (ys.high - ys.low);
        svg += rule(left - 3, at, left, at);
        svg += axes.logarithmic
                   ? power_at(left - 6, at + 4, "end", 10, y)
                   : text_at(left - 6, at + 4, "end", fmt::format("{:.4g}", std::fabs(y) < step_y / 2 ? 0.0 : y));
    }
    const double step_x = step_of_axis(xs.high - xs.low, 6);
    for (double x = std::ceil(xs.low / step_x) * step_x; x <= xs.high; x += step_x) {
        svg += text_at(place_x(x), bottom + 15, "middle", fmt::format("{:.4g}", x));
    }
    svg += rule(left, bottom, end, bottom) + rule(left, top, left, bottom);
    svg += text_at(end, bottom + 31, "end", axes.x) + text_at(left + 4, top + 11, "start", axes.y);
    for (const ChartLine& line : lines) {
        std::string band;
        for (std::size_t p = 0; p < line.x.size(); ++p) {
            if (std::isfinite(y_of(line.high[p])))
                band += fmt::format("{:.1f},{:.1f} ", place_x(line.x[p]), place_y(line.high[p]));
        }
        for (std::size_t p = line.x.size(); p-- > 0;) {
            if (std::isfinite(y_of(line.low[p])))
                band += fmt::format("{:.1f},{:.1f} ", place_x(line.x[p]), place_y(line.low[p]));
        }
        svg += fmt::format("<polygon class=\"band c{}\" points=\"{}\"/>\n", line.colour, band);
        std::vector<std::pair<double, double>> points;
        for (std::size_t p = 0; p < line.x.size(); ++p)
            points.emplace_back(place_x(line.x[p]), place_y(line.middle[p]));
        svg += polyline(points, line.colour);
    }
    const auto named = [&](const ChartLine& line, double x, double y, const char* more = "") {
        if (line.name.empty()) return;
        svg += fmt::format("<rect class=\"c{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"4\"/>\n", line.colour,
                           x, y - 6);
        svg += text_at(x + 16, y, "start", line.name + more);
    };
    double free = top;
    for (const auto& [y, line] : ends) {
        named(*line, end + 4, std::max(y + 4, free));
        free = std::max(y + 4, free) + row_height;
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
        named(*rows[i].second, left, bottom + 34 + row_height * static_cast<double>(i + 1),
              std::isnan(rows[i].first) ? ": no finite number" : "");
    }
    return svg + "</svg>\n";
}

}  // namespace ulp
