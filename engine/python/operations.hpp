// Operations of nets on arrays: one at a time, forward or backward, by the trainer's own code, so that what PyTorch
// computes under emulation has the trainer's bits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/tape/run.hpp"
#include "engine/tensor/tensor.hpp"

namespace ulp::python {

/// What one call gave: results, or the gradients of all inputs, each in its storage format.
struct OperationResults {
    std::vector<Tensor> tensors;
    std::int64_t overflows = 0;
    std::int64_t underflows = 0;
};

/// An operation, its tensors and its other numbers: softmax (x), layer_norm (x, weight, bias; eps), cross_entropy (x;
/// 0 for a mean or 1 for a sum, labels), ... as operation_names() lists them.
struct OperationCall {
    std::string name;
    std::vector<Tensor> inputs;
    std::vector<double> numbers;
};

std::vector<std::string> operation_names();
/// The result. Throws std::invalid_argument for shapes that do not fit.
OperationResults compute(const Engine& engine, OperationCall call);
/// The gradients of the inputs from that of the result.
OperationResults gradients(const Engine& engine, OperationCall call, const Tensor& of_result);
/// The sum of each column of rows x cols numbers, from the first row down, in the steps of linear layers.
Tensor sum_of_rows(const Engine& engine, const Tensor& matrix);

}  // namespace ulp::python
