// What surrounds the mixed-precision step: where clipping belongs, what may be fused, what counts as an iteration, and
// what must be saved.
#include "engine/data/generated.hpp"
#include "engine/tensor/random.hpp"
#include "engine/training/schedule.hpp"
#include "experiments/training/figures.hpp"
#include "experiments/training/tasks.hpp"

namespace ulp::step_protocol_experiment {
namespace {

constexpr double scale = 0x1p8;

Training training_of(const RunContext& context, const DataSplit& digits, Arithmetic arithmetic) {
    const auto batch = context.settings.integer("batch");
    return {.arithmetic = std::move(arithmetic),
            .task = images_task(dense_net({32}), digits, batch),
            .optimizer = {.learning_rate = context.settings.real("learning_rate"), .momentum = 0.9},
            .steps = context.settings.integer("steps")};
}
Arithmetic frequent_skips(const RunContext& context) {
    return mixed_arithmetic(context, "fp16",
                            has_control(context, "no_skips") ? constant_loss_scale(128) : dynamic_loss_scale(5));
}

/// The weights that the optimizer updates, all in a row.
std::vector<float> weights_of(TrainingRun& run) {
    std::vector<float> all;
    for (const Parameter& p : run.trainer().model().parameters()) {
        all.insert(all.end(), p.updated().values().begin(), p.updated().values().end());
    }
    return all;
}
std::int64_t differing(const std::vector<float>& a, const std::vector<float>& b) {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < a.size(); ++i) count += a[i] != b[i] ? 1 : 0;
    return count;
}
double distance(const std::vector<float>& a, const std::vector<float>& b) {
    double squares = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
        squares += d * d;
    }
    return std::sqrt(squares);
}

/// Clipping: bf16, whose range a power of two as a loss scale never leaves, so that nothing but the order differs.
void claim_clipping(const RunContext& context, const DataSplit& digits, Result& result) {
    constexpr double limit = 0.1;  // below every gradient's norm here
    struct Steps {
        std::vector<float> start, first, last;
    };
    const auto clipped = [&](double loss_scale, double clip_norm) {
        Arithmetic arithmetic = arithmetic_of(context, "bf16", recipe_by_name("bf16"));
        arithmetic.recipe.loss_scale = constant_loss_scale(loss_scale);
        Training training = training_of(context, digits, std::move(arithmetic));
        training.clip_norm = clip_norm;
        TrainingRun run(training, context.seed);
        Steps steps{weights_of(run), {}, {}};
        run.step();
        steps.first = weights_of(run);
        for (int i = 1; i < 10; ++i) run.step();
        steps.last = weights_of(run);
        return steps;
    };
    const double used = has_control(context, "unscaled") ? 1 : scale;
    const Steps plain = clipped(1, limit);
    // Gradients that are clipped while they carry the scale are clipped at limit / scale.
    const Steps before = clipped(used, limit / used);
    const Steps after = has_control(context, "clip_scaled") ? before : clipped(used, limit);
    const std::string place = cite(sources::volta_talk, "Apply gradient clipping on gradients after 1/s scaling");
    result.measured("clip_after", place,
                    "Clipped after unscaling, gradients need no other limit: ten clipped steps in bf16 with a loss "
                    "scale of 2^8 leave the weights of ten steps without one, bit for bit.",
                    equal(0, differing(after.last, plain.last), "weights differ"));
    result.measured("clip_before", place,
                    "Clipped before unscaling at the same limit, the first update is 2^8 times too small.",
                    near(scale, 0.01 * scale, distance(plain.first, plain.start) / distance(before.first, before.start),
                         {"", "times", 1, 1}));
}

/// w - rate * (g / s), and w - (rate / s) * g in one operation less.
void claim_fusion(const RunContext& context, Result& result) {
    constexpr std::int64_t count = 4096;
    constexpr float rate = 0.1F;
    const auto differ = [&](float s) {
        Random random(context.seed, "fused unscaling");
        std::int64_t different = 0;
        for (std::int64_t i = 0; i < count; ++i) {
            const auto w = static_cast<float>(random.normal());
            const auto g = static_cast<float>(random.normal()) * s;
            const float inverse = 1 / s;
            const float unscaled = g * inverse;
            const float step = rate * unscaled;
            const float fused_rate = rate * inverse;
            const float fused_step = fused_rate * g;
            different += w - step != w - fused_step ? 1 : 0;
        }
        return different;
    };
    const std::string place = cite(sources::volta_talk, "For maximum performance: fuse unscaling and update");
    result.arithmetic(
        "fused_power_of_two", place,
        "Unscaling may be fused into the update: with a scale of 2^10 each of 4096 new weights has the same bits.",
        equal(0, differ(1024), "weights differ"));
    result.arithmetic("fused_1000", place, "With a scale of 1000, which is not a power of two, some have others.",
                      at_least(1, static_cast<double>(differ(1000)), {"", "weights differ", 1, 0}));
}

/// The learning rate falls with the iterations; a skipped one counts or does not.
void claim_counting(const RunContext& context, const DataSplit& digits, Result& result) {
    const Training training = training_of(context, digits, frequent_skips(context));
    double skips = 0;
    const auto train_once = [&](std::size_t arm, std::uint64_t seed) {
        TrainingRun run(training, seed);
        for (std::int64_t step = 0; step < training.steps; ++step) {
            const std::int64_t iteration = arm == 0 ? step : run.trainer().optimizer().steps();
            run.trainer().optimizer().set_learning_rate(training.optimizer.learning_rate *
                                                        linear_decay_factor(iteration, training.steps));
            run.step();
        }
        return run.measured();
    };
    const Comparison runs = compare(context, result, std::vector<Arithmetic>(2, training.arithmetic), train_once,
                                    context.settings.integer("seeds"));
    for (const Learned& run : runs.runs[1]) skips += static_cast<double>(run.skips());
    result.measured("counted_or_not", cite(sources::volta_talk, "Iteration count: no accuracy difference on skips"),
                    "Whether a skipped step counts as an iteration of the learning rate's schedule makes no "
                    "difference, with one step of about six skipped.",
                    as_good(runs.scores(1, test_accuracy), runs.scores(0, test_accuracy),
                            {0.02, "two test images in a hundred"}, accuracy_text) &&
                        at_least(1, skips, {"", "skipped steps", 1, 0}));
}

/// A training run resumes from what was saved in its middle.
void claim_saving(const RunContext& context, const DataSplit& digits, Result& result) {
    const Training training = training_of(context, digits, frequent_skips(context));
    const auto seed = context.seed;
    TrainingRun whole(training, seed);
    const std::int64_t half = training.steps / 2;
    for (std::int64_t step = 0; step < half; ++step) whole.step();
    const Optimizer::Snapshot saved = whole.trainer().optimizer().snapshot();
    const auto scaler = whole.trainer().scaler().rule().state();
    for (std::int64_t step = half; step < training.steps; ++step) whole.step();
    const std::vector<float> expected = weights_of(whole);
    const auto resumed = [&](bool with_masters, bool with_scale) {
        TrainingRun run(training, seed);
        run.trainer().optimizer().restore(saved);
        if (!with_masters) {
            for (Parameter& p : run.trainer().model().parameters()) p.assign(Tensor(p.value));
        }
        if (with_scale) run.trainer().scaler().rule().load(scaler);
        run.trainer().continue_at(half, {}, {});
        for (std::int64_t step = half; step < training.steps; ++step) run.step();
        return differing(weights_of(run), expected);
    };
    const bool lossy = has_control(context, "save_less"), all = has_control(context, "save_all");
    const std::string place = cite(sources::round_table, "Save master weights, scale factor");
    result.measured("saved", place,
                    "A training resumed from its masters, optimizer state and scaler ends with the weights of one that "
                    "was not interrupted, bit for bit.",
                    equal(0, resumed(!lossy, true), "weights differ"));
    const auto weights = static_cast<double>(expected.size());
    const Quantity share{"weights differ", "%", 100, 1};
    result.measured("without_masters", place,
                    "Resumed from the fp16 weights without the masters, most weights end as others.",
                    above(0.5, static_cast<double>(resumed(all, true)) / weights, share));
    result.measured(
        "without_scale", place,
        "Resumed with a loss scale that starts anew, other steps are skipped, and most weights end as others.",
        above(0.5, static_cast<double>(resumed(true, all)) / weights, share));
}

void run(const RunContext& context, Result& result) {
    const DataSplit digits = generated_digit_split(context.settings.integer("train_images"),
                                                   context.settings.integer("test_images"), 14, context.seed);
    result.input({"generated digits for training", digits.train.digest()});
    claim_clipping(context, digits, result);
    claim_fusion(context, result);
    claim_counting(context, digits, result);
    claim_saving(context, digits, result);
}

}  // namespace

Experiment experiment() {
    return {"step_protocol",
            "Around the mixed-precision step: clipping, skips, saving",
            "Where does clipping belong, what counts as an iteration, and what must a checkpoint hold?",
            {Chapter::remedies, 9},
            {integer_setting("steps", "training steps", 150, 600, 4, 1000000).smoke(24),
             integer_setting("batch", "images per step", 32, 64, 1, 4096),
             integer_setting("train_images", "generated digits to train on", 2000, 10000, 1, 1000000).smoke(200),
             integer_setting("test_images", "generated digits to test on", 500, 2000, 1, 1000000).smoke(50),
             integer_setting("seeds", "runs of each kind", 5, 10, 1, 1000).smoke(2),
             real_setting("learning_rate", "of gradient descent with momentum 0.9", 0.05, 0.05, 0, 10),
             control_setting("clip_scaled clips before unscaling; unscaled trains with a loss scale of 1; no_skips "
                             "with a constant one; save_less leaves the masters out, save_all leaves nothing out",
                             {"clip_scaled", "unscaled", "no_skips", "save_less", "save_all"})},
            run,
            {Control("control=clip_scaled", "clip_after"), Control("control=unscaled", "clip_before"),
             Control("control=no_skips", "counted_or_not without_scale"), Control("control=save_less", "saved"),
             Control("control=save_all", "without_masters without_scale")}};
}

}  // namespace ulp::step_protocol_experiment
