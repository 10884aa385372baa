// The register: the verdicts of all claims in runs with the experiments' own settings and seed 1, committed as
// experiments/registers/quick.json and full.json, of which the second need not have all experiments. A run with these
// settings whose verdict is another one has failed.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/framework/record.hpp"
#include "experiments/framework/settings.hpp"

namespace ulp {

/// A run behind a register's claims.
struct RegisteredRun {
    std::string experiment;
    std::vector<TrainingsMade> trainings;
    std::vector<std::string> inputs;  // names of files and generated data
    double processor_seconds;
    std::optional<std::vector<UnitProducts>> products{};  // none: the register was made before they were kept
};

struct Register {
    RunSize size;
    std::uint64_t seed;
    std::string date;     // of the last run, year-month-day
    std::string machine;  // its processor
    std::string version;  // of the program
    std::vector<Claim> claims;
    std::vector<RegisteredRun> runs{};  // not of all experiments: earlier registers had none
};

/// Throws DataError where there is none of that size, or it is damaged.
Register read_register(RunSize size);
/// None where there is none of that size.
std::optional<Register> find_register(RunSize size);

/// The register that these results make. Throws DataError where they are not of one size and seed, with the
/// experiments' own settings and backends.
Register register_of(const std::vector<StoredResult>& results);
/// The register with another one's rows instead of its own of the same experiments. Throws DataError where they
/// are not of one size.
Register merged(const Register& all, const Register& later);
/// A claim a line.
std::string register_json(const Register& all);

/// Whether the register judges a run: only those with the experiment's own settings and backend and its seed.
bool is_registered_case(std::uint64_t seed, bool own_settings);

/// A claim that the register has with another verdict, or a run without the claim.
struct Deviation {
    std::string id;
    std::optional<Verdict> found;       // none: the run does not make the claim
    std::optional<Verdict> registered;  // none: the register does not have the claim
};
/// All claims of one run of an experiment beside the register's; none where the register has no run of it.
std::vector<Deviation> deviations(std::string_view experiment, std::span<const Claim> claims, const Register& all);
/// "overflow.tie: refuted, where the register of quick runs says reproduced".
std::string text_of(const Deviation& deviation, RunSize size);

}  // namespace ulp
