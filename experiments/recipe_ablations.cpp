// What each part of today's FP8 and FP4 recipes does to a small net: one part is taken out at a time.
#include "engine/data/generated.hpp"
#include "experiments/training/figures.hpp"
#include "experiments/training/tasks.hpp"

namespace ulp::recipe_ablations_experiment {
namespace {

// ---- The recipes, each next to the one that it is compared with ----

/// f on every operand of the recipe's products.
template <class F>
Recipe with_operands(Recipe recipe, std::string name, const F& f) {
    recipe.name = std::move(name);
    for (ProductRule* product : {&recipe.products.fprop, &recipe.products.dgrad, &recipe.products.wgrad}) {
        for (OperandRule* operand : {&product->a, &product->b}) {
            if (operand->how) f(*operand->how);
        }
    }
    return recipe;
}

Recipe power_of_two_scales() {
    return with_operands(recipe_by_name("te_current"), "te_current, powers of two", [](Quantization& how) {
        how.scale.format = formats::power_of_two;
        how.scale.rounding = Rounding::down;
    });
}
Recipe without_hadamard() {
    return with_operands(recipe_by_name("nvfp4"), "nvfp4 without Hadamard",
                         [](Quantization& how) { how.transform = {}; });
}
Recipe nearest_gradients() {
    return with_operands(recipe_by_name("nvfp4"), "nvfp4 to nearest",
                         [](Quantization& how) { how.elements.rounding = Context{.saturate = true}; });
}
Recipe lines_of_weights() {
    return with_operands(recipe_by_name("nvfp4"), "nvfp4, weights 1 x 16", [](Quantization& how) {
        how.block = {1, 16};
    });
}
Recipe bf16_layers(std::string name, std::vector<Exclusion> excluded) {
    Recipe recipe = recipe_by_name("nvfp4");
    recipe.name = std::move(name);
    recipe.excluded = std::move(excluded);
    return recipe;
}
Recipe promoted() {
    Recipe recipe = recipe_by_name("te_current");
    recipe.name = "te_current, promoted";
    for (ProductRule* product : {&recipe.products.fprop, &recipe.products.dgrad, &recipe.products.wgrad}) {
        product->promote_every = 128;
    }
    return recipe;
}

/// A published comparison: the recipe with a part, and without it.
struct Ablation {
    enum class Published : std::uint8_t { lower, no_worse, alike };  // the loss with the part

    std::string id;
    std::string label;  // on the figure
    std::string with, without;
    std::string source;
    std::string statement;  // of the losses
    Published published = Published::lower;
    bool first_step = true;  // the gradients of the first step tell them apart
};

std::vector<Recipe> recipes_compared() {
    return {recipe_by_name("fp32"),
            recipe_by_name("te_current"),
            recipe_by_name("te_delayed"),
            power_of_two_scales(),
            recipe_by_name("nvfp4"),
            without_hadamard(),
            nearest_gradients(),
            lines_of_weights(),
            bf16_layers("nvfp4 in all layers", {}),
            bf16_layers("nvfp4, first layer bf16", {{.first = 1}}),
            promoted()};
}

std::vector<Ablation> ablations() {
    const std::string nv = "NVIDIA, Pretraining large language models with NVFP4 (2025), arXiv 2509.25149, ";
    return {{"current", "current", "te_current", "te_delayed", cite(sources::deepseek_v3, "3.3.2 online quantization"),
             "FP8 scales from the numbers themselves are no worse than scales from earlier steps.",
             Ablation::Published::no_worse, false},
            {"power_of_two", "exact", "te_current", "te_current, powers of two",
             "torchao, float8 training, rowwise recipe: scales are powers of two",
             "FP8 scales that are powers of two train as well as exact ones.", Ablation::Published::alike},
            {"hadamard", "Hadamard", "nvfp4", "nvfp4 without Hadamard", nv + "appendix E.4",
             "A Hadamard transform in the weight gradient's product lowers the loss of an NVFP4 training."},
            {"stochastic", "stochastic", "nvfp4", "nvfp4 to nearest", nv + "appendix E.3",
             "Stochastic rounding of the gradients lowers the loss of an NVFP4 training."},
            {"square_blocks", "16x16", "nvfp4", "nvfp4, weights 1 x 16", nv + "appendix E.5",
             "Weights in blocks of 16 x 16, alike in forward and backward products, lower the loss of an NVFP4 "
             "training although they are coarser than 1 x 16."},
            {"bf16_last", "bf16 last", "nvfp4", "nvfp4 in all layers", nv + "figure 4",
             "The last layer in bf16 lowers the loss of an NVFP4 training."},
            {"last_not_first", "last layer", "nvfp4", "nvfp4, first layer bf16", nv + "appendix E.2",
             "The last layer in bf16 is worth more than the first one in bf16."},
            {"promotion", "promotion", "te_current, promoted", "te_current",
             cite(sources::deepseek_v3, "3.3.2 increasing accumulation precision"),
             "Partial sums promoted to fp32 every 128 products lower the loss of an FP8 training."}};
}

// ---- The training ----

constexpr std::size_t loss = 0;            // mean of the last tenth of the steps
constexpr std::size_t gradient_error = 1;  // of the first step, relative to fp32's
const Quantity loss_text{"training loss", "", 1, 4};
const Quantity error_text{"gradient error", "%", 100, 2};

using Gradient = std::vector<float>;  // of all parameters after the first step's backward pass

TaskBuilder digits_task(const Settings& settings, const DataSplit& digits) {
    const auto width = settings.integer("width");
    const TaskBuilder task = images_task(dense_net({width, width}), digits, settings.integer("batch"));
    return watching<Gradient>(task, [](Task& watched, const auto& gradient) {
        watched.before_update = [gradient](Optimizer& optimizer) {
            if (!gradient->empty()) return;
            for (const Parameter& p : optimizer.model().parameters()) {
                gradient->insert(gradient->end(), p.gradient.values().begin(), p.gradient.values().end());
            }
        };
        watched.measure = [](Evaluation&, Learned& learned) { learned.scores = {last_tenth(learned.losses), 0}; };
    });
}

double relative_error(const Gradient& g, const Gradient& reference) {
    double squares = 0, size = 0;
    for (std::size_t i = 0; i < g.size(); ++i) {
        const double r = static_cast<double>(reference[i]);
        squares += (static_cast<double>(g[i]) - r) * (static_cast<double>(g[i]) - r);
        size += r * r;
    }
    return std::sqrt(squares / size);
}

/// The first arm is fp32.
Comparison train_all(const RunContext& context, const DataSplit& digits, Result& result) {
    const Settings& settings = context.settings;
    std::vector<Training> arms;
    for (const Recipe& recipe : recipes_compared()) {
        const bool fp4 = recipe.name.starts_with("nvfp4");
        const std::string unit = !context.backend.empty() ? context.backend : fp4 ? "soft:b200" : "soft:h100";
        const bool still = recipe.name == promoted().name ? has_control(context, "still_promoted")
                                                          : has_control(context, "still") &&
                                                                (recipe.name == "nvfp4" || recipe.name == "te_current");
        arms.push_back(
            {.arithmetic = {recipe.name, recipe, recipe.name == "fp32" ? "soft:ieee" : unit},
             .task = digits_task(settings, digits),
             .optimizer = {.kind = OptimizerKind::adam, .learning_rate = still ? 0 : settings.real("learning_rate")},
             .steps = settings.integer("steps"),
             .schedule = linear_decay_factor});
    }
    Comparison runs = compare(context, result, arms, settings.integer("seeds"));
    for (auto& arm : runs.runs) {
        for (std::size_t seed = 0; seed < arm.size(); ++seed) {
            arm[seed].scores[gradient_error] =
                relative_error(arm[seed].kept<Gradient>(), runs.runs[0][seed].kept<Gradient>());
        }
    }
    return runs;
}

// ---- Claims and figures ----

std::size_t arm_of(const Comparison& runs, const std::string& name) {
    const auto found = std::ranges::find(runs.arithmetics, name, &Arithmetic::name);
    return static_cast<std::size_t>(found - runs.arithmetics.begin());
}

void claim_ablations(const Comparison& runs, Result& result) {
    using enum Ablation::Published;
    const Margin sign{0, "the published sign", Margin::Side::not_above};
    const Margin same{0.01, "a hundredth of a nat", Margin::Side::either};
    for (const Ablation& a : ablations()) {
        const auto scores = [&](const std::string& name, std::size_t score) {
            return runs.scores(arm_of(runs, name), score);
        };
        const std::vector<double> with = scores(a.with, loss);
        const std::vector<double> without = scores(a.without, loss);
        // Where the part lowers the loss, the recipe without it ends above that with it: no difference refutes it.
        const bool lowers = a.published == lower;
        result.measured(a.id, a.source,
                        fmt::format("{} Here: {}; the reference: {}.", a.statement, lowers ? a.without : a.with,
                                    lowers ? a.with : a.without),
                        lowers ? falls_short(without, with, sign, loss_text)
                               : as_good(with, without, a.published == alike ? same : sign, loss_text));
    }
}

Figure figure_of(const Comparison& runs, std::size_t score, double factor, const std::string& unit, FigureText text) {
    std::vector<ScoredCase> cases;
    for (const Ablation& a : ablations()) {
        if (score == gradient_error && !a.first_step) continue;
        cases.push_back(
            {a.label, {runs.scores(arm_of(runs, a.with), score), runs.scores(arm_of(runs, a.without), score)}});
    }
    return figure_of_cases(cases, {"the recipe", "without the part"}, factor, unit, std::move(text));
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const DataSplit digits = generated_digit_split(settings.integer("train_images"), 16, 16, context.seed);
    result.input({"generated digits for training", digits.train.digest()});
    const Comparison runs = train_all(context, digits, result);
    claim_ablations(runs, result);
    double all_hold = 1;
    for (std::size_t i = 0; i < ablations().size(); ++i) all_hold *= 0.95;
    result.figure(
        figure_of(runs, loss, 1, "training loss",
                  {"loss", "Recipes with and without one of their parts: training loss",
                   fmt::format("Above 0 the part helps. Only this small net was tried; larger models may differ. Of {} "
                               "independent intervals of 95 % one or more misses by chance in {:.0f} % of such sets.",
                               ablations().size(), 100 * (1 - all_hold)),
                   runs.evidence}));
    result.figure(
        figure_of(runs, gradient_error, 100, "gradient error, %",
                  {"gradient", "Recipes with and without one of their parts: error of the first gradient",
                   "Error of all gradients of the first step, relative to fp32 with the same weights and data. A part "
                   "may raise it and still help: stochastic rounding trades error for the lack of bias.",
                   runs.evidence}));
}

}  // namespace

Experiment experiment() {
    return {"recipe_ablations",
            "Parts of FP8 and FP4 recipes, taken out one at a time",
            "Do the parts of today's low-precision recipes help a small net as they are published to help large ones?",
            {Chapter::remedies, 10},
            {integer_setting("steps", "training steps", 80, 300, 2, 1000000).smoke(4),
             integer_setting("batch", "images per step, a multiple of 16", 32, 64, 16, 4096).smoke(16),
             integer_setting("width", "of the two hidden layers, a multiple of 16", 64, 128, 16, 4096).smoke(32),
             integer_setting("train_images", "generated digits to train on", 1000, 8000, 16, 1000000).smoke(64),
             integer_setting("seeds", "runs of each recipe", 10, 32, 1, 1000).smoke(3),
             real_setting("learning_rate", "of Adam, falling linearly to 0", 3e-3, 1e-3, 0, 10),
             control_setting("still keeps te_current and nvfp4 from learning, still_promoted te_current with promotion",
                             {"still", "still_promoted"})},
            run,
            {Control("control=still", "current power_of_two hadamard stochastic square_blocks bf16_last last_not_first",
                     RunSize::smoke, "steps=20 learning_rate=0.01"),
             Control("control=still_promoted", "promotion", RunSize::smoke, "steps=20 learning_rate=0.01"),
             Control("learning_rate=0", "hadamard stochastic", RunSize::smoke, "steps=20 learning_rate=0.01")}};
}

}  // namespace ulp::recipe_ablations_experiment
