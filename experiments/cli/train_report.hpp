// What `ulplab train` tells of a run beside its loss.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/training/checkpoint.hpp"
#include "engine/training/trainer.hpp"

namespace ulp {

/// A table of what training takes, by role; `when`: planned or used.
void print_bytes(const char* when, const Trainer::Bytes& bytes);
/// A table of every stored result: overflows, underflows and zeros.
void print_counts(const Watch& watch);

/// One line for every product of a trainer, tab-separated.
class ProductLog {
  public:
    ProductLog(Trainer& trainer, const std::string& backend);
    ProductLog(const ProductLog&) = delete;
    ProductLog& operator=(const ProductLog&) = delete;
    void write(const std::string& file) const;
    /// Begins with the lines that the file has of the steps before `steps`. Throws DataError where it lacks some.
    void continue_from(const std::string& file, std::int64_t steps);

  private:
    std::string text_ = "step\tlayer\tpass\ttypes\tm\tn\tk\tbackend\tpath\n";
};

/// The exponents of every tensor that the tap shows, added up over the steps: "role,tensor,exponent,count", and rows
/// for zero, infinity and nan. Gradients are counted without the loss scale.
class HistogramLog {
  public:
    explicit HistogramLog(Trainer& trainer);
    HistogramLog(const HistogramLog&) = delete;
    HistogramLog& operator=(const HistogramLog&) = delete;
    void write(const std::string& file) const;
    /// The counts for a checkpoint, and back; `file` is the checkpoint. Throws DataError where it keeps none.
    [[nodiscard]] KeptTexts kept() const;
    void continue_from(const std::string& file, const KeptTexts& kept);

  private:
    using Place = std::pair<TensorRole, std::string>;
    using Counts = std::map<Place, std::vector<std::int64_t>>;  // zeros, exponents from the lowest, infinities, NaNs
    [[nodiscard]] Counts all() const;

    Counts before_;  // of the steps of earlier processes
    std::map<Place, ExponentHistogram> counts_;
};

/// Of a run that was resumed after `steps` steps: those steps of its trace, from the file that has them. Throws
/// DataError where it has not all of them, or is of another run.
Trace trace_before(const std::string& file, std::int64_t steps, const Model& model);

}  // namespace ulp
