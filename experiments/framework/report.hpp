// The report: an opening page, a page for each chapter, one of what the sources get wrong, and the register of claims.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiments/framework/record.hpp"

namespace ulp {

struct ReportPage {
    std::string file;  // its name beside the results' folders
    std::string html;
};

/// `site`: where the site's first page lies from here ("site/", "../"); "" where there is none.
/// The opening page, report.html, comes first. The pages need the results' folders beside them for the files that they
/// link, and nothing else: they work offline, without scripts, in light and dark, on paper.
std::vector<ReportPage> report_pages(const std::vector<StoredResult>& results, std::string_view site = "");

}  // namespace ulp
