#include "experiments/framework/card_evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "experiments/framework/experiment.hpp"
#include "experiments/framework/files.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

namespace fs = std::filesystem;

constexpr const char* recordings = "tests/recordings";

std::int64_t count_of(const std::string& text, const std::string& place) {
    std::int64_t count = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error == std::errc() && end == text.data() + text.size() && count >= 0) return count;
    throw DataError(fmt::format("{}: \"{}\" is no count of products", place, text));
}

CardEvidence line_of(const std::string& line, const std::string& card, const std::string& place) {
    std::vector<std::string> fields;
    std::istringstream in(line);
    for (std::string field; std::getline(in, field, ',');) fields.push_back(field);
    const auto wanted = std::ranges::count(card_evidence_header, ',') + 1;
    if (static_cast<std::ptrdiff_t>(fields.size()) != wanted) {
        throw DataError(
            fmt::format("{}: {} fields instead of {}: {}", place, fields.size(), wanted, card_evidence_header));
    }
    return {card,      fields[0], fields[1], fields[2], count_of(fields[3], place), count_of(fields[4], place),
            fields[5], fields[6]};
}

bool is_of(const CardEvidence& row, std::string_view experiment, const UnitProducts& run) {
    return row.experiment == experiment && row.unit == run.unit;
}
bool is_same(const CardEvidence& row, const UnitProducts& run) {
    return row.digest == run.digest && row.products == run.products && row.differ == 0;
}

}  // namespace

std::vector<CardEvidence> read_card_evidence(const fs::path& file) {
    std::vector<CardEvidence> rows;
    std::istringstream in(read_file(file));
    std::string card;
    bool hardware = false;
    bool begun = false;
    int number = 0;
    for (std::string line; std::getline(in, line);) {
        const std::string place = fmt::format("{}, line {}", file.string(), ++number);
        constexpr std::string_view gpu = "# gpu ";
        if (line == "# source hardware") hardware = true;
        if (line.starts_with(gpu)) card = line.substr(gpu.size());
        if (line.empty() || line.starts_with('#')) continue;
        if (!begun && line != card_evidence_header) {
            throw DataError(fmt::format("{}: the header should be {}", place, card_evidence_header));
        }
        if (begun) rows.push_back(line_of(line, card, place));
        begun = true;
    }
    if (!hardware) throw DataError(fmt::format("{}: a model made it, not a card: it is no evidence", file.string()));
    if (card.empty()) throw DataError(fmt::format("{}: no line \"# gpu NAME\" names the card", file.string()));
    return rows;
}

std::vector<CardEvidence> committed_card_evidence() {
    std::vector<CardEvidence> all;
    if (!has_shared_file(recordings)) return all;
    std::vector<fs::path> files;
    for (const auto& folder : fs::directory_iterator(shared_file(recordings))) {
        const fs::path file = folder.path() / "experiments.csv";
        if (fs::is_regular_file(file)) files.push_back(file);
    }
    std::ranges::sort(files);
    for (const fs::path& file : files) {
        for (CardEvidence& row : read_card_evidence(file)) all.push_back(std::move(row));
    }
    return all;
}

std::string card_evidence_lines(std::string_view experiment, std::string_view source,
                                const std::map<std::string, std::int64_t>& compared, std::string_view differing_unit,
                                std::span<const UnitProducts> products, std::string_view date) {
    std::string lines;
    for (const auto& [unit, count] : compared) {
        const auto equal = std::ranges::find(products, unit, &UnitProducts::unit);
        lines += fmt::format("{},{},{},{},{},{},{}\n", experiment, unit, source, count, unit == differing_unit ? 1 : 0,
                             equal == products.end() ? "0000000000000000" : equal->digest, date);
    }
    return lines;
}

namespace {

/// What a card has to say of a unit's products: of equal ones the first, else the last line about the unit.
const CardEvidence* line_about(std::span<const CardEvidence> evidence, std::string_view experiment,
                               const UnitProducts& run) {
    const CardEvidence* other = nullptr;
    for (const CardEvidence& row : evidence) {
        if (!is_of(row, experiment, run)) continue;
        if (is_same(row, run)) return &row;
        other = &row;
    }
    return other;
}

/// Of products whose digest the line does not have, and of which none was seen to differ.
std::string why_unlike(std::span<const CardEvidence> evidence, const CardEvidence& line) {
    const bool stopped = std::ranges::any_of(evidence, [&](const CardEvidence& row) {
        return row.experiment == line.experiment && row.card == line.card && row.date == line.date && row.differ > 0;
    });
    return stopped
               ? fmt::format("not all compared with {} on {}: another unit's product differed", line.card, line.date)
               : fmt::format("changed since {} computed them on {}", line.card, line.date);
}

/// "sm_90" of "sm_90:wgmma.fp16.fp32".
std::string_view card_of(std::string_view unit) { return unit.substr(0, unit.find(':')); }

/// What follows "12 products" in the mark of a run.
std::string short_word(std::span<const CardEvidence> evidence, std::string_view experiment, const UnitProducts& run) {
    const CardEvidence* line = line_about(evidence, experiment, run);
    if (line == nullptr) {
        const auto is_such = [&](const CardEvidence& row) { return card_of(row.unit) == card_of(run.unit); };
        return std::ranges::any_of(evidence, is_such)
                   ? "never compared with a card"
                   : fmt::format("never compared with a card: no {} has run the experiments", card_of(run.unit));
    }
    if (is_same(*line, run)) return fmt::format("compared with {} on {}, none differs", line->card, line->date);
    if (line->differ > 0) return fmt::format("compared with {} on {}, one differs", line->card, line->date);
    return why_unlike(evidence, *line);
}

std::string why_no_product(std::string_view name) {
    const auto experiment = std::ranges::find(experiments(), name, &Experiment::name);
    const bool has_reason = experiment != experiments().end() && !experiment->without_backend.empty();
    return "no product to compare with a card" + (has_reason ? ": " + experiment->without_backend : "");
}

}  // namespace

std::string seen_on_card(std::span<const CardEvidence> evidence, std::string_view experiment, const UnitProducts& run) {
    const std::string text = fmt::format("{} products on {}, ", run.products, run.unit);
    const CardEvidence* line = line_about(evidence, experiment, run);
    if (line == nullptr) return text + "never compared with a card";
    if (is_same(*line, run)) return text + fmt::format("compared with {} on {}: none differs", line->card, line->date);
    if (line->differ > 0) return text + fmt::format("of which one differs on {} ({})", line->card, line->date);
    return text + why_unlike(evidence, *line);
}

std::string card_mark(std::span<const CardEvidence> evidence, std::string_view experiment,
                      std::span<const UnitProducts> run) {
    if (run.empty()) return why_no_product(experiment);
    std::vector<std::pair<std::string, std::int64_t>> words;  // with the number of products of which each is said
    for (const UnitProducts& row : run) {
        std::string word = short_word(evidence, experiment, row);
        const auto known = std::ranges::find(words, word, &std::pair<std::string, std::int64_t>::first);
        if (known == words.end()) {
            words.emplace_back(std::move(word), row.products);
        } else {
            known->second += row.products;
        }
    }
    std::string mark;
    for (const auto& [word, products] : words) {
        mark += fmt::format("{}{} products {}", mark.empty() ? "" : "; ", products, word);
    }
    return mark;
}

std::string card_mark(std::span<const CardEvidence> evidence, std::string_view experiment,
                      std::span<const UnitProducts> run, ClaimKind kind) {
    const bool has_none = kind == ClaimKind::quoted || (kind == ClaimKind::arithmetic && !run.empty());
    return has_none ? "no product in it" : card_mark(evidence, experiment, run);
}

bool is_seen_on_card(std::span<const CardEvidence> evidence, std::string_view experiment, const UnitProducts& run) {
    return std::ranges::any_of(
        evidence, [&](const CardEvidence& row) { return is_of(row, experiment, run) && is_same(row, run); });
}

}  // namespace ulp
