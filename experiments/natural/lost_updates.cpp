#include "experiments/natural/lost_updates.hpp"

#include <bit>
#include <limits>

#include "experiments/training/figures.hpp"
#include "experiments/training/tasks.hpp"

namespace ulp::natural {
namespace {

int binade_of(float x) { return static_cast<int>((std::bit_cast<std::uint32_t>(x) >> 23) & 0xFF) - 127; }

/// Looks at the weights before and behind each update.
struct MoveWatch {
    WeightMoves moves;
    std::vector<Tensor> before;

    void remember(const Model& model) {
        before.clear();
        for (const Parameter& p : model.parameters()) before.push_back(p.updated());
    }
    void count(const Model& model) {
        std::int64_t weights = 0;
        std::int64_t standing = 0;
        std::array<std::int64_t, weight_formats.size()> lost{};
        const bool predicts = model.recipe().weights == formats::fp32;
        for (std::size_t p = 0; p < before.size(); ++p) {
            const Tensor& now = model.parameters()[p].updated();
            weights += now.size();
            for (Index i = 0; i < now.size(); ++i) {
                const float was = before[p][i];
                standing += now[i] == was ? 1 : 0;
                if (predicts) predict(was, std::fabs(now[i] - was), lost);
            }
        }
        const auto share = [&](std::int64_t count) {
            return static_cast<double>(count) / static_cast<double>(weights);
        };
        moves.standing.push_back(share(standing));
        if (!predicts) return;
        for (std::size_t f = 0; f < lost.size(); ++f) moves.predicted[f].push_back(share(lost[f]));
        moves.updates += weights;
    }
    void predict(float weight, float update, std::array<std::int64_t, weight_formats.size()>& lost) {
        for (std::size_t f = 0; f < lost.size(); ++f) {
            lost[f] += static_cast<double>(update) < half_ulp(weight_formats[f], weight) ? 1 : 0;
        }
        add_size(moves.sizes, weight, update);
    }
};

double mean_of_first(const std::vector<double>& values, std::size_t count) {
    return mean_of(std::span(values).first(std::min(count, values.size())));
}

constexpr std::size_t all_steps = std::numeric_limits<std::size_t>::max();

/// The mean share of weights that stood still in the first steps, by seed.
std::vector<double> standing(const Comparison& runs, std::size_t arm, std::size_t steps = all_steps) {
    std::vector<double> means;
    for (const Learned& run : runs.runs[arm]) means.push_back(mean_of_first(run.kept<WeightMoves>().standing, steps));
    return means;
}
/// The same as fp32's run predicts it.
std::vector<double> predicted(const Comparison& runs, std::size_t format, std::size_t steps = all_steps) {
    std::vector<double> means;
    for (const Learned& run : runs.runs[fp32]) {
        means.push_back(mean_of_first(run.kept<WeightMoves>().predicted[format], steps));
    }
    return means;
}

constexpr std::array nearest_of = {bf16_nearest, fp16_nearest};  // by weight_formats
constexpr std::array<std::string_view, weight_formats.size()> format_names = {"bf16", "fp16"};
const Quantity standing_text{"weights that stand still", "%", 100, 1};

void claim_predicted(Result& result, const LostUpdates& judged) {
    constexpr std::size_t start = 20;  // steps: weights in 16 bits are still near fp32's
    const std::string source = cite(sources::own_prediction, "an fp32 run tells which 16-bit weights stand still");
    for (std::size_t f = 0; f < weight_formats.size(); ++f) {
        const auto claim = [&](const char* id, const char* when, std::size_t steps, const Margin& margin) {
            result.measured(fmt::format("{}_{}", id, format_names[f]), source,
                            fmt::format("{}{} as many {} weights stand still in a step as fp32's run predicts: those "
                                        "whose update is less than half an ulp.",
                                        judged.beginning, when, format_names[f]),
                            as_good(standing(judged.runs, nearest_of[f], steps), predicted(judged.runs, f, steps),
                                    margin, standing_text));
        };
        claim("predicted_start", "in the first 20 steps", start, {0.01, "one weight in a hundred"});
        claim("predicted", "over all steps", all_steps, {0.02, "two weights in a hundred"});
    }
}

}  // namespace

double half_ulp(const FloatFormat& format, float weight) {
    const int exponent = std::max(binade_of(weight), format.emin()) - format.fraction_bits - 1;
    return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}

void add_size(UpdateSizes& sizes, float weight, float update) {
    if (update == 0) return;
    const int ulp = std::max(binade_of(weight), formats::bf16.emin()) - formats::bf16.fraction_bits;
    const int bin = binade_of(update) - ulp - first_bin;
    ++sizes[static_cast<std::size_t>(std::clamp(bin, 0, static_cast<int>(sizes.size()) - 1))];
}

Series series_of(std::string name, const UpdateSizes& sizes, std::int64_t all) {
    Series series{std::move(name)};
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        series.points.push_back({static_cast<double>(first_bin) + static_cast<double>(i),
                                 static_cast<double>(sizes[i]) / static_cast<double>(all)});
    }
    return series;
}

TaskBuilder watching_moves(const TaskBuilder& task) {
    return [task](Model& model, std::uint64_t seed) {
        Task result = task(model, seed);
        const auto watch = std::make_shared<MoveWatch>();
        result.before_update = [watch, before = result.before_update](Optimizer& optimizer) {
            if (before) before(optimizer);
            watch->remember(optimizer.model());
        };
        result.after_step = [watch, after = result.after_step](Trainer& trainer, const StepResult& done) {
            watch->count(trainer.model());
            if (after) after(trainer, done);
        };
        keep(result, std::shared_ptr<WeightMoves>(watch, &watch->moves));
        return result;
    };
}

std::vector<Arithmetic> weight_keepings(const RunContext& context) {
    const auto sixteen_bits = [&](std::string name, const char* recipe_name, bool nearest) {
        Recipe recipe = recipe_by_name(recipe_name);
        if (recipe.low == formats::fp16) recipe.loss_scale = constant_loss_scale(0x1p10);
        if (nearest && has_control(context, "masters")) recipe.master_weights = true;
        const bool coarse = recipe.low == formats::fp16 && has_control(context, "coarse");
        if (coarse) recipe.weights = formats::e5m2;
        if (coarse || has_control(context, "nearest")) {
            recipe.master_weights = false;
            recipe.update_rounding = UpdateRounding::nearest;
        }
        return arithmetic_of(context, std::move(name), std::move(recipe));
    };
    return {fp32_arithmetic(),
            sixteen_bits("bf16 masters", "bf16", false),
            sixteen_bits("bf16 nearest", "bf16_weights", true),
            sixteen_bits("bf16 stochastic", "bf16_sr", false),
            sixteen_bits("bf16 Kahan", "bf16_kahan", false),
            sixteen_bits("fp16 masters", "mixed_fp16", false),
            sixteen_bits("fp16 nearest", "fp16_weights", true)};
}

Setting weight_keeping_control() {
    return control_setting(
        "masters gives fp32 masters to weights that are updated to nearest; nearest rounds all 16-bit weights to "
        "nearest, without masters; coarse does so with fp16 weights and leaves them 2 fraction bits",
        {"masters", "nearest", "coarse"});
}

void claim_lost_updates(Result& result, const LostUpdates& judged) {
    claim_predicted(result, judged);
    const Scores reference = judged.runs.scores(fp32);
    for (std::size_t f = 0; f < weight_formats.size(); ++f) {
        result.measured(fmt::format("{}_nearest", format_names[f]),
                        f == 0 ? cite(sources::bf16_paper, "Nearest rounding of weight updates")
                               : cite(sources::own_prediction, "fp16 weights lose updates as bf16 weights do"),
                        fmt::format("{}{} weights without masters, rounded to nearest, end worse than fp32's.",
                                    judged.beginning, format_names[f]),
                        falls_short(judged.runs.scores(nearest_of[f]), reference, judged.margin, judged.quantity));
    }
    struct Remedy {
        std::string_view id, text;
        WeightKeeping arm;
    };
    const std::string masters = cite(sources::volta_talk, "FP32 Master weights and update");
    const std::string sixteen = cite(sources::bf16_paper, "Stochastic rounding and Kahan summation");
    for (const auto& [id, text, arm] :
         {Remedy{"bf16_masters", "bf16 weights with fp32 masters end as good as fp32's.", bf16_masters},
          {"bf16_stochastic", "bf16 weights rounded stochastically end as good as fp32's.", bf16_stochastic},
          {"bf16_kahan", "bf16 weights with Kahan's compensation end as good as fp32's.", bf16_kahan},
          {"fp16_masters", "fp16 weights with fp32 masters end as good as fp32's.", fp16_masters}}) {
        result.measured(id, arm == bf16_masters || arm == fp16_masters ? masters : sixteen,
                        fmt::format("{}{}", judged.beginning, text),
                        as_good(judged.runs.scores(arm), reference, judged.margin, judged.quantity));
    }
}

Axes update_axes(std::string x, std::string y) { return {binade_axis(-16, 9, std::move(x)), share_axis(std::move(y))}; }

std::vector<Guide> half_ulps(bool of_fp16) {
    std::vector<Guide> guides = {upright(-1, "half an ulp in bf16")};
    guides.front().dash = 1;
    if (of_fp16) guides.push_back({.left = -4.0, .right = -4.0, .text = "half an ulp in fp16", .opposite = true});
    return guides;
}

Figure figure_of_update_sizes(const Comparison& runs, std::string title) {
    UpdateSizes sizes{};
    std::int64_t updates = 0;
    for (const Learned& run : runs.runs[fp32]) {
        const auto& moves = run.kept<WeightMoves>();
        for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] += moves.sizes[i];
        updates += moves.updates;
    }
    return {.name = "updates",
            .title = std::move(title),
            .caption =
                "Updates in fp32, all steps and seeds, in ulps that their weights have in bf16. Left of the lines an "
                "update is less than half an ulp.",
            .meaning = fmt::format("By this histogram of fp32 alone, {} of the updates are lost on bf16 weights, {} on "
                                   "fp16 weights, whose ulps are 8 times finer.",
                                   standing_text.text(mean_of(predicted(runs, 0))),
                                   standing_text.text(mean_of(predicted(runs, 1)))),
            .evidence = "",
            .series = {series_of("updates in fp32", sizes, updates)},
            .axes = update_axes("size of the update in ulps of its weight in bf16", "share of the updates"),
            .looks = {{.mark = Mark::histogram}},
            .guides = half_ulps(),
            .key = Key::none};
}

Figure figure_of_standing_weights(const Comparison& runs, std::size_t window, std::string title) {
    Figure figure{
        .name = "standing",
        .title = std::move(title),
        .caption = fmt::format(
            "Means of {} steps, first seed. Predicted: updates of the run in fp32 below half an ulp of their weights.",
            window),
        .meaning = "Mean shares of all seeds, predicted and measured:",
        .evidence = runs.evidence,
        .axes = {step_axis(), percent_axis("weights that stand still")}};
    for (int f = 1; f <= static_cast<int>(weight_formats.size()); ++f) {
        figure.looks.push_back({.colour = f, .dash = 2});
        figure.looks.push_back({.colour = f, .width = 3});
    }
    for (std::size_t f = 0; f < weight_formats.size(); ++f) {
        const auto& reference = runs.runs[fp32].front().kept<WeightMoves>();
        const auto& arm = runs.runs[nearest_of[f]].front().kept<WeightMoves>();
        figure.series.push_back({fmt::format("{} predicted", format_names[f]), formats::fp64,
                                 window_means(reference.predicted[f], window)});
        figure.series.push_back(
            {fmt::format("{} measured", format_names[f]), formats::fp64, window_means(arm.standing, window)});
        figure.meaning += fmt::format("{} {} {} and {}", f == 0 ? "" : ",", format_names[f],
                                      standing_text.text(mean_of(predicted(runs, f))),
                                      standing_text.text(mean_of(standing(runs, nearest_of[f]))));
    }
    const auto final_loss = [&](std::size_t arm) {
        std::vector<double> losses;
        for (const Learned& run : runs.runs[arm]) losses.push_back(last_tenth(run.losses));
        return mean_of(losses);
    };
    figure.meaning += fmt::format(
        ". The runs end at training losses of {:.3g} in fp32, {:.3g} in bf16 and {:.3g} in fp16: where these differ, "
        "so do their later updates.",
        final_loss(fp32), final_loss(bf16_nearest), final_loss(fp16_nearest));
    return figure;
}

}  // namespace ulp::natural
