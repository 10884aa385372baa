#include "experiments/framework/stored_results.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "experiments/framework/claim_json.hpp"
#include "experiments/framework/experiment.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/record.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

std::vector<Claim> claims_from(const Json& list) {
    std::vector<Claim> claims;
    for (const Json& row : list) claims.push_back(claim_from(row));
    return claims;
}

std::vector<StoredFigure> figures_from(const Json& list, const fs::path& folder) {
    std::vector<StoredFigure> figures;
    for (const Json& row : list) {
        const fs::path svg = folder / (plain_name(row.at("name")) + ".svg");
        figures.push_back({row.at("name"), row.at("title"), row.at("caption"), row.at("meaning"), row.at("evidence"),
                           fs::exists(svg) ? read_file(svg) : "", row.value("headline", "")});
    }
    return figures;
}

/// What the experiment's settings are where nobody changed them.
Json own_settings(const StoredResult& result) {
    const Experiment& experiment = experiment_by_name(result.experiment);
    return settings_json(Settings(experiment.settings, run_size_by_name(result.mode)).values());
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

StoredResult parse_result(const fs::path& folder) {
    const Json record = Json::parse(read_file(folder / "result.json"));
    const Json manifest = Json::parse(read_file(folder / "manifest.json"));
    StoredResult result;
    result.experiment = plain_name(record.at("experiment"));
    result.title = record.at("title");
    result.question = record.at("question");
    result.chapter = record.at("chapter");
    result.version = record.at("version");
    result.mode = record.at("mode");
    result.backend = record.at("backend");
    result.seed = record.at("seed");
    for (const auto& [key, value] : record.at("settings").items()) {
        result.settings.emplace_back(key, text_of(value));
    }
    result.claims = claims_from(record.at("claims"));
    result.figures = figures_from(record.at("figures"), folder);
    result.evidence = record.at("evidence").get<std::vector<std::string>>();
    result.products = products_from(record.value("products", Json::array()));
    result.trainings = trainings_from(record.value("trainings", Json::array()));
    for (const auto& [name, digest] : record.at("inputs").items()) result.inputs.push_back(name);
    result.compiler = manifest.at("compiler");
    result.cpu = manifest.at("cpu");
    result.finished = manifest.at("finished");
    result.digest = manifest.at("digest");
    result.seconds = manifest.at("seconds");
    result.processor_seconds = manifest.value("processor_seconds", 0.0);
    const Json own = own_settings(result);
    result.own_settings = result.backend.empty() && manifest.at("settings") == own;
    for (const auto& [key, value] : manifest.at("settings").items()) {
        if (own.value(key, Json()) != value) result.changed_settings.emplace_back(key, text_of(value));
    }
    return result;
}

}  // namespace

StoredResult read_result(const fs::path& out, const std::string& name) {
    const fs::path folder = out / name;
    try {
        StoredResult result = parse_result(folder);
        if (has_its_digests(folder)) return result;
        throw DataError(
            fmt::format("the files in {} are not those that its manifest names by their SHA-256; run `ulplab "
                        "run {}` again",
                        folder.string(), name));
    } catch (const nlohmann::json::exception& error) {
        throw DataError(fmt::format("the record in {} is damaged ({}); run `ulplab run {}` again", folder.string(),
                                    error.what(), name));
    }
}

std::vector<StoredResult> read_results(const fs::path& out) {
    std::vector<StoredResult> results;
    for (const Experiment& experiment : experiments()) {
        if (fs::exists(out / experiment.name / "result.json")) results.push_back(read_result(out, experiment.name));
    }
    if (results.empty()) {
        throw DataError(fmt::format(
            "there is no result in {}; run `ulplab run all` first, or name the folder with --out", out.string()));
    }
    return results;
}

}  // namespace ulp
