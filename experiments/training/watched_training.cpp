#include "experiments/training/watched_training.hpp"

#include <algorithm>

namespace ulp {
namespace {

/// One forward and backward pass with these weights, the loss times `scale`; nothing is updated.
Histograms probe(Engine engine, const std::vector<Index>& widths, const Model& weights, const Batch& batch,
                 double scale) {
    Histograms histograms(std::size(watched));
    engine.loss_scale = scale;
    engine.tap = [&](const TapEvent& event) {
        for (std::size_t i = 0; i < std::size(watched); ++i) {
            if (watched[i].role == event.role && watched[i].tensor == event.name) histograms[i].add(event.values);
        }
    };
    Model model(engine.recipe, 0);
    const Mlp net(model, widths);
    for (std::size_t i = 0; i < weights.parameters().size(); ++i) {
        model.parameters()[i].value = weights.parameters()[i].updated();
        model.parameters()[i].value.round_to_format(engine.recipe.weights);
    }
    Tape tape(engine);
    const Var loss = cross_entropy(net(images_on(tape, batch.images)), batch.labels);
    tape.backward(loss, static_cast<float>(scale));
    return histograms;
}

/// Probes before the step, at four places of the training.
void look(const TrainingOptions& options, const std::vector<Index>& widths, const Model& weights, const Batch& batch,
          std::int64_t step, Training& training) {
    const std::int64_t last = options.steps - 1;
    if (step != 0 && step != options.steps / 8 && step != options.steps / 2 && step != last) return;
    const auto in_fp32 = [&](double scale) {
        return probe(Engine("fp32", "soft:ieee"), widths, weights, batch, scale);
    };
    const auto as_trained = [&](double scale) {
        return probe(Engine(options.recipe, options.backend), widths, weights, batch, scale);
    };
    training.snapshots.push_back({step, in_fp32(1)});
    if (step != last) return;
    training.fp32_scaled = in_fp32(options.scale);
    training.low = as_trained(1);
    training.low_scaled = as_trained(options.scale);
}

}  // namespace

Training train(const TrainingOptions& options, const DataSplit& data, const std::function<void(double)>& progress) {
    const std::vector<Index> widths = {data.train.features(), options.hidden, data.train.classes};
    Trainer trainer(Engine(options.recipe, options.backend), options.seed);
    const Mlp net(trainer.model(), widths);
    trainer.optimize({.learning_rate = options.learning_rate, .momentum = 0.9});
    trainer.keep_trace = false;
    BatchSchedule batches(data.train.size(), options.batch, options.seed);

    Training training;
    for (std::int64_t step = 0; step < options.steps; ++step) {
        const Batch batch = batch_of(data.train, batches.next());
        if (options.probes) look(options, widths, trainer.model(), batch, step, training);
        const StepResult done =
            trainer.step([&](Tape& tape) { return cross_entropy(net(images_on(tape, batch.images)), batch.labels); });
        training.losses.push_back(done.loss);
        progress(static_cast<double>(step + 1) / static_cast<double>(options.steps));
    }
    training.accuracy = accuracy(trainer.engine(), net, data.test);
    return training;
}

}  // namespace ulp
