// Which products of the experiments a real card has computed too: tests/recordings/<card>/experiments.csv, which
// `ulplab gpu experiments` writes on a machine with the card.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/framework/result.hpp"

namespace ulp {

/// A line of such a file.
struct CardEvidence {
    std::string card;  // "NVIDIA H100 80GB HBM3"
    std::string experiment;
    std::string unit;    // key of the row whose products were compared
    std::string source;  // digest of the experiment's sources then
    std::int64_t products = 0;
    std::int64_t differ = 0;  // products that differ: the run stops at the first
    std::string digest;       // of the products, as in UnitProducts
    std::string date;         // year-month-day
};

inline constexpr std::string_view card_evidence_header = "experiment,unit,source,products,differ,digest,date";

/// The lines of one file, whose comment "# gpu NAME" names the card. Throws DataError, naming the line.
std::vector<CardEvidence> read_card_evidence(const std::filesystem::path& file);
/// Of all files that are committed.
std::vector<CardEvidence> committed_card_evidence();

/// The lines of an experiment: `compared` counts products by unit, `differing_unit` is the one whose product ended the
/// run (empty: none), `products` are those that were equal.
std::string card_evidence_lines(std::string_view experiment, std::string_view source,
                                const std::map<std::string, std::int64_t>& compared, std::string_view differing_unit,
                                std::span<const UnitProducts> products, std::string_view date);

/// "1204 products on sm_90:wgmma.fp16.fp32, compared with NVIDIA H100 80GB HBM3 on 2026-11-23: none differs", or that
/// they have changed since, that another unit's product ended the comparison, or that no card ever computed them. Known
/// by the digest, whatever the sources were.
std::string seen_on_card(std::span<const CardEvidence> evidence, std::string_view experiment, const UnitProducts& run);

/// Whether some card computed the very products, and none differed.
bool is_seen_on_card(std::span<const CardEvidence> evidence, std::string_view experiment, const UnitProducts& run);

/// The same of all products of a run, short enough to stand at its figures: "12 products compared with NVIDIA H100 on
/// 2026-11-23, none differs; 3 products never compared with a card: no sm_70 has run the experiments", or why the run
/// has none.
std::string card_mark(std::span<const CardEvidence> evidence, std::string_view experiment,
                      std::span<const UnitProducts> run);
/// At a claim of that run, which may be one without a product.
std::string card_mark(std::span<const CardEvidence> evidence, std::string_view experiment,
                      std::span<const UnitProducts> run, ClaimKind kind);

}  // namespace ulp
