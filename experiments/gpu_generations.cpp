// One training in the arithmetic of several matrix units: where the bits part, how far they drift, and whether it
// matters; and the error of long products on each.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "engine/data/digits.hpp"
#include "engine/products/decorators.hpp"
#include "engine/training/trainer.hpp"
#include "experiments/framework/side_by_side.hpp"
#include "experiments/shared/product_errors.hpp"
#include "experiments/shared/sources.hpp"

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

/// A trainer and its net.
struct Lane {
    Trainer trainer;
    Mlp net;
    std::vector<double> losses{};

    Lane(const std::string& recipe, const std::string& backend, const std::vector<Index>& widths, std::uint64_t seed)
        : trainer(Engine(recipe, backend), seed), net(trainer.model(), widths) {
        trainer.optimize({.learning_rate = 0.05, .momentum = 0.9});
    }

    void step(const Batch& batch) {
        losses.push_back(
            trainer.step([&](Tape& tape) { return cross_entropy(net(images_on(tape, batch.images)), batch.labels); })
                .loss);
    }
};

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
    std::deque<Lane> lanes;                      // one a unit
    std::vector<std::vector<double>> distances;  // of each unit's parameters from the last unit's, after each step
    std::deque<Lane> fp32;                       // one
};

struct Comparison {
    std::vector<MatrixUnit> units;
    std::deque<Race> races;    // one a seed
    double seed_distance = 0;  // of the parameters in fp32 of two seeds
    DataSplit data;
};

std::vector<Index> widths_of(const RunContext& context, const DataSplit& data) {
    return {data.train.features(), static_cast<Index>(context.settings.integer("hidden")), data.train.classes};
}

void train(Lane& lane, const DataSplit& data, std::int64_t steps, Index batch_size, std::uint64_t seed) {
    BatchSchedule batches(data.train.size(), batch_size, seed);
    for (std::int64_t step = 0; step < steps; ++step) lane.step(batch_of(data.train, batches.next()));
}

void run_race(const RunContext& context, std::uint64_t seed, const Comparison& comparison, Race& race) {
    const std::int64_t steps = context.settings.integer("steps");
    const auto batch_size = static_cast<Index>(context.settings.integer("batch"));
    const std::vector<Index> widths = widths_of(context, comparison.data);
    for (const MatrixUnit& unit : comparison.units) race.lanes.emplace_back("mixed_fp16", unit.spec, widths, seed);
    race.distances.resize(race.lanes.size());
    race.fp32.emplace_back("fp32", "soft:ieee", widths, seed);
    std::vector<Lane*> all{&race.fp32.back()};
    for (Lane& lane : race.lanes) all.push_back(&lane);
    const bool software =
        std::ranges::all_of(comparison.units, [](const MatrixUnit& unit) { return may_run_side_by_side(unit.spec); });
    BatchSchedule batches(comparison.data.train.size(), batch_size, seed);
    for (std::int64_t step = 0; step < steps; ++step) {
        const Batch batch = batch_of(comparison.data.train, batches.next());
        run_side_by_side(
            all.size(), software, [&](std::size_t i) { all[i]->step(batch); }, [](double) {});
        for (std::size_t i = 0; i < race.lanes.size(); ++i) {
            race.distances[i].push_back(distance(race.lanes[i].trainer.model(), race.lanes.back().trainer.model()));
        }
    }
}

void run_races(const RunContext& context, Comparison& comparison) {
    const std::int64_t seeds = context.settings.integer("seeds");
    for (std::int64_t i = 0; i < seeds; ++i) {
        comparison.races.emplace_back();
        run_race(context, context.seed + static_cast<std::uint64_t>(i), comparison, comparison.races.back());
        context.progress(0.8 * static_cast<double>(i + 1) / static_cast<double>(seeds));
    }
    if (seeds < 2) return;  // one seed has no spread to compare with
    comparison.seed_distance =
        distance(comparison.races[1].fp32.back().trainer.model(), comparison.races[0].fp32.back().trainer.model());
}

/// The first product of the training that comes out differently on two units: product, element and both bit patterns.
std::string first_difference(const std::string& one, const std::string& other, const RunContext& context,
                             const Comparison& comparison) {
    const auto batch_size = static_cast<Index>(context.settings.integer("batch"));
    Lane lane("mixed_fp16", fmt::format("checked({},{})", one, other), widths_of(context, comparison.data),
              context.seed);
    try {
        train(lane, comparison.data, context.settings.integer("steps"), batch_size, context.seed);
    } catch (const BitsDiffer& difference) {
        const std::string text = difference.what();
        return fmt::format("step {}: {}", lane.losses.size(), text.substr(0, text.find('\n')));
    }
    return "no difference";
}

/// The place of a unit among the compared ones.
std::size_t place_of(const Comparison& comparison, std::string_view name) {
    for (std::size_t i = 0; i < comparison.units.size(); ++i) {
        if (comparison.units[i].name == name) return i;
    }
    throw std::logic_error("no such unit");
}

/// In how many seeds the traces of two units are equal: the bits of every loss and parameter, step for step.
std::size_t equal_trainings(const Comparison& comparison, std::size_t one, std::size_t other) {
    return static_cast<std::size_t>(
        std::count_if(comparison.races.begin(), comparison.races.end(), [&](const Race& race) {
            return race.lanes[one].trainer.trace().digest() == race.lanes[other].trainer.trace().digest();
        }));
}

void claim_bits(const RunContext& context, const Comparison& comparison, Result& result) {
    const std::string place = cite(sources::numerical_behavior, "generations of tensor cores differ");
    for (const auto& [one, other] : {std::pair{"V100", "A100"}, {"A100", "H100"}, {"V100", "IEEE"}}) {
        const std::size_t x = place_of(comparison, one);
        const std::size_t y = place_of(comparison, other);
        const std::string difference =
            first_difference(comparison.units[x].spec, comparison.units[y].spec, context, comparison);
        result.claim_if(
            difference != "no difference" && equal_trainings(comparison, x, y) == 0,
            fmt::format("first_bit_{}_{}", one, other), place,
            fmt::format("{} and {} do not train with the same bits; the first product that differs:", one, other),
            "a product that differs", difference);
    }
    const std::size_t all = comparison.races.size();
    result.claim(
        "same_bits_H100_B200", cite("Xie et al., MMA-Sim (2025), arXiv 2511.10909", "Hopper and Blackwell"),
        "H100 and B200 (mma.sync) train with the same bits: their fp16 units have the same parameters.",
        fmt::format("the same traces with {} of {} seeds", all, all),
        fmt::format("the same traces with {} of {} seeds",
                    equal_trainings(comparison, place_of(comparison, "H100"), place_of(comparison, "B200")), all));
}

/// The mean over the seeds of the accuracy of the nets that `lane` picks, computed with this engine.
template <class Pick>
double mean_accuracy(const Comparison& comparison, const Engine& engine, Pick lane) {
    double sum = 0;
    for (const Race& race : comparison.races) sum += accuracy(engine, lane(race).net, comparison.data.test);
    return sum / static_cast<double>(comparison.races.size());
}

/// Of a mean accuracy: what another choice of the test's images would change. By Laplace's rule of succession, which
/// does not take a net for infallible that knows all of these images.
double noise_of(double right, const Comparison& comparison) {
    const auto images = static_cast<double>(comparison.data.test.size());
    const double share = (right * images + 1) / (images + 2);
    return std::sqrt(share * (1 - share) / images);
}

void claim_parity(const Comparison& comparison, Result& result) {
    const Engine fp32("fp32", "soft:ieee");
    double least = 1;
    double most = 0;
    for (const Race& race : comparison.races) {
        const double right = accuracy(fp32, race.fp32.back().net, comparison.data.test);
        least = std::min(least, right);
        most = std::max(most, right);
    }
    const double bound = least - 2 * noise_of(most, comparison);
    for (std::size_t i = 0; i < comparison.units.size(); ++i) {
        const MatrixUnit& unit = comparison.units[i];
        const double right = mean_accuracy(comparison, Engine("mixed_fp16", unit.spec),
                                           [&](const Race& race) -> const Lane& { return race.lanes[i]; });
        result.claim_if(
            right >= bound, "accuracy_" + unit.name,
            cite(sources::volta_talk, "Mixed precision matches FP32-trained accuracy"),
            fmt::format("Trained with {}'s fp16 products the net is as good as in fp32, within the spread "
                        "of {} seeds and twice the test's own noise.",
                        unit.name, comparison.races.size()),
            fmt::format("{:.1f} % or more (fp32: {:.1f} to {:.1f} %)", 100 * bound, 100 * least, 100 * most),
            fmt::format("{:.1f} %", 100 * right));
    }
}

/// The trained nets once more, with sums in fp16.
void claim_inference(const Comparison& comparison, Result& result) {
    Recipe narrow = recipe_by_name("mixed_fp16");
    narrow.accumulator = formats::fp16;
    for (std::size_t i = 0; i + 1 < comparison.units.size(); ++i) {
        const MatrixUnit& unit = comparison.units[i];
        const auto lane = [&](const Race& race) -> const Lane& { return race.lanes[i]; };
        const double with_fp32 = mean_accuracy(comparison, Engine("mixed_fp16", unit.spec), lane);
        const double with_fp16 = mean_accuracy(comparison, Engine(narrow, make_backend(unit.spec)), lane);
        const double noise = 2 * noise_of(with_fp32, comparison);
        result.claim_if(std::fabs(with_fp16 - with_fp32) <= noise, "inference_fp16_" + unit.name,
                        cite(sources::volta_talk, "Inference: FP16 accumulation can be used"),
                        fmt::format("{}: for inference fp16 accumulators do; the accuracy stays within twice the "
                                    "test's own noise.",
                                    unit.name),
                        fmt::format("{:.1f} to {:.1f} %", 100 * (with_fp32 - noise), 100 * (with_fp32 + noise)),
                        fmt::format("{:.1f} %", 100 * with_fp16));
    }
}

void claim_drift(const Comparison& comparison, Result& result) {
    for (std::size_t i = 0; i + 1 < comparison.units.size(); ++i) {
        double least = comparison.races[0].distances[i].back();
        double most = least;
        for (const Race& race : comparison.races) {
            least = std::min(least, race.distances[i].back());
            most = std::max(most, race.distances[i].back());
        }
        result.claim_if(
            least > 0 && most < comparison.seed_distance / 3, "drift_" + comparison.units[i].name,
            cite(sources::numerical_behavior, "generations of tensor cores differ"),
            fmt::format("{}'s parameters drift from those of IEEE arithmetic by rounding alone; after {} "
                        "steps they are still far closer than those of another seed.",
                        comparison.units[i].name, comparison.races[0].distances[i].size()),
            fmt::format("above 0 and below a third of the distance between seeds, {:.3f}", comparison.seed_distance),
            fmt::format("{:.3g} to {:.3g}", least, most));
    }
}

void figure_drift(const Comparison& comparison, const std::string& evidence, Result& result) {
    Figure figure{"drift", "One training, five arithmetics: how far the parameters drift apart",
                  "Distance of all parameters from those trained with IEEE additions, relative to their size. fp16 "
                  "products, fp32 masters.",
                  "From the first step the units give other bits, so the trainings part; rounding errors of 2^-24 grow "
                  "with every step. H100 and B200 lie on each other: they give the same bits. The dashed line is what "
                  "another seed changes: the generations differ by far less.",
                  evidence};
    for (std::size_t i = 0; i + 1 < comparison.units.size(); ++i) {
        Series series{comparison.units[i].name, formats::fp64, {}};
        const std::vector<double>& path = comparison.races[0].distances[i];
        for (std::size_t step = 0; step < path.size(); ++step) {
            series.points.push_back({static_cast<double>(step + 1), path[step]});
        }
        figure.series.push_back(std::move(series));
    }
    const double seeds = comparison.seed_distance;
    const auto steps = static_cast<double>(comparison.races[0].distances[0].size());
    figure.series.push_back({"another seed", formats::fp64, {{1, seeds}, {steps, seeds}}});
    result.figure(std::move(figure));
}

/// Means over ten steps.
Series loss_series(std::string name, const std::vector<double>& losses) {
    Series series{std::move(name), formats::fp64, {}};
    for (std::size_t first = 0; first + 10 <= losses.size(); first += 10) {
        double sum = 0;
        for (std::size_t i = first; i < first + 10; ++i) sum += losses[i];
        series.points.push_back({static_cast<double>(first) + 5, sum / 10});
    }
    return series;
}

void figure_losses(const Comparison& comparison, const std::string& evidence, Result& result) {
    Figure figure{"losses", "The loss on five matrix units, and what another seed changes",
                  "Mean loss of ten steps. Grey: fp32 with other seeds of the weights and of the batches' order.",
                  "The curves of all units lie on each other; a change of the seed moves the curve by more than a "
                  "change of the GPU. Different bits, the same training.",
                  evidence};
    for (std::size_t i = 0; i < comparison.races.size(); ++i) {
        figure.series.push_back(
            loss_series(fmt::format("fp32 seed {}", i + 1), comparison.races[i].fp32.back().losses));
    }
    for (std::size_t i = 0; i < comparison.units.size(); ++i) {
        figure.series.push_back(loss_series(comparison.units[i].name, comparison.races[0].lanes[i].losses));
    }
    result.figure(std::move(figure));
}

void run(const RunContext& context, Result& result) {
    Comparison comparison;
    comparison.units = compared_units(context);
    const auto& settings = context.settings;
    comparison.data = generated_digit_split(static_cast<Index>(settings.integer("train_images")),
                                            static_cast<Index>(settings.integer("test_images")), 28, context.seed);
    result.input({"generated digits for training", comparison.data.train.digest()});
    result.input({"generated digits for testing", comparison.data.test.digest()});
    run_races(context, comparison);
    claim_bits(context, comparison, result);
    claim_drift(comparison, result);
    claim_parity(comparison, result);
    claim_inference(comparison, result);
    const std::string evidence = evidence_of(comparison.units, {fp16_to_fp32}, result);
    figure_drift(comparison, evidence, result);
    figure_losses(comparison, evidence, result);
    product_errors(context, comparison.units, result);
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
            run};
}

}  // namespace ulp
