#include "experiments/framework/judgement.hpp"

#include <fmt/color.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace ulp {
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

std::string shortened(const std::string& text, std::size_t width) {
    return text.size() <= width ? text : fmt::format("{:.{}}...", text, width - 3);
}

void print_sentence(const Claim& claim) {
    fmt::print("{} {}\n", fmt::styled(fmt::format("{:<12}", verdict_name(claim.verdict)), style_of(claim.verdict)),
               claim.statement);
    fmt::print("{:<12} {}: {}\n", "", claim.id, claim.measured);
    if (claim.verdict != Verdict::reproduced && claim.verdict != Verdict::quoted) {
        fmt::print("{:<12} expected: {}\n", "", claim.expected);
    }
}

}  // namespace

bool RegisterJudge::agrees(const JudgedRun& run) {
    if (!is_registered_case(run.seed, run.own_settings)) return true;
    const auto [place, is_new] = registers_.try_emplace(run.size);
    if (is_new) place->second = find_register(run.size);
    if (!place->second) return true;
    const std::vector<Deviation> found = deviations(run.experiment, run.claims, *place->second);
    for (const Deviation& deviation : found) fmt::print(stderr, "ulplab: {}\n", text_of(deviation, run.size));
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

std::string verdict_counts(std::span<const Claim> claims) {
    std::map<Verdict, int> counts;
    for (const Claim& claim : claims) ++counts[claim.verdict];
    std::string text = fmt::format("{} claims:", claims.size());
    for (const auto& [verdict, count] : counts) {
        text += fmt::format("{} {} {}", text.ends_with(':') ? "" : ",", count, verdict_name(verdict));
    }
    return text;
}

void print_unreproduced(std::span<const Claim> claims) {
    std::vector<Claim> others;
    for (const Claim& claim : claims) {
        if (claim.verdict != Verdict::reproduced && claim.verdict != Verdict::quoted) others.push_back(claim);
    }
    const auto failed = [](const Claim& claim) { return claim.verdict == Verdict::failed; };
    std::ranges::stable_partition(others, failed);  // what failed is always among the lines
    constexpr std::size_t most = 10;
    for (const Claim& claim : std::span(others).first(std::min(most, others.size()))) {
        const bool as_expected = claim.measured == claim.expected;
        fmt::print("{} {}: {} ({}{})\n",
                   fmt::styled(fmt::format("{:<12}", verdict_name(claim.verdict)), style_of(claim.verdict)), claim.id,
                   claim.statement, claim.measured, as_expected ? "" : "; expected " + claim.expected);
    }
    if (others.size() > most) fmt::print("{:<12} and {} more\n", "", others.size() - most);
}

void print_claim_table(std::span<const Claim> claims) {
    for (const Claim& claim : claims) {
        fmt::print("{:<12} {:<44} {}\n", verdict_name(claim.verdict), claim.id, shortened(claim.measured, 62));
        if (claim.verdict == Verdict::failed) fmt::print("{:<12} expected {}\n", "", claim.expected);
    }
}

void print_claim_sentences(std::span<const Claim> claims) {
    for (const bool failed : {false, true}) {
        for (const Claim& claim : claims) {
            if ((claim.verdict == Verdict::failed) == failed) print_sentence(claim);
        }
    }
}

}  // namespace ulp
