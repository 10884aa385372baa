// `ulplab train`: one net under one recipe and matrix unit, with everything that can be watched of it.
#include <fmt/format.h>
#include <signal.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>

#include "engine/files/file_lock.hpp"
#include "engine/files/sha256.hpp"
#include "engine/files/whole_file.hpp"
#include "engine/recipes/levels.hpp"
#include "engine/recipes/product_plan.hpp"
#include "engine/training/checkpoint.hpp"
#include "engine/training/trainer.hpp"
#include "engine/training/weights.hpp"
#include "experiments/commands/command.hpp"
#include "experiments/commands/training/train_report.hpp"
#include "experiments/program/interruption.hpp"
#include "experiments/training/net_tasks.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/format_names.hpp"

namespace ulp {
namespace {

struct Options {
    std::string net = "mlp";
    std::string recipe = "mixed_fp16";
    std::string level;
    std::vector<std::string> overrides;
    std::string backend;
    std::string optimizer = "sgd";
    std::string scaler;
    std::string mnist, products, checkpoint, weights, save_weights;
    double learning_rate = 0.05;
    std::optional<double> loss_scale, eps;
    std::string init = "default";
    std::string reduction = "mean";
    std::string statistics, average;
    std::int64_t steps = 100;
    std::int64_t batch = 64;
    std::int64_t images = 2000;
    std::uint64_t seed = 1;
    std::string data, labels;
    bool print_net = false;
    bool bytes = false;
    bool counts = false;
    bool why_nan = false;
    bool evaluate_fp32 = false;
};

/// A format that fp32's container holds, for numbers of both signs.
FloatFormat kept_format(const char* option, const std::string& name) {
    const FloatFormat format = format_by_name(name);
    if (format != formats::fp64 && format.has_sign) return format;
    throw UsageError(fmt::format("{} keeps numbers of both signs in at most 32 bits, not in {}", option, name));
}

Recipe recipe_of(const Options& options) {
    Recipe recipe;
    if (options.level.empty()) {
        if (!options.overrides.empty()) throw UsageError("--override changes a --level; name one, from O0 to O3");
        recipe = recipe_by_name(options.recipe);
    } else {
        LevelProperties changed;
        for (const std::string& text : options.overrides) {
            const std::size_t equals = text.find('=');
            if (equals == std::string::npos) throw UsageError("--override takes PROPERTY=VALUE, not '" + text + "'");
            changed[text.substr(0, equals)] = text.substr(equals + 1);
        }
        const Level level(options.level, changed);
        fmt::print("{}\n", level.table());
        recipe = level.recipe();
    }
    if (recipe.weights == formats::fp64) {
        throw UsageError(
            fmt::format("recipe {} is for gradient checks; train in fp32 or narrower formats", recipe.name));
    }
    if (options.loss_scale) recipe.loss_scale = constant_loss_scale(*options.loss_scale);
    if (!options.scaler.empty()) recipe.loss_scale = loss_scale_dialect(options.scaler);
    if (!options.statistics.empty()) recipe.statistics = kept_format("--statistics", options.statistics);
    return recipe;
}

/// DECAY, DECAY:FORMAT or DECAY:FORMAT:stochastic.
std::optional<AverageOptions> averages_of(const Options& options) {
    if (options.average.empty()) return std::nullopt;
    std::istringstream words(options.average);
    std::string decay, format, rounding, more;
    std::getline(words, decay, ':');
    std::getline(words, format, ':');
    std::getline(words, rounding, ':');
    AverageOptions average{.seed = options.seed};
    const auto [end, error] = std::from_chars(decay.data(), decay.data() + decay.size(), average.decay);
    const bool known = rounding.empty() || rounding == "nearest" || rounding == "stochastic";
    if (error != std::errc() || end != decay.data() + decay.size() || !known || std::getline(words, more)) {
        throw UsageError(
            fmt::format("--ema takes DECAY, DECAY:FORMAT or DECAY:FORMAT:stochastic, such as 0.999:bf16, not '{}'",
                        options.average));
    }
    if (!format.empty()) average.format = kept_format("--ema", format);
    if (rounding == "stochastic") average.rounding = UpdateRounding::stochastic;
    return average;
}

/// The model, before a net asks it for parameters.
Model& initialised(Model& model, const Options& options) {
    model.initialise_by(Initialisation(options.init));
    return model;
}

void require_sensible(const Options& options) {
    if (options.steps < 1 || options.batch < 1) throw UsageError("--steps and --batch are at least 1");
    if (options.mnist.empty() && options.data.empty() && options.images < options.batch) {
        throw UsageError(fmt::format("--images ({}) is less than --batch ({}); give at least as many", options.images,
                                     options.batch));
    }
    for (const auto& [name, given] :
         {std::pair{"--loss-scale", options.loss_scale.value_or(1)}, {"--learning-rate", options.learning_rate}}) {
        if (!(given > 0) || std::isinf(given))
            throw UsageError(fmt::format("{} is {}; give a positive finite number", name, given));
    }
}

/// The backend that was named, or one that has the recipe's products: H100's Tensor Core, or the processor's fp32.
std::unique_ptr<MatmulBackend> backend_of(const Options& options, const Recipe& recipe) {
    std::unique_ptr<MatmulBackend> backend = make_backend(options.backend.empty() ? "soft:h100" : options.backend);
    const std::optional<std::string> refusal = refusal_of(recipe, *backend);
    if (options.backend.empty() && (refusal || !backend->has_product(recipe.product_types())))
        return make_backend("eigen");
    if (refusal) throw UsageError(*refusal);
    return backend;
}

Engine engine_of(const Options& options) {
    const Recipe recipe = recipe_of(options);
    return {recipe, backend_of(options, recipe)};
}

OptimizerOptions optimizer_of(const Options& options) {
    OptimizerOptions optimizer{.kind = optimizer_by_name(options.optimizer), .learning_rate = options.learning_rate};
    if (optimizer.kind == OptimizerKind::sgd) optimizer.momentum = 0.9;
    if (options.eps) optimizer.eps = *options.eps;
    return optimizer;
}

/// Of a name in the table, or of a file.
NetDescription net_of(const std::string& net) {
    if (!net.ends_with(".json")) return description_of(net_by_name(net));
    const std::string text = read_whole_file(net);
    try {
        return net_from_json(text);
    } catch (const DataError& error) {
        throw DataError(fmt::format("{}: {}", net, error.what()));
    }
}

/// One run of this command: what it trains, on what, and who watches.
class NetRun {
  public:
    explicit NetRun(const Options& options)
        : options_(options),
          description_(net_of(options.net)),
          task_(task_of(description_, {options.images, options.batch, options.seed, options.mnist, options.data,
                                       options.labels, reduction_by_name(options.reduction)})),
          trainer_(engine_of(options), options.seed),
          net_(initialised(trainer_.model(), options), description_.layers, description_.input.shape,
               description_.outputs) {
        trainer_.optimize(optimizer_of(options));
        if (const auto average = averages_of(options)) trainer_.average(*average);
        if (options.counts || options.why_nan) trainer_.observers().watch = &watch_;
        if (!options.products.empty()) products_.emplace(trainer_, trainer_.engine().backend->name());
    }

    ExitCode run();

  private:
    /// What the run's bits depend on and an option says; --steps may grow.
    [[nodiscard]] RunIdentity identity() const;
    void start_from_weights();
    void resume();
    void train();
    void save();
    ExitCode interrupted(int signal);
    ExitCode report();
    [[nodiscard]] Trainer::Forward forward_at(std::int64_t step);
    /// Of the last step's batch, with the weights as they are.
    [[nodiscard]] double loss_now();

    const Options options_;
    const NetDescription description_;
    const NetTask task_;
    Trainer trainer_;
    const Net net_;
    std::optional<FileLock> lock_;
    RunIdentity identity_;  // of the checkpoint's run, where there is one
    Watch watch_;
    std::optional<ProductLog> products_;
    std::int64_t first_ = 0;  // step that this process began with
    std::int64_t skipped_ = 0;
    double loss_ = 0;
};

RunIdentity NetRun::identity() const {
    return {
        {"--net", description_.name},
        {"net", "of SHA-256 " + sha256_of(json_of(description_))},
        {"--recipe", trainer_.engine().recipe.name},
        {"--backend", trainer_.engine().backend->name()},
        {"--optimizer", options_.optimizer},
        {"--learning-rate", fmt::format("{}", options_.learning_rate)},
        {"--batch", fmt::format("{}", options_.batch)},
        {"--seed", fmt::format("{}", options_.seed)},
        {"--weights", options_.weights.empty() ? "none" : "of SHA-256 " + sha256_of(read_whole_file(options_.weights))},
        {"--init", options_.init},
        {"--loss-reduction", options_.reduction},
        {"data", task_.data}};
}

Trainer::Forward NetRun::forward_at(std::int64_t step) {
    return [this, step](Tape& tape) { return task_.loss(tape, net_, step); };
}

void NetRun::start_from_weights() {
    if (options_.weights.empty()) return;
    for (const std::string& remark : load_weights(options_.weights, trainer_.model())) {
        fmt::print(stderr, "ulplab: {}: {}\n", options_.weights, remark);
    }
    if (const auto average = averages_of(options_)) trainer_.average(*average);  // they start as these
}

void NetRun::resume() {
    if (options_.checkpoint.empty()) return;
    lock_.emplace(options_.checkpoint);
    identity_ = identity();
    if (!std::filesystem::exists(options_.checkpoint)) return;
    load_checkpoint(options_.checkpoint, trainer_, identity_);
    first_ = trainer_.steps();
    if (first_ < options_.steps) {
        fmt::print("{}: resumed at step {}\n", options_.checkpoint, first_);
        std::fflush(stdout);
    } else {
        fmt::print("{}: this run is finished, {} steps of {}; a larger --steps continues it\n", options_.checkpoint,
                   first_, options_.steps);
        loss_ = loss_now();
    }
}

double NetRun::loss_now() {
    Evaluation evaluation = trainer_.evaluation();
    Tape tape(evaluation);
    return static_cast<double>(task_.loss(tape, net_, trainer_.steps() - 1).value()[0]);
}

void NetRun::save() {
    if (!options_.checkpoint.empty()) save_checkpoint(options_.checkpoint, trainer_, identity_);
}

void NetRun::train() {
    const std::int64_t every = std::max<std::int64_t>(1, options_.steps / 10);
    while (trainer_.steps() < options_.steps && !(options_.why_nan && watch_.first_nonfinite) &&
           Interruption::signal() == 0) {
        const StepResult done = trainer_.step(forward_at(trainer_.steps()));
        skipped_ += done.skipped ? 1 : 0;
        loss_ = done.loss;
        if (done.step % every == 0 || trainer_.steps() == options_.steps) {
            fmt::print("step {:>5}  loss {:<10.6g} scale {:g}{}\n", done.step, done.loss, done.loss_scale,
                       done.skipped ? "  skipped" : "");
            std::fflush(stdout);  // line by line through a pipe, too
        }
        if (trainer_.steps() % every == 0) save();
    }
    if (trainer_.steps() > first_) save();
}

ExitCode NetRun::interrupted(int signal) {
    const std::int64_t steps = trainer_.steps();
    if (options_.checkpoint.empty()) {
        fmt::print(stderr, "ulplab: interrupted after {} of {} steps, which are lost; --checkpoint FILE keeps them\n",
                   steps, options_.steps);
    } else {
        fmt::print(stderr, "ulplab: interrupted after {} of {} steps, saved in {}; to go on:\n    {}\n", steps,
                   options_.steps, options_.checkpoint, command_line());
    }
    return signal == SIGINT ? ExitCode::interrupted : ExitCode::terminated;
}

ExitCode NetRun::report() {
    const std::string since = first_ == 0 ? "" : fmt::format(" since step {}", first_);
    const auto right = [&](EvaluatedWeights weights) {
        const EvaluationOptions how{.weights = weights, .fp32 = options_.evaluate_fp32};
        return 100 * task_.right(trainer_.evaluation(how), net_);
    };
    fmt::print("right {:.1f}%, {} steps skipped{}, trace {}\n", right(EvaluatedWeights::model), skipped_, since,
               trainer_.trace().digest());
    if (trainer_.averages()) fmt::print("right {:.1f}% with the averages\n", right(EvaluatedWeights::averages));
    if (options_.bytes) print_bytes("used", trainer_.bytes());
    if (options_.counts) print_counts(watch_);
    if (options_.why_nan) {
        if (watch_.skips > 0) {
            fmt::print("{} steps skipped by the loss scale passed over: with a smaller one they are finite\n",
                       watch_.skips);
        }
        fmt::print("{}", watch_.first_nonfinite ? watch_.first_nonfinite->text() : "every number was finite\n");
    }
    if (products_) products_->write(options_.products);
    if (!options_.save_weights.empty()) save_weights(options_.save_weights, trainer_.model());
    if (!std::isnan(loss_)) return ExitCode::good;
    fmt::print(stderr, "ulplab: the loss of step {} is NaN; --why-nan says where it comes from\n",
               trainer_.steps() - 1);
    return ExitCode::claim_failed;
}

ExitCode NetRun::run() {
    const Interruption interruption;
    start_from_weights();
    resume();
    if (options_.bytes) print_bytes("planned", trainer_.planned_bytes(forward_at(trainer_.steps())));
    train();
    if (const int signal = Interruption::signal(); signal != 0 && trainer_.steps() < options_.steps) {
        return interrupted(signal);
    }
    return report();
}

ExitCode train(const Options& options) {
    if (options.print_net) {
        fmt::print("{}", json_of(net_of(options.net)));
        return ExitCode::good;
    }
    require_sensible(options);
    return NetRun(options).run();
}

/// "a, b, c" of the names of rows.
template <class Rows, class Name>
std::string listed(const Rows& rows, const Name& name_of_row) {
    std::string names;
    for (const auto& row : rows) {
        const std::string name(name_of_row(row));
        if (!name.empty()) names += (names.empty() ? "" : ", ") + name;
    }
    return names;
}

/// Each recipe to train with and what it is, a line each.
std::string recipe_lines() {
    std::string lines;
    for (const Recipe& recipe : recipes()) {
        if (recipe.weights != formats::fp64) lines += fmt::format("  {:<22}{}\n", recipe.name, recipe.what);
    }
    return lines;
}

Action declare(OptionParser& app) {
    const auto o = std::make_shared<Options>();
    app.add_option(
           "--net", o->net,
           "a net of the table, or a file FILE.json (see --print-net): " +
               listed(named_nets(), [](const NamedNet& net) { return fmt::format("{} ({})", net.name, net.what); }))
        .capture_default_str();
    app.add_flag("--print-net", o->print_net,
                 "prints the net as JSON, to change and give to --net. Tasks: " +
                     listed(task_kinds(), [](const TaskKind& k) { return fmt::format("{} ({})", k.name, k.what); }) +
                     ". Layers: " + layer_kinds());
    const DeclaredOption recipe =
        app.add_option("--recipe", o->recipe, "a recipe of the list below; +ftz and +fused may follow its name")
            .capture_default_str();
    app.add_option("--level", o->level, "O0 to O3 as apex has them, in the place of a recipe").excludes(recipe);
    app.add_option("--override", o->overrides, "PROPERTY=VALUE of the level, any number of times");
    app.add_option("--backend", o->backend,
                   "what multiplies; default soft:h100, and eigen for recipes whose products it lacks");
    const DeclaredOption constant =
        app.add_option("--loss-scale", o->loss_scale, "constant loss scale instead of the recipe's; positive");
    app.add_option("--scaler", o->scaler,
                   "rule of a dynamic loss scale instead of the recipe's: " +
                       listed(loss_scale_dialects(), [](const auto& row) { return row.dynamic ? row.dialect : ""; }))
        .excludes(constant);
    app.add_option("--optimizer", o->optimizer,
                   listed(optimizer_kinds(), [](OptimizerKind kind) { return name_of(kind); }) +
                       "; sgd has momentum 0.9, the others PyTorch's defaults")
        .capture_default_str();
    app.add_option("--learning-rate", o->learning_rate, "learning rate of the optimizer").capture_default_str();
    app.add_option("--eps", o->eps, "what the optimizer adds to its divisor; default 1e-8");
    app.add_option("--init", o->init, "how weights start: " + Initialisation::names()).capture_default_str();
    app.add_option("--loss-reduction", o->reduction, "of the batch's losses")
        .one_of({"mean", "sum"})
        .capture_default_str();
    app.add_option("--ema", o->average,
                   "DECAY[:FORMAT[:stochastic]]: keeps averages of the weights, and evaluates them, too");
    app.add_option("--statistics", o->statistics, "format of batch normalisations' running mean and variance");
    app.add_flag("--evaluate-fp32", o->evaluate_fp32, "evaluates in fp32, whatever the recipe");
    app.add_option("--steps", o->steps, "of training, counted from the first").capture_default_str();
    app.add_option("--batch", o->batch, "examples a step").capture_default_str();
    app.add_option("--images", o->images, "generated examples to train on").capture_default_str();
    app.add_option("--mnist", o->mnist, "folder of the real digits");
    app.add_option("--data", o->data,
                   "examples of the task images, .npy of any shape of the net's size; a tenth is for testing");
    app.add_option("--labels", o->labels, "their classes, .npy of whole numbers from 0 on");
    app.add_option("--seed", o->seed, "of data and weights").capture_default_str();
    app.add_option("--checkpoint", o->checkpoint,
                   "file that is saved ten times and at Ctrl-C, and resumed from where it exists; locked meanwhile");
    app.add_option("--weights", o->weights,
                   "file of initial weights, .safetensors or .npz, with PyTorch's names for the layers");
    app.add_option("--save-weights", o->save_weights, "file for the trained weights, .safetensors with the same names");
    app.add_option("--products", o->products, "file for the log of every product: shape, backend, path and why");
    app.add_flag("--bytes", o->bytes, "what it takes, by role, before and while training");
    app.add_flag("--counts", o->counts, "overflows, underflows and zeros of every stored result");
    app.add_flag("--why-nan", o->why_nan,
                 "stops at the first infinity or NaN that finite numbers gave; says which operation or update gave it, "
                 "of what, and the remedy");
    app.footer("Recipes:\n" + recipe_lines());
    return [o] { return train(*o); };
}

}  // namespace

Command train_command() { return {"train", "train a net and watch its numbers", declare}; }

}  // namespace ulp
