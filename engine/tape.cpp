#include "engine/tape.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "engine/rounder.hpp"

namespace ulp {

template <class Real>
std::string Tape<Real>::label_for(std::string_view op) {
    std::string label = scope_.empty() ? std::string(op) : fmt::format("{}/{}", scope_, op);
    const auto found = labels_.find(label);
    return found == labels_.end() ? label : fmt::format("{}_{}", label, found->second + 1);
}

template <class Real>
Var<Real> Tape<Real>::push(std::string_view op, Tensor<Real> value, bool needs_gradient, Backward backward) {
    std::string label = label_for(op);
    ++labels_[scope_.empty() ? std::string(op) : fmt::format("{}/{}", scope_, op)];
    const bool leaf = !backward;
    if (!needs_gradient) backward = {};
    nodes_.push_back({std::move(value), {}, std::move(backward), std::move(label), needs_gradient, leaf});
    if (!leaf) show(TensorRole::activation, nodes_.back(), nodes_.back().value);
    return {this, nodes_.size() - 1};
}

template <class Real>
Var<Real> Tape<Real>::parameter(Parameter<Real>& parameter) {
    const auto known = parameters_.find(&parameter);
    if (known != parameters_.end()) return {this, known->second};
    nodes_.push_back({parameter.value, {}, {}, parameter.name, true, true});
    const std::size_t id = nodes_.size() - 1;
    show(TensorRole::weight, nodes_.back(), nodes_.back().value);
    // The node's gradient is handed to the parameter when backward() reaches it.
    nodes_.back().backward = [this, id, &parameter](const Tensor<Real>& gradient, const Tensor<Real>&) {
        show(TensorRole::weight_gradient, nodes_[id], gradient);
        if (parameter.gradient.empty()) {
            parameter.gradient = gradient;
        } else {
            for (Index i = 0; i < gradient.size(); ++i) parameter.gradient[i] += gradient[i];
            const FloatFormat format = parameter.gradient.format();
            parameter.gradient.set_format(carrier_format<Real>);
            parameter.gradient.round_to_format(format);
        }
    };
    parameters_.emplace(&parameter, id);
    return {this, id};
}

template <class Real>
void Tape<Real>::accumulate(Var<Real> input, Tensor<Real> gradient) {
    Node& node = nodes_[input.id];
    if (!node.needs_gradient) return;
    const FloatFormat format = node.value.format();
    gradient.round_to_format(format);
    if (node.gradient.empty()) {
        node.gradient = std::move(gradient);
        return;
    }
    for (Index i = 0; i < gradient.size(); ++i) node.gradient[i] += gradient[i];
    node.gradient.set_format(carrier_format<Real>);
    node.gradient.round_to_format(format);
}

template <class Real>
void Tape<Real>::backward(Var<Real> root, Real seed) {
    if (value(root).size() != 1) {
        throw std::invalid_argument(fmt::format("backward starts from one number, not from a tensor of shape {}",
                                                text_of(value(root).shape())));
    }
    accumulate(root, Tensor<Real>(value(root).shape(), std::vector<Real>{seed}));
    for (std::size_t id = root.id + 1; id-- > 0;) {
        Node& node = nodes_[id];
        if (!node.needs_gradient || node.gradient.empty() || !node.backward) continue;
        if (!node.leaf) show(TensorRole::activation_gradient, node, node.gradient);
        node.backward(node.gradient, node.value);
        if (!retain_gradients) node.gradient = {};
    }
}

template <class Real>
const Tensor<Real>& Tape<Real>::gradient(Var<Real> var) const {
    const Node& node = nodes_[var.id];
    if (node.gradient.empty() && node.value.size() != 0) {
        throw std::logic_error(
            fmt::format("{} has no gradient: run backward(), and set retain_gradients to keep those "
                        "of inner values",
                        node.label));
    }
    return node.gradient;
}

template <class Real>
void Tape<Real>::show(TensorRole role, const Node& node, const Tensor<Real>& tensor) const {
    if constexpr (std::is_same_v<Real, float>) {
        if (!engine_->tap) return;
        const bool scaled = role == TensorRole::weight_gradient || role == TensorRole::activation_gradient;
        engine_->tap({role, node.label, tensor.values(), tensor.format(), scaled ? engine_->loss_scale : 1.0});
    }
}

template class Tape<float>;
template class Tape<double>;

}  // namespace ulp
