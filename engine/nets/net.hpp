// A net as data: a list of layers. From it a builder makes the net, and whatever else must know its sizes (bytes,
// parameters) counts them.
//
//     const Layers net = {layers::conv("conv1", 8, 3), layers::relu(), layers::pool(2), layers::linear("fc1")};
//     const Net f(model, net, {1, 28, 28}, 10);     // adds the parameters; f(images) are ten logits an image
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/training/trainer.hpp"

namespace ulp {

enum class LayerKind : std::uint8_t {
    linear,  // over the last dimension; images are flattened first
    conv,    // square kernel, zero padding of half of it
    batch_norm,
    layer_norm,  // over the last dimension
    rms_norm,
    attention,          // over the rows of an example
    grouped_attention,  // with heads of keys and values of their own number, and rotary places
    cross_attention,    // of a decoder, over what the encoder made
    relu,
    leaky_relu,  // with the slope `factor`
    gelu,
    silu,
    sigmoid,
    tanh,
    dropout,  // with the rate `factor`
    pool,     // maximum of a square window
    average_pool,
    global_average,  // over the pixels
    scale,           // times a constant
    tokens,          // the numbers of an example in rows
    flatten,
    embedding,  // tokens to rows of a table
    places,     // adds a learned row for each place of a sequence
    lstm,       // over the rows of an example, from a zero state
    gru,
    sequence,        // what is inside, one after the other
    residual,        // x plus what is inside makes of x
    sum,             // of what the lists inside make of x
    product,         // the same, multiplied element by element
    experts,         // the sum of what `size` of the lists inside make of a row, those that the row's router chooses
    branches,        // what the lists inside make of x, side by side as channels
    encoder_decoder  // the first list inside reads the first `size` tokens, the second one the others and what it made
};

struct Layer {
    LayerKind kind;
    std::string name{};  // of its parameters
    Index size = 0;      // outputs, channels, heads, window, rows or width; 0: as many as there are classes
    Index kernel = 0;
    Index stride = 1;
    double factor = 1;
    Index words = 0;      // of an embedding
    bool causal = false;  // attention to the rows before alone
    std::vector<std::vector<Layer>> inside{};
    std::optional<Index> padding{};  // of a convolution; else half of the kernel
    double eps = 1e-5;               // of normalisations
    double momentum = 0.3;      // of batch normalisations: runs are short, running statistics follow in tens of steps
    Index groups = 1;           // of a convolution's channels
    double dropout = 0;         // of attention's probabilities
    bool biased = true;         // linear, conv; queries, keys and values
    bool out_biased = true;     // what comes out of a grouped attention
    Index key_value_heads = 0;  // 0: as many as heads
    Index head_width = 0;       // 0: the width divided by the heads
    double rotary = 0;          // the base of rotary places; 0: none
    bool adjacent = false;      // of rotary places
};
using Layers = std::vector<Layer>;

namespace layers {
Layer linear(std::string name, Index outputs = 0);
Layer conv(std::string name, Index channels, Index kernel, Index stride = 1);
Layer batch_norm(std::string name);
Layer layer_norm(std::string name);
Layer attention(std::string name, Index heads, bool causal = false);
Layer cross_attention(std::string name);
Layer encoder_decoder(Index source, Layers encoder, Layers decoder);
Layer embedding(std::string name, Index words, Index width);
Layer places(std::string name);
Layer lstm(std::string name, Index width);
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

/// The shape of an example behind a layer: (channels, height, width), (rows, width), (numbers) or (tokens). Throws
/// std::invalid_argument where the layer does not take `in`. A group of layers counts as one.
Shape shape_behind(const Layer& layer, const Shape& in, Index classes);
/// What a layer learns, its groups included.
Index parameters_of(const Layer& layer, const Shape& in, Index classes);
Index parameters_of(const Layers& net, Shape in, Index classes);

/// The tokens of an example that the net's encoder reads; 0 where it has none.
Index source_of(const Layers& net);
/// Zeros on every side of a convolution's images.
Index padding_of(const Layer& layer);
/// What a linear layer sees of an example: an image is flattened.
Index inputs_of(const Shape& in);

/// A net with its parameters in a model. Copies share them.
class Net {
  public:
    Net(Model& model, const Layers& net, Shape in, Index classes);
    /// Examples in rows, or in their shape; tokens as numbers that are no input of the recipe (Tape::constant).
    Var operator()(Var x) const { return until(x, steps_.size()); }
    /// What the first `count` layers make of it.
    [[nodiscard]] Var until(Var x, std::size_t count) const { return until(x, count, nullptr); }

    /// What an encoder made, for the cross attention of its decoder.
    struct Memory {
        Var states;   // (examples, source, width)
        Var penalty;  // (examples, target, source): -10000 where the source is padding, so that nothing attends there
    };
    /// The same inside a decoder.
    [[nodiscard]] Var until(Var x, std::size_t count, const Memory* memory) const;
    [[nodiscard]] Var operator()(Var x, const Memory* memory) const { return until(x, steps_.size(), memory); }

  private:
    std::vector<std::function<Var(Var, const Memory*)>> steps_;
};

// Nets as files. What `ulplab train --print-net cnn` writes, `--net FILE.json` reads:
//
//     {"name": "cnn", "task": "images", "input": {"shape": [1, 28, 28]}, "outputs": 10,
//      "layers": [
//        {"layer": "conv", "name": "conv1", "channels": 8, "kernel": 3},
//        {"layer": "relu"},
//        {"layer": "pool", "window": 2},
//        {"layer": "residual", "inside": [{"layer": "conv", "name": "a", "channels": 8, "kernel": 3}, {"layer":
//        "relu"}]},
//        {"layer": "linear", "name": "dense"}]}
//
// A net of tokens says how many there are: "input": {"shape": [32], "tokens": 128}. A linear layer without "outputs"
// has those of the net.

/// What an example is: an image (channels, height, width), numbers (count), or tokens (length) from 0 to tokens - 1.
struct NetInput {
    Shape shape;
    Index tokens = 0;
};

/// A net with what goes in and what comes out.
struct NetDescription {
    std::string name;
    std::string task;  // what it learns (net_tasks.hpp)
    NetInput input;
    Index outputs = 0;  // numbers of an answer; nets of tokens answer at each place
    Layers layers;
};

/// The layer kinds with their members, "conv (name, channels, kernel, stride)", for help.
std::string layer_kinds();

/// Ends with a line break; net_from_json() gives the same net.
std::string json_of(const NetDescription& net);
/// Throws DataError that names the place as a JSON pointer: "/layers/3/kernel is 2.5; give a whole number from 1 to
/// 1048576". What comes back has been checked: layers fit each other, and names of parameters are unique.
NetDescription net_from_json(std::string_view text);

/// The part of the check that JSON does not show: whether shapes fit. Throws DataError with the place.
void require_fitting(const NetDescription& net);

}  // namespace ulp
