#include "experiments/commands/training/train_report.hpp"

#include <fmt/format.h>

#include <map>

#include "engine/files/whole_file.hpp"

namespace ulp {

void print_bytes(const char* when, const Trainer::Bytes& bytes) {
    fmt::print("bytes {:<9} {:>12} {:>12}\n", when, "as stored", "in memory");
    const auto row = [](const char* name, const ByteCount& count) {
        if (count.held != 0) fmt::print("  {:<13} {:>12} {:>12}\n", name, count.stored, count.held);
    };
    row("weights", bytes.weights);
    row("masters", bytes.masters);
    row("gradients", bytes.gradients);
    row("optimizer", bytes.optimizer);
    row("activations", bytes.activations);
    row("their grads", bytes.activation_gradients);
    row("workspace", bytes.workspace);
    row("all", bytes.total());
}

void print_counts(const Watch& watch) {
    fmt::print("{:<60} {:>10} {:>10} {:>10} {:>10}\n", "stored", "elements", "overflows", "underflows", "zeros");
    const std::map<std::string, RoundingCounts> by_name(watch.rounding.begin(), watch.rounding.end());
    for (const auto& [place, counts] : by_name) {
        fmt::print("{:<60} {:>10} {:>10} {:>10} {:>10}\n", place, counts.elements, counts.overflows, counts.underflows,
                   counts.zeros);
    }
}

ProductLog::ProductLog(Trainer& trainer, const std::string& backend) {
    trainer.observers().product_tap = [this, &trainer, backend](const ProductRecord& p) {
        text_ += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", trainer.steps(), p.layer, p.pass, name_of(p.types),
                             p.m, p.n, p.k, backend, p.path);
    };
}

void ProductLog::write(const std::string& file) const { replace_whole_file(file, text_); }

}  // namespace ulp
