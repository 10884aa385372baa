// A Transformer that reads rows of raw pixels: as it trains, the products of queries and keys outgrow fp16, where they
// are stored before 1 / sqrt(d) makes logits of them. The softmax of +infinity is NaN. Nothing is inserted.
#include <numeric>
#include <tuple>
#include <utility>

#include "engine/nets/blocks.hpp"
#include "engine/recipes/recipe.hpp"
#include "experiments/shared/binade_histogram.hpp"
#include "experiments/training/figures.hpp"
#include "experiments/training/tasks.hpp"

namespace ulp::attention_experiment {
namespace {

constexpr double beyond_fp16 = 65520;  // the smallest number that fp16 stores as infinity

/// An image's rows are the tokens: a linear embedding with one of places, a block that normalises after attention
/// (Vaswani et al., 2017), and a linear layer over all tokens.
struct RowNet {
    Linear embed;
    Embedding places;
    TransformerBlock block;
    Linear out;
    Index rows, width;
    double range;  // largest value of a pixel

    RowNet(Model& model, const Dataset& data, const Settings& settings, double largest_pixel, AttentionOptions options)
        : embed(model, "embed", data.width, settings.integer("width")),
          places(model, "places", data.height, settings.integer("width")),
          block(model, "block", settings.integer("width"), settings.integer("heads"), options),
          out(model, "out", data.height * settings.integer("width"), data.classes),
          rows(data.height),
          width(settings.integer("width")),
          range(largest_pixel) {}

    Var operator()(Var images) const {
        std::vector<int> order(static_cast<std::size_t>(rows));
        std::iota(order.begin(), order.end(), 0);
        const Index count = images.dim(0);
        const Var pixels = scaled(reshape(images, {count, rows, images.value().size() / (count * rows)}), range);
        const Var tokens = add(embed(pixels), places(*images.tape, order, {rows}));
        return out(reshape(block(tokens, false), {count, rows * width}));
    }
};

/// Products of queries and keys as they are stored, step by step.
struct Products {
    std::vector<double> largest{};  // magnitude; infinite where one is
    BinadeHistogram first{}, last{};

    [[nodiscard]] double peak() const { return *std::ranges::max_element(largest); }
};

TaskBuilder rows_task(const Settings& settings, const DataSplit& data, double range, AttentionOptions options) {
    const NetBuilder net = [&settings, &data, range, options](Model& model) -> ImageNet {
        return RowNet(model, data.train, settings, range, options);
    };
    const std::int64_t last = settings.integer("steps") - 1;
    return watching<Products>(
        images_task(net, data, settings.integer("batch")), [last](Task& watched, const auto& seen) {
            watched.tap = [seen, last](std::int64_t step, const TapEvent& event) {
                if (event.role != TensorRole::activation || event.name != "block.attention/scores/matmul") return;
                double largest = 0;
                for (const float x : event.values) {
                    largest = std::isfinite(x) ? std::max(largest, std::fabs(static_cast<double>(x))) : HUGE_VAL;
                }
                seen->largest.push_back(largest);
                if (step == 0) seen->first.add(event.values);
                if (step == last) seen->last.add(event.values);
            };
        });
}

enum : std::size_t { way_fp32, way_product, way_queries, way_norm, way_wide, way_bf16 };

std::vector<Training> trainings_of(const RunContext& context, const DataSplit& data, double range) {
    const Recipe fp16 = recipe_by_name("mixed_fp16");
    const bool queries_first = has_control(context, "queries_first");
    const bool product_first = has_control(context, "product_first");
    std::vector<Training> arms;
    const auto add = [&](const char* name, const Recipe& recipe, AttentionOptions options) {
        const std::size_t way = arms.size();
        const bool spoilt = product_first && way >= way_queries;
        if (spoilt) options = {.scale_scores = true};
        if (queries_first && way == way_product) options = {};
        arms.push_back({.arithmetic = {name, spoilt ? fp16 : recipe, unit_or_ieee(context)},
                        .task = rows_task(context.settings, data, range, options),
                        .optimizer = adam_of(context.settings),
                        .steps = context.settings.integer("steps"),
                        .schedule = linear_decay_factor});
    };
    add("fp32", recipe_by_name("fp32"), {.scale_scores = true});
    add("product first", fp16, {.scale_scores = true});
    add("queries first", fp16, {});
    add("normalised", fp16, {.scale_scores = true, .normalised = true});
    add("attention in fp32", with_fp32_operations(fp16, {"matmul"}), {.scale_scores = true});
    add("bf16", recipe_by_name("bf16"), {.scale_scores = true});
    arms[way_fp32].arithmetic.backend = "soft:ieee";
    return arms;
}

const Products& products_of(const Comparison& runs, std::size_t way, std::size_t seed) {
    return runs.runs[way][seed].kept<Products>();
}

double head_width(const Settings& settings) {
    return static_cast<double>(settings.integer("width") / settings.integer("heads"));
}

/// What fp32's products are multiplied by before anything is predicted from them.
double factor_of(const RunContext& context) { return has_control(context, "sixteenth") ? 1.0 / 16 : 1; }

/// What the fp32 runs predict, and what fp16 does. Two training runs whose first steps differ by rounding have largest
/// products that differ by a factor of about 2: so nearer than a binade to fp16's end nothing is predicted.
struct Forecast {
    std::int64_t foretold = 0;  // training runs whose products leave fp16
    std::int64_t kept = 0;      // whose products do not
    std::int64_t open = 0;
    std::int64_t wrong = 0;  // where fp16 does otherwise

    /// Of fp16's products, as large as fp32's times `factor`.
    void compare(const Products& fp32, const Products& fp16, double factor) {
        const double peak = factor * fp32.peak();
        const bool leaves = peak >= 2 * beyond_fp16;
        const bool stays = peak < beyond_fp16 / 2;
        foretold += leaves ? 1 : 0;
        kept += stays ? 1 : 0;
        open += leaves || stays ? 0 : 1;
        wrong += (leaves || stays) && leaves != std::isinf(fp16.peak()) ? 1 : 0;
    }
};

/// With smaller pixels first, one seed each; `runs` are the training runs with the whole range.
Forecast forecast_of(const RunContext& context, const DataSplit& data, const Comparison& runs, Result& result) {
    const Settings& settings = context.settings;
    const double factor = factor_of(context);
    Forecast forecast;
    for (const double part : {1.0 / 16, 1.0 / 4}) {  // the products go with the square of the pixels
        std::vector<Training> arms = trainings_of(context, data, part * settings.real("range"));
        arms.resize(way_product + 1);
        const Comparison smaller = compare(context, result, arms, 1, {0.7 + part, 0.75 + part});
        forecast.compare(products_of(smaller, way_fp32, 0), products_of(smaller, way_product, 0), factor);
    }
    for (std::size_t seed = 0; seed < runs.runs[way_fp32].size(); ++seed) {
        const Products& fp32 = products_of(runs, way_fp32, seed);
        forecast.compare(fp32, products_of(runs, way_product, seed), factor);
        forecast.compare(fp32, products_of(runs, way_queries, seed), factor / std::sqrt(head_width(settings)));
    }
    return forecast;
}

std::string pre_scaling() {
    return cite("Ultralytics, attention blocks", "Pre-scale attention query to prevent fp16 overflow");
}

void claim_growth(const RunContext& context, const Forecast& forecast, const Comparison& runs, Result& result) {
    result.measured(
        "predicted", cite(sources::own_prediction, "largest product of a query and a key in fp32"),
        fmt::format("Where fp32's largest product of a query and a key lies a binade or more from fp16's end, it "
                    "predicts whether fp16 stores an infinite one, for all ranges of pixels and also where the queries "
                    "are scaled first. Here: {} training runs leave fp16, {} do not, and {} lie too near its end.",
                    forecast.foretold, forecast.kept, forecast.open),
        equal(0, forecast.wrong, "training runs otherwise") &&
            at_least(1, static_cast<double>(forecast.foretold), {"", "training runs predicted to fail", 1, 0}));
    double first = 0;
    double peak = HUGE_VAL;
    for (const Learned& run : runs.runs[way_fp32]) {
        const auto& fp32 = run.kept<Products>();
        first = larger(first, fp32.largest.front());
        peak = smaller(peak, fp32.peak());
    }
    result.measured("growth", cite(sources::own_prediction, "growth of the logits in training"),
                    "In the first step all products of queries and keys fit into fp16. Training in fp32 makes them "
                    "leave its range, with every seed.",
                    below(beyond_fp16, first, {"largest in the first step", "", 1, 0}) &&
                        at_least(beyond_fp16, factor_of(context) * peak, {"largest of all steps", "", 1, 0}));
}

void claim_failures(const Comparison& runs, const Margin& margin, Result& result) {
    const Scores fp32 = runs.scores(way_fp32, test_accuracy);
    result.measured("product_first", pre_scaling(),
                    "Where the product of queries and keys is stored in fp16 before it is divided by the root of the "
                    "head's width, the softmax of a logit of +infinity is NaN, and the net learns worse than in fp32.",
                    falls_short(runs.scores(way_product, test_accuracy), fp32, margin, accuracy_text));
    const Engine engine("fp32", "soft:ieee");
    Tape tape(engine);
    const Var probabilities = softmax(tape.constant(Tensor({1, 2}, std::vector<float>{HUGE_VALF, 1})));
    result.arithmetic(
        "softmax_in_fp32", pre_scaling(),
        "A softmax in fp32 after that product comes too late: of a logit of +infinity it is NaN, too.",
        is(std::isnan(probabilities.value()[0]), "NaN", std::isnan(probabilities.value()[0]) ? "NaN" : "a number"));
    double scale = 0;
    for (const Learned& run : runs.runs[way_product]) scale = std::max(scale, run.scales.back());
    result.measured("scaler", pre_scaling(),
                    "A dynamic loss scale does not help: each batch with a logit of +infinity halves it, however small "
                    "it is already. At the end of the training the scale is below 1.",
                    below(1, scale, {"largest of the last steps' scales", "", 1, 3}));
}

void claim_remedies(const Comparison& runs, const Margin& margin, Result& result) {
    const Check fails = falls_short(runs.scores(way_product, test_accuracy), runs.scores(way_fp32, test_accuracy),
                                    margin, accuracy_text);
    const std::tuple<std::size_t, const char*, std::string> remedies[] = {
        {way_queries, "queries_first", pre_scaling()},
        {way_norm, "normalised",
         cite("Dehghani et al., Scaling vision transformers to 22 billion parameters (2023)",
              "query/key normalization")},
        {way_wide, "attention_in_fp32", cite("Transformers manual, GPT2Config", "reorder_and_upcast_attn")},
        {way_bf16, "bf16", cite(sources::round_table, "BFP16: no need for scaling loss")}};
    for (const auto& [way, id, place] : remedies) {
        result.measured(
            id, place,
            fmt::format(
                "The Transformer on raw pixels learns as in fp32, where the product in fp16 does not. Here: {}.",
                runs.arithmetics[way].name),
            given(fails, as_good(runs.scores(way, test_accuracy), runs.scores(way_fp32, test_accuracy), margin,
                                 accuracy_text)));
    }
}

std::string step_text(const Products& products) {
    const auto at = std::ranges::find_if(products.largest, [](double x) { return x >= beyond_fp16; });
    return at == products.largest.end() ? "in no step" : fmt::format("in step {}", at - products.largest.begin());
}

void figure_growth(const RunContext& context, const Comparison& runs, Result& result) {
    Figure figure{"growth", "Attention over raw pixels: the largest product of a query and a key",
                  "As it is stored, by step, first seed; a line ends before the first infinite product. Shaded: "
                  "infinite in fp16.",
                  fmt::format("The largest product leaves fp16's range {} in fp32, {} in fp16, and {} where the "
                              "queries are scaled first: these have {:g} times as much room.",
                              step_text(products_of(runs, way_fp32, 0)), step_text(products_of(runs, way_product, 0)),
                              step_text(products_of(runs, way_queries, 0)), std::sqrt(head_width(context.settings))),
                  runs.evidence};
    for (const std::size_t way : {way_fp32, way_product, way_queries, way_norm}) {
        std::vector<double> finite = products_of(runs, way, 0).largest;
        finite.erase(std::ranges::find_if(finite, [](double x) { return std::isinf(x); }), finite.end());
        figure.series.push_back({runs.arithmetics[way].name, formats::fp64, points_of(finite)});
        figure.looks.push_back({.mark = finite.size() == 1 ? Mark::points : Mark::lines,
                                .width = way == way_fp32 ? 4.0 : 2.5,
                                .size = 0.9});
    }
    figure.axes = {step_axis(), power_axis("largest product", 2, 0.1)};
    figure.guides = {{.bottom = beyond_fp16, .text = "infinite in fp16"}};
    result.figure(std::move(figure));
}

void figure_histogram(const Comparison& runs, Result& result) {
    const Products& fp32 = products_of(runs, way_fp32, 0);
    double beyond = 0;
    for (const auto& [bin, count] : fp32.last.bins()) beyond += bin >= 16 ? fp32.last.share(count) : 0;
    Figure figure{"histogram", "Attention over raw pixels: products of queries and keys",
                  "Share of the products in each binade, in fp32, first seed. fp16 ends at 2^16.",
                  fmt::format("In the last step {:.2g} % of the products lie beyond fp16's range. One logit of "
                              "+infinity makes NaN of all probabilities of its row.",
                              100 * beyond),
                  ""};
    for (const auto& [name, histogram] : {std::pair{"first step", &fp32.first}, std::pair{"last step", &fp32.last}}) {
        figure.series.push_back({name});
        for (const auto& [bin, count] : histogram->bins()) {
            figure.series.back().points.push_back({static_cast<double>(bin), histogram->share(count)});
        }
    }
    figure.axes = {binade_axis(0, 20, "binade of the product"), share_axis("share of the products", 0.2)};
    figure.looks = {{.mark = Mark::histogram}};
    figure.guides = {fp16_overflow()};
    result.figure(std::move(figure));
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const DataSplit data = digits_of(context, result, {2000, 500, settings.integer("side")});
    const Comparison runs = compare(context, result, trainings_of(context, data, settings.real("range")),
                                    settings.integer("seeds"), {0, 0.7});
    claim_growth(context, forecast_of(context, data, runs, result), runs, result);
    const Margin margin{0.05, "the spread of fp32's seeds in a short run", Margin::Side::not_below};
    claim_failures(runs, margin, result);
    claim_remedies(runs, margin, result);
    figure_growth(context, runs, result);
    figure_histogram(runs, result);
    result.figure(
        figure_of_seeds(runs, test_accuracy, accuracy_text, "accuracy", "Attention over raw pixels: accuracy"));
}

}  // namespace

Experiment experiment() {
    return {
        "attention",
        "Attention whose logits leave fp16 as it trains",
        "When does the product of queries and keys leave fp16, and does it help to scale the queries first?",
        {Chapter::overflow, 5},
        {integer_setting("steps", "training steps", 64, 240, 2, 1000000).smoke(4),
         integer_setting("batch", "images per step", 16, 32, 1, 4096).smoke(4),
         integer_setting("side", "pixels a side of generated digits: as many tokens", 8, 14, 8, 64),
         integer_setting("width", "numbers of a token, a multiple of the heads", 64, 64, 2, 4096).smoke(8),
         integer_setting("heads", "of the attention", 2, 4, 1, 64),
         integer_setting("seeds", "runs of each arithmetic", 3, 4, 1, 100).smoke(2),
         real_setting("range", "largest value of a pixel", 255, 255, 0.001, 1000),
         real_setting("learning_rate", "of Adam, falling linearly to 0", 4e-3, 2e-3, 0, 10),
         control_setting(
             "sixteenth takes fp32's products as a 16th of what they are; queries_first scales the queries first where "
             "the product is; product_first trains in fp16, the product first, instead of the remedies",
             {"sixteenth", "queries_first", "product_first"}),
         path_setting("mnist", "folder with the MNIST idx files, instead of generated digits")},
        run,
        {Control("control=sixteenth", "predicted growth", RunSize::quick),
         Control("control=queries_first", "predicted product_first scaler queries_first normalised attention_in_fp32",
                 RunSize::quick),
         Control("control=product_first", "queries_first normalised attention_in_fp32 bf16", RunSize::quick)},
        Effect{"product_first"}};
}

}  // namespace ulp::attention_experiment
