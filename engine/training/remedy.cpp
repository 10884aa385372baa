#include "engine/training/remedy.hpp"

#include <algorithm>
#include <cmath>

namespace ulp::inline ULPLAB_MODE {
namespace {

constexpr int least_exponent = -64;  // of the loss scales that are tried
constexpr std::size_t most_operations = 8;

/// "multiply" of "block/multiply_3".
std::string operation_of(const std::string& label) {
    std::string name = label.substr(label.rfind('/') + 1);
    const std::size_t underscore = name.rfind('_');
    const bool numbered = underscore != std::string::npos && underscore + 1 < name.size() &&
                          name.find_first_not_of("0123456789", underscore + 1) == std::string::npos;
    return numbered ? name.substr(0, underscore) : name;
}

/// The exponent of the largest power of two below x.
int exponent_below(double x) {
    int exponent = 0;
    return std::frexp(x, &exponent) == 0.5 ? exponent - 2 : exponent - 1;
}

/// The largest power of two with which the step is finite, by halving the exponents between.
std::optional<Remedy> smaller_scale(const Recipe& recipe, double scale, const StepAgain& again) {
    const auto is_finite = [&](int exponent) { return !again(recipe, std::ldexp(1.0, exponent)); };
    int too_large = exponent_below(scale) + 1;
    int finite = std::min(least_exponent, too_large - 1);
    if (!is_finite(finite)) return std::nullopt;
    while (too_large - finite > 1) {
        const int middle = (finite + too_large) / 2;
        (is_finite(middle) ? finite : too_large) = middle;
    }
    return Remedy{.kind = Remedy::Kind::loss_scale, .limit = std::ldexp(1.0, finite)};
}

std::optional<Remedy> in_fp32(const NonFinite& found, const Engine& engine, double scale, const StepAgain& again) {
    Remedy remedy{.kind = Remedy::Kind::in_fp32};
    std::optional<NonFinite> next = found;
    while (next && remedy.operations.size() < most_operations) {
        const std::string op = operation_of(next->label);
        if (std::ranges::count(remedy.operations, op) == 0) {
            remedy.operations.push_back(op);
        } else if (!remedy.products && engine.backend->has_product({formats::fp32, formats::fp32})) {
            remedy.products = true;
        } else {
            return std::nullopt;
        }
        next = again(with_remedy(engine.recipe, remedy), scale);
    }
    if (next) return std::nullopt;
    return remedy;
}

}  // namespace

bool depends_on_scale(const NonFinite& found) {
    return found.pass.starts_with("backward") || found.pass == "unscale" || operation_of(found.label) == "scale";
}

Recipe with_remedy(Recipe recipe, const Remedy& remedy) {
    if (remedy.kind == Remedy::Kind::loss_scale) recipe.loss_scale = constant_loss_scale(remedy.limit);
    for (const std::string& op : remedy.operations) {
        std::erase_if(recipe.cast_rules, [&](const CastRule& rule) { return rule.op == op; });
        recipe.cast_rules.push_back({op, Cast::single});
    }
    if (remedy.products) recipe.operand = recipe.accumulator = formats::fp32;
    return recipe;
}

Remedy remedy_of_step(const NonFinite& found, const Engine& engine, double loss_scale, const StepAgain& again) {
    std::optional<Remedy> remedy;
    const bool dynamic = engine.recipe.loss_scale.dynamic;  // then smaller scales were tried
    if (depends_on_scale(found) && !dynamic) remedy = smaller_scale(engine.recipe, loss_scale, again);
    if (!remedy && found.pass != "given") remedy = in_fp32(found, engine, loss_scale, again);
    return remedy.value_or(Remedy{});
}

namespace {

/// Whether the step is finite with the options that `change` sets; leaves the optimizer behind it.
template <class Change>
bool is_finite_with(Optimizer& optimizer, const Optimizer::Snapshot& before, const Change& change) {
    bool finite = true;
    optimizer.restore(before);
    change();
    optimizer.on_nonfinite = [&](const NonFinite&) { finite = false; };
    optimizer.step();
    return finite;
}

/// The smallest power of two as eps with which the updates are no larger than the optimizer's own rule has them, but
/// for the rounding of its steps.
std::optional<Remedy> larger_eps(Optimizer& optimizer, const Optimizer::Snapshot& before) {
    const OptimizerOptions& options = before.options;
    const OptimizerRow& row = row_of(options.kind);
    const double bound = row.own_bound(options);
    if (bound == 0) return std::nullopt;
    double largest_weight = 0;
    for (const Parameter& parameter : before.parameters) {
        for (const Real w : parameter.updated().values()) {
            largest_weight = std::max(largest_weight, static_cast<double>(std::abs(w)));
        }
    }
    const double decay = row.decays_weights ? options.weight_decay * largest_weight : 0;
    const FloatFormat& format = optimizer.model().recipe().update;
    const double rounded = 1 + std::ldexp(4.0, -format.fraction_bits - 1);  // the rate, the quotient and their product
    for (int exponent = format.smallest_exponent(); exponent <= format.emax(); ++exponent) {
        const double eps = std::ldexp(1.0, exponent);
        const bool finite = is_finite_with(optimizer, before, [&] { optimizer.set_eps(eps); });
        const double largest = optimizer.counts().largest / options.learning_rate;
        if (!finite || !(largest <= (bound + decay) * rounded)) continue;
        return Remedy{.kind = Remedy::Kind::eps, .limit = eps, .operations = {}, .largest_update = largest};
    }
    return std::nullopt;
}

/// Halves until the step is finite.
std::optional<Remedy> smaller_rate(Optimizer& optimizer, const Optimizer::Snapshot& before) {
    for (int halvings = 1; halvings <= -least_exponent; ++halvings) {
        const double rate = std::ldexp(before.options.learning_rate, -halvings);
        if (is_finite_with(optimizer, before, [&] { optimizer.set_learning_rate(rate); })) {
            return Remedy{.kind = Remedy::Kind::learning_rate, .limit = rate};
        }
    }
    return std::nullopt;
}

}  // namespace

Remedy remedy_of_update(Optimizer& optimizer, const Optimizer::Snapshot& before) {
    const FoundInUpdate reported = optimizer.on_nonfinite;
    std::optional<Remedy> remedy = larger_eps(optimizer, before);
    if (!remedy) remedy = smaller_rate(optimizer, before);
    optimizer.restore(before);
    optimizer.on_nonfinite = reported;
    return remedy.value_or(Remedy{});
}

}  // namespace ulp::inline ULPLAB_MODE
