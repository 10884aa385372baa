#include "experiments/framework/parse_arguments.hpp"

#include <CLI/CLI.hpp>

#include "softfloat/errors.hpp"

namespace ulp {

bool parse_arguments(CLI::App& app, const std::vector<std::string>& arguments) {
    try {
        app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 wants them reversed
        return true;
    } catch (const CLI::Success& request) {
        app.exit(request);
        return false;
    } catch (const CLI::ParseError& error) {
        std::string sentence = error.what();
        while (!sentence.empty() && (sentence.back() == '.' || sentence.back() == '\n')) sentence.pop_back();
        throw UsageError(sentence + "; see --help");
    }
}

}  // namespace ulp
