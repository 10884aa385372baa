#include "experiments/framework/sweep.hpp"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/products/matmul.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/record.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_cases = 1'000'000;

[[noreturn]] void refuse(const std::string& place, const std::string& what) {
    throw DataError(fmt::format("{}: {}", place, what));
}

Json parse(std::string_view description, const std::string& place) {
    constexpr int deepest = 8;  // a list in an object in an object is 3
    const auto not_deep = [&](int depth, Json::parse_event_t, Json&) {
        if (depth > deepest) refuse(place, fmt::format("this is nested more than {} deep", deepest));
        return true;
    };
    Json grid = Json::parse(description, not_deep, false);
    if (grid.is_discarded() || !grid.is_object()) refuse(place, "this is not a JSON object; see `ulplab run --help`");
    static const std::set<std::string> known = {"experiment", "mode", "seeds", "backends", "settings"};
    for (const auto& [key, value] : grid.items()) {
        if (!known.contains(key)) {
            refuse(place, fmt::format("there is no key \"{}\"; choose from {}", key, fmt::join(known, ", ")));
        }
    }
    if (!grid.contains("experiment") || !grid["experiment"].is_string()) {
        refuse(place, "the key \"experiment\" must name one experiment");
    }
    return grid;
}

/// The values under a key as a list: one value stands for a list of one.
std::vector<Json> values_of(const Json& grid, const std::string& key, Json otherwise, const std::string& place) {
    const Json value = grid.contains(key) ? grid[key] : std::move(otherwise);
    std::vector<Json> values = value.is_array() ? value.get<std::vector<Json>>() : std::vector<Json>{value};
    if (values.empty()) refuse(place, fmt::format("the list \"{}\" is empty", key));
    std::set<Json> seen;
    for (const Json& one : values) {
        if (one.is_structured() || one.is_null()) {
            refuse(place, fmt::format("\"{}\" must hold numbers or texts, not {}", key, one.dump()));
        }
        if (!seen.insert(one).second) refuse(place, fmt::format("\"{}\" holds {} twice", key, one.dump()));
    }
    return values;
}

std::uint64_t seed_of(const Json& value, const std::string& place) {
    if (!value.is_number_unsigned()) refuse(place, fmt::format("a seed is an integer from 0 on, not {}", value.dump()));
    return value.get<std::uint64_t>();
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

/// All combinations of the settings' values, the last setting fastest.
std::vector<Settings> combinations(const Experiment& experiment, RunSize size, const Json& lists,
                                   const std::string& place) {
    std::vector<Settings> result = {Settings(experiment.settings, size)};
    for (const auto& [name, unused] : lists.items()) {
        const std::vector<Json> values = values_of(lists, name, {}, place);
        if (result.size() * values.size() > most_cases) refuse(place, "the grid has more than a million cases");
        std::vector<Settings> longer;
        for (const Settings& settings : result) {
            for (const Json& value : values) {
                longer.push_back(settings);
                longer.back().set(fmt::format("{}={}", name, text_of(value)));
            }
        }
        result = std::move(longer);
    }
    return result;
}

SweepCase make_case(Request request) {
    std::string folder = case_digest(*request.experiment, context_of(request, {})).substr(0, 16);
    return {std::move(request), std::move(folder)};
}

std::string quoted_field(const std::string& text) {
    if (text.find_first_of(",\"\n") == std::string::npos) return text;
    std::string field = "\"";
    for (const char c : text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
    return field + "\"";
}

std::string header(const SweepCase& first) {
    std::string line = "experiment,mode,backend,seed,";
    for (const auto& [name, value] : first.request.settings.values_without_paths()) line += quoted_field(name) + ",";
    return line;
}

std::string first_columns(const SweepCase& sweep_case) {
    const Request& request = sweep_case.request;
    std::string line = fmt::format("{},{},{},{},", request.experiment->name, name_of(request.size),
                                   quoted_field(request.backend), request.seed);
    for (const auto& [name, value] : request.settings.values_without_paths()) {
        line += quoted_field(to_text(value)) + ",";
    }
    return line;
}

/// The lines of a text, without the first.
std::vector<std::string_view> lines_after_header(std::string_view text) {
    std::vector<std::string_view> lines;
    text.remove_prefix(std::min(text.size(), text.find('\n') + 1));
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size() - 1);
        lines.push_back(text.substr(0, end + 1));
        text.remove_prefix(end + 1);
    }
    return lines;
}

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n') + 1); }

}  // namespace

std::vector<SweepCase> sweep_cases(std::string_view description, const std::string& place) {
    const Json grid = parse(description, place);
    const Experiment& experiment = experiment_by_name(grid["experiment"].get<std::string>());
    const Json mode = grid.value("mode", Json("quick"));
    const auto named = std::ranges::find_if(run_sizes, [&](RunSize size) { return mode == name_of(size); });
    if (named == run_sizes.end()) {
        refuse(place, "\"mode\" is \"smoke\", \"quick\", \"full\" or \"published\", not " + mode.dump());
    }
    const Json lists = grid.value("settings", Json::object());
    if (!lists.is_object()) refuse(place, "\"settings\" must be an object: a name, and a value or a list of values");
    const std::vector<Json> backends = values_of(grid, "backends", "", place);
    for (const Json& backend : backends) {
        if (text_of(backend).empty()) continue;
        make_backend(text_of(backend));  // throws for one that does not exist
        if (!experiment.without_backend.empty()) {
            refuse(place, fmt::format("{} takes no backend: {}", experiment.name, experiment.without_backend));
        }
    }
    const std::vector<Json> seeds = values_of(grid, "seeds", 1U, place);
    std::vector<SweepCase> cases;
    for (const Json& backend : backends) {
        for (const Settings& settings : combinations(experiment, *named, lists, place)) {
            for (const Json& seed : seeds) {
                cases.push_back(make_case({&experiment, seed_of(seed, place), *named, text_of(backend), settings}));
                if (cases.size() > most_cases) refuse(place, "the grid has more than a million cases");
            }
        }
    }
    return cases;
}

Shard parse_shard(std::string_view text) {
    Shard shard;
    const char* end = text.data() + text.size();
    const auto [slash, error] = std::from_chars(text.data(), end, shard.index);
    bool good = error == std::errc() && slash != end && *slash == '/';
    if (good) {
        const auto [rest, second_error] = std::from_chars(slash + 1, end, shard.count);
        good = second_error == std::errc() && rest == end && shard.index >= 1 && shard.index <= shard.count;
    }
    if (!good) {
        throw UsageError(fmt::format("--shard takes i/n with i from 1 to n, such as 2/8, not \"{}\"", text));
    }
    return shard;
}

std::vector<SweepCase> cases_of(const std::vector<SweepCase>& cases, const Shard& shard) {
    std::vector<SweepCase> part;
    for (std::size_t i = shard.index - 1; i < cases.size(); i += shard.count) part.push_back(cases[i]);
    return part;
}

std::string sweep_points_csv(const std::vector<SweepCase>& cases, const std::filesystem::path& folder) {
    std::string table;
    for (const SweepCase& sweep_case : cases) {
        const std::string data = read_file(folder / sweep_case.folder / "data.csv");
        if (table.empty()) table = header(cases.front()) + std::string(first_line(data));
        const std::string columns = first_columns(sweep_case);
        for (const std::string_view line : lines_after_header(data)) table.append(columns).append(line);
    }
    return table;
}

std::string sweep_claims_csv(const std::vector<SweepCase>& cases, const std::filesystem::path& folder) {
    std::string table = header(cases.front()) + "id,verdict,expected,measured\n";
    for (const SweepCase& sweep_case : cases) {
        const std::string columns = first_columns(sweep_case);
        for (const Claim& claim : read_result(folder, sweep_case.folder).claims) {
            table += fmt::format("{}{},{},{},{}\n", columns, claim.id, verdict_name(claim.verdict),
                                 quoted_field(claim.expected), quoted_field(claim.measured));
        }
    }
    return table;
}

}  // namespace ulp
