// `ulplab claims`: what was claimed, expected and measured, from the records in the output folder.
#include <fmt/core.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "experiments/commands/command.hpp"
#include "experiments/framework/claim_json.hpp"
#include "experiments/framework/experiment.hpp"
#include "experiments/results/markdown.hpp"
#include "experiments/results/register.hpp"
#include "experiments/results/stored_results.hpp"
#include "experiments/running/judgement.hpp"

namespace ulp {
namespace {

struct ClaimsOptions {
    std::string out = "out";
    std::string format = "console";
    std::string from;  // the name of a register
};

void print_json(const std::vector<Claim>& claims) {
    auto list = nlohmann::ordered_json::array();
    for (const Claim& claim : claims) {
        list.push_back(claim_json(claim));
        list.back()["controls"] = controls_of(claim.id);
    }
    fmt::print("{}\n", list.dump(2));
}

std::string counts(const std::vector<Claim>& claims) {
    std::string line = fmt::format("{} claims.", claims.size());
    for (const ClaimKind kind : claim_kinds) {
        std::map<Verdict, int> counts;
        for (const Claim& claim : claims) counts[claim.verdict] += claim.kind == kind ? 1 : 0;
        std::string row;
        for (const auto& [verdict, count] : counts) {
            if (count != 0) row += fmt::format("{} {} {}", row.empty() ? "" : ",", count, verdict_name(verdict));
        }
        if (!row.empty()) line += fmt::format(" {}:{}.", name_of(kind), row);
    }
    return line;
}

void print_markdown(const std::vector<Claim>& claims, const std::string& origin) {
    std::vector<std::vector<std::string>> rows;
    for (const Claim& claim : claims) {
        rows.push_back({fmt::format("`{}`", claim.id), claim.source, claim.statement, claim.expected, claim.measured,
                        std::string(name_of(claim.kind)), std::string(verdict_name(claim.verdict))});
    }
    fmt::print("{}", generated_document(
                         "Claims", "ulplab claims --format markdown",
                         origin + counts(claims) + "\n\n" +
                             markdown_table({"claim", "source", "statement", "expected", "measured", "kind", "verdict"},
                                            rows)));
}

/// `origin`: what the claims are of, in a document.
void print(const std::vector<Claim>& claims, const std::string& format, const std::string& origin = "") {
    if (format == "json") {
        print_json(claims);
    } else if (format == "markdown") {
        print_markdown(claims, origin);
    } else {
        print_claim_table(claims);
        fmt::print("{}\n", counts(claims));
    }
}

ExitCode show_claims(const ClaimsOptions& options) {
    if (!options.from.empty()) {
        const Register all = read_register(run_size_by_name(options.from));
        print(all.claims, options.format,
              fmt::format("The register of {} runs, seed {}: made by ulplab {} on {}, {}.\n\n", name_of(all.size),
                          all.seed, all.version, all.date, all.machine));
        return ExitCode::good;
    }
    const std::vector<StoredResult> results = read_results(options.out);
    if (options.format == "register") {
        fmt::print("{}", register_json(register_of(results)));
        return ExitCode::good;
    }
    std::vector<Claim> claims;
    for (const StoredResult& result : results) {
        claims.insert(claims.end(), result.claims.begin(), result.claims.end());
    }
    print(claims, options.format);
    RegisterJudge judge;
    bool good = all_hold(claims);
    for (const StoredResult& result : results) {
        const RunSize size = run_size_by_name(result.mode);
        if (!judge.agrees({result.experiment, size, result.seed, result.own_settings, result.claims})) good = false;
    }
    return good ? ExitCode::good : ExitCode::claim_failed;
}

Action declare_claims(OptionParser& app) {
    const auto options = std::make_shared<ClaimsOptions>();
    app.add_option("--out", options->out, "folder of the results").capture_default_str().type_name("DIR");
    app.add_option("--format", options->format, "console, json, markdown or register")
        .one_of({"console", "json", "markdown", "register"});
    app.add_option("--register", options->from, "the committed register of these runs in the place of results")
        .one_of({"quick", "full"});
    return [options] { return show_claims(*options); };
}

}  // namespace

Command claims_command() { return {"claims", "the claims that were judged, with their verdicts", declare_claims}; }

}  // namespace ulp
