// An experiment: one question, one file, experiments/<name>.cpp, which defines it as `experiment()` in a namespace of
// its own, ulp::overflow_experiment (sources are compiled together). That gives `ulplab run overflow`, the program
// `overflow`, its --help, its records, and its place in the report.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiments/framework/result.hpp"
#include "experiments/framework/settings.hpp"

namespace ulp {

/// The chapters of the report, in the order of the argument.
enum class Chapter { formats, overflow, swamping, underflow, remedies, systems, language, hardware };
std::string_view chapter_name(Chapter chapter);
/// What to see in the chapter, in a few sentences.
std::string_view chapter_text(Chapter chapter);
/// Throws DataError for a name that is none.
Chapter chapter_by_name(std::string_view name);
/// In the report: experiments of a chapter stand in the order of their numbers, those of one number by name.
struct Place {
    Chapter chapter;
    int number;
};

/// What a run is given.
struct RunContext {
    std::uint64_t seed;
    RunSize size;
    std::string backend;  // as on the command line; empty: the experiment's own choice
    Settings settings;
    std::function<void(double)> progress;  // from 0 to 1
    /// Told each training that was made: a net of that many parameters, that many steps; may be empty.
    std::function<void(std::int64_t parameters, std::int64_t steps)> trained{};
    /// Called where the setting "without" has left something out; may be empty.
    std::function<void()> left_out{};
};

/// A run with the effect switched off: the claims about it must fail, and no others. The rest are the names of claims
/// and settings as `--set` takes them.
struct Control {
    std::vector<std::string> small;  // settings of both runs, with the effect and without, beside the size's own
    std::vector<std::string> off;    // settings that switch it off
    std::vector<std::string> fail;   // the claims whose verdict then lies further from what they say
    RunSize size = RunSize::smoke;   // quick where a mild control needs the power of several seeds
};

/// The failure of low precision that an experiment shows.
struct Effect {
    std::string claim;       // its name: what it measured is the failure's size
    std::string inserted{};  // what was put in so that it fails, as a noun phrase; empty: it fails by itself
    std::vector<std::string> natural{};  // the experiments in which the same failure occurs by itself
};

struct Experiment {
    std::string name;      // [a-z0-9_]+
    std::string title;     // for people
    std::string question;  // one sentence with a question mark
    Place place;
    std::vector<Setting> settings;
    /// Computes everything; the same result, bit for bit, for the same context on every machine.
    void (*run)(const RunContext& context, Result& result);
    std::vector<Control> controls{};
    std::optional<Effect> effect{};
    std::string
        without_backend{};  // why no product of it goes through a backend, so that it takes none; empty: some do
};

/// Why no product of such an experiment goes through a backend.
inline const std::string no_product = "it multiplies no matrices";
inline const std::string fp32_alone = "it trains in fp32 alone, of which matrix units have no products";

/// The controls that name a claim by its whole id, as the settings that switch its effect off: "control=wide".
std::vector<std::string> controls_of(std::string_view claim_id);

/// By their places.
std::vector<Experiment> in_order_of_argument(std::vector<Experiment> experiments);

/// All experiments in the order of the report.
std::span<const Experiment> experiments();

/// Of an experiment in which something is inserted those that fail in the same way by themselves, and the reverse.
std::vector<const Experiment*> counterparts_of(const Experiment& experiment);
/// "Constructed: a loss times 2^-12." or "Natural: nothing is inserted."
std::string origin_text(const Effect& effect);

/// Throws UsageError that lists the names there are.
const Experiment& experiment_by_name(std::string_view name);

}  // namespace ulp
