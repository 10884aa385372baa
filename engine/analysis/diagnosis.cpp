#include "engine/analysis/diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/analysis/input_files.hpp"

namespace ulp {
namespace {

constexpr double growth_told = 100;     // of the largest magnitude, from the first step to the last finite one
constexpr double subnormal_told = 0.1;  // share of a narrow dump's nonzero numbers

std::int64_t nonzeros(const TensorCounts& counts) {
    return counts.count - counts.zeros - counts.infinities - counts.nans;
}
bool is_finite(const TensorCounts& counts) { return counts.infinities == 0 && counts.nans == 0; }

std::string percent_of(std::int64_t part, std::int64_t all) {
    return fmt::format("{:.3g} %", all == 0 ? 0.0 : 100 * static_cast<double>(part) / static_cast<double>(all));
}
std::string at_step(const InputTensor& input) { return input.step ? fmt::format(" (step {})", *input.step) : ""; }

/// "a, b and 3 more".
std::string first_names(const std::vector<std::string>& names) {
    constexpr std::size_t shown = 3;
    std::string text;
    for (std::size_t i = 0; i < std::min(shown, names.size()); ++i) text += (i > 0 ? ", " : "") + printable(names[i]);
    return names.size() > shown ? text + fmt::format(" and {} more", names.size() - shown) : text;
}

/// The place of the first tensor that is not finite; the number of tensors where all are.
std::size_t first_bad(const Inspection& inspection) {
    const auto found =
        std::ranges::find_if(inspection.tensors, [](const NamedCounts& each) { return !is_finite(each.counts); });
    return static_cast<std::size_t>(found - inspection.tensors.begin());
}

std::optional<TensorFinding> first_not_finite(const Inspection& inspection) {
    const std::size_t at = first_bad(inspection);
    if (at == inspection.tensors.size()) return std::nullopt;
    const TensorCounts& counts = inspection.tensors[at].counts;
    const std::string what =
        fmt::format("The first tensor that is not finite is {}{}: {} infinite and {} NaN among {} numbers.",
                    printable(inspection.tensors[at].name), at_step(inspection.inputs[at]), counts.infinities,
                    counts.nans, counts.count);
    if (counts.infinities > 0) {
        return TensorFinding{
            what,
            "An infinity is a number that left the range. If these are scaled gradients, lower the loss scale; to find "
            "the operation that gave it, train the net: `ulplab diagnose FILES --net NET.json`."};
    }
    return TensorFinding{
        what,
        "A NaN without an infinity beside it comes from inside the net (infinity minus infinity, 0/0, the root "
        "of a negative number): find the operation with `ulplab diagnose FILES --net NET.json`."};
}

using LargestByStep = std::vector<std::pair<std::int64_t, double>>;

/// Of each step whose tensors are all finite, the largest magnitude; steps up to the first one that is not.
LargestByStep largest_by_step(const Inspection& inspection) {
    const std::size_t bad = first_bad(inspection);
    LargestByStep largest;
    for (std::size_t i = 0; i < bad; ++i) {
        const std::optional<std::int64_t> step = inspection.inputs[i].step;
        if (!step || (bad < inspection.inputs.size() && step == inspection.inputs[bad].step)) continue;
        if (largest.empty() || largest.back().first != *step) largest.emplace_back(*step, 0);
        largest.back().second = std::max(largest.back().second, inspection.tensors[i].counts.absmax);
    }
    std::erase_if(largest, [](const auto& each) { return each.second == 0; });
    return largest;
}
const auto magnitude_of_step = [](const auto& each) { return each.second; };

std::optional<TensorFinding> growth(const Inspection& inspection) {
    const auto largest = largest_by_step(inspection);
    if (largest.size() < 2) return std::nullopt;
    const auto highest = std::ranges::max_element(largest, {}, magnitude_of_step);
    const double factor = highest->second / largest.front().second;
    if (factor < growth_told) return std::nullopt;
    return TensorFinding{
        fmt::format("The largest magnitude grew {:.3g} times, from {:.3g} in step {} to {:.3g} in step {}.", factor,
                    largest.front().second, largest.front().first, highest->second, highest->first),
        "Numbers that grow so fast leave any format in the end: lower the learning rate, warm it up, or clip "
        "the gradients, and compare with fp32 (`ulplab search format`) before you change a format."};
}

std::optional<TensorFinding> rounded_before(const Inspection& inspection) {
    std::int64_t subnormal = 0;
    std::int64_t all = 0;
    std::int64_t zeros = 0;
    for (std::size_t i = 0; i < inspection.tensors.size(); ++i) {
        const std::string& type = inspection.inputs[i].stored.type;
        if (type != "F16" && type != "<f2") continue;
        const TensorCounts& counts = inspection.tensors[i].counts;
        for (const auto& [exponent, binade] : counts.binades) {
            if (exponent < formats::fp16.emin()) subnormal += binade.numbers;
        }
        all += nonzeros(counts);
        zeros += counts.zeros;
    }
    if (all == 0 || static_cast<double>(subnormal) < subnormal_told * static_cast<double>(all)) return std::nullopt;
    return TensorFinding{
        fmt::format(
            "{} of the nonzero fp16 numbers in the files are subnormal in it, and {} numbers are zero: what they "
            "were before they were rounded is lost.",
            percent_of(subnormal, all), zeros),
        "Raise the loss scale, or dump gradients in fp32, and look again."};
}

/// Where infinities came of a loss scale, no finite number is left that would show how large it was.
bool gave_infinities(const Inspection& inspection, int carried) {
    return carried != 0 && inspection.all.infinities > 0 && *inspection.scale.largest >= 0;
}

/// What the finite steps before the first NaN leave for a loss scale, in files without an infinity. Exponents are
/// relative to the numbers in the files.
struct BeforeNan {
    LargestByStep steps;  // at least one
    double largest = 0;   // of all of them
    int growth = 0;       // binades from the first step's largest magnitude to the largest of all, rounded up
    int left = 0;         // binades by which the largest can grow within the target
    int largest_scale = 0;
};
std::optional<BeforeNan> before_nan(const Inspection& inspection, int carried) {
    if (inspection.all.nans == 0 || inspection.all.infinities > 0) return std::nullopt;
    BeforeNan before{largest_by_step(inspection)};
    if (before.steps.empty()) return std::nullopt;
    before.largest = std::ranges::max_element(before.steps, {}, magnitude_of_step)->second;
    while (std::ldexp(before.steps.front().second, before.growth) < before.largest) ++before.growth;
    before.left = largest_scale(before.largest, judged_format(inspection.target).format);
    // Room for the same growth again; and the present scale gave the NaN.
    before.largest_scale = std::min(before.left - before.growth, *inspection.scale.largest);
    if (carried != 0) before.largest_scale = std::min(before.largest_scale, -1);
    return before;
}

/// A scale that the numbers in the files allow: scale_headroom below the largest where the smallest allows it.
int within(const ScaleRange& scale, int largest) {
    return std::max(std::min(*scale.smallest, largest), largest - scale_headroom);
}

TensorFinding no_scale(const Inspection& inspection) {
    const ScaleRange& scale = inspection.scale;
    return {fmt::format("No loss scale fits {}: below 2^{} more than 0.1 % of the numbers become zero ({}), above 2^{} "
                        "numbers overflow ({}).",
                        inspection.target, *scale.smallest, first_names(scale.limits_smallest), *scale.largest,
                        first_names(scale.limits_largest)),
            "Use bf16, or scales per tensor or block (fp8, mxfp8), or keep the layers that limit the range in fp32."};
}

TensorFinding nan_scale(const Inspection& inspection, int carried) {
    const std::optional<BeforeNan> before = before_nan(inspection, carried);
    if (!before) {
        return {
            "No step before the first NaN is in the files with finite numbers alone: they say nothing of the loss "
            "scale.",
            "Dump the gradients of finite steps before it, as FILE_STEP."};
    }
    const auto& [first, at_first] = before->steps.front();
    const std::int64_t last = before->steps.back().first;
    std::string what =
        before->steps.size() == 1
            ? fmt::format("In step {}, the only finite one before, the largest magnitude is {:.6g}", first, at_first)
            : fmt::format(
                  "Over the {} finite steps before, {} to {}, the largest magnitude grew from {:.6g} to {:.6g} ({} "
                  "binades, rounded up)",
                  before->steps.size(), first, last, at_first, before->largest, before->growth);
    what += fmt::format("; {} binades are left to the largest number of {}.", before->left, inspection.target);
    const int most = carried + before->largest_scale;
    const char* const room = before->steps.size() == 1 ? "" : " and leaves room for the same growth again";
    if (carried == 0) {
        return {what,
                fmt::format("If a loss scale was used, keep it at 2^{} or below: that fits these steps{}. Give the "
                            "one that was used as --loss-scale.",
                            most, room)};
    }
    return {
        what,
        fmt::format(
            "Lower the loss scale to 2^{}, or use a dynamic one. At most 2^{} is below the present 2^{}{}. This rests "
            "on the finite steps and on a guess: that gradients inside the net overflowed, which the files do not "
            "hold.",
            carried + within(inspection.scale, before->largest_scale), most, carried, room)};
}

std::optional<TensorFinding> loss_scale(const Inspection& inspection, int carried) {
    const ScaleRange& scale = inspection.scale;
    if (!scale.smallest) {
        if (inspection.all.count == 0)
            return TensorFinding{"The files hold no numbers.", "Dump tensors that are not empty."};
        if (inspection.all.zeros == 0) return std::nullopt;
        return TensorFinding{
            "Every finite number in the files is zero.",
            "If these are gradients in fp16, all of them underflowed: use a loss scale, or dump them in fp32."};
    }
    if (!scale.recommended) return no_scale(inspection);
    if (inspection.all.nans > 0 && inspection.all.infinities == 0) return nan_scale(inspection, carried);
    const int smallest = *scale.smallest + carried;
    const int largest = *scale.largest + carried;
    const int recommended = *recommended_scale(inspection, carried);
    if (gave_infinities(inspection, carried)) {
        return TensorFinding{fmt::format("With the present loss scale of 2^{} numbers became infinite.", carried),
                             fmt::format("Lower the loss scale to 2^{}, or use a dynamic one.", recommended)};
    }
    const std::string range =
        fmt::format("In {}, loss scales from 2^{} to 2^{} fit these tensors", inspection.target, smallest, largest);
    const std::string here = carried == 0 ? "without one" : fmt::format("with the present 2^{}", carried);
    if (carried < smallest) {
        return TensorFinding{fmt::format("{}; {}, more than 0.1 % of the numbers become zero, most in {}.", range, here,
                                         first_names(scale.limits_smallest)),
                             fmt::format("Use a loss scale of 2^{}, or a dynamic one.", recommended)};
    }
    if (carried > largest) {
        return TensorFinding{
            fmt::format("{}; {}, numbers overflow in {}.", range, here, first_names(scale.limits_largest)),
            fmt::format("Lower the loss scale to 2^{}, or use a dynamic one.", recommended)};
    }
    return TensorFinding{fmt::format("{}; the present one, 2^{}, is among them.", range, carried), ""};
}

}  // namespace

std::string formats_sentence(const Inspection& inspection) {
    std::string good, bad;
    for (std::size_t f = 0; f < inspection.formats.size(); ++f) {
        const std::optional<FormatLoss>& loss = inspection.all.losses[f];
        if (!loss || loss->judged == 0) continue;
        const bool keeps = loss->overflow == 0 && loss->lost * 1000 <= nonzeros(inspection.all);
        const std::string snr = loss->snr_db() ? fmt::format(" ({:.3g} dB)", *loss->snr_db()) : "";
        std::string& list = keeps ? good : bad;
        list += (list.empty() ? "" : ", ") + inspection.formats[f].name + snr;
    }
    if (good.empty() && bad.empty()) return "";
    std::string what = good.empty() ? "None of the formats tried keeps the numbers as they are in the files"
                                    : "As they are in the files, the numbers are kept by " + good;
    if (!bad.empty()) what += "; more than 0.1 % are lost, or some overflow, in " + bad;
    return what + ".";
}

ScaleRange scale_to_use(const Inspection& inspection, int carried) {
    ScaleRange scale = inspection.scale;
    if (!scale.smallest) return scale;
    int largest = *scale.largest;
    if (const auto before = before_nan(inspection, carried)) {
        largest = before->largest_scale;
    } else if (gave_infinities(inspection, carried)) {
        largest = -1;
        scale.limits_largest.clear();
        for (const NamedCounts& each : inspection.tensors) {
            if (each.counts.infinities > 0) scale.limits_largest.push_back(each.name);
        }
    }
    if (scale.recommended) scale.recommended = carried + within(scale, largest);
    *scale.smallest += carried;
    scale.largest = carried + largest;
    return scale;
}

std::optional<int> recommended_scale(const Inspection& inspection, int carried) {
    return scale_to_use(inspection, carried).recommended;
}

std::vector<TensorFinding> findings_of(const Inspection& inspection, int carried) {
    std::vector<TensorFinding> findings;
    for (std::optional<TensorFinding>& each :
         std::vector{first_not_finite(inspection), growth(inspection), loss_scale(inspection, carried),
                     rounded_before(inspection)}) {
        if (each) findings.push_back(std::move(*each));
    }
    if (const std::string sentence = formats_sentence(inspection); !sentence.empty())
        findings.push_back({sentence, ""});
    std::stable_partition(findings.begin(), findings.end(),
                          [](const TensorFinding& each) { return !each.remedy.empty(); });
    return findings;
}

}  // namespace ulp
