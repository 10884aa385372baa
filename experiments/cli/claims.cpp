// `ulplab claims`: what was claimed, expected and measured, from the records in the output folder.
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "experiments/cli/command.hpp"
#include "experiments/cli/pages.hpp"
#include "experiments/framework/card_evidence.hpp"
#include "experiments/framework/claim.hpp"
#include "experiments/framework/experiment.hpp"
#include "experiments/framework/record.hpp"
#include "experiments/framework/register.hpp"
#include "experiments/framework/runner.hpp"
#include "experiments/framework/values.hpp"

namespace ulp {
namespace {

struct ClaimsOptions {
    std::string out = "out";
    std::string from;  // the name of a register
    bool json = false;
};

/// Claims, and where they are of runs of two sizes, the size of the run of each.
struct ShownClaims {
    std::vector<Claim> claims{};
    std::vector<RunSize> sizes{};
    std::string origin{};              // what the claims are of, in a document
    std::vector<std::string> cards{};  // what a card says of each claim's products; empty where that is not known
};

using Products = std::optional<std::vector<UnitProducts>>;

/// Adds what is said of the claims behind those that have a word already, all of one experiment's run.
void add_cards(ShownClaims& shown, const std::string& experiment, const Products& products) {
    static const std::vector<CardEvidence> evidence = committed_card_evidence();
    for (std::size_t i = shown.cards.size(); i < shown.claims.size(); ++i) {
        shown.cards.push_back(products ? card_mark(evidence, experiment, *products, shown.claims[i].kind) : "");
    }
}

bool knows_cards(const ShownClaims& shown) {
    return std::ranges::any_of(shown.cards, [](const std::string& card) { return !card.empty(); });
}

/// The claims of an experiment in a register, behind those that are shown.
void add_claims(ShownClaims& shown, const Register& all, const Experiment& experiment) {
    const auto own = [&](const Claim& claim) { return claim.id.starts_with(experiment.name + "."); };
    std::ranges::copy_if(all.claims, std::back_inserter(shown.claims), own);
    const auto run = std::ranges::find(all.runs, experiment.name, &RegisteredRun::experiment);
    add_cards(shown, experiment.name, run == all.runs.end() ? Products{} : run->products);
}

void print_json(const ShownClaims& shown) {
    auto list = nlohmann::ordered_json::array();
    for (const Claim& claim : shown.claims) {
        list.push_back(claim_json(claim));
        if (!shown.sizes.empty()) list.back()["run"] = name_of(shown.sizes[list.size() - 1]);
        if (knows_cards(shown)) list.back()["card"] = shown.cards[list.size() - 1];
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

std::string page_of(const ShownClaims& shown) {
    std::vector<std::string> header = {"claim", "source", "statement", "expected", "measured", "kind", "verdict"};
    std::vector<std::vector<std::string>> rows;
    for (const Claim& claim : shown.claims) {
        rows.push_back({fmt::format("`{}`", claim.id), claim.source, claim.statement, claim.expected, claim.measured,
                        std::string(name_of(claim.kind)), std::string(verdict_name(claim.verdict))});
    }
    if (!shown.sizes.empty()) {
        header.emplace_back("run");
        for (std::size_t i = 0; i < rows.size(); ++i) rows[i].emplace_back(name_of(shown.sizes[i]));
    }
    if (knows_cards(shown)) {
        header.emplace_back("seen on a card");
        for (std::size_t i = 0; i < rows.size(); ++i) rows[i].push_back(shown.cards[i]);
    }
    const std::string text = shown.origin + counts(shown.claims) + "\n\n" + markdown_table(header, rows);
    return generated_document("Claims", "ulplab dev page claims", text);
}

void print(const ShownClaims& shown, bool json) {
    if (json) return print_json(shown);
    print_claim_table(shown.claims);
    fmt::print("{}\n", counts(shown.claims));
}

std::string origin_of(const Register& all) {
    return fmt::format("The register of {} runs, seed {}: made by ulplab {} on {}, {}.\n\n", name_of(all.size),
                       all.seed, all.version, all.date, all.machine);
}

/// The claims of each experiment's full run where the register has one, else of its quick run.
ShownClaims claims_of_longest_runs() {
    const Register quick = read_register(RunSize::quick);
    const Register full = read_register(RunSize::full);
    ShownClaims shown{.origin =
                          origin_of(full) + origin_of(quick) +
                          "An experiment that has no full run in the register stands here with its quick run.\n\n"};
    for (const Experiment& experiment : experiments()) {
        const auto own = [&](const Claim& claim) { return claim.id.starts_with(experiment.name + "."); };
        const Register& longest = std::ranges::any_of(full.claims, own) ? full : quick;
        add_claims(shown, longest, experiment);
        shown.sizes.resize(shown.claims.size(), longest.size);
    }
    return shown;
}

ShownClaims registered_claims(const std::string& name) {
    if (name == "both") return claims_of_longest_runs();
    const Register all = read_register(run_size_by_name(name));
    ShownClaims shown{.origin = origin_of(all)};
    for (const Experiment& experiment : experiments()) add_claims(shown, all, experiment);
    return shown;
}

ExitCode show_claims(const ClaimsOptions& options) {
    if (!options.from.empty()) {
        print(registered_claims(options.from), options.json);
        return ExitCode::good;
    }
    const std::vector<StoredResult> results = read_results(options.out);
    ShownClaims shown;
    for (const StoredResult& result : results) {
        shown.claims.insert(shown.claims.end(), result.claims.begin(), result.claims.end());
        add_cards(shown, result.experiment, result.products);
    }
    print(shown, options.json);
    RegisterJudge judge;
    bool good = all_hold(shown.claims);
    for (const StoredResult& result : results) {
        const RunSize size = run_size_by_name(result.mode);
        if (!judge.agrees({result.experiment, size, result.seed, result.own_settings, result.claims})) good = false;
    }
    return good ? ExitCode::good : ExitCode::claim_failed;
}

Action declare_claims(OptionParser& app) {
    const auto options = std::make_shared<ClaimsOptions>();
    app.add_option("--out", options->out, "folder of the results").capture_default_str().type_name("DIR");
    app.add_option("--register", options->from,
                   "the committed register of these runs instead of results; both: full runs where there are "
                   "some")
        .one_of({"quick", "full", "both"});
    app.add_flag("--json", options->json, "prints JSON");
    return [options] { return show_claims(*options); };
}

}  // namespace

std::string claims_page() { return page_of(registered_claims("both")); }

Command claims_command() { return {"claims", "the claims that were judged, with their verdicts", declare_claims}; }

}  // namespace ulp
