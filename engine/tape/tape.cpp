#include "engine/tape/tape.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <stdexcept>

#include "engine/products/matmul.hpp"
#include "engine/tensor/rounder.hpp"
#include "engine/tensor/tensor.hpp"
#include "engine/watching/histogram.hpp"
#include "softfloat/names.hpp"

namespace ulp::inline ULPLAB_MODE {

std::string Tape::label_for(std::string_view op) {
    std::string label = scope_.empty() ? std::string(op) : fmt::format("{}/{}", scope_, op);
    const auto found = labels_.find(label);
    return found == labels_.end() ? label : fmt::format("{}_{}", label, found->second + 1);
}

Var Tape::push(std::string_view op, Tensor value, bool needs_gradient, Backward backward) {
    std::string label = label_for(op);
    ++labels_[scope_.empty() ? std::string(op) : fmt::format("{}/{}", scope_, op)];
    const bool leaf = !backward;
    if (!needs_gradient) backward = {};
    const FloatFormat format = value.format();
    nodes_.push_back(
        {std::move(value), {}, std::move(backward), std::move(label), needs_gradient, leaf, false, format});
    nodes_.back().inputs = std::move(pending_);
    pending_.clear();
    if (!leaf) show(TensorRole::activation, nodes_.back(), nodes_.back().value);
    return {this, nodes_.size() - 1};
}

Var Tape::push_unstored(std::string_view op, Tensor value, const FloatFormat& stored, bool needs_gradient,
                        Backward backward) {
    const Var var = push(op, std::move(value), needs_gradient, std::move(backward));
    nodes_[var.id].stored_format = stored;
    return var;
}

Var Tape::stored(Var x) {
    const Node& node = nodes_[x.id];
    if (node.stored_format == node.value.format()) return x;
    if (node.stored_as != none) return {this, node.stored_as};
    Tensor y = node.value;
    store(label_for("store"), {"forward"}, y, node.stored_format, {x});
    const Var result = push("store", std::move(y), node.needs_gradient,
                            [this, x](const Tensor& dy, const Tensor&) { accumulate(x, dy); });
    nodes_[x.id].stored_as = result.id;
    return result;
}

namespace {

/// Throws std::invalid_argument, naming the place, unless every number of the parameter lies on its format's grid.
void require_on_grid(const Parameter& parameter) {
    const FloatFormat& format = parameter.value.format();
    if (format == container_format) return;
    if (!maybe_off_grid(BasicMatrixView<const Real>(parameter.value.data(), 1, parameter.value.size()), format)) return;
    Tensor rounded = parameter.value;
    round_all(format, rounded.values());
    for (Index i = 0; i < rounded.size(); ++i) {
        const Real x = parameter.value[i];
        if (std::bit_cast<RealWord>(rounded[i]) == std::bit_cast<RealWord>(x) || std::isnan(x)) continue;
        throw std::invalid_argument(
            fmt::format("{}: element {} is {}, which is not a number of {}; use assign(), which rounds", parameter.name,
                        i, x, name_of(format)));
    }
}

}  // namespace

Tensor Tape::value_of(const Parameter& parameter) const {
    if (!run_->weights) return parameter.value;
    const auto found = run_->weights->find(parameter.name);
    if (found == run_->weights->end()) return parameter.value;
    Tensor value = found->second;
    value.set_format(container_format);
    const Recipe& recipe = engine_->recipe;
    if (recipe.weights == container_format) return value;
    if (parameter.kept_value) keep_in(*parameter.kept_value, recipe.rounding, value);
    value.set_format(container_format);
    value.round_to_format(recipe.stored(parameter.value.format()));
    return value;
}

Var Tape::parameter(Parameter& parameter) {
    const auto known = parameters_.find(&parameter);
    if (known != parameters_.end()) return {this, known->second};
    require_on_grid(parameter);
    Tensor value = value_of(parameter);
    const FloatFormat format = value.format();
    nodes_.push_back({std::move(value), {}, {}, parameter.name, true, true, true, format});
    const std::size_t id = nodes_.size() - 1;
    show(TensorRole::weight, nodes_.back(), nodes_.back().value);
    // The node's gradient is handed to the parameter when backward() reaches it.
    nodes_.back().backward = [this, id, &parameter](const Tensor& gradient, const Tensor&) {
        show(TensorRole::weight_gradient, nodes_[id], gradient);
        if (parameter.gradient.empty()) {
            parameter.gradient = gradient;
            const std::optional<StateFormat>& sums = parameter.kept_gradient;
            if (sums && !sums->scaled) parameter.gradient.round_to_format(engine_->recipe.stored(sums->format));
        } else {
            const bool finite = searches() && all_finite(parameter.gradient) && all_finite(gradient);
            add_rounded(std::span<const Real>(gradient.values()), engine_->recipe.stored(parameter.gradient.format()),
                        parameter.gradient.data());
            if (finite && !all_finite(parameter.gradient)) search_sum(parameter.name, parameter.gradient);
        }
    };
    parameters_.emplace(&parameter, id);
    return {this, id};
}

bool Tape::store_gradient(const Node& node, Tensor& gradient, const Terms& terms) {
    const ComputeFormat format = engine_->recipe.stored(node.value.format());
    if (run_->observers.watch != nullptr) {
        return store(nodes_[running_].label, {"backward, gradient of ", node.label}, gradient, format.format,
                     {{this, running_}}, terms);
    }
    gradient.round_to_format(format);
    return true;
}

/// The same for numbers of the running operation's own gradient: they are stored already where the format is the same.
bool Tape::store_moved(const Node& node, Tensor& gradient) {
    if (gradient.format() != node.value.format()) return store_gradient(node, gradient);
    return !searches() || nodes_[running_].gradient_finite || all_finite(gradient);
}

void Tape::count_gradient(const Tensor& gradient) {
    gradients_ += bytes_of(gradient);
    if (gradients_.held > most_gradients_.held) most_gradients_ = gradients_;
}

void Tape::drop_gradient(Node& node) {
    const ByteCount bytes = bytes_of(node.gradient);
    gradients_ += {-bytes.stored, -bytes.held};
    node.gradient = {};
    node.gradient_finite = true;
}

void Tape::accumulate(Var input, Tensor gradient, const Terms& terms) {
    Node& node = nodes_[input.id];
    if (!node.needs_gradient) return;
    const bool finite = store_gradient(node, gradient, terms);
    add_gradient(node, std::move(gradient), finite);
}

void Tape::pass_on(Var input, Tensor gradient) {
    Node& node = nodes_[input.id];
    if (!node.needs_gradient) return;
    const bool finite = store_moved(node, gradient);
    add_gradient(node, std::move(gradient), finite);
}

void Tape::add_gradient(Node& node, Tensor gradient, bool finite) {
    if (node.gradient.empty()) {
        node.gradient = std::move(gradient);
        node.gradient_finite = finite;
        count_gradient(node.gradient);
    } else {
        const bool parts_finite = node.gradient_finite && finite;
        add_rounded(std::span<const Real>(gradient.values()), engine_->recipe.stored(node.value.format()),
                    node.gradient.data());
        node.gradient_finite = parts_finite && (!searches() || all_finite(node.gradient));
        if (parts_finite && !node.gradient_finite) search_sum(node.label, node.gradient);
    }
}

void Tape::pass_on_part(Var input, Tensor gradient, Index dimension, Index start) {
    Node& node = nodes_[input.id];
    if (!node.needs_gradient) return;
    const bool finite = store_moved(node, gradient);
    const ComputeFormat format = engine_->recipe.stored(node.value.format());
    if (node.gradient.empty()) {
        node.gradient = Tensor(node.value.shape(), format.format);
        count_gradient(node.gradient);
    }
    Index inner = 1;
    for (Index d = dimension + 1; d < gradient.rank(); ++d) inner *= gradient.dim(d);
    const Index part = gradient.dim(dimension) * inner;
    const Index whole = node.value.dim(dimension) * inner;
    if (part == 0) return;
    const bool parts_finite = node.gradient_finite && finite;
    node.gradient_finite = parts_finite;
    const auto size = static_cast<std::size_t>(part);
    for (Index outer = 0; outer < gradient.size() / part; ++outer) {
        const std::span<const Real> from(gradient.data() + outer * part, size);
        const std::span<const Real> to(node.gradient.data() + outer * whole + start * inner, size);
        add_rounded(from, format, node.gradient.data() + outer * whole + start * inner);
        if (node.gradient_finite && searches()) node.gradient_finite = all_finite(to);
    }
    if (parts_finite && !node.gradient_finite) search_sum(node.label, node.gradient);
}

void Tape::backward(Var root, Real seed) {
    if (value(root).size() != 1) {
        throw std::invalid_argument(fmt::format("backward starts from one number, not from a tensor of shape {}",
                                                text_of(value(root).shape())));
    }
    running_ = root.id;
    accumulate(root, Tensor(value(root).shape(), std::vector<Real>{seed}));
    for (std::size_t id = root.id + 1; id-- > 0;) {
        Node& node = nodes_[id];
        if (!node.needs_gradient || node.gradient.empty() || !node.backward) continue;
        if (!node.leaf) show(TensorRole::activation_gradient, node, node.gradient);
        running_ = id;
        node.backward(node.gradient, node.value);
        if (!retain_gradients) drop_gradient(node);
    }
}

const Tensor& Tape::gradient(Var var) const {
    const Node& node = nodes_[var.id];
    if (node.gradient.empty() && node.value.size() != 0) {
        throw std::logic_error(fmt::format(
            "{} has no gradient: run backward(), and set retain_gradients to keep those of inner values", node.label));
    }
    return node.gradient;
}

bool Tape::store(const std::string& label, const Pass& pass, Tensor& result, const FloatFormat& format,
                 const std::vector<Var>& operands, const Terms& terms) {
    Watch* watch = run_->observers.watch;
    const ComputeFormat target = engine_->recipe.stored(format);
    if (watch == nullptr) {
        result.round_to_format(target);
        return true;
    }
    if (pass.of.empty()) pending_ = operands;
    const bool finite = watch->store(label, pass, result, target);
    if (!finite && watch->searches()) search(label, pass, result, operands, terms);
    return finite;
}

ByteCount Tape::activation_bytes() const {
    ByteCount bytes;
    for (const Node& node : nodes_) {
        if (node.parameter) continue;
        const ByteCount own = bytes_of(node.value);
        const bool unstored = node.stored_format != node.value.format();
        bytes += {unstored ? 0 : own.stored, own.held};
    }
    return bytes;
}

void Tape::show(TensorRole role, const Node& node, const Tensor& tensor) const {
    if (!run_->observers.tap) return;
    const bool scaled = role == TensorRole::weight_gradient || role == TensorRole::activation_gradient;
    run_->observers.tap({role, node.label, tensor.values(), tensor.format(), scaled ? run_->loss_scale : 1.0});
}

}  // namespace ulp::inline ULPLAB_MODE
