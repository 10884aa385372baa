#include "gpu/untried/judgement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include "engine/files/whole_file.hpp"
#include "gpu/instructions/input_classes.hpp"
#include "softfloat/errors.hpp"

namespace ulp::gpu {
namespace {

constexpr std::string_view judgement_title = "# ulplab judged 1";
constexpr std::string_view judgement_columns = "type,layout,m,n,k,alpha,beta,verdict";

PredictionVerdict verdict_on(Library& library, const Prediction& row) {
    const auto now = library.ask(row.problem);
    if (!now) return row.declined == no_such_product ? PredictionVerdict::not_offered : PredictionVerdict::moved;
    if (row.declined == no_such_product) return PredictionVerdict::moved;
    if (row.answer != "-" && row.answer != now->text()) return PredictionVerdict::moved;
    if (!row.declined.empty()) return PredictionVerdict::declined;
    for (std::size_t i = 0; i < row.digests.size(); ++i) {
        if (digest(library.run(row.problem, sample_of(row.problem, input_sets[i]))) != row.digests[i])
            return PredictionVerdict::different;
    }
    return PredictionVerdict::equal;
}

std::array<std::string, 4> groups_of(const Prediction& row) {
    return {fmt::format("type {}", row.problem.type->name), "layout " + row.problem.layout,
            "family " + (row.answer == "-" ? "unknown" : row.answer.substr(0, row.answer.find('.'))),
            looks_at_all(row.problem) ? "D whole" : "D sampled"};
}

void count(VerdictCounts& counts, const Prediction& row, PredictionVerdict verdict, int times) {
    counts.by_verdict[static_cast<std::size_t>(verdict)] += times;
    if (verdict != PredictionVerdict::equal) return;
    counts.told_from_one += row.mutants_found > 0 ? times : 0;
    counts.told_from_all += row.mutants_found == 3 ? times : 0;
}

/// In all and in its groups.
void count(Judgement& judgement, const Prediction& row, PredictionVerdict verdict, int times) {
    count(judgement.all, row, verdict, times);
    for (const std::string& group : groups_of(row)) count(judgement.groups[group], row, verdict, times);
}

std::string line_of(const Prediction& row, PredictionVerdict verdict) {
    return fmt::format("{},{}", row.problem.text(), name_of(verdict));
}

}  // namespace

std::string_view name_of(PredictionVerdict verdict) {
    switch (verdict) {
        case PredictionVerdict::equal: return "equal";
        case PredictionVerdict::different: return "different";
        case PredictionVerdict::declined: return "declined";
        case PredictionVerdict::not_offered: return "not offered";
        case PredictionVerdict::moved: return "moved";
        case PredictionVerdict::failed: return "failed";
    }
    return "";
}

void Judgement::add(const Prediction& row, PredictionVerdict verdict) {
    verdicts.push_back(verdict);
    count(*this, row, verdict, 1);
}

void Judgement::replace(std::size_t i, const Prediction& row, PredictionVerdict verdict) {
    count(*this, row, verdicts[i], -1);
    verdicts[i] = verdict;
    count(*this, row, verdict, 1);
}

void judge(Library& library, const PredictionFile& file, Judgement& judgement, const std::function<bool()>& go_on) {
    if (library.info() != file.info) {
        throw DataError(fmt::format("the predictions are for {}, but here is {}: declined; predict for this one first",
                                    file.info.text(), library.info().text()));
    }
    const std::size_t before = judgement.verdicts.size();
    std::vector<std::size_t> todo(file.rows.size() - before);
    std::iota(todo.begin(), todo.end(), before);
    for (std::size_t i = 0; i < before; ++i) {
        if (judgement.verdicts[i] == PredictionVerdict::failed) todo.push_back(i);
    }
    for (const std::size_t i : todo) {
        if (!go_on()) {
            judgement.stopped = true;
            break;
        }
        if (i == judgement.verdicts.size()) judgement.add(file.rows[i], PredictionVerdict::failed);
        try {
            judgement.replace(i, file.rows[i], verdict_on(library, file.rows[i]));
        } catch (const DataError& error) {
            throw DataError(fmt::format("{}: {}", file.rows[i].problem.text(), error.what()));
        }
    }
}

std::string judgement_text(const PredictionFile& file, const std::string& digest, const Judgement& judgement) {
    std::string text = fmt::format("{}\n# {}\n# predictions {}\n# date {}\n{}\n", judgement_title, file.info.text(),
                                   digest, judgement.date, judgement_columns);
    for (std::size_t i = 0; i < judgement.verdicts.size(); ++i) {
        text += line_of(file.rows[i], judgement.verdicts[i]) + "\n";
    }
    if (judgement.verdicts.size() < file.rows.size()) {
        text +=
            fmt::format("# {} of {} rows: the others have not been run\n", judgement.verdicts.size(), file.rows.size());
    }
    return text;
}

Judgement read_judgement(const std::filesystem::path& path, const PredictionFile& file, const std::string& digest) {
    std::istringstream text(read_whole_file(path));
    Judgement judgement;
    int number = 0;
    std::string line;
    const auto next = [&] { return ++number, static_cast<bool>(std::getline(text, line)); };
    const auto refuse = [&](const std::string& fault) {
        throw DataError(fmt::format("{}:{}: {}; give another --out", path.string(), number, fault));
    };
    if (!next() || line != judgement_title) refuse(fmt::format("this is no '{}'", judgement_title));
    static_cast<void>(next());  // for whom; the predictions say it, too
    if (!next() || line != "# predictions " + digest) refuse("these are verdicts on other predictions");
    constexpr std::string_view date = "# date ";
    if (!next() || !line.starts_with(date)) refuse(fmt::format("'{}...' belongs here", date));
    judgement.date = line.substr(date.size());
    if (!next() || line != judgement_columns) refuse(fmt::format("the columns are not {}", judgement_columns));
    while (next()) {
        if (line.starts_with("#")) continue;
        const std::size_t row = judgement.verdicts.size();
        if (row == file.rows.size()) refuse("here are more verdicts than predictions");
        const auto known = std::find_if(std::begin(verdicts), std::end(verdicts), [&](PredictionVerdict verdict) {
            return line == line_of(file.rows[row], verdict);
        });
        if (known == std::end(verdicts)) {
            refuse(fmt::format("'{}' is no verdict on {}", line, file.rows[row].problem.text()));
        }
        judgement.add(file.rows[row], *known);
    }
    return judgement;
}

}  // namespace ulp::gpu
