// Training: against an independent reference in the softfloat types, repeatable to the bit, with a scaler that skips.
#include <doctest/doctest.h>
#include <omp.h>

#include <algorithm>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/data/generated.hpp"
#include "engine/tape/operation.hpp"
#include "engine/tensor/random.hpp"
#include "engine/training/images.hpp"
#include "engine/training/schedule.hpp"
#include "engine/training/trainer.hpp"
#include "softfloat/float.hpp"

namespace {

using namespace ulp;

constexpr int examples = 4;
constexpr int inputs = 6;
constexpr int hidden = 5;
constexpr int classes = 3;

/// The 6-5-3 net of the tests by the book, element by element: Low stores, Step computes, Accumulator adds products,
/// Update holds what the optimizer updates, Loss computes the loss. exp and log come from Boost with 50 digits.
template <class Low, class Step, class Accumulator, class Update, class Loss>
class Reference {
  public:
    using Wide = boost::multiprecision::cpp_bin_float_50;
    template <class T>
    using Grid = std::vector<std::vector<T>>;

    Grid<Update> w1, v1, w2, v2;
    std::vector<Update> b1, vb1, b2, vb2;
    int steps = 0;

    /// One step of SGD with momentum 0.9 and rate 0.1; returns the loss.
    Loss step(const Grid<Low>& x, const std::vector<int>& labels, double scale) {
        const Grid<Low> h = forward(x, w1, b1);
        Grid<Low> a = h;
        for (auto& row : a) {
            for (Low& value : row) value = value <= Low{0} ? Low{0} : value;
        }
        const Grid<Low> logits = forward(a, w2, b2);
        Loss loss{0};
        const Grid<Low> dz = loss_gradient(logits, labels, scale, loss);
        Grid<Low> da = input_gradient(dz, w2);
        const Grid<Low> dw2 = weight_gradient(dz, a);
        const std::vector<Low> db2 = sums(dz);
        for (std::size_t i = 0; i < da.size(); ++i) {
            for (std::size_t j = 0; j < da[i].size(); ++j) da[i][j] = h[i][j] <= Low{0} ? Low{0} : da[i][j];
        }
        const Grid<Low> dw1 = weight_gradient(da, x);
        const std::vector<Low> db1 = sums(da);
        const Update inverse{static_cast<float>(1 / scale)};
        for (std::size_t i = 0; i < w1.size(); ++i) update(w1[i], v1[i], dw1[i], inverse);
        for (std::size_t i = 0; i < w2.size(); ++i) update(w2[i], v2[i], dw2[i], inverse);
        update(b1, vb1, db1, inverse);
        update(b2, vb2, db2, inverse);
        ++steps;
        return loss;
    }

  private:
    static Accumulator dot(const auto& a, const auto& b, std::size_t n) {
        Accumulator sum{0};
        for (std::size_t k = 0; k < n; ++k) sum = sum + Accumulator{a(k)} * Accumulator{b(k)};
        return sum;
    }
    static Grid<Low> forward(const Grid<Low>& x, const Grid<Update>& w, const std::vector<Update>& b) {
        Grid<Low> y(x.size(), std::vector<Low>(w.size()));
        for (std::size_t i = 0; i < x.size(); ++i) {
            for (std::size_t j = 0; j < w.size(); ++j) {
                const Accumulator sum = dot([&](std::size_t k) { return x[i][k]; },
                                            [&](std::size_t k) { return Low{w[j][k]}; }, x[i].size());
                y[i][j] = Low{Step{sum} + Step{Low{b[j]}}};
            }
        }
        return y;
    }
    static Grid<Low> input_gradient(const Grid<Low>& dy, const Grid<Update>& w) {
        Grid<Low> dx(dy.size(), std::vector<Low>(w[0].size()));
        for (std::size_t i = 0; i < dx.size(); ++i) {
            for (std::size_t j = 0; j < dx[i].size(); ++j) {
                dx[i][j] = Low{dot([&](std::size_t k) { return dy[i][k]; }, [&](std::size_t k) { return Low{w[k][j]}; },
                                   w.size())};
            }
        }
        return dx;
    }
    static Grid<Low> weight_gradient(const Grid<Low>& dy, const Grid<Low>& x) {
        Grid<Low> dw(dy[0].size(), std::vector<Low>(x[0].size()));
        for (std::size_t i = 0; i < dw.size(); ++i) {
            for (std::size_t j = 0; j < dw[i].size(); ++j) {
                dw[i][j] = Low{
                    dot([&](std::size_t k) { return dy[k][i]; }, [&](std::size_t k) { return x[k][j]; }, dy.size())};
            }
        }
        return dw;
    }
    static std::vector<Low> sums(const Grid<Low>& dy) {
        std::vector<Low> result;
        for (std::size_t j = 0; j < dy[0].size(); ++j) {
            Step sum{0};
            for (const auto& row : dy) sum = sum + Step{row[j]};
            result.push_back(Low{sum});
        }
        return result;
    }
    static Loss rounded(const Wide& x) { return Loss{static_cast<double>(x)}; }
    static Grid<Low> loss_gradient(const Grid<Low>& logits, const std::vector<int>& labels, double scale, Loss& loss) {
        const Loss count{static_cast<double>(logits.size())};
        const Loss upstream = (scale == 1 ? Loss{1} : Loss{1} * Loss{scale}) / count;
        Grid<Low> gradient(logits.size(), std::vector<Low>(logits[0].size()));
        for (std::size_t i = 0; i < logits.size(); ++i) {
            Loss top{logits[i][0]};
            for (const Low z : logits[i]) top = Loss{z} > top ? Loss{z} : top;
            std::vector<Loss> e;
            Loss sum{0};
            for (const Low z : logits[i]) {
                e.push_back(rounded(exp(Wide(static_cast<double>(Loss{z} - top)))));
                sum = sum + e.back();
            }
            const auto label = static_cast<std::size_t>(labels[i]);
            loss = loss + (rounded(log(Wide(static_cast<double>(sum)))) - (Loss{logits[i][label]} - top));
            for (std::size_t j = 0; j < e.size(); ++j) {
                const Loss p = e[j] / sum;
                gradient[i][j] = Low{(j == label ? p - Loss{1} : p) * upstream};
            }
        }
        loss = loss / count;
        return gradient;
    }
    void update(std::vector<Update>& w, std::vector<Update>& v, const std::vector<Low>& g, Update inverse) const {
        for (std::size_t j = 0; j < w.size(); ++j) {
            const Update gradient = Update{g[j]} * inverse;
            v[j] = steps == 0 ? gradient : Update{0.9} * v[j] + gradient;
            w[j] = w[j] - Update{0.1} * v[j];
        }
    }
};

template <class T>
std::vector<std::vector<T>> grid_of(const Tensor& tensor) {
    std::vector<std::vector<T>> grid;
    const Index cols = tensor.dim(-1);
    for (Index i = 0; i < tensor.size(); i += cols) {
        grid.emplace_back();
        for (Index j = 0; j < cols; ++j) grid.back().push_back(T{tensor[i + j]});
    }
    return grid;
}

template <class T>
int differing(const Tensor& tensor, const std::vector<std::vector<T>>& grid) {
    int count = 0;
    Index i = 0;
    for (const auto& row : grid) {
        for (const T& x : row) {
            const auto expected = std::bit_cast<std::uint32_t>(static_cast<float>(x));
            count += std::bit_cast<std::uint32_t>(tensor[i++]) == expected ? 0 : 1;
        }
    }
    return count;
}

Matrix random_images() {
    Matrix images(examples, inputs);
    Random random(11);
    for (Index i = 0; i < images.size(); ++i) images.data()[i] = static_cast<float>(random.normal());
    return images;
}

/// Trains three steps with the trainer and with the reference, and counts the bits that differ.
template <class Low, class Step, class Accumulator, class Update, class Loss>
int differences_from_reference(Recipe recipe) {
    Trainer trainer(Engine(std::move(recipe), make_backend("soft:ieee")), 3);
    const Mlp net(trainer.model(), {inputs, hidden, classes});
    trainer.optimize({.learning_rate = 0.1, .momentum = 0.9});
    auto& p = trainer.model();
    Reference<Low, Step, Accumulator, Update, Loss> reference;
    const auto take = [](const Parameter& from, auto& to, auto& velocity) {
        to = grid_of<Update>(from.updated());
        velocity = to;
    };
    take(p["fc1.weight"], reference.w1, reference.v1);
    take(p["fc2.weight"], reference.w2, reference.v2);
    reference.b1 = reference.vb1 = grid_of<Update>(p["fc1.bias"].updated())[0];
    reference.b2 = reference.vb2 = grid_of<Update>(p["fc2.bias"].updated())[0];
    const Matrix images = random_images();
    const std::vector<int> labels = {2, 0, 1, 2};
    int wrong = 0;
    for (int i = 0; i < 3; ++i) {
        const double scale = trainer.scaler().value();
        const StepResult result =
            trainer.step([&](Tape& tape) { return cross_entropy(net(images_on(tape, images)), labels); });
        const Loss loss = reference.step(grid_of<Low>(tensor_of(images)), labels, scale);
        wrong += result.loss == static_cast<double>(loss) ? 0 : 1;
        wrong +=
            differing(p["fc1.weight"].updated(), reference.w1) + differing(p["fc2.weight"].updated(), reference.w2);
        wrong += differing<Update>(p["fc1.bias"].updated(), {reference.b1});
        wrong += differing<Update>(p["fc2.bias"].updated(), {reference.b2});
        CHECK(!result.skipped);
    }
    return wrong;
}

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
}

Recipe with_scale(std::string_view name, double scale) {
    Recipe recipe = recipe_by_name(name);
    recipe.loss_scale = constant_loss_scale(scale);
    return recipe;
}

TEST_CASE("three training steps equal an independent computation in the softfloat types, bit for bit") {
    CHECK(differences_from_reference<fp32, fp32, fp32, fp32, fp32>(recipe_by_name("fp32")) == 0);
    CHECK(differences_from_reference<fp16, fp32, fp32, fp32, fp32>(with_scale("mixed_fp16", 1024)) == 0);
    CHECK(differences_from_reference<fp16, fp16, fp16, fp16, fp16>(recipe_by_name("fp16")) == 0);
    CHECK(differences_from_reference<bf16, fp32, fp32, fp32, fp32>(recipe_by_name("bf16")) == 0);
    CHECK(differences_from_reference<bf16, bf16, fp32, bf16, bf16>(recipe_by_name("pure_bf16")) == 0);
}

TEST_CASE("the reference notices a recipe that is not its own") {
    CHECK(differences_from_reference<fp16, fp32, fp32, fp32, fp32>(recipe_by_name("fp16")) > 0);
    CHECK(differences_from_reference<fp16, fp16, fp16, fp16, fp16>(with_scale("mixed_fp16", 1)) > 0);
    Recipe other_accumulator = recipe_by_name("fp16");
    other_accumulator.accumulator = formats::fp32;
    CHECK(differences_from_reference<fp16, fp16, fp16, fp16, fp16>(other_accumulator) > 0);
}

/// Twelve steps of a 196-24-10 net on generated digits.
Trace short_run(std::string_view recipe, std::string_view backend) {
    Trainer trainer(Engine(recipe, backend), 1);
    const Mlp net(trainer.model(), {196, 24, 10});
    trainer.optimize({.learning_rate = 0.1, .momentum = 0.9});
    const Dataset data = generated_digits({.count = 64, .side = 14, .seed = 1});
    BatchSchedule batches(data.size(), 16, 1);
    for (int i = 0; i < 12; ++i) {
        const Batch batch = batch_of(data, batches.next());
        trainer.step([&](Tape& tape) { return cross_entropy(net(images_on(tape, batch.images)), batch.labels); });
    }
    return trainer.trace();
}

TEST_CASE("training with each recipe gives the same digests with every compiler, optimisation and number of threads") {
    struct Run {
        std::string recipe;
        std::string backend;
        std::string digest;
    };
    // Found by running; any compiler, build type and machine must agree.
    const std::vector<Run> runs = {
        {"fp32", "soft:ieee", "26dca5bc1150d8ee04015b1bfe374b5987342b2d2743a261570818314da2a215"},
        {"tf32", "soft:a100", "ec301160351fed0ac7ecf50c7b67cc820ec37288c5804c61800cadfa751079ba"},
        {"bf16", "soft:h100", "96f26a83ede15685999cd3558ed22a7a99fcbe90a8535c82e487c4ae1c7779a3"},
        {"mixed_fp16", "soft:h100", "4fe07c6327218aa610887f9103ee53eec9f98565bec1a4692828ec7636182bb7"},
        {"mixed_fp16", "soft:v100", "d56dd802a7830b62fa91fedbf19ea2e2ca39efa74608716d6bbf9c32bfaff34b"},
        {"fp16", "soft:h100", "d1f6e4631f7ff9947b4a50462af16a17393c0a68a001df381ab4d6749a91a752"},
        {"pure_bf16", "soft:h100", "3b760578574186f99474342f1ab99c6fd025c62b6231eaf424a1668322bc3641"},
        {"mixed_fp16_fp16_loss", "soft:h100", "3bc22c0664e9b078255d8fd21c8e1cf42689e2e454e596de72cc43637de6aaf6"},
        {"fp8", "soft:h100", "e653ff5abe470f659177a2dd5cf71e351679032f6a11f22975a9b7d50adcdc6e"},
        {"mxfp8", "soft:h100", "169451d787804856be400cd8031a7eb55bf9a11f2dbe9a5f34175c569cb401d3"},
        {"bf16_weights", "soft:h100", "5d6a03d88bcab15ca8596b3f0250ce6076353f0b50015a1789f1372293bd6657"},
        {"fp16_weights", "soft:h100", "83c499cde67aa20713458dd0fd6b95efed40a44114d689fff38c93d1f1504dfa"},
        {"bf16_sr", "soft:h100", "c710a26b4bcfd320765740d997fb804471774e8819c857cd6f09e105a71c6b47"},
        {"bf16_kahan", "soft:h100", "8a6f06045964958683d2ba6a7af8ddd5547b2d62c469e2812cc6d0e0f0632aaa"},
        {"bf16_moments", "soft:h100", "e1c9becb54d4c90881b212d3c41ea8f96ca2dc4f5419ac5e8f18653584e3f4d9"},
        {"msamp_o1", "soft:h100", "b40b6f2e7ba49354d91b7b2bec9ec8ff9f0267cb0c6ad9b2d9803066b740c70a"},
        {"msamp_o2", "soft:h100", "1d02c970724f1733825de1a8d4fc915b5dfaf111de410e446ab63f5852d1eea1"},
        {"msamp_o3", "soft:h100", "23b8debd9b01d0551eee1ffe046d44896ae3c75b182b113ea4a77b816788cf75"},
        {"mxfp8_nv", "soft:b200", "da6795732bdf6b9f8480be9d18a6eb65019b2f783bd350e38a9fd213dfdc7186"},
        {"te_delayed", "soft:h100", "c174f9ca9d659c82042ce974b4cdd68492cc09a696df7d2ef3b77fcdcd3fbf5c"},
        {"te_current", "soft:h100", "c780c2041a9db8bb9de44aa27e5746e4b3a5001bc2cd694dbbd959485eec9751"},
        {"te_block", "soft:h100", "da6795732bdf6b9f8480be9d18a6eb65019b2f783bd350e38a9fd213dfdc7186"},
        {"deepseek_v3", "soft:h100", "16afc6e09ad0e764523990c8c1600a56bd735de0b46bc9f7e59e888f4b6a7abb"},
        {"nvfp4", "soft:b200", "a92f14b3eff95f185169cd3324da3c3526bf6ca30c7056ba2ccd387473eb1ec0"},
        {"nvfp4", "soft:h100", "a92f14b3eff95f185169cd3324da3c3526bf6ca30c7056ba2ccd387473eb1ec0"},
        {"nvfp4_4over6", "soft:b200", "01798cf25e4c1c5e587cbfa63abfa9ec78c58ab2a748d9e66e5715c00ba36d3a"},
        {"ufp4", "soft:ieee", "b0f53591b25713cecf2c35274ba2f488c06641739b59d072615d9df2ff260e91"},
        {"ao_tensorwise", "soft:h100", "c780c2041a9db8bb9de44aa27e5746e4b3a5001bc2cd694dbbd959485eec9751"},
        {"ao_rowwise", "soft:h100", "6281113d1753189eaaeb09fa20e470fc3eb54ebcdd9f48fa0f29af488c55e92b"},
        {"ao_rowwise_gw_hp", "soft:h100", "98a78039763b3223713b9350f8ffeea73bdda88acff765adf5dbe06bf796692f"},
    };
    for (const Recipe& recipe : recipes()) {
        CAPTURE(recipe.name);
        CHECK((recipe.name == "fp64" || std::ranges::count(runs, recipe.name, &Run::recipe) > 0));
    }
    const int threads = omp_get_max_threads();
    for (const Run& run : runs) {
        CAPTURE(run.recipe);
        omp_set_num_threads(1);
        const Trace one = short_run(run.recipe, run.backend);
        omp_set_num_threads(2);
        const Trace two = short_run(run.recipe, run.backend);
        CHECK(!first_difference(one, two));
        CHECK(one.digest() == run.digest);
        CHECK(two.digest() == run.digest);
    }
    omp_set_num_threads(threads);
}

TEST_CASE("two backends give traces whose first difference is named") {
    const Trace h100 = short_run("mixed_fp16", "soft:h100");
    const Trace ieee = short_run("mixed_fp16", "soft:ieee");
    CHECK(!first_difference(h100, h100));
    const auto difference = first_difference(h100, ieee);
    REQUIRE(difference);
    CHECK(difference->starts_with("step "));
    Trace shorter = h100;
    shorter.steps.pop_back();
    CHECK(first_difference(h100, shorter) == "one has 12 steps, the other 11");
}

TEST_CASE("an overflowing gradient skips the step and halves the scale, the weights stay") {
    Recipe recipe = recipe_by_name("mixed_fp16");
    recipe.loss_scale.initial = 0x1p24;
    Trainer trainer(Engine(recipe, make_backend("soft:ieee")), 1);
    const Mlp net(trainer.model(), {inputs, hidden, classes});
    trainer.optimize({.learning_rate = 0.1});
    const std::vector<std::string> before = digests_of(trainer.model());
    const auto forward = [&](Tape& tape) { return cross_entropy(net(images_on(tape, random_images())), {0, 1, 2, 0}); };
    StepResult result = trainer.step(forward);
    CHECK(result.skipped);
    CHECK(result.loss_scale == 0x1p24);
    CHECK(trainer.scaler().value() == 0x1p23);
    CHECK(digests_of(trainer.model()) == before);
    CHECK(std::isfinite(result.loss));
    for (int i = 0; i < 12; ++i) result = trainer.step(forward);
    CHECK(!result.skipped);
    CHECK(digests_of(trainer.model()) != before);
}

TEST_CASE("the scaler refuses calls in the wrong order") {
    Trainer trainer(Engine("mixed_fp16", "soft:ieee"), 1);
    const Mlp net(trainer.model(), {inputs, hidden, classes});
    trainer.optimize({});
    GradScaler& scaler = trainer.scaler();
    Optimizer& optimizer = trainer.optimizer();
    CHECK_THROWS_AS(scaler.unscale(optimizer), std::logic_error);
    CHECK_THROWS_AS(scaler.step(optimizer), std::logic_error);
    CHECK_THROWS_AS(scaler.update(), std::logic_error);
    Tape tape(trainer.engine());
    tape.backward(scaler.scale(cross_entropy(net(images_on(tape, random_images())), {0, 1, 2, 0})));
    CHECK_THROWS_WITH_AS(scaler.update(), "update() before any step(): there is nothing to judge the scale by",
                         std::logic_error);
    scaler.unscale(optimizer);
    CHECK_THROWS_WITH_AS(scaler.unscale(optimizer),
                         "unscale() was already called for this optimizer since the last update()", std::logic_error);
    scaler.step(optimizer);
    CHECK_THROWS_WITH_AS(scaler.unscale(optimizer), "unscale() comes before step(), not after it", std::logic_error);
    CHECK_THROWS_WITH_AS(scaler.step(optimizer), "step() was already called for this optimizer since the last update()",
                         std::logic_error);
    scaler.update();
}

TEST_CASE("a scaled loss with 16-bit gradients and no masters is refused") {
    Trainer trainer(Engine(with_scale("fp16", 128), make_backend("soft:ieee")), 1);
    const Mlp net(trainer.model(), {inputs, hidden, classes});
    trainer.optimize({});
    CHECK_THROWS_WITH_AS(trainer.step([&](Tape& tape) {
        return cross_entropy(net(images_on(tape, random_images())), {0, 1, 2, 0});
    }),
                         "these gradients are in 16 bits and would underflow when unscaled: use master weights",
                         std::logic_error);
}

TEST_CASE("taps see weights, activations and both kinds of gradients, on the grid they claim, with the loss scale") {
    Trainer trainer(Engine(with_scale("mixed_fp16", 256), make_backend("soft:ieee")), 1);
    const Mlp net(trainer.model(), {inputs, hidden, classes});
    trainer.optimize({});
    std::vector<std::string> seen;
    trainer.watch([](std::int64_t step) { return step == 1; },
                  [&](const TapEvent& event) {
                      seen.push_back(std::string(name_of(event.role)) + " " + std::string(event.name));
                      const bool gradient =
                          event.role == TensorRole::weight_gradient || event.role == TensorRole::activation_gradient;
                      CHECK(event.loss_scale == (gradient ? 256 : 1));
                      int off_grid = 0;
                      for (const float x : event.values) off_grid += x == round_to(event.format, x) ? 0 : 1;
                      CHECK(off_grid == 0);
                  });
    const auto forward = [&](Tape& tape) { return cross_entropy(net(images_on(tape, random_images())), {0, 1, 2, 0}); };
    trainer.step(forward);
    CHECK(seen.empty());
    trainer.step(forward);
    const std::vector<std::string> expected = {"weight fc1.weight",         "weight fc1.bias",
                                               "activation fc1/linear",     "activation relu",
                                               "weight fc2.weight",         "weight fc2.bias",
                                               "activation fc2/linear",     "activation cast",
                                               "activation cross_entropy",  "activation scale",
                                               "activation gradient scale", "activation gradient cross_entropy",
                                               "activation gradient cast",  "activation gradient fc2/linear",
                                               "weight gradient fc2.bias",  "weight gradient fc2.weight",
                                               "activation gradient relu",  "activation gradient fc1/linear",
                                               "weight gradient fc1.bias",  "weight gradient fc1.weight"};
    CHECK(joined(seen) == joined(expected));
}

TEST_CASE("the product log names the three products of each layer") {
    Trainer trainer(Engine("mixed_fp16", "soft:h100"), 1);
    const Mlp net(trainer.model(), {inputs, hidden, classes});
    trainer.optimize({});
    std::vector<std::string> seen;
    trainer.observers().product_tap = [&](const ProductRecord& p) {
        seen.push_back(std::string(p.layer) + ", " + std::string(p.pass) + ": " + std::to_string(p.m) + " x " +
                       std::to_string(p.n) + " x " + std::to_string(p.k));
        CHECK(p.path ==
              "sm_90:mma.fp16.fp32, 1 chained instructions of k16, the last filled up with zeros, "
              "kernel fused_groups");
    };
    trainer.step([&](Tape& tape) { return cross_entropy(net(images_on(tape, random_images())), {0, 1, 2, 0}); });
    const std::vector<std::string> expected = {
        "fc1/linear, forward: 4 x 5 x 6", "fc2/linear, forward: 4 x 3 x 5", "fc2/linear, input gradient: 4 x 5 x 3",
        "fc2/linear, weight gradient: 3 x 5 x 4", "fc1/linear, weight gradient: 5 x 6 x 4"};
    CHECK(joined(seen) == joined(expected));
}

TEST_CASE("loss in fp16 before scaling by 65536 gives infinite gradients: the reason for the fp32 loss") {
    Recipe recipe = with_scale("mixed_fp16", 65536);
    recipe.cast_rules.clear();
    const Engine engine(recipe, make_backend("soft:ieee"));
    Tape tape(engine);
    tape.retain_gradients = true;
    Tensor logits({1, 2}, std::vector<float>{1.0F, 2.0F});
    logits.round_to_format(formats::fp16);
    const Var loss = cross_entropy(tape.leaf(logits), {0});
    CHECK(loss.format() == formats::fp16);
    tape.backward(scaled(cast(loss, formats::fp32), 65536));
    CHECK(std::isinf(loss.gradient()[0]));
}

TEST_CASE("a small net learns generated digits in the arithmetic of a matrix unit") {
    Trainer trainer(Engine("mixed_fp16", "soft:h100"), 1);
    trainer.keep_trace = false;
    const Mlp net(trainer.model(), {196, 32, 10});
    trainer.optimize({.learning_rate = 0.1, .momentum = 0.9});
    const DataSplit data = generated_digit_split(600, 200, 14, 1);
    BatchSchedule batches(data.train.size(), 50, 1);
    for (int i = 0; i < 60; ++i) {
        const Batch batch = batch_of(data.train, batches.next());
        trainer.step([&](Tape& tape) { return cross_entropy(net(images_on(tape, batch.images)), batch.labels); });
    }
    CHECK(accuracy(trainer.evaluation(), net, data.test) > 0.9);
}

TEST_CASE("batch schedules visit each image once an epoch and can be entered anywhere") {
    BatchSchedule schedule(10, 3, 1);
    std::vector<std::vector<Index>> batches;
    for (int i = 0; i < 7; ++i) batches.push_back(schedule.next());
    std::vector<Index> epoch;
    for (int i = 0; i < 3; ++i)
        epoch.insert(epoch.end(), batches[static_cast<std::size_t>(i)].begin(),
                     batches[static_cast<std::size_t>(i)].end());
    std::sort(epoch.begin(), epoch.end());
    CHECK(std::unique(epoch.begin(), epoch.end()) == epoch.end());
    schedule.seek(4);
    CHECK(schedule.next() == batches[4]);
    CHECK_THROWS_AS(BatchSchedule(10, 11, 1), std::invalid_argument);
    CHECK_THROWS_AS(BatchSchedule(10, 0, 1), std::invalid_argument);
}

TEST_CASE("models refuse names twice and unknown names") {
    Model model(recipe_by_name("fp32"), 1);
    const Linear first(model, "fc", 2, 3);
    CHECK_THROWS_WITH_AS((void)Linear(model, "fc", 2, 3), "the model already has a parameter fc.weight",
                         std::invalid_argument);
    CHECK_THROWS_WITH_AS((void)model["fc.scale"], "the model has no parameter fc.scale; it has fc.weight, fc.bias",
                         std::invalid_argument);
    CHECK(model.parameter_count() == 9);
    CHECK_THROWS_WITH_AS((void)recipe_by_name("fp17"),
                         doctest::Contains("no recipe 'fp17'; there are fp32, tf32, bf16, mixed_fp16, "),
                         std::invalid_argument);
    CHECK_THROWS_WITH_AS((void)recipe_by_name("fp17"),
                         doctest::Contains(", fp64, each also with +ftz and +fused after its name"),
                         std::invalid_argument);
}

}  // namespace
