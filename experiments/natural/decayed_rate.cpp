// A net trained from scratch with AdamW at a rate that decays: in its last part the updates fall below half an ulp of
// bf16 weights, as they do in every training that ends with a small rate.
#include "experiments/natural/lost_updates.hpp"
#include "experiments/natural/tuning.hpp"
#include "experiments/training/figures.hpp"

namespace ulp::decayed_rate_experiment {
namespace {

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const DataSplit data = digits_of(context, result);
    const auto hidden = settings.integer("hidden");
    const double rate = settings.real("learning_rate");
    const Training training{.task = natural::watching_moves(images_task(dense_net({hidden}), data, 32)),
                            .optimizer = {.kind = OptimizerKind::adamw, .learning_rate = rate, .weight_decay = 0.01},
                            .steps = settings.integer("steps"),
                            .schedule = cosine_decay_factor};
    const Comparison runs =
        compare(context, result, natural::weight_keepings(context), training, settings.integer("seeds"));

    const std::string beginning = fmt::format("Trained from scratch with AdamW at {:g} along half a cosine, ", rate);
    result.measured(
        "learns", cite("Loshchilov and Hutter, Decoupled weight decay regularization (ICLR 2019)", "Cosine annealing"),
        beginning + "a net in fp32 reads nine digits of ten.", at_least(0.9, runs.mean(natural::fp32), accuracy_text));
    natural::claim_lost_updates(
        result, {runs, accuracy_text, {0.01, "one image in a hundred", Margin::Side::not_below}, beginning});

    result.figure(natural::figure_of_update_sizes(runs, "A decaying rate: sizes of updates beside their weights"));
    result.figure(
        natural::figure_of_standing_weights(runs, 20, "A decaying rate: weights that a step leaves as they are"));
    result.figure(figure_of_losses(runs, 50, "loss", "A decaying rate: training loss"));
    result.figure(
        figure_of_seeds(runs, test_accuracy, accuracy_text, "accuracy", "A decaying rate: unseen digits read right"));
}

}  // namespace

Experiment experiment() {
    return {"decayed_rate",
            "A learning rate that decays: when 16-bit weights come to rest",
            "Which share of a training's updates do 16-bit weights lose as the learning rate decays, and what does it "
            "cost?",
            {Chapter::remedies, 4},
            {integer_setting("steps", "training steps", 2000, 3000, 1, 1000000).smoke(60),
             integer_setting("seeds", "runs of each arithmetic", 3, 5, 1, 100).smoke(2),
             integer_setting("hidden", "width of the hidden layer", 32, 64, 2, 4096).smoke(16),
             integer_setting("side", "pixels a side of generated digits", 14, 28, 8, 64),
             integer_setting("train_images", "generated digits to train on", 2000, 10000, 64, 1000000).smoke(200),
             integer_setting("test_images", "generated digits to test on", 1000, 4000, 1, 1000000).smoke(100),
             real_setting("learning_rate", "of AdamW in the first step", 3e-4, 3e-4, 0, 10),
             natural::weight_keeping_control(),
             path_setting("mnist", "folder with the MNIST idx files, instead of generated digits")},
            run,
            {Control("control=masters",
                     "predicted_start_bf16 predicted_bf16 predicted_start_fp16 predicted_fp16 bf16_nearest",
                     RunSize::quick),
             Control("control=nearest", "bf16_masters bf16_stochastic bf16_kahan", RunSize::quick),
             Control("control=coarse", "predicted_start_fp16 predicted_fp16 fp16_nearest fp16_masters", RunSize::quick),
             Control("learning_rate=0",
                     "learns predicted_start_bf16 predicted_bf16 predicted_start_fp16 predicted_fp16 bf16_nearest "
                     "fp16_nearest bf16_masters bf16_stochastic bf16_kahan fp16_masters",
                     RunSize::quick)},
            Effect{"bf16_nearest"}};
}

}  // namespace ulp::decayed_rate_experiment
