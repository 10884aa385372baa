// apex's level O3 with keep_batchnorm_fp32: fp16 throughout but for the batch normalisations.
#include "engine/recipes/levels.hpp"
#include "experiments/training/figures.hpp"
#include "experiments/training/tasks.hpp"
#include "softfloat/round.hpp"

namespace ulp::keep_batchnorm_experiment {
namespace {

/// A level as its properties say it: "cast_model_type=fp16 ...", in alphabetical order.
std::string properties_of(const Level& level) {
    std::string text;
    for (const auto& [name, value] : level.effective()) {
        if (name != "cast_list") text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
    }
    return text;
}

Level o3_with_batchnorm() { return Level("O3", {{"keep_batchnorm_fp32", "true"}}); }

enum : std::size_t { way_o0, way_o2, way_o3, way_keep };

/// Under the control "half" keep_batchnorm_fp32 is not set; under "coarse" all levels but O0 keep weights in FP6 E3M2,
/// without masters.
std::vector<Arithmetic> ways_of(const RunContext& context) {
    const auto way = [&](const char* name, const Level& level) {
        Arithmetic arithmetic = arithmetic_of(context, name, level.recipe());
        if (has_control(context, "coarse") && arithmetic.name != "O0") {
            arithmetic.recipe.weights = formats::e3m2;
            arithmetic.recipe.master_weights = false;
        }
        return arithmetic;
    };
    return {way("O0", Level("O0")), way("O2", Level("O2")), way("O3", Level("O3")),
            way("O3 with batch norm in fp32", has_control(context, "half") ? Level("O3") : o3_with_batchnorm())};
}

/// Behind the test accuracy: the share of the batch normalisations' parameters and running statistics that are numbers
/// of fp16.
constexpr std::size_t norms_in_fp16 = 2;

TaskBuilder watched_task(const TaskBuilder& task) {
    return [task](Model& model, std::uint64_t seed) {
        Task result = task(model, seed);
        result.measure = [measure = result.measure, &model](Evaluation& evaluation, Learned& learned) {
            measure(evaluation, learned);
            double all = 0;
            double narrow = 0;
            for (const Parameter& parameter : model.parameters()) {
                if (parameter.name.find(".bn.") == std::string::npos) continue;
                for (const float value : parameter.updated().values()) {
                    all += 1;
                    narrow += round_to(formats::fp16, value) == value ? 1 : 0;
                }
            }
            learned.scores.push_back(narrow / all);
        };
        return result;
    };
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const DataSplit data = digits_of(context, result);
    const Layers net = net_by_name(settings.text("net")).layers(settings.integer("hidden"));
    const Index batch = std::min<Index>(settings.integer("batch"), data.train.size());
    const Training training{.task = watched_task(images_task(net, data, batch)),
                            .optimizer = {.learning_rate = settings.real("learning_rate"), .momentum = 0.9},
                            .steps = settings.integer("steps"),
                            .schedule = linear_decay_factor};
    const Comparison runs = compare(context, result, ways_of(context), training, settings.integer("seeds"));
    const std::string place =
        cite(sources::amp_slides, "O3: if your model uses batch normalization, add keep_batchnorm_fp32=True");
    result.arithmetic(
        "table", place, "O3 with keep_batchnorm_fp32=True differs from O3 in that property alone.",
        equal("cast_model_type=fp16 keep_batchnorm_fp32=true loss_scale=1.0 master_weights=false patch_functions=false",
              properties_of(o3_with_batchnorm())));
    const Quantity share{"parameters that are numbers of fp16", "%", 100, 1};
    result.measured("norms_kept", place,
                    "With it the batch normalisations' parameters are numbers of fp32, of which few are numbers of "
                    "fp16; at O3 all are.",
                    at_most(0.1, runs.mean(way_keep, norms_in_fp16), share).at("with it") &&
                        at_least(1, runs.mean(way_o3, norms_in_fp16), share).at("at O3"));
    result.measured("learns", place, "A residual net learns the digits in fp32.",
                    at_least(0.9, runs.mean(way_o0, test_accuracy), accuracy_text));
    const Margin margin{0.01, "one test image of a hundred", Margin::Side::not_below};
    const auto as_fp32 = [&](std::size_t way, const char* id, const char* statement) {
        claim_parity(result, runs, test_accuracy, accuracy_text, margin, id, place, statement, way);
    };
    as_fp32(way_o2, "o2", "A residual net with batch normalisation is as good at O2 as at O0.");
    as_fp32(way_o3, "o3", "A residual net with batch normalisation is as good at O3 as at O0.");
    as_fp32(way_keep, "o3_keep", "With keep_batchnorm_fp32=True a residual net is as good at O3 as at O0.");
    result.quoted(
        "speed_of_light", cite(sources::amp_slides, "O3 can be useful to establish the \"speed of light\""),
        "O3 shows how fast a model can be, and keep_batchnorm_fp32=True lets cuDNN's batch normalisation run.",
        "faster than O3 without", "it takes a GPU and cuDNN");
    result.figure(figure_of_losses(runs, 5, "loss", "A residual net at O0, O2 and O3: training loss", false));
    result.figure(figure_of_seeds(runs, test_accuracy, accuracy_text, "accuracy",
                                  "A residual net at O0, O2 and O3: unseen digits read right"));
}

}  // namespace

Experiment experiment() {
    return {
        "keep_batchnorm",
        "O3 with batch normalisation in fp32",
        "Does apex's level O3 train better where batch normalisation stays in fp32?",
        {Chapter::systems, 5},
        {text_setting("net", "with ways around", "residual", {"residual", "resnet20"})
             .published(std::string("resnet20")),
         integer_setting("steps", "training steps", 200, 600, 2, 1000000).smoke(4).published(190),
         integer_setting("batch", "images per step", 16, 32, 1, 4096).published(128),
         integer_setting("hidden", "channels of the first convolutions", 6, 12, 2, 256).smoke(2).published(16),
         integer_setting("train_images", "generated digits to train on", 1600, 20000, 1, 1000000)
             .smoke(64)
             .published(8000),
         integer_setting("test_images", "generated digits to test on", 300, 4000, 1, 1000000).smoke(20).published(2000),
         integer_setting("side", "pixels of a digit's side", 12, 16, 8, 64).published(28),
         integer_setting("seeds", "runs at each level", 3, 5, 1, 100).smoke(1).published(1),
         real_setting("learning_rate", "of gradient descent with momentum 0.9, falling linearly to 0", 0.06, 0.06, 0,
                      10),
         control_setting("half leaves keep_batchnorm_fp32 unset; coarse keeps the weights of all levels but O0 in "
                         "FP6 E3M2, without masters",
                         {"half", "coarse"}),
         path_setting("mnist", "folder with the MNIST idx files, instead of generated digits")},
        run,
        {Control("control=half", "norms_kept"), Control("control=coarse", "o2 o3 o3_keep", RunSize::quick),
         Control("learning_rate=0", "norms_kept learns o2 o3", RunSize::quick)}};
}

}  // namespace ulp::keep_batchnorm_experiment
