#include "experiments/training/watched_training.hpp"

#include "engine/training/images.hpp"
#include "experiments/training/tasks.hpp"

namespace ulp {
namespace {

/// One forward and backward pass with these weights, the loss times `scale`; nothing is updated.
Histograms probe(const Engine& engine, const NetBuilder& build, const Model& weights, const Batch& batch,
                 double scale) {
    Histograms histograms(std::size(watched));
    Run run{.loss_scale = scale};
    run.observers.tap = [&](const TapEvent& event) {
        for (std::size_t i = 0; i < std::size(watched); ++i) {
            if (watched[i].role == event.role && watched[i].tensor == event.name) histograms[i].add(event.values);
        }
    };
    Model model(engine.recipe, 0);
    const ImageNet net = build(model);
    for (std::size_t i = 0; i < weights.parameters().size(); ++i) {
        model.parameters()[i].value = weights.parameters()[i].updated();
        model.parameters()[i].value.round_to_format(engine.recipe.weights);
    }
    Tape tape(engine, run);
    const Var loss = cross_entropy(net(images_on(tape, batch.images)), batch.labels);
    tape.backward(loss, static_cast<float>(scale));
    return histograms;
}

/// Probes before the step, at four places of the training.
void look(const ProbeOptions& options, const NetBuilder& build, const Model& weights, const Batch& batch,
          std::int64_t step, Probes& probes) {
    const std::int64_t last = options.steps - 1;
    if (step != 0 && step != options.steps / 8 && step != options.steps / 2 && step != last) return;
    const auto in_fp32 = [&](double scale) { return probe(Engine("fp32", "soft:ieee"), build, weights, batch, scale); };
    const auto as_trained = [&](double scale) {
        const Arithmetic& trained = options.trained;
        return probe(Engine(trained.recipe, make_backend(trained.backend)), build, weights, batch, scale);
    };
    probes.snapshots.push_back({step, in_fp32(1)});
    if (step != last) return;
    probes.fp32_scaled = in_fp32(options.scale);
    probes.low = as_trained(1);
    probes.low_scaled = as_trained(options.scale);
}

}  // namespace

TaskBuilder probed_task(const ProbeOptions& options, const DataSplit& data) {
    return [options, &data](Model& model, std::uint64_t seed) {
        const NetBuilder build = [options, &data](Model& m) {
            return Net(m, options.net, shape_of(data.train), data.train.classes);
        };
        Task task = images_task(build, data, options.batch)(model, seed);
        const auto probes = std::make_shared<Probes>();
        const auto order = batches(data.train.size(), options.batch, seed);
        task.loss = [=, &data, &model, loss = task.loss](Tape& tape, std::int64_t step) {
            look(options, build, model, batch_of(data.train, order(step)), step, *probes);
            return loss(tape, step);
        };
        keep(task, probes);
        return task;
    };
}

}  // namespace ulp
