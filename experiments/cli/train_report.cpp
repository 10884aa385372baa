#include "experiments/cli/train_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <sstream>
#include <string_view>
#include <vector>

#include "engine/files/whole_file.hpp"
#include "softfloat/errors.hpp"

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

void write_trace(const std::string& file, const Trace& trace) {
    std::string text = fmt::format("step,loss,loss_bits,loss_scale,skipped,{}\n", fmt::join(trace.parameters, ","));
    for (const TraceStep& step : trace.steps) {
        const float loss = std::bit_cast<float>(static_cast<std::uint32_t>(step.loss_bits));
        text += fmt::format("{},{},0x{:08x},{},{:d},{}\n", step.step, loss, step.loss_bits, step.loss_scale,
                            step.skipped, fmt::join(step.digests, ","));
    }
    replace_whole_file(file, text);
}

namespace {

constexpr std::string_view step_columns = "step,loss,loss_bits,loss_scale,skipped,";

std::vector<std::string> cells_of(const std::string& line) {
    std::vector<std::string> cells;
    std::istringstream text(line);
    for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
    return cells;
}

template <class Number>
bool reads(std::string_view text, Number& value, int base) {
    const char* const end = text.data() + text.size();
    return std::from_chars(text.data(), end, value, base).ptr == end && !text.empty();
}
bool reads(std::string_view text, double& value) {
    const char* const end = text.data() + text.size();
    return std::from_chars(text.data(), end, value).ptr == end && !text.empty();
}

}  // namespace

bool is_step_table(const std::string& file) { return read_whole_file(file).starts_with(step_columns); }

Trace read_step_table(const std::string& file) {
    std::istringstream text(read_whole_file(file));
    std::string line;
    std::getline(text, line);
    Trace trace;
    trace.parameters = cells_of(line.substr(std::min(line.size(), step_columns.size())));
    int number = 1;
    while (std::getline(text, line)) {
        ++number;
        const std::vector<std::string> cells = cells_of(line);
        TraceStep step;
        int skipped = 0;
        const bool good = cells.size() == 5 + trace.parameters.size() && reads(cells[0], step.step, 10) &&
                          cells[2].starts_with("0x") &&
                          reads(std::string_view(cells[2]).substr(2), step.loss_bits, 16) &&
                          reads(cells[3], step.loss_scale) && reads(cells[4], skipped, 10);
        if (!good) {
            throw DataError(
                fmt::format("{}:{}: this is no step of a trace of {} parameters; write it with `ulplab train "
                            "--trace`",
                            file, number, trace.parameters.size()));
        }
        step.skipped = skipped != 0;
        step.digests.assign(cells.begin() + 5, cells.end());
        trace.steps.push_back(std::move(step));
    }
    if (trace.steps.empty()) throw DataError(file + ": the trace has no step");
    return trace;
}

}  // namespace ulp
