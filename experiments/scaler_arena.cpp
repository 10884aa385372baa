// One recorded trace of gradient maxima, replayed through every dialect of loss scaler and through scales chosen in
// hindsight; and the traces by which the dialects are told apart.
#include <fmt/core.h>

#include <limits>

#include "engine/recipes/loss_scale.hpp"
#include "engine/tensor/random.hpp"
#include "experiments/training/figures.hpp"
#include "experiments/training/tasks.hpp"
#include "softfloat/round.hpp"

namespace ulp::scaler_arena_experiment {
namespace {

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

struct Golden {
    std::string_view id, who, dialect;
    std::string_view expected;
    int hysteresis = 0;        // 0: the dialect's own
    bool consecutive = false;  // hysteresis
    double tolerance = 0;
};

constexpr std::string_view halving_at_256k = "64K x4, 128K x4, 256K*, 128K x4, 256K*, 128K x4, 256K*";
constexpr Golden growth[] = {
    {"growth_pytorch", "PyTorch, GradScaler", "pytorch", halving_at_256k},
    {"growth_apex", "NVIDIA apex, LossScaler", "apex", halving_at_256k},
    {"growth_fairseq", "fairseq, DynamicLossScaler", "fairseq", halving_at_256k},
    {"growth_deepspeed", "DeepSpeed, DynamicLossScaler with hysteresis 1", "deepspeed", halving_at_256k, 1},
    {"growth_hysteresis", "Megatron, DynamicGradScaler with hysteresis 2", "megatron",
     "64K x4, 128K x4, 256K*, 256K*, 128K x4, 256K*, 256K*, 128K x3"}};
constexpr std::string_view halving = "32K 16K 8K 4K";
constexpr Golden overflows_forced[] = {
    {"forced_pytorch", "PyTorch, GradScaler", "pytorch", halving},
    {"forced_apex", "NVIDIA apex, LossScaler", "apex", halving},
    {"forced_fairseq", "fairseq, tolerance 0", "fairseq", halving},
    {"forced_megatron", "Megatron, hysteresis 2", "megatron", "64K 32K 16K 8K"},
    {"forced_deepspeed", "DeepSpeed, hysteresis 2", "deepspeed", "64K 32K 16K 8K"},
    {"forced_consecutive", "DeepSpeed, consecutive hysteresis 2", "deepspeed", "64K 64K 64K 64K", 0, true},
    {"forced_tolerant", "fairseq, tolerance 0.3", "fairseq", "64K 64K 32K 16K", 0, false, 0.3}};

LossScaleOptions options_of(const RunContext& context, const Golden& row, std::int64_t window) {
    LossScaleOptions options = under_control(context, loss_scale_dialect(row.dialect));
    options.initial = 0x1p16;
    options.window = window;
    if (row.hysteresis > 0) options.hysteresis = row.hysteresis;
    if (row.consecutive) options.consecutive_hysteresis = true;
    if (row.tolerance > 0) options.tolerance = row.tolerance;
    return options;
}

void claim_golden_traces(const RunContext& context, Result& result) {
    const std::vector<double> quarter(19, 0.25);
    for (const Golden& row : growth) {
        result.arithmetic(row.id, row.who,
                          fmt::format("{}, constant gradient 1/4 in fp16, growth interval 4: the scale takes the "
                                      "values listed (* = step skipped).",
                                      row.who),
                          equal(std::string(row.expected), text_of(replay("", options_of(context, row, 4), quarter))));
    }
    for (const Golden& row : overflows_forced) {
        result.arithmetic(
            row.id, row.who,
            fmt::format("{}, overflows at steps 3, 6, 9 and 12, counted from 0: the scale after each.", row.who),
            equal(std::string(row.expected), forced(options_of(context, row, 100))));
    }
}

void claim_skips(const RunContext& context, Result& result) {
    const std::vector<double> quarter(30000, 0.25);
    const Replay steady = replay("", under_control(context, loss_scale_dialect("pytorch")), quarter);
    std::vector<std::int64_t> at;
    for (std::size_t i = 0; i < steady.skipped.size(); ++i) {
        if (steady.skipped[i]) at.push_back(static_cast<std::int64_t>(i));
    }
    const std::int64_t distance = at.size() < 2 ? 0 : at.back() - at[at.size() - 2];
    result.arithmetic("skips_2000",
                      cite(sources::volta_talk, "N = 2,000: skipping at most 0.05% of updates in steady state"),
                      "In steady state one step of 2001 is skipped, 0.04998%.",
                      equal(2001, distance, "steps from skip to skip") &&
                          at_most(0.0005, 1 / static_cast<double>(distance), {"skipped", "% of the steps", 100, 5}));
}

/// What users meet when the loss itself is infinite: every step overflows.
void claim_endless_overflow(const RunContext& context, Result& result) {
    const std::string question = "Users' reports: why did the loss scale fall to 1e-303?";
    const auto after = [&](std::string_view dialect, int steps) {
        LossScale scale(under_control(context, loss_scale_dialect(dialect)));
        for (int i = 0; i < steps; ++i) scale.update(true);
        return scale.value();
    };
    const auto scale_text = [](double scale) { return fmt::format("{:.3g}", scale); };
    result.arithmetic("endless_apex", question,
                      "If every step overflows, apex's scaler, which has no floor, halves a double for ever: after "
                      "1023 steps from 2^16 it is 2^-1007.",
                      equal(scale_text(0x1p-1007), scale_text(after("apex", 1023))));
    result.arithmetic("endless_pytorch", question,
                      "PyTorch's scale is an fp32 number: it reaches 0, and never comes back.",
                      equal("0", scale_text(after("pytorch", 200))));
    result.arithmetic("endless_megatron", question, "Megatron's floor of 1 stops the scale's fall, not the overflows.",
                      equal("1", scale_text(after("megatron", 200))));
    std::string message = "no error";
    try {
        after("fairseq", 200);
    } catch (const std::runtime_error& error) {
        message = error.what();
    }
    result.arithmetic("endless_fairseq", question, "If every step overflows, fairseq ends the training and says why.",
                      is(message.find("infinite") != std::string::npos, "an error that names the cause", message));
}

// ---- The recorded trace ----

Training reversal(const RunContext& context) {
    return {.arithmetic = fp32_arithmetic(),
            .task = reversal_task({}),
            .optimizer = {.kind = OptimizerKind::adam, .learning_rate = 0x1p-7},
            .steps = context.settings.integer("steps")};
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
    std::vector<double> largest{};  // of the first seed
    Comparison runs{};              // without and with skips
    double skipped_share = 0;       // of the updates of the latter
};

Recorded record(const RunContext& context, Result& result) {
    std::vector<Training> arms = {reversal(context), with_skips(context, reversal(context))};
    arms.front().task = watching_largest_gradients(arms.front().task);
    Recorded found{.runs = compare(context, result, arms, context.settings.integer("seeds"))};
    found.largest = found.runs.runs[0].front().kept<std::vector<double>>();
    std::vector<double> shares;
    for (const Learned& run : found.runs.runs[1]) {
        shares.push_back(static_cast<double>(run.skips()) / static_cast<double>(run.skipped.size()));
    }
    found.skipped_share = mean_of(shares);
    return found;
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
    replays.push_back(replay("constant 65536", constant_loss_scale(0x1p16), largest));
    return replays;
}

void claim_arena(const Recorded& recorded, const std::vector<Replay>& replays, std::int64_t divisor, Result& result) {
    const std::span<const Replay> dialects(replays.data(), replays.size() - 2);
    const Replay& hindsight = replays[replays.size() - 2];
    double worst = 0;
    for (const Replay& r : dialects) worst = larger(worst, r.skipped_share());
    result.measured("all_settle",
                    cite(sources::volta_talk, "Automatic loss scaling frees users from choosing a factor"),
                    fmt::format("Each of {} dialects, from its own first scale, finds the range: with {} windows "
                                "it skips at most 15% of the steps.",
                                dialects.size(), divisor > 1 ? "shortened" : "its own"),
                    at_most(0.15, worst, {"largest share of steps skipped", "%", 100, 1}));
    const Replay& pytorch = *std::ranges::find(dialects, "pytorch", &Replay::name);
    result.measured("moving_is_closer", cite(sources::volta_talk, "Automatic loss scaling: start with a large factor"),
                    "PyTorch's moving scale stays closer to the largest that fits than the best constant scale, chosen "
                    "in hindsight, in powers of two.",
                    below(unused_binades(hindsight, recorded.largest), unused_binades(pytorch, recorded.largest),
                          {"unused range", "powers of two", 1, 2}));
    const Margin margin{0.01, "one word of a hundred", Margin::Side::not_below};
    const Quantity words{"words right", "%", 100, 1};
    result.measured(
        "random_skips", cite(sources::volta_talk, "randomly skipping 0.1% of updates didn't affect result"),
        "Skipping 1% of the updates at random, ten times as many as the slide, does not harm a net that reverses "
        "sequences.",
        as_good(recorded.runs.scores(1), recorded.runs.scores(0), margin, words) &&
            between(0.005, 0.02, recorded.skipped_share, {"skipped", "%", 100, 2}).at("of the updates skipped"));
}

void figure_scales(const RunContext& context, const Recorded& recorded, const std::vector<Replay>& replays,
                   Result& result) {
    Figure figure{
        "scales", "Seven scalers on one trace of gradients",
        fmt::format(
            "A net that reverses sequences; windows are divided by {}. Grey: the largest power of two that fits.",
            context.settings.integer("window_divisor")),
        "The largest scales of the second half:", ""};
    figure.series.push_back(curve("ceiling", std::size_t{0}, recorded.largest.size() - 1,
                                  [&](std::size_t i) { return best_scale(recorded.largest[i]); }));
    for (const Replay& r : replays) {
        figure.series.push_back({r.name, formats::fp64, points_of(r.scales)});
        const auto half = r.scales.begin() + static_cast<std::ptrdiff_t>(r.scales.size() / 2);
        figure.meaning +=
            fmt::format(" {} {},", r.name, power_of_two_text(std::ilogb(*std::max_element(half, r.scales.end()))));
    }
    const auto half = recorded.largest.begin() + static_cast<std::ptrdiff_t>(recorded.largest.size() / 2);
    figure.meaning +=
        fmt::format(" where {} fits at least and {} at most.",
                    power_of_two_text(std::ilogb(best_scale(*std::max_element(half, recorded.largest.end())))),
                    power_of_two_text(std::ilogb(best_scale(*std::min_element(half, recorded.largest.end())))));
    figure.axes = {{.label = "step"}, power_axis("loss scale", 2)};
    figure.axes.y.from = 0x1p12;
    figure.looks = {{.colour = pale, .width = 3, .title = "largest that fits"}};
    figure.looks.insert(figure.looks.end(), 7, Look{.mark = Mark::steps, .width = 2});
    figure.looks.insert(figure.looks.end(),
                        {{.colour = black, .width = 3, .dash = 2}, {.colour = black, .width = 3, .dash = 3}});
    figure.key_rows = 4;
    result.figure(std::move(figure));
}

void figure_score(const Recorded& recorded, const std::vector<Replay>& replays, Result& result) {
    Figure figure{"score", "What each scaler pays and what it gets",
                  "Across: share of the steps skipped. Up: powers of two that the scale lies below the largest that "
                  "fits, mean over the other steps.",
                  "Down and left is better; how many skipped steps a power of two is worth depends on how many "
                  "gradients it saves. Skipped, and unused:",
                  ""};
    for (const Replay& r : replays) {
        const Point point{r.skipped_share(), unused_binades(r, recorded.largest)};
        figure.meaning += fmt::format(" {} {:.1f} % and {:.1f},", r.name, 100 * point.x, point.y);
        figure.series.push_back({r.name, formats::fp64, {point}});
    }
    figure.axes = {{.label = "share of the steps skipped", .numbers = Numbers::percent, .from = -0.4},
                   {.label = "powers of two below what fits", .from = 0.0, .room = 0.05}};
    figure.looks = {{.mark = Mark::points, .size = 2.5}};
    figure.key_rows = 4;
    result.figure(std::move(figure));
}

void run(const RunContext& context, Result& result) {
    claim_golden_traces(context, result);
    claim_skips(context, result);
    claim_endless_overflow(context, result);
    const Recorded recorded = record(context, result);
    const std::vector<Replay> replays = replays_of(context, recorded.largest);
    claim_arena(recorded, replays, context.settings.integer("window_divisor"), result);
    figure_scales(context, recorded, replays, result);
    figure_score(recorded, replays, result);
}

}  // namespace

Experiment experiment() {
    return {
        "scaler_arena",
        "Seven published loss scalers on one gradient trace",
        "How do the published loss scalers differ on the same gradients?",
        {Chapter::remedies, 6},
        {integer_setting("steps", "training steps that are recorded", 600, 6000, 4, 1000000).smoke(150),
         integer_setting("seeds", "runs with weights and sequences of their own", 3, 5, 1, 100).smoke(2),
         integer_setting("window_divisor", "the dialects' windows are divided by this", 100, 10, 1, 1000),
         control_setting("constant keeps every scale as it began", {"constant"})},
        run,
        {Control("control=constant",
                 "growth_pytorch growth_apex growth_fairseq growth_deepspeed growth_hysteresis forced_pytorch "
                 "forced_apex forced_fairseq forced_megatron forced_deepspeed forced_tolerant skips_2000 endless_apex "
                 "endless_pytorch endless_megatron endless_fairseq all_settle moving_is_closer random_skips"),
         Control("window_divisor=1000", "all_settle"), Control("window_divisor=1", "moving_is_closer")},
        {},
        fp32_alone};
}

}  // namespace ulp::scaler_arena_experiment
