// NumPy's float32 arrays as the trainer's tensors, copied, and tensors as arrays that own them.
#pragma once

#include <pybind11/numpy.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "engine/tensor/tensor.hpp"

namespace ulp::python {

using Floats = pybind11::array_t<float, pybind11::array::c_style | pybind11::array::forcecast>;

inline Tensor tensor_from(const Floats& array) {
    auto tensor = Tensor::unset(Shape(array.shape(), array.shape() + array.ndim()));
    std::copy_n(array.data(), array.size(), tensor.data());
    return tensor;
}

inline pybind11::array_t<float> array_from(Tensor tensor) {
    auto owned = std::make_unique<Tensor>(std::move(tensor));
    Tensor& kept = *owned;
    const pybind11::capsule owner(owned.get(), [](void* p) { delete static_cast<Tensor*>(p); });
    static_cast<void>(owned.release());
    return pybind11::array_t<float>(std::vector<pybind11::ssize_t>(kept.shape().begin(), kept.shape().end()),
                                    kept.data(), owner);
}

}  // namespace ulp::python
