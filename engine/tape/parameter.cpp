#include "engine/tape/parameter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "engine/tensor/random.hpp"
#include "engine/tensor/rounder.hpp"
#include "softfloat/names.hpp"

namespace ulp::inline ULPLAB_MODE {

void keep_in(const StateFormat& kept, const Context& rounding, Tensor& tensor) {
    if (!kept.scaled) return tensor.round_to_format({kept.format, rounding});
    float amax = 0;
    for (const Real x : tensor.values()) {
        if (!std::isfinite(x)) return;
        amax = std::max(amax, std::abs(static_cast<float>(x)));
    }
    const Real scale = power_of_two_scale(kept.format, amax);
    for (Real& x : tensor.values()) x *= scale;
    round_all(kept.format, tensor.values(), results_of(rounding));
    for (Real& x : tensor.values()) x /= scale;
}

void Parameter::publish(const Context& rounding) {
    if (master.empty()) return;
    const FloatFormat format = value.format();
    value = master;
    round_value(format, rounding);
}

/// Onto the grid in which it is kept, then on its format's, which holds that grid but for its smallest numbers.
void Parameter::round_value(const FloatFormat& format, const Context& rounding) {
    if (kept_value) {
        keep_in(*kept_value, rounding, value);
        value.set_format(container_format);
    }
    value.round_to_format({format, rounding});
}

void Parameter::assign(const Tensor& numbers) {
    if (numbers.shape() != value.shape()) {
        throw std::invalid_argument(
            fmt::format("{} has the shape {}, not {}", name, text_of(value.shape()), text_of(numbers.shape())));
    }
    const auto take = [&](Tensor& tensor) {
        tensor = numbers;
        tensor.set_format(container_format);  // what they are is not known
    };
    if (!master.empty()) {
        take(master);
        master.round_to_format(recipe->stored(update));
        if (kept_master) keep_in(*kept_master, recipe->rounding, master);
    }
    if (kept_value && !master.empty()) return publish(recipe->rounding);
    const FloatFormat format = value.format();
    take(value);
    round_value(format, recipe->rounding);
}

struct Initialisation::Row {
    std::string_view name;
    Init::Kind kind;
    double numerator;  // of the squared bound or deviation; 0: the number is given, or 0
    bool both_fans;
};

std::span<const Initialisation::Row> Initialisation::rows() {
    static constexpr Row table[] = {
        {"kaiming_uniform", Init::Kind::uniform, 6, false}, {"kaiming_normal", Init::Kind::normal, 2, false},
        {"xavier_uniform", Init::Kind::uniform, 6, true},   {"xavier_normal", Init::Kind::normal, 2, true},
        {"normal", Init::Kind::normal, 0, false},           {"zeros", Init::Kind::constant, 0, false}};
    return table;
}

std::string Initialisation::names() {
    std::string names = "default";
    for (const Row& row : rows()) names.append(", ").append(row.name).append(row.name == "normal" ? ":DEVIATION" : "");
    return names;
}

Initialisation::Initialisation(std::string_view name) {
    if (name == "default") return;
    const std::string_view word = name.substr(0, name.find(':'));
    for (const Row& row : rows()) {
        if (row.name == word) row_ = &row;
    }
    const std::string number(name.size() > word.size() ? name.substr(word.size() + 1) : "");
    if (row_ != nullptr && row_->name == "normal") {
        const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), deviation_);
        const bool whole = error == std::errc() && end == number.data() + number.size();
        if (whole && deviation_ >= 0 && std::isfinite(deviation_)) return;
    } else if (row_ != nullptr && word.size() == name.size()) {
        return;
    }
    throw std::invalid_argument(fmt::format("no initialisation '{}'; there are {}", name, names()));
}

Init Initialisation::of(const Shape& shape, const Init& asked) const {
    if (row_ == nullptr || asked.kind == Init::Kind::constant) return asked;
    if (shape.size() < 2) return Init::constant(0);
    if (row_->numerator == 0) return {row_->kind, deviation_};
    const double behind = static_cast<double>(volume(shape)) / static_cast<double>(shape[0] * shape[1]);
    const double fan_in = static_cast<double>(shape[1]) * behind;
    const double fan_out = static_cast<double>(shape[0]) * behind;
    return {row_->kind, std::sqrt(row_->numerator / (row_->both_fans ? fan_in + fan_out : fan_in))};
}

Init Init::fan_in(Index inputs) { return uniform(1 / std::sqrt(static_cast<double>(inputs))); }

namespace {

/// A parameter's first numbers, as fp32 (fp64 in fp64 mode).
Tensor drawn(Shape shape, Init init, Random random) {
    Tensor tensor(std::move(shape));
    for (Real& x : tensor.values()) {
        double number = init.scale;
        if (init.kind == Init::Kind::uniform) number = random.uniform(-init.scale, init.scale);
        if (init.kind == Init::Kind::normal) number = init.scale * random.normal();
        x = static_cast<Real>(number);
    }
    return tensor;
}

}  // namespace

Parameter& Model::add(const std::string& name, Shape shape, Init init, ParameterKind kind) {
    for (const Parameter& other : parameters_) {
        if (other.name == name) throw std::invalid_argument(fmt::format("the model already has a parameter {}", name));
    }
    Parameter& parameter = parameters_.emplace_back();
    parameter.name = name;
    parameter.recipe = &recipe_;
    parameter.of_linear_layer = kind == ParameterKind::linear_weight;
    const bool fp32 = kind == ParameterKind::batch_norm && recipe_.keep_batchnorm_fp32;
    const FloatFormat format = fp32 ? container_format : recipe_.weights;
    const Tensor numbers = drawn(shape, initialisation_.of(shape, init), Random(seed_, name));
    parameter.value = Tensor(shape, format);
    parameter.update = fp32 ? format : recipe_.update;
    if (recipe_.master_weights && format != parameter.update) parameter.master = numbers;
    const OptimizerState& state = recipe_.state;
    if (!state.linear_weights_only || kind == ParameterKind::linear_weight) {
        parameter.kept_value = state.weight, parameter.kept_master = state.master;
        parameter.kept_gradient = state.gradient;
    }
    parameter.assign(numbers);
    return parameter;
}

BatchStatistics& Model::add_statistics(const std::string& name, Index channels) {
    const FloatFormat format = recipe_.statistics.value_or(container_format);
    BatchStatistics fresh{Tensor({channels}, format), Tensor({channels}, format)};
    for (Real& x : fresh.variance.values()) x = 1;
    return statistics_.emplace_back(name, std::move(fresh)).second;
}

Parameter& Model::operator[](std::string_view name) {
    std::string known;
    for (Parameter& parameter : parameters_) {
        if (parameter.name == name) return parameter;
        known += (known.empty() ? "" : ", ") + parameter.name;
    }
    throw std::invalid_argument(fmt::format("the model has no parameter {}; it has {}", name, known));
}

Index Model::parameter_count() const {
    Index count = 0;
    for (const Parameter& parameter : parameters_) count += parameter.value.size();
    return count;
}

void Model::clear_gradients() {
    for (Parameter& parameter : parameters_) parameter.gradient = {};
}

void require_unconverted(const Model& model) {
    for (const Parameter& parameter : model.parameters()) {
        if (parameter.value.format() == container_format) continue;
        throw std::invalid_argument(
            fmt::format("{} is in {} already; give a level the model in fp32, it converts it itself", parameter.name,
                        name_of(parameter.value.format())));
    }
}

}  // namespace ulp::inline ULPLAB_MODE
