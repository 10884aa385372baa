#include "engine/nets/face_nets.hpp"

#include <fmt/format.h>

#include "engine/training/images.hpp"

namespace ulp {
namespace {

constexpr double slope = 0.2;

/// Each pixel four times.
Var doubled(Var x) {
    const Shape shape = x.value().shape();
    x = reshape(x, {shape[0], shape[1], shape[2], 1, shape[3], 1});
    x = concat<float>({x, x}, 5);
    return reshape(concat<float>({x, x}, 3), {shape[0], shape[1], 2 * shape[2], 2 * shape[3]});
}

}  // namespace

FaceGenerator::FaceGenerator(Model& model, Index channels)
    : start(model, "start", noise, channels * 16), to_grey(model, "to_grey", channels, 1, 3, {.padding = 1}) {
    for (std::size_t s = 0; s < growth_stages; ++s) {
        up.emplace_back(model, fmt::format("up{}", s), channels, channels, 3, ConvOptions{.padding = 1});
    }
}

Var FaceGenerator::operator()(Tape& tape, const Matrix& from, std::size_t stage) const {
    Var x = leaky_relu(start(images_on(tape, from)), slope);
    x = reshape(x, {from.rows(), x.dim(1) / 16, 4, 4});
    for (std::size_t s = 0; s <= stage; ++s) {
        x = doubled(x);
        x = add(x, leaky_relu(up[s](x), slope));
    }
    return tanh(to_grey(x));
}

FaceCritic::FaceCritic(Model& model, Index channels)
    : from_grey(model, "from_grey", 1, channels, 3, {.padding = 1}), score(model, "score", channels * 16, 1) {
    for (std::size_t s = 0; s < growth_stages; ++s) {
        down.emplace_back(model, fmt::format("down{}", s), channels, channels, 4,
                          ConvOptions{.stride = 2, .padding = 1});
    }
}

Var FaceCritic::operator()(Var x, std::size_t stage) const {
    x = leaky_relu(from_grey(x), slope);
    for (std::size_t s = stage + 1; s > 0; --s) {
        const Var halved = avg_pool2d(x, 2);
        x = add(halved, leaky_relu(down[s - 1](x), slope));
    }
    return score(reshape(x, {x.dim(0), x.dim(1) * 16}));
}

}  // namespace ulp
