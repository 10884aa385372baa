// Reads results back from the output folder: for the report, and for `ulplab claims`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "experiments/framework/result.hpp"

namespace ulp {

struct StoredFigure {
    std::string name, title, caption, meaning, evidence;
    std::string svg;         // the file's content; empty where it was not drawn
    std::string headline{};  // for the report's opening page; empty: not shown there
};

struct StoredResult {
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
    std::vector<std::pair<std::string, std::string>> changed_settings{};  // that are not the experiment's own
};

/// The one in <out>/<name>. Throws DataError where the record is malformed.
StoredResult read_result(const std::filesystem::path& out, const std::string& name);

/// Those in the folder, in the order of the experiments' table. Throws DataError: no folder, no result in it, a record
/// that is malformed.
std::vector<StoredResult> read_results(const std::filesystem::path& out);

}  // namespace ulp
