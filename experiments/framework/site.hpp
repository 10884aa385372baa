// The site: lessons, exercises, playground, guides, notebooks, reference and the report of a folder of results, with
// one navigation and a search, ready for a browser without a network and for a static host.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "experiments/framework/record.hpp"

namespace ulp {

/// Fills the folder. `root` is the project's tree or an installation's share/ulplab: what holds docs/. `tables` are
/// pages of the reference that no file holds: name to Markdown. The results lie in `out`; without any, the report's
/// page says how to make them. Gives the number of pages. Throws DataError.
std::size_t write_site(const std::filesystem::path& folder, const std::filesystem::path& root,
                       const std::filesystem::path& out, const std::vector<StoredResult>& results,
                       const std::map<std::string, std::string>& tables);

}  // namespace ulp
