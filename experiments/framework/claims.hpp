// Claims as HTML: counts, tables, the register, and what the sources get wrong.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiments/framework/record.hpp"

namespace ulp {

inline constexpr std::string_view register_page = "report-register.html";
inline constexpr std::string_view errata_page = "report-sources.html";

/// "overflow" of "Overflow": in the name of the chapter's page, report-overflow.html.
std::string chapter_page(std::string_view chapter);

/// "640 claims: 500 reproduced, 60 refuted", with a link to the register.
std::string counts_line(const std::vector<StoredResult>& results);

/// How many claims of each kind have which verdict.
std::string counts_table(const std::vector<StoredResult>& results);

/// The table of one experiment: closed, since all claims stand in the register, unless one failed; "" without claims.
/// A verdict in its colour; of several claims how many have which: "20 reproduced, 3 refuted".
std::string verdict_html(Verdict verdict);
std::string counts_html(const std::vector<Claim>& claims);
std::string claims_html(const StoredResult& result);

/// All claims by the document that makes them, in the order in which the documents appear; each links its experiment.
std::string register_html(const std::vector<StoredResult>& results);

/// The five statements of sources with the most counter-examples: the statement, what is true instead, what was
/// measured.
std::string errata_lines(const std::vector<StoredResult>& results);

/// The same statements with every counter-example.
std::string errata_html(const std::vector<StoredResult>& results);

}  // namespace ulp
