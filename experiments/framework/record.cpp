#include "experiments/framework/record.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "engine/files/sha256.hpp"
#include "experiments/framework/claim.hpp"
#include "experiments/framework/exit_codes.hpp"
#include "experiments/framework/experiment.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/machine.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/names.hpp"

namespace ulp {
namespace {

using Json = nlohmann::ordered_json;

Json claims_json(const Result& result) {
    Json list = Json::array();
    for (const Claim& claim : result.claims()) list.push_back(claim_json(claim));
    return list;
}

Json figures_json(const Result& result) {
    Json list = Json::array();
    for (const Figure& figure : result.figures()) {
        Json names = Json::array();
        for (const Series& series : figure.series) names.push_back(series.name);
        list.push_back({{"name", figure.name},
                        {"title", figure.title},
                        {"caption", figure.caption},
                        {"meaning", figure.meaning},
                        {"evidence", figure.evidence},
                        {"series", names}});
        if (!figure.headline.empty()) list.back()["headline"] = figure.headline;
    }
    return list;
}

Json inputs_json(const Result& result) {
    Json object = Json::object();
    for (const Input& input : result.inputs()) object[input.name] = input.sha256;
    return object;
}

std::string point_row(const std::string& prefix, const Series& series, const Point& point) {
    Context exact;
    const std::uint64_t bits = convert_bits(series.format, formats::fp64, std::bit_cast<std::uint64_t>(point.y), exact);
    return fmt::format("{}{},{},{},{},{}\n", prefix, decimal_text(point.x),
                       bits_text(formats::fp64, std::bit_cast<std::uint64_t>(point.x)), decimal_text(point.y),
                       name_of(series.format), bits_text(series.format, bits));
}

}  // namespace

Json settings_json(const Settings::Values& values) {
    Json object = Json::object();
    for (const auto& [key, value] : values) {
        std::visit([&, name = key](const auto& v) { object[name] = v; }, value);
    }
    return object;
}

std::string result_json(const Experiment& experiment, const RunContext& context, const Result& result) {
    const Json record = {{"experiment", experiment.name},
                         {"title", experiment.title},
                         {"question", experiment.question},
                         {"chapter", chapter_name(experiment.place.chapter)},
                         {"version", program_version()},
                         {"mode", name_of(context.size)},
                         {"seed", context.seed},
                         {"backend", context.backend},
                         {"settings", settings_json(context.settings.values_without_paths())},
                         {"inputs", inputs_json(result)},
                         {"claims", claims_json(result)},
                         {"figures", figures_json(result)},
                         {"evidence", result.evidence()},
                         {"products", products_json(result.products())},
                         {"trainings", trainings_json(result.trainings())}};
    return record.dump(2) + "\n";
}

std::string data_csv(const Result& result) {
    std::string text = "figure,series,x,x_bits,y,y_format,y_bits\n";
    for (const Figure& figure : result.figures()) {
        for (const Series& series : figure.series) {
            const std::string prefix = fmt::format("{},{},", figure.name, series.name);
            for (const Point& point : series.points) text += point_row(prefix, series, point);
        }
    }
    return text;
}

std::string result_digest(std::string_view result_json, std::string_view data_csv) {
    return sha256_of(sha256_of(result_json) + sha256_of(data_csv));
}

std::string case_digest(const Experiment& experiment, const RunContext& context) {
    const Json request = {{"experiment", experiment.name},
                          {"mode", name_of(context.size)},
                          {"seed", context.seed},
                          {"backend", context.backend},
                          {"settings", settings_json(context.settings.values())}};
    return sha256_of(request.dump());
}

namespace {

/// SHA-256 of what lies at a path: a file, or the files of a folder with their names; empty where there is nothing.
std::string content_digest(const std::filesystem::path& path) {
    if (std::filesystem::is_regular_file(path)) return sha256_of(read_file(path));
    if (!std::filesystem::is_directory(path)) return {};
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
        if (entry.is_regular_file()) files[entry.path().filename().string()] = sha256_of(read_file(entry.path()));
    }
    std::string all;
    for (const auto& [name, digest] : files) all += name + digest;
    return sha256_of(all);
}

}  // namespace

std::string request_digest(const Experiment& experiment, const RunContext& context) {
    std::string inputs;
    for (const std::string& path : context.settings.paths()) inputs += content_digest(path);
    return sha256_of(sources_digest(experiment.name) + program_version() + case_digest(experiment, context) + inputs);
}

namespace {

Json manifest_of(const std::filesystem::path& folder) {
    const std::filesystem::path file = folder / "manifest.json";
    return std::filesystem::is_regular_file(file) ? Json::parse(read_file(file), nullptr, false) : Json();
}

/// Whether a list of the manifest, "results" or "drawings", has the digest of the folder's file of that name.
bool is_recorded(const Json& manifest, const char* list, const std::filesystem::path& folder, const std::string& name) {
    const Json::json_pointer place = Json::json_pointer(std::string("/") + list) / name;
    const auto stored = folder / name;
    return manifest.contains(place) && std::filesystem::is_regular_file(stored) &&
           manifest.at(place) == sha256_of(read_file(stored));
}

}  // namespace

bool has_its_digests(const std::filesystem::path& folder) {
    const Json manifest = manifest_of(folder);
    return is_recorded(manifest, "results", folder, "result.json") &&
           is_recorded(manifest, "results", folder, "data.csv") &&
           (!std::filesystem::exists(folder / "figures.json") ||
            is_recorded(manifest, "results", folder, "figures.json"));
}

bool is_recorded_drawing(const std::filesystem::path& folder, const std::string& name) {
    return is_recorded(manifest_of(folder), "drawings", folder, name);
}

void record_drawings(const std::filesystem::path& folder, const std::vector<std::string>& names) {
    Json manifest = manifest_of(folder);
    if (!manifest.is_object()) return;
    for (const std::string& name : names) manifest["drawings"][name] = sha256_of(read_file(folder / name));
    replace_whole_file(folder / "manifest.json", manifest.dump(2) + "\n");
}

bool is_complete(const std::filesystem::path& folder, const std::string& request) {
    if (!has_its_digests(folder)) return false;
    const Json manifest = manifest_of(folder);
    return manifest.contains("request") && manifest.at("request") == request;
}

Json products_json(const std::vector<UnitProducts>& products) {
    Json list = Json::array();
    for (const UnitProducts& row : products) {
        list.push_back({{"unit", row.unit}, {"products", row.products}, {"digest", row.digest}});
    }
    return list;
}

std::vector<UnitProducts> products_from(const Json& list) {
    std::vector<UnitProducts> products;
    for (const Json& row : list) products.push_back({row.at("unit"), row.at("products"), row.at("digest")});
    return products;
}

Json trainings_json(const std::vector<TrainingsMade>& trainings) {
    Json list = Json::array();
    for (const TrainingsMade& row : trainings) {
        list.push_back({{"parameters", row.parameters}, {"steps", row.steps}, {"runs", row.runs}});
    }
    return list;
}

std::vector<TrainingsMade> trainings_from(const Json& list) {
    std::vector<TrainingsMade> trainings;
    for (const Json& row : list) trainings.push_back({row.at("parameters"), row.at("steps"), row.at("runs")});
    return trainings;
}

void write_record(const Experiment& experiment, const RunContext& context, const Result& result,
                  const std::string& request, const RunTime& time, const std::filesystem::path& folder) {
    const std::string result_text = result_json(experiment, context, result);
    const std::string data_text = data_csv(result);
    Json files = {{"result.json", sha256_of(result_text)}, {"data.csv", sha256_of(data_text)}};
    if (std::filesystem::exists(folder / "figures.json")) {
        files["figures.json"] = sha256_of(read_file(folder / "figures.json"));
    }
    const Json manifest = {{"experiment", experiment.name},
                           {"version", program_version()},
                           {"mode", name_of(context.size)},
                           {"seed", context.seed},
                           {"backend", context.backend},
                           {"settings", settings_json(context.settings.values())},
                           {"request", request},
                           {"compiler", compiler_name()},
                           {"flags", compiler_flags()},
                           {"cpu", cpu_name()},
                           {"cpu_features", cpu_features()},
                           {"threads", hardware_threads()},
                           {"finished", utc_now()},
                           {"seconds", time.seconds},
                           {"processor_seconds", time.processor_seconds},
                           {"resumed_parts", time.resumed_parts},
                           {"inputs", inputs_json(result)},
                           {"results", files},
                           {"digest", result_digest(result_text, data_text)}};
    write_file(folder / "result.json", result_text);
    write_file(folder / "data.csv", data_text);
    write_file(folder / "manifest.json", manifest.dump(2) + "\n");
}

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
        const std::string svg = plain_name(row.at("name")) + ".page.svg";
        figures.push_back({row.at("name"), row.at("title"), row.at("caption"), row.at("meaning"), row.at("evidence"),
                           is_recorded_drawing(folder, svg) ? read_file(folder / svg) : "", row.value("headline", "")});
    }
    return figures;
}

/// What the experiment's settings are where nobody changed them.
Json own_settings(const StoredResult& result) {
    const Experiment& experiment = experiment_by_name(result.experiment);
    return settings_json(Settings(experiment.settings, run_size_by_name(result.mode)).values());
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

/// The texts of a record reach terminals.
void require_printable(const fs::path& folder, const Json& value) {
    const auto check = [&](const std::string& text) {
        if (shown(text, text.size()) == text) return;
        throw DataError(
            fmt::format("the record in {} holds control characters, which no run writes; run it again with --force",
                        folder.string()));
    };
    if (value.is_string()) check(value.get<std::string>());
    if (!value.is_structured()) return;
    for (const auto& [key, each] : value.items()) {
        check(key);
        require_printable(folder, each);
    }
}

StoredResult parse_result(const fs::path& folder) {
    const Json record = Json::parse(MappedFile(folder / "result.json").bytes());
    const Json manifest = Json::parse(MappedFile(folder / "manifest.json").bytes());
    require_printable(folder, record);
    require_printable(folder, manifest);
    StoredResult result;
    result.folder = folder;
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
    Json settings = manifest.at("settings");
    result.without = settings.value("without", "");
    result.request = manifest.at("request");
    settings.erase("without");
    result.own_settings = result.backend.empty() && settings == own;
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
        throw DataError(fmt::format(
            "the files in {} are not those that its manifest names by their SHA-256; run `ulplab run {}` again",
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
