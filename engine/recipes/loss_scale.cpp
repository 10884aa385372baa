#include "engine/recipes/loss_scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace ulp {

const std::vector<LossScaleOptions>& loss_scale_dialects() {
    static const std::vector<LossScaleOptions> rows = {
        {.dialect = "constant"},
        {.dialect = "pytorch", .dynamic = true, .initial = 0x1p16, .fp32 = true},
        {.dialect = "apex", .dynamic = true, .initial = 0x1p16, .maximum = 0x1p24},
        {.dialect = "fp16_utils", .dynamic = true, .initial = 0x1p32, .window = 1000, .minimum = 1},
        {.dialect = "fairseq", .dynamic = true, .initial = 0x1p15, .minimum = 1e-4, .error_at_minimum = true},
        {.dialect = "megatron", .dynamic = true, .initial = 0x1p32, .window = 1000, .minimum = 1, .hysteresis = 2},
        {.dialect = "deepspeed", .dynamic = true, .initial = 0x1p16, .window = 1000, .minimum = 1, .hysteresis = 2},
        {.dialect = "keras", .dynamic = true, .initial = 0x1p15},
    };
    return rows;
}

LossScaleOptions loss_scale_dialect(std::string_view name) {
    std::string known;
    for (const LossScaleOptions& row : loss_scale_dialects()) {
        if (row.dialect == name) return row;
        known += (known.empty() ? "" : ", ") + row.dialect;
    }
    throw std::invalid_argument(fmt::format("no loss scaler '{}'; there are {}", name, known));
}

LossScaleOptions constant_loss_scale(double scale) { return {.dialect = "constant", .initial = scale}; }

LossScale::LossScale(LossScaleOptions options)
    : options_(std::move(options)), scale_(options_.initial), hysteresis_left_(options_.hysteresis) {
    if (!(scale_ > 0) || std::isinf(scale_)) throw std::invalid_argument("a loss scale must be positive and finite");
    if (options_.dynamic && (!(options_.growth > 1) || !(options_.backoff > 0 && options_.backoff < 1))) {
        throw std::invalid_argument("a loss scale grows by a factor above 1 and backs off by one between 0 and 1");
    }
    if (options_.window < 1) throw std::invalid_argument("the window of a loss scale is at least 1 step");
}

void LossScale::update(bool overflow) {
    if (!options_.dynamic) return;
    if (overflow) {
        overflowed();
    } else {
        clean();
    }
    ++iteration_;
}

void LossScale::overflowed() {
    growth_tracker_ = 0;
    ++overflows_since_change_;
    const auto since_change = static_cast<double>(iteration_ - last_change_);
    if (static_cast<double>(overflows_since_change_) / since_change < options_.tolerance) return;
    if (hysteresis_left_ > 1) {
        --hysteresis_left_;
        return;
    }
    const double lowered = std::max(scale_ * options_.backoff, options_.minimum);
    if (options_.error_at_minimum && lowered <= options_.minimum) {
        throw std::runtime_error(
            fmt::format("the loss scale fell to its minimum {}: gradients overflow at any scale, so the loss is "
                        "probably infinite; lower the learning rate, clip gradients, or find the first infinity",
                        options_.minimum));
    }
    scale_ = options_.fp32 ? static_cast<float>(lowered) : lowered;
    last_change_ = iteration_;
    overflows_since_change_ = 0;
}

void LossScale::clean() {
    if (options_.consecutive_hysteresis) hysteresis_left_ = options_.hysteresis;
    if (++growth_tracker_ < options_.window) return;
    growth_tracker_ = 0;
    hysteresis_left_ = options_.hysteresis;
    double raised = scale_ * options_.growth;
    if (options_.maximum > 0) raised = std::min(raised, options_.maximum);
    if (options_.fp32) raised = static_cast<float>(raised);
    if (std::isinf(raised)) return;
    scale_ = raised;
    last_change_ = iteration_;
}

namespace {

/// The one list of what a scale remembers, for both directions.
template <class Number, class Function>
void each_entry(Number& scale, auto& tracker, auto& iteration, auto& change, auto& overflows, auto& hysteresis,
                const Function& f) {
    f("scale", scale);
    f("growth_tracker", tracker);
    f("iteration", iteration);
    f("last_change", change);
    f("overflows_since_change", overflows);
    f("hysteresis_left", hysteresis);
}

}  // namespace

std::map<std::string, double> LossScale::state() const {
    std::map<std::string, double> state = {{"growth_factor", options_.growth},
                                           {"backoff_factor", options_.backoff},
                                           {"growth_interval", static_cast<double>(options_.window)}};
    each_entry(scale_, growth_tracker_, iteration_, last_change_, overflows_since_change_, hysteresis_left_,
               [&](const char* name, auto value) { state[name] = static_cast<double>(value); });
    return state;
}

void LossScale::load(const std::map<std::string, double>& state) {
    const auto take = [&](const char* name) {
        const auto entry = state.find(name);
        if (entry == state.end()) throw std::invalid_argument(fmt::format("the scaler's state lacks '{}'", name));
        const double value = entry->second;
        const bool is_scale = std::string_view(name) == "scale";
        // Counters are exact in fp64 up to 2^53; a scale multiplies numbers of fp32.
        if (std::abs(value) <= (is_scale ? 0x1p127 : 0x1p53) && (value > 0 || !is_scale)) return value;
        throw std::invalid_argument(fmt::format("the scaler's '{}' is {}, not a {} number", name, value,
                                                is_scale ? "positive fp32" : "finite"));
    };
    options_.growth = take("growth_factor");
    options_.backoff = take("backoff_factor");
    options_.window = static_cast<std::int64_t>(take("growth_interval"));
    each_entry(scale_, growth_tracker_, iteration_, last_change_, overflows_since_change_, hysteresis_left_,
               [&](const char* name, auto& value) {
                   value = static_cast<std::remove_reference_t<decltype(value)>>(take(name));
               });
    if (state.size() != this->state().size()) {
        throw std::invalid_argument("the scaler's state has entries that no scaler knows");
    }
}

}  // namespace ulp
