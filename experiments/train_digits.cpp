// The trainer in twenty lines: a net, a recipe, a matrix unit, the loop. Start here.
//
//     train_digits [RECIPE [BACKEND]]        as in: train_digits mixed_fp16 soft:h100
#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "engine/data/generated.hpp"
#include "engine/training/images.hpp"
#include "engine/training/schedule.hpp"
#include "engine/training/trainer.hpp"

int main(int count, char** arguments) try {
    using namespace ulp;
    const std::string recipe = count > 1 ? arguments[1] : "mixed_fp16";  // which formats, and where it rounds
    const std::string backend = count > 2 ? arguments[2] : "soft:h100";  // whose products
    Trainer trainer(Engine(recipe, backend), 1);                         // the seed of the weights
    const Mlp net(trainer.model(), {196, 32, 10});
    trainer.optimize({.learning_rate = 0.1, .momentum = 0.9});

    const DataSplit data = generated_digit_split(2000, 500, 14, 1);
    BatchSchedule batches(data.train.size(), 50, 1);
    while (trainer.steps() < 120) {
        const Batch batch = batch_of(data.train, batches.next());
        const StepResult result =
            trainer.step([&](Tape& tape) { return cross_entropy(net(images_on(tape, batch.images)), batch.labels); });
        if (result.step % 20 == 0)
            fmt::print("step {:3}  loss {:.4f}  scale {}\n", result.step, result.loss, result.loss_scale);
    }
    fmt::print("right: {:.1f}%\n", 100 * accuracy(trainer.evaluation(), net, data.test));
    fmt::print("trace: {}\n", trainer.trace().digest());  // the same on every machine
    return std::fflush(stdout) == 0 ? 0 : 3;              // 3: a full device
} catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
}
