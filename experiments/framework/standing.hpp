// How claims stand after all runs: at each seed, corrected for their families, in what form they failed before, and
// what of mixed precision they need.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "experiments/framework/register.hpp"

namespace ulp {

/// What stands behind a claim of parity: one-sided p-values, to be compared with 0.025 each.
struct FamilyP {
    double alone;               // p_value of its own interval
    double holm;                // corrected for the parities of its experiment
    double benjamini_hochberg;  // for those of all experiments
};

struct Standing {
    struct AtSeed {
        std::uint64_t seed;
        RunSize size;  // of the run that decides
        Verdict verdict;
    };
    Claim claim;                  // as the run says that decides at the first of the seeds; its verdict is the worst
    std::vector<AtSeed> seeds{};  // of what is measured: one a seed; of others the one run's
    std::optional<Verdict> published{};  // of the sources' own net at one seed: beside the others, not in their place
    std::string other{};  // of the same seed's run that does not decide, and why; empty: there is none, or it agrees
    bool late = false;    // its expectation was in no register before its full run
    std::vector<EarlierForm> history{};
    std::vector<std::pair<std::string, std::string>>
        sensitivity{};           // "scale": "as good", "worse" or "undecided" without
    std::optional<FamilyP> p{};  // of measured parities
    std::optional<std::vector<UnitProducts>> products{};
};

/// The claims of these registers in the order of the experiments. At a seed the full run decides where there is one
/// whose expectation is still the claim's, else the quick run; what is said of all cases is refuted where either
/// refutes it. What is measured is reproduced where it is at all seeds: its verdict is the worst of them.
std::vector<Standing> standings(std::span<const Register> registers);

/// "undecided (reproduced at 2 of 3 seeds)"; of parities that quick runs alone support "no difference yet".
std::string verdict_text(const Standing& standing);
/// The claim's sentence; of a parity for which nothing is needed it says so.
std::string sentence_of(const Standing& standing);
/// "full; 3, 7: quick": the runs behind the verdict, by seed.
std::string runs_text(const Standing& standing);

/// Of all claims with verdicts in both sizes of run: quick, full, and which stands.
std::vector<std::vector<std::string>> contradictions(std::span<const Register> registers);

}  // namespace ulp
