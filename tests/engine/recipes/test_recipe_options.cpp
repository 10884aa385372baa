// What a recipe says beside its formats: flushed subnormals, and where chains of point-wise operations round. And what
// a training takes of memory.
#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

#include "engine/tape/ops.hpp"
#include "engine/tensor/random.hpp"
#include "engine/tensor/steps.hpp"
#include "engine/tensor/storage.hpp"
#include "engine/training/trainer.hpp"
#include "softfloat/float.hpp"

namespace {

using namespace ulp;

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

Tensor normal_tensor(Shape shape, std::uint64_t seed, double scale, const FloatFormat& format) {
    Tensor tensor(std::move(shape));
    Random random(seed);
    for (float& x : tensor.values()) x = static_cast<float>(scale * random.normal());
    tensor.round_to_format(format);
    return tensor;
}

int subnormals(const Tensor& tensor, const FloatFormat& format) {
    int count = 0;
    for (const float x : tensor.values()) count += x != 0 && std::abs(x) < smallest_normal(format) ? 1 : 0;
    return count;
}

TEST_CASE("an option of a recipe is written after its name") {
    CHECK(recipe_by_name("bf16").rounding == Context{});
    CHECK(recipe_by_name("bf16").fused.empty());
    const Recipe both = recipe_by_name("bf16+ftz+fused");
    CHECK(both.name == "bf16+ftz+fused");
    CHECK(both.rounding == Context{.flush_inputs = true, .flush_outputs = true});
    CHECK(both.fuses("relu"));
    CHECK(!both.fuses("linear"));
    CHECK(both.weights == formats::bf16);
    CHECK_THROWS_WITH_AS(recipe_by_name("bf16+dtz"), "a recipe has no option '+dtz'; there are +ftz, +fused",
                         std::invalid_argument);
    CHECK_THROWS_WITH_AS(recipe_by_name("bf15+ftz"), doctest::Contains("no recipe 'bf15'"), std::invalid_argument);
}

/// scaled(multiply(a, b), 0.5) near fp16's smallest normal number, as softfloat's types compute it with a context.
TEST_CASE("a flushed recipe stores no subnormal, forward or backward, and equals softfloat with that context") {
    const auto run = [](const Recipe& recipe, Tensor& gradient) {
        const Engine engine(recipe, make_backend("soft:ieee"));
        Tape tape(engine);
        const Var a = tape.leaf(normal_tensor({64}, 1, 0x1p-7, formats::fp16));
        const Var b = tape.leaf(normal_tensor({64}, 2, 0x1p-7, formats::fp16));
        const Var y = multiply(a, b);
        tape.backward(mse(y, Tensor({64})), 0x1p8F);
        gradient = a.gradient();
        return y.value();
    };
    Recipe recipe = recipe_by_name("fp16");
    Tensor kept_gradient;
    const Tensor kept = run(recipe, kept_gradient);
    CHECK(subnormals(kept, formats::fp16) > 10);
    CHECK(subnormals(kept_gradient, formats::fp16) > 10);
    recipe = recipe_by_name("fp16+ftz");
    Tensor gradient;
    const Tensor flushed = run(recipe, gradient);
    CHECK(subnormals(flushed, formats::fp16) == 0);
    CHECK(subnormals(gradient, formats::fp16) == 0);
    const Tensor a = normal_tensor({64}, 1, 0x1p-7, formats::fp16);
    const Tensor b = normal_tensor({64}, 2, 0x1p-7, formats::fp16);
    int wrong = 0;
    for (Index i = 0; i < 64; ++i) {
        Context context{.flush_inputs = true, .flush_outputs = true};
        const fp16 expected = multiply(fp16{a[i]}, fp16{b[i]}, context);
        wrong += bits(flushed[i]) == bits(static_cast<float>(expected)) ? 0 : 1;
    }
    CHECK(wrong == 0);
}

TEST_CASE("flushing in fp32 changes fp32's own subnormals alone") {
    const auto product = [](const char* recipe, float x) {
        const Engine engine(recipe, "soft:ieee");
        Tape tape(engine);
        return scaled(tape.leaf(Tensor({1}, std::vector<float>{x})), 0.5).value()[0];
    };
    CHECK(product("fp32", 0x1p-126F) == 0x1p-127F);
    CHECK(product("fp32+ftz", 0x1p-126F) == 0);
    CHECK(product("fp32+ftz", -0x1p-126F) == 0);
    CHECK(std::signbit(product("fp32+ftz", -0x1p-126F)));
    CHECK(product("fp32+ftz", 0x1p-125F) == 0x1p-126F);
    CHECK(product("fp32+ftz", 0x1p-20F) == 0x1p-21F);
}

/// A chain by hand: tanh(0.3 x + y) with x and y in bf16 and steps in fp32.
TEST_CASE("a fused chain rounds at its end, an unfused one after every operation") {
    const auto run = [](const char* recipe) {
        const Engine engine(recipe, "soft:h100");
        Tape tape(engine);
        const Var x = tape.leaf(normal_tensor({256}, 1, 1, formats::bf16));
        const Var y = tape.leaf(normal_tensor({256}, 2, 1, formats::bf16));
        const Var chain = tanh(add(scaled(x, 0.3), y));
        const Var end = reshape(chain, {16, 16});  // moving numbers ends a chain
        CHECK(chain.format() == formats::bf16);
        CHECK(end.value().format() == formats::bf16);
        return end.value();
    };
    const Tensor unfused = run("bf16");
    const Tensor fused = run("bf16+fused");
    const Tensor x = normal_tensor({256}, 1, 1, formats::bf16);
    const Tensor y = normal_tensor({256}, 2, 1, formats::bf16);
    int wrong = 0;
    int different = 0;
    for (Index i = 0; i < 256; ++i) {
        const float product = x[i] * static_cast<float>(0.3);
        const float sum = round_to(formats::bf16, round_to(formats::bf16, product) + y[i]);
        wrong += bits(unfused[i]) == bits(round_to(formats::bf16, step::tanh(sum))) ? 0 : 1;
        wrong += bits(fused[i]) == bits(round_to(formats::bf16, step::tanh(product + y[i]))) ? 0 : 1;
        different += bits(unfused[i]) == bits(fused[i]) ? 0 : 1;
    }
    CHECK(wrong == 0);
    CHECK(different > 20);
}

TEST_CASE("a fused chain keeps its gradients unrounded on the way back, and its end is stored once") {
    const auto run = [](const char* recipe) {
        const Engine engine(recipe, "soft:h100");
        Tape tape(engine);
        const Var x = tape.leaf(normal_tensor({64}, 1, 1, formats::bf16));
        const Var chain = tanh(scaled(x, 0.3));
        const Var once = reshape(chain, {64});
        const Var twice = reshape(chain, {64});
        tape.backward(mse(add(once, twice), Tensor({64})));
        return x.gradient();
    };
    const Tensor fused = run("bf16+fused");
    const Tensor unfused = run("bf16");
    CHECK(fused.format() == formats::bf16);
    int different = 0;
    for (Index i = 0; i < 64; ++i) different += bits(fused[i]) == bits(unfused[i]) ? 0 : 1;
    CHECK(different > 5);
}

TEST_CASE("in fp32, where steps and storage have one format, fusing changes nothing") {
    const auto run = [](const char* recipe) {
        Trainer trainer(Engine(recipe, "soft:ieee"), 1);
        const Mlp net(trainer.model(), {6, 5, 3});
        trainer.optimize({});
        const Tensor x = normal_tensor({4, 6}, 1, 1, formats::fp32);
        trainer.step([&](Tape& tape) { return cross_entropy(net(tape.constant(x)), {0, 1, 2, 0}); });
        return trainer.trace().digest();
    };
    CHECK(run("fp32") == run("fp32+fused"));
}

/// The CNN of the benchmarks at half its size.
struct SmallCnn {
    Conv2d conv1, conv2;
    Linear dense;
    explicit SmallCnn(Model& model)
        : conv1(model, "conv1", 1, 8, 3, {.padding = 1}),
          conv2(model, "conv2", 8, 16, 3, {.padding = 1}),
          dense(model, "dense", 16 * 7 * 7, 10) {}
    Var loss(Tape& tape, const Tensor& batch, const std::vector<int>& labels) const {
        const Var one = max_pool2d(relu(conv1(tape.input(batch))), 2);
        const Var two = max_pool2d(relu(conv2(one)), 2);
        return cross_entropy(dense(reshape(two, {batch.dim(0), 16 * 7 * 7})), labels);
    }
};

TEST_CASE("peak memory is what the byte accounting says, within 1.1 times, before training and during it") {
    for (const auto& [recipe, backend] : {std::pair{"fp32", "eigen"}, {"mixed_fp16", "soft:h100"}}) {
        const std::string name = recipe;
        CAPTURE(name);
        Trainer trainer(Engine(name, backend), 1);
        trainer.keep_trace = false;
        const SmallCnn net(trainer.model());
        trainer.optimize({.kind = OptimizerKind::adam, .learning_rate = 1e-3});
        const Tensor batch = normal_tensor({32, 1, 28, 28}, 1, 1, formats::fp32);
        const std::vector<int> labels(32, 3);
        const auto forward = [&](Tape& tape) { return net.loss(tape, batch, labels); };
        const std::int64_t outside = storage_bytes().live;  // the batch, the parameters
        const auto planned = trainer.planned_bytes(forward);
        restart_storage_peak();
        trainer.step(forward);
        trainer.step(forward);
        const auto counted = trainer.bytes();
        CHECK(planned.total().held == counted.total().held);
        CHECK(planned.total().stored == counted.total().stored);
        const std::int64_t parameters = counted.weights.held + counted.masters.held;
        const auto used = static_cast<double>(storage_bytes().peak - outside + parameters);
        const auto said = static_cast<double>(counted.total().held);
        MESSAGE(recipe << ": peak " << used << " bytes, accounted " << said << ", ratio " << used / said);
        CHECK(used < 1.1 * said);
        CHECK(used > 0.6 * said);  // an accounting that says too much is none either
        CHECK((counted.activations.stored == counted.activations.held) == (std::string(recipe) == "fp32"));
    }
}

TEST_CASE("planning the bytes leaves the training as it was") {
    const auto run = [](bool plan) {
        Trainer trainer(Engine("fp8", "soft:h100"), 1);
        const Linear first(trainer.model(), "first", 16, 16);
        const BatchNorm norm(trainer.model(), "norm", 16);
        trainer.optimize({.momentum = 0.9});
        const Tensor x = normal_tensor({8, 16}, 1, 1, formats::bf16);
        const auto forward = [&](Tape& tape) {
            return cross_entropy(norm(first(tape.constant(x))), std::vector<int>(8, 1));
        };
        for (int i = 0; i < 3; ++i) {
            if (plan) CHECK(trainer.planned_bytes(forward).total().held > 0);
            trainer.step(forward);
        }
        return trainer.trace().digest();
    };
    CHECK(run(true) == run(false));
}

}  // namespace
