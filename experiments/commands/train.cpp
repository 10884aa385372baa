// `ulplab train`: one net under one recipe and matrix unit, with everything that can be watched of it.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "engine/data/digits.hpp"
#include "engine/data/idx.hpp"
#include "engine/files/whole_file.hpp"
#include "engine/recipes/levels.hpp"
#include "engine/training/checkpoint.hpp"
#include "engine/training/images.hpp"
#include "engine/training/trainer.hpp"
#include "experiments/commands/command.hpp"
#include "experiments/training/nets.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

struct Options {
    std::string net = "mlp";
    std::string recipe = "mixed_fp16";
    std::string level;
    std::vector<std::string> overrides;
    std::string backend;
    std::string mnist, products, checkpoint;
    double learning_rate = 0.05;
    std::optional<double> loss_scale;
    std::int64_t steps = 100;
    std::int64_t batch = 64;
    std::int64_t images = 2000;
    std::uint64_t seed = 1;
    bool bytes = false;
    bool counts = false;
    bool why_nan = false;
};

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
    return recipe;
}

void print_bytes(const char* when, const Trainer::Bytes& bytes) {
    fmt::print("bytes {:<9} {:>12} {:>12}\n", when, "as stored", "in memory");
    const auto row = [](const char* name, const ByteCount& count) {
        if (count.held != 0) fmt::print("  {:<13} {:>12} {:>12}\n", name, count.stored, count.held);
    };
    row("weights", bytes.weights);
    row("masters", bytes.masters);
    row("gradients", bytes.gradients);
    row("optimizer", bytes.optimizer);
    row("activations", bytes.activations);
    row("their grads", bytes.activation_gradients);
    row("workspace", bytes.workspace);
    row("all", bytes.total());
}

void print_counts(const Watch& watch) {
    fmt::print("{:<60} {:>10} {:>10} {:>10} {:>10}\n", "stored", "elements", "overflows", "underflows", "zeros");
    const std::map<std::string, RoundingCounts> by_name(watch.rounding.begin(), watch.rounding.end());
    for (const auto& [place, counts] : by_name) {
        fmt::print("{:<60} {:>10} {:>10} {:>10} {:>10}\n", place, counts.elements, counts.overflows, counts.underflows,
                   counts.zeros);
    }
}

/// One line for every product, tab-separated.
class ProductLog {
  public:
    ProductLog(Trainer& trainer, std::string backend) : trainer_(&trainer), backend_(std::move(backend)) {
        trainer.observers().product_tap = [this](const ProductRecord& p) {
            text_ += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", trainer_->steps(), p.layer, p.pass,
                                 name_of(p.types), p.m, p.n, p.k, backend_, p.path);
        };
    }
    void write(const std::string& file) const { replace_whole_file(file, text_); }

  private:
    Trainer* trainer_;
    std::string backend_;
    std::string text_ = "step\tlayer\tpass\ttypes\tm\tn\tk\tbackend\tpath\n";
};

void require_sensible(const Options& options) {
    if (options.steps < 1 || options.batch < 1) throw UsageError("--steps and --batch are at least 1");
    if (options.images < options.batch) throw UsageError("--images holds no batch of --batch");
    for (const auto& [name, given] :
         {std::pair{"--loss-scale", options.loss_scale.value_or(1)}, {"--learning-rate", options.learning_rate}}) {
        if (!(given > 0) || std::isinf(given))
            throw UsageError(fmt::format("{} is {}; give a positive finite number", name, given));
    }
}

struct NamedBackend {
    std::string spec;
    std::unique_ptr<MatmulBackend> backend;
};
/// The backend that was named, or one that has the recipe's products: H100's Tensor Core, or the processor's fp32.
NamedBackend backend_of(const Options& options, const Recipe& recipe) {
    const std::string spec = options.backend.empty() ? "soft:h100" : options.backend;
    std::unique_ptr<MatmulBackend> backend = make_backend(spec);
    if (options.backend.empty() && !backend->has_product(recipe.product_types()))
        return {"eigen", make_backend("eigen")};
    return {spec, std::move(backend)};
}

ExitCode train(const Options& options) {
    require_sensible(options);
    const Recipe recipe = recipe_of(options);
    NamedBackend backend = backend_of(options, recipe);
    Trainer trainer(Engine(recipe, std::move(backend.backend)), options.seed);
    const NamedNet& named = net_by_name(options.net);
    const Net net(trainer.model(), named.layers(named.width), {1, 28, 28}, 10);
    trainer.optimize({.learning_rate = options.learning_rate, .momentum = 0.9});
    const DataSplit data = options.mnist.empty() ? generated_digit_split(options.images, 500, 28, options.seed)
                                                 : read_mnist(options.mnist);
    BatchSchedule batches(data.train.size(), options.batch, options.seed);
    if (!options.checkpoint.empty() && std::filesystem::exists(options.checkpoint)) {
        load_checkpoint(options.checkpoint, trainer);
        fmt::print("{}: goes on at step {}\n", options.checkpoint, trainer.steps());
    }
    Watch watch;
    if (options.counts || options.why_nan) trainer.observers().watch = &watch;
    std::optional<ProductLog> log;
    const auto forward_on = [&](const Batch& batch) {
        return [&](Tape& tape) { return cross_entropy(net(images_on(tape, batch.images)), batch.labels); };
    };
    if (options.bytes) {
        const Batch batch = batch_of(data.train, batches.at(trainer.steps()));
        print_bytes("planned", trainer.planned_bytes(forward_on(batch)));
    }
    if (!options.products.empty()) log.emplace(trainer, backend.spec);
    const std::int64_t every = std::max<std::int64_t>(1, options.steps / 10);
    std::int64_t skipped = 0;
    double loss = 0;
    while (trainer.steps() < options.steps && !(options.why_nan && watch.first_nonfinite)) {
        const Batch batch = batch_of(data.train, batches.at(trainer.steps()));
        const StepResult done = trainer.step(forward_on(batch));
        skipped += done.skipped ? 1 : 0;
        loss = done.loss;
        if (done.step % every == 0 || trainer.steps() == options.steps) {
            fmt::print("step {:>5}  loss {:<10.6g} scale {:g}{}\n", done.step, done.loss, done.loss_scale,
                       done.skipped ? "  skipped" : "");
            std::fflush(stdout);  // line by line through a pipe, too
        }
        if (!options.checkpoint.empty() && trainer.steps() % every == 0) save_checkpoint(options.checkpoint, trainer);
    }
    if (!options.checkpoint.empty()) save_checkpoint(options.checkpoint, trainer);
    fmt::print("right {:.1f}%, {} steps skipped, trace {}\n", 100 * accuracy(trainer.evaluation(), net, data.test),
               skipped, trainer.trace().digest());
    if (options.bytes) print_bytes("used", trainer.bytes());
    if (options.counts) print_counts(watch);
    if (options.why_nan) {
        fmt::print("{}", watch.first_nonfinite ? watch.first_nonfinite->text() : "every number was finite\n");
    }
    if (log) log->write(options.products);
    if (!std::isnan(loss)) return ExitCode::good;
    fmt::print(stderr, "ulplab: the loss of step {} is NaN; --why-nan says where it comes from\n", trainer.steps() - 1);
    return ExitCode::claim_failed;
}

std::string recipe_names() {
    std::string names;
    for (const Recipe& recipe : recipes()) {
        if (recipe.weights != formats::fp64) names += (names.empty() ? "" : ", ") + recipe.name;
    }
    return names;
}

Action declare(OptionParser& app) {
    const auto o = std::make_shared<Options>();
    std::string nets;
    std::vector<std::string> names;
    for (const NamedNet& net : named_nets()) {
        nets += fmt::format("{}{}: {}", nets.empty() ? "" : "; ", net.name, net.what);
        names.emplace_back(net.name);
    }
    app.add_option("--net", o->net, nets).one_of(names).capture_default_str();
    const DeclaredOption recipe =
        app.add_option("--recipe", o->recipe,
                       "which formats: " + recipe_names() + "; +ftz and +fused may follow the name")
            .capture_default_str();
    app.add_option("--level", o->level, "O0 to O3 as apex has them, in the place of a recipe").excludes(recipe);
    app.add_option("--override", o->overrides, "PROPERTY=VALUE of the level, any number of times");
    app.add_option("--backend", o->backend,
                   "what multiplies; default soft:h100, and eigen for recipes whose products it lacks");
    app.add_option("--loss-scale", o->loss_scale, "a constant one, in the place of the recipe's; positive");
    app.add_option("--learning-rate", o->learning_rate, "of SGD with momentum 0.9").capture_default_str();
    app.add_option("--steps", o->steps, "of training, counted from the first").capture_default_str();
    app.add_option("--batch", o->batch, "images a step").capture_default_str();
    app.add_option("--images", o->images, "generated digits to train on").capture_default_str();
    app.add_option("--mnist", o->mnist, "folder of the real digits");
    app.add_option("--seed", o->seed, "of data and weights").capture_default_str();
    app.add_option("--checkpoint", o->checkpoint, "saved there ten times; goes on from it where it exists");
    app.add_option("--products", o->products, "file for the log of every product: shape, backend, path and why");
    app.add_flag("--bytes", o->bytes, "what it takes, by role, before and while training");
    app.add_flag("--counts", o->counts, "overflows, underflows and zeros of every stored result");
    app.add_flag("--why-nan", o->why_nan, "stops at the first infinity or NaN and says where it came from");
    return [o] { return train(*o); };
}

}  // namespace

Command train_command() { return {"train", "train a net and watch its numbers", declare}; }

}  // namespace ulp
