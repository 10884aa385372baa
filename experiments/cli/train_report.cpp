#include "experiments/cli/train_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>
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

namespace {

constexpr std::string_view histogram_prefix = "histogram/";
/// Zeros, the exponents from the lowest, infinities, NaNs.
constexpr std::size_t all_counts = ExponentHistogram::highest - ExponentHistogram::lowest + 4;

/// A file of a run that is resumed does not begin with the run.
[[noreturn]] void refuse_to_continue(const std::string& file, std::int64_t steps, const char* option) {
    throw DataError(
        fmt::format("{}: does not hold the first {} steps of this run, which a checkpoint continues; leave {} out, or "
                    "train anew under another --checkpoint",
                    file, steps, option));
}

}  // namespace

void ProductLog::continue_from(const std::string& file, std::int64_t steps) {
    std::istringstream lines(std::filesystem::exists(file) ? read_whole_file(file) : "");
    std::string line;
    std::getline(lines, line);
    const bool is_log = line + "\n" == text_;
    std::int64_t last = -1;
    while (is_log && std::getline(lines, line)) {
        std::int64_t step = -1;
        std::from_chars(line.data(), line.data() + line.size(), step);
        if (step >= steps) break;
        if (step < last || step > last + 1) break;
        last = step;
        text_ += line + "\n";
    }
    if (last != steps - 1) refuse_to_continue(file, steps, "--products");
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

HistogramLog::Counts HistogramLog::all() const {
    Counts sums = before_;
    for (const auto& [tensor, histogram] : counts_) {
        std::vector<std::int64_t> counts = {histogram.zeros()};
        for (int e = ExponentHistogram::lowest; e <= ExponentHistogram::highest; ++e) counts.push_back(histogram.at(e));
        counts.insert(counts.end(), {histogram.infinities(), histogram.nans()});
        std::vector<std::int64_t>& sum = sums[tensor];
        sum.resize(counts.size());
        for (std::size_t i = 0; i < counts.size(); ++i) sum[i] += counts[i];
    }
    return sums;
}

KeptTexts HistogramLog::kept() const {
    KeptTexts texts;
    for (const auto& [tensor, counts] : all()) {
        texts[fmt::format("{}{}/{}", histogram_prefix, name_of(tensor.first), tensor.second)] =
            fmt::format("{}", fmt::join(counts, " "));
    }
    return texts;
}

void HistogramLog::continue_from(const std::string& file, const KeptTexts& kept) {
    for (int i = 0; i <= static_cast<int>(TensorRole::activation_gradient); ++i) {
        const auto role = static_cast<TensorRole>(i);
        const std::string prefix = fmt::format("{}{}/", histogram_prefix, name_of(role));
        for (const auto& [name, text] : kept) {
            if (!name.starts_with(prefix)) continue;
            std::istringstream words(text);
            std::vector<std::int64_t>& counts = before_[{role, name.substr(prefix.size())}];
            for (std::int64_t count = 0; words >> count;) counts.push_back(count);
        }
    }
    const auto is_whole = [](const auto& row) { return row.second.size() == all_counts; };
    if (!before_.empty() && std::ranges::all_of(before_, is_whole)) return;
    throw DataError(file +
                    ": was saved without --histograms, so the steps before it are not counted; leave --histograms out, "
                    "or train anew under another --checkpoint");
}

Trace trace_before(const std::string& file, std::int64_t steps, const Model& model) {
    Trace now;
    now.steps.emplace_back().digests = digests_of(model);
    shorten_digests(now);
    Trace trace = std::filesystem::exists(file) ? read_trace(file).trace : Trace{};
    std::erase_if(trace.steps, [&](const TraceStep& step) { return step.step >= steps; });
    bool whole = static_cast<std::int64_t>(trace.steps.size()) == steps;
    for (std::size_t i = 0; whole && i < trace.steps.size(); ++i) {
        whole = trace.steps[i].step == static_cast<std::int64_t>(i);
    }
    if (!whole || trace.steps.back().digests != now.steps.front().digests) refuse_to_continue(file, steps, "--trace");
    return trace;
}

void HistogramLog::write(const std::string& file) const {
    std::string text = "role,tensor,exponent,count\n";
    for (const auto& [tensor, counts] : all()) {
        for (std::size_t i = 0; i < counts.size(); ++i) {
            const std::string exponent = i == 0                ? "zero"
                                         : i == all_counts - 2 ? "infinity"
                                         : i == all_counts - 1
                                             ? "nan"
                                             : fmt::to_string(ExponentHistogram::lowest + static_cast<int>(i) - 1);
            if (counts[i] > 0) {
                text += fmt::format("{},{},{},{}\n", name_of(tensor.first), tensor.second, exponent, counts[i]);
            }
        }
    }
    replace_whole_file(file, text);
}

}  // namespace ulp
