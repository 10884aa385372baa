// Predictions of library products, written before they run, and their judgement.
#pragma once

#include <functional>
#include <map>

#include "gpu/prediction/answers.hpp"

namespace ulp::gpu {

struct Prediction {
    LibraryProblem problem;
    std::string
        answer;  // HeuristicAnswer::text(); "-" where the order was guessed from neighbours or declined without one
    std::string order;                                           // KernelOrder::text(); empty where declined
    std::array<std::uint64_t, std::size(input_sets)> digests{};  // of D's words at the sample, of each set of inputs
    int mutants_found = 0;                                       // of three: whose digest differs for the set `spread`
    std::string declined;                                        // the reason; empty where there is a prediction
};

struct PredictionFile {
    LibraryInfo info;
    std::string shapes_digest;   // SHA-256 of the list's lines
    std::string answers_digest;  // of the stored answers; "live" where the library was asked
    std::vector<Prediction> rows;
};

/// Predicts one problem; `answer` is kept for the judge to compare with.
Prediction predicted(const LibraryProblem& problem, const KernelPlan& plan, const std::string& answer);
std::string predictions_text(const PredictionFile& file);
/// Throws DataError naming file, line and fault.
PredictionFile read_predictions(const std::filesystem::path& path);

enum class Verdict : std::uint8_t { equal, different, declined, not_offered, moved };
std::string_view name_of(Verdict verdict);

struct Judgement {
    std::vector<Verdict> verdicts;                      // one a row
    std::map<std::string, std::array<int, 5>> by_type;  // counts by verdict
    std::array<int, 5> all{};
    int told_from_mutants = 0;  // rows that are equal and from which every mutant differs
    bool stopped = false;       // by the limit of time: the rows after the last verdict were not run
    /// No row differs, and none moved.
    [[nodiscard]] bool holds() const { return all[1] == 0 && all[4] == 0; }
};
/// Asks again, runs and compares, row by row into an empty judgement. `go_on` is asked before each row; after a false
/// the rest is left out. Throws DataError where the library or the GPU is another one than that of the predictions, and
/// where it fails: the judgement then holds the rows before.
void judge(Library& library, const PredictionFile& file, Judgement& judgement, const std::function<bool()>& go_on);

}  // namespace ulp::gpu
