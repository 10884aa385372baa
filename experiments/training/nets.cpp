#include "experiments/training/nets.hpp"

#include <cmath>
#include <stdexcept>

namespace ulp {

Var centred_on(Tape& tape, const Dataset& data, const std::vector<Index>& which, float range) {
    const Matrix centred = ((batch_of(data, which).images.array() - 0.5F) * (2 * range)).matrix();
    return reshape(images_on(tape, centred), {centred.rows(), data.channels, data.height, data.width});
}

Var planes(Var images, const ImageShape& shape) {
    return reshape(images, {images.dim(0), shape.channels, shape.side, shape.side});
}

Var global_average(Var x) {
    const Var pooled = avg_pool2d(x, x.dim(2));
    return reshape(pooled, {x.dim(0), x.dim(1)});
}

DigitCnn::DigitCnn(Model& model, const ImageShape& shape, Index first, Index second)
    : images(shape),
      conv1(model, "conv1", shape.channels, first, 3, {.padding = 1}),
      conv2(model, "conv2", first, second, 3, {.padding = 1}),
      fc1(model, "fc1", second * (shape.side / 4) * (shape.side / 4), shape.classes) {}

Var DigitCnn::operator()(Var x) const {
    x = max_pool2d(relu(conv1(planes(x, images))), 2);
    x = max_pool2d(relu(conv2(x)), 2);
    return fc1(reshape(x, {x.dim(0), x.dim(1) * x.dim(2) * x.dim(3)}));
}

ConvUnit::ConvUnit(Model& model, const std::string& name, Index in, Index out, Index kernel, Index stride)
    : conv(model, name + ".conv", in, out, kernel, {.stride = stride, .padding = kernel / 2}),
      // Runs are short: the running statistics must follow in tens of steps.
      norm(model, name + ".bn", out, {.momentum = 0.3}) {}

Var ConvUnit::operator()(Var x, bool activate) const {
    x = norm(conv(x));
    return activate ? relu(x) : x;
}

namespace {

struct Plain {
    ImageShape images;
    std::vector<ConvUnit> units;
    Linear fc;

    Plain(Model& model, const ImageShape& shape, Index width)
        : images(shape), fc(model, "fc", 2 * width, shape.classes) {
        units.emplace_back(model, "unit1", shape.channels, width, 3);
        units.emplace_back(model, "unit2", width, width, 3, 2);
        units.emplace_back(model, "unit3", width, 2 * width, 3, 2);
        units.emplace_back(model, "unit4", 2 * width, 2 * width, 3);
    }
    Var operator()(Var x) const {
        x = planes(x, images);
        for (const ConvUnit& unit : units) x = unit(x);
        return fc(global_average(x));
    }
};

struct Vgg {
    ImageShape images;
    ConvUnit a1, a2, b1, b2;
    Linear fc1, fc2;

    Vgg(Model& model, const ImageShape& shape, Index width)
        : images(shape),
          a1(model, "block1.1", shape.channels, width, 3),
          a2(model, "block1.2", width, width, 3),
          b1(model, "block2.1", width, 2 * width, 3),
          b2(model, "block2.2", 2 * width, 2 * width, 3),
          fc1(model, "fc1", 2 * width * (shape.side / 4) * (shape.side / 4), 4 * width),
          fc2(model, "fc2", 4 * width, shape.classes) {}
    Var operator()(Var x) const {
        x = max_pool2d(a2(a1(planes(x, images))), 2);
        x = max_pool2d(b2(b1(x)), 2);
        return fc2(relu(fc1(reshape(x, {x.dim(0), x.dim(1) * x.dim(2) * x.dim(3)}))));
    }
};

/// Branches of 1 x 1, of 1 x 1 and 3 x 3, and of what is left of the input, side by side.
struct InceptionBlock {
    ConvUnit one, before, three, direct;

    InceptionBlock(Model& model, const std::string& name, Index in, Index width)
        : one(model, name + ".one", in, width / 2, 1),
          before(model, name + ".before", in, width / 2, 1),
          three(model, name + ".three", width / 2, width, 3),
          direct(model, name + ".direct", in, width / 2, 3) {}
    Var operator()(Var x) const {
        const Var first = one(x);
        const Var second = three(before(x));
        const Var third = direct(x);
        return concat(std::vector<Var>{first, second, third}, 1);
    }
};

struct Inception {
    ImageShape images;
    ConvUnit stem;
    InceptionBlock block1, block2;
    Linear fc;

    Inception(Model& model, const ImageShape& shape, Index width)
        : images(shape),
          stem(model, "stem", shape.channels, width, 3, 2),
          block1(model, "inception1", width, width),
          block2(model, "inception2", 2 * width, width),
          fc(model, "fc", 2 * width, shape.classes) {}
    Var operator()(Var x) const {
        x = max_pool2d(block1(stem(planes(x, images))), 2);
        return fc(global_average(block2(x)));
    }
};

struct Residual {
    ImageShape images;
    ConvUnit stem, a1, a2, down, b1, b2;
    Linear fc;

    Residual(Model& model, const ImageShape& shape, Index width)
        : images(shape),
          stem(model, "stem", shape.channels, width, 3),
          a1(model, "block1.1", width, width, 3),
          a2(model, "block1.2", width, width, 3),
          down(model, "down", width, 2 * width, 3, 2),
          b1(model, "block2.1", 2 * width, 2 * width, 3),
          b2(model, "block2.2", 2 * width, 2 * width, 3),
          fc(model, "fc", 2 * width, shape.classes) {}
    Var operator()(Var x) const {
        x = max_pool2d(stem(planes(x, images)), 2);
        x = relu(add(x, a2(a1(x), false)));
        x = down(x);
        x = relu(add(x, b2(b1(x), false)));
        return fc(global_average(x));
    }
};

template <class Net>
ImageNet shared(Model& model, const ImageShape& shape, Index width) {
    auto net = std::make_shared<const Net>(model, shape, width);
    return [net](Var x) { return (*net)(x); };
}

}  // namespace

const std::vector<std::string>& classifier_names() {
    static const std::vector<std::string> names = {"plain", "vgg", "inception", "residual"};
    return names;
}

ImageNet make_classifier(std::string_view name, Model& model, const ImageShape& shape, Index width) {
    if (name == "plain") return shared<Plain>(model, shape, width);
    if (name == "vgg") return shared<Vgg>(model, shape, width);
    if (name == "inception") return shared<Inception>(model, shape, width);
    if (name == "residual") return shared<Residual>(model, shape, width);
    throw std::invalid_argument("no net \"" + std::string(name) + "\"; there are plain, vgg, inception, residual");
}

DoubleConv::DoubleConv(Model& model, const std::string& name, Index in, Index out, bool normalised)
    : first(model, name + ".first", in, out, 3, {.padding = 1}),
      second(model, name + ".second", out, out, 3, {.padding = 1}) {
    if (!normalised) return;
    const BatchNormOptions quick{.momentum = 0.3};  // runs are short: the running statistics must follow
    norms.emplace_back(model, name + ".norm1", out, quick);
    norms.emplace_back(model, name + ".norm2", out, quick);
}

Var DoubleConv::operator()(Var x) const {
    const auto normalised = [&](Var y, std::size_t which) { return norms.empty() ? y : norms[which](y); };
    x = relu(normalised(first(x), 0));
    return relu(normalised(second(x), 1));
}

UNet::UNet(Model& model, Index in, Index width, Index out, bool normalised)
    : down1(model, "down1", in, width, normalised),
      down2(model, "down2", width, 2 * width, normalised),
      bottom(model, "bottom", 2 * width, 4 * width, normalised),
      up2(model, "up2", 4 * width, 2 * width, normalised),
      up1(model, "up1", 2 * width, width, normalised),
      rise2(model, "rise2", 4 * width, 2 * width, 2, {.stride = 2}),
      rise1(model, "rise1", 2 * width, width, 2, {.stride = 2}),
      head(model, "head", width, out, 1) {}

Var UNet::operator()(Var x) const {
    const Var level1 = down1(x);
    const Var level2 = down2(max_pool2d(level1, 2));
    const Var deep = bottom(max_pool2d(level2, 2));
    const Var back2 = up2(concat<float>({level2, rise2(deep)}, 1));
    const Var back1 = up1(concat<float>({level1, rise1(back2)}, 1));
    return head(back1);
}

TransformerBlock::TransformerBlock(Model& model, const std::string& name, Index width, Index heads)
    : attention(model, name + ".attention", width, heads),
      norm1(model, name + ".norm1", width),
      wide(model, name + ".wide", width, 2 * width),
      narrow(model, name + ".narrow", 2 * width, width),
      norm2(model, name + ".norm2", width) {}

Var TransformerBlock::operator()(Var x, bool causal, const std::optional<Var>& penalty) const {
    x = norm1(add(x, attention(x, causal, penalty)));
    return norm2(add(x, narrow(relu(wide(x)))));
}

CrossAttention::CrossAttention(Model& model, const std::string& name, Index width)
    : query(model, name + ".query", width, width),
      key(model, name + ".key", width, width),
      value(model, name + ".value", width, width),
      out(model, name + ".out", width, width) {}

Var CrossAttention::operator()(Var x, Var memory, Var penalty) const {
    const Var q = scaled(query(x), 1 / std::sqrt(static_cast<double>(x.dim(2))));
    const Var k = key(memory);
    const Var v = value(memory);
    const Var scores = add(matmul(q, k, true), penalty);
    return out(matmul(softmax(scores), v));
}

Index count_parameters(const Model& model, std::string_view prefix) {
    Index count = 0;
    for (const Parameter& parameter : model.parameters()) {
        if (std::string_view(parameter.name).starts_with(prefix)) count += parameter.value.size();
    }
    return count;
}

}  // namespace ulp
