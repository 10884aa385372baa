// NumPy's float32 arrays as the trainer's tensors, and back: copies.
#pragma once

#include <pybind11/numpy.h>

#include <algorithm>
#include <vector>

#include "engine/tensor/tensor.hpp"

namespace ulp::python {

using Floats = pybind11::array_t<float, pybind11::array::c_style | pybind11::array::forcecast>;

inline Tensor tensor_from(const Floats& array) {
    auto tensor = Tensor::unset(Shape(array.shape(), array.shape() + array.ndim()));
    std::copy_n(array.data(), array.size(), tensor.data());
    return tensor;
}

inline pybind11::array_t<float> array_from(const Tensor& tensor) {
    pybind11::array_t<float> array(std::vector<pybind11::ssize_t>(tensor.shape().begin(), tensor.shape().end()));
    std::copy_n(tensor.data(), tensor.size(), array.mutable_data());
    return array;
}

}  // namespace ulp::python
