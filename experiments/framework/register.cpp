#include "experiments/framework/register.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "experiments/framework/claim.hpp"
#include "experiments/framework/experiment.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/record.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t registered_seed = 1;

Json run_json(const RegisteredRun& run) {
    Json json = {{"experiment", run.experiment},
                 {"trainings", trainings_json(run.trainings)},
                 {"inputs", run.inputs},
                 {"processor_seconds", run.processor_seconds}};
    if (run.products) json["products"] = products_json(*run.products);
    return json;
}

/// A row a line.
std::string lines_of(const std::vector<Json>& rows) {
    std::string text;
    for (std::size_t i = 0; i < rows.size(); ++i) text += rows[i].dump() + (i + 1 < rows.size() ? ",\n" : "\n");
    return text;
}

std::string file_name(RunSize size) { return fmt::format("experiments/registers/{}.json", name_of(size)); }

}  // namespace

Register read_register(RunSize size) {
    const std::filesystem::path file = shared_file(file_name(size));
    try {
        const Json json = Json::parse(read_file(file));
        Register all{run_size_by_name(json.at("mode").get<std::string>()),
                     json.at("seed"),
                     json.at("date"),
                     json.at("machine"),
                     json.at("version"),
                     {}};
        for (const Json& row : json.at("claims")) all.claims.push_back(claim_from(row));
        for (const Json& row : json.value("runs", Json::array())) {
            all.runs.push_back({row.at("experiment"), trainings_from(row.at("trainings")), row.at("inputs"),
                                row.at("processor_seconds")});
            if (row.contains("products")) all.runs.back().products = products_from(row.at("products"));
        }
        return all;
    } catch (const nlohmann::json::exception& error) {
        throw DataError(fmt::format("{} is damaged: {}", file.string(), error.what()));
    }
}

std::optional<Register> find_register(RunSize size) {
    if (!has_shared_file(file_name(size))) return {};
    return read_register(size);
}

Register register_of(const std::vector<StoredResult>& results) {
    const StoredResult& first = results.front();
    Register all{run_size_by_name(first.mode), first.seed, "", first.cpu, first.version, {}};
    for (const StoredResult& result : results) {
        if (!is_registered_case(result.seed, result.own_settings) || result.mode != first.mode) {
            throw DataError(
                fmt::format("the result of {} is no {} run with seed {} and the experiment's own settings; a "
                            "register is made of nothing else",
                            result.experiment, first.mode, registered_seed));
        }
        all.date = std::max(all.date, result.finished.substr(0, std::string_view("2000-01-01").size()));
        all.claims.insert(all.claims.end(), result.claims.begin(), result.claims.end());
        all.runs.push_back(
            {result.experiment, result.trainings, result.inputs, result.processor_seconds, result.products});
    }
    return all;
}

Register merged(const Register& all, const Register& later) {
    if (all.size != later.size) {
        throw DataError(
            fmt::format("these are {} runs, the register is of {} runs", name_of(later.size), name_of(all.size)));
    }
    Register both{later.size, later.seed, std::max(all.date, later.date), later.machine, later.version, {}};
    for (const Experiment& experiment : experiments()) {
        const auto is_own_claim = [&](const Claim& claim) { return claim.id.starts_with(experiment.name + "."); };
        const Register& from = std::ranges::any_of(later.claims, is_own_claim) ? later : all;
        std::ranges::copy_if(from.claims, std::back_inserter(both.claims), is_own_claim);
        std::ranges::copy_if(from.runs, std::back_inserter(both.runs),
                             [&](const RegisteredRun& run) { return run.experiment == experiment.name; });
    }
    return both;
}

std::string register_json(const Register& all) {
    const Json head = {{"mode", name_of(all.size)},
                       {"seed", all.seed},
                       {"date", all.date},
                       {"machine", all.machine},
                       {"version", all.version}};
    std::string text = head.dump();
    text.back() = ',';
    text += "\n\"claims\": [\n";
    std::vector<Json> claims;
    for (const Claim& claim : all.claims) claims.push_back(claim_json(claim));
    std::vector<Json> runs;
    for (const RegisteredRun& run : all.runs) runs.push_back(run_json(run));
    return text + lines_of(claims) + "],\n\"runs\": [\n" + lines_of(runs) + "]}\n";
}

bool is_registered_case(std::uint64_t seed, bool own_settings) { return own_settings && seed == registered_seed; }

std::vector<Deviation> deviations(std::string_view experiment, std::span<const Claim> claims, const Register& all) {
    const std::string prefix = fmt::format("{}.", experiment);
    std::vector<Deviation> list;
    if (std::ranges::none_of(all.claims, [&](const Claim& row) { return row.id.starts_with(prefix); })) return list;
    for (const Claim& claim : claims) {
        const auto row = std::ranges::find(all.claims, claim.id, &Claim::id);
        if (row == all.claims.end()) {
            list.push_back({claim.id, claim.verdict, {}});
        } else if (row->verdict != claim.verdict) {
            list.push_back({claim.id, claim.verdict, row->verdict});
        }
    }
    for (const Claim& row : all.claims) {
        if (!row.id.starts_with(prefix) || std::ranges::find(claims, row.id, &Claim::id) != claims.end()) continue;
        list.push_back({row.id, {}, row.verdict});
    }
    return list;
}

std::string text_of(const Deviation& deviation, RunSize size) {
    if (!deviation.registered) {
        return fmt::format("{}: the register of {} runs does not have this claim", deviation.id, name_of(size));
    }
    const std::string_view found = deviation.found ? verdict_name(*deviation.found) : "not claimed in this run";
    return fmt::format("{}: {}, where the register of {} runs says {}", deviation.id, found, name_of(size),
                       verdict_name(*deviation.registered));
}

}  // namespace ulp
