// What every operation does around its own arithmetic: look up its precision, cast its inputs, store its result.
//
//     template <class Real>
//     BasicVar<Real> relu(BasicVar<Real> x) {
//         BasicOperation<Real> op("relu", {x});
//         x = op.input(0);                                     // cast as the recipe says
//         BasicTensor<Real> y(x.shape());
//         ... y[i] ... each step rounded by with_steps(op.precision().compute, ...)
//         return op.finish(std::move(y), [=](const BasicTensor<Real>& dy, const BasicTensor<Real>&) { ...
//         op.tape.accumulate(x, dx); });
//     }
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "engine/tape/tape.hpp"
#include "engine/tensor/steps.hpp"

namespace ulp {

/// The same numbers in another format; backward rounds the gradient back to the old one. No operation where the format
/// is the same already.
template <class Real>
BasicVar<Real> cast(BasicVar<Real> x, const FloatFormat& format);

template <class Real>
class BasicOperation {
  public:
    /// The recipe's entry for `name` decides the formats. Throws std::invalid_argument for a banned operation.
    BasicOperation(std::string_view name, std::initializer_list<BasicVar<Real>> inputs)
        : BasicOperation(name, std::vector<BasicVar<Real>>(inputs)) {}
    BasicOperation(std::string_view name, std::vector<BasicVar<Real>> inputs);

    [[nodiscard]] BasicTape<Real>& tape() const { return *tape_; }
    [[nodiscard]] const OpPrecision& precision() const { return precision_; }
    [[nodiscard]] BasicVar<Real> input(std::size_t i) const { return inputs_[i]; }
    /// How its products quantise their operands: the recipe's rules, or those of the recipe that computes this layer's
    /// products in its place. They live as long as the engine and the run.
    [[nodiscard]] const ProductRules* rules() const { return rules_; }
    /// The label that the result will have: "fc1/linear".
    [[nodiscard]] const std::string& label() const { return label_; }

    /// Puts the result on the tape, rounded to the output format (its entries lie on the compute format's grid).
    /// `terms`, where it is a product of matrices: what the search for the first infinity shows of it.
    BasicVar<Real> finish(BasicTensor<Real> result, typename BasicTape<Real>::Backward backward,
                          const typename BasicTape<Real>::Terms& terms = std::nullopt) const;

  private:
    std::string name_;
    BasicTape<Real>* tape_;
    std::vector<BasicVar<Real>> inputs_;
    OpPrecision precision_;
    const ProductRules* rules_ = nullptr;
    bool fused_ = false;
    std::string label_;
};
using Operation = BasicOperation<float>;

extern template class BasicOperation<float>;
extern template class BasicOperation<double>;

}  // namespace ulp
