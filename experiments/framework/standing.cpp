#include "experiments/framework/standing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "experiments/framework/statistics.hpp"

namespace ulp {
namespace {

const Claim* claim_of(const Register& all, const std::string& id) {
    const auto row = std::ranges::find(all.claims, id, &Claim::id);
    return row == all.claims.end() ? nullptr : &*row;
}

bool holds(const std::vector<std::string>& list, const std::string& id) {
    return std::ranges::find(list, id) != list.end();
}

int badness(Verdict verdict) {
    switch (verdict) {
        case Verdict::undecided: return 1;
        case Verdict::refuted: return 2;
        case Verdict::failed: return 3;
        case Verdict::reproduced:
        case Verdict::inconsistent:
        case Verdict::quoted: break;
    }
    return 0;
}

/// The runs of one seed.
struct Runs {
    const Register* quick = nullptr;  // of any size but full
    const Register* full = nullptr;
};

/// The rows of a claim in one seed's runs.
struct Rows {
    const Register* decides = nullptr;
    const Claim* deciding = nullptr;
    const Claim* other = nullptr;
};

Rows rows_of(const Runs& runs, const std::string& id) {
    const Claim* quick = runs.quick == nullptr ? nullptr : claim_of(*runs.quick, id);
    const Claim* full = runs.full == nullptr ? nullptr : claim_of(*runs.full, id);
    if (full == nullptr) return {runs.quick, quick, nullptr};
    const bool counter_example = quick != nullptr && quick->universal && quick->verdict == Verdict::refuted;
    if (quick != nullptr && (runs.full->outdated.contains(id) || counter_example)) return {runs.quick, quick, full};
    return {runs.full, full, quick};
}

std::string remark_on(const Rows& rows, const Runs& runs, const std::string& id) {
    if (rows.other == nullptr) return "";
    if (rows.decides == runs.full) {
        const bool differs = rows.other->verdict != rows.deciding->verdict;
        return differs ? fmt::format("{}: {}", name_of(runs.quick->size), shown_verdict(*rows.other, runs.quick->size))
                       : "";
    }
    const bool outdated = runs.full->outdated.contains(id);
    return fmt::format("full: {}, {}", verdict_name(rows.other->verdict),
                       outdated ? "judged before its expectation was restated" : "but one counter-example refutes it");
}

/// Without a part, beside the run with it.
std::string effect_of(const Claim& with, const Claim& without) {
    if (without.verdict == Verdict::undecided) return "undecided";
    const bool as_good = with.parity && !with.parity->worse;
    const bool kept = without.verdict == Verdict::reproduced || (!as_good && without.verdict == with.verdict);
    return kept ? "as good" : "worse";
}

void correct(std::vector<Standing>& all) {
    std::vector<std::size_t> parities;
    std::map<std::string, std::vector<std::size_t>> families;  // places in `parities`
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Claim& claim = all[i].claim;
        if (!claim.parity || claim.kind != ClaimKind::measured) continue;
        families[claim.id.substr(0, claim.id.find('.'))].push_back(parities.size());
        parities.push_back(i);
    }
    std::vector<double> p;
    for (const std::size_t i : parities) p.push_back(p_value(*all[i].claim.parity));
    const std::vector<double> over_all = benjamini_hochberg(p);
    for (const auto& [experiment, members] : families) {
        std::vector<double> own;
        for (const std::size_t m : members) own.push_back(p[m]);
        const std::vector<double> corrected = holm(own);
        for (std::size_t m = 0; m < members.size(); ++m) {
            all[parities[members[m]]].p = FamilyP{own[m], corrected[m], over_all[members[m]]};
        }
    }
}

/// What the claim's experiment multiplied in that run.
std::optional<std::vector<UnitProducts>> products_of(const Register& all, const std::string& id) {
    const auto run = std::ranges::find(all.runs, id.substr(0, id.find('.')), &RegisteredRun::experiment);
    return run == all.runs.end() ? std::nullopt : run->products;
}

/// The verdicts of published runs, and the claims that they alone make.
void add_published(const Register& runs, std::vector<Standing>& all) {
    for (const Claim& claim : runs.claims) {
        auto row = std::ranges::find_if(all, [&](const Standing& s) { return s.claim.id == claim.id; });
        if (row == all.end()) {
            const std::string own = claim.id.substr(0, claim.id.find('.') + 1);
            const auto last =
                std::find_if(all.rbegin(), all.rend(), [&](const Standing& s) { return s.claim.id.starts_with(own); });
            row = all.insert(last.base(), Standing{claim, {{runs.seed, runs.size, claim.verdict}}});
            row->products = products_of(runs, claim.id);
        }
        row->published = claim.verdict;
    }
}

std::map<std::uint64_t, Runs> by_seed(std::span<const Register> registers) {
    std::map<std::uint64_t, Runs> seeds;
    for (const Register& one : registers) {
        if (one.size == RunSize::published) continue;  // one seed, one net: beside the others, not in their place
        if (one.without.empty()) (one.size == RunSize::full ? seeds[one.seed].full : seeds[one.seed].quick) = &one;
    }
    return seeds;
}

/// Of the runs' claims, full ones first, each once, experiment by experiment.
std::vector<std::string> ids_of(const Runs& runs) {
    std::vector<std::string> ids;
    std::set<std::string> seen;
    for (const Experiment& experiment : experiments()) {
        for (const Register* one : {runs.full, runs.quick}) {
            if (one == nullptr) continue;
            for (const Claim& claim : one->claims) {
                if (!claim.id.starts_with(experiment.name + ".") || !seen.insert(claim.id).second) continue;
                ids.push_back(claim.id);
            }
        }
    }
    return ids;
}

}  // namespace

std::vector<Standing> standings(std::span<const Register> registers) {
    const std::map<std::uint64_t, Runs> seeds = by_seed(registers);
    std::vector<Standing> all;
    if (registers.empty()) return all;
    const std::uint64_t first_seed = registers.front().seed;
    const Runs& first = seeds.at(first_seed);
    for (const std::string& id : ids_of(first)) {
        const Rows rows = rows_of(first, id);
        Standing standing{*rows.deciding};
        standing.other = remark_on(rows, first, id);
        standing.late = holds(rows.decides->late, id);
        standing.seeds.push_back({first_seed, rows.decides->size, rows.deciding->verdict});
        for (const auto& [seed, runs] : seeds) {
            const Rows own = rows_of(runs, id);
            if (seed == first_seed || own.deciding == nullptr || standing.claim.kind != ClaimKind::measured) continue;
            standing.seeds.push_back({seed, own.decides->size, own.deciding->verdict});
            if (badness(own.deciding->verdict) > badness(standing.claim.verdict)) {
                standing.claim.verdict = own.deciding->verdict;
            }
        }
        for (const Register& one : registers) {
            for (const EarlierForm& form : one.history) {
                if (form.claim.id == id && one.without.empty()) standing.history.push_back(form);
            }
            const Claim* without = one.without.empty() ? nullptr : claim_of(one, id);
            const Claim* with = first.quick == nullptr ? nullptr : claim_of(*first.quick, id);
            if (without == nullptr || with == nullptr || with->kind != ClaimKind::measured) continue;
            standing.sensitivity.emplace_back(one.without, effect_of(*with, *without));
        }
        standing.products = products_of(*rows.decides, id);
        all.push_back(std::move(standing));
    }
    correct(all);
    for (const Register& one : registers) {
        if (one.size == RunSize::published) add_published(one, all);
    }
    return all;
}

std::string verdict_text(const Standing& standing) {
    const auto reproduced = std::ranges::count(standing.seeds, Verdict::reproduced, &Standing::AtSeed::verdict);
    const auto count = static_cast<std::ptrdiff_t>(standing.seeds.size());
    std::string text(standing.seeds.empty() ? verdict_name(standing.claim.verdict)
                                            : shown_verdict(standing.claim, standing.seeds.front().size));
    if (reproduced > 0 && reproduced < count) text += fmt::format(" (reproduced at {} of {} seeds)", reproduced, count);
    return text;
}

std::string sentence_of(const Standing& standing) {
    const bool as_good = standing.claim.parity && !standing.claim.parity->worse;
    const bool nothing = standing.sensitivity.size() == parts_left_out.size() &&
                         std::ranges::all_of(standing.sensitivity, [](const auto& s) { return s.second == "as good"; });
    return standing.claim.statement +
           (as_good && nothing ? " (Loss scale, masters, fp32 sums, fp32 norms: here nothing of it is needed.)" : "");
}

std::string runs_text(const Standing& standing) {
    std::string text;
    for (const Standing::AtSeed& at : standing.seeds) {
        text +=
            text.empty() ? std::string(name_of(at.size)) : fmt::format(", {} at seed {}", name_of(at.size), at.seed);
    }
    if (standing.published && standing.seeds.front().size != RunSize::published)
        text += fmt::format(", published: {}", verdict_name(*standing.published));
    return text + (standing.other.empty() ? "" : fmt::format(" ({})", standing.other));
}

std::vector<std::vector<std::string>> contradictions(std::span<const Register> registers) {
    std::vector<std::vector<std::string>> rows;
    for (const auto& [seed, runs] : by_seed(registers)) {
        for (const std::string& id : ids_of(runs)) {
            const Rows found = rows_of(runs, id);
            if (found.other == nullptr || found.other->verdict == found.deciding->verdict) continue;
            const bool full = found.decides == runs.full;
            const Claim& quick_row = full ? *found.other : *found.deciding;
            const Claim& full_row = full ? *found.deciding : *found.other;
            rows.push_back(
                {id, std::string(verdict_name(quick_row.verdict)), std::string(verdict_name(full_row.verdict)),
                 full                               ? "the full run"
                 : runs.full->outdated.contains(id) ? "the quick run: the full one judged an earlier expectation"
                                                    : "the counter-example of the quick run"});
        }
    }
    return rows;
}

}  // namespace ulp
