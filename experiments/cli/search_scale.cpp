// `ulplab search scale`: which constant loss scales 2^n work, predicted from the gradients of one run in fp32, and
// measured.
#include "experiments/cli/search_parts.hpp"
#include "softfloat/names.hpp"
#include "softfloat/round.hpp"

namespace ulp {
namespace {

struct ScaleOptions : SearchOptions {
    std::optional<std::int64_t> from, to;
    std::int64_t every = 1;
};

constexpr int least_exponent = -60, most_exponent = 60;

/// Nonzero gradients of a tensor that 2^n leaves below half of the format's smallest number.
double lost_share(const GradientCounts& tensor, const FloatFormat& format, int n) {
    std::int64_t lost = 0;
    std::int64_t all = 0;
    for (const auto& [exponent, count] : tensor.exponents) {
        all += count;
        lost += exponent + n < format.smallest_exponent() - 1 ? count : 0;
    }
    return all == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(all);
}

bool is_too_large(float gradient, const FloatFormat& format, int n) {
    return !std::isfinite(round_to(format, std::ldexp(static_cast<double>(gradient), n)));
}

/// Between these no tensor loses more than half of its nonzero gradients, and none overflows.
struct PredictedScales {
    int smallest = least_exponent, largest = most_exponent;
    std::string limits_smallest{}, limits_largest{};  // tensors

    PredictedScales(const std::map<std::string, GradientCounts>& gradients, const FloatFormat& format) {
        for (const auto& [name, tensor] : gradients) {
            if (tensor.exponents.empty()) continue;
            int low = least_exponent;
            while (low < most_exponent && lost_share(tensor, format, low) > 0.5) ++low;
            int high = most_exponent;
            while (high > least_exponent && is_too_large(tensor.largest, format, high)) --high;
            if (low > smallest || limits_smallest.empty()) smallest = low, limits_smallest = name;
            if (high < largest || limits_largest.empty()) largest = high, limits_largest = name;
        }
    }
};

struct MeasuredScale {
    int exponent;
    double difference;  // from fp32, the worst seed
};

/// The longest run of neighbours that work, as indices [first, last).
std::pair<std::size_t, std::size_t> longest_working(const std::vector<MeasuredScale>& scales, double room) {
    std::pair<std::size_t, std::size_t> best{0, 0};
    std::size_t first = 0;
    for (std::size_t i = 0; i < scales.size(); ++i) {
        if (!(scales[i].difference <= room)) first = i + 1;
        if (i + 1 - first > best.second - best.first && i + 1 > first) best = {first, i + 1};
    }
    return best;
}

std::vector<int> exponents_of(const ScaleOptions& options, const PredictedScales& predicted) {
    constexpr int beyond = 4;  // powers of two measured on both sides of the prediction
    const auto [low, high] = std::minmax(predicted.smallest, predicted.largest);
    const std::int64_t from = options.from.value_or(std::max(least_exponent, low - beyond));
    const std::int64_t to = options.to.value_or(std::min(most_exponent, high + beyond));
    if (from > to) throw UsageError(fmt::format("--from ({}) is greater than --to ({})", from, to));
    std::vector<int> exponents;
    for (std::int64_t n = from; n <= to; n += options.every) exponents.push_back(static_cast<int>(n));
    return exponents;
}

ExitCode report_scales(const std::vector<MeasuredScale>& scales, const ScaleOptions& options,
                       const SearchReference& reference, const PredictedScales& predicted) {
    const std::string room = room_text(options, reference);
    fmt::print("  {:<8} {:>16}\n", "scale", "loss - fp32");
    for (const MeasuredScale& scale : scales) {
        fmt::print("  2^{:<6} {:>16}  {}\n", scale.exponent, difference_text(scale.difference),
                   scale.difference <= reference.room ? "works" : "fails");
    }
    const auto [first, last] = longest_working(scales, reference.room);
    if (first == last) {
        fmt::print(
            "Nothing found: no loss scale from 2^{} to 2^{} keeps the loss within the margin ({}). `ulplab search "
            "fp32` may name operations to keep in fp32, or a format with more exponents (bf16) helps.\n",
            scales.front().exponent, scales.back().exponent, room);
        return ExitCode::claim_failed;
    }
    const int smallest = scales[first].exponent;
    const int largest = scales[last - 1].exponent;
    fmt::print("Loss scales from 2^{} to 2^{} work (margin {}, every one of {} seeds); predicted were 2^{} to 2^{}.\n",
               smallest, largest, room, options.seeds, predicted.smallest, predicted.largest);
    if (first == 0) fmt::print("Smaller ones than 2^{} were not tried: see --from.\n", smallest);
    if (last == scales.size()) fmt::print("Larger ones than 2^{} were not tried: see --to.\n", largest);
    const int within = std::min(largest, predicted.largest);
    fmt::print("Recommended: 2^{}, {} below the largest that works.\n", std::max(smallest, within - 2),
               largest - std::max(smallest, within - 2));
    return ExitCode::good;
}

ExitCode search_scale(const ScaleOptions& options) {
    for (const auto& bound : {options.from, options.to}) {
        if (bound && (*bound < least_exponent || *bound > most_exponent)) {
            throw UsageError(fmt::format("--from and --to are exponents from {} to {}, not {}", least_exponent,
                                         most_exponent, *bound));
        }
    }
    if (options.every < 1) throw UsageError(fmt::format("--every is {}; give at least 1", options.every));
    const NetDescription net = net_of(options.net);
    Recipe recipe = announced_recipe(options);
    recipe.loss_scale = constant_loss_scale(0x1p1);
    require_scalable(recipe, "search scale");
    require_operations(options, operations_of(net, task_of(net, options, options.seed)));
    Trials trials = trials_of(options, net);
    const std::string backend = backend_for(options, recipe);
    const auto reference = reference_of(trials, options, true);
    if (!reference) return ExitCode::claim_failed;
    const PredictedScales predicted(reference->results.front().gradients, recipe.low);
    fmt::print("predicted for {} from the gradients of fp32, seed {}:\n", name_of(recipe.low), options.seed);
    fmt::print("  smallest 2^{:<4} no tensor loses more than half of its gradients; limited by {}\n",
               predicted.smallest, predicted.limits_smallest);
    fmt::print("  largest  2^{:<4} no gradient overflows; limited by {}\n", predicted.largest,
               predicted.limits_largest);
    const std::vector<int> exponents = exponents_of(options, predicted);
    std::vector<Trial> runs;
    for (const int n : exponents) {
        recipe.loss_scale = constant_loss_scale(std::ldexp(1.0, n));
        const std::vector<Trial> seeds =
            trials.over_seeds({{fmt::format("{}, loss scale 2^{}", recipe.name, n), recipe, backend}}, options.seeds);
        runs.insert(runs.end(), seeds.begin(), seeds.end());
    }
    const std::vector<TrialResult> results = trials.results(runs);
    std::vector<MeasuredScale> scales;
    for (std::size_t i = 0; i < exponents.size(); ++i) {
        const auto seeds = static_cast<std::ptrdiff_t>(options.seeds);
        const auto first = results.begin() + static_cast<std::ptrdiff_t>(i) * seeds;
        scales.push_back({exponents[i], worst_difference({first, first + seeds}, *reference)});
    }
    return report_scales(scales, options, *reference, predicted);
}

}  // namespace

Action declare_search_scale(OptionParser& app) {
    const auto options = std::make_shared<ScaleOptions>();
    declare_search(app, *options);
    declare_arithmetic(app, *options);
    app.add_option("--from", options->from, "exponent of the smallest scale; default 4 below the prediction");
    app.add_option("--to", options->to, "exponent of the largest scale; default 4 above the prediction");
    app.add_option("--every", options->every, "distance of the exponents").capture_default_str();
    return [options] { return search_scale(*options); };
}

}  // namespace ulp
