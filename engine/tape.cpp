#include "engine/tape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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
    nodes_.push_back({std::move(value), {}, std::move(backward), std::move(label), needs_gradient, leaf, false});
    if (!leaf) show(TensorRole::activation, nodes_.back(), nodes_.back().value);
    return {this, nodes_.size() - 1};
}

template <class Real>
Var<Real> Tape<Real>::parameter(Parameter<Real>& parameter) {
    const auto known = parameters_.find(&parameter);
    if (known != parameters_.end()) return {this, known->second};
    nodes_.push_back({parameter.value, {}, {}, parameter.name, true, true, true});
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
    if (engine_->watch != nullptr) {
        store(nodes_[running_].label, "backward, gradient of " + node.label, gradient, format, {{this, running_}});
    } else {
        gradient.round_to_format(format);
    }
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
    running_ = root.id;
    accumulate(root, Tensor<Real>(value(root).shape(), std::vector<Real>{seed}));
    for (std::size_t id = root.id + 1; id-- > 0;) {
        Node& node = nodes_[id];
        if (!node.needs_gradient || node.gradient.empty() || !node.backward) continue;
        if (!node.leaf) show(TensorRole::activation_gradient, node, node.gradient);
        running_ = id;
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
void Tape<Real>::store(const std::string& label, std::string_view pass, Tensor<Real>& result, const FloatFormat& format,
                       const std::vector<Var<Real>>& operands) const {
    Watch* watch = engine_->watch;
    if (watch == nullptr) return result.round_to_format(format);
    watch->store(fmt::format("{} {}", label, pass), result, format);
    if (watch->find_nonfinite && !watch->first_nonfinite) search(label, std::string(pass), result, operands);
}

template <class Real>
void Tape<Real>::search(const std::string& label, const std::string& pass, const Tensor<Real>& result,
                        const std::vector<Var<Real>>& operands) const {
    Index bad = 0;
    while (bad < result.size() && std::isfinite(result[bad])) ++bad;
    if (bad == result.size()) return;
    NonFinite found{label, pass, engine_->step, bad, static_cast<float>(result[bad]), result.format(), {}};
    for (const Var<Real>& var : operands) {
        const Node& node = nodes_[var.id];
        // Backward, what is turned into gradients of inputs is the gradient of the result.
        const Tensor<Real>& tensor = pass == "forward" ? node.value : node.gradient;
        SuspectOperand operand{node.label, tensor.shape(), std::nullopt, 0, 0};
        for (const Real x : tensor.values()) {
            operand.not_finite += std::isfinite(x) ? 0 : 1;
            operand.largest = std::max(operand.largest, static_cast<float>(std::abs(x)));
        }
        if (tensor.shape() == result.shape()) operand.value = static_cast<float>(tensor[bad]);
        found.operands.push_back(std::move(operand));
    }
    engine_->watch->first_nonfinite = std::move(found);
}

template <class Real>
ByteCount Tape<Real>::activation_bytes() const {
    ByteCount bytes;
    for (const Node& node : nodes_) {
        if (!node.parameter) bytes += bytes_of(node.value);
    }
    return bytes;
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
