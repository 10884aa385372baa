// `ulplab claims`: what was claimed, expected and measured, from the records in the output folder.
#include <fmt/core.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "experiments/commands/command.hpp"
#include "experiments/framework/experiment.hpp"
#include "experiments/framework/markdown.hpp"
#include "experiments/framework/runner.hpp"
#include "experiments/framework/stored_results.hpp"

namespace ulp {
namespace {

struct Options {
    std::string out = "out";
    std::string format = "console";
};

void print_json(const std::vector<Claim>& claims) {
    auto list = nlohmann::ordered_json::array();
    for (const Claim& claim : claims) {
        list.push_back({{"id", claim.id},
                        {"source", claim.source},
                        {"statement", claim.statement},
                        {"expected", claim.expected},
                        {"measured", claim.measured},
                        {"verdict", verdict_name(claim.verdict)},
                        {"controls", controls_of(claim.id)}});
    }
    fmt::print("{}\n", list.dump(2));
}

std::string counts(const std::vector<Claim>& claims) {
    std::map<Verdict, int> counts;
    for (const Claim& claim : claims) ++counts[claim.verdict];
    std::string line = fmt::format("{} claims:", claims.size());
    for (const auto& [verdict, count] : counts) line += fmt::format(" {} {},", count, verdict_name(verdict));
    line.pop_back();
    return line;
}

void print_markdown(const std::vector<Claim>& claims) {
    std::vector<std::vector<std::string>> rows;
    for (const Claim& claim : claims) {
        rows.push_back({fmt::format("`{}`", claim.id), claim.source, claim.statement, claim.expected, claim.measured,
                        std::string(verdict_name(claim.verdict))});
    }
    fmt::print("{}",
               generated_document(
                   "Claims", "ulplab claims --format markdown",
                   counts(claims) + ".\n\n" +
                       markdown_table({"claim", "source", "statement", "expected", "measured", "verdict"}, rows)));
}

ExitCode show_claims(const Options& options) {
    std::vector<Claim> claims;
    for (const StoredResult& result : read_results(options.out)) {
        claims.insert(claims.end(), result.claims.begin(), result.claims.end());
    }
    if (options.format == "json") {
        print_json(claims);
    } else if (options.format == "markdown") {
        print_markdown(claims);
    } else {
        print_claims(claims);
        fmt::print("{}\n", counts(claims));
    }
    return all_hold(claims) ? ExitCode::good : ExitCode::claim_failed;
}

Action declare(OptionParser& app) {
    const auto options = std::make_shared<Options>();
    app.add_option("--out", options->out, "folder of the results").capture_default_str().type_name("DIR");
    app.add_option("--format", options->format, "console, json or markdown").one_of({"console", "json", "markdown"});
    return [options] { return show_claims(*options); };
}

}  // namespace

Command claims_command() { return {"claims", "the claims that were judged, with their verdicts", declare}; }

}  // namespace ulp
