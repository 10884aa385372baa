// What a net that is data learns, as `ulplab train` has it: a loss for each step, and the share of answers that come
// out right.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "experiments/nets/net_json.hpp"

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

struct NetTask {
    std::string data;  // which examples: their SHA-256 and number
    std::function<Var(Tape&, const Net&, std::int64_t step)> loss;
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

/// A net by name with all that its file would say.
NetDescription description_of(const NamedNet& named);

}  // namespace ulp
