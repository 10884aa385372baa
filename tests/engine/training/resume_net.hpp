// The run that the tests of checkpoints interrupt: batch normalisation, dropout, Adam and a moving loss scale, so that
// every kind of state takes part.
#pragma once

#include <string>

#include "engine/data/generated.hpp"
#include "engine/files/sha256.hpp"
#include "engine/training/images.hpp"
#include "engine/training/schedule.hpp"
#include "engine/training/trainer.hpp"

namespace ulp::test {

inline Recipe resume_recipe() {
    Recipe recipe = recipe_by_name("mixed_fp16");
    recipe.loss_scale.initial = 0x1p20;
    recipe.loss_scale.window = 3;
    return recipe;
}

struct ResumeRun {
    Trainer trainer;
    Linear first;
    BatchNorm norm;
    Linear second;
    Dataset data = generated_digits({.count = 48, .side = 14, .seed = 1});
    BatchSchedule batches{48, 8, 1};

    explicit ResumeRun(std::uint64_t seed = 7, Index width = 12, OptimizerKind kind = OptimizerKind::adam,
                       const Recipe& recipe = resume_recipe())
        : trainer(Engine(recipe, make_backend("soft:ieee")), seed),
          first(trainer.model(), "first", 196, width),
          norm(trainer.model(), "norm", width),
          second(trainer.model(), "second", width, 10) {
        trainer.optimize({.kind = kind, .learning_rate = 0.01});
        trainer.keep_trace = false;
    }

    [[nodiscard]] Var logits(Var images) const { return second(dropout(relu(norm(first(images))), 0.2)); }

    StepResult step() {
        const Batch batch = batch_of(data, batches.at(trainer.steps()));
        return trainer.step(
            [&](Tape& tape) { return cross_entropy(logits(images_on(tape, batch.images)), batch.labels); });
    }

    /// Everything that a run leaves: parameters, statistics, optimizer state, scale, what delayed scales remember.
    [[nodiscard]] std::string digest() {
        Sha256 sha;
        for (const Parameter& p : trainer.model().parameters()) sha.add(p.value.values()).add(p.updated().values());
        for (const auto& [name, s] : trainer.model().statistics()) sha.add(s.mean.values()).add(s.variance.values());
        for (const auto& [name, tensors] : trainer.optimizer().state()) {
            for (const auto& [kind, tensor] : tensors) sha.add(tensor.values());
        }
        for (const auto& [place, magnitudes] : trainer.run().scaling_history) sha.add(std::span(magnitudes));
        const double scale = trainer.scaler().value();
        return sha.add(std::span(&scale, 1)).hex();
    }
};

}  // namespace ulp::test
