// A feed-forward net on a table: daily sales from categories and numbers.
#include "engine/data/generated.hpp"
#include "engine/tensor/random.hpp"
#include "engine/tensor/steps.hpp"
#include "engine/training/images.hpp"
#include "experiments/training/figures.hpp"

namespace ulp::feedforward_experiment {
namespace {

/// log(sales) = 8 + target: the targets lie within about 1.5 of 0.
constexpr double centre = 8;

/// Embeddings of the categories beside the numbers, and two hidden layers.
struct SalesNet {
    Embedding shop, weekday, month, kind;
    Linear fc1, fc2, out;

    SalesNet(Model& model, Index shops, Index hidden)
        : shop(model, "shop", shops, 8),
          weekday(model, "weekday", 7, 4),
          month(model, "month", 12, 4),
          kind(model, "kind", 4, 2),
          fc1(model, "fc1", 8 + 4 + 4 + 2 + 3, hidden),
          fc2(model, "fc2", hidden, hidden / 2),
          out(model, "out", hidden / 2, 1) {}

    Var operator()(Tape& tape, const std::vector<SalesRow>& rows) const {
        const auto count = static_cast<Index>(rows.size());
        const auto column = [&](int SalesRow::*field) {
            std::vector<int> ids;
            for (const SalesRow& row : rows) ids.push_back(row.*field);
            return ids;
        };
        Matrix numbers(count, 3);
        for (Index i = 0; i < count; ++i) {
            const SalesRow& row = rows[static_cast<std::size_t>(i)];
            numbers(i, 0) = static_cast<float>(row.promoted);
            numbers(i, 1) = static_cast<float>(row.holiday);
            numbers(i, 2) = static_cast<float>(row.distance) / 10000.0F;
        }
        const Var a = shop(tape, column(&SalesRow::shop), {count});
        const Var b = weekday(tape, column(&SalesRow::weekday), {count});
        const Var c = month(tape, column(&SalesRow::month), {count});
        const Var d = kind(tape, column(&SalesRow::kind), {count});
        const Var e = images_on(tape, numbers);
        const Var x = concat(std::vector<Var>{a, b, c, d, e}, 1);
        return out(relu(fc2(relu(fc1(x)))));
    }
};

Tensor targets_of(const std::vector<SalesRow>& rows) {
    Tensor targets({static_cast<Index>(rows.size()), 1});
    for (std::size_t i = 0; i < rows.size(); ++i) {
        targets[static_cast<Index>(i)] = static_cast<float>(step::log(static_cast<double>(rows[i].sales)) - centre);
    }
    return targets;
}

struct Split {
    std::vector<SalesRow> train;
    std::vector<SalesRow> test;  // the last 60 days
};

Split split(const SalesData& data) {
    const auto test = static_cast<std::ptrdiff_t>(60 * data.shops);
    return {{data.rows.begin(), data.rows.end() - test}, {data.rows.end() - test, data.rows.end()}};
}

/// Root of the mean squared relative error of the sales: what the competition of the source's data was judged by.
double relative_error(Evaluation& evaluation, const SalesNet& net, const std::vector<SalesRow>& rows) {
    Tape tape(evaluation);
    const Tensor& logs = net(tape, rows).value();
    double sum = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const double guess = step::exp(static_cast<double>(logs[static_cast<Index>(i)]) + centre);
        const double error = (guess - rows[i].sales) / rows[i].sales;
        sum += error * error;
    }
    return std::sqrt(sum / static_cast<double>(rows.size()));
}

TaskBuilder sales_task(const Settings& settings, const Split& rows, Index shops) {
    return [&, shops](Model& model, std::uint64_t seed) -> Task {
        const SalesNet net(model, shops, settings.integer("hidden"));
        const auto order = batches(static_cast<Index>(rows.train.size()), settings.integer("batch"), seed);
        const auto loss = [=, &rows](Tape& tape, std::int64_t step) {
            std::vector<SalesRow> batch;
            for (const Index i : order(step)) batch.push_back(rows.train[static_cast<std::size_t>(i)]);
            return mse(net(tape, batch), targets_of(batch));
        };
        return {.loss = loss, .measure = [=, &rows](Evaluation& evaluation, Learned& learned) {
                    learned.scores = {relative_error(evaluation, net, rows.test)};
                }};
    };
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const SalesData data =
        generated_sales({.shops = settings.integer("shops"), .days = settings.integer("days"), .seed = context.seed});
    result.input({"generated sales", data.digest()});
    const Split rows = split(data);
    const Training training{.task = sales_task(settings, rows, data.shops),
                            .optimizer = adam_of(settings),
                            .steps = settings.integer("steps")};
    const std::vector<Arithmetic> arithmetics = under_control(
        context, {fp32_arithmetic(), mixed_arithmetic(context, "fp16 scale 128", constant_loss_scale(128)),
                  dynamic_fp16(context)});
    const Comparison comparison = compare(context, result, arithmetics, training, settings.integer("seeds"));
    const std::string place = cite(sources::paperspace, "Real world performance benchmarks: feedforward");
    const Quantity error{"error of the sales of unseen days", "%", 100, 2};
    result.measured("learns", place,
                    "The net learns the seasons, weekdays and promotions: its error on days that it has not seen is "
                    "below 20 % (the noise in the data alone is 4.6 %).",
                    at_most(0.2, comparison.mean(0, 0), error));
    const Margin margin{0.005, "a ninth of the noise in the data", Margin::Side::not_above};
    claim_parity(result, comparison, 0, error, margin, "parity", place,
                 "The feed-forward net converges equally in mixed precision.");
    result.figure(figure_of_losses(comparison, 20, "loss", "Sales: training loss"));
    result.figure(figure_of_seeds(comparison, 0, error, "error", "Sales: error on the last 60 days"));
}

}  // namespace

Experiment experiment() {
    return {"feedforward",
            "A feed-forward net on a table of sales",
            "Does a net of embeddings and dense layers learn a table as well in mixed precision?",
            {Chapter::systems, 6},
            {integer_setting("steps", "training steps", 400, 4000, 2, 1000000).smoke(40),
             integer_setting("batch", "rows a step", 128, 256, 1, 4096).smoke(32),
             integer_setting("hidden", "width of the first hidden layer", 64, 128, 2, 4096),
             integer_setting("shops", "in the table", 20, 100, 1, 1000),
             integer_setting("days", "in the table; the last 60 are for testing", 420, 780, 70, 100000).smoke(90),
             integer_setting("seeds", "runs of each arithmetic", 3, 5, 1, 100).smoke(2),
             integer_setting("scale_window", "clean steps until the dynamic scale grows", 50, 500, 1, 1000000),
             real_setting("learning_rate", "of Adam", 5e-3, 2e-3, 0, 10), mixed_control()},
            run,
            {Control("control=pure_fp16", "parity_1 parity_2"),
             Control("control=coarse", "parity_1 parity_2", RunSize::quick),
             Control("control=scale_2^-16", "parity_1 parity_2", RunSize::quick),
             Control("steps=40", "learns", RunSize::smoke, "seeds=1 steps=400 batch=128 days=420")}};
}

}  // namespace ulp::feedforward_experiment
