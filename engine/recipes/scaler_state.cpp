#include "engine/recipes/scaler_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <vector>

namespace ulp {
namespace {

/// LossScale::state(): every number that a scaler remembers.
using Own = std::map<std::string, double>;

enum class Domain : std::uint8_t { scale, factor_up, factor_down, count, step, flag };

/// A field as a library names it, and its way from and to our numbers.
struct Field {
    std::string name;
    Domain domain;
    std::function<double(const Own&)> get;
    std::function<void(Own&, double)> set;
};

Field same(const std::string& name, Domain domain, const std::string& own) {
    return {name, domain, [own](const Own& s) { return s.at(own); }, [own](Own& s, double x) { s[own] = x; }};
}

/// The factor that libraries of one number both multiply and divide by.
Field one_factor() {
    return {"scale_factor", Domain::factor_up, [](const Own& s) { return s.at("growth_factor"); },
            [](Own& s, double x) {
                s["growth_factor"] = x;
                s["backoff_factor"] = 1 / x;
            }};
}

/// The iteration of the last overflow; these libraries grow where the steps since then are a multiple of the window,
/// so that a growth in between does not show and any iteration a multiple of the window earlier means the same.
Field last_overflow() {
    return {"last_overflow_iter", Domain::step,
            [](const Own& s) { return s.at("iteration") - 1 - s.at("growth_tracker"); },
            [](Own& s, double x) { s["growth_tracker"] = std::fmod(s["iteration"] - 1 - x, s["growth_interval"]); }};
}

/// Megatron counts on below 0, where nothing more happens.
Field hysteresis() {
    return {"hysteresis_tracker", Domain::step, [](const Own& s) { return s.at("hysteresis_left"); },
            [](Own& s, double x) { s["hysteresis_left"] = std::max(x, 1.0); }};
}

Field dynamic() {
    return {"dynamic_loss_scale", Domain::flag, [](const Own&) { return 1.0; }, [](Own&, double) {}};
}

/// In the order in which they are to be set.
const std::vector<std::pair<std::string, std::vector<Field>>>& dialects() {
    using enum Domain;
    static const std::vector<std::pair<std::string, std::vector<Field>>> rows = {
        {"constant", {same("scale", scale, "scale")}},
        {"pytorch",
         {same("scale", scale, "scale"), same("growth_factor", factor_up, "growth_factor"),
          same("backoff_factor", factor_down, "backoff_factor"), same("growth_interval", count, "growth_interval"),
          same("_growth_tracker", count, "growth_tracker")}},
        {"apex", {same("loss_scale", scale, "scale"), same("unskipped", count, "growth_tracker")}},
        {"fp16_utils",
         {same("cur_scale", scale, "scale"), same("cur_iter", count, "iteration"), one_factor(),
          same("scale_window", count, "growth_interval"), last_overflow()}},
        {"fairseq", {same("loss_scale", scale, "scale")}},
        {"megatron", {same("scale", scale, "scale"), same("growth_tracker", count, "growth_tracker"), hysteresis()}},
        {"deepspeed",
         {dynamic(), same("cur_scale", scale, "scale"), same("cur_iter", count, "iteration"), one_factor(),
          same("scale_window", count, "growth_interval"), last_overflow()}},
        {"keras", {same("current_loss_scale", scale, "scale"), same("good_steps", count, "growth_tracker")}},
    };
    return rows;
}

const std::vector<Field>& fields_of(const std::string& dialect) {
    for (const auto& [name, fields] : dialects()) {
        if (name == dialect) return fields;
    }
    throw std::invalid_argument(fmt::format("the scaler '{}' has no state dict of its own", dialect));
}

bool has_names(const std::vector<Field>& fields, const ScalerStateDict& state) {
    return state.size() == fields.size() &&
           std::ranges::all_of(fields, [&](const Field& field) { return state.contains(field.name); });
}

/// "; these are the names of deepspeed's", where they are somebody's.
std::string whose(const ScalerStateDict& state) {
    for (const auto& [dialect, fields] : dialects()) {
        if (has_names(fields, state)) return fmt::format("; these are the names of the '{}' scaler", dialect);
    }
    return "";
}

void require_names(const std::string& dialect, const std::vector<Field>& fields, const ScalerStateDict& state) {
    for (const Field& field : fields) {
        if (state.contains(field.name)) continue;
        throw std::invalid_argument(
            fmt::format("the state of a '{}' scaler lacks '{}'{}", dialect, field.name, whose(state)));
    }
    for (const auto& entry : state) {
        const std::string& name = entry.first;
        const bool known = std::ranges::any_of(fields, [&](const Field& field) { return field.name == name; });
        if (!known) {
            throw std::invalid_argument(
                fmt::format("the state of a '{}' scaler has no '{}'{}", dialect, name, whose(state)));
        }
    }
}

void require_value(const Field& field, double x) {
    const auto refuse = [&](const char* what) {
        throw std::invalid_argument(fmt::format("'{}' is {}, where {} belongs", field.name, x, what));
    };
    const bool whole = std::isfinite(x) && x == std::floor(x);
    switch (field.domain) {
        case Domain::scale:
            if (!(x > 0) || std::isinf(x)) refuse("a positive finite scale");
            break;
        case Domain::factor_up:
            if (!(x > 1) || std::isinf(x)) refuse("a factor above 1");
            break;
        case Domain::factor_down:
            if (!(x > 0 && x < 1)) refuse("a factor between 0 and 1");
            break;
        case Domain::count:
            if (!whole || x < 0) refuse("a whole number from 0 on");
            break;
        case Domain::step:
            if (!whole) refuse("a whole number");
            break;
        case Domain::flag:
            if (x != 1) refuse("1 (a constant scale is the 'constant' scaler)");
            break;
    }
}

}  // namespace

ScalerStateDict scaler_state_dict(const LossScale& scale) {
    const Own own = scale.state();
    ScalerStateDict state;
    for (const Field& field : fields_of(scale.options().dialect)) state[field.name] = field.get(own);
    return state;
}

void load_scaler_state_dict(LossScale& scale, const ScalerStateDict& state) {
    const std::string& dialect = scale.options().dialect;
    const std::vector<Field>& fields = fields_of(dialect);
    require_names(dialect, fields, state);
    for (const Field& field : fields) require_value(field, state.at(field.name));
    for (const char* window : {"scale_window", "growth_interval"}) {
        if (state.contains(window) && state.at(window) < 1) {
            throw std::invalid_argument(fmt::format("'{}' is at least 1 step", window));
        }
    }
    if (state.contains("last_overflow_iter") && state.at("last_overflow_iter") >= std::max(state.at("cur_iter"), 0.5)) {
        throw std::invalid_argument("'last_overflow_iter' lies before 'cur_iter'");
    }
    Own own = LossScale(scale.options()).state();  // what the library leaves out starts afresh
    for (const Field& field : fields) field.set(own, state.at(field.name));
    scale.load(own);
}

}  // namespace ulp
