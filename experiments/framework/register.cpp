#include "experiments/framework/register.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "experiments/framework/claim.hpp"
#include "experiments/framework/experiment.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/record.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

using Json = nlohmann::ordered_json;

constexpr int layout = 2;

Json run_json(const RegisteredRun& run) {
    Json json = {{"experiment", run.experiment},
                 {"trainings", trainings_json(run.trainings)},
                 {"inputs", run.inputs},
                 {"processor_seconds", run.processor_seconds}};
    if (run.products) json["products"] = products_json(*run.products);
    if (!run.date.empty()) json["date"] = run.date;
    return json;
}

Json history_json(const EarlierForm& form) {
    return {{"id", form.claim.id},
            {"date", form.date},
            {"verdict", verdict_name(form.claim.verdict)},
            {"statement", form.claim.statement},
            {"expected", form.claim.expected},
            {"measured", form.claim.measured}};
}

/// A row a line.
std::string lines_of(const std::vector<Json>& rows) {
    std::string text;
    for (std::size_t i = 0; i < rows.size(); ++i) text += rows[i].dump() + (i + 1 < rows.size() ? ",\n" : "\n");
    return text;
}

constexpr std::string_view folder = "experiments/registers/";

std::string file_name(RunSize size, std::uint64_t seed, const std::string& without) {
    const std::string of_seed = seed == 1 ? "" : fmt::format("-seed-{}", seed);
    const std::string left_out = without.empty() ? "" : "-without-" + without;
    return fmt::format("{}{}{}.json", name_of(size), of_seed, left_out);
}

/// The claims of quick.json by their ids: where the other registers have no text of their own they have theirs.
const std::map<std::string, Json>& texts_of_claims() {
    static const std::map<std::string, Json> texts = [] {
        std::map<std::string, Json> rows;
        const std::string name = std::string(folder) + file_name(RunSize::quick, 1, "");
        if (!has_shared_file(name)) return rows;
        const Json json = Json::parse(read_file(shared_file(name)));
        for (const Json& row : json.at("claims")) rows[row.at("id")] = row;
        return rows;
    }();
    return texts;
}

void read_claims(const Json& json, bool has_texts, Register& all) {
    for (const Json& own : json) {
        const auto text = texts_of_claims().find(own.at("id").get<std::string>());
        Json row = has_texts || text == texts_of_claims().end() ? Json::object() : text->second;
        row.update(own);
        all.claims.push_back(claim_from(row));
        const auto expectation = own.at("expectation").get<std::string>();
        if (expectation_of(all.claims.back()) != expectation) all.outdated[all.claims.back().id] = expectation;
    }
}

Register read_register_file(const std::filesystem::path& file) {
    try {
        const Json json = Json::parse(read_file(file));
        if (json.value("layout", 1) != layout) {
            throw DataError(
                fmt::format("{} has layout {}, and this program reads layout {}; make it again with "
                            "experiments/registers/make.sh",
                            file.string(), json.value("layout", 1), layout));
        }
        Register all{run_size_by_name(json.at("mode").get<std::string>()),
                     json.at("seed"),
                     json.at("date"),
                     json.at("machine"),
                     json.at("version"),
                     {}};
        all.without = json.value("without", "");
        const std::string name = file_name(all.size, all.seed, all.without);
        if (file.filename() != name) {
            throw DataError(fmt::format("{} holds {}; that register is called {}", file.string(), name_of(all), name));
        }
        read_claims(json.at("claims"), name == file_name(RunSize::quick, 1, ""), all);
        for (const Json& row : json.at("runs")) {
            all.runs.push_back({row.at("experiment"), trainings_from(row.at("trainings")), row.at("inputs"),
                                row.at("processor_seconds")});
            if (row.contains("products")) all.runs.back().products = products_from(row.at("products"));
            all.runs.back().date = row.value("date", "");
        }
        all.late = json.at("late").get<std::vector<std::string>>();
        for (const Json& row : json.at("history")) {
            Claim claim{row.at("id"), "", row.at("statement"), row.at("expected"), row.at("measured")};
            claim.verdict = verdict_by_name(row.at("verdict").get<std::string>());
            all.history.push_back({std::move(claim), row.at("date"), all.size});
        }
        return all;
    } catch (const nlohmann::json::exception& error) {
        throw DataError(fmt::format("{} is damaged: {}", file.string(), error.what()));
    }
}

}  // namespace

Register read_register(RunSize size, std::uint64_t seed, const std::string& without) {
    return read_register_file(shared_file(std::string(folder) + file_name(size, seed, without)));
}

std::optional<Register> find_register(RunSize size, std::uint64_t seed, const std::string& without) {
    if (!has_shared_file(std::string(folder) + file_name(size, seed, without))) return {};
    return read_register(size, seed, without);
}

std::vector<Register> committed_registers() {
    std::vector<Register> registers = {read_register(RunSize::quick)};
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(shared_file(std::string(folder)))) {
        const std::string name = entry.path().filename().string();
        if (name.ends_with(".json") && name != file_name(RunSize::quick, 1, "")) files.push_back(entry.path());
    }
    std::ranges::sort(files);
    for (const std::filesystem::path& file : files) registers.push_back(read_register_file(file));
    return registers;
}

namespace {

/// Whether a published run differs from the experiment's own settings at most by the data that it was given.
bool is_of_given_data(const StoredResult& result) {
    if (result.mode != name_of(RunSize::published) || !result.backend.empty()) return false;
    return std::ranges::all_of(result.changed_settings, [&](const auto& changed) {
        return std::ranges::any_of(experiment_by_name(result.experiment).settings,
                                   [&](const Setting& one) { return one.path && one.name == changed.first; });
    });
}

}  // namespace

std::string name_of(const Register& all) {
    return fmt::format("{} runs{}{}", name_of(all.size), all.seed == 1 ? "" : fmt::format(" with seed {}", all.seed),
                       all.without.empty() ? "" : " without " + all.without);
}

Register register_of(const std::vector<StoredResult>& results) {
    const StoredResult& first = results.front();
    Register all{run_size_by_name(first.mode), first.seed, "", first.cpu, first.version, {}};
    all.without = first.without;
    const auto refuse = [](const StoredResult& result, const std::string& why) {
        throw DataError(
            fmt::format("the result of {} is {}; a register is made of runs of one size and seed, with the "
                        "experiments' own settings",
                        result.experiment, why));
    };
    for (const StoredResult& result : results) {
        if (!result.own_settings && !is_of_given_data(result)) refuse(result, "of other settings");
        if (result.mode != first.mode)
            refuse(result, fmt::format("a {} run, and the first a {} one", result.mode, first.mode));
        if (result.seed != first.seed) {
            refuse(result, fmt::format("of seed {}, and the first of seed {}", result.seed, first.seed));
        }
        if (result.without != first.without) {
            refuse(result, fmt::format("without \"{}\", and the first without \"{}\"", result.without, first.without));
        }
        const std::string date = result.finished.substr(0, std::string_view("2000-01-01").size());
        all.date = std::max(all.date, date);
        all.claims.insert(all.claims.end(), result.claims.begin(), result.claims.end());
        all.runs.push_back(
            {result.experiment, result.trainings, result.inputs, result.processor_seconds, result.products, date});
    }
    return all;
}

Register merged(const Register& all, const Register& later, std::span<const Register> committed) {
    if (name_of(all) != name_of(later)) {
        throw DataError(fmt::format("these are {}, the register is of {}", name_of(later), name_of(all)));
    }
    Register both{later.size, later.seed, std::max(all.date, later.date), later.machine, later.version, {}};
    both.without = all.without;
    both.history = all.history;
    const std::vector<std::string> late =
        all.size == RunSize::full ? uncommitted(later.claims, committed) : std::vector<std::string>{};
    for (const Experiment& experiment : experiments()) {
        const auto is_own = [&](const std::string& id) { return id.starts_with(experiment.name + "."); };
        const auto is_own_claim = [&](const Claim& claim) { return is_own(claim.id); };
        const bool is_later = std::ranges::any_of(later.claims, is_own_claim);
        const Register& from = is_later ? later : all;
        std::ranges::copy_if(from.claims, std::back_inserter(both.claims), is_own_claim);
        std::ranges::copy_if(from.runs, std::back_inserter(both.runs),
                             [&](const RegisteredRun& run) { return run.experiment == experiment.name; });
        std::ranges::copy_if(is_later ? late : all.late, std::back_inserter(both.late), is_own);
        for (const auto& [id, expectation] : from.outdated) {
            if (is_own(id)) both.outdated[id] = expectation;
        }
        for (const Claim& before : all.claims) {
            const auto after = std::ranges::find(both.claims, before.id, &Claim::id);
            if (!is_later || !is_own(before.id) || after == both.claims.end()) continue;
            const bool restated =
                before.verdict != Verdict::reproduced && expectation_of(*after) != expectation_of(before);
            if (restated || after->verdict != before.verdict) both.history.push_back({before, all.date, all.size});
        }
    }
    return both;
}

std::string register_json(const Register& all, const Register* texts) {
    Json head = {{"layout", layout}, {"mode", name_of(all.size)}, {"seed", all.seed},
                 {"date", all.date}, {"machine", all.machine},    {"version", all.version}};
    if (!all.without.empty()) head["without"] = all.without;
    std::vector<Json> claims;
    for (const Claim& claim : all.claims) {
        Json row = claim_json(claim);
        if (const auto earlier = all.outdated.find(claim.id); earlier != all.outdated.end()) {
            row["expectation"] = earlier->second;
        }
        const auto text = texts == nullptr ? all.claims.end() : std::ranges::find(texts->claims, claim.id, &Claim::id);
        if (texts != nullptr && text != texts->claims.end()) {
            const Json base = claim_json(*text);
            for (const auto& [key, value] : base.items()) {
                if (!row.contains(key)) {
                    row[key] = nullptr;
                } else if (row.at(key) == value && key != "id" && key != "verdict" && key != "expectation") {
                    row.erase(key);
                }
            }
        }
        claims.push_back(std::move(row));
    }
    std::vector<Json> runs;
    for (const RegisteredRun& run : all.runs) runs.push_back(run_json(run));
    std::vector<Json> history;
    for (const EarlierForm& form : all.history) history.push_back(history_json(form));
    std::string text = head.dump();
    text.back() = ',';
    return text + "\n\"late\": " + Json(all.late).dump() + ",\n\"claims\": [\n" + lines_of(claims) +
           "],\n\"history\": [\n" + lines_of(history) + "],\n\"runs\": [\n" + lines_of(runs) + "]}\n";
}

std::vector<std::string> uncommitted(std::span<const Claim> claims, std::span<const Register> committed) {
    std::vector<std::string> ids;
    for (const Claim& claim : claims) {
        const auto has_it = [&](const Register& all) {
            const auto row = std::ranges::find(all.claims, claim.id, &Claim::id);
            return row != all.claims.end() && expectation_of(*row) == expectation_of(claim);
        };
        if (std::ranges::none_of(committed, has_it)) ids.push_back(claim.id);
    }
    return ids;
}

std::vector<Deviation> deviations(std::string_view experiment, std::span<const Claim> claims, const Register& all) {
    const std::string prefix = fmt::format("{}.", experiment);
    std::vector<Deviation> list;
    if (std::ranges::none_of(all.claims, [&](const Claim& row) { return row.id.starts_with(prefix); })) return list;
    for (const Claim& claim : claims) {
        const auto row = std::ranges::find(all.claims, claim.id, &Claim::id);
        if (all.outdated.contains(claim.id)) continue;
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

std::string text_of(const Deviation& deviation, const Register& all) {
    if (!deviation.registered) {
        return fmt::format("{}: the register of {} does not have this claim", deviation.id, name_of(all));
    }
    const std::string_view found = deviation.found ? verdict_name(*deviation.found) : "not claimed in this run";
    return fmt::format("{}: {}, where the register of {} says {}", deviation.id, found, name_of(all),
                       verdict_name(*deviation.registered));
}

}  // namespace ulp
