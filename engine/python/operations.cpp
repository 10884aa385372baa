#include "engine/python/operations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "engine/tape/operation.hpp"
#include "engine/tape/ops.hpp"

namespace ulp::python {
namespace {

using Inputs = std::span<const Var>;
using Numbers = std::span<const double>;

constexpr std::size_t any_count = ~std::size_t{0};

struct OperationRow {
    const char* name;
    std::size_t inputs;
    std::size_t numbers;  // any_count: at least 1
    Var (*apply)(Inputs x, Numbers n);
};

constexpr OperationRow operation_rows[] = {
    {"sigmoid", 1, 0, [](Inputs x, Numbers) { return sigmoid(x[0]); }},
    {"tanh", 1, 0, [](Inputs x, Numbers) { return tanh(x[0]); }},
    {"gelu", 1, 0, [](Inputs x, Numbers) { return gelu(x[0]); }},
    {"silu", 1, 0, [](Inputs x, Numbers) { return silu(x[0]); }},
    {"softmax", 1, 0, [](Inputs x, Numbers) { return softmax(x[0]); }},
    {"log_softmax", 1, 0, [](Inputs x, Numbers) { return log_softmax(x[0]); }},
    {"layer_norm", 3, 1, [](Inputs x, Numbers n) { return layer_norm(x[0], x[1], x[2], n[0]); }},
    {"rms_norm", 2, 1, [](Inputs x, Numbers n) { return rms_norm(x[0], x[1], n[0]); }},
    {"group_norm", 3, 2,
     [](Inputs x, Numbers n) { return group_norm(x[0], x[1], x[2], static_cast<Index>(n[0]), n[1]); }},
    {"cross_entropy", 1, any_count,
     [](Inputs x, Numbers n) {
         std::vector<int> labels;
         for (const double label : n.subspan(1)) labels.push_back(static_cast<int>(label));
         return cross_entropy(x[0], labels, n[0] == 0 ? Reduction::mean : Reduction::sum);
     }},
};

const OperationRow& operation_row(const OperationCall& call) {
    const auto* row = std::ranges::find(operation_rows, call.name, &OperationRow::name);
    const std::size_t numbers = call.numbers.size();
    if (row != std::end(operation_rows) && row->inputs == call.inputs.size() &&
        (row->numbers == any_count ? numbers >= 1 : row->numbers == numbers)) {
        return *row;
    }
    throw std::invalid_argument(fmt::format("there is no operation {} of {} tensors and {} numbers", call.name,
                                            call.inputs.size(), call.numbers.size()));
}

/// A tape with the operation on it.
struct Recorded {
    Tape tape;
    Watch watch;
    std::vector<Var> inputs;
    Var result;

    Recorded(const Engine& engine, OperationCall call) : tape(engine) {
        watch.find_nonfinite = false;
        tape.run().observers.watch = &watch;
        const OperationRow& row = operation_row(call);
        for (Tensor& input : call.inputs) inputs.push_back(tape.leaf(std::move(input)));
        result = tape.stored(row.apply(inputs, call.numbers));
    }

    [[nodiscard]] OperationResults with(std::vector<Tensor> tensors) const {
        OperationResults all{std::move(tensors)};
        for (const auto& [label, counts] : watch.rounding) {
            all.overflows += counts.overflows;
            all.underflows += counts.underflows;
        }
        return all;
    }
};

}  // namespace

std::vector<std::string> operation_names() {
    std::vector<std::string> names;
    for (const OperationRow& row : operation_rows) names.emplace_back(row.name);
    return names;
}

OperationResults compute(const Engine& engine, OperationCall call) {
    const Recorded recorded(engine, std::move(call));
    return recorded.with({recorded.result.value()});
}

OperationResults gradients(const Engine& engine, OperationCall call, const Tensor& of_result) {
    Recorded recorded(engine, std::move(call));
    recorded.watch.rounding.clear();  // the first pass has counted what the operation itself rounds
    Tape& tape = recorded.tape;
    const Var root = tape.push("cotangent", Tensor({1}), true,
                               [&](const Tensor&, const Tensor&) { tape.accumulate(recorded.result, of_result); });
    tape.backward(root);
    std::vector<Tensor> found;
    for (const Var& input : recorded.inputs) found.push_back(input.gradient());
    return recorded.with(std::move(found));
}

Tensor sum_of_rows(const Engine& engine, const Tensor& matrix) {
    const FloatFormat own[] = {matrix.format()};
    return column_sums(matrix, matrix.dim(1), engine.recipe.precision_of("linear", own).compute);
}

}  // namespace ulp::python
