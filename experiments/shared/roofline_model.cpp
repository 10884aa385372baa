#include "experiments/shared/roofline_model.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "softfloat/names.hpp"

namespace ulp {

double GemmShape::operations() const {
    return 2 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

double GemmShape::bytes(double bytes_of_a_number) const {
    return bytes_of_a_number * static_cast<double>(m * k + k * n + m * n);
}

double GemmShape::intensity(double bytes_of_a_number) const { return operations() / bytes(bytes_of_a_number); }

double Gpu::attainable(double intensity, double rate) const { return std::min(rate, intensity * bandwidth); }

double Gpu::tensor_core_seconds(const GemmShape& shape) const {
    return std::max(shape.operations() / tensor_core_rate(), shape.bytes(2) / bandwidth);
}

double Gpu::fp32_seconds(const GemmShape& shape, double bytes_of_a_number) const {
    return std::max(shape.operations() / fp32_rate(), shape.bytes(bytes_of_a_number) / bandwidth);
}

double amdahl(double share, double factor, double other) { return 1 / (share / factor + (1 - share) / other); }

std::string refusal(const ProductTypes& types, std::int64_t m, std::int64_t n, std::int64_t k) {
    if (types.input != formats::fp16) {
        return fmt::format("the operands are {}, a V100's Tensor Cores take fp16", name_of(types.input));
    }
    for (const auto& [name, size] : {std::pair{"m", m}, {"n", n}, {"k", k}}) {
        if (size % 8 != 0) {
            return fmt::format("{} = {} is not a multiple of 8; pad it to {}", name, size, padded(size));
        }
    }
    return "";
}

}  // namespace ulp
