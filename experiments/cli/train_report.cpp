#include "experiments/cli/train_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

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

HistogramLog::HistogramLog(Trainer& trainer) {
    const auto add = [this](const TapEvent& event) {
        ExponentHistogram& counts = counts_[{event.role, std::string(event.name)}];
        if (event.loss_scale == 1) return counts.add(event.values);
        std::vector<float> unscaled;
        for (const float x : event.values) {
            unscaled.push_back(static_cast<float>(static_cast<double>(x) / event.loss_scale));
        }
        counts.add(unscaled);
    };
    trainer.watch([](std::int64_t) { return true; }, add);
}

void HistogramLog::write(const std::string& file) const {
    std::string text = "role,tensor,exponent,count\n";
    for (const auto& [tensor, counts] : counts_) {
        const auto row = [&, start = fmt::format("{},{}", name_of(tensor.first), tensor.second)](const auto& exponent,
                                                                                                 std::int64_t count) {
            if (count > 0) text += fmt::format("{},{},{}\n", start, exponent, count);
        };
        row("zero", counts.zeros());
        for (int e = ExponentHistogram::lowest; e <= ExponentHistogram::highest; ++e) row(e, counts.at(e));
        row("infinity", counts.infinities());
        row("nan", counts.nans());
    }
    replace_whole_file(file, text);
}

}  // namespace ulp
