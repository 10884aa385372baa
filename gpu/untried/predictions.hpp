// Predictions of library products, written before they run.
#pragma once

#include "gpu/untried/answers.hpp"

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

}  // namespace ulp::gpu
