// A net that reads digits, fine-tuned to sheared ones at a usual rate of AdamW: updates are below half an ulp of bf16
// weights by themselves. (experiments/master_weights.cpp explains it with weights of size 1.)
#include "experiments/natural/lost_updates.hpp"
#include "experiments/natural/tuning.hpp"
#include "experiments/training/figures.hpp"

namespace ulp::fine_tuned_digits_experiment {
namespace {

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const natural::TunedDigits data = natural::tuned_digits_of(context, result);
    const auto hidden = settings.integer("hidden");
    const Layers net = dense_net({hidden, hidden});
    const Comparison first = natural::first_training(context, result, net, data, {0, 0.2});

    const double rate = settings.real("learning_rate");
    const TaskBuilder task =
        natural::starting_from(images_task(net, data.second, 32), natural::weights_left(context, first));
    const Training second{.task = natural::watching_moves(task),
                          .optimizer = {.kind = OptimizerKind::adamw, .learning_rate = rate, .weight_decay = 0.01},
                          .steps = settings.integer("steps"),
                          .schedule = [](std::int64_t step, std::int64_t steps) {
                              return warmup_factor(step, 50) * cosine_decay_factor(step, steps);
                          }};
    const Comparison runs =
        compare(context, result, natural::weight_keepings(context), second, settings.integer("seeds"), {0.2, 1});

    const std::string beginning = fmt::format("Fine-tuned to sheared digits with AdamW at {:g}, ", rate);
    result.measured("tuning_helps",
                    cite(natural::bert, "A.3 Fine-tuning Procedure: learning rate (Adam) 5e-5, 3e-5, 2e-5"),
                    beginning + "a net in fp32 reads more of them than before.",
                    above(first.mean(0, test_accuracy), runs.mean(natural::fp32), accuracy_text));
    natural::claim_lost_updates(
        result, {runs, accuracy_text, {0.01, "one image in a hundred", Margin::Side::not_below}, beginning});

    result.figure(natural::figure_of_update_sizes(runs, "Fine-tuning: sizes of updates beside their weights"));
    result.figure(natural::figure_of_standing_weights(runs, 10, "Fine-tuning: weights that a step leaves as they are"));
    result.figure(figure_of_losses(runs, 25, "loss", "Fine-tuning: training loss on sheared digits", false));
    result
        .figure(figure_of_seeds(runs, test_accuracy, accuracy_text, "accuracy",
                                "Fine-tuning: unseen sheared digits read right"))
        .headline = fmt::format(
        "Fine-tuned with AdamW at {:g}, unmodified: {} of sheared digits before, {} after in fp32, {} with bf16 "
        "weights without masters, {} with stochastic rounding.",
        rate, accuracy_text.text(first.mean(0, test_accuracy)), accuracy_text.text(runs.mean(natural::fp32)),
        accuracy_text.text(runs.mean(natural::bf16_nearest)), accuracy_text.text(runs.mean(natural::bf16_stochastic)));
}

}  // namespace

Experiment experiment() {
    return {
        "fine_tuned_digits",
        "Fine-tuning a digit net: updates below half an ulp",
        "Does fine-tuning at a usual rate need master weights, and does fp32 alone predict it?",
        {Chapter::remedies, 2},
        {integer_setting("first_steps", "training steps on plain digits", 300, 2000, 1, 1000000).smoke(60),
         integer_setting("steps", "steps of fine-tuning", 750, 1500, 1, 1000000).smoke(60),
         integer_setting("seeds", "runs of each arithmetic", 3, 5, 1, 100).smoke(2),
         integer_setting("hidden", "width of both hidden layers", 48, 64, 2, 4096).smoke(16),
         integer_setting("side", "pixels a side of generated digits", 14, 28, 8, 64),
         integer_setting("shear", "hundredths by which a row moves for each row below the middle", 40, 40, -200, 200),
         integer_setting("train_images", "generated digits to train on", 2000, 10000, 64, 1000000).smoke(200),
         integer_setting("test_images", "generated digits to test on", 1000, 4000, 1, 1000000).smoke(100),
         real_setting("learning_rate", "of AdamW in fine-tuning", 2e-5, 2e-5, 0, 10), natural::weight_keeping_control(),
         path_setting("mnist", "folder with the MNIST idx files, instead of generated digits")},
        run,
        {Control("control=masters",
                 "predicted_start_bf16 predicted_bf16 predicted_start_fp16 predicted_fp16 bf16_nearest fp16_nearest",
                 RunSize::quick, "steps=300"),
         Control("control=nearest", "bf16_masters bf16_stochastic bf16_kahan fp16_masters", RunSize::quick),
         Control("learning_rate=0", "tuning_helps bf16_nearest fp16_nearest", RunSize::quick)},
        Effect{"bf16_nearest"}};
}

}  // namespace ulp::fine_tuned_digits_experiment
