#include "engine/tape/parameter.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "engine/tensor/random.hpp"
#include "softfloat/format_names.hpp"

namespace ulp {

template <class Real>
void BasicParameter<Real>::publish(const Context& rounding) {
    if (master.empty()) return;
    const FloatFormat format = value.format();
    value = master;
    value.round_to_format({format, rounding});
}

template <class Real>
void BasicParameter<Real>::assign(const BasicTensor<Real>& numbers) {
    if (numbers.shape() != value.shape()) {
        throw std::invalid_argument(
            fmt::format("{} has the shape {}, not {}", name, text_of(value.shape()), text_of(numbers.shape())));
    }
    const auto take = [&](BasicTensor<Real>& tensor, FloatFormat format) {
        tensor = numbers;
        tensor.set_format(container_format<Real>);  // what they are is not known
        tensor.round_to_format(recipe->stored(format));
    };
    if (!master.empty()) {
        take(master, recipe->update);
        if (recipe->state.master) keep_in(*recipe->state.master, recipe->rounding, master);
    }
    take(value, value.format());
}

Init Init::fan_in(Index inputs) { return uniform(1 / std::sqrt(static_cast<double>(inputs))); }

namespace {

/// A parameter's first numbers, as fp32 (fp64 in fp64 mode).
template <class Real>
BasicTensor<Real> drawn(Shape shape, Init init, Random random) {
    BasicTensor<Real> tensor(std::move(shape));
    for (Real& x : tensor.values()) {
        double number = init.scale;
        if (init.kind == Init::Kind::uniform) number = random.uniform(-init.scale, init.scale);
        if (init.kind == Init::Kind::normal) number = init.scale * random.normal();
        x = static_cast<Real>(number);
    }
    return tensor;
}

}  // namespace

template <class Real>
BasicParameter<Real>& BasicModel<Real>::add(const std::string& name, Shape shape, Init init, ParameterKind kind) {
    for (const BasicParameter<Real>& other : parameters_) {
        if (other.name == name) throw std::invalid_argument(fmt::format("the model already has a parameter {}", name));
    }
    BasicParameter<Real>& parameter = parameters_.emplace_back();
    parameter.name = name;
    parameter.recipe = &recipe_;
    const bool fp32 = kind == ParameterKind::batch_norm && recipe_.keep_batchnorm_fp32;
    const FloatFormat format = fp32 ? container_format<Real> : recipe_.weights;
    const BasicTensor<Real> numbers = drawn<Real>(shape, init, Random(seed_, name));
    parameter.value = BasicTensor<Real>(shape, format);
    if (recipe_.master_weights && format != recipe_.update) parameter.master = numbers;
    parameter.assign(numbers);
    return parameter;
}

template <class Real>
BasicBatchStatistics<Real>& BasicModel<Real>::add_statistics(const std::string& name, Index channels) {
    BasicBatchStatistics<Real> fresh{BasicTensor<Real>({channels}), BasicTensor<Real>({channels})};
    for (Real& x : fresh.variance.values()) x = 1;
    return statistics_.emplace_back(name, std::move(fresh)).second;
}

template <class Real>
BasicParameter<Real>& BasicModel<Real>::operator[](std::string_view name) {
    std::string known;
    for (BasicParameter<Real>& parameter : parameters_) {
        if (parameter.name == name) return parameter;
        known += (known.empty() ? "" : ", ") + parameter.name;
    }
    throw std::invalid_argument(fmt::format("the model has no parameter {}; it has {}", name, known));
}

template <class Real>
Index BasicModel<Real>::parameter_count() const {
    Index count = 0;
    for (const BasicParameter<Real>& parameter : parameters_) count += parameter.value.size();
    return count;
}

template <class Real>
void BasicModel<Real>::clear_gradients() {
    for (BasicParameter<Real>& parameter : parameters_) parameter.gradient = {};
}

template <class Real>
void require_unconverted(const BasicModel<Real>& model) {
    for (const BasicParameter<Real>& parameter : model.parameters()) {
        if (parameter.value.format() == container_format<Real>) continue;
        throw std::invalid_argument(
            fmt::format("{} is in {} already; give a level the model in fp32, it converts it itself", parameter.name,
                        name_of(parameter.value.format())));
    }
}
template void require_unconverted(const Model&);
template void require_unconverted(const BasicModel<double>&);

template struct BasicParameter<float>;
template struct BasicParameter<double>;
template class BasicModel<float>;
template class BasicModel<double>;

}  // namespace ulp
