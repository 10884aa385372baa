// A net as data: a list of layers. From it a builder makes the net, and whatever else must know its sizes (bytes,
// parameters) counts them.
//
//     const Layers net = {layers::conv("conv1", 8, 3), layers::relu(), layers::pool(2), layers::linear("fc1")};
//     const Net f(model, net, {1, 28, 28}, 10);     // adds the parameters; f(images) are ten logits an image
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/training/trainer.hpp"

namespace ulp {

enum class LayerKind : std::uint8_t {
    linear,      // over the last dimension; images are flattened first
    conv,        // square kernel, zero padding of half of it
    batch_norm,  // momentum 0.3: runs are short, the running statistics must follow in tens of steps
    layer_norm,  // over the last dimension
    attention,   // over tokens
    relu,
    gelu,
    pool,            // maximum of a square window
    global_average,  // over the pixels
    scale,           // times a constant
    tokens,          // the numbers of an example in rows
    flatten,
    sequence,  // what is inside, one after the other
    residual,  // x plus what is inside makes of x
    branches   // what the lists inside make of x, side by side as channels
};

struct Layer {
    LayerKind kind;
    std::string name{};  // of its parameters
    Index size = 0;      // outputs, channels, heads, window or rows; 0: as many as there are classes
    Index kernel = 0;
    Index stride = 1;
    double factor = 1;
    std::vector<std::vector<Layer>> inside{};
};
using Layers = std::vector<Layer>;

namespace layers {
Layer linear(std::string name, Index outputs = 0);
Layer conv(std::string name, Index channels, Index kernel, Index stride = 1);
Layer batch_norm(std::string name);
Layer layer_norm(std::string name);
Layer attention(std::string name, Index heads);
Layer relu();
Layer gelu();
Layer pool(Index window);
Layer global_average();
Layer scale(double factor);
Layer tokens(Index rows);
Layer flatten();
Layer residual(Layers inside);
Layer branches(std::vector<Layers> inside);
/// Convolution, batch normalisation, and relu if `activate`.
Layer conv_unit(const std::string& name, Index channels, Index kernel, Index stride = 1, bool activate = true);
}  // namespace layers

/// The shape of an example behind a layer: (channels, height, width), (rows, width) or (numbers). Throws
/// std::invalid_argument where the layer does not take `in`. A group of layers counts as one.
Shape shape_behind(const Layer& layer, const Shape& in, Index classes);
/// What a layer learns, its groups included.
Index parameters_of(const Layer& layer, const Shape& in, Index classes);
Index parameters_of(const Layers& net, Shape in, Index classes);

/// A net with its parameters in a model. Copies share them.
class Net {
  public:
    Net(Model& model, const Layers& net, Shape in, Index classes);
    /// Examples in rows, or in their shape.
    Var operator()(Var x) const { return until(x, steps_.size()); }
    /// What the first `count` layers make of it.
    [[nodiscard]] Var until(Var x, std::size_t count) const;

  private:
    std::vector<std::function<Var(Var)>> steps_;
};

}  // namespace ulp
