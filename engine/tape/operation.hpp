// What every operation does around its own arithmetic: look up its precision, cast its inputs, store its result.
//
//     Var relu(Var x) {
//         Operation op("relu", {x});
//         x = op.input(0);                                     // cast as the recipe says
//         Tensor y(x.shape());
//         ... y[i] ... each step rounded by with_steps(op.precision().compute, ...)
//         return op.finish(std::move(y), [=](const Tensor& dy, const Tensor&) { ...
//         op.tape.accumulate(x, dx); });
//     }
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/tape/tape.hpp"
#include "engine/tensor/matrix.hpp"
#include "engine/tensor/steps.hpp"

namespace ulp::inline ULPLAB_MODE {

/// The same numbers in another format; backward rounds the gradient back to the old one. No operation where the format
/// is the same already.
Var cast(Var x, const FloatFormat& format);

/// The inputs of an operation that may go without a bias.
inline std::vector<Var> inputs_with(Var x, Var weight, const std::optional<Var>& bias) {
    return bias ? std::vector<Var>{x, weight, *bias} : std::vector<Var>{x, weight};
}

class Operation {
  public:
    /// The recipe's entry for `name` decides the formats. Throws std::invalid_argument for a banned operation.
    Operation(std::string_view name, std::initializer_list<Var> inputs) : Operation(name, std::vector<Var>(inputs)) {}
    Operation(std::string_view name, std::vector<Var> inputs);

    [[nodiscard]] Tape& tape() const { return *tape_; }
    [[nodiscard]] const OpPrecision& precision() const { return precision_; }
    [[nodiscard]] Var input(std::size_t i) const { return inputs_[i]; }
    /// How its products quantise their operands: the recipe's rules, or those of the recipe that computes this layer's
    /// products in its place. They live as long as the engine and the run.
    [[nodiscard]] const ProductRules* rules() const { return rules_; }
    /// The label that the result will have: "fc1/linear".
    [[nodiscard]] const std::string& label() const { return label_; }

    /// Puts the result on the tape, rounded to the output format (its entries lie on the compute format's grid).
    /// `terms`, where it is a product of matrices: what the search for the first infinity shows of it.
    Var finish(Tensor result, Tape::Backward backward, const Tape::Terms& terms = std::nullopt) const;

  private:
    std::string name_;
    Tape* tape_;
    std::vector<Var> inputs_;
    OpPrecision precision_;
    const ProductRules* rules_ = nullptr;
    bool fused_ = false;
    std::string label_;
};

// A tensor as the operand of a product: rounded to the product's grid where it is not on it, otherwise as it stands.

class Operand {
  public:
    Operand(const Tensor& tensor, const FloatFormat& grid) : data_(tensor.data()) {
        if (tensor.format() == grid || grid == container_format) return;
        rounded_ = tensor;
        rounded_.round_to_format(grid);
        data_ = rounded_.data();
    }
    Operand(const Operand&) = delete;
    Operand& operator=(const Operand&) = delete;

    /// rows x cols numbers from `offset` on, row-major.
    [[nodiscard]] BasicMatrixView<const Real> matrix(Index rows, Index cols, Index offset = 0) const {
        return {data_ + offset, rows, cols};
    }

  private:
    Tensor rounded_;
    const Real* data_;
};

/// y(i, j) += bias(j) for rows of bias.size() numbers, each sum a step.
inline void add_bias(Tensor& y, const Tensor& bias, const ComputeFormat& compute) {
    const Index cols = bias.size();
    with_steps(compute, [&](const auto& s) {
        in_parallel(y.rows_of(cols), 4 * cols, [&](Index first, Index last) {
            for (Index i = first * cols; i < last * cols; i += cols) {
                for (Index j = 0; j < cols; ++j) y[i + j] = s.add(y[i + j], bias[j]);
            }
        });
    });
}

/// The sum of each column of rows of `cols` numbers, from row 0 up.
inline Tensor column_sums(const Tensor& rows, Index cols, const ComputeFormat& compute) {
    Tensor sums({cols});
    with_steps(compute, [&](const auto& s) {
        in_parallel(cols, 4 * rows.rows_of(cols), [&](Index first, Index last) {
            for (Index i = 0; i < rows.size(); i += cols) {
                for (Index j = first; j < last; ++j) sums[j] = s.add(sums[j], rows[i + j]);
            }
        });
    });
    sums.set_format(compute.format);
    return sums;
}

}  // namespace ulp::inline ULPLAB_MODE
