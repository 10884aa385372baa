#include "experiments/framework/runner.hpp"

#include <fmt/color.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "engine/products/matmul.hpp"
#include "experiments/framework/card_evidence.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/long_work.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

/// Each --set, --mnist and --data must be known to one of the chosen experiments at least; it is applied to those that
/// know it.
Settings settings_for(const Experiment& experiment, const std::vector<const Experiment*>& chosen,
                      const RunOptions& options) {
    Settings settings(experiment.settings, options.size());
    std::vector<std::string> assignments = options.assignments;
    if (!options.mnist.empty()) assignments.push_back("mnist=" + options.mnist);
    if (!options.text.empty()) assignments.push_back("text=" + options.text);
    for (const std::string& assignment : assignments) {
        const std::string key = assignment.substr(0, assignment.find('='));
        const bool elsewhere = std::any_of(chosen.begin(), chosen.end(), [&](const Experiment* other) {
            return other != &experiment && Settings(other->settings, RunSize::quick).knows(key);
        });
        if (settings.knows(key) || !elsewhere) settings.set(assignment);
    }
    return settings;
}

/// One backend that the program has, for those of the chosen experiments that take one. Throws UsageError where none
/// does.
void check_backend(const std::string& backend, const std::vector<const Experiment*>& chosen) {
    if (backend.empty()) return;
    make_backend(backend);  // throws for one that does not exist
    const auto takes_none = [](const Experiment* experiment) { return !experiment->without_backend.empty(); };
    if (!chosen.empty() && std::ranges::all_of(chosen, takes_none)) {
        throw UsageError(fmt::format("{} takes no --unit: {}", chosen.front()->name, chosen.front()->without_backend));
    }
}

bool has_published_size(const Experiment& experiment) {
    return std::ranges::any_of(experiment.settings, [](const Setting& one) { return one.published_value.has_value(); });
}

/// Throws UsageError for an experiment without a published size.
void require_published(const std::vector<const Experiment*>& chosen) {
    for (const Experiment* experiment : chosen) {
        if (has_published_size(*experiment)) continue;
        std::vector<std::string> names;
        for (const Experiment& each : experiments()) {
            if (has_published_size(each)) names.push_back(each.name);
        }
        throw UsageError(fmt::format("{} has no --published size; there is one of {}. Say --full", experiment->name,
                                     fmt::join(names, ", ")));
    }
}

bool has_own_settings(const Request& request) { return request.backend.empty() && request.settings.changed().empty(); }

/// What to do about claims that failed in a run with the experiment's own settings.
std::string remedy_by_register(const Request& request, std::span<const Claim> claims) {
    const std::string& name = request.experiment->name;
    const std::optional<Register> all = find_register(request.size, request.seed);
    const auto row_of = [&](const Claim& claim) { return std::ranges::find(all->claims, claim.id, &Claim::id); };
    const auto is_known = [&](const Claim& claim) { return all && row_of(claim) != all->claims.end(); };
    const auto fails_unexpectedly = [&](const Claim& claim) {
        return claim.verdict == Verdict::failed && is_known(claim) && row_of(claim)->verdict != Verdict::failed;
    };
    if (std::ranges::none_of(claims, is_known)) {
        return fmt::format("The register has no {} run of {}: what was claimed may not hold at this size.",
                           name_of(request.size), name);
    }
    if (std::ranges::none_of(claims, fails_unexpectedly)) {
        return fmt::format("It fails in the register of {}, too: what was claimed does not hold there.", name_of(*all));
    }
    return fmt::format(
        "Own settings, and a claim failed: another build or machine gave other bits. `ulplab run {} --force` tells "
        "whether it stays; ./check.sh tells which arithmetic differs.",
        name);
}

/// What to do about claims that failed.
std::string remedy(const Request& request, std::span<const Claim> claims) {
    std::vector<std::string> changed = request.settings.changed();
    if (!request.backend.empty()) changed.push_back("backend=" + request.backend);
    if (request.size == RunSize::smoke) changed.emplace_back("a run as short as can be (--smoke)");
    if (request.seed != 1 && !find_register(request.size, request.seed))
        changed.push_back(fmt::format("seed={}", request.seed));
    if (changed.empty()) return remedy_by_register(request, claims);
    return fmt::format("The claims are made for the experiment's own settings; here {}. `ulplab run {}` has its own.",
                       fmt::join(changed, ", "), request.experiment->name);
}

/// Every claim, what to do about failed ones, and which products a card has computed.
void print_all(const Request& request, const Finding& finding) {
    print_claim_sentences(finding.claims, request.size);
    if (!all_hold(finding.claims)) fmt::print("{}\n", remedy(request, finding.claims));
    static const std::vector<CardEvidence> evidence = committed_card_evidence();
    for (const UnitProducts& row : finding.products) {
        fmt::print("{}\n", seen_on_card(evidence, request.experiment->name, row));
    }
}

/// The sentence that answers the question, how many claims hold, and those that do not.
void print_short(const Request& request, const Finding& finding) {
    if (const auto claim = answering_claim(*request.experiment, finding.claims)) {
        fmt::print("answer{}: {} Measured: {}.\n",
                   claim->verdict == Verdict::reproduced ? "" : fmt::format(" ({})", verdict_name(claim->verdict)),
                   claim->statement, claim->measured);
    }
    fmt::print("{}; --verbose prints all\n", verdict_counts(finding.claims, request.size));
    print_unreproduced(finding.claims);
    if (!all_hold(finding.claims)) fmt::print("{}\n", remedy(request, finding.claims));
}

void print_finding(const Request& request, const Finding& finding, const RunOptions& options) {
    fmt::print("{}: {}\n", request.experiment->name, request.experiment->question);
    options.verbose ? print_all(request, finding) : print_short(request, finding);
    fmt::print("results: {}{}\n\n", (options.out / request.experiment->name).string(),
               finding.skipped ? " (complete already, not run again; --force runs it)" : "");
    std::fflush(stdout);
}

}  // namespace

std::vector<const Experiment*> chosen_experiments(const std::vector<std::string>& names) {
    std::vector<const Experiment*> chosen;
    const auto add = [&](const Experiment& experiment) {
        if (std::find(chosen.begin(), chosen.end(), &experiment) == chosen.end()) chosen.push_back(&experiment);
    };
    for (const std::string& name : names) {
        if (name == "all") {
            for (const Experiment& experiment : experiments()) add(experiment);
        } else {
            add(experiment_by_name(name));
        }
    }
    return chosen;
}

void declare_run_options(OptionParser& app, RunOptions& options) {
    app.add_option("--seed", options.seed, "seed of all random numbers").capture_default_str();
    app.add_option("--out", options.out, "folder for the results").capture_default_str().type_name("DIR");
    const DeclaredOption full = app.add_flag("--full", options.full, "the long version: more samples, more steps");
    app.add_flag("!--quick", options.full, "the short version (default)").excludes(full);
    const DeclaredOption smoke =
        app.add_flag("--smoke", options.smoke, "as short as can be: to compare bits, not to judge claims")
            .excludes(full);
    app.add_flag("--published", options.published, "the sources' own net, one seed: hours, of experiments that have it")
        .excludes(full)
        .excludes(smoke);
    app.add_option("--set", options.assignments, "change a setting; may be repeated").type_name("KEY=VALUE").repeated();
    app.add_option("--unit", options.backend,
                   "matrix unit: soft:v100, soft:a100, soft:h100, soft:ieee, eigen ...; not for experiments whose "
                   "products go through none")
        .type_name("SPEC");
    app.add_option("--mnist", options.mnist, "folder with the MNIST idx files, for experiments that train on digits")
        .type_name("DIR");
    app.add_option("--data", options.text, "text file, for experiments that train on text").type_name("FILE");
    app.add_flag("--force", options.force, "run again what is complete in the output folder already");
    app.add_flag("--verbose", options.verbose, "prints every claim, and which products a card has computed");
    app.add_flag("--json", options.json, "prints the records as JSON");
}

ExitCode run_experiments(const std::vector<const Experiment*>& chosen, const RunOptions& options) {
    if (options.published) require_published(chosen);
    std::vector<Request> requests;
    for (const Experiment* experiment : chosen) {
        requests.push_back({experiment, options.seed, options.size(),
                            experiment->without_backend.empty() ? options.backend : "",
                            settings_for(*experiment, chosen, options)});
    }
    check_backend(options.backend, chosen);
    make_writable_folder(options.out);
    Progress progress(requests.size());
    auto records = nlohmann::ordered_json::array();
    RegisterJudge judge;
    bool good = true;
    bool drawn = true;
    for (const Request& request : requests) {
        const std::string& name = request.experiment->name;
        progress.next(name);
        const Finding finding = run_single(request, options.out, name, {.force = options.force},
                                           [&](double fraction) { progress.update(fraction); });
        progress.clear();
        if (!all_hold(finding.claims)) good = false;
        if (!judge.agrees({name, request.size, request.seed, has_own_settings(request), finding.claims})) good = false;
        drawn = drawn && !finding.undrawn;
        if (!finding.note.empty()) fmt::print(stderr, "ulplab: {}\n", finding.note);
        if (!options.json) {
            print_finding(request, finding, options);
        } else {
            records.push_back(nlohmann::ordered_json::parse(finding.record));
        }
    }
    if (options.json) fmt::print("{}\n", records.dump(2));
    if (!good) return ExitCode::claim_failed;  // the result's own word comes before the drawing's
    return drawn ? ExitCode::good : ExitCode::data;
}

int experiment_main(const Experiment& experiment, const std::vector<std::string>& arguments) {
    return static_cast<int>(guarded([&] {
        OptionParser app(experiment.title + ". " + experiment.question, experiment.name);
        app.footer("Settings, for --set KEY=VALUE:\n" + describe(experiment.settings));
        RunOptions options;
        declare_run_options(app, options);
        if (!app.parse(arguments)) return ExitCode::good;
        return run_experiments({&experiment}, options);
    }));
}

namespace {

/// The colours of a terminal, or none: https://no-color.org.
fmt::text_style style_of(Verdict verdict) {
    static const bool colours = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
    if (!colours) return {};
    switch (verdict) {
        case Verdict::reproduced: return fmt::fg(fmt::terminal_color::green);
        case Verdict::refuted:
        case Verdict::inconsistent: return fmt::fg(fmt::terminal_color::cyan);
        case Verdict::undecided: return fmt::fg(fmt::terminal_color::yellow);
        case Verdict::quoted: return fmt::emphasis::faint;
        case Verdict::failed: return fmt::fg(fmt::terminal_color::red) | fmt::emphasis::bold;
    }
    return {};
}

void print_sentence(const Claim& claim, RunSize size) {
    fmt::print("{} {}\n", fmt::styled(fmt::format("{:<12}", shown_verdict(claim, size)), style_of(claim.verdict)),
               claim.statement);
    fmt::print("{:<12} {}: {}\n", "", claim.id, claim.measured);
    if (claim.verdict != Verdict::reproduced && claim.verdict != Verdict::quoted) {
        fmt::print("{:<12} expected: {}\n", "", claim.expected);
    }
}

}  // namespace

bool RegisterJudge::agrees(const JudgedRun& run) {
    if (!run.own_settings) return true;
    const auto [place, is_new] = registers_.try_emplace({run.size, run.seed});
    if (is_new) place->second = find_register(run.size, run.seed);
    const std::vector<std::string> late =
        run.size == RunSize::full ? uncommitted(run.claims, committed_registers()) : std::vector<std::string>{};
    if (!late.empty()) {
        fmt::print(stderr, "ulplab: what this full run was expected to show was not committed before it: {}\n",
                   fmt::join(late, ", "));
    }
    if (!place->second) return true;
    const std::vector<Deviation> found = deviations(run.experiment, run.claims, *place->second);
    for (const Deviation& deviation : found) fmt::print(stderr, "ulplab: {}\n", text_of(deviation, *place->second));
    return found.empty();
}

std::optional<Claim> answering_claim(const Experiment& experiment, std::span<const Claim> claims) {
    const auto is_effect = [&](const Claim& claim) {
        return claim.id == experiment.name + "." + experiment.effect->claim;
    };
    const auto effect = experiment.effect ? std::ranges::find_if(claims, is_effect) : claims.end();
    if (effect != claims.end()) return *effect;
    const auto parity = std::ranges::find_if(claims, [](const Claim& claim) { return claim.parity.has_value(); });
    if (parity != claims.end()) return *parity;
    for (auto last = claims.rbegin(); last != claims.rend(); ++last) {
        if (last->verdict != Verdict::quoted) return *last;
    }
    return std::nullopt;
}

std::string verdict_counts(std::span<const Claim> claims, RunSize size) {
    std::map<std::pair<Verdict, std::string_view>, int> counts;
    for (const Claim& claim : claims) ++counts[{claim.verdict, shown_verdict(claim, size)}];
    std::string text = fmt::format("{} claims:", claims.size());
    for (const auto& [verdict, count] : counts) {
        text += fmt::format("{} {} {}", text.ends_with(':') ? "" : ",", count, verdict.second);
    }
    return text;
}

void print_unreproduced(std::span<const Claim> claims) {
    std::vector<Claim> others;
    for (const Claim& claim : claims) {
        if (claim.verdict != Verdict::reproduced && claim.verdict != Verdict::quoted) others.push_back(claim);
    }
    const auto failed = [](const Claim& claim) { return claim.verdict == Verdict::failed; };
    std::stable_partition(others.begin(), others.end(), failed);  // what failed is always among the lines
    constexpr std::size_t most = 10;
    for (const Claim& claim : std::span(others).first(std::min(most, others.size()))) {
        const bool as_expected = claim.measured == claim.expected;
        fmt::print("{} {}: {} ({}{})\n",
                   fmt::styled(fmt::format("{:<12}", verdict_name(claim.verdict)), style_of(claim.verdict)), claim.id,
                   claim.statement, claim.measured, as_expected ? "" : "; expected " + claim.expected);
    }
    if (others.size() > most) fmt::print("{:<12} and {} more\n", "", others.size() - most);
}

void print_claim_sentences(std::span<const Claim> claims, RunSize size) {
    for (const bool failed : {false, true}) {
        for (const Claim& claim : claims) {
            if ((claim.verdict == Verdict::failed) == failed) print_sentence(claim, size);
        }
    }
}

}  // namespace ulp
