#include "engine/tape/operation.hpp"

#include <algorithm>

namespace ulp {

template <class Real>
BasicVar<Real> cast(BasicVar<Real> x, const FloatFormat& format) {
    x = x.tape->stored(x);
    if (x.format() == format) return x;
    BasicTensor<Real> y = x.value();
    BasicTape<Real>* tape = x.tape;
    tape->store(tape->label_for("cast"), {"forward"}, y, format, {x});
    return tape->push("cast", std::move(y), tape->needs_gradient(x),
                      [tape, x](const BasicTensor<Real>& dy, const BasicTensor<Real>&) { tape->accumulate(x, dy); });
}
template Var cast(Var, const FloatFormat&);
template BasicVar<double> cast(BasicVar<double>, const FloatFormat&);

template <class Real>
BasicOperation<Real>::BasicOperation(std::string_view name, std::vector<BasicVar<Real>> inputs)
    : name_(name), tape_(inputs.front().tape), inputs_(std::move(inputs)) {
    std::vector<FloatFormat> formats;
    for (const BasicVar<Real>& input : inputs_) formats.push_back(input.format());
    precision_ = tape_->engine().recipe.precision_of(name, formats);
    const Recipe& recipe = tape_->engine().recipe;
    const Recipe& of_products = tape_->recipe_of_products(name);
    rules_ = &of_products.products;
    if (&of_products != &recipe) {
        const FloatFormat own[] = {precision_.input};  // as the inputs are once they have been cast
        precision_.product = of_products.precision_of(name, own).product;
    }
    fused_ = recipe.fuses(name);
    const bool reads_unstored =
        fused_ && std::ranges::find(pointwise_operations(), name) != pointwise_operations().end();
    for (BasicVar<Real>& input : inputs_) {
        if (!reads_unstored || input.format() != precision_.input) input = cast(input, precision_.input);
    }
    label_ = tape_->label_for(name);
}

template <class Real>
BasicVar<Real> BasicOperation<Real>::finish(BasicTensor<Real> result, typename BasicTape<Real>::Backward backward,
                                            const typename BasicTape<Real>::Terms& terms) const {
    result.set_format(precision_.compute.format);
    tape_->store(label_, {"forward"}, result, fused_ ? precision_.compute.format : precision_.output, inputs_, terms);
    bool needs_gradient = false;
    for (const BasicVar<Real>& input : inputs_) needs_gradient = needs_gradient || tape_->needs_gradient(input);
    if (fused_) {
        return tape_->push_unstored(name_, std::move(result), precision_.output, needs_gradient, std::move(backward));
    }
    return tape_->push(name_, std::move(result), needs_gradient, std::move(backward));
}

template class BasicOperation<float>;
template class BasicOperation<double>;

}  // namespace ulp
