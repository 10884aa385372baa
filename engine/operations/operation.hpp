// What every operation does around its own arithmetic: look up its precision, cast its inputs, store its result.
//
//     template <class Real>
//     Var<Real> relu(Var<Real> x) {
//         Operation<Real> op("relu", {x});
//         x = op.input(0);                                     // cast as the recipe says
//         Tensor<Real> y(x.shape());
//         ... y[i] ... each step rounded by with_steps(op.precision().compute, ...)
//         return op.finish(std::move(y), [=](const Tensor<Real>& dy, const Tensor<Real>&) { ... op.tape.accumulate(x,
//         dx); });
//     }
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "engine/rounding/steps.hpp"
#include "engine/tape/tape.hpp"

namespace ulp {

/// The same numbers in another format; backward rounds the gradient back to the old one. No operation where the format
/// is the same already.
template <class Real>
Var<Real> cast(Var<Real> x, const FloatFormat& format);

template <class Real>
class Operation {
  public:
    /// The recipe's entry for `name` decides the formats. Throws std::invalid_argument for a banned operation.
    Operation(std::string_view name, std::initializer_list<Var<Real>> inputs)
        : Operation(name, std::vector<Var<Real>>(inputs)) {}
    Operation(std::string_view name, std::vector<Var<Real>> inputs);

    [[nodiscard]] Tape<Real>& tape() const { return *tape_; }
    [[nodiscard]] const OpPrecision& precision() const { return precision_; }
    [[nodiscard]] Var<Real> input(std::size_t i) const { return inputs_[i]; }
    /// The label that the result will have: "fc1/linear".
    [[nodiscard]] const std::string& label() const { return label_; }

    /// Puts the result on the tape, rounded to the output format (its entries lie on the compute format's grid).
    Var<Real> finish(Tensor<Real> result, typename Tape<Real>::Backward backward) const;

  private:
    std::string name_;
    Tape<Real>* tape_;
    std::vector<Var<Real>> inputs_;
    OpPrecision precision_;
    bool fused_ = false;
    std::string label_;
};

extern template class Operation<float>;
extern template class Operation<double>;

}  // namespace ulp
