// Weights in analog memory: conductances that move in coarse, noisy steps and are read with noise. A digital
// accumulator beside each collects the updates that are smaller than a step.
#include "engine/data/generated.hpp"
#include "engine/tensor/random.hpp"
#include "engine/training/images.hpp"
#include "experiments/training/figures.hpp"
#include "experiments/training/tasks.hpp"

namespace ulp::analog_experiment {
namespace {

/// How an update gets into a device.
enum class Transfer : std::uint8_t {
    digital,      // there is no device: fp32 weights
    accumulated,  // added to a digital number; as many pulses as it holds whole steps, and the rest stays
    nearest,      // as many pulses as steps come closest
    stochastic    // one pulse more with the probability of the fraction
};
struct Way {
    const char* name;
    Transfer transfer;
};
constexpr Way ways[] = {{"digital fp32", Transfer::digital},
                        {"accumulator", Transfer::accumulated},
                        {"nearest step", Transfer::nearest},
                        {"stochastic step", Transfer::stochastic}};
constexpr std::size_t with_accumulator = 1;
constexpr std::size_t without_accumulator = 2;

struct Devices {
    std::int64_t bits;   // 2^bits steps from the least weight to the largest
    double write_noise;  // standard deviation of a pulse, in steps
    double read_noise;   // standard deviation of a read weight, in shares of the range
};

/// Updates that were not 0, and those of them that programmed no pulse.
struct Pulses {
    std::int64_t updates = 0;
    std::int64_t none = 0;
};

/// The matrices and kernels of a model in devices. Each spans six times the bound of its initial weights, both ways.
class Crossbars {
  public:
    Crossbars(const Devices& devices, Transfer transfer, std::uint64_t seed)
        : devices_(devices), transfer_(transfer), random_(seed, "devices") {}

    void program_first(Model& model) {
        for (Parameter& parameter : model.parameters()) {
            if (parameter.value.rank() < 2) continue;  // biases are digital
            const double inputs = static_cast<double>(parameter.value.size() / parameter.value.dim(0));
            const double range = 6 / std::sqrt(inputs);
            Array array{&parameter, range, std::ldexp(2 * range, -static_cast<int>(devices_.bits)), {}, {}, {}};
            for (const float w : parameter.value.values()) {
                array.conductance.push_back(array.step * std::nearbyint(static_cast<double>(w) / array.step));
            }
            array.accumulator.assign(array.conductance.size(), 0);
            arrays_.push_back(std::move(array));
        }
        read();
    }

    /// Takes what the optimizer made of the weights that were read, programs the devices, and reads them again.
    void program_updates() {
        for (Array& array : arrays_) {
            for (std::size_t i = 0; i < array.conductance.size(); ++i) {
                const float updated = array.parameter->value[static_cast<Index>(i)];
                const double update = static_cast<double>(updated) - static_cast<double>(array.seen[i]);
                const double pulses = pulses_for(update / array.step, array.accumulator[i]);
                pulses_.updates += update != 0 ? 1 : 0;
                pulses_.none += update != 0 && pulses == 0 ? 1 : 0;
                if (pulses == 0) continue;
                const double noise = devices_.write_noise * std::sqrt(std::fabs(pulses)) * random_.normal();
                const double moved = array.conductance[i] + array.step * (pulses + noise);
                array.conductance[i] = std::min(array.range, std::max(-array.range, moved));
            }
        }
        read();
    }

    [[nodiscard]] const Pulses& pulses() const { return pulses_; }

  private:
    struct Array {
        Parameter* parameter;
        double range;
        double step;
        std::vector<double> conductance;
        std::vector<double> accumulator;  // in steps
        std::vector<float> seen;          // by the net
    };

    double pulses_for(double steps, double& accumulator) {
        if (transfer_ == Transfer::nearest) return std::nearbyint(steps);
        if (transfer_ == Transfer::stochastic) return std::floor(steps + random_.uniform());
        accumulator += steps;
        const double whole = std::trunc(accumulator);
        accumulator -= whole;
        return whole;
    }

    void read() {
        for (Array& array : arrays_) {
            array.seen.clear();
            for (const double g : array.conductance) {
                const double noise = devices_.read_noise == 0 ? 0 : devices_.read_noise * random_.normal();
                array.seen.push_back(static_cast<float>(g + 2 * array.range * noise));
            }
            std::copy(array.seen.begin(), array.seen.end(), array.parameter->value.values().begin());
        }
    }

    Devices devices_;
    Transfer transfer_;
    Random random_;
    std::vector<Array> arrays_;
    Pulses pulses_;
};

/// The task with the net's weights in devices; keeps the pulses.
TaskBuilder in_devices(const TaskBuilder& task, Transfer transfer, const Devices& devices) {
    if (transfer == Transfer::digital) return task;
    return [=](Model& model, std::uint64_t seed) {
        Task result = task(model, seed);
        const auto bars = std::make_shared<Crossbars>(devices, transfer, seed);
        bars->program_first(model);
        result.after_step = [bars](Trainer&, const StepResult&) { bars->program_updates(); };
        keep(result, std::shared_ptr<const Pulses>(bars, &bars->pulses()));
        return result;
    };
}

/// The nets beside the dense one. The LSTM reads an image row by row.
struct OtherNet {
    const char* name;
    Layers layers;
};
std::vector<OtherNet> other_nets(Index hidden) {
    using namespace layers;
    return {{"convolutional", digit_cnn(8, 16)}, {"LSTM", {tokens(14), lstm("lstm", hidden), flatten(), linear("fc")}}};
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const DataSplit data =
        generated_digit_split(settings.integer("train_images"), settings.integer("test_images"), 14, context.seed);
    result.input({"generated digits, training", data.train.digest()});
    const std::int64_t seeds = settings.integer("seeds");
    const bool fine = has_control(context, "fine");
    const auto devices = [&](std::int64_t bits) {
        return fine ? Devices{40, 0, 0} : Devices{bits, settings.real("write_noise"), settings.real("read_noise")};
    };
    const auto task_of = [&](const Layers& net) { return images_task(net, data, settings.integer("batch")); };
    const TaskBuilder task = task_of(dense_net({settings.integer("hidden")}));
    std::vector<Training> arms;
    const auto train = [&](const TaskBuilder& built) {
        arms.push_back({.arithmetic = fp32_arithmetic(),
                        .task = built,
                        .optimizer = {.learning_rate = settings.real("learning_rate")},
                        .steps = settings.integer("steps"),
                        .schedule = linear_decay_factor});
    };
    std::vector<std::pair<Transfer, std::int64_t>> groups;  // what the arms do
    const auto group_of = [&](Transfer transfer, std::int64_t bits) {
        const auto found = std::ranges::find(groups, std::pair(transfer, bits));
        return static_cast<std::size_t>(found - groups.begin());
    };
    const auto add = [&](Transfer transfer, std::int64_t bits) {
        if (group_of(transfer, bits) < groups.size()) return;
        groups.emplace_back(transfer, bits);
        train(in_devices(task, transfer, devices(bits)));
    };
    for (const Way& way : ways) add(way.transfer, settings.integer("bits"));
    const std::int64_t least_bits = std::min<std::int64_t>(4, settings.integer("most_bits"));
    const std::int64_t most_bits = settings.integer("most_bits");
    for (std::int64_t bits = least_bits; bits <= most_bits; ++bits) {
        add(Transfer::accumulated, bits);
        add(Transfer::nearest, bits);
    }
    const std::vector<OtherNet> others = other_nets(settings.integer("hidden"));
    for (const OtherNet& other : others) {
        for (const Way& way : {ways[0], ways[with_accumulator], ways[without_accumulator]}) {
            train(in_devices(task_of(other.layers), way.transfer, devices(settings.integer("bits"))));
        }
    }
    const Comparison runs = compare(context, result, arms, seeds);
    const std::string place = cite(sources::paperspace, "Automatic Mixed Precision Training with Deep Learning");
    const Margin published{0.006, "the gap to software that the article gives", Margin::Side::not_below};
    result.measured("with_accumulator", place,
                    "Weights in noisy analog devices, updates collected in a digital accumulator: the accuracy on "
                    "digits is within 0.6 % of software.",
                    as_good(runs.scores(with_accumulator), runs.scores(0), published, accuracy_text));
    const double gap = runs.mean(0) - runs.mean(with_accumulator);
    result.measured("without_accumulator", place,
                    "It is the accumulator that does it: where each update is programmed by itself the gap is more "
                    "than twice as large, and larger than 0.6 points.",
                    above(std::max(published.size, 2 * gap), runs.mean(0) - runs.mean(without_accumulator),
                          {"gap to fp32", "points", 100, 1}));
    for (std::size_t n = 0; n < others.size(); ++n) {
        const std::size_t at = groups.size() + 3 * n;
        const std::string id = n == 0 ? "convolutional" : "lstm";
        result.measured(id + "_learns", place, fmt::format("The {} net learns to read digits in fp32.", others[n].name),
                        at_least(0.9, runs.mean(at), accuracy_text));
        result.measured(id + "_with_accumulator", place,
                        fmt::format("The {} net, too, is as good in analog devices with an accumulator as in software.",
                                    others[n].name),
                        as_good(runs.scores(at + 1), runs.scores(at), published, accuracy_text));
        result.measured(id + "_without_accumulator", place,
                        fmt::format("Without it the {} net is more than 0.6 points worse.", others[n].name),
                        above(published.size, runs.mean(at) - runs.mean(at + 2), {"gap to fp32", "points", 100, 1}));
    }
    Pulses lost;
    for (const Learned& run : runs.runs[without_accumulator]) {
        lost.updates += run.kept<Pulses>().updates;
        lost.none += run.kept<Pulses>().none;
    }
    const double share = static_cast<double>(lost.none) / static_cast<double>(std::max<std::int64_t>(lost.updates, 1));
    result.measured("updates_lost", place,
                    "Without an accumulator most updates are less than half a step of a device and are lost: swamping, "
                    "with a step instead of the unit in the last place.",
                    above(0.5, share, {"updates lost", "% of the updates", 100, 2}));

    Figure bars{"ways", "A net in analog devices: four ways to update",
                fmt::format("{} bits a device, pulses with {} steps of noise, reading with {} % of the range. Bars: "
                            "median of {}; lines: minimum to maximum.",
                            settings.integer("bits"), settings.real("write_noise"), 100 * settings.real("read_noise"),
                            counted(seeds, "seed")),
                "The accumulator plays the part of the fp32 master weights: updates wait in it until they make a whole "
                "step of a device. A stochastic step keeps the updates' mean. Medians:",
                ""};
    for (std::size_t w = 0; w < std::size(ways); ++w) {
        Bars one(ways[w].name);
        const Spread spread = runs.spread(w);
        one.add(static_cast<double>(w), spread);
        one.move_into(bars, {.mark = Mark::boxes});
        bars.axes.x.names.emplace_back(static_cast<double>(w), ways[w].name);
        bars.meaning += fmt::format("{} {} {}", w == 0 ? "" : ",", ways[w].name, accuracy_text.text(spread.middle));
    }
    bars.meaning += ".";
    bars.axes = {
        {.from = -0.6, .to = static_cast<double>(std::size(ways)) - 0.4, .names = std::move(bars.axes.x.names)},
        percent_axis("accuracy")};
    bars.key = Key::none;
    bars.bar_width = 0.5;
    result.figure(std::move(bars));
    Figure levels{"bits", "How fine must a device be?",
                  fmt::format("Accuracy against the bits of a device; median, minimum and maximum of {}. Band: fp32.",
                              counted(seeds, "seed")),
                  "Without an accumulator each bit less doubles the smallest update that counts.", ""};
    levels.series.push_back({"digital fp32", formats::fp64, {}});
    const Spread digital = runs.spread(0);
    for (const std::int64_t x : {least_bits, most_bits}) {
        levels.series[0].points.push_back({static_cast<double>(x), digital.least});
        levels.series[0].points.push_back({static_cast<double>(x), digital.largest});
    }
    Bars with("accumulator");
    Bars without("nearest step");
    for (std::int64_t bits = least_bits; bits <= most_bits; ++bits) {
        const auto accuracy = [&](Transfer transfer) { return runs.spread(group_of(transfer, bits)); };
        with.add(static_cast<double>(bits), accuracy(Transfer::accumulated));
        without.add(static_cast<double>(bits), accuracy(Transfer::nearest));
    }
    const auto medians = [&](Transfer transfer, const char* name) {
        const auto middle = [&](std::int64_t bits) {
            return accuracy_text.text(runs.spread(group_of(transfer, bits)).middle);
        };
        levels.meaning += fmt::format(" Medians {} one: {} with {}, {} with {}.", name, middle(least_bits),
                                      counted(least_bits, "bit"), middle(most_bits), counted(most_bits, "bit"));
    };
    medians(Transfer::accumulated, "with");
    medians(Transfer::nearest, "without");
    levels.looks = {{.mark = Mark::none}};
    with.move_into(levels, {.mark = Mark::linespoints, .size = 1.3, .title = "with a digital accumulator"});
    without.move_into(levels, {.mark = Mark::linespoints, .size = 1.3, .title = "each update to the nearest step"});
    levels.axes = {{.label = "bits of a device", .room = 0.3, .step = 1.0}, percent_axis("accuracy")};
    levels.guides = {
        {.bottom = 100 * digital.least, .top = 100 * digital.largest, .text = "fp32, all seeds", .strength = 0.4}};
    result.figure(std::move(levels));
}

}  // namespace

Experiment experiment() {
    return {
        "analog",
        "Weights in analog memory: what the digital accumulator is for",
        "Can a net learn whose weights are coarse, noisy conductances?",
        {Chapter::systems, 8},
        {integer_setting("steps", "training steps", 450, 1500, 2, 1000000).smoke(100),
         integer_setting("batch", "images a step", 32, 64, 1, 1024),
         integer_setting("hidden", "units of the hidden layer", 32, 128, 1, 4096),
         integer_setting("train_images", "generated digits to learn from", 2000, 10000, 64, 1000000).smoke(500),
         integer_setting("test_images", "generated digits to judge by", 1000, 2000, 10, 1000000).smoke(300),
         integer_setting("bits", "2^bits steps span a device's range", 6, 6, 1, 24),
         integer_setting("most_bits", "of the finest devices tried", 8, 12, 1, 24).smoke(1),
         real_setting("write_noise", "standard deviation of a pulse, in steps", 0.5, 0.5, 0, 10),
         real_setting("read_noise", "standard deviation of a read weight, as a share of the range", 0.005, 0.005, 0, 1),
         integer_setting("seeds", "runs of each kind", 3, 6, 1, 100).smoke(3),
         real_setting("learning_rate", "of SGD at the start; it falls to 0", 0.2, 0.2, 0, 10),
         control_setting("fine gives the devices 2^40 steps and no noise", {"fine"})},
        run,
        {Control("control=fine",
                 "without_accumulator convolutional_without_accumulator lstm_without_accumulator updates_lost"),
         Control("read_noise=0.1", "with_accumulator convolutional_with_accumulator lstm_with_accumulator",
                 RunSize::quick, "most_bits=1 bits=10 read_noise=0"),
         Control("learning_rate=0",
                 "without_accumulator convolutional_learns convolutional_without_accumulator lstm_learns "
                 "lstm_without_accumulator updates_lost",
                 RunSize::quick, "most_bits=1")},
        {},
        fp32_alone};
}

}  // namespace ulp::analog_experiment
