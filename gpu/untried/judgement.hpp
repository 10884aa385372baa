// Predictions held against the library's products, and the file of verdicts, which a later call takes up.
#pragma once

#include <functional>
#include <map>

#include "gpu/untried/predictions.hpp"

namespace ulp::gpu {

/// failed: the library or the GPU failed at the row.
enum class Verdict : std::uint8_t { equal, different, declined, not_offered, moved, failed };
inline constexpr Verdict verdicts[] = {Verdict::equal,       Verdict::different, Verdict::declined,
                                       Verdict::not_offered, Verdict::moved,     Verdict::failed};
std::string_view name_of(Verdict verdict);

struct VerdictCounts {
    std::array<int, std::size(verdicts)> by_verdict{};
    int told_from_one = 0;  // rows that are equal and from which a mutant differs: what "equal" is worth
    int told_from_all = 0;  // from which all three differ
    [[nodiscard]] int of(Verdict verdict) const { return by_verdict[static_cast<std::size_t>(verdict)]; }
    /// Rows of which something was held against the library: an order, or an answer.
    [[nodiscard]] int compared() const { return of(Verdict::equal) + of(Verdict::different) + of(Verdict::moved); }
    bool operator==(const VerdictCounts&) const = default;
};

struct Judgement {
    std::vector<Verdict> verdicts;  // one a row, from the first on
    VerdictCounts all;
    /// "type fp16", "layout TN", "family 66", "D whole" and "D sampled": every row counts in one of each kind.
    std::map<std::string, VerdictCounts> groups;
    bool stopped = false;  // by the limit of time: the rows after the last verdict were not run
    std::string date;      // of the first call

    void add(const Prediction& row, Verdict verdict);
    /// In the place of the verdict that the row, number i, has.
    void replace(std::size_t i, const Prediction& row, Verdict verdict);
    /// No row differs, and none moved.
    [[nodiscard]] bool holds() const { return all.of(Verdict::different) == 0 && all.of(Verdict::moved) == 0; }
};

/// Asks again, runs and compares, row by row: those that the judgement lacks, then those that failed before. `go_on` is
/// asked before each row; after a false the rest is left out. Throws DataError where the library or the GPU is another
/// one than that of the predictions, and where it fails at a row, which then has that verdict: another call goes on
/// behind it.
void judge(Library& library, const PredictionFile& file, Judgement& judgement, const std::function<bool()>& go_on);

/// The file of verdicts; `digest`: SHA-256 of the file of predictions.
std::string judgement_text(const PredictionFile& file, const std::string& digest, const Judgement& judgement);
/// What an earlier call has judged. Throws DataError naming file, line and fault, and where the verdicts are on other
/// predictions.
Judgement read_judgement(const std::filesystem::path& path, const PredictionFile& file, const std::string& digest);

}  // namespace ulp::gpu
