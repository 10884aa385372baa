// Forward results against loops as the definition has them. Small whole numbers, so that every sum is exact in any
// order.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engine/layers/recurrent.hpp"
#include "engine/recipes/levels.hpp"
#include "engine/recipes/loss_scale.hpp"
#include "engine/tape/ops.hpp"
#include "engine/tensor/random.hpp"
#include "engine/training/grad_scaler.hpp"
#include "engine/training/optimizer.hpp"
#include "engine/training/schedule.hpp"
#include "softfloat/round.hpp"

namespace {

using namespace ulp;

Tensor whole_numbers(Shape shape, const char* name) {
    Random random(1, name);
    Tensor tensor(std::move(shape));
    for (float& x : tensor.values()) x = static_cast<float>(random.below(7)) - 3;
    return tensor;
}

/// x (n, c, h, w), weight (out, c / groups, kh, kw).
float convolved(const Tensor& x, const Tensor& weight, const ConvOptions& how, Index image, Index out, Index i,
                Index j) {
    const Shape& s = x.shape();
    const Shape& k = weight.shape();
    const Index group = out / (k[0] / how.groups);
    float sum = 0;
    for (Index c = 0; c < k[1]; ++c) {
        for (Index a = 0; a < k[2]; ++a) {
            for (Index b = 0; b < k[3]; ++b) {
                const Index row = i * how.stride - how.padding + a * how.dilation;
                const Index col = j * how.stride - how.padding + b * how.dilation;
                if (row < 0 || col < 0 || row >= s[2] || col >= s[3]) continue;
                const Index channel = group * k[1] + c;
                sum += x[((image * s[1] + channel) * s[2] + row) * s[3] + col] *
                       weight[((out * k[1] + c) * k[2] + a) * k[3] + b];
            }
        }
    }
    return sum;
}

TEST_CASE("a convolution is its plain loop at every pixel, the last column and row among them") {
    const Engine engine("fp32", "soft:ieee");
    for (const ConvOptions how : {ConvOptions{},
                                  {.stride = 2, .padding = 1},
                                  {.padding = 2, .dilation = 2},
                                  {.stride = 3, .padding = 1, .groups = 2}}) {
        for (const Index extent : {5, 6, 7}) {
            CAPTURE(how.stride);
            CAPTURE(extent);
            const Tensor x = whole_numbers({2, 4, extent, extent + 1}, "x");
            const Tensor weight = whole_numbers({6, 4 / how.groups, 3, 2}, "weight");
            const Tensor bias = whole_numbers({6}, "bias");
            Tape tape(engine);
            const Tensor y = conv2d(tape.leaf(x), tape.leaf(weight), tape.leaf(bias), how).value();
            const Shape& s = y.shape();
            REQUIRE(s[2] == (extent + 2 * how.padding - how.dilation * 2 - 1) / how.stride + 1);
            REQUIRE(s[3] == (extent + 1 + 2 * how.padding - how.dilation - 1) / how.stride + 1);
            int wrong = 0;
            for (Index at = 0; at < y.size(); ++at) {
                const Index out = at / (s[2] * s[3]) % s[1];
                const float expected =
                    bias[out] + convolved(x, weight, how, at / (s[1] * s[2] * s[3]), out, at / s[3] % s[2], at % s[3]);
                wrong += y[at] == expected ? 0 : 1;
            }
            CHECK(wrong == 0);
        }
    }
}

TEST_CASE("pools drop what is left over, and the gradient of a maximum goes to the first of equals") {
    const Engine engine("fp32", "soft:ieee");
    Tape tape(engine);
    const Var x = tape.leaf(Tensor({1, 1, 3, 5}, std::vector<float>{2, 7, 7, 7, 9, 7, 3, 1, 7, 9, 9, 9, 9, 9, 9}));
    const Tensor mean = avg_pool2d(x, 2).value();
    CHECK(mean.shape() == Shape{1, 1, 1, 2});
    CHECK(mean[0] == 4.75F);
    CHECK(mean[1] == 5.5F);
    const Var y = max_pool2d(x, 2);
    CHECK(y.value()[0] == 7);
    CHECK(y.value()[1] == 7);
    tape.backward(reshape(slice(y, 3, 0, 1), {}));
    for (Index i = 0; i < 15; ++i) CHECK(x.gradient()[i] == (i == 1 ? 1.0F : 0.0F));
}

TEST_CASE("what dropout keeps is divided by the probability to be kept, forward and backward") {
    const Engine engine("fp32", "soft:ieee");
    Run run;
    Tape tape(engine, run);
    const Var x = tape.leaf(Tensor({4096}, std::vector<float>(4096, 3.0F)));
    const Var y = dropout(x, 0.75);
    int kept = 0;
    for (Index i = 0; i < 4096; ++i) {
        CHECK((y.value()[i] == 0.0F || y.value()[i] == 12.0F));
        kept += y.value()[i] != 0 ? 1 : 0;
    }
    CHECK(std::abs(kept - 1024) < 5 * 28);  // five standard deviations of 4096 draws
    run.training = false;
    Tape evaluating(engine, run);
    CHECK(dropout(evaluating.leaf(Tensor({1}, std::vector<float>{3})), 0.75).value()[0] == 3.0F);
}

TEST_CASE("batch norm in evaluation adds eps to the running variance, layer norm to the row's") {
    const Engine engine("fp32", "soft:ieee");
    Model model(engine.recipe, 1);
    BatchStatistics& running = model.add_statistics("bn", 1);
    running.mean[0] = 1;
    running.variance[0] = 3;
    Run run;
    run.training = false;
    Tape tape(engine, run);
    const Var one = tape.leaf(Tensor({1}, std::vector<float>{1}));
    const Var zero = tape.leaf(Tensor({1}));
    const Var x = tape.leaf(Tensor({2, 1}, std::vector<float>{5, 1}));
    const Tensor y = batch_norm(x, one, zero, running, {.eps = 1}).value();
    CHECK(y[0] == 2.0F);  // (5 - 1) / sqrt(3 + 1)
    CHECK(y[1] == 0.0F);
    const Var ones = tape.leaf(Tensor({2}, std::vector<float>{1, 1}));
    const Var zeros = tape.leaf(Tensor({2}));
    const Tensor z = layer_norm(tape.leaf(Tensor({1, 2}, std::vector<float>{-1, 1})), ones, zeros, 3).value();
    CHECK(z[0] == -0.5F);  // variance 1
    CHECK(z[1] == 0.5F);
}

TEST_CASE("clipping by value bounds both signs and leaves what lies between") {
    Model model(recipe_by_name("fp32"), 1);
    Parameter& w = model.add("w", {5}, Init::constant(0));
    Optimizer optimizer(model, {.learning_rate = 1});
    w.gradient = Tensor({5}, std::vector<float>{-9, -1.5F, 0.25F, 1.5F, 9});
    optimizer.collect_gradients();
    optimizer.clip_by_value(2);
    optimizer.step();
    for (const auto& [i, moved] : {std::pair{0, 2.0F}, {1, 1.5F}, {2, -0.25F}, {3, -1.5F}, {4, -2.0F}}) {
        CHECK(w.value[i] == moved);
    }
}

TEST_CASE("an overflow starts the count of clean steps anew") {
    LossScaleOptions options = loss_scale_dialect("pytorch");
    options.window = 3;
    LossScale scale(options);
    std::vector<double> path;
    for (const bool overflow : {false, false, true, false, false, false, false}) {
        scale.update(overflow);
        path.push_back(std::log2(scale.value()));
    }
    CHECK(path == std::vector<double>{16, 16, 15, 15, 15, 16, 16});
    CHECK(scale.growth_tracker() == 1);
}

TEST_CASE("a tolerance lowers the scale when enough of the steps since its last change overflowed") {
    LossScaleOptions options = loss_scale_dialect("fairseq");
    options.tolerance = 0.5;
    LossScale scale(options);
    std::vector<double> path;
    for (const bool overflow : {false, false, true, true, true, true}) {
        scale.update(overflow);
        path.push_back(std::log2(scale.value()));
    }
    // Overflows of steps since the last change: 1 of 3, 2 of 4; then 1 of 1, 1 of 1.
    CHECK(path == std::vector<double>{15, 15, 15, 14, 13, 12});
}

TEST_CASE("average pools of images that are not square are their plain loop, forward and backward") {
    const Engine engine("fp32", "soft:ieee");
    Tape tape(engine);
    const Tensor image = whole_numbers({2, 3, 4, 6}, "image");
    const Var x = tape.leaf(Tensor(image));
    const Var y = avg_pool2d(x, 2);
    REQUIRE(y.shape() == Shape{2, 3, 2, 3});
    for (Index plane = 0; plane < 6; ++plane) {
        for (Index i = 0; i < 2; ++i) {
            for (Index j = 0; j < 3; ++j) {
                const auto at = [&](Index row, Index col) { return image[(plane * 4 + row) * 6 + col]; };
                const float sum =
                    at(2 * i, 2 * j) + at(2 * i, 2 * j + 1) + at(2 * i + 1, 2 * j) + at(2 * i + 1, 2 * j + 1);
                CHECK(y.value()[(plane * 2 + i) * 3 + j] == sum / 4);
            }
        }
    }
    tape.backward(reshape(slice(reshape(y, {36}), 0, 7, 1), {}));
    // Output 7 is row 0, column 1 of plane 1: a window of columns 2 and 3.
    for (Index i = 0; i < image.size(); ++i) {
        const Index row = i / 6 % 4, col = i % 6;
        CHECK(x.gradient()[i] == (i / 24 == 1 && row < 2 && (col == 2 || col == 3) ? 0.25F : 0.0F));
    }
}

TEST_CASE("relu of -0 is 0, and a softmax needs a row") {
    const Engine engine("fp32", "soft:ieee");
    Tape tape(engine);
    CHECK_FALSE(std::signbit(relu(tape.leaf(Tensor({1}, std::vector<float>{-0.0F}))).value()[0]));
    CHECK_THROWS_AS(softmax(tape.leaf(Tensor(Shape{}))), std::invalid_argument);
}

TEST_CASE("batch norm in evaluation leaves its output in the format that it has in training") {
    for (const char* recipe : {"fp32", "fp16", "mixed_fp16", "pure_bf16", "te_current"}) {
        CAPTURE(recipe);
        const Engine engine(recipe, "soft:ieee");
        Model model(engine.recipe, 1);
        BatchStatistics& running = model.add_statistics("bn", 1);
        const auto format_of = [&](bool training) {
            Run run;
            run.training = training;
            Tape tape(engine, run);
            const Var one = tape.leaf(Tensor({1}, std::vector<float>{1}));
            const Var x = tape.leaf(Tensor({2, 1}, std::vector<float>{5, 1}));
            return batch_norm(x, one, tape.leaf(Tensor({1})), running).value().format();
        };
        CHECK(format_of(true) == format_of(false));
    }
}

TEST_CASE("a loss scale stops at its maximum, also at one of 1") {
    LossScale scale({.dialect = "own", .dynamic = true, .initial = 0.25, .window = 1, .maximum = 1});
    for (const double expected : {0.5, 1.0, 1.0}) {
        scale.update(false);
        CHECK(scale.value() == expected);
    }
}

/// The sum of y times factors, so that y's gradient is the factors.
Var weighed(Var y, const Tensor& factors) {
    const Index n = factors.size();
    return reshape(
        matmul(reshape(y, {1, n}),
               y.tape->leaf(Tensor({n, 1}, std::vector<float>(factors.values().begin(), factors.values().end())))),
        {});
}

TEST_CASE("the gradients of a convolution are what its plain loop gains by one more at each place") {
    const Engine engine("fp32", "soft:ieee");
    for (const ConvOptions how : {ConvOptions{},
                                  {.stride = 2, .padding = 1},
                                  {.padding = 2, .dilation = 2},
                                  {.stride = 3, .padding = 1, .groups = 2}}) {
        CAPTURE(how.stride);
        CAPTURE(how.groups);
        Tensor x = whole_numbers({2, 2, 5, 6}, "x");
        Tensor weight = whole_numbers({4, 2 / how.groups, 3, 2}, "weight");
        Tape tape(engine);
        const Var in = tape.leaf(x), w = tape.leaf(weight), bias = tape.leaf(Tensor({4}));
        const Var y = conv2d(in, w, bias, how);
        const Shape s = y.shape();
        const Tensor factors = whole_numbers(s, "factors");
        tape.backward(weighed(y, factors));
        const auto loss = [&] {
            float sum = 0;
            for (Index at = 0; at < factors.size(); ++at) {
                sum += factors[at] * convolved(x, weight, how, at / (s[1] * s[2] * s[3]), at / (s[2] * s[3]) % s[1],
                                               at / s[3] % s[2], at % s[3]);
            }
            return sum;
        };
        const float before = loss();
        int wrong = 0;
        for (const auto& [tensor, gradient] : {std::pair(&x, &in.gradient()), std::pair(&weight, &w.gradient())}) {
            for (Index i = 0; i < tensor->size(); ++i) {
                (*tensor)[i] += 1;
                wrong += (*gradient)[i] == loss() - before ? 0 : 1;
                (*tensor)[i] -= 1;
            }
        }
        for (Index c = 0; c < 4; ++c) {
            float sum = 0;
            for (Index at = 0; at < factors.size(); ++at) sum += at / (s[2] * s[3]) % 4 == c ? factors[at] : 0;
            wrong += bias.gradient()[c] == sum ? 0 : 1;
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("a transposed convolution sends each number to where a convolution's plain loop would read it") {
    const Engine engine("fp32", "soft:ieee");
    for (const ConvOptions how :
         {ConvOptions{}, {.stride = 2, .padding = 1}, {.padding = 1, .dilation = 2, .groups = 2}}) {
        CAPTURE(how.stride);
        const Tensor x = whole_numbers({2, 4, 3, 4}, "x");
        const Tensor weight = whole_numbers({4, 2, 3, 3}, "weight");
        Tape tape(engine);
        const Tensor y =
            conv_transpose2d(tape.leaf(x), tape.leaf(weight), tape.leaf(Tensor({2 * how.groups})), how).value();
        int wrong = 0;
        Tensor probe(y.shape());
        for (Index at = 0; at < y.size(); ++at) {
            probe[at] = 1;
            float sum = 0;
            for (Index i = 0; i < x.size(); ++i) {
                sum += x[i] * convolved(probe, weight, how, i / 48, i / 12 % 4, i / 4 % 3, i % 4);
            }
            wrong += y[at] == sum ? 0 : 1;
            probe[at] = 0;
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("layer norm's and RMS norm's gradients, worked by hand") {
    const Engine engine("fp32", "soft:ieee");
    const auto are = [](const Tensor& tensor, const std::vector<float>& expected) {
        return std::ranges::equal(tensor.values(), expected);
    };
    // 1 / sqrt(1 + 3) = 1/2: h = -+1/2. dh = dy w; dx = (dh - mean(dh) - h mean(dh h)) / 2.
    Tape tape(engine);
    const Var x = tape.leaf(Tensor({2, 2}, std::vector<float>{-1, 1, 1, -1}));
    const Var w = tape.leaf(Tensor({2}, std::vector<float>{1, 2}));
    const Var b = tape.leaf(Tensor({2}));
    tape.backward(weighed(layer_norm(x, w, b, 3), Tensor({2, 2}, std::vector<float>{3, 5, 2, 7})));
    CHECK(are(x.gradient(), {-1.3125F, 1.3125F, -2.25F, 2.25F}));
    CHECK(are(w.gradient(), {-0.5F, -1}));
    CHECK(are(b.gradient(), {5, 12}));
    // h = 1/2; dx = (dh - h mean(dh h)) / 2.
    const Var z = tape.leaf(Tensor({1, 2}, std::vector<float>{1, 1}));
    const Var v = tape.leaf(Tensor({2}, std::vector<float>{1, 2}));
    tape.backward(weighed(rms_norm(z, v, 3), Tensor({1, 2}, std::vector<float>{3, 5})));
    CHECK(are(z.gradient(), {0.6875F, 4.1875F}));
    CHECK(are(v.gradient(), {1.5F, 2.5F}));
}

TEST_CASE("a scaler's state holds what is left of its hysteresis, and nothing comes before the first scale") {
    LossScaleOptions options = loss_scale_dialect("deepspeed");
    options.hysteresis = 3;
    options.growth = 4;
    LossScale scale(options);
    scale.update(true);
    options.growth = 2;  // which the state replaces
    LossScale loaded(options);
    loaded.load(scale.state());
    CHECK(loaded.state() == scale.state());
    CHECK(scale.state().at("hysteresis_left") == 2);
    GradScaler scaler(options);
    CHECK_THROWS_WITH_AS(scaler.update(), doctest::Contains("before the first scale()"), std::logic_error);
}

/// One step of a weight in floats, which round each operation as fp32's steps do. State: a mean or sum, a square.
struct PlainWeight {
    float w, first = 0, second = 0;

    void step(const OptimizerOptions& o, float g, int t) {
        const auto f = [](double x) { return static_cast<float>(x); };
        const float rate = f(o.learning_rate), decay = f(o.weight_decay) * w;
        const bool in_update = o.kind == OptimizerKind::adamw || o.kind == OptimizerKind::sophia;
        if (o.weight_decay != 0 && !in_update) g = g + decay;
        float update = 0;
        switch (o.kind) {
            case OptimizerKind::sgd:
                if (o.momentum != 0) {
                    const float kept = f(o.momentum) * first;
                    first = t == 1 ? g : kept + g;
                    const float ahead = f(o.momentum) * first;
                    g = o.nesterov ? g + ahead : first;
                }
                update = rate * g;
                break;
            case OptimizerKind::adam:
            case OptimizerKind::adamw: {
                const float kept = f(o.beta1) * first, taken = f(1 - o.beta1) * g;
                first = kept + taken;
                const float kept2 = f(o.beta2) * second, squared = g * g, taken2 = f(1 - o.beta2) * squared;
                second = kept2 + taken2;
                double power1 = 1, power2 = 1;
                for (int i = 0; i < t; ++i) power1 *= o.beta1, power2 *= o.beta2;
                const float root = std::sqrt(second) / f(std::sqrt(1 - power2));
                update = f(o.learning_rate / (1 - power1)) * (first / (root + f(o.eps)));
                const float decayed = f(o.learning_rate * o.weight_decay) * w;
                if (o.kind == OptimizerKind::adamw) update = update + decayed;
                break;
            }
            case OptimizerKind::adagrad: {
                const float squared = g * g;
                first = first + squared;
                update = rate * (g / (std::sqrt(first) + f(o.eps)));
                break;
            }
            case OptimizerKind::rmsprop: {
                const float kept = f(o.alpha) * second, squared = g * g, taken = f(1 - o.alpha) * squared;
                second = kept + taken;
                float direction = g / (std::sqrt(second) + f(o.eps));
                const float rolled = f(o.momentum) * first;
                if (o.momentum != 0) direction = first = rolled + direction;
                update = rate * direction;
                break;
            }
            case OptimizerKind::sophia: {
                const float kept = f(o.beta1) * first, taken = f(1 - o.beta1) * g;
                first = kept + taken;
                const float ratio = std::clamp(first / f(o.eps), -1.0F, 1.0F);  // no curvature yet
                update = rate * (ratio + decay);
                break;
            }
        }
        w = w - update;
    }
};

TEST_CASE("every optimizer steps as its plain formula in floats, bit for bit") {
    using enum OptimizerKind;
    const OptimizerOptions cases[] = {{.kind = sgd},
                                      {.kind = sgd, .weight_decay = 0.25},
                                      {.kind = sgd, .momentum = 0.9, .weight_decay = 0.1},
                                      {.kind = sgd, .momentum = 0.9, .nesterov = true},
                                      {.kind = adam, .eps = 0.01},
                                      {.kind = adam, .weight_decay = 0.5},
                                      {.kind = adamw, .eps = 0.01, .weight_decay = 0.5},
                                      {.kind = adagrad, .eps = 0.125},
                                      {.kind = adagrad, .weight_decay = 0.5},
                                      {.kind = rmsprop, .eps = 0.125},
                                      {.kind = rmsprop, .momentum = 0.9, .weight_decay = 0.5},
                                      {.kind = sophia, .eps = 0.5, .weight_decay = 0.5}};
    for (const OptimizerOptions& options : cases) {
        CAPTURE(name_of(options.kind));
        CAPTURE(options.weight_decay);
        Model model(recipe_by_name("fp32"), 1);
        Parameter& parameter = model.add("w", {3}, Init::constant(1.5F));
        Optimizer optimizer(model, options);
        std::vector<PlainWeight> plain(3, PlainWeight{1.5F});
        for (int t = 1; t <= 4; ++t) {
            const std::vector<float> g = {0.3F * static_cast<float>(t), -1.7F, 0.01F / static_cast<float>(t)};
            parameter.gradient = Tensor({3}, g);
            optimizer.step();
            for (std::size_t i = 0; i < 3; ++i) {
                plain[i].step(options, g[i], t);
                CHECK(parameter.value[static_cast<Index>(i)] == plain[i].w);
            }
        }
    }
}

TEST_CASE("concat refuses a dimension that is not there") {
    const Engine engine("fp32", "soft:ieee");
    Tape tape(engine);
    const Var x = tape.leaf(Tensor({2, 2}));
    for (const Index dimension : {Index{2}, Index{-3}}) {
        CHECK_THROWS_WITH_AS(concat({x, x}, dimension), doctest::Contains("has no dimension"), std::invalid_argument);
    }
}

TEST_CASE("a norm in fp16 with parameters in fp32 computes in fp32 and rounds once, in training and in evaluation") {
    const Engine half(Level("O3", {{"keep_batchnorm_fp32", "true"}}).recipe(), make_backend("soft:ieee"));
    const Engine single("fp32", "soft:ieee");
    Random random(1, "x");
    Tensor x({64, 1}, formats::fp16);
    for (float& each : x.values()) each = round_to(formats::fp16, static_cast<float>(random.uniform(-1, 3)));
    for (const bool training : {true, false}) {
        const auto normed = [&](const Engine& engine, const FloatFormat& format) {
            Model model(engine.recipe, 1);
            BatchStatistics& running = model.add_statistics("bn", 1);
            running.mean[0] = 0.3F;
            running.variance[0] = 1.7F;
            Run run;
            run.training = training;
            Tape tape(engine, run);
            Tensor in = x;
            in.set_format(format);
            const Var weight = tape.leaf(Tensor({1}, std::vector<float>{1.1F}));
            const Var bias = tape.leaf(Tensor({1}, std::vector<float>{0.7F}));
            return batch_norm(tape.leaf(in), weight, bias, running).value();
        };
        const Tensor y = normed(half, formats::fp16), exact = normed(single, formats::fp32);
        int wrong = 0;
        for (Index i = 0; i < y.size(); ++i) wrong += y[i] == round_to(formats::fp16, exact[i]) ? 0 : 1;
        CAPTURE(training);
        CHECK(wrong == 0);
    }
    const auto by_row = [&](const Engine& engine, const FloatFormat& format) {
        Tape tape(engine);
        Tensor rows({8, 8}, std::vector<float>(x.values().begin(), x.values().end()), format);
        const Tensor ones({8}, std::vector<float>(8, 1.1F)), zeros({8});
        return layer_norm(tape.leaf(std::move(rows)), tape.leaf(ones), tape.leaf(zeros)).value();
    };
    const Tensor y = by_row(Engine("fp16", "soft:ieee"), formats::fp16), exact = by_row(single, formats::fp32);
    int wrong = 0;
    for (Index i = 0; i < y.size(); ++i) wrong += y[i] == round_to(formats::fp16, exact[i]) ? 0 : 1;
    CHECK(wrong == 0);
}

TEST_CASE("a mask hides the later places of what is stored, at the end of a fused chain as well") {
    const Engine engine("bf16+fused", "soft:ieee");
    Tape tape(engine);
    const Var x = tape.leaf(Tensor({2, 2}, std::vector<float>{1, 2, 3, 5}, formats::bf16));
    const Tensor y = causal_mask(scaled(x, 0.3)).value();
    CHECK(y[0] == round_to(formats::bf16, 0.3F));
    CHECK(std::isinf(y[1]));
    CHECK(y[2] == round_to(formats::bf16, 3 * 0.3F));
    CHECK(y[3] == round_to(formats::bf16, 5 * 0.3F));
}

TEST_CASE("a GRU is its plain loop, and a convolution's parameters start as far as its groups' inputs say") {
    const Engine engine("fp32", "soft:ieee");
    Model model(engine.recipe, 1);
    constexpr Index steps = 3, in = 2, width = 3;
    const Gru cell(model, "cell", in, width);
    Tensor x({steps, 1, in});
    for (Index i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) / 4 - 0.5F;
    Tape tape(engine);
    const Tensor y = cell(tape.leaf(x)).value();
    std::vector<double> h(width, 0.0);
    for (Index t = 0; t < steps; ++t) {
        const auto sums = [&](Parameter* weight, Parameter* bias, Index row, Index length, auto&& from) {
            double sum = bias->value[row];
            for (Index i = 0; i < length; ++i) sum += static_cast<double>(weight->value[row * length + i]) * from(i);
            return sum;
        };
        std::vector<double> next;
        for (Index i = 0; i < width; ++i) {
            const auto own = [&](Index gate) {
                return sums(cell.p.weight_ih, cell.p.bias_ih, gate * width + i, in,
                            [&](Index j) { return static_cast<double>(x[t * in + j]); });
            };
            const auto past = [&](Index gate) {
                return sums(cell.p.weight_hh, cell.p.bias_hh, gate * width + i, width,
                            [&](Index j) { return h[static_cast<std::size_t>(j)]; });
            };
            const auto squashed = [](double v) { return 1 / (1 + std::exp(-v)); };
            const double r = squashed(own(0) + past(0)), z = squashed(own(1) + past(1));
            const double n = std::tanh(own(2) + r * past(2));
            next.push_back((1 - z) * n + z * h[static_cast<std::size_t>(i)]);
            CHECK(static_cast<double>(y[t * width + i]) == doctest::Approx(next.back()).epsilon(1e-5));
        }
        h = next;
    }
    const Conv1d conv(model, "conv", 4, 64, 3, {.groups = 2});
    const ConvTranspose2d up(model, "up", 4, 64, 3, {.groups = 2});
    CHECK(conv.weight->value.shape() == Shape{64, 2, 3});
    CHECK(up.weight->value.shape() == Shape{4, 32, 3, 3});
    for (const auto& [each, terms] : {std::pair(conv.weight, 2 * 3), std::pair(conv.bias, 2 * 3),
                                      std::pair(up.weight, 32 * 3 * 3), std::pair(up.bias, 32 * 3 * 3)}) {
        float largest = 0;
        for (const float v : each->value.values()) largest = std::max(largest, std::abs(v));
        CHECK(largest <= 1 / std::sqrt(static_cast<float>(terms)));
        CHECK(largest > 0.9F / std::sqrt(static_cast<float>(terms)));
    }
}

TEST_CASE("a mask of no places, a decay over no steps, batches of one") {
    const Engine engine("fp32", "soft:ieee");
    Tape tape(engine);
    CHECK(causal_mask(tape.leaf(Tensor({1, 0, 0}))).value().size() == 0);
    CHECK(linear_decay_factor(0, 0) == 0);
    CHECK(BatchSchedule(3, 1, 1).next().size() == 1);
}

}  // namespace
