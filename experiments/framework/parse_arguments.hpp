// CLI11's parser with this project's errors.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ulp {

/// False if the arguments asked for --help or --version, which has been printed. Throws UsageError for wrong ones.
bool parse_arguments(CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace ulp
