#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

#include "engine/data/generated.hpp"
#include "engine/recipes/levels.hpp"
#include "engine/tape/ops.hpp"
#include "engine/training/images.hpp"
#include "engine/training/schedule.hpp"
#include "engine/training/trainer.hpp"
#include "softfloat/names.hpp"
#include "softfloat/round.hpp"

namespace {

using namespace ulp;

TEST_CASE("the property tables of O0 to O3 are apex's") {
    CHECK(Level("O0").table() ==
          "level O0              default       effective\n"
          "cast_list             apex          apex\n"
          "cast_model_type       fp32          fp32\n"
          "keep_batchnorm_fp32   none          none\n"
          "loss_scale            1.0           1.0\n"
          "master_weights        false         false\n"
          "patch_functions       false         false\n");
    CHECK(Level("O1").table() ==
          "level O1              default       effective\n"
          "cast_list             apex          apex\n"
          "cast_model_type       none          none\n"
          "keep_batchnorm_fp32   none          none\n"
          "loss_scale            dynamic       dynamic\n"
          "master_weights        none          none\n"
          "patch_functions       true          true\n");
    CHECK(Level("O2", {{"loss_scale", "128"}}).table() ==
          "level O2              default       effective\n"
          "cast_list             apex          apex\n"
          "cast_model_type       fp16          fp16\n"
          "keep_batchnorm_fp32   true          true\n"
          "loss_scale            dynamic       128  (override)\n"
          "master_weights        true          true\n"
          "patch_functions       false         false\n");
    CHECK(Level("O3", {{"keep_batchnorm_fp32", "true"}}).table() ==
          "level O3              default       effective\n"
          "cast_list             apex          apex\n"
          "cast_model_type       fp16          fp16\n"
          "keep_batchnorm_fp32   false         true  (override)\n"
          "loss_scale            1.0           1.0\n"
          "master_weights        false         false\n"
          "patch_functions       false         false\n");
}

TEST_CASE("senseless levels are refused with an explanation") {
    const auto refuses = [](const char* level, const LevelProperties& overrides, const char* why) {
        CHECK_THROWS_WITH_AS(Level(level, overrides), doctest::Contains(why), std::invalid_argument);
    };
    refuses("O1", {{"cast_model_type", "fp16"}}, "leaves the model in fp32, so cast_model_type cannot be fp16");
    refuses("O1", {{"keep_batchnorm_fp32", "true"}}, "keep_batchnorm_fp32 has no meaning");
    refuses("O1", {{"master_weights", "true"}}, "its weights are the masters");
    refuses("O2", {{"patch_functions", "true"}}, "only O1 patches functions");
    refuses("O4", {}, "no optimisation level 'O4'; there are O0, O1, O2, O3 (a letter O and a digit)");
    refuses("02", {}, "a letter O and a digit");
    refuses("O2", {{"loss_scale", "-1"}}, "loss_scale is 'dynamic' or a positive number, not '-1'");
    refuses("O2", {{"loss_scale", "12x"}}, "not '12x'");
    refuses("O2", {{"cast_model_type", "fp17"}},
            "cast_model_type cannot be 'fp17'; it is one of a number format by name or file, none, fp32, fp16, bf16");
    for (const char* format : {"binary8p3se", "ue4m3", "e8m0", "binary16p16ue"}) {
        refuses("O2", {{"cast_model_type", format}}, "the trainer computes by fields");
    }
    for (const char* format : {"e3m4", "hif8"}) {
        CHECK(Level("O2", {{"cast_model_type", format}}).recipe().weights == format_by_name(format));
    }
    refuses("O3", {{"cast_model_type", "hif8"}}, "without master_weights=true cast_model_type is a format with a sign");
    CHECK(Level("O3", {{"cast_model_type", "binary12p8sf"}}).recipe().update == format_by_name("binary12p8sf"));
    refuses("O2", {{"master", "true"}}, "no property 'master'; a level has cast_list, cast_model_type");
    CHECK_NOTHROW(Level("O1", {{"cast_model_type", "fp32"}}));
    CHECK_NOTHROW(Level("O1", {{"patch_functions", "false"}}));
}

TEST_CASE("a model that is half already is refused") {
    Model fp32_model(recipe_by_name("fp32"), 1);
    const Linear first(fp32_model, "fc", 2, 2);
    CHECK_NOTHROW(require_unconverted(fp32_model));
    Model half(recipe_by_name("fp16"), 1);
    const Linear second(half, "fc", 2, 2);
    CHECK_THROWS_WITH_AS(require_unconverted(half),
                         "fc.weight is in fp16 already; give a level the model in fp32, it converts it itself",
                         std::invalid_argument);
}

/// The formats of a chain linear -> relu -> batch norm -> softmax under a recipe.
std::string chain_formats(const Recipe& recipe) {
    const Engine engine(recipe, make_backend("soft:ieee"));
    Model model(recipe, 1);
    const Linear fc(model, "fc", 4, 4);
    const BatchNorm bn(model, "bn", 4);
    Tape tape(engine);
    const Var x = images_on(tape, Matrix::Ones(2, 4));
    const Var y = relu(fc(x));
    const Var z = bn(y);
    const Var p = softmax(z);
    const Var loss = cross_entropy(z, {0, 1});
    std::string text;
    for (const FloatFormat& format : {fc.weight->value.format(), bn.affine.weight->value.format(), x.format(),
                                      y.format(), z.format(), p.format(), loss.format()}) {
        text += name_of(format) + " ";
    }
    return text + (fc.weight->master.empty() ? "" : "masters");
}

TEST_CASE("levels decide the formats along a chain of operations") {
    //                                   weight, batchnorm, input, linear and relu, batch norm, softmax, loss
    CHECK(chain_formats(Level("O0").recipe()) == "fp32 fp32 fp32 fp32 fp32 fp32 fp32 ");
    CHECK(chain_formats(Level("O1").recipe()) == "fp32 fp32 fp32 fp16 fp16 fp32 fp32 ");
    CHECK(chain_formats(Level("O1", {{"cast_list", "pytorch_cpu"}}).recipe()) == "fp32 fp32 fp32 bf16 bf16 bf16 fp32 ");
    CHECK(chain_formats(Level("O2").recipe()) == "fp16 fp32 fp16 fp16 fp16 fp16 fp32 masters");
    CHECK(chain_formats(Level("O3").recipe()) == "fp16 fp16 fp16 fp16 fp16 fp16 fp16 ");
}

TEST_CASE("the cast lists differ where the documentation says so") {
    const auto cast = [](CastList list, std::string_view op) {
        for (const CastRule& rule : cast_rules_of(list)) {
            if (rule.op == op) return rule.cast;
        }
        return Cast::as_stored;
    };
    for (const char* op : {"softmax", "exp", "log", "layer_norm", "sum", "pow"}) {
        CAPTURE(op);
        CHECK(cast(CastList::pytorch_cuda, op) == Cast::single);
        CHECK(cast(CastList::pytorch_cpu, op) == Cast::as_stored);
    }
    CHECK(cast(CastList::apex, "gelu") == Cast::single);
    CHECK(cast(CastList::pytorch_cuda, "gelu") == Cast::as_stored);
    CHECK(cast(CastList::apex, "binary_cross_entropy") == Cast::banned);
    CHECK_THROWS_AS((void)cast_list_by_name("tensorflow"), std::invalid_argument);
    const Recipe recipe = Level("O1").recipe();
    const FloatFormat fp32[] = {formats::fp32};
    CHECK_THROWS_WITH_AS((void)recipe.precision_of("binary_cross_entropy", fp32),
                         "recipe O1 bans binary_cross_entropy: its result is unsafe in 16 bits", std::invalid_argument);
}

TEST_CASE("the gradient of an O1 product comes back to the weights in fp32") {
    const Recipe recipe = Level("O1").recipe();
    Trainer trainer(Engine(recipe, make_backend("soft:h100")), 1);
    const Mlp net(trainer.model(), {196, 16, 10});
    trainer.optimize({.learning_rate = 0.1});
    const Dataset data = generated_digits({.count = 16, .side = 14, .seed = 1});
    const Batch batch = batch_of(data, shuffled(16, 1, 0));
    Tape tape(trainer.engine());
    tape.backward(trainer.scaler().scale(cross_entropy(net(images_on(tape, batch.images)), batch.labels)));
    const Parameter& weight = trainer.model()["fc1.weight"];
    CHECK(weight.gradient.format() == formats::fp32);
    int off_grid = 0;
    for (const float g : weight.gradient.values()) off_grid += g == round_to(formats::fp16, g) ? 0 : 1;
    CHECK(off_grid == 0);  // the cast's gradient was an fp16 number
    CHECK(trainer.scaler().step(trainer.optimizer()));
}

}  // namespace
