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
