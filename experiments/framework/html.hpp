// Pieces of HTML.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/framework/record.hpp"

namespace ulp {

/// Text as HTML shows it.
std::string escaped(std::string_view text);

/// HTML with powers raised, but for code: 2^-11 as 2 and a small -11 above.
std::string with_powers(std::string_view html);
/// A sentence as HTML, with powers raised and what is between backticks as code.
std::string prose_html(std::string_view text);

void replace_all(std::string& text, std::string_view from, std::string_view to);

/// The template with each {{mark}} replaced by its value; marks in a value stay as they are. Throws std::out_of_range
/// for a mark without a value.
std::string filled(std::string_view page, const std::map<std::string, std::string, std::less<>>& values);

/// A script's SHA-256 as a content security policy names it: "sha256-" and base64.
std::string script_hash(std::string_view script);

// A page that stands alone: one file, no network, readable on a phone and in the dark.

/// `body` is HTML. `command` stands above it: "ulplab inspect".
std::string single_page(std::string_view command, std::string_view title, std::string_view body);

/// Rows of text; the first is the heading. Columns but the first are numbers.
std::string table_html(const std::vector<std::vector<std::string>>& rows);

// Small charts as SVG, in the page's colours (plots/single_page.css).

/// A format's exponents under a histogram. Single numbers: subnormal from `lowest` to `normal` - 1, normal to
/// `highest`.
struct ExponentRange {
    std::string name;
    int lowest, normal, highest;
};

/// Numbers by exponent, on a logarithmic scale, and below it where each format's range lies. `others` have no exponent,
/// {"NaN", 3}: a place each beside the axis.
std::string exponent_chart(const std::map<int, std::int64_t>& numbers,
                           const std::vector<std::pair<std::string, std::int64_t>>& others,
                           const std::vector<ExponentRange>& ranges, std::string_view title);

/// A line through the medians, in a band from minimum to maximum.
struct ChartLine {
    std::string name;
    std::vector<double> x{}, low{}, middle{}, high{};  // NaN: not drawn
    int colour = 1;                                    // of the palette, as in figures
};
struct ChartAxes {
    std::string title, x, y;
    bool logarithmic = false;  // y; numbers that are not positive are not drawn
};
std::string line_chart(const std::vector<ChartLine>& lines, const ChartAxes& axes);

// A result's drawings inside a page.

/// An SVG file's content inside a page: without its XML prologue, in the page's colours, with ids that begin with
/// `name`. "" where it holds more than shapes and text.
std::string svg_html(std::string svg, const std::string& name, const std::string& title);

/// The drawing without its XML prologue, scaled to its place, in the page's colours, with ids of its own; or a sentence
/// that says why there is none.
std::string drawing_html(const StoredResult& result, const StoredFigure& figure);

/// The drawing with what to see, the evidence and the files. Scripts find it by the class "answers".
std::string figure_html(const StoredResult& result, const StoredFigure& figure);

// The report: an opening page, a page for each chapter, one of what the sources get wrong, and the register of claims.

struct ReportPage {
    std::string file;  // its name beside the results' folders
    std::string html;
};

/// The opening page, report.html, comes first. The pages need the results' folders beside them for the files that they
/// link, and nothing else: they work offline, without scripts, in light and dark, on paper.
/// `site`: where the site's first page lies from here ("site/", "../"); "" where there is none.
std::vector<ReportPage> report_pages(const std::vector<StoredResult>& results, std::string_view site = "");

}  // namespace ulp
