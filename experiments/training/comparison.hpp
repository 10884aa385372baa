// The same training in several arithmetics, over several seeds: what differs by rounding stands beside what differs by
// chance.
#pragma once

#include "experiments/training/parity.hpp"
#include "experiments/training/training.hpp"

namespace ulp {

struct Comparison {
    std::vector<Arithmetic> arithmetics;     // the first is the reference
    std::vector<std::vector<Learned>> runs;  // [arithmetic][seed]
    std::string evidence{};                  // what stands behind the matrix arithmetic of the runs, for their figures

    /// A score, a number a seed.
    [[nodiscard]] Scores scores(std::size_t arithmetic, std::size_t score = 0) const;
    /// Of a score over the seeds.
    [[nodiscard]] Spread spread(std::size_t arithmetic, std::size_t score = 0) const;
    [[nodiscard]] double mean(std::size_t arithmetic, std::size_t score = 0) const;
};

/// The part of an experiment's progress that a comparison takes.
struct ProgressPart {
    double from = 0;
    double to = 1;
};

/// One training in each arithmetic, with the seeds context.seed, context.seed + 1, ... All runs stand side by side on
/// the machine's cores where their backends are software; the numbers do not depend on how many there are. The first
/// error is passed on. The result's evidence gets what stands behind the matrix arithmetic. What the setting "without"
/// names is left out of all arithmetics (arithmetics.hpp).
Comparison compare(const RunContext& context, Result& result, const std::vector<Arithmetic>& arithmetics,
                   const Training& training, std::int64_t seeds, ProgressPart part = {});
/// The same of training runs that differ by more than their arithmetic.
Comparison compare(const RunContext& context, Result& result, std::vector<Training> arms, std::int64_t seeds,
                   ProgressPart part = {});
/// The same of runs that are more than one training each (two nets against each other): the arm's number and the seed.
/// Their arithmetics are the caller's, who leaves out what the setting names (under_control).
Comparison compare(const RunContext& context, Result& result, std::vector<Arithmetic> arithmetics,
                   const std::function<Learned(std::size_t arm, std::uint64_t seed)>& run, std::int64_t seeds,
                   ProgressPart part = {});

/// Claims of each arithmetic but the first, and of `only` alone if it is not 0, that it is as good as the first. The id
/// gets "_" and the arithmetic's number behind it where there are several.
void claim_parity(Result& result, const Comparison& comparison, std::size_t score, const Quantity& quantity,
                  const Margin& margin, const std::string& id, const std::string& source, const std::string& statement,
                  std::size_t only = 0);

}  // namespace ulp
