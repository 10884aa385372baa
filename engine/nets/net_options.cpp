#include "engine/nets/net_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "engine/files/whole_file.hpp"
#include "engine/recipes/levels.hpp"
#include "engine/recipes/product_rules.hpp"
#include "engine/recipes/recipe.hpp"
#include "engine/training/weights.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/names.hpp"

namespace ulp {
namespace {

/// "add" of "block/add_2", the second of its name there.
std::string operation_in(const std::string& label) {
    std::string name = label.substr(label.rfind('/') + 1);
    const std::size_t last = name.find_last_not_of("0123456789");
    if (last != std::string::npos && last + 1 < name.size() && name[last] == '_') name.resize(last);
    return name;
}

/// "with --set loss_scale=dynamic", as the user gave them.
std::string overrides_text(const NetOptions& options) {
    return options.overrides.empty() ? "" : fmt::format(" with --set {}", fmt::join(options.overrides, " "));
}

Level level_of(const NetOptions& options) {
    LevelProperties changed;
    for (const std::string& text : options.overrides) {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos) throw UsageError("--set takes PROPERTY=VALUE, not '" + text + "'");
        changed[text.substr(0, equals)] = text.substr(equals + 1);
    }
    return Level(options.level, changed);
}

}  // namespace

std::string level_table(const NetOptions& options) {
    return options.level.empty() ? "" : level_of(options).table() + "\n";
}

void require_scalable(const Recipe& recipe, const std::string& asked) {
    const LossScaleOptions& scale = recipe.loss_scale;
    if (!(scale.initial >= 0x1p-126 && scale.initial <= 0x1p127)) {
        throw UsageError(fmt::format("{}: gradients are scaled in fp32; give a scale from 2^-126 to 2^127", asked));
    }
    if (recipe.update == formats::fp32 || (!scale.dynamic && scale.initial == 1)) return;
    std::vector<std::string> with_masters;
    for (const Recipe& other : recipes()) {
        const bool alike =
            other.weights == recipe.weights && other.product_types().input == recipe.product_types().input;
        const bool plain = !other.products.fprop.a.how;  // operands are not quantised further
        if (other.master_weights && alike && plain) with_masters.push_back(other.name);
    }
    throw UsageError(
        fmt::format("{}: recipe {} updates in {} without fp32 masters, where gradients underflow when the scale is "
                    "divided out; choose a recipe with masters ({}), or no loss scale",
                    asked, recipe.name, name_of(recipe.update), fmt::join(with_masters, ", ")));
}

FloatFormat kept_format(const char* option, const std::string& name, bool computes) {
    const FloatFormat format = format_by_name(name);
    require_kept(option, format, computes);
    return format;
}

Recipe recipe_of(const NetOptions& options) {
    if (options.level.empty() && !options.overrides.empty()) {
        throw UsageError("--set changes a --level; name one, from O0 to O3");
    }
    Recipe recipe = options.level.empty() ? recipe_by_name(options.recipe) : level_of(options).recipe();
    if (recipe.weights == formats::fp64) {
        throw UsageError(
            fmt::format("recipe {} is for gradient checks; train in fp32 or narrower formats", recipe.name));
    }
    if (options.loss_scale) recipe.loss_scale = constant_loss_scale(*options.loss_scale);
    if (!options.scaler.empty()) recipe.loss_scale = loss_scale_dialect(options.scaler);
    if (options.loss_scale) {
        require_scalable(recipe, fmt::format("--loss-scale {}", *options.loss_scale));
    } else if (!options.scaler.empty()) {
        require_scalable(recipe, "--loss-scale " + options.scaler);
    } else if (!options.level.empty()) {
        require_scalable(recipe, fmt::format("--level {}{}", options.level, overrides_text(options)));
    }
    recipe = with_fp32_operations(with_low_operations(std::move(recipe), options.low), options.fp32);
    if (!options.statistics.empty()) recipe.statistics = kept_format("--statistics", options.statistics, true);
    return recipe;
}

void take_loss_scale(NetOptions& options, const std::string& text) {
    options.loss_scale.reset();
    options.scaler.clear();
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size()) {
        options.loss_scale = value;
    } else {
        options.scaler = text;
    }
}

void require_sensible(const NetOptions& options) {
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
    if (options.eps && optimizer_by_name(options.optimizer) == OptimizerKind::sgd) {
        throw UsageError("--eps has no effect on --optimizer sgd, which divides by nothing; leave it out");
    }
}

std::string backend_for(const NetOptions& options, const Recipe& recipe) {
    std::string name = options.backend.empty() ? "soft:h100" : options.backend;
    const std::unique_ptr<MatmulBackend> backend = make_backend(name);
    const std::optional<std::string> refusal = refusal_of(recipe, *backend);
    if (options.backend.empty() && (refusal || !backend->has_product(recipe.product_types()))) {
        name = "eigen";
    } else if (refusal) {
        throw UsageError(*refusal);
    }
    const bool fp32_products =
        std::ranges::any_of(recipe.excluded, [](const Exclusion& exclusion) { return exclusion.recipe == "fp32"; });
    return fp32_products && !make_backend(name)->has_product({formats::fp32, formats::fp32})
               ? fmt::format("with_ieee({})", name)
               : name;
}

OptimizerOptions optimizer_of(const NetOptions& options) {
    OptimizerOptions optimizer{.kind = optimizer_by_name(options.optimizer), .learning_rate = options.learning_rate};
    if (optimizer.kind == OptimizerKind::sgd) optimizer.momentum = 0.9;
    if (options.eps) optimizer.eps = *options.eps;
    return optimizer;
}

NetDescription net_of(const std::string& net) {
    if (!net.ends_with(".json")) return description_of(net_by_name(net));
    const std::string text = read_whole_file(net);
    try {
        return net_from_json(text);
    } catch (const DataError& error) {
        throw DataError(fmt::format("{}: {}", net, error.what()));
    }
}

NetTask task_of(const NetDescription& net, const NetOptions& options, std::uint64_t seed) {
    return task_of(net, {options.images, options.batch, seed, options.mnist, options.data, options.labels,
                         reduction_by_name(options.reduction)});
}

std::vector<std::pair<std::string, std::string>> words_of(const NetOptions& o, const std::string& unit) {
    std::vector<std::pair<std::string, std::string>> words = {{"--net", o.net}};
    const auto add = [&](const char* name, const std::string& value) {
        if (!value.empty()) words.emplace_back(name, value);
    };
    const auto number = [](const std::optional<double>& value) { return value ? fmt::format("{}", *value) : ""; };
    add(o.level.empty() ? "--recipe" : "--level", o.level.empty() ? o.recipe : o.level);
    for (const std::string& override : o.overrides) add("--set", override);
    add("--fp32", fmt::format("{}", fmt::join(o.fp32, ",")));
    add("--low", fmt::format("{}", fmt::join(o.low, ",")));
    add("--unit", unit);
    add("--optimizer", o.optimizer);
    add("--learning-rate", fmt::format("{}", o.learning_rate));
    add("--eps", number(o.eps));
    add("--loss-scale", number(o.loss_scale));
    add("--loss-scale", o.scaler);
    add("--statistics", o.statistics);
    add("--init", o.init);
    add("--loss-reduction", o.reduction);
    add("--steps", fmt::format("{}", o.steps));
    add("--batch", fmt::format("{}", o.batch));
    if (o.mnist.empty() && o.data.empty()) add("--images", fmt::format("{}", o.images));
    add("--mnist", o.mnist);
    add("--data", o.data);
    add("--labels", o.labels);
    add("--weights", o.weights);
    add("--seed", fmt::format("{}", o.seed));
    return words;
}

namespace {

/// The model, before a net asks it for parameters.
Model& started_as(Model& model, const std::string& init) {
    model.initialise_by(Initialisation(init));
    return model;
}

}  // namespace

NetTraining::NetTraining(const NetOptions& options, const NetDescription& description, Engine engine,
                         std::uint64_t seed, const OptimizerOptions& optimizer)
    : trainer(std::move(engine), seed),
      task(task_of(description, options, seed)),
      net(started_as(trainer.model(), options.init), description.layers, description.input.shape, description.outputs) {
    trainer.optimize(optimizer);
    if (!options.weights.empty()) (void)load_weights(options.weights, trainer.model());
}

std::vector<std::string> operations_of(const NetDescription& net, const NetTask& task) {
    Trainer trainer(Engine("fp32", "eigen"), 1);
    const Net f(trainer.model(), net.layers, net.input.shape, net.outputs);
    Watch watch;
    trainer.observers().watch = &watch;
    std::vector<std::string> labels;
    trainer.watch([](std::int64_t) { return true; },
                  [&](const TapEvent& event) {
                      if (event.role == TensorRole::activation) labels.emplace_back(event.name);
                  });
    trainer.optimize({});
    (void)trainer.step([&](Tape& tape) { return task.loss(tape, f, 0); });
    std::vector<std::string> operations;
    for (const std::string& label : labels) {
        if (!watch.rounding.contains(label + " forward")) continue;  // it only moves numbers
        const std::string name = operation_in(label);
        if (std::ranges::find(operations, name) == operations.end()) operations.push_back(name);
    }
    return operations;
}

void require_operations(const NetOptions& options, const std::vector<std::string>& known) {
    for (const auto& [option, named] : {std::pair{"--fp32", &options.fp32}, {"--low", &options.low}}) {
        for (const std::string& name : *named) {
            if (std::ranges::find(known, name) != known.end()) continue;
            throw UsageError(
                fmt::format("{} {}: the net has no such operation; it has {}", option, name, fmt::join(known, ", ")));
        }
    }
    for (const std::string& name : options.low) {
        if (std::ranges::find(options.fp32, name) == options.fp32.end()) continue;
        throw UsageError(fmt::format("{} stands under --fp32 and under --low; give it once", name));
    }
}

}  // namespace ulp
