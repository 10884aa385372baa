#include "experiments/training/partial_convolution.hpp"

#include <fmt/format.h>

#include "engine/training/images.hpp"

namespace ulp {
namespace {

/// Each pixel four times.
Matrix doubled(const Matrix& m) {
    Matrix result(2 * m.rows(), 2 * m.cols());
    for (Index i = 0; i < result.rows(); ++i) {
        for (Index j = 0; j < result.cols(); ++j) result(i, j) = m(i / 2, j / 2);
    }
    return result;
}

Holed beside(const Holed& a, const Holed& b) {
    const auto first = static_cast<float>(a.x.dim(1));
    const auto second = static_cast<float>(b.x.dim(1));
    return {concat(std::vector<Var>{a.x, b.x}, 1), (a.there * first + b.there * second) / (first + second)};
}

/// Each colour as an image of its own.
Var colours_of(Var images) { return reshape(images, {images.dim(0) * images.dim(1), 1, images.dim(2), images.dim(3)}); }

}  // namespace

Tensor from_borders(const Tensor& images, const Matrix& there) {
    const Index height = there.rows();
    const Index width = there.cols();
    std::vector<Index> missing;
    for (Index i = 0; i < there.size(); ++i) {
        if (there.data()[i] == 0) missing.push_back(i);
    }
    Tensor filled = images;
    for (Index plane = 0; plane < filled.size(); plane += there.size()) {
        float* pixel = filled.data() + plane;
        for (const Index i : missing) pixel[i] = 0;
        for (int round = 0; round < 40; ++round) {
            for (const Index i : missing) {
                float sum = 0;
                float neighbours = 0;
                const auto take = [&](bool inside, Index place) {
                    if (!inside) return;
                    sum += pixel[place];
                    neighbours += 1;
                };
                take(i >= width, i - width);
                take(i < (height - 1) * width, i + width);
                take(i % width > 0, i - 1);
                take(i % width < width - 1, i + 1);
                pixel[i] += 1.7F * (sum / neighbours - pixel[i]);
            }
        }
    }
    return filled;
}

Var masked(Var images, const Matrix& mask) {
    return mask.minCoeff() == 1 ? images : multiply(images, images_on(*images.tape, mask));
}

Windows windows_of(const Matrix& there, Index stride) {
    const Index rows = (there.rows() - 1) / stride + 1;
    const Index columns = (there.cols() - 1) / stride + 1;
    Windows windows{Matrix::Zero(rows, columns), Matrix::Zero(rows, columns)};
    for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < columns; ++j) {
            float sum = 0;
            for (Index y = i * stride - 1; y <= i * stride + 1; ++y) {
                for (Index x = j * stride - 1; x <= j * stride + 1; ++x) {
                    const bool inside = y >= 0 && y < there.rows() && x >= 0 && x < there.cols();
                    if (inside) sum += there(y, x);
                }
            }
            windows.growth(i, j) = sum > 0 ? 9 / sum : 0;
            windows.there(i, j) = sum > 0 ? 1 : 0;
        }
    }
    return windows;
}

PartialConv::PartialConv(Model& model, const std::string& layer_name, Index in, Index out, Index step, bool last)
    : name(layer_name),
      stride(step),
      weight(&model.add(name + ".weight", {out, in, 3, 3}, last ? Init::constant(0) : Init::fan_in(9 * in))) {
    // Runs are short: the running statistics must follow in tens of steps.
    if (!last) norm.emplace_back(model, name + ".bn", out, BatchNormOptions{.momentum = 0.3});
}

Holed PartialConv::operator()(const Holed& in) const {
    Tape& tape = *in.x.tape;
    const Tape::Scope scope(tape, name);
    const Windows windows = windows_of(in.there, stride);
    const Var w = on_tape(in.x, weight);
    const Var no_bias = reshape(images_on(tape, Matrix::Zero(1, w.dim(0))), {w.dim(0)});
    Var y = conv2d(in.x, w, no_bias, {.stride = stride, .padding = 1});
    y = multiply(y, images_on(tape, windows.growth));
    if (!norm.empty()) y = relu(norm.front()(y));
    return {masked(y, windows.there), windows.there};
}

InpaintingNet::InpaintingNet(Model& model, Index channels) {
    const Index widths[] = {1, channels, 2 * channels, 2 * channels};
    for (std::size_t i = 0; i < 3; ++i) {
        down.emplace_back(model, fmt::format("down{}", i), widths[i], widths[i + 1], 2);
    }
    for (std::size_t i = 3; i-- > 0;) {
        grow.emplace_back(model, fmt::format("grow{}", i), widths[i + 1], widths[i + 1], 2, ConvOptions{.stride = 2});
        up.emplace_back(model, fmt::format("up{}", i), widths[i + 1] + widths[i], widths[i], 1, i == 0);
    }
}

Var InpaintingNet::operator()(Var images, const Matrix& there) const {
    std::vector<Holed> levels = {{masked(colours_of(images), there), there}};
    for (const PartialConv& layer : down) levels.push_back(layer(levels.back()));
    Holed inner = levels.back();
    for (std::size_t i = 0; i < up.size(); ++i) {
        const Matrix there_grown = doubled(inner.there);
        const Holed grown{masked(grow[i](inner.x), there_grown), there_grown};
        inner = up[i](beside(grown, levels[levels.size() - 2 - i]));
    }
    const Var change = reshape(inner.x, images.value().shape());
    return add(change, images.tape->input(from_borders(images.value(), there)));
}

Var InpaintingNet::features(Var images, const Matrix& there) const {
    return down.front()({masked(colours_of(images), there), there}).x;
}

}  // namespace ulp
