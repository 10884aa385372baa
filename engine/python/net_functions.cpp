// Nets as data for Python: whole training runs, and the gradients of a net at given numbers.
#include <fmt/format.h>

#include "engine/data/dataset.hpp"
#include "engine/files/stored_arrays.hpp"
#include "engine/nets/net_options.hpp"
#include "engine/python/module_parts.hpp"
#include "engine/python/numpy_arrays.hpp"
#include "engine/python/tensor_arrays.hpp"
#include "engine/training/schedule.hpp"
#include "engine/training/trainer.hpp"
#include "engine/training/weights.hpp"

namespace ulp::python {
namespace {

/// A name of the table, a file, or the JSON itself.
NetDescription net_of_text(const std::string& net) { return net.starts_with("{") ? net_from_json(net) : net_of(net); }

template <class Value>
void take(const py::dict& options, const char* name, Value& value) {
    const py::object given = options.attr("get")(name);
    if (!given.is_none()) value = given.cast<Value>();
}

NetOptions options_of(const py::dict& given) {
    NetOptions o;
    take(given, "recipe", o.recipe);
    take(given, "unit", o.backend);
    take(given, "fp32", o.fp32);
    take(given, "low", o.low);
    take(given, "optimizer", o.optimizer);
    take(given, "scaler", o.scaler);
    take(given, "learning_rate", o.learning_rate);
    take(given, "loss_scale", o.loss_scale);
    take(given, "eps", o.eps);
    take(given, "init", o.init);
    take(given, "loss_reduction", o.reduction);
    take(given, "steps", o.steps);
    take(given, "batch", o.batch);
    take(given, "images", o.images);
    take(given, "data", o.data);
    take(given, "labels", o.labels);
    take(given, "weights", o.weights);
    take(given, "seed", o.seed);
    return o;
}

py::dict weights_from(Model& model) {
    py::dict weights;
    for (const Parameter& p : model.parameters()) weights[py::str(stored_name(p.name))] = array_from(p.updated());
    for (const auto& [name, statistics] : model.statistics()) {
        weights[py::str(stored_name(name + "/mean"))] = array_from(statistics.mean);
        weights[py::str(stored_name(name + "/variance"))] = array_from(statistics.variance);
    }
    return weights;
}

Engine engine_for(const NetOptions& options) {
    const Recipe recipe = recipe_of(options);
    return {recipe, make_backend(backend_for(options, recipe))};
}

struct Steps {
    std::vector<double> losses, loss_scales;
    std::vector<bool> skipped;
};

/// Trains without the interpreter's lock.
Steps train_steps(Trainer& trainer, const Net& net, const NetTask& task, std::int64_t count) {
    const py::gil_scoped_release unlocked;
    SignalWatch signals;
    trainer.observers().product_tap = [&](const ProductRecord&) { signals.check(); };
    Steps steps;
    while (trainer.steps() < count) {
        const StepResult done = train_step(trainer, task, net);
        steps.losses.push_back(done.loss);
        steps.loss_scales.push_back(done.loss_scale);
        steps.skipped.push_back(done.skipped);
        signals.check();
    }
    trainer.observers().product_tap = {};
    return steps;
}

py::dict train_net(const std::string& net, const py::dict& given) {
    const NetOptions options = options_of(given);
    require_sensible(options);
    const NetDescription description = net_of_text(net);
    const NetTask task = task_of(description, options, options.seed);
    Trainer trainer(engine_for(options), options.seed);
    trainer.model().initialise_by(Initialisation(options.init));
    const Net f(trainer.model(), description.layers, description.input.shape, description.outputs);
    if (!options.fp32.empty() || !options.low.empty()) require_operations(options, operations_of(description, task));
    trainer.optimize(optimizer_of(options));
    std::vector<std::string> remarks;
    if (!options.weights.empty()) remarks = load_weights(options.weights, trainer.model());
    const Steps steps = train_steps(trainer, f, task, options.steps);
    py::dict answer;
    answer["net"] = json_of(description);
    answer["recipe"] = trainer.engine().recipe.name;
    answer["backend"] = trainer.engine().backend->name();
    answer["losses"] = steps.losses;
    answer["loss_scales"] = steps.loss_scales;
    answer["skipped"] = steps.skipped;
    {
        const py::gil_scoped_release unlocked;
        const double right = task.right(trainer.evaluation(), f);
        const py::gil_scoped_acquire lock;
        answer["accuracy"] = right;
    }
    answer["trace_digest"] = trainer.trace().digest();
    std::vector<std::vector<std::string>> digests;
    for (const TraceStep& step : trainer.trace().steps) digests.push_back(step.digests);
    answer["digests"] = digests;
    answer["parameters"] = trainer.trace().parameters;
    answer["weights"] = weights_from(trainer.model());
    answer["remarks"] = remarks;
    return answer;
}

/// y = net(x), and the gradients of sum(y dy): (y, by name, of x or None).
py::tuple net_gradients(const std::string& net, const py::array& x, const py::array& dy, const py::dict& given) {
    const NetOptions options = options_of(given);
    const NetDescription description = net_of_text(net);
    const Engine engine = engine_for(options);
    Model model(engine.recipe, options.seed);
    const Net f(model, description.layers, description.input.shape, description.outputs);
    if (!options.weights.empty()) (void)load_weights(options.weights, model);
    Run run{.seed = options.seed, .layers = LayerRecipes(engine.recipe, linear_layers_of(model))};
    Tape tape(engine, run);
    Tensor numbers = tensor_from(x);
    const bool tokens = description.input.tokens > 0;
    if (!tokens) numbers.round_to_format(engine.recipe.stored(engine.recipe.inputs));
    const Var input = tokens ? tape.constant(std::move(numbers)) : tape.leaf(std::move(numbers));
    const Var y = tape.stored(f(input));
    Tensor cotangent = tensor_from(dy);
    if (cotangent.shape() != y.shape()) {
        throw py::value_error(
            fmt::format("dy has the shape {}, the net's result {}", text_of(cotangent.shape()), text_of(y.shape())));
    }
    cotangent.round_to_format(engine.recipe.stored(y.format()));
    const Var root =
        tape.push("cotangent", Tensor({1}), true, [&](const Tensor&, const Tensor&) { tape.accumulate(y, cotangent); });
    {
        const py::gil_scoped_release unlocked;
        tape.backward(root);
    }
    py::dict found;
    for (const Parameter& p : model.parameters()) found[py::str(stored_name(p.name))] = array_from(p.gradient);
    return py::make_tuple(array_from(y.value()), found, tokens ? py::object(py::none()) : array_from(input.gradient()));
}

void write_weights(const std::string& file, const py::dict& arrays) {
    WrittenArrays written;
    for (const auto& [name, value] : arrays) {
        const Tensor numbers = tensor_from(value.cast<py::array>());
        written.push_back(array_of_numbers(name.cast<std::string>(), numbers.shape(), numbers.values()));
    }
    write_safetensors(file, written, {});
}

}  // namespace

void add_nets(py::module_& module) {
    module.def("train", &train_net);
    module.def("net_gradients", &net_gradients);
    module.def("write_weights", &write_weights);
    module.def("shuffled", &shuffled);  // the order in which an epoch's batches take the examples
    module.def("checked_net", [](const std::string& net) { return json_of(net_of_text(net)); });
    module.def("nets", [] {
        std::vector<std::pair<std::string, std::string>> rows;
        for (const NamedNet& row : named_nets()) rows.emplace_back(row.name, row.what);
        return rows;
    });
}

}  // namespace ulp::python
