// Recipes as rows: which way each product takes, on which unit, what is left out, and that each trains.
#include <doctest/doctest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/data/generated.hpp"
#include "engine/recipes/product_rules.hpp"
#include "engine/recipes/recipe.hpp"
#include "engine/tape/scaled_matmul.hpp"
#include "engine/tensor/random.hpp"
#include "engine/training/checkpoint.hpp"
#include "engine/training/images.hpp"
#include "engine/training/schedule.hpp"
#include "engine/training/trainer.hpp"
#include "softfloat/matrix_units/product.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/round.hpp"

namespace {

using namespace ulp;

Matrix random_matrix(Index rows, Index cols, std::uint64_t seed) {
    Random random(seed);
    Matrix m(rows, cols);
    for (Index i = 0; i < m.size(); ++i) {
        const double x = std::ldexp(random.normal(), static_cast<int>(random.below(12)) - 6);
        m.data()[i] = round_to(formats::bf16, static_cast<float>(x));
    }
    return m;
}

struct TakenProduct {
    std::string layer, pass, types, path;
};

/// The digit net under a recipe: what its products were, its losses and its trace.
struct Training {
    Trainer trainer;
    Mlp net;
    Dataset data = generated_digits({.count = 400, .side = 14, .seed = 1});
    BatchSchedule batches{400, 48, 1};
    std::vector<TakenProduct> seen;
    std::vector<double> losses;

    Training(const Recipe& recipe, std::string_view backend)
        : trainer(Engine(recipe, make_backend(backend)), 1), net(trainer.model(), {196, 48, 32, 10}) {
        trainer.optimize({.learning_rate = 0.1, .momentum = 0.9});
        trainer.observers().product_tap = [this](const ProductRecord& p) {
            seen.push_back({std::string(p.layer), std::string(p.pass), name_of(p.types), p.path});
        };
    }
    void run(int steps) {
        for (int i = 0; i < steps; ++i) {
            const Batch batch = batch_of(data, batches.at(trainer.steps()));
            losses.push_back(
                trainer
                    .step([&](Tape& tape) { return cross_entropy(net(images_on(tape, batch.images)), batch.labels); })
                    .loss);
        }
    }
    [[nodiscard]] std::set<std::string> types_of(std::string_view layer) const {
        std::set<std::string> types;
        for (const TakenProduct& product : seen) {
            if (product.layer.starts_with(layer)) types.insert(product.types);
        }
        return types;
    }
};

const char* unit_of(const Recipe& recipe) {
    return refusal_of(recipe, *make_backend("soft:b200")) ? "soft:ieee" : "soft:b200";
}

/// D of one product by the engine.
Matrix product(const char* recipe, const char* backend, ProductPass pass, const Matrix& a, const Matrix& b) {
    const Engine engine(recipe, backend);
    Run run;
    Matrix d(a.rows(), b.cols());
    const auto gradient = pass == ProductPass::forward ? ProductPurpose::Gradient::none : ProductPurpose::Gradient::a;
    scaled_matmul(engine, run, {formats::bf16, formats::fp32}, {"layer", pass, gradient}, a, b, d);
    return d;
}

Matrix lines_of(std::span<const float> numbers, Index rows) {
    return Eigen::Map<const Matrix>(numbers.data(), rows, static_cast<Index>(numbers.size()) / rows);
}

}  // namespace

TEST_CASE("each recipe of quantised products learns, with the same trace on one thread and on two") {
    const int threads = omp_get_max_threads();
    for (const QuantizedRecipe& row : quantized_recipes()) {
        CAPTURE(row.name);
        const Recipe recipe = recipe_by_name(row.name);
        for (const char* backend : {unit_of(recipe), "soft:ieee"}) {
            omp_set_num_threads(1);
            Training one(recipe, backend);
            one.run(60);
            omp_set_num_threads(2);
            Training two(recipe, backend);
            two.run(60);
            CHECK(one.trainer.trace().digest() == two.trainer.trace().digest());
            CHECK(one.losses.back() < 0.5 * one.losses.front());
        }
        omp_set_num_threads(threads);
        Training eigen(recipe, "eigen");
        eigen.run(60);
        CHECK(eigen.losses.back() < 0.5 * eigen.losses.front());
    }
}

TEST_CASE("products take the unit's own row where it has one, and say so where it has none") {
    struct Way {
        const char* recipe;
        const char* backend;
        const char* types;
        const char* path;  // a part of it
    };
    for (const Way& way :
         {Way{"mxfp8", "soft:b200", "e4m3(e8m0/32)->fp32", "mxf8f6f4"},
          Way{"mxfp8_nv", "soft:b200", "e4m3(e8m0/32)->fp32", "mxf8f6f4"},
          Way{"mxfp8_nv", "soft:h100", "bf16->fp32", "of the numbers that elements and scales"},
          Way{"nvfp4", "soft:b200", "e2m1(e4m3/16)->fp32", "nvf4"},
          Way{"nvfp4_4over6", "soft:b200", "e2m1(e4m3/16)->fp32", "nvf4"},
          Way{"nvfp4", "soft:h100", "bf16->fp32", "of the numbers that elements and scales"},
          Way{"te_block", "soft:h100", "bf16->fp32", "of the numbers that elements and scales"},
          Way{"deepseek_v3", "soft:h100", "e4m3->fp32", "partial sums of 128 k added in fp32"},
          Way{"te_delayed", "soft:h100", "e4m3->fp32", "sm_90"}, Way{"ao_rowwise", "soft:h100", "e4m3->fp32", "sm_90"},
          Way{"ufp4", "eigen", "fp32->fp32", "of the numbers that elements and scales"}}) {
        CAPTURE(std::string(way.recipe));
        CAPTURE(std::string(way.backend));
        Training training(recipe_by_name(way.recipe), way.backend);
        training.run(1);
        REQUIRE(!training.seen.empty());
        CHECK(training.seen.front().types == way.types);
        CHECK(training.seen.front().path.find(way.path) != std::string::npos);
    }
}

TEST_CASE("a recipe that a backend cannot compute is refused with a backend that can") {
    const auto refusal = refusal_of(recipe_by_name("ufp4"), *make_backend("soft:h100"));
    REQUIRE(refusal);
    CHECK(*refusal ==
          "soft:h100 has no fp32->fp32 product, which recipe ufp4 needs; choose a unit that has it, "
          "with_ieee(soft:h100) for fp32 products, soft:ieee or eigen");
    CHECK(!refusal_of(recipe_by_name("ufp4"), *make_backend("with_ieee(soft:h100)")));
    CHECK(!refusal_of(recipe_by_name("deepseek_v3"), *make_backend("soft:h100")));
    CHECK(refusal_of(recipe_by_name("deepseek_v3"), *make_backend("soft:v100")));
}

TEST_CASE("layers are left out by name, by operation, from the front and from the back") {
    const auto types_with = [](std::vector<Exclusion> excluded) {
        Recipe recipe = recipe_by_name("te_current");
        recipe.excluded = std::move(excluded);
        Training training(recipe, "soft:h100");
        training.run(1);
        return std::vector{training.types_of("fc1"), training.types_of("fc2"), training.types_of("fc3")};
    };
    using Types = std::set<std::string>;
    const Types bf16{"bf16->fp32"};
    const Types fp8{"e4m3->fp32", "e5m2*e4m3->fp32"};
    CHECK(types_with({}) == std::vector{fp8, fp8, fp8});
    CHECK(types_with({{.layer = "fc2"}}) == std::vector{fp8, bf16, fp8});
    CHECK(types_with({{.first = 1}}) == std::vector{bf16, fp8, fp8});
    CHECK(types_with({{.last = 2}}) == std::vector{fp8, bf16, bf16});
    CHECK(types_with({{.kind = "linear"}}) == std::vector{bf16, bf16, bf16});
    CHECK(types_with({{.kind = "matmul"}}) == std::vector{fp8, fp8, fp8});
    CHECK(types_with({{.last = 7}}) == std::vector{bf16, bf16, bf16});
    CHECK(types_with({{.last = 1, .recipe = "mxfp8"}})[2] == bf16);  // H100 multiplies what the blocks stand for
    CHECK_THROWS_WITH_AS(types_with({{.layer = "fc9"}}),
                         "recipe te_current leaves out layer fc9, which the model lacks; it has fc1, fc2, fc3",
                         std::invalid_argument);
    for (const Exclusion& wrong : {Exclusion{}, {.first = -1}, {.layer = "fc1", .last = 1}}) {
        CHECK_THROWS_WITH_AS(types_with({wrong}), doctest::Contains("give exactly one of layer, kind, first and last"),
                             std::invalid_argument);
    }
    CHECK_THROWS_WITH_AS(types_with({{.kind = "lineer"}}), doctest::Contains("linear, matmul, conv2d"),
                         std::invalid_argument);
    Recipe backwards = recipe_by_name("deepseek_v3");
    backwards.products.fprop.promote_every = -5;
    CHECK_THROWS_WITH_AS(Training(backwards, "soft:h100").run(1), doctest::Contains("promotes every -5 k"),
                         std::invalid_argument);
    // The head of nvfp4 and DeepSeek is in bf16.
    Training nvfp4(recipe_by_name("nvfp4"), "soft:b200");
    nvfp4.run(1);
    CHECK(nvfp4.types_of("fc3") == bf16);
    CHECK(nvfp4.types_of("fc2") == Types{"e2m1(e4m3/16)->fp32"});
}

TEST_CASE("promotion adds partial sums of 128 k in fp32, times their blocks' scales") {
    const Matrix a = random_matrix(9, 300, 1);
    const Matrix b = random_matrix(300, 7, 2);
    const auto backend = make_backend("soft:h100");
    Matrix expected = Matrix::Zero(9, 7);
    for (Index k = 0; k < 300; k += 128) {
        const Index count = std::min<Index>(128, 300 - k);
        Matrix x(9, count), y(count, 7);
        std::vector<float> scale_of_row;
        for (Index i = 0; i < 9; ++i) {
            float largest = 1e-4F;
            for (Index l = 0; l < count; ++l) largest = std::max(largest, std::abs(a(i, k + l)));
            scale_of_row.push_back(largest / 448);
            for (Index l = 0; l < count; ++l) x(i, l) = round_to(formats::e4m3, a(i, k + l) / scale_of_row.back());
        }
        float largest = 1e-4F;  // a weight's block has all 7 columns
        for (Index i = 0; i < count * 7; ++i) largest = std::max(largest, std::abs(b(k + i / 7, i % 7)));
        for (Index i = 0; i < count * 7; ++i)
            y(i / 7, i % 7) = round_to(formats::e4m3, b(k + i / 7, i % 7) / (largest / 448));
        const Matrix partial = matmul(*backend, {formats::e4m3, formats::fp32}, x, y);
        for (Index i = 0; i < 9; ++i) {
            const float scale = scale_of_row[static_cast<std::size_t>(i)] * (largest / 448);
            for (Index j = 0; j < 7; ++j) expected(i, j) += partial(i, j) * scale;
        }
    }
    CHECK(product("deepseek_v3", "soft:h100", ProductPass::forward, a, b) == expected);
    // The same by the unit's own product with scales.
    const Quantized left = quantize(quantization_by_name("deepseek_1x128"), a);
    const Quantized right = quantize(quantization_by_name("deepseek_128x128"), transposed(b));
    Matrix of_a(9, 3), of_b(3, 7), d_of_unit(9, 7);
    for (Index p = 0; p < 3; ++p) {
        for (Index i = 0; i < 9; ++i) of_a(i, p) = left.scale(i, p);
        for (Index j = 0; j < 7; ++j) of_b(p, j) = right.scale(j / 128, p);
    }
    const TensorCoreModel& wgmma = unit_model<TensorCoreModel>("sm_90:wgmma.e4m3.fp32");
    const GemmProblem problem{left.elements(), right.elements().transposed(), {}, d_of_unit};
    soft_product(wgmma, {.promote_every = 128}, problem, {of_a, of_b});
    CHECK(d_of_unit == expected);
    CHECK_THROWS_WITH_AS(soft_product(wgmma, {.promote_every = 128}, problem, {of_b, of_a}),
                         "the scales of A are 3 x 7 where the blocks are 9 x 3", std::invalid_argument);
    CHECK_THROWS_AS(soft_product(wgmma, {}, problem, {of_a, of_b}), std::invalid_argument);
    // Without promotion the same operands give other bits: the unit adds what they stand for.
    Recipe unpromoted = recipe_by_name("deepseek_v3");
    unpromoted.products.fprop.promote_every = 0;
    const Engine engine(unpromoted, make_backend("with_ieee(soft:h100)"));
    Run run;
    Matrix d(9, 7);
    scaled_matmul(engine, run, {formats::bf16, formats::fp32}, {"layer", ProductPass::forward}, a, b, d);
    CHECK(d != expected);
    CHECK((d - expected).norm() < 0.01F * expected.norm());  // the unit's sums keep 13 fraction bits
}

TEST_CASE("NVFP4 on a Blackwell unit: codes and scales of the operands, tensor scales at the end") {
    const Matrix a = random_matrix(16, 64, 3);
    const Matrix b = random_matrix(64, 32, 4);
    const Quantized x = quantize(quantization_by_name("nvfp4"), a);
    Quantization weights = quantization_by_name("nvfp4");
    weights.block = {16, 16};
    const Quantized w = quantize(weights, transposed(b));
    Matrix x_scales(16, 4), w_scales(4, 32);
    for (Index i = 0; i < 16; ++i) {
        for (Index k = 0; k < 4; ++k) x_scales(i, k) = x.scale(i, k);
    }
    for (Index k = 0; k < 4; ++k) {
        for (Index j = 0; j < 32; ++j) w_scales(k, j) = w.scale(j / 16, k);
    }
    Matrix expected(16, 32);
    const ProductTypes types{formats::e2m1, formats::fp32, formats::e2m1, BlockScaling{formats::e4m3, 16}};
    make_backend("soft:b200")
        ->matmul({types, x.elements(), w.elements().transposed(), std::nullopt, expected, x_scales, w_scales});
    for (Index i = 0; i < expected.size(); ++i) expected.data()[i] *= x.tensor_scale * w.tensor_scale;
    CHECK(product("nvfp4", "soft:b200", ProductPass::forward, a, b) == expected);
    // Elsewhere: the numbers that elements and block scales stand for, which are numbers of bf16.
    Quantized meant_x = x, meant_w = w;
    dequantize_blocks(meant_x);
    dequantize_blocks(meant_w);
    const Matrix p = lines_of(meant_x.numbers, 16);
    const Matrix q = lines_of(meant_w.numbers, 32);
    Matrix elsewhere = matmul(*make_backend("soft:h100"), {formats::bf16, formats::fp32}, p, transposed(q));
    for (Index i = 0; i < elsewhere.size(); ++i) elsewhere.data()[i] *= x.tensor_scale * w.tensor_scale;
    CHECK(product("nvfp4", "soft:h100", ProductPass::forward, a, b) == elsewhere);
}

TEST_CASE("scales that do not vary along k multiply the result") {
    const Matrix a = random_matrix(5, 40, 5);
    const Matrix b = random_matrix(40, 6, 6);
    const Quantized x = quantize(quantization_by_name("ao_rowwise"), a);
    const Quantized w = quantize(quantization_by_name("ao_rowwise"), transposed(b));
    Matrix expected =
        matmul(*make_backend("soft:h100"), {formats::e4m3, formats::fp32}, x.elements(), w.elements().transposed());
    for (Index i = 0; i < 5; ++i) {
        for (Index j = 0; j < 6; ++j) expected(i, j) *= x.scale(i, 0) * w.scale(j, 0);
    }
    CHECK(product("ao_rowwise", "soft:h100", ProductPass::forward, a, b) == expected);
}

TEST_CASE("gradients are stochastic by seed, step and place, a Hadamard transform of both operands keeps the product") {
    const Matrix a = random_matrix(16, 64, 7);
    const Matrix b = random_matrix(64, 16, 8);
    const Engine engine("nvfp4", "soft:b200");
    const auto gradient = [&](std::uint64_t seed, std::int64_t step, const char* layer, ProductPass pass) {
        Run run;
        run.seed = seed;
        run.step = step;
        Matrix d(16, 16);
        scaled_matmul(engine, run, {formats::bf16, formats::fp32}, {layer, pass, ProductPurpose::Gradient::a}, a, b, d);
        return d;
    };
    for (const ProductPass pass : {ProductPass::input_gradient, ProductPass::weight_gradient}) {
        const Matrix first = gradient(1, 1, "fc1", pass);
        CHECK(first == gradient(1, 1, "fc1", pass));
        CHECK(first != gradient(2, 1, "fc1", pass));
        CHECK(first != gradient(1, 2, "fc1", pass));
        CHECK(first != gradient(1, 1, "fc2", pass));
        const Matrix exact = a * b;
        CHECK((first - exact).norm() < 0.3F * exact.norm());  // E2M1 with stochastic gradients: about 0.2
    }
    CHECK(gradient(1, 1, "fc1", ProductPass::forward) == gradient(2, 2, "fc2", ProductPass::forward));
}

TEST_CASE("one history for each tensor: x in fprop and wgrad, w in fprop and dgrad, dy in both gradients") {
    Training training(recipe_by_name("te_delayed"), "soft:h100");
    training.run(3);
    const ScalingHistory& history = training.trainer.run().scaling_history;
    for (const char* layer : {"fc1/linear", "fc2/linear"}) {
        for (const char* tensor : {"x", "w", "dy"}) {
            CAPTURE(std::string(layer) + tensor);
            REQUIRE(history.contains(std::string(layer) + ", " + tensor));
            CHECK(history.at(std::string(layer) + ", " + tensor).size() == 3);
            CHECK(history.at(std::string(layer) + ", " + tensor + ", scale").size() == 1);
        }
    }
}

TEST_CASE("stochastic gradients and delayed scales resume from a checkpoint with the same bits") {
    const std::filesystem::path file = std::filesystem::temp_directory_path() / "ulplab_quantized_checkpoint";
    for (const char* name : {"nvfp4", "te_delayed"}) {
        CAPTURE(std::string(name));
        Training straight(recipe_by_name(name), "soft:b200");
        straight.run(6);
        Training first(recipe_by_name(name), "soft:b200");
        first.run(3);
        save_checkpoint(file, first.trainer);
        Training second(recipe_by_name(name), "soft:b200");
        load_checkpoint(file, second.trainer);
        second.run(3);
        CHECK(digests_of(second.trainer.model()) == digests_of(straight.trainer.model()));
        CHECK(second.trainer.run().scaling_history == straight.trainer.run().scaling_history);
    }
    std::filesystem::remove(file);
}

TEST_CASE("rules that do not fit each other are refused") {
    const auto backend = make_backend("soft:ieee");
    const ProductTypes types{formats::bf16, formats::fp32};
    ProductRule rule = recipe_by_name("nvfp4").products.wgrad;
    rule.b.how->transform = {};
    CHECK_THROWS_AS(plan_product(rule, types, *backend), std::invalid_argument);
    rule = recipe_by_name("mxfp8").products.fprop;
    rule.promote_every = 128;
    CHECK_THROWS_WITH_AS(plan_product(rule, types, *backend),
                         "partial sums of 128 k hold several blocks of 32; promote every 32", std::invalid_argument);
}
