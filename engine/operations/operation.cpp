#include "engine/operations/operation.hpp"

#include <algorithm>

namespace ulp {

template <class Real>
Var<Real> cast(Var<Real> x, const FloatFormat& format) {
    x = x.tape->stored(x);
    if (x.format() == format) return x;
    Tensor<Real> y = x.value();
    Tape<Real>* tape = x.tape;
    tape->store(tape->label_for("cast"), {"forward"}, y, format, {x});
    return tape->push("cast", std::move(y), tape->needs_gradient(x),
                      [tape, x](const Tensor<Real>& dy, const Tensor<Real>&) { tape->accumulate(x, dy); });
}
template Var<float> cast(Var<float>, const FloatFormat&);
template Var<double> cast(Var<double>, const FloatFormat&);

template <class Real>
Operation<Real>::Operation(std::string_view name, std::vector<Var<Real>> inputs)
    : name_(name), tape_(inputs.front().tape), inputs_(std::move(inputs)) {
    std::vector<FloatFormat> formats;
    for (const Var<Real>& input : inputs_) formats.push_back(input.format());
    precision_ = tape_->engine().recipe.precision_of(name, formats);
    const Recipe& recipe = tape_->engine().recipe;
    fused_ = recipe.fuses(name);
    const bool reads_unstored =
        fused_ && std::ranges::find(pointwise_operations(), name) != pointwise_operations().end();
    for (Var<Real>& input : inputs_) {
        if (!reads_unstored || input.format() != precision_.input) input = cast(input, precision_.input);
    }
    label_ = tape_->label_for(name);
}

template <class Real>
Var<Real> Operation<Real>::finish(Tensor<Real> result, typename Tape<Real>::Backward backward) const {
    result.set_format(precision_.compute.format);
    tape_->store(label_, {"forward"}, result, fused_ ? precision_.compute.format : precision_.output, inputs_);
    bool needs_gradient = false;
    for (const Var<Real>& input : inputs_) needs_gradient = needs_gradient || tape_->needs_gradient(input);
    if (fused_) {
        return tape_->push_unstored(name_, std::move(result), precision_.output, needs_gradient, std::move(backward));
    }
    return tape_->push(name_, std::move(result), needs_gradient, std::move(backward));
}

template class Operation<float>;
template class Operation<double>;

}  // namespace ulp
