#include "experiments/training/small_nets.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "engine/layers/attention.hpp"
#include "engine/tensor/random.hpp"

namespace ulp {

NetBuilder dense_net(std::vector<Index> widths) {
    return [widths = std::move(widths)](Model& model) -> ImageNet { return Mlp(model, widths); };
}

NetBuilder sign_net() {
    return [](Model& model) -> ImageNet {
        const Linear hidden(model, "fc1", 196, 32);
        const Linear out(model, "fc2", 32, 10);
        const auto start = [](Parameter& parameter, const auto& value) {
            for (Tensor* tensor : {&parameter.value, &parameter.master}) {
                std::vector<float> drawn(tensor->values().begin(), tensor->values().end());
                for (std::size_t i = 0; i < drawn.size(); ++i) (*tensor)[static_cast<Index>(i)] = value(drawn, i);
            }
        };
        const auto sign = [](float w) { return w < 0 ? -1.0F : 1.0F; };
        // Unit 16 + i starts as unit i with the opposite outputs.
        start(*hidden.weight, [&](const auto& w, std::size_t i) { return sign(w[i % (16 * 196)]); });
        start(*out.weight, [&](const auto& w, std::size_t i) { return i % 32 < 16 ? sign(w[i]) : -sign(w[i - 16]); });
        start(*hidden.bias, [](const auto&, std::size_t) { return 0.0F; });
        start(*out.bias, [](const auto&, std::size_t) { return 0.0F; });
        return [=](Var x) { return scaled(out(relu(scaled(hidden(x), 0.5))), 4); };
    };
}

NetBuilder unbalanced_net(int exponent) {
    return [exponent](Model& model) -> ImageNet {
        const Linear hidden(model, "fc1", 196, 32);
        const Linear out(model, "fc2", 32, 10);
        const double large = std::ldexp(1.0, exponent);
        return [=](Var x) { return scaled(out(scaled(relu(hidden(x)), large)), 1 / large); };
    };
}

NetBuilder image_transformer(double pixel_scale) {
    return [pixel_scale](Model& model) -> ImageNet {
        const LayerNorm norm(model, "norm", 28);
        const Linear embed(model, "embed", 28, 16);
        const MultiHeadAttention attention(model, "attention", 16, 2);
        const Linear wide(model, "wide", 16, 32);
        const Linear narrow(model, "narrow", 32, 16);
        const Linear out(model, "out", 7 * 16, 10);
        return [=](Var x) {
            const Var tokens = reshape(scaled(x, pixel_scale), {x.dim(0), 7, 28});
            Var h = embed(norm(tokens));
            h = residual(h, [&](Var y) { return attention(y, false); });
            h = residual(h, [&](Var y) { return narrow(gelu(wide(y))); });
            return out(reshape(scaled(h, 0.125), {x.dim(0), 7 * 16}));
        };
    };
}

}  // namespace ulp
