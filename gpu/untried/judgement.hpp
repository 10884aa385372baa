// Predictions held against the library's products, and the file of verdicts, which a later call takes up.
#pragma once

#include <functional>
#include <map>

#include "gpu/untried/answers.hpp"

namespace ulp::gpu {

// Predictions of library products, written before they run.

struct Prediction {
    LibraryProblem problem;
    std::string
        answer;  // HeuristicAnswer::text(); "-" where the order was guessed from neighbours or declined without one
    std::string order;                                           // LibraryKernel::text(); empty where declined
    std::array<std::uint64_t, std::size(input_sets)> digests{};  // of D's words at the sample, of each set of inputs
    int mutants_found = 0;                                       // of three: whose digest differs for the set `spread`
    std::string declined;                                        // the reason; empty where there is a prediction
};

struct PredictionFile {
    LibraryInfo info;
    std::string program;         // SHA-256 of the sources that predict
    std::string shapes_digest;   // SHA-256 of the file of shapes, as `gpu shapes` prints it and shapes.sha256 has it
    std::string answers_digest;  // of the stored answers; "live" where the library was asked
    std::vector<Prediction> rows;
};

/// Predicts one problem; `answer` is kept for the judge to compare with.
Prediction predicted(const LibraryProblem& problem, const KernelPlan& plan, const std::string& answer);
std::string predictions_text(const PredictionFile& file);
/// Throws DataError naming file, line and fault.
PredictionFile read_predictions(const std::filesystem::path& path);

/// failed: the library or the GPU failed at the row.
enum class PredictionVerdict : std::uint8_t { equal, different, declined, not_offered, moved, failed };
inline constexpr PredictionVerdict verdicts[] = {PredictionVerdict::equal,    PredictionVerdict::different,
                                                 PredictionVerdict::declined, PredictionVerdict::not_offered,
                                                 PredictionVerdict::moved,    PredictionVerdict::failed};
std::string_view name_of(PredictionVerdict verdict);

struct VerdictCounts {
    std::array<int, std::size(verdicts)> by_verdict{};
    int told_from_one = 0;  // rows that are equal and from which a mutant differs: what "equal" is worth
    int told_from_all = 0;  // from which all three differ
    [[nodiscard]] int of(PredictionVerdict verdict) const { return by_verdict[static_cast<std::size_t>(verdict)]; }
    /// Rows of which something was held against the library: an order, or an answer.
    [[nodiscard]] int compared() const {
        return of(PredictionVerdict::equal) + of(PredictionVerdict::different) + of(PredictionVerdict::moved);
    }
    bool operator==(const VerdictCounts&) const = default;
};

struct Judgement {
    std::vector<PredictionVerdict> verdicts;  // one per row, from the first on
    VerdictCounts all;
    /// "type fp16", "layout TN", "family 66", "D whole" and "D sampled": every row counts in one of each kind.
    std::map<std::string, VerdictCounts> groups;
    bool stopped = false;  // by the limit of time: the rows after the last verdict were not run
    std::string date;      // of the first call

    void add(const Prediction& row, PredictionVerdict verdict);
    /// Replaces the verdict that the row, number i, has.
    void replace(std::size_t i, const Prediction& row, PredictionVerdict verdict);
    /// No row differs, and none moved.
    [[nodiscard]] bool holds() const {
        return all.of(PredictionVerdict::different) == 0 && all.of(PredictionVerdict::moved) == 0;
    }
};

/// Asks again, runs and compares, row by row: those that the judgement lacks, then those that failed before. `go_on` is
/// asked before each row; after a false the rest is left out. Throws DataError where the library or the GPU is another
/// one than that of the predictions, and where it fails at a row, which then has that verdict: another call resumes
/// behind it.
void judge(Library& library, const PredictionFile& file, Judgement& judgement, const std::function<bool()>& go_on);

/// The file of verdicts; `digest`: SHA-256 of the file of predictions.
std::string judgement_text(const PredictionFile& file, const std::string& digest, const Judgement& judgement);
/// What an earlier call has judged. Throws DataError naming file, line and fault, and where the verdicts are on other
/// predictions.
Judgement read_judgement(const std::filesystem::path& path, const PredictionFile& file, const std::string& digest);

}  // namespace ulp::gpu
