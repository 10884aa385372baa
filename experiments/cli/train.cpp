// `ulplab train`: one net under one recipe and matrix unit, with everything that can be watched of it.
#include <signal.h>

#include <charconv>
#include <cstdio>
#include <map>
#include <sstream>

#include "engine/files/sha256.hpp"
#include "engine/files/whole_file.hpp"
#include "engine/nets/net_tasks.hpp"
#include "engine/training/checkpoint.hpp"
#include "engine/training/trace.hpp"
#include "engine/training/trainer.hpp"
#include "engine/training/weights.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/cli/net_declarations.hpp"
#include "experiments/cli/train_report.hpp"
#include "experiments/framework/long_work.hpp"
#include "gpu/devices/executor.hpp"
#include "softfloat/names.hpp"

namespace ulp {
namespace {

struct TrainOptions : NetOptions {
    std::string products, checkpoint, save_weights, trace, histograms;
    std::string average;
    bool print_net = false;
    bool bytes = false;
    bool counts = false;
    bool why_nan = false;
    bool evaluate_fp32 = false;
};

/// DECAY, DECAY:FORMAT or DECAY:FORMAT:stochastic.
std::optional<AverageOptions> averages_of(const TrainOptions& options) {
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
Model& initialised(Model& model, const TrainOptions& options) {
    model.initialise_by(Initialisation(options.init));
    return model;
}

/// Where the file of a path lies, links followed.
std::filesystem::path place_of(const std::filesystem::path& path) {
    return std::filesystem::weakly_canonical(behind_links(std::filesystem::absolute(path)));
}

/// Before hours of training: throws UsageError where two of the files that the options name are one, or the weights'
/// name promises another format, and DataError where one cannot be written.
void require_outputs(const TrainOptions& options) {
    constexpr std::string_view suffix = ".safetensors";
    if (!options.save_weights.empty() && !options.save_weights.ends_with(suffix)) {
        throw UsageError(fmt::format("--out {}: weights are written as safetensors; give a name that ends in {}",
                                     options.save_weights, suffix));
    }
    const std::string lock = options.checkpoint.empty() ? "" : options.checkpoint + ".lock";
    const std::string net = options.net.ends_with(".json") ? options.net : "";
    std::map<std::filesystem::path, const char*> taken;
    for (const auto& [option, file] : {std::pair{"--net", &net},
                                       {"--data", &options.data},
                                       {"--labels", &options.labels},
                                       {"--weights", &options.weights}}) {
        if (!file->empty()) taken.emplace(place_of(*file), option);
    }
    for (const auto& [option, file] : {std::pair{"--checkpoint", &options.checkpoint},
                                       {"the lock of --checkpoint", &lock},
                                       {"--out", &options.save_weights},
                                       {"--products", &options.products},
                                       {"--trace", &options.trace},
                                       {"--histograms", &options.histograms}}) {
        if (file->empty()) continue;
        const auto [other, is_new] = taken.emplace(place_of(*file), option);
        if (!is_new) {
            throw UsageError(
                fmt::format("{} and {} are both {}, and one would replace the other; give each its own file",
                            other->second, option, *file));
        }
        if (file != &lock) const WholeFile writable(behind_links(*file));
    }
}

/// What multiplies: the GPU for units that need one.
std::string device_of(const std::string& unit) {
    for (const char* family : {"cuda:", "wgmma:", "cublas:", "cublaslt:"}) {
        if (unit.find(family) == std::string::npos) continue;
        const gpu::DeviceInfo info = gpu::open_cuda_device()->info();
        return fmt::format("{}, {}, driver {}, CUDA {}", info.name, gpu::architecture_name(info.architecture),
                           info.driver.empty() ? "unknown" : info.driver, info.cuda_runtime);
    }
    return "software";
}

Engine engine_of(const TrainOptions& options) {
    const Recipe recipe = announced_recipe(options);
    return {recipe, make_backend(backend_for(options, recipe))};
}

/// One run of this command: what it trains, on what, and who watches.
class NetRun {
  public:
    explicit NetRun(const TrainOptions& options)
        : options_(options),
          description_(net_of(options.net)),
          trainer_(engine_of(options), options.seed),
          net_(initialised(trainer_.model(), options), description_.layers, description_.input.shape,
               description_.outputs),
          task_(task_of(description_, options, options.seed)) {
        if (!options.statistics.empty() && trainer_.model().statistics().empty()) {
            throw UsageError(
                fmt::format("--statistics {} has no effect: the net {} has no batch normalisation; leave it out",
                            options.statistics, description_.name));
        }
        if (!options.fp32.empty() || !options.low.empty()) {
            require_operations(options, operations_of(description_, task_));
        }
        trainer_.optimize(optimizer_of(options));
        if (const auto average = averages_of(options)) trainer_.average(*average);
        if (options.counts || options.why_nan) trainer_.observers().watch = &watch_;
        if (!options.histograms.empty()) histograms_.emplace(trainer_);
        if (!options.products.empty()) products_.emplace(trainer_, trainer_.engine().backend->name());
    }

    ExitCode run();

  private:
    /// What the run's bits depend on and an option says; --steps may grow.
    [[nodiscard]] RunIdentity identity() const;
    void start_from_weights();
    void resume();
    void train();
    /// Products, histograms and trace, of all steps.
    void write_logs();
    void save();
    ExitCode interrupted(int signal);
    ExitCode report();
    /// What --why-nan found; `since` names the step that this process began with.
    void print_search(const std::string& since) const;
    [[nodiscard]] Trainer::Forward forward_at(std::int64_t step);
    /// Of the last step's batch, with the weights as they are.
    [[nodiscard]] double loss_now();

    const TrainOptions options_;
    const NetDescription description_;
    Trainer trainer_;
    const Net net_;
    const NetTask task_;  // behind what is checked sooner
    std::optional<FileLock> lock_;
    RunIdentity identity_;  // of the checkpoint's run, where there is one
    Watch watch_;
    std::optional<ProductLog> products_;
    std::optional<HistogramLog> histograms_;
    Trace before_;            // steps of earlier processes, where there is a trace
    std::int64_t first_ = 0;  // step that this process began with
    std::int64_t skipped_ = 0;
    double loss_ = 0;
};

RunIdentity NetRun::identity() const {
    const Recipe& recipe = trainer_.engine().recipe;
    return {
        {"--net", description_.name},
        {"net", "of SHA-256 " + sha256_of(json_of(description_))},
        {options_.level.empty() ? "--recipe" : "--level", recipe.name},
        {"--scaler", recipe.loss_scale.dialect},  // stored names: run_identity.cpp has what they are called
        {"--loss-scale", fmt::format("{}", recipe.loss_scale.initial)},
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
    const KeptTexts kept = load_checkpoint(options_.checkpoint, trainer_, identity_);
    first_ = trainer_.steps();
    if (first_ > 0 && products_) products_->continue_from(options_.products, first_);
    if (first_ > 0 && histograms_) histograms_->continue_from(options_.checkpoint, kept);
    if (first_ > 0 && !options_.trace.empty()) before_ = trace_before(options_.trace, first_, trainer_.model());
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

void NetRun::write_logs() {
    if (products_) products_->write(options_.products);
    if (histograms_) histograms_->write(options_.histograms);
    if (options_.trace.empty()) return;
    const std::string unit = backend_for(options_, trainer_.engine().recipe);
    Trace trace = trainer_.trace();
    if (first_ > 0) trace.parameters = before_.parameters;  // which a process without a step has not seen
    trace.steps.insert(trace.steps.begin(), before_.steps.begin(), before_.steps.end());
    write_trace(options_.trace, {device_of(unit), words_of(options_, unit), std::move(trace)});
}

void NetRun::save() {
    if (options_.checkpoint.empty()) return;
    write_logs();  // first: they may be longer than the checkpoint, which is resumed from, and not shorter
    save_checkpoint(options_.checkpoint, trainer_, identity_, histograms_ ? histograms_->kept() : KeptTexts{});
}

void NetRun::train() {
    const std::int64_t every = std::max<std::int64_t>(1, options_.steps / 10);
    while (trainer_.steps() < options_.steps && !(options_.why_nan && watch_.first_nonfinite) &&
           Interruption::signal() == 0) {
        const StepResult done = train_step(trainer_, task_, net_);
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
        fmt::print(stderr, "ulplab: interrupted after {} of {} steps, saved in {}; to resume:\n    {}\n", steps,
                   options_.steps, options_.checkpoint, command_line());
    }
    return ended_by(signal);
}

void NetRun::print_search(const std::string& since) const {
    if (watch_.skips > 0) {
        fmt::print("{} steps skipped by the loss scale passed over: with a smaller one they are finite\n",
                   watch_.skips);
    }
    if (watch_.first_nonfinite) {
        fmt::print("{}", watch_.first_nonfinite->text());
    } else if (trainer_.steps() == first_) {
        fmt::print("no step was watched: the run was finished\n");
    } else {
        fmt::print("every number was finite{}\n", since);
    }
}

ExitCode NetRun::report() {
    const std::string since = first_ == 0 ? "" : fmt::format(" since step {}", first_);
    const auto right = [&](EvaluatedWeights weights) {
        const EvaluationOptions how{.weights = weights, .fp32 = options_.evaluate_fp32};
        return 100 * task_.right(trainer_.evaluation(how), net_);
    };
    fmt::print("test accuracy {:.1f} %, {} steps skipped{}, trace {}\n", right(EvaluatedWeights::model), skipped_,
               since, trainer_.trace().digest());
    if (trainer_.averages())
        fmt::print("test accuracy {:.1f} % with the averages\n", right(EvaluatedWeights::averages));
    if (options_.bytes) print_bytes("used", trainer_.bytes());
    if (options_.counts && first_ > 0) fmt::print("counts since step {}\n", first_);
    if (options_.counts) print_counts(watch_);
    if (options_.why_nan) print_search(since);
    write_logs();
    if (!options_.save_weights.empty()) save_weights(options_.save_weights, trainer_.model());
    if (watch_.first_nonfinite && options_.why_nan) {
        fmt::print(stderr, "ulplab: stopped after {} of {} steps, at the first number that is not finite\n",
                   trainer_.steps(), options_.steps);
        return ExitCode::claim_failed;
    }
    if (!std::isnan(loss_)) return ExitCode::good;
    fmt::print(stderr, "ulplab: the loss of step {} is NaN; {}\n", trainer_.steps() - 1,
               options_.why_nan ? "it was so before this run began: train again without --checkpoint"
                                : "--why-nan says where it comes from");
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

ExitCode train(TrainOptions options) {
    if (options.print_net) {
        fmt::print("{}", json_of(net_of(options.net)));
        return ExitCode::good;
    }
    require_sensible(options);
    require_outputs(options);
    for (std::string* file :
         {&options.checkpoint, &options.save_weights, &options.products, &options.trace, &options.histograms}) {
        *file = behind_links(*file).string();
    }
    return NetRun(options).run();
}

Action declare_train(OptionParser& app) {
    const auto o = std::make_shared<TrainOptions>();
    declare_net(app, *o);
    app.add_flag("--print-net", o->print_net,
                 "prints the net as JSON, to change and give to --net. Tasks: " +
                     names_of(task_kinds(), [](const TaskKind& k) { return fmt::format("{} ({})", k.name, k.what); }) +
                     ". Layers: " + layer_kinds());
    declare_arithmetic(app, *o);
    declare_backend(app, *o);
    app.add_option("--ema", o->average,
                   "DECAY[:FORMAT[:stochastic]]: keeps averages of the weights, and evaluates them, too");
    app.add_flag("--evaluate-fp32", o->evaluate_fp32, "evaluates in fp32, whatever the recipe");
    app.add_option("--checkpoint", o->checkpoint,
                   "file that is saved ten times and at Ctrl-C, and resumed from where it exists; locked meanwhile");
    app.add_option("--out", o->save_weights, "file for the trained weights, .safetensors with the same names");
    app.add_option("--products", o->products, "file for the log of every product: shape, backend, path and why");
    app.add_option("--trace", o->trace,
                   "file for every step's loss, its bits, loss scale and a digest of each parameter, as CSV under "
                   "lines that say what multiplied and with which options; for `ulplab compare`");
    app.add_option("--histograms", o->histograms,
                   "file for the exponents of weights, activations and gradients of all steps, as CSV; gradients "
                   "without the loss scale");
    app.add_flag("--bytes", o->bytes, "what it takes, by role, before and while training");
    app.add_flag("--counts", o->counts, "overflows, underflows and zeros of every stored result");
    app.add_flag("--why-nan", o->why_nan,
                 "stops at the first infinity or NaN that finite numbers gave; says which operation or update gave it, "
                 "of what, and the remedy");
    app.footer(recipe_lines());
    return [o] { return train(*o); };
}

}  // namespace

Command train_command() { return {"train", "train a net and watch its numbers", declare_train}; }

}  // namespace ulp
