// What `ulplab train` tells of a run beside its loss.
#pragma once

#include <map>
#include <string>
#include <utility>

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

  private:
    std::map<std::pair<TensorRole, std::string>, ExponentHistogram> counts_;
};

}  // namespace ulp
