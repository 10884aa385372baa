// One recorded trace of gradient maxima, replayed through every dialect of loss scaler and through scales chosen in
// hindsight; and the traces by which the dialects are told apart.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/recipes/loss_scale.hpp"
#include "engine/tensor/random.hpp"
#include "experiments/shared/sources.hpp"
#include "experiments/training/figures.hpp"
#include "experiments/training/tasks.hpp"
#include "softfloat/round.hpp"

namespace ulp {
namespace {

using sources::cite;

/// Whether a gradient of this size, times the scale, is infinite in fp16.
bool overflows(double largest, double scale) {
    return !std::isfinite(round_to(formats::fp16, static_cast<float>(largest * scale)));
}

/// A scaler's way through a trace of gradient maxima (without loss scale).
struct Replay {
    std::string name;
    std::vector<double> scales;  // in each step
    std::vector<bool> skipped;

    [[nodiscard]] double skipped_share() const {
        return static_cast<double>(std::count(skipped.begin(), skipped.end(), true)) /
               static_cast<double>(skipped.size());
    }
};

Replay replay(std::string name, const LossScaleOptions& options, const std::vector<double>& largest) {
    Replay result{std::move(name), {}, {}};
    LossScale scale(options);
    for (const double g : largest) {
        result.scales.push_back(scale.value());
        result.skipped.push_back(overflows(g, scale.value()));
        scale.update(result.skipped.back());
    }
    return result;
}

/// Under the control "constant" no scale moves.
LossScaleOptions under_control(const RunContext& context, LossScaleOptions options) {
    if (has_control(context, "constant")) options.dynamic = false;
    return options;
}

// ---- The golden traces ----

LossScaleOptions at_64k(const RunContext& context, std::string_view dialect, std::int64_t window) {
    LossScaleOptions options = under_control(context, loss_scale_dialect(dialect));
    options.initial = 0x1p16;
    options.window = window;
    return options;
}

/// "64K x4, 128K x4, 256K*": runs of equal scales in K = 1024; a star marks overflows.
std::string text_of(const Replay& replay) {
    std::string text;
    for (std::size_t i = 0; i < replay.scales.size();) {
        std::size_t end = i;
        while (end < replay.scales.size() && replay.scales[end] == replay.scales[i] &&
               replay.skipped[end] == replay.skipped[i]) {
            ++end;
        }
        const std::string one = fmt::format("{:.0f}K{}", replay.scales[i] / 1024, replay.skipped[i] ? "*" : "");
        if (replay.skipped[i]) {
            for (std::size_t j = i; j < end; ++j) text += (text.empty() ? "" : ", ") + one;
        } else {
            text +=
                fmt::format("{}{}{}", text.empty() ? "" : ", ", one, end - i > 1 ? fmt::format(" x{}", end - i) : "");
        }
        i = end;
    }
    return text;
}

void claim_growth(const RunContext& context, Result& result) {
    const std::vector<double> quarter(19, 0.25);
    const std::string expected = "64K x4, 128K x4, 256K*, 128K x4, 256K*, 128K x4, 256K*";
    const auto claim = [&](std::string_view id, std::string_view who, LossScaleOptions options, std::string text) {
        result.claim(id, who,
                     "A gradient of 1/4 in fp16, a window of 4 steps: the scales, * where the step is skipped.",
                     std::move(text), text_of(replay("", options, quarter)));
    };
    claim("growth_pytorch", "PyTorch, GradScaler", at_64k(context, "pytorch", 4), expected);
    claim("growth_apex", "NVIDIA apex, LossScaler", at_64k(context, "apex", 4), expected);
    claim("growth_fairseq", "fairseq, DynamicLossScaler", at_64k(context, "fairseq", 4), expected);
    LossScaleOptions deepspeed = at_64k(context, "deepspeed", 4);
    deepspeed.hysteresis = 1;
    claim("growth_deepspeed", "DeepSpeed, DynamicLossScaler with hysteresis 1", deepspeed, expected);
    claim("growth_hysteresis", "Megatron, DynamicGradScaler with hysteresis 2", at_64k(context, "megatron", 4),
          "64K x4, 128K x4, 256K*, 256K*, 128K x4, 256K*, 256K*, 128K x3");
}

/// The scale after each of the overflows at steps 3, 6, 9 and 12, counted from 0.
std::string forced(const LossScaleOptions& options) {
    LossScale scale(options);
    std::string text;
    for (int step = 0; step <= 12; ++step) {
        const bool overflow = step > 0 && step % 3 == 0;
        scale.update(overflow);
        if (overflow) text += fmt::format("{}{:.0f}K", text.empty() ? "" : " ", scale.value() / 1024);
    }
    return text;
}

void claim_forced(const RunContext& context, Result& result) {
    const auto claim = [&](std::string_view id, std::string_view who, const LossScaleOptions& options,
                           std::string text) {
        result.claim(id, who, "Overflows at steps 3, 6, 9 and 12, counted from 0: the scale after each.",
                     std::move(text), forced(options));
    };
    claim("forced_pytorch", "PyTorch, GradScaler", at_64k(context, "pytorch", 100), "32K 16K 8K 4K");
    claim("forced_apex", "NVIDIA apex, LossScaler", at_64k(context, "apex", 100), "32K 16K 8K 4K");
    claim("forced_fairseq", "fairseq, tolerance 0", at_64k(context, "fairseq", 100), "32K 16K 8K 4K");
    claim("forced_megatron", "Megatron, hysteresis 2", at_64k(context, "megatron", 100), "64K 32K 16K 8K");
    claim("forced_deepspeed", "DeepSpeed, hysteresis 2", at_64k(context, "deepspeed", 100), "64K 32K 16K 8K");
    LossScaleOptions consecutive = at_64k(context, "deepspeed", 100);
    consecutive.consecutive_hysteresis = true;
    claim("forced_consecutive", "DeepSpeed, consecutive hysteresis 2", consecutive, "64K 64K 64K 64K");
    LossScaleOptions tolerant = at_64k(context, "fairseq", 100);
    tolerant.tolerance = 0.3;
    claim("forced_tolerant", "fairseq, tolerance 0.3", tolerant, "64K 64K 32K 16K");
}

void claim_skips(const RunContext& context, Result& result) {
    const std::vector<double> quarter(30000, 0.25);
    const Replay steady = replay("", under_control(context, loss_scale_dialect("pytorch")), quarter);
    std::vector<std::size_t> at;
    for (std::size_t i = 0; i < steady.skipped.size(); ++i) {
        if (steady.skipped[i]) at.push_back(i);
    }
    const std::size_t distance = at.size() < 2 ? 0 : at.back() - at[at.size() - 2];
    result.claim(
        "skips_2000", cite(sources::volta_talk, "N = 2,000: skipping at most 0.05% of updates in steady state"),
        "In steady state one step of 2001 is skipped, 0.04998%: the slide's number is rounded up.",
        "1 of 2001, 0.04998 %",
        distance == 0 ? "none" : fmt::format("1 of {}, {:.5f} %", distance, 100 / static_cast<double>(distance)));
}

/// What users meet when the loss itself is infinite: every step overflows.
void claim_endless_overflow(const RunContext& context, Result& result) {
    const std::string question = "Users' reports: why did the loss scale fall to 1e-303?";
    const auto after = [&](std::string_view dialect, int steps) {
        LossScale scale(under_control(context, loss_scale_dialect(dialect)));
        for (int i = 0; i < steps; ++i) scale.update(true);
        return scale.value();
    };
    result.claim_if(after("apex", 1023) < 1e-300, "endless_apex", question,
                    "If every step overflows, a scaler without a floor halves a double for ever.",
                    "below 1e-300 after 1023 steps", fmt::format("{:.3g}", after("apex", 1023)));
    result.claim("endless_pytorch", question, "PyTorch's scale is an fp32 number: it reaches 0, and never comes back.",
                 "0", fmt::format("{}", after("pytorch", 200)));
    result.claim("endless_megatron", question, "A floor of 1 stops the fall, not the overflows.", "1",
                 fmt::format("{}", after("megatron", 200)));
    std::string message;
    try {
        after("fairseq", 200);
    } catch (const std::runtime_error& error) {
        message = error.what();
    }
    result.claim_if(message.find("infinite") != std::string::npos, "endless_fairseq", question,
                    "fairseq ends the training and says why.", "an error that names the cause",
                    message.empty() ? "no error" : message);
}

// ---- The recorded trace ----

Training reversal(const RunContext& context) {
    return {.arithmetic = {"fp32", recipe_by_name("fp32"), backend_or_ieee(context)},
            .task = reversal_task({}),
            .optimizer = {.kind = OptimizerKind::adam, .learning_rate = 0x1p-7},
            .steps = context.settings.integer("steps")};
}

/// Keeps the largest magnitude among all gradients of each step.
TaskBuilder recorded(const TaskBuilder& task) {
    return [task](Model& model, std::uint64_t seed) {
        Task result = task(model, seed);
        const auto largest = std::make_shared<std::vector<double>>();
        result.tap = [largest](std::int64_t step, const TapEvent& event) {
            const bool gradient =
                event.role == TensorRole::weight_gradient || event.role == TensorRole::activation_gradient;
            if (!gradient || event.values.size() == 1) return;
            largest->resize(static_cast<std::size_t>(step) + 1);
            for (const float g : event.values) {
                largest->back() = std::max(largest->back(), static_cast<double>(std::fabs(g)));
            }
        };
        keep(result, largest);
        return result;
    };
}

/// Every hundredth step's loss made infinite, so that a scaler skips it: ten times as often as the slide says.
Training with_skips(const RunContext& context, Training training) {
    LossScaleOptions& scale = training.arithmetic.recipe.loss_scale;
    scale = under_control(context, loss_scale_dialect("pytorch"));
    scale.backoff = 0x1.fffffep-1;  // the scale has nothing to do here
    training.task = [whole = training.task](Model& model, std::uint64_t seed) {
        Task task = whole(model, seed);
        task.loss = [loss = task.loss, seed](Tape& tape, std::int64_t step) {
            const Var loss_of_step = loss(tape, step);
            const bool skip = Random(seed, hash_of("skips")).at(static_cast<std::uint64_t>(step)) % 100 == 0;
            return skip ? scaled(loss_of_step, std::numeric_limits<double>::infinity()) : loss_of_step;
        };
        return task;
    };
    return training;
}

struct Recorded {
    std::vector<double> largest;  // of the first seed
    Spread accuracy, accuracy_with_skips;
    std::int64_t skips = 0;
};

Recorded record(const RunContext& context) {
    std::vector<Training> arms = {reversal(context), with_skips(context, reversal(context))};
    arms.front().task = recorded(arms.front().task);
    const Comparison runs = compare(context, arms, context.settings.integer("seeds"));
    Recorded result{runs.runs[0].front().kept<std::vector<double>>(), runs.spread(0), runs.spread(1)};
    for (const Learned& run : runs.runs[1]) result.skips += run.skips();
    return result;
}

/// The largest power of two that none of these gradients overflows with.
double best_scale(double largest) {
    int n = 0;
    while (n < 100 && !overflows(largest, std::ldexp(1.0, n + 1))) ++n;
    return std::ldexp(1.0, n);
}

/// Mean over the steps that were not skipped of log2(the step's best scale / the scale).
double unused_binades(const Replay& replay, const std::vector<double>& largest) {
    double sum = 0;
    std::int64_t count = 0;
    for (std::size_t i = 0; i < largest.size(); ++i) {
        if (replay.skipped[i]) continue;
        sum += std::ilogb(best_scale(largest[i]) / replay.scales[i]);
        ++count;
    }
    return count == 0 ? 0 : sum / static_cast<double>(count);
}

std::vector<Replay> replays_of(const RunContext& context, const std::vector<double>& largest) {
    const std::int64_t divisor = context.settings.integer("window_divisor");
    std::vector<Replay> replays;
    for (LossScaleOptions options : loss_scale_dialects()) {
        if (!options.dynamic) continue;
        options.window = std::max<std::int64_t>(options.window / divisor, 1);
        replays.push_back(replay(options.dialect, under_control(context, options), largest));
    }
    const double most = *std::max_element(largest.begin(), largest.end());
    replays.push_back(replay("best constant in hindsight", constant_loss_scale(best_scale(most)), largest));
    replays.push_back(replay("constant 2^16", constant_loss_scale(0x1p16), largest));
    return replays;
}

void claim_arena(const Recorded& recorded, const std::vector<Replay>& replays, Result& result) {
    const Replay& hindsight = replays[replays.size() - 2];
    int better = 0;
    int dialects = 0;
    for (const Replay& r : replays) {
        if (&r >= &hindsight) break;
        ++dialects;
        better += r.skipped_share() < 0.15 ? 1 : 0;
    }
    result.claim("all_settle", cite(sources::volta_talk, "Automatic loss scaling frees users from choosing a factor"),
                 "Every dialect, from its own first scale, finds the range and skips fewer than 15% of the steps of a "
                 "trace with a hundredth of the usual windows.",
                 fmt::format("{} of {} dialects", dialects, dialects),
                 fmt::format("{} of {} dialects", better, dialects));
    result.claim("hindsight_never_skips", cite(sources::paper, "3.2: a constant factor chosen by gradient statistics"),
                 "The best constant scale in hindsight skips nothing.", "0 skipped",
                 fmt::format("{} skipped", std::count(hindsight.skipped.begin(), hindsight.skipped.end(), true)));
    const auto by_name = [&](std::string_view name) {
        return *std::find_if(replays.begin(), replays.end(), [&](const Replay& r) { return r.name == name; });
    };
    const double most = *std::max_element(recorded.largest.begin(), recorded.largest.end());
    const Replay doubled = replay("", constant_loss_scale(2 * best_scale(most)), recorded.largest);
    result.claim_if(std::count(doubled.skipped.begin(), doubled.skipped.end(), true) > 0, "control_twice_hindsight",
                    cite(sources::paper, "3.2: a constant factor chosen by gradient statistics"),
                    "Twice that scale overflows: it is the best.", "1 or more overflows",
                    fmt::format("{} overflows", std::count(doubled.skipped.begin(), doubled.skipped.end(), true)));
    const double moving = unused_binades(by_name("pytorch"), recorded.largest);
    const double constant = unused_binades(hindsight, recorded.largest);
    result.claim_if(
        moving < constant, "moving_is_closer",
        cite(sources::volta_talk, "Automatic loss scaling: start with a large factor"),
        "A moving scale stays closer to the largest that fits than the best constant one, in powers of two.",
        fmt::format("less than {:.2f}", constant), fmt::format("{:.2f}", moving));
    const Parity unharmed{Parity::Rule::median_not_below, 0.02};
    result.claim_if(as_good(recorded.accuracy_with_skips, recorded.accuracy, unharmed) && recorded.skips > 0,
                    "random_skips", cite(sources::volta_talk, "randomly skipping 0.1% of updates didn't affect result"),
                    "Skipping 1% of the updates at random, ten times as many, does not harm the net.",
                    fmt::format("at most 2 points below {}", percent_text(recorded.accuracy)),
                    fmt::format("{}, {} updates skipped", percent_text(recorded.accuracy_with_skips), recorded.skips));
}

void figure_scales(const Recorded& recorded, const std::vector<Replay>& replays, Result& result) {
    Figure figure{
        "scales", "Seven scalers on one trace of gradients",
        "A net that reverses sequences; windows of a hundredth of the usual. Grey: the largest power of two that fits.",
        "Those that start at 2^32 first fall one power of two a step. Then all follow the ceiling: each climbs "
        "until it touches it. A longer window touches more rarely and stays lower when gradients shrink; "
        "hysteresis pays each touch twice.",
        ""};
    Series ceiling{"ceiling", formats::fp64, {}};
    for (std::size_t i = 0; i < recorded.largest.size(); ++i) {
        ceiling.points.push_back({static_cast<double>(i), best_scale(recorded.largest[i])});
    }
    figure.series.push_back(std::move(ceiling));
    for (const Replay& r : replays) {
        figure.series.push_back({r.name, formats::fp64, points_of(r.scales)});
    }
    result.figure(std::move(figure));
}

void figure_score(const Recorded& recorded, const std::vector<Replay>& replays, Result& result) {
    Figure figure{
        "score", "What each scaler pays and what it gets",
        "Across: share of the steps skipped. Up: powers of two that the scale lies below the largest that "
        "fits, mean over the other steps.",
        "Down and left is better. A constant scale chosen with knowledge of the whole run skips nothing and "
        "leaves more of the range unused; the moving ones trade skipped steps for range. Which corner is best "
        "depends on how many gradients a power of two saves.",
        ""};
    for (const Replay& r : replays) {
        figure.series.push_back({r.name, formats::fp64, {{r.skipped_share(), unused_binades(r, recorded.largest)}}});
    }
    result.figure(std::move(figure));
}

void run(const RunContext& context, Result& result) {
    claim_growth(context, result);
    claim_forced(context, result);
    claim_skips(context, result);
    claim_endless_overflow(context, result);
    const Recorded recorded = record(context);
    const std::vector<Replay> replays = replays_of(context, recorded.largest);
    claim_arena(recorded, replays, result);
    figure_scales(recorded, replays, result);
    figure_score(recorded, replays, result);
}

}  // namespace

Experiment scaler_arena_experiment() {
    return {"scaler_arena",
            "The scalers' arena: one trace, every dialect",
            "How do the published loss scalers differ on the same gradients?",
            Chapter::remedies,
            {integer_setting("steps", "training steps that are recorded", 600, 6000, 4, 1000000),
             integer_setting("seeds", "runs with weights and sequences of their own", 3, 5, 1, 100),
             integer_setting("window_divisor", "the dialects' windows are divided by this", 100, 10, 1, 1000),
             control_setting("constant keeps every scale as it began", {"constant"})},
            run,
            {{{"steps=200", "seeds=1"},
              {"control=constant"},
              {"growth_pytorch", "growth_apex", "growth_fairseq", "growth_deepspeed", "growth_hysteresis",
               "forced_pytorch", "forced_apex", "forced_fairseq", "forced_megatron", "forced_deepspeed",
               "forced_tolerant", "skips_2000", "endless_apex", "endless_pytorch", "endless_megatron",
               "endless_fairseq", "all_settle", "moving_is_closer", "random_skips"}}}};
}

}  // namespace ulp
