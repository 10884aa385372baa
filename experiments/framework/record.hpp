// The record of a run: result.json, data.csv (the same bits on every machine) and manifest.json (this machine's).
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/framework/experiment.hpp"
#include "experiments/framework/result.hpp"

namespace ulp {

/// Claims, figures' texts, evidence, settings. Pretty-printed.
std::string result_json(const Experiment& experiment, const RunContext& context, const Result& result);

/// By their names.
nlohmann::ordered_json settings_json(const Settings::Values& values);

/// One row a point: figure, series, x and y as decimal and bits. x_bits are fp64's, y_bits those of y_format.
std::string data_csv(const Result& result);

/// SHA-256 over both: two runs agree if their digests do.
std::string result_digest(std::string_view result_json, std::string_view data_csv);

/// Names the experiment, mode, seed, backend and settings.
std::string case_digest(const Experiment& experiment, const RunContext& context);

/// Names these, the sources that decide the experiment's result, and the content of the files that it reads: two runs
/// with the same request have the same result.
std::string request_digest(const Experiment& experiment, const RunContext& context);

/// Whether result.json, data.csv and, where it is there, figures.json in the folder are those that its manifest names
/// by their SHA-256.
bool has_its_digests(const std::filesystem::path& folder);

/// Drawings have their digests in the manifest, too: one that is cut short or of another origin counts as not drawn.
bool is_recorded_drawing(const std::filesystem::path& folder, const std::string& name);
void record_drawings(const std::filesystem::path& folder, const std::vector<std::string>& names);

/// Whether the folder holds a whole result of this request.
bool is_complete(const std::filesystem::path& folder, const std::string& request);

/// What a run took.
struct RunTime {
    double seconds;            // by the clock
    double processor_seconds;  // of all threads: other programs beside it change it less
    int resumed_parts = 0;     // which an interrupted run had computed: their time is not counted
};

/// Writes the three files, after figures.json; `request` is the request's digest.
void write_record(const Experiment& experiment, const RunContext& context, const Result& result,
                  const std::string& request, const RunTime& time, const std::filesystem::path& folder);

/// Parameters, steps and runs of each.
nlohmann::ordered_json trainings_json(const std::vector<TrainingsMade>& trainings);
std::vector<TrainingsMade> trainings_from(const nlohmann::ordered_json& list);
/// Unit, number and digest of each.
nlohmann::ordered_json products_json(const std::vector<UnitProducts>& products);
std::vector<UnitProducts> products_from(const nlohmann::ordered_json& list);

// Reads results back from the output folder: for the report, and for `ulplab claims`.

struct StoredFigure {
    std::string name, title, caption, meaning, evidence;
    std::string svg;         // content of the drawing for pages; empty where it was not drawn
    std::string headline{};  // for the report's opening page; empty: not shown there
};

struct StoredResult {
    std::filesystem::path folder;
    std::string experiment, title, question, chapter, version, mode, backend;
    std::uint64_t seed = 0;
    std::vector<std::pair<std::string, std::string>> settings;
    std::vector<Claim> claims;
    std::vector<StoredFigure> figures;
    std::vector<std::string> evidence;
    std::vector<UnitProducts> products{};
    std::vector<TrainingsMade> trainings{};
    std::vector<std::string> inputs{};            // their names
    std::string compiler, cpu, finished, digest;  // from the manifest
    double seconds = 0;
    double processor_seconds = 0;
    bool own_settings = false;  // with the experiment's own settings and backend, and no files of the user
    std::string without{};      // what its training runs left out, beside the settings; empty: nothing
    std::string request{};      // names what decides the result: case, sources, files
    std::vector<std::pair<std::string, std::string>> changed_settings{};  // that are not the experiment's own
};

/// The one in <out>/<name>. Throws DataError where the record is malformed.
StoredResult read_result(const std::filesystem::path& out, const std::string& name);

/// Those in the folder, in the order of the experiments' table. Throws DataError: no folder, no result in it, a record
/// that is malformed.
std::vector<StoredResult> read_results(const std::filesystem::path& out);

}  // namespace ulp
