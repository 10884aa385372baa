// One training in the arithmetic of several matrix units: where the bits part, how far they drift, and whether it
// matters; and the error of long products on each.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "engine/data/digits.hpp"
#include "engine/products/decorators.hpp"
#include "experiments/program/side_by_side.hpp"
#include "experiments/shared/product_errors.hpp"
#include "experiments/shared/sources.hpp"
#include "experiments/training/figures.hpp"
#include "experiments/training/tasks.hpp"

namespace ulp {
namespace {

using sources::cite;

/// The units of the comparison: four generations, the backend of the command line, and IEEE arithmetic last, to which
/// the others are compared. With the setting units=ieee all of them compute in IEEE arithmetic: a control.
std::vector<MatrixUnit> compared_units(const RunContext& context) {
    std::vector<MatrixUnit> units = matrix_units(context);
    if (context.backend != "soft:b200") units.insert(units.begin() + 3, {"B200", "soft:b200", nullptr});
    std::erase_if(units, [](const MatrixUnit& unit) { return unit.spec == "soft:ieee"; });
    units.push_back({"IEEE", "soft:ieee", nullptr});
    for (MatrixUnit& unit : units) {
        if (unit.spec == "soft:b200") unit.name = "B200";
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

/// One seed: the units in step with each other, on the same batches from the same start; and the same in fp32.
struct Race {
    std::deque<TrainingRun> lanes;               // one a unit, and fp32's
    std::vector<std::vector<double>> distances;  // of each unit's parameters from the last unit's, after each step

    [[nodiscard]] const TrainingRun& fp32() const { return lanes.back(); }
};

struct Study {
    std::vector<MatrixUnit> units;
    std::deque<Race> races;    // one a seed
    double seed_distance = 0;  // of the parameters in fp32 of two seeds
    DataSplit data;
};

Training training_of(const RunContext& context, const DataSplit& data, const char* recipe, const std::string& backend) {
    const Layers net = dense_net({static_cast<Index>(context.settings.integer("hidden"))});
    return {.arithmetic = {recipe, recipe_by_name(recipe), backend},
            .task = images_task(net, data, static_cast<Index>(context.settings.integer("batch"))),
            .optimizer = {.learning_rate = 0.05, .momentum = 0.9},
            .steps = context.settings.integer("steps"),
            .keep_trace = true};
}

void run_race(const RunContext& context, std::uint64_t seed, const Study& study, Race& race) {
    for (const MatrixUnit& unit : study.units) {
        race.lanes.emplace_back(training_of(context, study.data, "mixed_fp16", unit.spec), seed);
    }
    race.lanes.emplace_back(training_of(context, study.data, "fp32", "soft:ieee"), seed);
    race.distances.resize(study.units.size());
    const bool software =
        std::ranges::all_of(study.units, [](const MatrixUnit& unit) { return may_run_side_by_side(unit.spec); });
    for (std::int64_t step = 0; step < context.settings.integer("steps"); ++step) {
        run_side_by_side(race.lanes.size(), software, [&](std::size_t i) { race.lanes[i].step(); });
        TrainingRun& ieee = race.lanes[study.units.size() - 1];
        for (std::size_t i = 0; i < study.units.size(); ++i) {
            race.distances[i].push_back(distance(race.lanes[i].trainer().model(), ieee.trainer().model()));
        }
    }
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
        distance(study.races[1].lanes.back().trainer().model(), study.races[0].lanes.back().trainer().model());
}

/// The first product of the training that comes out differently on two units: product, element and both bit patterns.
std::string first_difference(const std::string& one, const std::string& other, const RunContext& context,
                             const Study& study) {
    const Training training = training_of(context, study.data, "mixed_fp16", fmt::format("checked({},{})", one, other));
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
        return race.lanes[one].trainer().trace().digest() == race.lanes[other].trainer().trace().digest();
    }));
}

void claim_bits(const RunContext& context, const Study& study, Result& result) {
    const std::string place = cite(sources::numerical_behavior, "generations of tensor cores differ");
    for (const auto& [one, other] : {std::pair{"V100", "A100"}, {"A100", "H100"}, {"V100", "IEEE"}}) {
        const std::size_t x = place_of(study, one);
        const std::size_t y = place_of(study, other);
        const std::string difference = first_difference(study.units[x].spec, study.units[y].spec, context, study);
        result.claim_if(
            difference != "no difference" && equal_trainings(study, x, y) == 0,
            fmt::format("first_bit_{}_{}", one, other), place,
            fmt::format("{} and {} do not train with the same bits; the first product that differs:", one, other),
            "a product that differs", difference);
    }
    const std::size_t all = study.races.size();
    result.claim("same_bits_H100_B200", cite("Xie et al., MMA-Sim (2025), arXiv 2511.10909", "Hopper and Blackwell"),
                 "H100 and B200 (mma.sync) train with the same bits: their fp16 units have the same parameters.",
                 fmt::format("the same traces with {} of {} seeds", all, all),
                 fmt::format("the same traces with {} of {} seeds",
                             equal_trainings(study, place_of(study, "H100"), place_of(study, "B200")), all));
}

/// The mean over the seeds of the accuracy of the nets of a unit, computed with this engine.
double mean_accuracy(const Study& study, const Engine& engine, std::size_t unit) {
    double sum = 0;
    for (const Race& race : study.races) sum += race.lanes[unit].measured(engine).scores[test_accuracy];
    return sum / static_cast<double>(study.races.size());
}

/// Of a mean accuracy: what another choice of the test's images would change. By Laplace's rule of succession, which
/// does not take a net for infallible that knows all of these images.
double noise_of(double right, const Study& study) {
    const auto images = static_cast<double>(study.data.test.size());
    const double share = (right * images + 1) / (images + 2);
    return std::sqrt(share * (1 - share) / images);
}

void claim_parity(const Study& study, Result& result) {
    const Engine fp32("fp32", "soft:ieee");
    double least = 1;
    double most = 0;
    for (const Race& race : study.races) {
        const double right = race.fp32().measured(fp32).scores[test_accuracy];
        least = std::min(least, right);
        most = std::max(most, right);
    }
    const double bound = least - 2 * noise_of(most, study);
    for (std::size_t i = 0; i < study.units.size(); ++i) {
        const MatrixUnit& unit = study.units[i];
        const double right = mean_accuracy(study, Engine("mixed_fp16", unit.spec), i);
        result.claim_if(
            right >= bound, "accuracy_" + unit.name,
            cite(sources::volta_talk, "Mixed precision matches FP32-trained accuracy"),
            fmt::format("Trained with {}'s fp16 products the net is as good as in fp32, within the spread "
                        "of {} seeds and twice the test's own noise.",
                        unit.name, study.races.size()),
            fmt::format("{:.1f} % or more (fp32: {:.1f} to {:.1f} %)", 100 * bound, 100 * least, 100 * most),
            fmt::format("{:.1f} %", 100 * right));
    }
}

/// The trained nets once more, with sums in fp16.
void claim_inference(const Study& study, Result& result) {
    Recipe narrow = recipe_by_name("mixed_fp16");
    narrow.accumulator = formats::fp16;
    for (std::size_t i = 0; i + 1 < study.units.size(); ++i) {
        const MatrixUnit& unit = study.units[i];
        const double with_fp32 = mean_accuracy(study, Engine("mixed_fp16", unit.spec), i);
        const double with_fp16 = mean_accuracy(study, Engine(narrow, make_backend(unit.spec)), i);
        const double noise = 2 * noise_of(with_fp32, study);
        result.claim_if(std::fabs(with_fp16 - with_fp32) <= noise, "inference_fp16_" + unit.name,
                        cite(sources::volta_talk, "Inference: FP16 accumulation can be used"),
                        fmt::format("{}: for inference fp16 accumulators do; the accuracy stays within twice the "
                                    "test's own noise.",
                                    unit.name),
                        fmt::format("{:.1f} to {:.1f} %", 100 * (with_fp32 - noise), 100 * (with_fp32 + noise)),
                        fmt::format("{:.1f} %", 100 * with_fp16));
    }
}

void claim_drift(const Study& study, Result& result) {
    for (std::size_t i = 0; i + 1 < study.units.size(); ++i) {
        double least = study.races[0].distances[i].back();
        double most = least;
        for (const Race& race : study.races) {
            least = std::min(least, race.distances[i].back());
            most = std::max(most, race.distances[i].back());
        }
        result.claim_if(
            least > 0 && most < study.seed_distance / 3, "drift_" + study.units[i].name,
            cite(sources::numerical_behavior, "generations of tensor cores differ"),
            fmt::format("{}'s parameters drift from those of IEEE arithmetic by rounding alone; after {} "
                        "steps they are still far closer than those of another seed.",
                        study.units[i].name, study.races[0].distances[i].size()),
            fmt::format("above 0 and below a third of the distance between seeds, {:.3f}", study.seed_distance),
            fmt::format("{:.3g} to {:.3g}", least, most));
    }
}

void figure_drift(const Study& study, const std::string& evidence, Result& result) {
    Figure figure{"drift", "One training, five arithmetics: how far the parameters drift apart",
                  "Distance of all parameters from those trained with IEEE additions, relative to their size. fp16 "
                  "products, fp32 masters.",
                  "From the first step the units give other bits, so the trainings part; rounding errors of 2^-24 grow "
                  "with every step. H100 and B200 lie on each other: they give the same bits. The dashed line is what "
                  "another seed changes: the generations differ by far less.",
                  evidence};
    for (std::size_t i = 0; i + 1 < study.units.size(); ++i) {
        figure.series.push_back({study.units[i].name, formats::fp64, points_of(study.races[0].distances[i], 1, 1)});
    }
    const double seeds = study.seed_distance;
    const auto steps = static_cast<double>(study.races[0].distances[0].size());
    figure.series.push_back({"another seed", formats::fp64, {{1, seeds}, {steps, seeds}}});
    figure.headline = fmt::format(
        "The same {:g} steps on {} and with IEEE sums: parameters {:.2g} apart, relative to their "
        "size; another seed {:.2g}.",
        steps, study.units[0].name, study.races[0].distances[0].back(), seeds);
    result.figure(std::move(figure));
}

void figure_losses(const Study& study, const std::string& evidence, Result& result) {
    Curves curves{{"fp32"}, std::vector<std::vector<std::vector<double>>>(1 + study.units.size())};
    for (const MatrixUnit& unit : study.units) curves.names.push_back(unit.name);
    for (const Race& race : study.races) {
        curves.values[0].push_back(race.fp32().learned().losses);
        for (std::size_t i = 0; i < study.units.size(); ++i) {
            curves.values[i + 1].push_back(race.lanes[i].learned().losses);
        }
    }
    result.figure(figure_of_curves(
        curves, {.window = 10, .logarithmic = true, .what = "Loss of a batch before the step", .label = "loss"},
        {"losses", "The loss on five matrix units, and what another seed changes",
         "Other bits are the same training where a change of the GPU moves the loss by less than a change of the seed.",
         evidence}));
}

void run(const RunContext& context, Result& result) {
    Study study;
    study.units = compared_units(context);
    const auto& settings = context.settings;
    study.data = generated_digit_split(static_cast<Index>(settings.integer("train_images")),
                                       static_cast<Index>(settings.integer("test_images")), 28, context.seed);
    result.input({"generated digits for training", study.data.train.digest()});
    result.input({"generated digits for testing", study.data.test.digest()});
    run_races(context, study);
    claim_bits(context, study, result);
    claim_drift(study, result);
    claim_parity(study, result);
    claim_inference(study, result);
    const std::string evidence = evidence_of(study.units, {fp16_to_fp32}, result);
    figure_drift(study, evidence, result);
    figure_losses(study, evidence, result);
    product_errors(context, study.units, result);
}

}  // namespace

Experiment gpu_generations_experiment() {
    return {"gpu_generations",
            "Generations of matrix units: other bits, the same training",
            "Does it matter for a training, and for a long product, which generation of GPU computes it?",
            Chapter::hardware,
            {integer_setting("steps", "steps of training", 200, 2000, 2, 1000000),
             integer_setting("batch", "images in a batch", 64, 64, 1, 10000),
             integer_setting("hidden", "width of the hidden layer", 96, 256, 8, 4096),
             integer_setting("train_images", "generated digits to train on", 2000, 20000, 64, 1000000),
             integer_setting("test_images", "generated digits to test on", 500, 4000, 50, 1000000),
             integer_setting("seeds", "seeds, each trained on all units and in fp32", 3, 5, 1, 20),
             integer_setting("longest_k", "longest products, a power of two", 16384, 131072, 4096, 1 << 20),
             integer_setting("promote_every", "products between promotions of FP8 sums; 0: none", 128, 128, 0, 1 << 20),
             text_setting("units", "ieee: all units compute alike, a control", "models", {"models", "ieee"})},
            run,
            {{{"steps=10", "hidden=16", "train_images=200", "test_images=50", "longest_k=4096", "seeds=2"},
              {"promote_every=0", "units=ieee"},
              {"first_bit_V100_A100", "first_bit_A100_H100", "first_bit_V100_IEEE", "drift_V100", "drift_A100",
               "drift_H100", "drift_B200", "fp8_promotion"}}}};
}

}  // namespace ulp
