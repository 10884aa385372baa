#include "engine/training/run_identity.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <type_traits>

#include "softfloat/names.hpp"

namespace ulp {
namespace {

template <class Enum>
requires std::is_enum_v<Enum> std::string text_of(Enum value) { return fmt::format("{}", static_cast<int>(value)); }
std::string text_of(const std::string& text) { return text; }
std::string text_of(bool flag) { return flag ? "true" : "false"; }
template <class Number>
requires std::is_arithmetic_v<Number> std::string text_of(Number number) {
    return fmt::format("{}", number);  // the shortest text that reads back as the same number
}
std::string text_of(const FloatFormat& f) {
    const auto known = named_formats();
    if (std::ranges::find(known, f, &NamedFormat::format) != known.end()) return name_of(f);
    return fmt::format("{} bias {} specials {} sign {} subnormals {} padding {} unused {}{}", name_of(f), f.bias,
                       text_of(f.specials), f.has_sign, f.has_subnormals, f.padding_bits, f.unused_exponents,
                       f.largest_for_infinity ? " largest" : "");
}
std::string text_of(const CastRule& rule) { return fmt::format("{}={}", rule.op, text_of(rule.cast)); }
std::string text_of(const Context& c) {
    return fmt::format("rounding {} tininess {} flush {} {} saturate {} random {} {} {} {} {}", text_of(c.rounding),
                       text_of(c.tininess), c.flush_inputs, c.flush_outputs,
                       c.saturate.mode == Saturation::sat_propagate ? "propagate" : text_of(bool(c.saturate)),
                       c.random_bits, c.random, c.seed, c.stream, c.first);
}
std::string text_of(const StateFormat& kept) { return text_of(kept.format) + (kept.scaled ? " scaled" : ""); }
template <class T>
std::string text_of(const std::optional<T>& value) {
    return value ? text_of(*value) : "none";
}
template <class T>
std::string text_of(const std::vector<T>& values) {
    std::string text;
    for (const T& value : values) text += (text.empty() ? "" : " ") + text_of(value);
    return text.empty() ? "none" : text;
}

/// Names fields one after the other.
class Fields {
  public:
    explicit Fields(std::string prefix) : prefix_(std::move(prefix)) {}
    template <class T>
    Fields& add(const char* name, const T& value) {
        rows_.emplace_back(prefix_ + name, text_of(value));
        return *this;
    }
    Fields& add(RunIdentity more) {
        std::ranges::move(more, std::back_inserter(rows_));
        return *this;
    }
    RunIdentity rows() { return std::move(rows_); }

  private:
    std::string prefix_;
    RunIdentity rows_;
};

RunIdentity identity_of(const LossScaleOptions& options) {
    // Each list of names below is all fields of its struct: a new one does not compile until it is named here, too.
    const auto& [dialect, dynamic, initial, growth, backoff, window, minimum, maximum, fp32, error_at_minimum,
                 hysteresis, consecutive_hysteresis, tolerance] = options;
    return Fields("loss_scale.")
        .add("dialect", dialect)
        .add("dynamic", dynamic)
        .add("initial", initial)
        .add("growth", growth)
        .add("backoff", backoff)
        .add("window", window)
        .add("minimum", minimum)
        .add("maximum", maximum)
        .add("fp32", fp32)
        .add("error_at_minimum", error_at_minimum)
        .add("hysteresis", hysteresis)
        .add("consecutive_hysteresis", consecutive_hysteresis)
        .add("tolerance", tolerance)
        .rows();
}

}  // namespace

RunIdentity identity_of(const Recipe& recipe) {
    const auto& [name, what, low, weights, inputs, compute, operand, b_operand, accumulator, update, state,
                 update_rounding, products, excluded, master_weights, statistics, keep_batchnorm_fp32, cast_rules,
                 loss_scale, rounding, fused] = recipe;
    static_cast<void>(what);  // says nothing of the bits
    return Fields("recipe.")
        .add("name", name)
        .add("low", low)
        .add("weights", weights)
        .add("inputs", inputs)
        .add("compute", compute)
        .add("operand", operand)
        .add("b_operand", b_operand)
        .add("accumulator", accumulator)
        .add("update", update)
        .add("state.weight", state.weight)
        .add("state.master", state.master)
        .add("state.gradient", state.gradient)
        .add("state.m", state.m)
        .add("state.v", state.v)
        .add("state.linear_weights_only", state.linear_weights_only)
        .add("update_rounding", update_rounding)
        .add("fprop", products.fprop)
        .add("dgrad", products.dgrad)
        .add("wgrad", products.wgrad)
        .add("excluded", excluded)
        .add("master_weights", master_weights)
        .add("statistics", statistics)
        .add("keep_batchnorm_fp32", keep_batchnorm_fp32)
        .add("cast_rules", cast_rules)
        .add("rounding", rounding)
        .add("fused", fused)
        .add(identity_of(loss_scale))
        .rows();
}

RunIdentity identity_of(const OptimizerOptions& options) {
    const auto& [kind, learning_rate, momentum, nesterov, beta1, beta2, alpha, eps, rho, weight_decay, rounding, seed] =
        options;
    return Fields("optimizer.")
        .add("kind", std::string(name_of(kind)))
        .add("learning_rate", learning_rate)
        .add("momentum", momentum)
        .add("nesterov", nesterov)
        .add("beta1", beta1)
        .add("beta2", beta2)
        .add("alpha", alpha)
        .add("eps", eps)
        .add("rho", rho)
        .add("weight_decay", weight_decay)
        .add("rounding", rounding)
        .add("seed", seed)
        .rows();
}

RunIdentity identity_of(const std::optional<AverageOptions>& options) {
    if (!options) return Fields("average.").add("decay", std::string("none")).rows();
    const auto& [decay, format, rounding, seed] = *options;
    return Fields("average.")
        .add("decay", decay)
        .add("format", format)
        .add("rounding", rounding)
        .add("seed", seed)
        .rows();
}

RunIdentity identity_of(const Trainer& trainer) {
    return Fields("")
        .add("ulplab", std::string(ULPLAB_VERSION))
        .add("seed", trainer.run().seed)
        .add("backend", trainer.engine().backend->identity())
        .add(identity_of(trainer.engine().recipe))
        .add(identity_of(trainer.optimizer_options()))
        .add(identity_of(trainer.averages() ? std::optional(trainer.averages()->options()) : std::nullopt))
        .rows();
}

namespace {

/// Options are stored by the names that they had in 0.2.0.
std::string_view shown(std::string_view stored) {
    if (stored == "--backend") return "--unit";
    if (stored == "--scaler") return "--loss-scale";
    return stored;
}

}  // namespace

std::optional<std::string> first_difference(const std::map<std::string, std::string>& made, const RunIdentity& here) {
    for (const auto& [name, value] : here) {
        const auto entry = made.find(name);
        if (entry == made.end())
            return fmt::format("the checkpoint was made without {0}, this run has {0} {1}", shown(name), value);
        if (entry->second != value) {
            return fmt::format("the checkpoint was made with {0} {1}, this run has {0} {2}", shown(name), entry->second,
                               value);
        }
    }
    for (const auto& [name, value] : made) {
        const auto known = std::ranges::find(here, name, &RunIdentity::value_type::first);
        if (known == here.end())
            return fmt::format("the checkpoint was made with {0} {1}, this run has no {0}", shown(name), value);
    }
    return std::nullopt;
}

}  // namespace ulp
