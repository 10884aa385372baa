// Which net is trained, on which data, in which arithmetic: what a user says in options, and what it means.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/nets/net_tasks.hpp"
#include "engine/training/trainer.hpp"

namespace ulp {

struct NetOptions {
    std::string net = "mlp";
    std::string recipe = "mixed_fp16";
    std::string level;
    std::vector<std::string> overrides;
    std::vector<std::string> fp32;  // operations that are computed and stored in it
    std::vector<std::string> low;   // operations that take their inputs in the recipe's low format
    std::string backend;
    std::string optimizer = "sgd";
    std::string scaler;
    double learning_rate = 0.05;
    std::optional<double> loss_scale, eps;
    std::string init = "default";
    std::string reduction = "mean";
    std::string statistics;
    std::int64_t steps = 100;
    std::int64_t batch = 64;
    std::int64_t images = 2000;
    std::string mnist, data, labels, weights;
    std::uint64_t seed = 1;
};

/// The value of --loss-scale: a number, or the name of a rule; the last one given counts.
void take_loss_scale(NetOptions& options, const std::string& text);
/// Throws UsageError for steps, batches, scales, rates and --eps that make no sense.
void require_sensible(const NetOptions& options);
/// Of a name in the table, or of a file. Throws DataError that names the place.
NetDescription net_of(const std::string& net);
NetTask task_of(const NetDescription& net, const NetOptions& options, std::uint64_t seed);
OptimizerOptions optimizer_of(const NetOptions& options);
/// A format that fp32's container holds, for numbers of both signs. Throws UsageError that names the option.
FloatFormat kept_format(const char* option, const std::string& name, bool computes = false);
/// What the level decides, as a table; empty without a level. Throws UsageError for a property that it has not.
std::string level_table(const NetOptions& options);
Recipe recipe_of(const NetOptions& options);
/// Throws UsageError, which begins with what the user `asked` for, where the recipe's loss scale is not a normal number
/// of fp32, and where there is one though updates are in 16 bits: gradients underflow when they are unscaled.
void require_scalable(const Recipe& recipe, const std::string& asked);
/// The backend that was named, or one that has the recipe's products: H100's Tensor Core, or the processor's fp32; with
/// IEEE products beside it where the recipe has some operations' products in fp32.
std::string backend_for(const NetOptions& options, const Recipe& recipe);

/// The options that make a training again, as `ulplab train` takes them: {"--net", "mlp"}, {"--recipe", "bf16"}, ...
/// `unit` is what multiplies where the options leave it open.
std::vector<std::pair<std::string, std::string>> words_of(const NetOptions& options, const std::string& unit);

/// A net and what it is trained on.
struct NetTraining {
    Trainer trainer;
    NetTask task;
    Net net;

    /// From --weights where the options name them. Throws as task_of and load_weights.
    NetTraining(const NetOptions& options, const NetDescription& description, Engine engine, std::uint64_t seed,
                const OptimizerOptions& optimizer);
    StepResult step() { return train_step(trainer, task, net); }
};

/// The operations that a step of the net computes and rounds, in the order of their first use: "linear", "relu", ...
std::vector<std::string> operations_of(const NetDescription& net, const NetTask& task);
/// Throws UsageError for a name of --fp32 or --low that the net has not, or that is in both.
void require_operations(const NetOptions& options, const std::vector<std::string>& known);

}  // namespace ulp
