// The search for the first number that is not finite: what it names, what it passes over, and that the remedy it gives
// makes the run finite.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "engine/data/generated.hpp"
#include "engine/layers/attention.hpp"
#include "engine/tape/operation.hpp"
#include "engine/training/images.hpp"
#include "engine/training/remedy.hpp"
#include "engine/training/schedule.hpp"
#include "engine/training/trainer.hpp"

namespace {

using namespace ulp;

constexpr float fp32_infinity = std::numeric_limits<float>::infinity();

/// A watch that only searches.
Watch searching() {
    Watch watch;
    watch.count_rounding = false;
    return watch;
}

/// A training of a small net on generated digits, with a watch that only searches.
struct Digits {
    Watch watch = searching();
    Trainer trainer;
    Mlp net;
    Dataset data = generated_digits({.count = 256, .side = 14, .seed = 1});
    BatchSchedule batches{256, 32, 1};
    double loss = 0;
    int skipped = 0;

    Digits(Recipe recipe, const OptimizerOptions& options, bool watched = true)
        : trainer(Engine(std::move(recipe), make_backend("soft:ieee")), 1), net(trainer.model(), {196, 24, 10}) {
        trainer.optimize(options);
        if (watched) trainer.observers().watch = &watch;
    }
    Digits(const Digits&) = delete;
    Digits& operator=(const Digits&) = delete;

    /// Until something is found.
    void train(int steps) {
        for (int i = 0; i < steps && !watch.first_nonfinite; ++i) {
            const Batch batch = batch_of(data, batches.next());
            const StepResult result = trainer.step(
                [&](Tape& tape) { return cross_entropy(net(images_on(tape, batch.images)), batch.labels); });
            loss = result.loss;
            skipped += result.skipped ? 1 : 0;
        }
    }
};

TEST_CASE("a run without an infinity is searched to its end, and every bit is that of one that is not watched") {
    for (const char* recipe : {"fp32", "bf16", "msamp_o2"}) {
        CAPTURE(recipe);
        Digits watched(recipe_by_name(recipe), {.kind = OptimizerKind::adam, .learning_rate = 1e-3});
        Digits alone(recipe_by_name(recipe), {.kind = OptimizerKind::adam, .learning_rate = 1e-3}, false);
        watched.train(20);
        alone.train(20);
        CHECK(!watched.watch.first_nonfinite);
        CHECK(watched.watch.skips == 0);
        CHECK(watched.trainer.trace().digest() == alone.trainer.trace().digest());
    }
}

TEST_CASE("the ordinary skips of a dynamic scale are passed over and counted, and the run continues") {
    const OptimizerOptions sgd{.learning_rate = 0.05, .momentum = 0.9};
    Digits watched(recipe_by_name("mixed_fp16_fp16_loss"), sgd);
    Digits alone(recipe_by_name("mixed_fp16_fp16_loss"), sgd, false);
    watched.train(60);
    alone.train(60);
    CHECK(!watched.watch.first_nonfinite);
    CHECK(watched.skipped > 0);
    CHECK(watched.watch.skips == watched.skipped);
    CHECK(watched.loss < 2.0);
    CHECK(watched.trainer.trace().digest() == alone.trainer.trace().digest());
}

TEST_CASE("an overflow in the forward pass is no ordinary skip of a dynamic scale") {
    Digits run(recipe_by_name("mixed_fp16"), {.learning_rate = 0.05});
    Parameter& w = run.trainer.model()["fc1.weight"];
    Tensor large = w.value;
    for (float& x : large.values()) x = 3e4F;
    w.assign(large);
    run.train(3);
    REQUIRE(run.watch.first_nonfinite);
    const NonFinite& found = *run.watch.first_nonfinite;
    CHECK(found.label == "fc1/linear");
    CHECK(found.pass == "forward");
    CHECK(found.step == 0);
    CHECK(found.value == fp32_infinity);
    REQUIRE(found.term);
    CHECK(found.term->count == 196);
    CHECK(found.term->b == 30000.0F);
    CHECK(found.term->sum > 65504);
    CHECK(found.remedy->kind == Remedy::Kind::in_fp32);
    CHECK(found.text().find("remedy: in fp32: linear") != std::string::npos);
    // The remedy, applied.
    Digits again(with_remedy(recipe_by_name("mixed_fp16"), *found.remedy), {.learning_rate = 0.05});
    again.trainer.model()["fc1.weight"].assign(large);
    again.train(1);
    CHECK(!again.watch.first_nonfinite);
    CHECK(std::isfinite(again.loss));
}

TEST_CASE("a constant loss scale that is too large: the gradient, and the largest power of two that fits") {
    const auto with_scale = [](double scale) {
        Recipe recipe = recipe_by_name("mixed_fp16");
        recipe.loss_scale = constant_loss_scale(scale);
        return recipe;
    };
    Digits run(with_scale(0x1p24), {.learning_rate = 0.05});
    run.train(3);
    REQUIRE(run.watch.first_nonfinite);
    const NonFinite& found = *run.watch.first_nonfinite;
    CHECK(found.pass.starts_with("backward, gradient of "));
    CHECK(found.step == 0);
    REQUIRE(found.remedy->kind == Remedy::Kind::loss_scale);
    const double limit = found.remedy->limit;
    CHECK(found.text().find("remedy: a loss scale of at most") != std::string::npos);
    // With it the step is finite; with twice as much it is not.
    Digits fits(with_remedy(with_scale(1), *found.remedy), {.learning_rate = 0.05});
    fits.train(1);
    CHECK(!fits.watch.first_nonfinite);
    Digits twice(with_scale(2 * limit), {.learning_rate = 0.05});
    twice.train(1);
    CHECK(twice.watch.first_nonfinite);
    // From however far above.
    Digits far(with_scale(0x1p100), {.learning_rate = 0.05});
    far.train(1);
    REQUIRE(far.watch.first_nonfinite);
    REQUIRE(far.watch.first_nonfinite->remedy->kind == Remedy::Kind::loss_scale);
    CHECK(far.watch.first_nonfinite->remedy->limit == limit);
}

TEST_CASE("Adam's eps of 1e-8 is 0 in fp16: the update of step 0, its parameter, and an eps that trains") {
    const auto adam = [](double eps) {
        return OptimizerOptions{.kind = OptimizerKind::adam, .learning_rate = 1e-3, .eps = eps};
    };
    Digits run(recipe_by_name("fp16"), adam(1e-8));
    run.train(5);
    REQUIRE(run.watch.first_nonfinite);
    const NonFinite& found = *run.watch.first_nonfinite;
    CHECK(found.pass == "update");
    CHECK(found.label == "fc1.weight");
    CHECK(found.step == 0);
    CHECK(!std::isfinite(found.value));
    const auto number = [&](const std::string& name) {
        for (const auto& [each, x] : found.numbers) {
            if (each == name) return x;
        }
        return std::numeric_limits<float>::quiet_NaN();
    };
    CHECK(number("square") == 0.0F);
    CHECK(std::isfinite(number("gradient")));
    CHECK(std::isfinite(number("weight")));
    REQUIRE(found.remedy->kind == Remedy::Kind::eps);
    CHECK(found.remedy->limit >= 0x1p-24);
    CHECK(found.remedy->largest_update <= 0.1 / std::sqrt(0.001));
    CHECK(found.text().find("remedy: eps of at least") != std::string::npos);
    Digits mended(recipe_by_name("fp16"), adam(found.remedy->limit));
    mended.train(60);
    CHECK(!mended.watch.first_nonfinite);
    CHECK(mended.loss < 2.0);
    // The smallest number of fp16 is not enough: its updates are finite, and the run is not.
    Digits nonzero(recipe_by_name("fp16"), adam(0x1p-24));
    nonzero.train(60);
    CHECK(nonzero.watch.first_nonfinite);
    // Searching moved no bit: the step is the one that failed.
    Digits alone(recipe_by_name("fp16"), adam(1e-8), false);
    alone.train(1);
    CHECK(run.trainer.trace().digest() == alone.trainer.trace().digest());
}

TEST_CASE(
    "an update that overflows without an eps to blame is named, with its numbers, and corrected by a smaller rate") {
    // The rate is infinite in fp16.
    Digits run(recipe_by_name("fp16"), {.learning_rate = 1e6, .momentum = 0.9});
    run.train(3);
    REQUIRE(run.watch.first_nonfinite);
    CHECK(run.watch.first_nonfinite->pass == "update");
    CHECK(run.watch.first_nonfinite->numbers.size() == 5);  // weight, gradient, momentum before and after, update
    const std::optional<Remedy> remedy = run.watch.first_nonfinite->remedy;
    REQUIRE(remedy);
    CHECK(remedy->kind == Remedy::Kind::learning_rate);
    CHECK(run.watch.first_nonfinite->text().find("remedy: a learning rate of at most ") != std::string::npos);
    Digits slower(recipe_by_name("fp16"), {.learning_rate = remedy->limit, .momentum = 0.9});
    slower.train(1);
    CHECK(!slower.watch.first_nonfinite);
}

TEST_CASE("a moment that overflows its format is named, and a weight that its 16 bits cannot hold") {
    const auto found = [](Recipe recipe, float gradient, float weight, const OptimizerOptions& options) {
        Model model(recipe, 1);
        Parameter& w = model.add("w", {2}, Init::constant(1));
        w.assign(Tensor({2}, std::vector<float>{1, weight}));
        Optimizer optimizer(model, options);
        std::optional<NonFinite> first;
        optimizer.on_nonfinite = [&](NonFinite each) {
            if (!first) first = std::move(each);
        };
        w.gradient = Tensor({2}, std::vector<float>{0, gradient}, recipe.weights);
        optimizer.step();
        return first;
    };
    Recipe recipe = recipe_by_name("bf16");
    recipe.state.v = StateFormat{formats::fp16};
    const auto square = found(recipe, 0x1p14F, 1, {.kind = OptimizerKind::adam, .learning_rate = 1e-3});
    REQUIRE(square);
    CHECK(square->label == "w");
    CHECK(square->pass == "update, square as it is kept");
    CHECK(square->element == 1);
    CHECK(square->step == 0);  // a trainer writes its own
    {
        // Without a search the same step is silent.
        Model model(recipe, 1);
        Parameter& w = model.add("w", {2}, Init::constant(1));
        Optimizer optimizer(model, {.kind = OptimizerKind::adam, .learning_rate = 1e-3});
        w.gradient = Tensor({2}, std::vector<float>{0, 0x1p14F}, recipe.weights);
        CHECK_NOTHROW(optimizer.step());
    }
    recipe.state.v = StateFormat{formats::fp16, true};
    CHECK(!found(recipe, 0x1p14F, 1, {.kind = OptimizerKind::adam, .learning_rate = 1e-3}));
    // What an infinite gradient does is not the update's fault.
    CHECK(!found(recipe_by_name("fp32"), fp32_infinity, 1, {.kind = OptimizerKind::adam, .learning_rate = 1e-3}));
    const auto published = found(recipe_by_name("mixed_fp16"), -10000, 60000, {.learning_rate = 1});
    REQUIRE(published);
    CHECK(published->pass == "update, rounded into the model");
    CHECK(published->element == 1);
    CHECK(published->value == fp32_infinity);
    const auto updated = found(recipe_by_name("fp32"), 1e38F, 1, {.learning_rate = 1e4});
    REQUIRE(updated);
    CHECK(updated->pass == "update");
    CHECK(updated->step == 0);
}

TEST_CASE("what is found in an update leaves the step as it is without a search, momentum and all") {
    const auto after = [](bool watched) {
        Watch watch = searching();
        Trainer trainer(Engine(recipe_by_name("fp32"), make_backend("soft:ieee")), 1);
        Parameter& w = trainer.model().add("w", {1, 2}, Init::constant(1));
        trainer.optimize({.learning_rate = 1e4, .momentum = 0.5});
        if (watched) trainer.observers().watch = &watch;
        trainer.step([&](Tape& tape) {
            const Tensor slope({1, 2}, std::vector<float>{1e38F, 1});
            return reshape(linear(tape.constant(slope), tape.parameter(w)), {});
        });
        if (watched) CHECK(watch.first_nonfinite.has_value());
        return std::pair(w.value[0], w.value[1]);
    };
    CHECK(after(true) == after(false));
    CHECK(std::isfinite(after(true).second));
}

/// One step of a loss on a leaf of ones, in this recipe.
template <class Loss>
Watch after_one_step(Recipe recipe, const Loss& loss) {
    Watch watch = searching();
    Trainer trainer(Engine(std::move(recipe), make_backend("soft:ieee")), 1);
    loss.build(trainer.model());
    trainer.optimize({.learning_rate = 1e-3});
    trainer.observers().watch = &watch;
    trainer.step([&](Tape& tape) { return loss(tape, trainer.model()); });
    return watch;
}

struct AttentionLoss {
    mutable std::optional<MultiHeadAttention> attention{};
    void build(Model& model) const {
        attention.emplace(model, "block0/attention", 8, 2);
        Parameter& w = model["block0/attention.in_proj.weight"];
        Tensor large = w.value;
        for (float& x : large.values()) x = x > 0 ? 64.0F : -64.0F;
        w.assign(large);
    }
    Var operator()(Tape& tape, Model&) const {
        Tensor x({1, 4, 8});
        for (Index i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 5) - 2.0F;
        return mse((*attention)(tape.input(x), true), Tensor({1, 4, 8}));
    }
};

TEST_CASE("an overflow in attention is named with its path, past the mask's infinities") {
    Recipe recipe = recipe_by_name("mixed_fp16");
    recipe.loss_scale = constant_loss_scale(1);
    const AttentionLoss loss;
    const Watch watch = after_one_step(recipe, loss);
    REQUIRE(watch.first_nonfinite);
    CHECK(watch.first_nonfinite->label == "block0/attention/scores/matmul");
    CHECK(watch.first_nonfinite->pass == "forward");
    CHECK(watch.first_nonfinite->shape == Shape{2, 4, 4});
    REQUIRE(watch.first_nonfinite->term);
    CHECK(watch.first_nonfinite->term->count == 4);
    REQUIRE(watch.first_nonfinite->remedy->kind == Remedy::Kind::in_fp32);
    const AttentionLoss again;
    CHECK(!after_one_step(with_remedy(recipe, *watch.first_nonfinite->remedy), again).first_nonfinite);
}

struct NormLoss {
    double eps;
    void build(Model& model) const {
        (void)model.add("ln.weight", {4}, Init::constant(1));
        (void)model.add("ln.bias", {4}, Init::constant(0));
    }
    Var operator()(Tape& tape, Model& model) const {
        const Tape::Scope scope(tape, "ln");
        const Var x = tape.input(Tensor({2, 4}, std::vector<float>{1, 2, 3, 4, 5, 5, 5, 5}));
        const Var w = tape.parameter(model["ln.weight"]);
        return mse(layer_norm(x, w, tape.parameter(model["ln.bias"]), eps), Tensor({2, 4}));
    }
};

TEST_CASE("a variance of 0 with an eps that is 0 in fp16: the row that layer norm divided by zero") {
    const Recipe recipe = recipe_by_name("fp16");
    const Watch watch = after_one_step(recipe, NormLoss{1e-8});
    REQUIRE(watch.first_nonfinite);
    const NonFinite& found = *watch.first_nonfinite;
    CHECK(found.label == "ln/layer_norm");
    CHECK(found.pass == "forward");
    CHECK(found.element == 4);
    CHECK(std::isnan(found.value));
    CHECK(found.text().find("element 4 (1, 0)") != std::string::npos);
    REQUIRE(found.remedy->kind == Remedy::Kind::in_fp32);
    CHECK(found.remedy->operations.front() == "layer_norm");
    CHECK(!after_one_step(with_remedy(recipe, *found.remedy), NormLoss{1e-8}).first_nonfinite);
    CHECK(!after_one_step(recipe_by_name("fp16"), NormLoss{1e-5}).first_nonfinite);
}

/// A tape under watch.
struct WatchedTape {
    Watch watch;
    const Engine engine;
    Run run;
    explicit WatchedTape(std::string_view recipe) : engine(recipe, "soft:ieee") { run.observers.watch = &watch; }
};

TEST_CASE("a mask's infinities are no fault, a row of nothing but masks is softmax's, which makes NaN of it") {
    WatchedTape w("fp32");
    {
        Tape tape(w.engine, w.run);
        const Var scores = tape.leaf(Tensor({1, 3}));
        const Var mask = tape.constant(Tensor({1, 3}, std::vector<float>{0, -fp32_infinity, -fp32_infinity}));
        CHECK(softmax(add(scores, mask)).value()[0] == 1.0F);
        CHECK(!w.watch.first_nonfinite);
    }
    Tape tape(w.engine, w.run);
    const Var mask = tape.constant(Tensor({1, 2}, std::vector<float>{-fp32_infinity, -fp32_infinity}));
    (void)softmax(add(tape.leaf(Tensor({1, 2})), mask));
    REQUIRE(w.watch.first_nonfinite);
    CHECK(w.watch.first_nonfinite->label == "softmax");
    CHECK(w.watch.first_nonfinite->operands.at(0).not_finite == 2);
}

TEST_CASE("a NaN in the data is reported as given, not blamed on the operation that read it") {
    WatchedTape w("mixed_fp16");
    Tape tape(w.engine, w.run);
    const Var x = tape.input(Tensor({2}, std::vector<float>{1.0F, std::numeric_limits<float>::quiet_NaN()}));
    (void)multiply(tape.leaf(Tensor({2}, std::vector<float>{1.0F, 2.0F}, formats::fp16)), x);
    REQUIRE(w.watch.first_nonfinite);
    CHECK(w.watch.first_nonfinite->label == "constant");
    CHECK(w.watch.first_nonfinite->pass == "given");
    CHECK(w.watch.first_nonfinite->element == 1);
}

TEST_CASE("two finite gradients whose sum overflows are named where they are added") {
    WatchedTape w("mixed_fp16");
    Tape tape(w.engine, w.run);
    const Var x = tape.leaf(Tensor({1}, std::vector<float>{1.0F}, formats::fp16));
    const Var twice = add(scaled(x, 40000), scaled(x, -40000));
    tape.backward(reshape(scaled(twice, 1), {}));
    CHECK(!w.watch.first_nonfinite);
    Tape again(w.engine, w.run);
    const Var y = again.leaf(Tensor({1}, std::vector<float>{0.5F}, formats::fp16));
    again.backward(reshape(add(scaled(y, 40000), scaled(y, 40000)), {}));
    REQUIRE(w.watch.first_nonfinite);
    CHECK(w.watch.first_nonfinite->label == "leaf");
    CHECK(w.watch.first_nonfinite->pass == "backward, sum of gradients");
}

}  // namespace
