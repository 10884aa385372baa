// What a net that is data learns, as `ulplab train` has it: a loss for each step, and the share of answers that come
// out right.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "engine/nets/nets.hpp"
#include "engine/tensor/random.hpp"
#include "engine/training/trainer.hpp"

namespace ulp {

/// Where the examples come from.
struct TaskData {
    Index examples = 2000;  // generated ones, to train on
    Index batch = 64;
    std::uint64_t seed = 1;
    std::string mnist{};                    // folder of the real digits
    std::string data{};                     // .npy of examples, or a text; the last tenth to test on
    std::string labels{};                   // .npy of their classes
    Reduction reduction = Reduction::mean;  // of a batch's losses
};

/// The scores at the places of a batch where an answer is asked for, in rows, and the answers.
struct Asked {
    Var scores;
    std::vector<int> answers;
};

struct NetTask {
    std::string data;  // which examples: their SHA-256 and number
    std::function<Asked(Tape&, const Net&, std::int64_t step)> asked;
    Reduction reduction;
    [[nodiscard]] Var loss(Tape& tape, const Net& net, std::int64_t step) const {
        const Asked batch = asked(tape, net, step);
        return cross_entropy(batch.scores, batch.answers, reduction);
    }
    std::function<double(const Evaluation&, const Net&)> right;  // on examples that were not trained on, from 0 to 1
};

/// A row for each word that a net's "task" may be.
struct TaskKind {
    std::string_view name;
    std::string_view what;
    NetInput input;  // of the nets by name
    Index outputs;
    NetTask (*make)(const NetDescription& net, const TaskData& data);
};
/// images, text and translation.
std::span<const TaskKind> task_kinds();

/// Throws DataError where there is no such task, or the examples do not fit the net; UsageError for options that the
/// task does not have.
NetTask task_of(const NetDescription& net, const TaskData& data);

/// The next step of a training on the task, and what follows it.
StepResult train_step(Trainer& trainer, const NetTask& task, const Net& net);
/// Sophia's estimate of the curvature, by the batch of every tenth step (Liu et al., arXiv 2305.14342: k = 10); nothing
/// with other optimizers.
void follow_step(Trainer& trainer, const NetTask& task, const Net& net, const StepResult& done);

/// For each row of scores an answer drawn from their softmax, for Sophia's curvature.
std::vector<int> drawn_answers(const Tensor& scores, Random random);

/// A net by name with all that its file would say.
NetDescription description_of(const NamedNet& named);

}  // namespace ulp
