#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/analysis/diagnosis.hpp"
#include "experiments/cli/pages.hpp"
#include "experiments/framework/html.hpp"

namespace ulp {
namespace {

constexpr std::size_t tensors_open = 8;  // charts of further tensors are folded

std::string share(std::int64_t part, std::int64_t all) {
    if (part == 0 || all == 0) return "0";
    return fmt::format("{:.3g} %", 100 * static_cast<double>(part) / static_cast<double>(all));
}
std::string shown_or_dash(const std::optional<double>& value) { return value ? fmt::format("{:.4g}", *value) : "-"; }

std::string losses_html(const TensorCounts& counts, const std::vector<JudgedFormat>& formats) {
    const std::int64_t nonzero = counts.count - counts.zeros - counts.infinities - counts.nans;
    std::vector<std::vector<std::string>> rows = {
        {"format", "become zero", "subnormal", "overflow", "mean error", "worst error", "SNR (dB)"}};
    for (std::size_t f = 0; f < formats.size(); ++f) {
        const std::optional<FormatLoss>& loss = counts.losses[f];
        if (!loss) {
            rows.push_back({formats[f].name, "not computed: too large", "", "", "", "", ""});
            continue;
        }
        rows.push_back({formats[f].name, share(loss->lost, nonzero), share(loss->subnormal, nonzero),
                        share(loss->overflow, nonzero), shown_or_dash(loss->mean_relative_error()),
                        fmt::format("{:.3g}", loss->worst), shown_or_dash(loss->snr_db())});
    }
    return table_html(rows);
}

std::vector<ExponentRange> ranges_of(const std::vector<JudgedFormat>& formats) {
    std::vector<ExponentRange> ranges;
    for (const JudgedFormat& each : formats) {
        if (each.blocks) continue;
        ranges.push_back({each.name, each.format.smallest_exponent(), each.format.emin(), each.format.emax()});
    }
    return ranges;
}

std::string counts_html(const TensorCounts& counts, const std::vector<JudgedFormat>& formats) {
    std::map<int, std::int64_t> numbers;
    for (const auto& [exponent, binade] : counts.binades) numbers[exponent] = binade.numbers;
    return fmt::format("<p>{} numbers, {} zeros, {} infinities, {} NaNs, absolute maximum {:.6g}</p>\n", counts.count,
                       counts.zeros, counts.infinities, counts.nans, counts.absmax) +
           exponent_chart(numbers, {{"0", counts.zeros}, {"\u221E", counts.infinities}, {"NaN", counts.nans}},
                          ranges_of(formats), "Numbers by exponent, and formats' ranges (thin: subnormal)") +
           losses_html(counts, formats);
}

std::string tensor_html(const InputTensor& input, const TensorCounts& counts, const std::vector<JudgedFormat>& formats,
                        bool open) {
    const std::string about =
        fmt::format("{}, shape ({}){}", printable(input.stored.type), fmt::join(input.stored.shape, ", "),
                    input.step ? fmt::format(", step {}", *input.step) : "");
    return fmt::format("<details class=\"tensor\"{}><summary><strong>{}</strong> ({})</summary>\n{}</details>\n",
                       open ? " open" : "", escaped(printable(input.name)), escaped(about),
                       counts_html(counts, formats));
}

std::string power_of_two(const std::optional<int>& exponent) {
    return exponent ? fmt::format("2^{}", *exponent) : "none";
}

/// "a, b and 3 more".
std::string some_of(const std::vector<std::string>& names) {
    constexpr std::size_t shown = 5;
    std::string text;
    for (std::size_t i = 0; i < std::min(shown, names.size()); ++i) text += (i > 0 ? ", " : "") + printable(names[i]);
    return names.size() > shown ? text + fmt::format(" and {} more", names.size() - shown) : text;
}

std::string scale_html(const Inspection& inspection, const ScaleRange& scale) {
    if (inspection.are_weights) return "<p>" + escaped(weights_caveat) + "</p>\n";
    if (!scale.smallest) return "<p>Every number is zero, infinite or NaN, so no loss scale helps.</p>\n";
    std::string html = table_html(
        {{"loss scale for " + inspection.target, "value", "limited by"},
         {"smallest (at most 0.1 % become zero)", power_of_two(scale.smallest), some_of(scale.limits_smallest)},
         {"recommended", power_of_two(scale.recommended), ""},
         {"largest (none overflows)", power_of_two(scale.largest), some_of(scale.limits_largest)}});
    if (!scale.recommended) {
        html +=
            "<p>The smallest lies above the largest, so no scale fits: a wider format or a scale per tensor is "
            "needed.</p>\n";
    }
    return html + "<p>" + escaped(loss_scale_caveat) + "</p>\n";
}

}  // namespace

std::string inspection_summary_html(const Inspection& inspection, const ScaleRange& scale) {
    return counts_html(inspection.all, inspection.formats) + "<h2>Loss scale</h2>\n" + scale_html(inspection, scale);
}

std::string inspection_page(const Inspection& inspection, const std::string& title) {
    std::string verdict = formats_sentence(inspection);
    if (inspection.scale.recommended && !inspection.are_weights) {
        verdict += fmt::format(" As gradients, a loss scale of 2^{} fits them in {}.", *inspection.scale.recommended,
                               inspection.target);
    }
    std::string body = fmt::format("<p class=\"lead\"><strong>{}</strong></p>\n<h2>All {} tensors</h2>\n",
                                   prose_html(verdict), inspection.tensors.size());
    body += inspection_summary_html(inspection, inspection.scale);
    body += "<h2>Tensors</h2>\n";
    for (std::size_t i = 0; i < inspection.tensors.size(); ++i) {
        body += tensor_html(inspection.inputs[i], inspection.tensors[i].counts, inspection.formats, i < tensors_open);
    }
    for (const InputTensor& input : inspection.skipped) {
        body += fmt::format("<p>{} ({}) was skipped: its type holds no floating-point numbers.</p>\n",
                            escaped(printable(input.name)), escaped(printable(input.stored.type)));
    }
    return single_page("ulplab inspect", title, body);
}

std::string drift_page(const std::vector<TensorDifference>& differences, const std::vector<StepDrift>& drift,
                       const std::string& title) {
    const auto first = std::ranges::find_if(differences, [](const TensorDifference& each) { return each.differ > 0; });
    std::string verdict = drift_sentence(drift);
    if (verdict.empty() && first == differences.end()) verdict = "All tensors are equal.";
    if (verdict.empty()) verdict = fmt::format("The first tensor that differs is {}.", printable(first->name));
    std::string body = "<p class=\"lead\"><strong>" + escaped(verdict) + "</strong></p>\n";
    ChartLine line{"largest difference"};
    std::vector<std::vector<std::string>> steps = {
        {"step", "tensors that differ", "numbers that differ", "largest difference", "most ulps"}};
    for (const StepDrift& each : drift) {
        steps.push_back({each.step ? fmt::format("{}", *each.step) : "-",
                         fmt::format("{} of {}", each.tensors_differ, each.tensors), share(each.differ, each.count),
                         fmt::format("{:.3g}", each.largest_difference), fmt::format("{}", each.most_ulps)});
        if (!each.step) continue;
        line.x.push_back(static_cast<double>(*each.step));
        for (auto* sizes : {&line.low, &line.middle, &line.high}) sizes->push_back(each.largest_difference);
    }
    if (line.x.size() > 1) body += line_chart({line}, {"Largest difference of two numbers", "step", "", true});
    body += "<h2>Steps</h2>\n" + table_html(steps) + "<h2>Tensors</h2>\n";
    std::vector<std::vector<std::string>> tensors = {
        {"tensor", "numbers that differ", "first at", "largest difference", "most ulps"}};
    for (const TensorDifference& each : differences) {
        tensors.push_back({printable(each.name), fmt::format("{} of {}", each.differ, each.count),
                           each.differ > 0 ? fmt::format("{}", each.first) : "-",
                           fmt::format("{:.3g}", each.largest_difference), fmt::format("{}", each.most_ulps)});
    }
    return single_page("ulplab compare", title, body + table_html(tensors));
}

std::string mismatch_page(const TokenMismatch& f, const std::string& title) {
    std::string verdict;
    for (const std::string& side : not_finite_texts(f)) verdict += side + ". ";
    const bool finite = verdict.empty();
    if (f.equal) verdict = "All log-probabilities are equal.";
    if (finite && !f.equal) {
        std::string possible;
        for (const MismatchCause& c : f.causes) {
            if (c.verdict == "possible") possible += (possible.empty() ? "" : ", ") + c.name;
        }
        verdict = fmt::format("The log-probabilities differ by {:.3g} (rms), at most by {:.3g}; {}.", f.rms, f.max,
                              possible.empty() ? "no known cause makes such a gap" : "possible causes: " + possible);
    }
    std::string body = fmt::format(
        "<p class=\"lead\"><strong>{}</strong></p>\n<p>{} tokens in {} sequences; d is the "
        "log-probability of B minus that of A.</p>\n",
        escaped(verdict), f.tokens, f.sequences);
    if (!finite || f.equal) return single_page("ulplab compare", title, body);
    std::vector<std::vector<std::string>> causes = {{"cause", "rms that it would make", "verdict", "reason"}};
    for (const MismatchCause& c : f.causes) {
        causes.push_back({c.name, c.expected ? fmt::format("{:.2g}", *c.expected) : "-", c.verdict, c.reason});
    }
    body += fmt::format(
        "<h2>Causes</h2>\n<p>By a simple model of {} layers, width {}, vocabulary {}: an estimate within "
        "a factor of 3, not evidence.</p>\n",
        f.model.layers, f.model.width, f.model.vocabulary);
    body += table_html(causes) + "<h2>Growth along the sequence</h2>\n";
    ChartLine line{""};
    std::vector<std::vector<std::string>> growth = {{"positions", "tokens", "rms of d"}};
    for (const GrowthBin& g : f.growth) {
        growth.push_back(
            {fmt::format("{} to {}", g.first, g.last), fmt::format("{}", g.count), fmt::format("{:.3g}", g.rms)});
        line.x.push_back(static_cast<double>(g.first));
        for (auto* sizes : {&line.low, &line.middle, &line.high}) sizes->push_back(g.rms);
    }
    if (line.x.size() > 1) body += line_chart({line}, {"rms of d by position", "position", "", false});
    if (f.growth_exponent) body += fmt::format("<p>It grows as position<sup>{:.2f}</sup>.</p>\n", *f.growth_exponent);
    body += fmt::format("<p>The first difference is at position {}.</p>\n", f.first_difference) + table_html(growth);
    std::vector<std::vector<std::string>> ratios = {{"of exp(d)", "value"},
                                                    {"outside 0.8 to 1.2", fmt::format("{:.3g} %", 100 * f.outside)},
                                                    {"above 2", fmt::format("{:.3g} %", 100 * f.capped)}};
    ratios.push_back({"KL divergence of A from B (k3)", fmt::format("{:.3g}", f.kl)});
    if (f.argmax_changes) ratios.push_back({"argmax changes", fmt::format("{:.3g} %", 100 * *f.argmax_changes)});
    body += "<h2>Ratios</h2>\n" + table_html(ratios);
    std::vector<std::vector<std::string>> outliers = {{"largest gaps: sequence", "position", "token", "A", "B"}};
    for (const TokenOutlier& t : f.outliers) {
        outliers.push_back({fmt::format("{}", t.sequence), fmt::format("{}", t.position), fmt::format("{}", t.token),
                            fmt::format("{:.5f}", t.a), fmt::format("{:.5f}", t.b)});
    }
    return single_page("ulplab compare", title, body + "<h2>Outliers</h2>\n" + table_html(outliers));
}

}  // namespace ulp
