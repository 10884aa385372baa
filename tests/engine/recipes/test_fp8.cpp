// Training with 8-bit operands: delayed scales and MX blocks.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/data/generated.hpp"
#include "engine/recipes/levels.hpp"
#include "engine/recipes/product_rules.hpp"
#include "engine/tape/scaled_matmul.hpp"
#include "engine/tensor/random.hpp"
#include "engine/training/checkpoint.hpp"
#include "engine/training/images.hpp"
#include "engine/training/schedule.hpp"
#include "engine/training/trainer.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/names.hpp"
#include "softfloat/round.hpp"

namespace {

using namespace ulp;

Matrix row_of(const std::vector<float>& values) {
    Matrix row(1, static_cast<Index>(values.size()));
    for (std::size_t i = 0; i < values.size(); ++i) row(0, static_cast<Index>(i)) = values[i];
    return row;
}

/// The rule of fp8's operands with another window.
OperandRule delayed(int length, const FloatFormat& element) {
    OperandRule rule = recipe_by_name("fp8").products.fprop.a;
    rule.how->element = element;
    rule.history.length = length;
    return rule;
}

TEST_CASE("a delayed scale is the largest power of two that would have fitted the uses before") {
    ScalingHistory history;
    const OperandRule rule = delayed(2, formats::e4m3);
    const auto use = [&](float magnitude) {
        return quantized_operand(rule, row_of({magnitude, -1.0F}), {"place", "tensor"}, history, true);
    };
    const Quantized first = use(1000.0F);  // nothing known: the scale is 1, and 1000 saturates at 448
    CHECK(first.scales[0] == 1);
    CHECK(first.elements()(0, 0) == 448.0F);
    const Quantized second = use(1000.0F);  // 1000 / 4 = 250 fits below 448, 1000 / 2 = 500 does not
    CHECK(second.scales[0] == 4);
    CHECK(second.elements()(0, 0) == 256.0F);  // 250 on E4M3's grid of 16s, a tie apart
    CHECK(second.elements()(0, 1) == -0.25F);
    CHECK(use(3.0F).scales[0] == 4);
    CHECK(use(3.0F).scales[0] == 4);        // 1000 is still remembered
    CHECK(use(3.0F).scales[0] == 0x1p-7F);  // 3 * 128 = 384
    CHECK(history.at("place") == std::vector<float>{3.0F, 3.0F});
}

TEST_CASE("infinities and NaNs do not enter fp8's history") {
    ScalingHistory history;
    const OperandRule rule = delayed(4, formats::e5m2);
    const auto use = [&](const char* place, const std::vector<float>& x) {
        return quantized_operand(rule, row_of(x), {place, place}, history, true);
    };
    (void)use("p", {INFINITY, 2.0F, NAN});
    CHECK(history.at("p") == std::vector<float>{2.0F});
    (void)use("q", {0.0F});
    CHECK(use("q", {1.0F}).scales[0] == 1);
    (void)use("r", {1e-42F});  // the scale stays within 2^-60 and 2^60
    CHECK(use("r", {1.0F}).encode == 0x1p60F);
    (void)use("s", {3e38F});
    CHECK(use("s", {1.0F}).encode == 0x1p-60F);
}

TEST_CASE("Transformer Engine's delayed scale: one for each tensor, and an infinity freezes it until it rolls out") {
    ScalingHistory history;
    OperandRule rule = recipe_by_name("te_delayed").products.fprop.a;
    rule.history.length = 3;
    const auto use = [&](float largest, bool used_before = false) {
        return quantized_operand(rule, row_of({largest, 1.0F}), {"forward a", "x", used_before}, history, true).encode;
    };
    CHECK(use(7.0F) == 1);          // nothing known
    CHECK(use(100.0F, true) == 1);  // the same tensor in another product: the same scale, and no entry
    CHECK(use(14.0F) == 448.0F / 7);
    CHECK(use(3.0F) == 448.0F / 14);
    CHECK(use(INFINITY) == 448.0F / 14);
    for (int i = 0; i < 3; ++i) CHECK(use(1.0F) == 448.0F / 14);  // an infinity in the window
    CHECK(use(1.0F) == 448.0F);
    CHECK(history.at("x, scale") == std::vector<float>{448.0F});
    // Evaluation reads, and changes nothing.
    const ScalingHistory before = history;
    CHECK(quantized_operand(rule, row_of({5.0F}), {"forward a", "x"}, history, false).encode == 448.0F);
    CHECK(history == before);
}

/// What MX blocks of E4M3 leave of a matrix.
Matrix in_blocks(const MatrixView& rows) {
    const std::vector<float> numbers = dequantize(quantize(quantization_by_name("mxfp8"), rows));
    Matrix result(rows.rows, rows.cols);
    std::ranges::copy(numbers, result.data());
    return result;
}

TEST_CASE("MX blocks keep a power of two for each 32 numbers along a row") {
    Random random(1);
    Matrix rows(3, 70);
    for (Index i = 0; i < rows.size(); ++i) {
        rows.data()[i] = static_cast<float>(std::ldexp(random.normal(), static_cast<int>(random.below(20)) - 10));
    }
    const Matrix blocks = in_blocks(rows);
    int wrong = 0;
    for (Index i = 0; i < 3; ++i) {
        for (Index first = 0; first < 70; first += 32) {
            const Index last = std::min<Index>(first + 32, 70);
            float largest = 0;
            for (Index j = first; j < last; ++j) largest = std::max(largest, std::abs(rows(i, j)));
            const float scale = std::ldexp(1.0F, std::ilogb(largest) - 8);  // E4M3's largest power of two is 2^8
            for (Index j = first; j < last; ++j) {
                Context saturate{.saturate = true};
                const float expected = round_to(formats::e4m3, rows(i, j) / scale, saturate) * scale;
                wrong += blocks(i, j) == expected ? 0 : 1;
            }
        }
    }
    CHECK(wrong == 0);
}

struct SeenProduct {
    std::string layer;
    std::string pass;
    ProductTypes types;
};

/// A few steps on digits; what the products were, and the losses.
std::pair<std::vector<SeenProduct>, std::vector<double>> run(std::string_view recipe, std::string_view backend,
                                                             int steps) {
    Trainer trainer(Engine(recipe, backend), 1);
    const Mlp net(trainer.model(), {196, 32, 10});
    trainer.optimize({.learning_rate = 0.1, .momentum = 0.9});
    trainer.keep_trace = false;
    std::vector<SeenProduct> seen;
    trainer.observers().product_tap = [&](const ProductRecord& p) {
        seen.push_back({std::string(p.layer), std::string(p.pass), p.types});
    };
    const Dataset data = generated_digits({.count = 400, .side = 14, .seed = 1});
    BatchSchedule batches(data.size(), 50, 1);
    std::vector<double> losses;
    for (int i = 0; i < steps; ++i) {
        const Batch batch = batch_of(data, batches.next());
        losses.push_back(
            trainer.step([&](Tape& tape) { return cross_entropy(net(images_on(tape, batch.images)), batch.labels); })
                .loss);
    }
    return {seen, losses};
}

TEST_CASE("fp8 products take E4M3, gradients E5M2, in the matrix unit's own arithmetic") {
    const auto [seen, losses] = run("fp8", "soft:h100", 1);
    REQUIRE(seen.size() == 5);
    CHECK(name_of(seen[0].types) == "e4m3->fp32");
    CHECK(seen[2].pass == "input gradient");
    CHECK(name_of(seen[2].types) == "e5m2*e4m3->fp32");
    CHECK(name_of(seen[4].types) == "e5m2*e4m3->fp32");
}

TEST_CASE("fp8 and MX training learn as bf16 does, and are not bf16") {
    const std::vector<double> bf16 = run("bf16", "soft:ieee", 40).second;
    for (const char* recipe : {"fp8", "mxfp8"}) {
        CAPTURE(recipe);
        const std::vector<double> losses = run(recipe, "soft:ieee", 40).second;
        CHECK(losses[3] != bf16[3]);
        CHECK(losses.back() < 0.5);
        CHECK(bf16.back() < 0.5);
    }
}

/// An element of a block-scaled product by its definition: each block of a row and of a column gets the scale that
/// brings its largest magnitude below 2^9, and the unit chains instructions of one block.
float in_mx_blocks(const BlockScaledModel& model, const std::vector<float>& row, const std::vector<float>& column) {
    std::uint32_t sum = 0;
    for (std::size_t first = 0; first < row.size(); first += 32) {
        const std::size_t count = std::min<std::size_t>(32, row.size() - first);
        const auto codes_of = [&](const std::vector<float>& values, std::uint32_t(&codes)[32]) {
            float largest = 0;
            for (std::size_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(values[first + i]));
            const int exponent = std::ilogb(largest) - formats::e4m3.emax();
            for (std::size_t i = 0; i < count; ++i) {
                Context saturate{.saturate = true};
                const float element = round_to(formats::e4m3, std::ldexp(values[first + i], -exponent), saturate);
                codes[i] = operand_code(formats::e4m3, element);
            }
            return static_cast<std::uint32_t>(exponent + 127);
        };
        std::uint32_t a[32] = {};
        std::uint32_t b[32] = {};
        const std::uint32_t x = codes_of(row, a);
        const std::uint32_t y = codes_of(column, b);
        sum = block_scaled_dot(model, a, b, &x, &y, sum);
    }
    return in_fp32_container(formats::fp32, sum);
}

/// round_to(bf16, A * B) by that definition, A and B given by their entries.
template <class A, class B>
Matrix mx_product(const BlockScaledModel& model, Index m, Index n, Index k, const A& a, const B& b) {
    Matrix d(m, n);
    for (Index i = 0; i < m; ++i) {
        for (Index j = 0; j < n; ++j) {
            std::vector<float> row, column;
            for (Index l = 0; l < k; ++l) {
                row.push_back(a(i, l));
                column.push_back(b(l, j));
            }
            d(i, j) = round_to(formats::bf16, in_mx_blocks(model, row, column));
        }
    }
    return d;
}

TEST_CASE("mxfp8 on a Blackwell unit is its block-scaled row, forward and backward, with blocks along each k") {
    struct Case {
        const char* backend;
        const char* key;
    };
    for (const Case& unit : {Case{"soft:b200", "sm_100:tcgen05.mxf8f6f4.e4m3.fp32"},
                             Case{"soft:rtx5090", "sm_120:mma.mxf8f6f4.e4m3.fp32"}}) {
        const char* spec = unit.backend;
        const char* key = unit.key;
        CAPTURE(std::string(spec));
        const BlockScaledModel& model = unit_model<BlockScaledModel>(key);
        constexpr Index rows = 37, in = 70, out = 41;
        Random random(7);
        const auto tensor = [&](Shape shape) {
            Tensor t(std::move(shape));
            for (float& x : t.values()) {
                x = static_cast<float>(std::ldexp(random.normal(), static_cast<int>(random.below(12)) - 6));
            }
            t.round_to_format({formats::bf16});
            return t;
        };
        const Engine engine("mxfp8", spec);
        Run run;
        std::vector<std::string> types;
        run.observers.product_tap = [&](const ProductRecord& p) { types.push_back(name_of(p.types)); };
        Tape tape(engine, run);
        tape.retain_gradients = true;
        const Var x = tape.leaf(tensor({rows, in}));
        const Var w = tape.leaf(tensor({out, in}));
        const Var bias = tape.leaf(Tensor({out}, formats::bf16));
        const Var y = linear(x, w, bias);
        tape.backward(mse(y, tensor({rows, out})));
        CHECK(types == std::vector<std::string>(3, "e4m3(e8m0/32)->fp32"));
        const auto entry = [](const Tensor& t, Index cols) {
            return [&t, cols](Index i, Index j) { return t[i * cols + j]; };
        };
        const auto transposed_entry = [](const Tensor& t, Index cols) {
            return [&t, cols](Index i, Index j) { return t[j * cols + i]; };
        };
        const auto different = [](const Tensor& got, const Matrix& expected) {
            int count = 0;
            for (Index i = 0; i < got.size(); ++i) {
                count +=
                    std::bit_cast<std::uint32_t>(got[i]) == std::bit_cast<std::uint32_t>(expected.data()[i]) ? 0 : 1;
            }
            return count;
        };
        const Tensor& dy = y.gradient();
        CHECK(different(y.value(),
                        mx_product(model, rows, out, in, entry(x.value(), in), transposed_entry(w.value(), in))) == 0);
        CHECK(different(x.gradient(), mx_product(model, rows, in, out, entry(dy, out), entry(w.value(), in))) == 0);
        CHECK(different(w.gradient(),
                        mx_product(model, out, in, rows, transposed_entry(dy, out), entry(x.value(), in))) == 0);
    }
}

TEST_CASE("the block-scaled row has other bits than a product of the blocks in bf16 on the same unit") {
    Random random(5);
    Matrix a(16, 96);
    Matrix b(96, 16);
    for (Matrix* m : {&a, &b}) {
        for (Index i = 0; i < m->size(); ++i) {
            m->data()[i] = static_cast<float>(std::ldexp(random.normal(), static_cast<int>(random.below(20)) - 10));
        }
    }
    const Engine engine("mxfp8", "soft:b200");
    const ProductTypes types{formats::bf16, formats::fp32};
    Matrix scaled(16, 16);
    Run once;
    scaled_matmul(engine, once, types, {"layer", ProductPass::forward}, a, b, scaled);
    const Matrix columns = in_blocks(transposed(b));
    const Matrix in_bf16 = matmul(*engine.backend, types, in_blocks(a), transposed(columns));
    CHECK(scaled != in_bf16);
    const std::vector<double> losses = run("mxfp8", "soft:b200", 10).second;
    CHECK(losses.back() < losses.front());
}

TEST_CASE("operands on unequal grids keep to their sides in all three products of every layer") {
    Recipe recipe{.name = "e4m3 by e5m2", .operand = formats::e4m3};
    recipe.b_operand = formats::e5m2;
    std::vector<std::string> passes;
    const auto backward = [&](const auto& layer) {
        const Engine engine(recipe, make_backend("soft:ieee"));
        Run run;
        run.observers.product_tap = [&](const ProductRecord& p) {
            CHECK(name_of(p.types) == "e4m3*e5m2->fp32");
            passes.emplace_back(p.pass);
        };
        Tape tape(engine, run);
        Random random(3);
        const auto leaf = [&](Shape shape) {
            Tensor t(std::move(shape));
            for (float& x : t.values()) x = static_cast<float>(random.normal());
            return tape.leaf(std::move(t));
        };
        const Var y = layer(leaf);
        tape.backward(mse(y, Tensor(y.shape())));  // products refuse an operand off their types' grids
    };
    backward([](const auto& leaf) { return linear(leaf({3, 4}), leaf({5, 4}), leaf({5})); });
    backward([](const auto& leaf) { return matmul(leaf({3, 4}), leaf({4, 5}), false); });
    backward([](const auto& leaf) { return matmul(leaf({2, 3, 4}), leaf({2, 5, 4}), true); });
    backward([](const auto& leaf) { return conv2d(leaf({1, 2, 4, 4}), leaf({3, 2, 3, 3}), leaf({3}), ConvOptions{}); });
    CHECK(passes.size() == 3 + 3 + 6 + 3);

    // a^T dy, where a keeps e4m3's fraction bits and dy has e5m2's.
    Engine engine(recipe, make_backend("soft:ieee"));
    Tape tape(engine);
    tape.retain_gradients = true;
    const Var a = tape.leaf(Tensor(Shape{1, 1}, std::vector<float>{1.125F}));
    const Var b = tape.leaf(Tensor(Shape{1, 1}, std::vector<float>{1.125F}));
    const Var y = matmul(a, b, false);
    CHECK(y.value()[0] == 1.125F);  // 1.125 of E4M3 times 1 of E5M2
    tape.backward(mse(y, Tensor({1, 1})));
    CHECK(y.gradient()[0] == 2.25F);
    CHECK(a.gradient()[0] == 2.25F);  // dy on E4M3's grid, times b on E5M2's: 2.25 * 1
    CHECK(b.gradient()[0] == 2.25F);  // 1.125 * 2: dy on E5M2's grid
}

TEST_CASE("a training run in a table of values is the loop that rounds each weight, activation and gradient") {
    const FloatFormat hif8 = format_by_name("hif8");
    const Recipe recipe = Level("O2", {{"cast_model_type", "hif8"}, {"loss_scale", "1"}}).recipe();
    const Engine engine(recipe, make_backend("soft:ieee"));
    using Square = std::vector<float>;  // 4 examples of 4 numbers; 4 x 4 weights
    const auto rounded = [&](Square a, const Square& added = Square(16)) {
        for (std::size_t i = 0; i < 16; ++i) a[i] = round_to(hif8, a[i] + added[i]);
        return a;
    };
    // The sums of a(i, k) b(k, j), of matrices whose rows are `ai` and `bk` numbers apart and columns the others.
    const auto product = [&](const Square& a, std::size_t ai, const Square& b, std::size_t bk) {
        Square d(16);
        for (std::size_t n = 0, k = 0; n < 64; k = ++n % 4) {
            d[n / 4] += a[n / 16 * ai + k * (5 - ai)] * b[k * bk + n / 4 % 4 * (5 - bk)];
        }
        return rounded(d);
    };
    Random random(5);
    Square x(16), target(16), w(16);
    for (std::size_t i = 0; i < 16; ++i) {
        x[i] = static_cast<float>(random.normal());
        w[i] = static_cast<float>(random.normal());
        target[i] = static_cast<float>(i % 5) / 8;  // y - target is exact
    }
    Model model(recipe, 1);
    Parameter& weight = model.add("w", {4, 4}, Init::constant(0));
    weight.assign(Tensor({4, 4}, w));
    Optimizer optimizer(model, {.learning_rate = 0.125});
    for (int step = 0; step < 8; ++step) {
        Tape tape(engine);
        const Var h = linear(tape.input(Tensor({4, 4}, x)), tape.parameter(weight));
        const Var y = add(linear(h, tape.parameter(weight)), h);
        tape.backward(mse(y, Tensor({4, 4}, target)));
        optimizer.step();
        const Square x8 = rounded(x), v = rounded(w), own_h = product(x8, 4, v, 1);
        const Square own_y = rounded(product(own_h, 4, v, 1), own_h);
        Square dy = own_y;
        for (std::size_t i = 0; i < 16; ++i) dy[i] = round_to(hif8, (dy[i] - target[i]) / 8);
        const Square dh = rounded(product(dy, 4, v, 4), dy);
        const Square dw = rounded(product(dy, 1, own_h, 4), product(dh, 1, x8, 4));
        for (std::size_t i = 0; i < 16; ++i) w[i] -= 0.125F * dw[i];
        CHECK(std::ranges::equal(y.value().values(), own_y));
        CHECK(std::ranges::equal(weight.updated().values(), w));
    }
}

TEST_CASE("delayed scales continue from a checkpoint") {
    const std::filesystem::path file = std::filesystem::temp_directory_path() / "ulplab_fp8_checkpoint";
    struct Training {
        Trainer trainer{Engine("fp8", "soft:ieee"), 1};
        Mlp net{trainer.model(), {64, 8, 10}};
        Dataset data = generated_digits({.count = 32, .side = 8, .seed = 1});
        BatchSchedule batches{32, 8, 1};
        Training() { trainer.optimize({.learning_rate = 0.1}); }
        void step() {
            const Batch batch = batch_of(data, batches.at(trainer.steps()));
            trainer.step([&](Tape& tape) { return cross_entropy(net(images_on(tape, batch.images)), batch.labels); });
        }
    };
    Training straight;
    for (int i = 0; i < 8; ++i) straight.step();
    Training first;
    for (int i = 0; i < 4; ++i) first.step();
    save_checkpoint(file, first.trainer);
    Training second;
    load_checkpoint(file, second.trainer);
    for (int i = 0; i < 4; ++i) second.step();
    std::filesystem::remove(file);
    CHECK(digests_of(second.trainer.model()) == digests_of(straight.trainer.model()));
    CHECK(second.trainer.run().scaling_history == straight.trainer.run().scaling_history);
}

}  // namespace
