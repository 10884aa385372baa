#include "experiments/training/texture_features.hpp"

#include <algorithm>
#include <cmath>

#include "engine/nets/blocks.hpp"
#include "engine/training/images.hpp"
#include "experiments/training/arithmetics.hpp"

namespace ulp {
namespace {

constexpr Index batch = 16;

/// Two layers of features, the mean of each map, and a score for each of four directions.
struct DirectionNet {
    Parameter* first;
    Parameter* second;
    Linear out;

    explicit DirectionNet(Model& model)
        : first(&model.add("first.weight", {8, 3, 3, 3}, Init::fan_in(27))),
          second(&model.add("second.weight", {16, 8, 3, 3}, Init::fan_in(72))),
          out(model, "out", 16, 4) {}

    Var operator()(Var images) const {
        Var x = texture_maps(images, on_tape(images, first));
        x = texture_maps(x, on_tape(images, second));
        return out(reshape(avg_pool2d(x, x.dim(2)), {x.dim(0), x.dim(1)}));
    }
};

TaskBuilder directions_task(const Dataset& train, const Dataset& test) {
    return [&](Model& model, std::uint64_t seed) -> Task {
        const DirectionNet net(model);
        const auto order = batches(train.size(), std::min(batch, train.size()), seed);
        const auto scores = [=](Tape& tape, const Dataset& data, const std::vector<Index>& which) {
            return net(centred_on(tape, data, which, 1));
        };
        return {.loss =
                    [=, &train](Tape& tape, std::int64_t step) {
                        const std::vector<Index> which = order(step);
                        return cross_entropy(scores(tape, train, which), batch_of(train, which).labels);
                    },
                .measure =
                    [=, &test](Evaluation& evaluation, Learned& learned) {
                        Tape tape(evaluation);
                        const std::vector<Index> which = index_range(0, test.size());
                        const Tensor found = scores(tape, test, which).value();
                        double right = 0;
                        for (const Index i : which) {
                            const float* row = found.data() + 4 * i;
                            const auto best = std::max_element(row, row + 4) - row;
                            right += best == test.labels[static_cast<std::size_t>(i)] ? 1 : 0;
                        }
                        learned.scores = {right / static_cast<double>(test.size())};
                    }};
    };
}

double mean_square(const Tensor& x) {
    double sum = 0;
    for (const float v : x.values()) sum += static_cast<double>(v) * static_cast<double>(v);
    return sum / static_cast<double>(x.size());
}

/// Scales the kernel so that its maps of these inputs have this mean square together, and returns the maps. One factor
/// for all: a map that the training left nearly dead stays small.
Tensor scale_to(double square, Var images, Tensor& kernel) {
    Tensor maps = texture_maps(images, images.tape->input(kernel)).value();
    const auto factor = static_cast<float>(std::sqrt(square / mean_square(maps)));
    for (Index i = 0; i < maps.size(); ++i) maps[i] *= factor;
    for (Index i = 0; i < kernel.size(); ++i) kernel[i] *= factor;
    return maps;
}

}  // namespace

Var texture_maps(Var images, Var kernel) {
    const Var no_bias = reshape(images_on(*images.tape, Matrix::Zero(1, kernel.dim(0))), {kernel.dim(0)});
    return relu(conv2d(images, kernel, no_bias, {.stride = 2, .padding = 1}));
}

Var TextureFeatures::difference(Var images, Var wanted) const {
    Tape& tape = *images.tape;
    const Var kernels[] = {tape.input(first), tape.input(second)};
    std::vector<Var> differences;
    for (const Var& kernel : kernels) {
        images = texture_maps(images, kernel);
        wanted = texture_maps(wanted, kernel);
        differences.push_back(mse(images, wanted.value()));
    }
    return add(differences[0], differences[1]);
}

TextureFeatures trained_texture_features(const Dataset& train, const Dataset& test, std::int64_t steps,
                                         std::uint64_t seed) {
    TrainingRun run({.arithmetic = fp32_arithmetic(),
                     .task = directions_task(train, test),
                     .optimizer = {.kind = OptimizerKind::adam, .learning_rate = 2e-2},
                     .steps = steps,
                     .schedule = linear_decay_factor},
                    seed);
    for (std::int64_t step = 0; step < steps; ++step) run.step();
    Model& model = run.trainer().model();
    TextureFeatures found{model["first.weight"].value, model["second.weight"].value, run.measured().scores.front()};
    const Engine engine("fp32", "soft:ieee");
    Tape tape(engine);
    const Var images = centred_on(tape, test, index_range(0, test.size()), 1);
    const double square = mean_square(images.value());
    scale_to(square, tape.input(scale_to(square, images, found.first)), found.second);
    return found;
}

}  // namespace ulp
