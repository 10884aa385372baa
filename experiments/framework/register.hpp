// Registers: the verdicts of all claims in runs with the experiments' own settings, committed as
// experiments/registers/quick.json and full.json (seed 1), quick-seed-3.json (another seed), quick-without-scale.json
// (training runs that left the loss scale out). They need not have all experiments. A run with these settings and seed
// whose verdict is another one has failed.
//
// quick.json holds every text; the others hold of a claim its verdict, its numbers, the digest of its expectation, and
// of its texts those that differ.
#pragma once

#include <map>
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
    std::string date{};                                   // year-month-day; empty: not kept
};

/// What a claim said and found until a later run took its place, because its verdict or its expectation changed.
struct EarlierForm {
    Claim claim;       // id, statement, expected, measured, verdict
    std::string date;  // of the register that held it
    RunSize size;
};

struct Register {
    RunSize size;
    std::uint64_t seed;
    std::string date;     // of the last run, year-month-day
    std::string machine;  // its processor
    std::string version;  // of the program
    std::vector<Claim> claims;
    std::vector<RegisteredRun> runs{};              // not of all experiments: earlier registers had none
    std::string without{};                          // what the training runs left out; empty: nothing
    std::vector<std::string> late{};                // claims whose expectation was in no register before their full run
    std::vector<EarlierForm> history{};             // the oldest first
    std::map<std::string, std::string> outdated{};  // claims restated since their run: the digest of what held then
};

/// Throws DataError where there is none, or it is damaged, of another layout, or not of what its name says.
Register read_register(RunSize size, std::uint64_t seed = 1, const std::string& without = "");
/// None where there is none.
std::optional<Register> find_register(RunSize size, std::uint64_t seed = 1, const std::string& without = "");
/// All, that of quick runs with seed 1 first. Throws DataError as read_register, and for a file of another name.
std::vector<Register> committed_registers();

/// "quick runs", "quick runs with seed 3", "quick runs without scale".
std::string name_of(const Register& all);

/// The register that these results make. Throws DataError where they are not of one size, one seed and one thing left
/// out, with the experiments' own settings and backends; published runs may have been given data of the user's.
Register register_of(const std::vector<StoredResult>& results);
/// The register with another one's rows instead of its own of the same experiments. What the replaced rows said goes
/// into its history, and claims of full runs whose expectation none of the `committed` registers has are noted as late.
/// Throws DataError where the two are not of the same runs.
Register merged(const Register& all, const Register& later, std::span<const Register> committed = {});
/// A claim a line. `texts`: the register of quick runs with seed 1, which has the texts; none: this one has them.
std::string register_json(const Register& all, const Register* texts = nullptr);

/// A claim that the register has with another verdict, or a run without the claim.
struct Deviation {
    std::string id;
    std::optional<Verdict> found;       // none: the run does not make the claim
    std::optional<Verdict> registered;  // none: the register does not have the claim
};
/// All claims of one run of an experiment beside the register's, but for outdated ones; none where the register has no
/// run of it.
std::vector<Deviation> deviations(std::string_view experiment, std::span<const Claim> claims, const Register& all);
/// "overflow.tie: refuted, where the register of quick runs says reproduced".
std::string text_of(const Deviation& deviation, const Register& all);
/// The claims whose expectation none of the registers has.
std::vector<std::string> uncommitted(std::span<const Claim> claims, std::span<const Register> committed);

}  // namespace ulp
