#include "experiments/results/card_evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "experiments/program/files.hpp"
#include "experiments/program/shared_files.hpp"
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

std::string seen_on_card(std::span<const CardEvidence> evidence, std::string_view experiment, const UnitProducts& run) {
    const std::string text = fmt::format("{} products on {}, ", run.products, run.unit);
    const CardEvidence* other = nullptr;
    for (const CardEvidence& row : evidence) {
        if (!is_of(row, experiment, run)) continue;
        if (is_same(row, run)) return text + fmt::format("compared with {} on {}: none differs", row.card, row.date);
        other = &row;
    }
    if (other == nullptr) return text + "never compared with a card";
    if (other->differ > 0) return text + fmt::format("of which one differs on {} ({})", other->card, other->date);
    const bool stopped = std::ranges::any_of(evidence, [&](const CardEvidence& row) {
        return row.experiment == experiment && row.card == other->card && row.date == other->date && row.differ > 0;
    });
    if (stopped) {
        return text +
               fmt::format("not all compared with {} on {}: another unit's product differed", other->card, other->date);
    }
    return text + fmt::format("changed since {} computed them on {}", other->card, other->date);
}

bool is_seen_on_card(std::span<const CardEvidence> evidence, std::string_view experiment, const UnitProducts& run) {
    return std::ranges::any_of(
        evidence, [&](const CardEvidence& row) { return is_of(row, experiment, run) && is_same(row, run); });
}

}  // namespace ulp
