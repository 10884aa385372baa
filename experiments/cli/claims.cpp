// `ulplab claims`: what was claimed, expected and measured, and how it stands at all seeds: from the records in the
// output folder or the committed registers.
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "experiments/cli/command.hpp"
#include "experiments/cli/pages.hpp"
#include "experiments/framework/card_evidence.hpp"
#include "experiments/framework/claim.hpp"
#include "experiments/framework/experiment.hpp"
#include "experiments/framework/record.hpp"
#include "experiments/framework/runner.hpp"
#include "experiments/framework/standing.hpp"
#include "experiments/framework/values.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

using ClaimJson = nlohmann::ordered_json;
using Texts = std::vector<std::string>;

struct ClaimsOptions {
    std::string out = "out";
    std::string from;     // the name of a register
    std::string history;  // a claim's id
    bool json = false;
};

/// What a card says of the claim's products; empty where that is not known.
std::string card_of(const Standing& standing) {
    static const std::vector<CardEvidence> evidence = committed_card_evidence();
    const std::string& id = standing.claim.id;
    if (!standing.products) return "";
    return card_mark(evidence, id.substr(0, id.find('.')), *standing.products, standing.claim.kind);
}

/// "failed, restated as "at least 3"", "undecided".
std::string verdict_of(const EarlierForm& form, const Claim& now) {
    const bool restated = form.claim.expected != now.expected || form.claim.statement != now.statement;
    const std::string verdict(verdict_name(form.claim.verdict));
    return restated ? fmt::format("{}, restated as \"{}\"", verdict, now.expected) : verdict;
}

ClaimJson json_of(const EarlierForm& form, const Claim& now) {
    return {{"date", form.date},
            {"run", name_of(form.size)},
            {"verdict", verdict_of(form, now)},
            {"statement", form.claim.statement},
            {"expected", form.claim.expected},
            {"measured", form.claim.measured}};
}

ClaimJson json_of(const Standing& standing) {
    ClaimJson row = claim_json(standing.claim);
    row["statement"] = sentence_of(standing);
    if (!standing.seeds.empty()) row["run"] = name_of(standing.seeds.front().size);
    if (!standing.other.empty()) row["other_run"] = standing.other;
    if (standing.published) row["published"] = verdict_name(*standing.published);
    if (standing.late) row["expectation_committed_before"] = false;
    if (const std::string card = card_of(standing); !card.empty()) row["card"] = card;
    if (standing.claim.kind == ClaimKind::measured) {
        row["verdicts"] = row["runs"] = row["sensitivity"] = ClaimJson::object();
        for (const Standing::AtSeed& at : standing.seeds) {
            row["verdicts"][fmt::format("{}", at.seed)] = verdict_name(at.verdict);
            row["runs"][fmt::format("{}", at.seed)] = name_of(at.size);
        }
        for (const auto& [part, effect] : standing.sensitivity) row["sensitivity"][part] = effect;
    }
    if (standing.p) {
        row["p"] = {{"alone", standing.p->alone},
                    {"holm", standing.p->holm},
                    {"benjamini_hochberg", standing.p->benjamini_hochberg}};
    }
    row["controls"] = controls_of(standing.claim.id);
    row["history"] = ClaimJson::array();
    for (const EarlierForm& form : standing.history) row["history"].push_back(json_of(form, standing.claim));
    return row;
}

void print_json(const std::vector<Standing>& shown) {
    ClaimJson list = ClaimJson::array();
    for (const Standing& standing : shown) list.push_back(json_of(standing));
    fmt::print("{}\n", list.dump(2));
}

/// "measured: 3 reproduced, 1 undecided. arithmetic: 2 reproduced."
std::string counts(const std::map<ClaimKind, std::map<Verdict, int>>& kinds) {
    std::string line;
    for (const auto& [kind, verdicts] : kinds) {
        std::string row;
        for (const auto& [verdict, count] : verdicts) {
            row += fmt::format("{} {} {}", row.empty() ? "" : ",", count, verdict_name(verdict));
        }
        line += fmt::format(" {}:{}.", name_of(kind), row);
    }
    return line;
}

std::string counts(const std::vector<Standing>& shown) {
    std::map<ClaimKind, std::map<Verdict, int>> kinds;
    std::map<std::uint64_t, std::map<ClaimKind, std::map<Verdict, int>>> seeds;
    std::array<int, 3> holding{};  // parities at the level, alone and corrected
    int parities = 0;
    for (const Standing& standing : shown) {
        ++kinds[standing.claim.kind][standing.claim.verdict];
        for (const Standing::AtSeed& at : standing.seeds) {
            if (standing.claim.kind == ClaimKind::measured) ++seeds[at.seed][standing.claim.kind][at.verdict];
        }
        if (!standing.p) continue;
        ++parities;
        const std::array p = {standing.p->alone, standing.p->holm, standing.p->benjamini_hochberg};
        for (std::size_t i = 0; i < p.size(); ++i) holding.at(i) += p.at(i) <= 0.025 ? 1 : 0;
    }
    std::string text = fmt::format("{} claims.{}", shown.size(), counts(kinds));
    if (seeds.size() > 1) {
        for (const auto& [seed, of_seed] : seeds) text += fmt::format("\nSeed {}.{}", seed, counts(of_seed));
    }
    if (parities > 0) {
        text += fmt::format(
            "\nOf {} comparisons with an interval {} hold at 2.5 % a side, {} corrected by Holm for their "
            "experiment's, {} "
            "by Benjamini and Hochberg for all.",
            parities, holding[0], holding[1], holding[2]);
    }
    return text;
}

Texts row_of(const Standing& standing) {
    const Claim& claim = standing.claim;
    return {fmt::format("`{}`", claim.id),
            claim.source,
            sentence_of(standing),
            claim.expected,
            claim.measured,
            std::string(name_of(claim.kind)),
            verdict_text(standing),
            runs_text(standing),
            card_of(standing)};
}

/// The forms of the claim that failed, as rows.
std::vector<Texts> failed_forms(const Standing& standing) {
    std::vector<Texts> rows;
    for (const EarlierForm& form : standing.history) {
        if (form.claim.verdict != Verdict::failed) continue;
        rows.push_back({fmt::format("before: `{}`", form.claim.id), standing.claim.source, form.claim.statement,
                        form.claim.expected, form.claim.measured, std::string(name_of(standing.claim.kind)),
                        verdict_of(form, standing.claim), fmt::format("{}, {}", name_of(form.size), form.date), ""});
    }
    return rows;
}

std::string p_text(double p) { return p < 1e-4 ? "below 0.0001" : fmt::format("{:.4f}", p); }

constexpr std::string_view page_lead =
    "An experiment's full run decides where there is one of the claim's present expectation, else its quick run; the "
    "column \"run\" names it, and at other seeds theirs. What is measured is reproduced where it is at all seeds. "
    "\"Late\": the expectation was in no register before the full run.\n\n";

std::string page_of(std::span<const Register> registers) {
    const std::vector<Standing> shown = standings(registers);
    std::string text;
    for (const Register& all : registers) {
        text += fmt::format("The register of {}, seed {}: made by ulplab {} on {}, {}.\n\n", name_of(all), all.seed,
                            all.version, all.date, all.machine);
    }
    std::vector<Texts> rows, families, needs;
    std::string late;
    for (const Standing& standing : shown) {
        rows.push_back(row_of(standing));
        std::ranges::move(failed_forms(standing), std::back_inserter(rows));
        if (standing.late) late += fmt::format("{}`{}`", late.empty() ? "" : ", ", standing.claim.id);
        if (standing.p) {
            families.push_back({standing.claim.id, p_text(standing.p->alone), p_text(standing.p->holm),
                                p_text(standing.p->benjamini_hochberg)});
        }
        if (standing.sensitivity.empty()) continue;
        needs.push_back({standing.claim.id});
        for (const char* part : parts_left_out) {
            const auto found = std::ranges::find(standing.sensitivity, part,
                                                 [](const auto& effect) { return std::string_view(effect.first); });
            needs.back().push_back(found == standing.sensitivity.end() ? "" : found->second);
        }
    }
    text +=
        std::string(page_lead) + counts(shown) + "\n\n" +
        markdown_table(
            {"claim", "source", "statement", "expected", "measured", "kind", "verdict", "run", "seen on a card"}, rows);
    text += "\n## Where quick and full runs differ\n\n" +
            markdown_table({"claim", "quick", "full", "what stands"}, contradictions(registers));
    text +=
        "\n## What training runs need\n\nThe claims of quick runs in which the loss scale, the fp32 masters, fp32 "
        "sums, or "
        "fp32 steps of norms, softmax and other operations were left out, or all of these.\n\n" +
        markdown_table({"claim", "no scale", "no masters", "fp16 sums", "16-bit norms", "all"}, needs);
    text += "\n## Late expectations\n\n" + (late.empty() ? "None." : late + ".") + "\n";
    text +=
        "\n## Families of comparisons\n\nOne-sided p-values, to be compared with 0.025.\n\n" +
        markdown_table({"claim", "alone", "Holm, within the experiment", "Benjamini and Hochberg, over all"}, families);
    return generated_document("Claims", "ulplab dev page claims", text);
}

std::string shortened(const std::string& text, std::size_t width) {
    return text.size() <= width ? text : fmt::format("{:.{}}...", text, width - 3);
}

void print(const std::vector<Standing>& shown, bool json) {
    if (json) return print_json(shown);
    for (const Standing& standing : shown) {
        const Claim& claim = standing.claim;
        fmt::print("{:<12} {:<44} {}\n", verdict_text(standing), claim.id, shortened(claim.measured, 62));
        if (claim.verdict == Verdict::failed) fmt::print("{:<12} expected {}\n", "", claim.expected);
        for (const EarlierForm& form : standing.history) {
            if (form.claim.verdict != Verdict::failed) continue;
            fmt::print("{:<12} {} in the {} register of {}: {}, expected {}\n", "", verdict_of(form, claim),
                       name_of(form.size), form.date, form.claim.measured, form.claim.expected);
        }
    }
    fmt::print("{}\n", counts(shown));
}

std::vector<Register> registers_named(const std::string& name) {
    std::vector<Register> registers = committed_registers();
    if (name != "both") {
        const RunSize size = run_size_by_name(name);
        std::erase_if(registers, [&](const Register& one) { return one.size != size && one.without.empty(); });
    }
    return registers;
}

/// A result's claims, and those of the committed runs of the same size with other seeds.
std::vector<Standing> standings_of(const StoredResult& result) {
    std::vector<Register> registers(1);
    if (result.own_settings && result.without.empty()) {
        registers.front() = register_of({result});
        for (Register& one : committed_registers()) {
            const bool same_size = one.size == registers.front().size;
            if (!one.without.empty() || (same_size && one.seed != result.seed)) {
                registers.push_back(std::move(one));
            } else if (same_size) {
                registers.front().history = one.history;
            }
        }
    } else {
        registers.front() = {run_size_by_name(result.mode), result.seed, "", "", "", result.claims};
        registers.front().runs = {{result.experiment, result.trainings, result.inputs, 0, result.products}};
    }
    std::vector<Standing> all = standings(registers);
    std::erase_if(all, [&](const Standing& one) { return !one.claim.id.starts_with(result.experiment + "."); });
    return all;
}

ExitCode show_history(const std::string& id) {
    const std::vector<Register> registers = committed_registers();
    const std::vector<Standing> all = standings(registers);
    const auto found = std::ranges::find(all, id, [](const Standing& standing) { return standing.claim.id; });
    if (found == all.end()) {
        throw UsageError(fmt::format("the registers have no claim {}; `ulplab claims --register both` lists them", id));
    }
    fmt::print("{}: {}\n{}\nnow {}; runs: {}\n  expected {}\n  measured {}\n", id, found->claim.source,
               sentence_of(*found), verdict_text(*found), runs_text(*found), found->claim.expected,
               found->claim.measured);
    for (const Register& one : registers) {
        const auto row = std::ranges::find(one.claims, id, &Claim::id);
        if (row == one.claims.end()) continue;
        fmt::print("{}, {}: {}; measured {}\n", one.date, name_of(one), verdict_name(row->verdict), row->measured);
    }
    if (found->late) fmt::print("its expectation was in no register before its full run\n");
    for (const EarlierForm& form : found->history) {
        fmt::print("in the {} register of {}: {}\n  {}\n  expected {}\n  measured {}\n", name_of(form.size), form.date,
                   verdict_of(form, found->claim), form.claim.statement, form.claim.expected, form.claim.measured);
    }
    return ExitCode::good;
}

ExitCode show_claims(const ClaimsOptions& options) {
    if (!options.history.empty()) return show_history(options.history);
    if (!options.from.empty()) {
        print(standings(registers_named(options.from)), options.json);
        return ExitCode::good;
    }
    const std::vector<StoredResult> results = read_results(options.out);
    std::vector<Standing> shown;
    for (const StoredResult& result : results) std::ranges::move(standings_of(result), std::back_inserter(shown));
    print(shown, options.json);
    RegisterJudge judge;
    bool good = true;
    for (const StoredResult& result : results) {
        const bool own = result.own_settings && result.without.empty();
        const RunSize size = run_size_by_name(result.mode);
        if (!all_hold(result.claims)) good = false;
        if (!judge.agrees({result.experiment, size, result.seed, own, result.claims})) good = false;
    }
    return good ? ExitCode::good : ExitCode::claim_failed;
}

Action declare_claims(OptionParser& app) {
    const auto options = std::make_shared<ClaimsOptions>();
    app.add_option("--out", options->out, "folder of the results").capture_default_str().type_name("DIR");
    app.add_option("--register", options->from,
                   "the committed registers of these runs instead of results; both: full runs decide where there are "
                   "some")
        .one_of({"quick", "full", "both"});
    app.add_option("--history", options->history,
                   "one claim: its verdicts at all seeds and sizes of run, and the forms that it had before")
        .type_name("ID");
    app.add_flag("--json", options->json, "prints JSON");
    return [options] { return show_claims(*options); };
}

}  // namespace

std::string claims_page() { return page_of(committed_registers()); }

Command claims_command() { return {"claims", "the claims that were judged, with their verdicts", declare_claims}; }

}  // namespace ulp
