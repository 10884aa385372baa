// What an observer is shown of a training step.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "engine/matmul.hpp"
#include "softfloat/format.hpp"

namespace ulp {

enum class TensorRole : std::uint8_t { weight, activation, weight_gradient, activation_gradient };
std::string_view name_of(TensorRole role);

/// A tensor as it comes into being. Gradients still carry the loss scale: divide by `loss_scale` for their true size.
struct TapEvent {
    TensorRole role;
    std::string_view name;  // "fc1.weight" for parameters, "fc1/linear" or "relu" for activations
    std::span<const float> values;
    FloatFormat format;  // the grid that the values lie on
    double loss_scale;   // 1 for weights and activations
};
using Tap = std::function<void(const TapEvent&)>;

/// A product as it was dispatched.
struct ProductRecord {
    std::string_view layer;  // "fc1/linear"
    std::string_view pass;   // "forward", "input gradient", "weight gradient"
    ProductTypes types;
    Index m;
    Index n;
    Index k;
    std::string path;  // how the backend computes it, and why
};
using ProductTap = std::function<void(const ProductRecord&)>;

}  // namespace ulp
