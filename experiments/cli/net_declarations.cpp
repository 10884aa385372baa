#include "experiments/cli/net_declarations.hpp"

#include <fmt/format.h>

namespace ulp {

void declare_net(OptionParser& app, NetOptions& o) {
    app.add_option(
           "--net", o.net,
           "a net of the table, or a file FILE.json (see `ulplab train --print-net`): " +
               names_of(named_nets(), [](const NamedNet& net) { return fmt::format("{} ({})", net.name, net.what); }))
        .capture_default_str();
    app.add_option("--optimizer", o.optimizer,
                   names_of(optimizer_kinds(), [](OptimizerKind kind) { return name_of(kind); }) +
                       "; sgd has momentum 0.9, the others PyTorch's defaults")
        .capture_default_str();
    app.add_option("--learning-rate", o.learning_rate, "learning rate of the optimizer").capture_default_str();
    app.add_option("--eps", o.eps, "what the optimizer adds to its divisor; default 1e-8; sgd has none");
    app.add_option("--init", o.init, "how weights start: " + Initialisation::names()).capture_default_str();
    app.add_option("--loss-reduction", o.reduction, "of the batch's losses")
        .one_of({"mean", "sum"})
        .capture_default_str();
    app.add_option("--steps", o.steps, "of training, counted from the first").capture_default_str();
    app.add_option("--batch", o.batch, "examples a step").capture_default_str();
    const DeclaredOption mnist = app.add_option("--mnist", o.mnist, "folder of the real digits");
    const DeclaredOption data =
        app.add_option("--data", o.data,
                       "examples of the task images, .npy of any shape of the net's size, with --labels; of the task "
                       "text a text file, or .npy of token numbers in a row; the last tenth is for testing")
            .excludes(mnist);
    app.add_option("--images", o.images, "generated examples to train on")
        .capture_default_str()
        .excludes(mnist)
        .excludes(data);
    app.add_option("--labels", o.labels, "classes of the examples of images, .npy of whole numbers from 0 on");
    app.add_option("--weights", o.weights,
                   "file of initial weights, .safetensors or .npz, with PyTorch's names for the layers");
    app.add_option("--seed", o.seed, "of data and weights").capture_default_str();
}

void declare_arithmetic(OptionParser& app, NetOptions& o) {
    const DeclaredOption recipe =
        app.add_option("--recipe", o.recipe, "a recipe of the list below; +ftz and +fused may follow its name")
            .capture_default_str();
    app.add_option("--level", o.level, "O0 to O3 as apex has them, instead of a recipe").excludes(recipe);
    app.add_option("--set", o.overrides, "property of the level; may be repeated")
        .repeated()
        .type_name("PROPERTY=VALUE");
    app.add_option(
           "--fp32", o.fp32,
           "operation that is computed and stored in fp32 whatever the recipe, as softmax; several, or with commas")
        .repeated()
        .delimiter(',');
    app.add_option(
           "--low", o.low,
           "operation that takes its inputs in the recipe's low format, as cross_entropy; several, or with commas")
        .repeated()
        .delimiter(',');
    app.add_parsed(
        "--loss-scale", [&o](const std::string& text) { take_loss_scale(o, text); },
        "loss scale instead of the recipe's: a positive number, which is constant, or a rule: " +
            names_of(loss_scale_dialects(), [](const auto& row) { return row.dialect; }) +
            "; constant is a scale of 1");
    app.add_option("--statistics", o.statistics, "format of batch normalisations' running mean and variance");
}

void declare_backend(OptionParser& app, NetOptions& o) {
    app.add_option(
        "--unit", o.backend,
        "what multiplies, as in `ulplab run`; default soft:h100, and eigen for recipes whose products it lacks");
}

std::string recipe_lines() {
    std::string lines = "Recipes:\n";
    for (const Recipe& recipe : recipes()) {
        if (recipe.weights != formats::fp64) lines += fmt::format("  {:<22}{}\n", recipe.name, recipe.what);
    }
    return lines;
}

Recipe announced_recipe(const NetOptions& options) {
    fmt::print("{}", level_table(options));
    return recipe_of(options);
}

NetOptions net_options_of(const std::vector<std::pair<std::string, std::string>>& words) {
    NetOptions options;
    OptionParser parser("", "trace");
    declare_net(parser, options);
    declare_arithmetic(parser, options);
    declare_backend(parser, options);
    std::vector<std::string> arguments;
    for (const auto& [name, value] : words) arguments.push_back(name + "=" + value);
    (void)parser.parse(arguments);
    return options;
}

}  // namespace ulp
