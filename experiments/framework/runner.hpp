// Runs experiments: settings, record, figures, claims table. What `ulplab run` and the single programs share.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/framework/exit_codes.hpp"
#include "experiments/framework/experiment.hpp"
#include "experiments/framework/options.hpp"
#include "experiments/framework/register.hpp"

namespace ulp {

// One run of one experiment into its folder: record and figures, or nothing where the folder holds them already.

/// What decides a result: two requests that are equal give the same bits.
struct Request {
    const Experiment* experiment;
    std::uint64_t seed;
    RunSize size;
    std::string backend;
    Settings settings;
};

struct RunPolicy {
    bool force = false;   // run again what is complete
    bool figures = true;  // draw them
};

struct Finding {
    std::vector<Claim> claims;
    std::vector<UnitProducts> products;
    std::string record;    // result.json
    std::string note;      // about figures that were not drawn
    bool skipped = false;  // complete already
    bool undrawn = false;  // a figure could not be drawn
};

/// The context of the request, with a function that is told the progress from 0 to 1.
RunContext context_of(const Request& request, std::function<void(double)> progress);

/// Whether the folder holds a whole result of this very request.
bool is_complete(const std::filesystem::path& folder, const Request& request);

/// Runs into <parent>/<name>, which appears whole or not at all, and then draws its figures; `parent` must exist. Files
/// there that are not an earlier result's stay. Throws DataError.
Finding run_single(const Request& request, const std::filesystem::path& parent, const std::string& name,
                   const RunPolicy& policy, const std::function<void(double)>& progress);

/// The options that every experiment takes.
struct RunOptions {
    std::uint64_t seed = 1;
    std::filesystem::path out = "out";
    bool full = false;                     // --full
    bool smoke = false;                    // --smoke
    bool published = false;                // --published
    std::vector<std::string> assignments;  // --set key=value
    std::string backend;                   // --unit SPEC
    std::string mnist;                     // --mnist DIR: the setting "mnist" where an experiment has it
    std::string text;                      // --data FILE: the setting "text" likewise
    bool force = false;                    // --force: run again what is complete
    bool verbose = false;                  // --verbose: every claim and product
    bool json = false;                     // --json

    [[nodiscard]] RunSize size() const {
        return published ? RunSize::published : full ? RunSize::full : smoke ? RunSize::smoke : RunSize::quick;
    }
};

/// In the order given, each once; "all" stands for every experiment. Throws UsageError for a name that is none.
std::vector<const Experiment*> chosen_experiments(const std::vector<std::string>& names);

void declare_run_options(OptionParser& app, RunOptions& options);

/// Runs them in turn into <out>/<name>/, but for those that are complete there, and prints what they answer, or with
/// --json a list of their result records. Checks all options before the first one starts. Throws as the errors of
/// softfloat/errors.hpp say.
ExitCode run_experiments(const std::vector<const Experiment*>& chosen, const RunOptions& options);

// What a run's claims say on the terminal, and how they stand beside the register.

/// A run, as far as the register judges it.
struct JudgedRun {
    std::string_view experiment;
    RunSize size;
    std::uint64_t seed;
    bool own_settings;  // and its own backend, and nothing left out
    std::span<const Claim> claims;
};

/// The committed registers; each is read when the first run of its size is judged, and once.
class RegisterJudge {
  public:
    /// Says on stderr where claims of the run differ from the register, and gives whether none does. A run with other
    /// settings or another seed than the register's is not judged, and a size of run without a register has nothing to
    /// differ from. Says, too, which claims of a full run have an expectation that no register had before it. Throws
    /// DataError where a register is damaged.
    bool agrees(const JudgedRun& run);

  private:
    std::map<std::pair<RunSize, std::uint64_t>, std::optional<Register>> registers_;
};

/// The claim whose sentence answers the experiment's question: that of its effect, else the first with an interval,
/// else the last that was measured.
std::optional<Claim> answering_claim(const Experiment& experiment, std::span<const Claim> claims);

/// "34 claims: 30 reproduced, 4 refuted".
std::string verdict_counts(std::span<const Claim> claims, RunSize size);

/// A line for each claim that is neither reproduced nor quoted: at most ten, and how many more there are.
void print_unreproduced(std::span<const Claim> claims);

/// Of each claim its verdict, in colour on a terminal, its sentence, its id and what was measured; of those that are
/// not as the source says also what was expected. Failed ones come last.
void print_claim_sentences(std::span<const Claim> claims, RunSize size);

// The program of one experiment: `overflow --out DIR` is `ulplab run overflow --out DIR`.

/// `arguments` are those behind the program's name. Gives the exit code.
int experiment_main(const Experiment& experiment, const std::vector<std::string>& arguments);

}  // namespace ulp
