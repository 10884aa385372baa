// The rules of what stays in fp32, each broken alone; and the shortest list of fp32 operations that a net still learns
// with, found by delta debugging.
#include "engine/tensor/random.hpp"
#include "engine/training/images.hpp"
#include "experiments/shared/delta_debugging.hpp"
#include "experiments/shared/matrix_units.hpp"
#include "experiments/training/figures.hpp"
#include "experiments/training/tasks.hpp"
#include "softfloat/float.hpp"
#include "softfloat/functions/cr.hpp"

namespace ulp::cast_policy_experiment {
namespace {

using Names = std::vector<std::string>;

/// The operations of the net that could run in fp32.
const Names operations = {"linear", "matmul", "layer_norm", "softmax", "gelu", "add", "cross_entropy"};

/// A scale that never moves; a step whose gradients overflow is skipped. (Over thousands of steps some overflow at a
/// scale of 2^16 whatever is in fp32, and one infinity in a master ends a run.)
LossScaleOptions fixed_scale(double scale) {
    return {.dialect = "fixed", .dynamic = true, .initial = scale, .minimum = scale, .maximum = scale};
}

/// fp16 weights, tensors and steps, fp32 masters and accumulators, the operations of the list in fp32; a fixed scale.
Recipe policy(const Names& in_fp32, double loss_scale) {
    Recipe recipe{.name = "policy",
                  .low = formats::fp16,
                  .weights = formats::fp16,
                  .inputs = formats::fp16,
                  .compute = formats::fp16,
                  .operand = formats::fp16,
                  .master_weights = true,
                  .loss_scale = fixed_scale(loss_scale)};
    for (const std::string& name : operations) {
        const bool listed = std::find(in_fp32.begin(), in_fp32.end(), name) != in_fp32.end();
        recipe.cast_rules.push_back({name, listed ? Cast::single : Cast::low});
    }
    return recipe;
}

/// What the talk recommends: all but the products, whose accumulators are fp32 anyway.
const Names recommended = without(operations, {"linear", "matmul"});

/// What PyTorch's autocast always runs in fp32 (its documentation, "CUDA Ops that can autocast to float32").
const Names autocast_in_fp32 = {"layer_norm", "softmax", "cross_entropy"};

/// With products of fp32, which a list may ask for and no matrix unit has.
std::string backend_of(const RunContext& context) { return "with_ieee(" + mixed_backend(context) + ")"; }

struct Bench {
    const RunContext* context;
    TaskBuilder task;
    double scale;
    std::int64_t steps;
    double rate = 0x1p-7;

    /// A number a seed.
    [[nodiscard]] std::vector<double> accuracies(const Recipe& recipe) const {
        const Training training{.arithmetic = {recipe.name, under_wide_control(*context, recipe), backend_of(*context)},
                                .task = task,
                                .optimizer = {.kind = OptimizerKind::adam, .learning_rate = rate},
                                .steps = steps};
        RunContext quiet = *context;  // how many training runs there will be is not known
        quiet.progress = [](double) {};
        Result aside("cast_policy");  // run() tells once what stands behind the arithmetic
        return compare(quiet, aside, {training}, quiet.settings.integer("seeds")).scores(0);
    }
};

// ---- Each rule broken alone ----

struct Rule {
    std::string id;
    std::string label;  // on the figure
    std::string source;
    std::string statement;
    bool breaks;                           // whether the net fails without it
    std::vector<double> kept{}, broken{};  // accuracies, a number a seed
};

std::vector<Rule> break_rules(const Bench& bench, const Bench& signs, const std::vector<double>& reference) {
    const std::string talk = "Softmax, cross-entropy: FP32 math, FP32 output";
    std::vector<Rule> rules;
    const std::vector<double> kept = bench.accuracies(policy(recommended, bench.scale));
    const auto coarse = [&](Recipe recipe) {
        if (has_control(*bench.context, "coarse")) recipe.low = formats::e5m2;
        return recipe;
    };
    const auto rule = [&](Rule r, const Recipe& broken) {
        r.kept = kept;
        r.broken = bench.accuracies(broken);
        rules.push_back(std::move(r));
    };
    rule({"norm", "layer norm", cite(sources::volta_talk, "Normalizations: intermediate results in FP32"),
          "Layer norm in fp16 on pixels of 0 to 255: its sum of squares overflows and the net learns nothing.", true},
         policy(without(recommended, {"layer_norm"}), bench.scale));
    rule({"loss", "loss", cite(sources::round_table, "Prevent overflow: loss should calculate in fp32"),
          "The loss in fp16: a scale of 2^16 is infinite in it, every gradient overflows and every step is skipped.",
          true},
         policy(without(recommended, {"cross_entropy"}), bench.scale));
    rule({"softmax", "softmax", cite(sources::volta_talk, talk),
          "Softmax in fp16 over 7 tokens does no harm here: the rule is about long rows.", false},
         coarse(policy(without(recommended, {"softmax"}), bench.scale)));
    rule({"pointwise", "pointwise", cite(sources::volta_talk, "FP16 is safe for ReLU, Sigmoid, Tanh, Scale, Add"),
          "Pointwise operations whose results lie in a narrow range (gelu, add) may run in fp16 where every other "
          "rule is kept. (With fewer operations in fp32 the additions of raw pixels may have to stay in it: "
          "cast_policy.smallest_list.)",
          false},
         coarse(policy(without(recommended, {"gelu", "add"}), bench.scale)));
    Recipe narrow = policy(recommended, has_control(*bench.context, "large_sums") ? 0x1p24 : 0x1p10);
    narrow.accumulator = formats::fp16;
    rule({"accumulation", "accumulators",
          cite(sources::volta_talk, "Convolution, matrix multiply: use FP32 accumulation in training"),
          "Products of at most 112 terms accumulated in fp16 do no harm here: the rule is about long sums.", false},
         narrow);
    // The weight update on the net whose weights are large beside their updates.
    Rule update{"update", "weight update", cite(sources::volta_talk, "Weight update: compute and keep weights in FP32"),
                "Updates onto fp16 weights of size 1 at a rate of 2^-12: nearly all are lost.", true};
    Recipe onto_fp16 = policy(recommended, 0x1p10);
    update.kept = signs.accuracies(onto_fp16);
    onto_fp16.master_weights = false;
    update.broken = signs.accuracies(onto_fp16);
    rules.push_back(std::move(update));
    rules.insert(rules.begin(), {"all_kept", "none", cite(sources::volta_talk, "Summary so far"),
                                 "With all rules kept the net learns as in fp32.", false, reference, kept});
    return rules;
}

/// What a rule that this net does not need may cost; one that it needs costs more than 20 points.
const Margin harmless{0.03, "15 of the 500 test images", Margin::Side::not_below};

void claim_rules(const std::vector<Rule>& rules, Result& result) {
    for (const Rule& rule : rules) {
        const double ruined = spread_of(rule.kept).least - 0.2;
        result.measured(rule.id, rule.source, rule.statement,
                        rule.breaks ? below(ruined, spread_of(rule.broken).largest, accuracy_text)
                                    : as_good(rule.broken, rule.kept, harmless, accuracy_text));
    }
}

// ---- The rules that a small net does not need, on what they are about ----

/// The sum of a softmax's row in the middle of `count` equal scores, computed by the trainer's operation.
float sum_of_equal_softmax(const FloatFormat& format, Index count) {
    Recipe recipe{.name = "softmax", .low = format, .inputs = format, .compute = format};
    const Engine engine(recipe, make_backend("soft:ieee"));
    Tape tape(engine);
    Tensor scores({1, count});
    scores.set_format(format);
    double sum = 0;
    const Var probabilities = softmax(tape.constant(std::move(scores)));
    for (const float p : probabilities.value().values()) sum += static_cast<double>(p);
    return static_cast<float>(sum);
}

/// The Euclidean norm of numbers of a gradient's size, squares and sum in the format.
template <class Number>
Number norm_in(const std::vector<float>& values) {
    Number sum{};
    for (const float v : values) sum += Number(v) * Number(v);
    return sqrt(sum);
}

/// The first positive fp16 number from there on whose image in Half is infinite.
template <class Half, class Function>
float first_infinite(float from, const Function& f) {
    for (fp16 x(from); isfinite(x); x = fp16::from_bits(static_cast<std::uint16_t>(x.bits() + 1))) {
        if (!isfinite(Half(f(static_cast<double>(x))))) return static_cast<float>(x);
    }
    return std::numeric_limits<float>::infinity();
}

template <class Half>
void claim_ranges(std::uint64_t seed, Result& result) {
    const std::string slide =
        cite(sources::volta_talk, "FP32 is recommended for f where |f(x)| >> |x|: exp, square, log");
    result.arithmetic("square", slide, "The square overflows fp16 from 256 on.",
                      equal(256, Half(first_infinite<Half>(1, [](double x) { return x * x; }))));
    result.arithmetic("square_underflow", slide, "And 2^-13 squared is 0: gradients are that small.",
                      equal(0, Half(0x1p-13) * Half(0x1p-13)));
    result.arithmetic("reciprocal", slide, "1 / x overflows fp16 at 2^-16, a number it holds.",
                      equal(std::numeric_limits<double>::infinity(), Half(1) / Half(0x1p-16)));
    const std::string rows = cite(sources::volta_talk, "Reductions: large sums of values: L1 norm, L2 norm, softmax");
    result.arithmetic("softmax_long_fp16", rows,
                      "Softmax of 4096 equal scores with steps in fp16: the sum of exponentials stops at 2048, the "
                      "probabilities add up to 2.",
                      equal(2, ulp::fp32(sum_of_equal_softmax(Half::format, 4096))));
    result.arithmetic("softmax_long_fp32", rows, "In fp32 they add up to 1.",
                      equal(1, ulp::fp32(sum_of_equal_softmax(formats::fp32, 4096))));
    Random random(seed, "gradient");
    std::vector<float> gradient(10000);
    for (float& g : gradient) g = static_cast<float>(0x1p-14 * random.normal());
    const double in_fp32 = static_cast<double>(norm_in<ulp::fp32>(gradient));
    const double in_fp16 = static_cast<double>(norm_in<Half>(gradient));
    result.measured(
        "gradient_norm", rows,
        "The L2 norm of 10,000 gradients around 2^-14, as clipping needs it, is too small by a fifth and more in fp16.",
        below(0.8 * in_fp32, in_fp16, {"norm", "", 1, 5}));
}

void figure_ranges(Result& result) {
    Figure figure{
        "ranges", "Pointwise functions in fp16: what is safe and what is not",
        "f(x) of positive fp16 numbers, stored in fp16 (1 in 64 shown). Dashed: fp16's largest number. Dotted: "
        "its smallest normal one.",
        "", ""};
    std::vector<std::string> over, under;  // the functions with results beyond either end
    const auto add = [&](const std::string& name, const auto& f) {
        Series series{name, formats::fp16, {}};
        int inputs = 0, infinite = 0, small = 0;
        for (std::uint16_t bits = 0x0400; bits < 0x7C00; bits = static_cast<std::uint16_t>(bits + 64)) {
            const fp16 x = fp16::from_bits(bits);
            const fp16 y(f(static_cast<double>(x)));
            if (isfinite(y)) series.points.push_back({static_cast<double>(x), static_cast<double>(y)});
            ++inputs;
            infinite += isfinite(y) ? 0 : 1;
            small += static_cast<double>(y) < 0x1p-14 ? 1 : 0;
        }
        const auto told = [&](int count) { return fmt::format("{} {:.0f} %", name, 100.0 * count / inputs); };
        if (infinite > 0) over.push_back(told(infinite));
        if (small > 0) under.push_back(told(small));
        figure.series.push_back(std::move(series));
    };
    add("relu", [](double x) { return x; });
    add("sigmoid", [](double x) { return static_cast<double>(cr::sigmoid(static_cast<float>(x))); });
    add("tanh", [](double x) { return static_cast<double>(cr::tanh(static_cast<float>(x))); });
    add("exp", [](double x) { return static_cast<double>(cr::exp(static_cast<float>(x))); });
    add("exp(-x)", [](double x) { return static_cast<double>(cr::exp(static_cast<float>(-x))); });
    add("square", [](double x) { return x * x; });
    add("1/x", [](double x) { return 1 / x; });
    figure.meaning = fmt::format("Of these normal inputs become infinite: {}; subnormal or 0: {}.",
                                 fmt::join(over, ", "), fmt::join(under, ", "));
    figure.axes = {power_axis("x", 2), power_axis("f(x) in fp16", 2)};
    figure.axes.x.from = 0x1p-14;
    figure.axes.x.to = 0x1p16;
    figure.axes.y.from = 0x1p-25;
    figure.axes.y.to = 0x1p19;
    figure.axes.x.step = figure.axes.y.step = 16;
    figure.looks = {{}, {}, {}, {.width = 4}};
    figure.guides = {level(65504, "largest"), {.bottom = 0x1p-14, .top = 0x1p-14, .dash = 3}};
    result.figure(std::move(figure));
}

// ---- The shortest list ----

struct Attempt {
    Names list;
    bool learns;
    double accuracy;
};

std::string text_of(const Names& names) {
    return names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, " + "));
}

struct Search {
    std::vector<Attempt> attempts;
    Names smallest;
};

Search search(const Bench& bench, double least) {
    Search found;
    const auto passes = [&](const Names& list) {
        for (const Attempt& a : found.attempts) {
            if (a.list == list) return a.learns;
        }
        const Spread spread = spread_of(bench.accuracies(policy(list, bench.scale)));
        found.attempts.push_back({list, spread.least >= least, spread.middle});
        bench.context->progress(0.5 + 0.45 * (1 - 1 / (1 + 0.2 * static_cast<double>(found.attempts.size()))));
        return found.attempts.back().learns;
    };
    if (passes(operations)) found.smallest = smallest_passing(operations, passes);
    return found;
}

void claim_search(const Search& found, const Bench& calm, Result& result) {
    const std::string source = cite(sources::amp_slides, "Assign each operation its optimal precision");
    const auto by_autocast = [](const std::string& name) {
        return std::ranges::find(autocast_in_fp32, name) != autocast_in_fp32.end();
    };
    const Names& smallest = found.smallest;
    result.measured("smallest_list", cite(sources::own_prediction, "what must be in fp32 is a part of autocast's list"),
                    "The shortest fp32 list with which a Transformer block on raw pixels at a scale of 2^16 learns; "
                    "without any one of its operations it does not. It is a part of what autocast always runs in fp32.",
                    is(!smallest.empty(), "some operation", text_of(smallest)) &&
                        always(std::ranges::all_of(smallest, by_autocast), "of " + text_of(autocast_in_fp32),
                               fmt::format("{} of them", std::ranges::count_if(smallest, by_autocast))));
    result.measured("control_calm_net", source,
                    "The same block on pixels of 0 to 1 at a scale of 2^10 learns with no operation in fp32: what must "
                    "be in fp32 depends on the numbers.",
                    as_good(calm.accuracies(policy({}, calm.scale)), calm.accuracies(recipe_by_name("fp32")), harmless,
                            accuracy_text));
}

void figure_rules(const std::vector<Rule>& rules, std::int64_t seeds, std::string evidence, Result& result) {
    Figure figure{"rules", "Each rule of mixed precision broken alone",
                  fmt::format("Digits in fp16; median of {}, lines: minimum to maximum. A Transformer block on pixels "
                              "of 0 to 255; the weight update on weights of size 1.",
                              counted(seeds, "seed")),
                  "Medians with the rule and without it:", std::move(evidence)};
    for (const Rule& rule : rules) {
        Bars bars(rule.label);
        bars.add(0, spread_of(rule.kept));
        bars.add(1, spread_of(rule.broken));
        bars.move_into(figure);
        figure.meaning += fmt::format(" {} {} and {},", rule.label, accuracy_text.text(spread_of(rule.kept).middle),
                                      accuracy_text.text(spread_of(rule.broken).middle));
    }
    figure.plot = "pairs";
    figure.axes = {{.label = "the rule that is broken"}, percent_axis("accuracy")};
    figure.variables = {{"first_bars", "kept"}, {"second_bars", "broken"}};
    result.figure(std::move(figure));
}

void figure_search(const Search& found, std::string evidence, Result& result) {
    Figure figure{"search", "Delta debugging for the shortest fp32 list",
                  fmt::format("Each point: the net trained with another list of fp32 operations. Found: {}.",
                              text_of(found.smallest)),
                  "Half of the list is dropped, then quarters, then single operations, as long as the net still "
                  "learns. What remains is what this net needs.",
                  std::move(evidence)};
    Series learns{"learns"};
    Series fails{"fails"};
    for (std::size_t i = 0; i < found.attempts.size(); ++i) {
        const Attempt& a = found.attempts[i];
        (a.learns ? learns : fails).points.push_back({static_cast<double>(i + 1), static_cast<double>(a.list.size())});
    }
    figure.series = {std::move(learns), std::move(fails)};
    figure.axes = {{.label = "attempt", .from = 0.3, .step = 2.0},
                   {.label = "operations in fp32", .from = -0.5, .to = 9.5, .step = 1.0}};
    figure.looks = {{.mark = Mark::stems, .point = 7, .size = 2}, {.mark = Mark::stems, .point = 2, .size = 2}};
    result.figure(std::move(figure));
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const std::int64_t steps = settings.integer("steps");
    const DataSplit data = generated_digits(context, result);
    const Bench raw{&context, images_task(image_transformer(255), data, 16),
                    has_control(context, "large_scale") ? 0x1p24 : 0x1p16, steps};
    const double pixels = has_control(context, "raw_pixels") ? 255 : 1;
    const Bench calm{&context, images_task(image_transformer(pixels), data, 16), 0x1p10, steps};
    const Bench signs{&context, images_task(sign_net(), data, 32), 0x1p10, steps + steps / 2, 0x1p-12};
    const std::vector<double> reference = raw.accuracies(recipe_by_name("fp32"));
    context.progress(0.1);
    const std::vector<Rule> rules = break_rules(raw, signs, reference);
    context.progress(0.5);
    claim_rules(rules, result);
    with_16_bit_formats(context, [&]<class Half, class>() { claim_ranges<Half>(context.seed, result); });
    const Search found = search(raw, spread_of(reference).least - harmless.size);
    claim_search(found, calm, result);
    const MatrixUnit unit{mixed_backend(context), mixed_backend(context), make_backend(mixed_backend(context))};
    const std::string evidence = evidence_of({unit}, {fp16_to_fp32, fp16_to_fp16}, result);
    figure_rules(rules, settings.integer("seeds"), evidence, result);
    figure_ranges(result);
    figure_search(found, evidence, result);
}

}  // namespace

Experiment experiment() {
    return {
        "cast_policy",
        "Cast policy: what must stay in fp32",
        "Which operations fail in fp16, and which list of fp32 operations is the shortest that works?",
        {Chapter::remedies, 7},
        {integer_setting("steps", "training steps", 130, 1500, 10, 1000000).smoke(30),
         integer_setting("seeds", "runs with weights and order of their own", 3, 5, 1, 100).smoke(1),
         control_setting("wide uses fp32 instead of the 16-bit formats; coarse leaves 2 fraction bits to the "
                         "tensors of softmax and pointwise rules; large_scale scales losses by 2^24, large_sums "
                         "those of fp16 accumulators; raw_pixels takes pixels of 0 to 255 for calm ones",
                         {"wide", "coarse", "large_scale", "large_sums", "raw_pixels"})},
        run,
        {Control("control=wide",
                 "norm loss update square square_underflow reciprocal softmax_long_fp16 gradient_norm smallest_list"),
         Control("control=coarse", "softmax pointwise", RunSize::quick, "steps=30 seeds=2"),
         Control("control=large_scale", "all_kept norm loss smallest_list", RunSize::quick, "steps=30 seeds=2"),
         Control("control=large_sums", "accumulation", RunSize::quick, "steps=30 seeds=2"),
         Control("control=raw_pixels", "control_calm_net", RunSize::quick, "steps=30 seeds=2")},
        Effect{"norm",
               "pixels of 0 to 255 and a loss scale of 2^16 in a Transformer block, weights of size 1 and a loss "
               "times 2^-12 in a dense net",
               {"norm_squares", "summed_loss", "decayed_rate"}}};
}

}  // namespace ulp::cast_policy_experiment
