// One training in the arithmetic of several matrix units: where the bits part, how far they drift, and whether it
// matters; and the error of long products on each.
#include <fmt/core.h>

#include <deque>

#include "engine/products/backends.hpp"
#include "experiments/framework/long_work.hpp"
#include "experiments/shared/product_errors.hpp"
#include "experiments/training/figures.hpp"
#include "experiments/training/tasks.hpp"

namespace ulp::gpu_generations_experiment {
namespace {

/// The units of the comparison: three generations, the backend of the command line, and IEEE arithmetic last, to which
/// the others are compared. (B200's mma.sync has the parameters of H100's.) With the setting units=ieee all of them
/// compute in IEEE arithmetic: a control.
std::vector<MatrixUnit> compared_units(const RunContext& context) {
    std::vector<MatrixUnit> units = matrix_units(context);
    std::erase_if(units, [](const MatrixUnit& unit) { return unit.spec == "soft:ieee"; });
    units.push_back({"IEEE", "soft:ieee", nullptr});
    for (MatrixUnit& unit : units) {
        if (context.settings.text("units") == "ieee") unit.spec = "soft:ieee";
        unit.backend = make_backend(unit.spec);
    }
    return units;
}

/// |x - y| / |y| over all parameters, Euclidean.
double distance(const Model& x, const Model& y) {
    double difference = 0;
    double size = 0;
    for (std::size_t i = 0; i < x.parameters().size(); ++i) {
        const auto a = x.parameters()[i].updated().values();
        const auto b = y.parameters()[i].updated().values();
        for (std::size_t j = 0; j < a.size(); ++j) {
            const double d = static_cast<double>(a[j]) - static_cast<double>(b[j]);
            difference += d * d;
            size += static_cast<double>(b[j]) * static_cast<double>(b[j]);
        }
    }
    return std::sqrt(difference / size);
}

/// One seed: fp32 and the units in step with each other, on the same batches from the same start.
struct Race {
    std::deque<TrainingRun> lanes;               // of fp32, and one a unit
    std::vector<std::vector<double>> distances;  // of each unit's parameters from the last unit's, after each step

    [[nodiscard]] const TrainingRun& lane(std::size_t unit) const { return lanes[unit + 1]; }
};

struct Study {
    std::vector<MatrixUnit> units;
    std::vector<Arithmetic> arithmetics;  // fp32, and each unit's
    std::deque<Race> races;               // one a seed
    double seed_distance = 0;             // of the parameters in fp32 of two seeds
    DataSplit data;
};

Arithmetic mixed_on(const std::string& backend) { return {backend, recipe_by_name("mixed_fp16"), backend}; }

Training training_of(const RunContext& context, const DataSplit& data, const Arithmetic& arithmetic) {
    const Layers net = dense_net({context.settings.integer("hidden")});
    return {.arithmetic = arithmetic,
            .task = images_task(net, data, context.settings.integer("batch")),
            .optimizer = {.learning_rate = 0.05, .momentum = 0.9},
            .steps = context.settings.integer("steps"),
            .keep_trace = true};
}

void run_race(const RunContext& context, std::uint64_t seed, const Study& study, Race& race) {
    for (const Arithmetic& arithmetic : study.arithmetics) {
        race.lanes.emplace_back(training_of(context, study.data, arithmetic), seed);
    }
    race.distances.resize(study.units.size());
    const bool software =
        std::ranges::all_of(study.units, [](const MatrixUnit& unit) { return may_run_side_by_side(unit.spec); });
    for (std::int64_t step = 0; step < context.settings.integer("steps"); ++step) {
        run_side_by_side(race.lanes.size(), software, [&](std::size_t i) { race.lanes[i].step(); });
        for (std::size_t i = 0; i < study.units.size(); ++i) {
            race.distances[i].push_back(
                distance(race.lanes[i + 1].trainer().model(), race.lanes.back().trainer().model()));
        }
    }
    if (!context.trained) return;
    for (const TrainingRun& lane : race.lanes) context.trained(lane.learned().parameters, lane.trainer().steps());
}

void run_races(const RunContext& context, Study& study) {
    const std::int64_t seeds = context.settings.integer("seeds");
    for (std::int64_t i = 0; i < seeds; ++i) {
        study.races.emplace_back();
        run_race(context, context.seed + static_cast<std::uint64_t>(i), study, study.races.back());
        context.progress(0.8 * static_cast<double>(i + 1) / static_cast<double>(seeds));
    }
    if (seeds < 2) return;  // one seed has no spread to compare with
    study.seed_distance =
        distance(study.races[1].lanes.front().trainer().model(), study.races[0].lanes.front().trainer().model());
}

/// The first product of the training that comes out differently on two units: product, element and both bit patterns.
std::string first_difference(const std::string& one, const std::string& other, const RunContext& context,
                             const Study& study) {
    const Training training = training_of(context, study.data, mixed_on(fmt::format("checked({},{})", one, other)));
    TrainingRun run(training, context.seed);
    try {
        for (std::int64_t step = 0; step < training.steps; ++step) run.step();
    } catch (const BitsDiffer& difference) {
        const std::string text = difference.what();
        return fmt::format("step {}: {}", run.learned().losses.size(), text.substr(0, text.find('\n')));
    }
    return "no difference";
}

/// The place of a unit among the compared ones.
std::size_t place_of(const Study& study, std::string_view name) {
    for (std::size_t i = 0; i < study.units.size(); ++i) {
        if (study.units[i].name == name) return i;
    }
    throw std::logic_error("no such unit");
}

/// In how many seeds the traces of two units are equal: the bits of every loss and parameter, step for step.
std::size_t equal_trainings(const Study& study, std::size_t one, std::size_t other) {
    return static_cast<std::size_t>(std::count_if(study.races.begin(), study.races.end(), [&](const Race& race) {
        return race.lane(one).trainer().trace().digest() == race.lane(other).trainer().trace().digest();
    }));
}

void claim_bits(const RunContext& context, const Study& study, Result& result) {
    const std::string place = cite(sources::numerical_behavior, "generations of tensor cores differ");
    for (const auto& [one, other] : {std::pair{"V100", "A100"}, {"A100", "H100"}, {"V100", "IEEE"}}) {
        const std::size_t x = place_of(study, one);
        const std::size_t y = place_of(study, other);
        const std::string difference = first_difference(study.units[x].spec, study.units[y].spec, context, study);
        const std::string id = fmt::format("first_bit_{}_{}", one, other);
        result.measured(id, place,
                        fmt::format("{} and {} do not train with the same bits. The first product that differs: {}.",
                                    one, other, difference),
                        equal(0, static_cast<std::int64_t>(equal_trainings(study, x, y)), "seeds with equal traces"));
    }
}

/// The accuracy of the nets of a unit, computed with this engine: a number a seed.
Scores accuracies(const Study& study, const Engine& engine, std::size_t unit) {
    Scores values;
    for (const Race& race : study.races) {
        const Learned learned = race.lane(unit).measured(engine);
        values.push_back(learned.scores[test_accuracy]);
        values.examples = learned.examples;
    }
    return values;
}

const Margin one_point{0.01, "one test image in a hundred", Margin::Side::not_below};

void claim_accuracy(const Study& study, Result& result) {
    Scores fp32;
    for (const Race& race : study.races) fp32.push_back(race.lanes.front().measured().scores[test_accuracy]);
    for (std::size_t i = 0; i < study.units.size(); ++i) {
        const MatrixUnit& unit = study.units[i];
        result.measured("accuracy_" + unit.name,
                        cite(sources::volta_talk, "Mixed precision matches FP32-trained accuracy"),
                        fmt::format("Trained with {}'s fp16 products the net is as good as in fp32.", unit.name),
                        as_good(accuracies(study, Engine("mixed_fp16", unit.spec), i), fp32, one_point, accuracy_text));
    }
}

/// The trained nets once more, with sums in fp16; under the control "coarse_sums" with sums of 2 fraction bits.
void claim_inference(const RunContext& context, const Study& study, Result& result) {
    const bool coarse = has_control(context, "coarse_sums");
    Recipe narrow = recipe_by_name("mixed_fp16");
    narrow.accumulator = coarse ? formats::e5m2 : formats::fp16;
    for (std::size_t i = 0; i + 1 < study.units.size(); ++i) {
        const MatrixUnit& unit = study.units[i];
        const Engine with_fp32("mixed_fp16", unit.spec);
        const Engine with_fp16(narrow, make_backend(coarse ? "soft:ieee" : unit.spec));
        result.measured(
            "inference_fp16_" + unit.name, cite(sources::volta_talk, "Inference: FP16 accumulation can be used"),
            fmt::format("{}: the trained nets read as many digits with fp16 accumulators.", unit.name),
            as_good(accuracies(study, with_fp16, i), accuracies(study, with_fp32, i), one_point, accuracy_text));
    }
}

void claim_drift(const Study& study, Result& result) {
    for (std::size_t i = 0; i + 1 < study.units.size(); ++i) {
        double least = study.races[0].distances[i].back();
        double most = least;
        for (const Race& race : study.races) {
            least = smaller(least, race.distances[i].back());
            most = larger(most, race.distances[i].back());
        }
        const Quantity apart{"distance", "", 1, 5};
        result.measured("drift_" + study.units[i].name,
                        cite(sources::numerical_behavior, "generations of tensor cores differ"),
                        fmt::format("{}'s parameters drift from those of IEEE arithmetic by rounding alone. After {} "
                                    "steps they are less than a third as far away as those of another seed.",
                                    study.units[i].name, study.races[0].distances[i].size()),
                        above(0, least, apart) && below(study.seed_distance / 3, most, apart));
    }
}

void figure_drift(const Study& study, const std::string& evidence, Result& result) {
    Figure figure{"drift", "One training, four arithmetics: how far the parameters drift apart",
                  "Distance of all parameters from those trained with IEEE additions, relative to their size. fp16 "
                  "products, fp32 masters.",
                  "Distances after the first and after the last step, first seed:", evidence};
    for (std::size_t i = 0; i + 1 < study.units.size(); ++i) {
        const std::vector<double>& distances = study.races[0].distances[i];
        figure.series.push_back({study.units[i].name, formats::fp64, points_of(distances, 1, 1)});
        figure.meaning +=
            fmt::format(" {} {:.2g} and {:.2g},", study.units[i].name, distances.front(), distances.back());
    }
    const double seeds = study.seed_distance;
    const auto steps = static_cast<double>(study.races[0].distances[0].size());
    figure.meaning += fmt::format(" another seed (dashed) {:.2g}.", seeds);
    figure.series.push_back({"another seed", formats::fp64, {{1, seeds}, {steps, seeds}}});
    figure.headline = fmt::format(
        "The same {:g} steps on {} and with IEEE sums: parameters {:.2g} apart, relative to their size; another seed "
        "{:.2g}.",
        steps, study.units[0].name, study.races[0].distances[0].back(), seeds);
    figure.axes = {{.label = "step"}, power_axis("relative distance of the parameters", 10)};
    figure.looks.resize(figure.series.size());
    figure.looks.back() = {.colour = grey, .width = 2, .dash = 2};
    result.figure(std::move(figure));
}

void figure_losses(const Study& study, const std::string& evidence, Result& result) {
    Curves curves{{"fp32"}, std::vector<std::vector<std::vector<double>>>(1 + study.units.size())};
    for (const MatrixUnit& unit : study.units) curves.names.push_back(unit.name);
    for (const Race& race : study.races) {
        curves.values[0].push_back(race.lanes.front().learned().losses);
        for (std::size_t i = 0; i < study.units.size(); ++i) {
            curves.values[i + 1].push_back(race.lane(i).learned().losses);
        }
    }
    result.figure(figure_of_curves(
        curves, {.window = 10, .logarithmic = true, .what = "Loss of a batch before the step", .label = "loss"},
        {"losses", "The loss on the matrix units, and what another seed changes",
         "Other bits are the same training where a change of the GPU moves the loss by less than a change of the seed.",
         evidence}));
}

void run(const RunContext& context, Result& result) {
    Study study;
    study.units = compared_units(context);
    const auto& settings = context.settings;
    study.data =
        generated_digits(context, result, {settings.integer("train_images"), settings.integer("test_images"), 28});
    study.arithmetics = {fp32_arithmetic()};
    for (const MatrixUnit& unit : study.units) study.arithmetics.push_back(mixed_on(unit.spec));
    if (has_control(context, "scale_2^-24")) {
        for (Arithmetic& arithmetic : study.arithmetics) arithmetic.recipe.loss_scale = constant_loss_scale(0x1p-24);
    }
    run_races(context, study);
    claim_bits(context, study, result);
    claim_drift(study, result);
    claim_accuracy(study, result);
    claim_inference(context, study, result);
    const std::string evidence = evidence_of(study.units, {fp16_to_fp32}, result);
    figure_drift(study, evidence, result);
    figure_losses(study, evidence, result);
    product_errors(context, study.units, result);
}

}  // namespace

Experiment experiment() {
    return {
        "gpu_generations",
        "Generations of matrix units: other bits, the same training",
        "Does it matter for a training, and for a long product, which generation of GPU computes it?",
        {Chapter::hardware, 1},
        {integer_setting("steps", "steps of training", 200, 2000, 2, 1000000).smoke(10),
         integer_setting("batch", "images in a batch", 64, 64, 1, 10000),
         integer_setting("hidden", "width of the hidden layer", 96, 256, 8, 4096).smoke(16),
         integer_setting("train_images", "generated digits to train on", 2000, 20000, 64, 1000000).smoke(200),
         integer_setting("test_images", "generated digits to test on", 500, 4000, 50, 1000000).smoke(50),
         integer_setting("seeds", "seeds, each trained on all units and in fp32", 3, 5, 1, 20).smoke(2),
         integer_setting("longest_k", "longest products, a power of two", 16384, 131072, 1024, 1 << 20).smoke(1024),
         integer_setting("promote_every", "products between promotions of FP8 sums; 0: none", 128, 128, 0, 1 << 20),
         text_setting("units", "ieee: all units compute alike, a control", "models", {"models", "ieee"}),
         control_setting("scale_2^-24 makes gradients too small for fp16; coarse_sums keeps 2 fraction bits of "
                         "sums in inference; wide_sums takes fp32 accumulators for those of fp16",
                         {"scale_2^-24", "coarse_sums", "wide_sums"})},
        run,
        {Control("units=ieee",
                 "first_bit_V100_A100 first_bit_A100_H100 first_bit_V100_IEEE drift_V100 drift_A100 drift_H100 "
                 "truncates_v100 truncates_a100 truncates_h100"),
         Control("promote_every=0", "fp8_promotion"),
         Control("control=wide_sums", "accumulate_fp32_v100 accumulate_fp32_a100 accumulate_fp32_h100"),
         Control("control=coarse_sums", "inference_fp16_V100 inference_fp16_A100 inference_fp16_H100", RunSize::quick),
         Control("control=scale_2^-24",
                 "first_bit_A100_H100 drift_V100 drift_A100 drift_H100 accuracy_V100 accuracy_A100 accuracy_H100 "
                 "accuracy_IEEE")}};
}

}  // namespace ulp::gpu_generations_experiment
