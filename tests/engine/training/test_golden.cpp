// Layers, losses and optimizers against float64 results of PyTorch, where there is a folder of them. Compiled in both
// modes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/files/npy.hpp"
#include "engine/layers/attention.hpp"
#include "engine/layers/recurrent.hpp"
#include "engine/training/optimizer.hpp"
#include "tests/shared_data.hpp"

namespace {

using namespace ulp;
namespace fs = std::filesystem;

/// A case's folder: its settings and its arrays.
class Golden {
  public:
    Golden(const fs::path& root, const std::string& name) : folder_(root / name) {
        std::ifstream(folder_ / "case.json") >> settings_;
    }
    [[nodiscard]] npy::Numbers array(const std::string& name) const {
        return npy::read_numbers(folder_ / (name + ".npy"));
    }
    [[nodiscard]] std::vector<double> numbers(const std::string& name) const { return array(name).values; }
    [[nodiscard]] Tensor tensor(const std::string& name) const {
        const npy::Numbers all = array(name);
        return Tensor(all.shape, std::vector<Real>(all.values.begin(), all.values.end()));
    }
    [[nodiscard]] bool has(const std::string& name) const { return fs::exists(folder_ / (name + ".npy")); }
    [[nodiscard]] double number(const std::string& name, double otherwise) const {
        return settings_.contains(name) && settings_[name].is_number() ? settings_[name].get<double>() : otherwise;
    }
    [[nodiscard]] Index integer(const std::string& name, Index otherwise) const {
        return settings_.value(name, otherwise);
    }
    [[nodiscard]] bool flag(const std::string& name) const {
        return settings_.contains(name) && settings_[name].is_boolean() && settings_[name].get<bool>();
    }
    [[nodiscard]] double element(const std::string& list, std::size_t i, double otherwise) const {
        return settings_.contains(list) && settings_[list].is_array() ? settings_[list][i].get<double>() : otherwise;
    }

  private:
    fs::path folder_;
    nlohmann::json settings_;
};

constexpr const char* mode_recipe = fp64_mode_on ? "fp64" : "fp32";
/// fp64: as the description asks. fp32: sums of up to some hundred terms, relative to the largest entry.
constexpr double bound = fp64_mode_on ? 1e-10 : 1e-5;

/// The largest difference, relative to the largest expected entry.
double error(const Tensor& got, const std::vector<double>& expected) {
    if (got.size() != static_cast<Index>(expected.size())) return INFINITY;
    double worst = 0;
    double largest = 1e-12;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const double difference = std::abs(static_cast<double>(got.values()[i]) - expected[i]);
        worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
        largest = std::max(largest, std::abs(expected[i]));
    }
    return worst / largest;
}

/// Runs f on x and the named parameters; checks the result (or the loss) and every gradient that the case has.
void check_layer(const Golden& golden, const std::vector<std::string>& parameters,
                 const std::function<Var(Var x, const std::vector<Var>&)>& f) {
    const Engine engine(mode_recipe, "soft:ieee");
    Tape tape(engine);
    const Var x = tape.leaf(golden.tensor("x"));
    std::vector<Var> vars;
    for (const std::string& name : parameters) vars.push_back(tape.leaf(golden.tensor(name)));
    Var out = f(x, vars);
    if (golden.has("out")) {
        CHECK(out.shape() == golden.array("out").shape);
        CHECK(error(out.value(), golden.numbers("out")) < bound);
        // sum(out * cotangent) as a product of one row by one column
        const Index n = out.value().size();
        const Var cotangent = tape.constant(golden.tensor("cotangent"));
        out = reshape(matmul(reshape(out, {1, n}), reshape(cotangent, {n, 1})), {});
    } else {
        CHECK(error(out.value(), golden.numbers("loss")) < bound);
    }
    tape.backward(out);
    if (golden.has("grad_x")) CHECK(error(x.gradient(), golden.numbers("grad_x")) < bound);
    for (std::size_t i = 0; i < vars.size(); ++i) {
        CAPTURE(parameters[i]);
        CHECK(error(vars[i].gradient(), golden.numbers("grad_" + parameters[i])) < bound);
    }
}

void check_conv(const Golden& g, bool one_dimensional) {
    const ConvOptions options{g.integer("stride", 1), g.integer("padding", 0), g.integer("dilation", 1),
                              g.integer("groups", 1)};
    check_layer(g, {"weight", "bias"}, [&](Var x, const auto& p) {
        return one_dimensional ? conv1d(x, p[0], p[1], options) : conv2d(x, p[0], p[1], options);
    });
}

/// Copies the case's arrays into the model's parameters, by the last part of their names.
void load_parameters(Model& model, const Golden& g, const std::function<std::string(std::string)>& array_of) {
    for (Parameter& parameter : model.parameters()) parameter.value = g.tensor(array_of(parameter.name));
}

/// A layer that owns its parameters: compares its result and all gradients.
template <class Layer>
void check_model(const Golden& g, Model& model, const std::function<std::string(std::string)>& array_of,
                 const Layer& layer) {
    load_parameters(model, g, array_of);
    check_layer(g, {}, [&](Var x, const auto&) { return layer(x); });
    for (const Parameter& parameter : model.parameters()) {
        CAPTURE(parameter.name);
        CHECK(error(parameter.gradient, g.numbers("grad_" + array_of(parameter.name))) < bound);
    }
}

std::string after_dot(const std::string& name) { return name.substr(name.find('.') + 1); }
std::string underscored(std::string name) {
    name = after_dot(name);
    std::replace(name.begin(), name.end(), '.', '_');
    return name;
}

void check_recurrent(const Golden& g, bool lstm) {
    Model model(recipe_by_name(mode_recipe), 1);
    const Index in = g.array("x").shape[2];
    const Index width = g.array("out").shape[2];
    const auto array_of = [](const std::string& name) { return after_dot(name) + "_l0"; };
    if (lstm) {
        check_model(g, model, array_of, Lstm(model, "cell", in, width));
    } else {
        check_model(g, model, array_of, Gru(model, "cell", in, width));
    }
}

void check_attention(const Golden& g) {
    Model model(recipe_by_name(mode_recipe), 1);
    const MultiHeadAttention layer(model, "mha", g.array("x").shape[2], g.integer("heads", 1));
    check_model(g, model, underscored, [&](Var x) { return layer(x, g.flag("causal")); });
}

void check_batch_norm(const Golden& g) {
    const Index channels = g.array("x").shape[1];
    BatchStatistics running{Tensor({channels}),
                            Tensor({channels}, std::vector<Real>(static_cast<std::size_t>(channels), 1))};
    check_layer(g, {"weight", "bias"}, [&](Var x, const auto& p) {
        return batch_norm(x, p[0], p[1], running, {g.number("eps", 1e-5), g.number("momentum", 0.1)});
    });
    CHECK(error(running.mean, g.numbers("running_mean_after")) < bound);
    CHECK(error(running.variance, g.numbers("running_var_after")) < bound);
}

void check_embedding(const Golden& g) {
    const Engine engine(mode_recipe, "soft:ieee");
    Tape tape(engine);
    const Var table = tape.leaf(g.tensor("weight"));
    const npy::Numbers ids = g.array("x");
    const Var out = embedding(table, ids.integers(), ids.shape);
    CHECK(error(out.value(), g.numbers("out")) < bound);
    const Index n = out.value().size();
    const Var cotangent = tape.constant(g.tensor("cotangent"));
    tape.backward(reshape(matmul(reshape(out, {1, n}), reshape(cotangent, {n, 1})), {}));
    CHECK(error(table.gradient(), g.numbers("grad_weight")) < bound);
}

void check_ctc(const Golden& g) {
    const npy::Numbers labels = g.array("y");
    const std::vector<int> all = labels.integers();
    const std::vector<int> lengths = g.array("target_lengths").integers();
    const std::vector<int> steps = g.array("input_lengths").integers();
    std::vector<CtcTarget> targets;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        const auto first = all.begin() + static_cast<Index>(i) * labels.shape[1];
        targets.push_back({{first, first + lengths[i]}, steps[i]});
    }
    check_layer(g, {}, [&](Var x, const auto&) {
        return ctc(log_softmax(x), targets, static_cast<int>(g.integer("blank", 0)));
    });
}

void check_optimizer(const Golden& g, OptimizerOptions options) {
    options.learning_rate = g.number("lr", 0);
    options.momentum = g.number("momentum", 0);
    options.nesterov = g.flag("nesterov");
    options.weight_decay = g.number("weight_decay", 0);
    options.beta1 = g.element("betas", 0, 0.9);
    options.beta2 = g.element("betas", 1, 0.999);
    options.alpha = g.number("alpha", 0.99);
    options.eps = g.number("eps", 1e-8);
    const Tensor gradients = g.tensor("gradients");
    const std::vector<double> path = g.numbers("weights");
    const Shape shape(gradients.shape().begin() + 1, gradients.shape().end());
    const Index size = volume(shape);
    const auto weights_at = [&](Index t) {
        return std::vector<double>(path.begin() + t * size, path.begin() + (t + 1) * size);
    };
    Model model(recipe_by_name(mode_recipe), 1);
    Parameter& w = model.add("w", shape, Init::constant(0));
    const std::vector<double> start = weights_at(0);
    w.value = Tensor(shape, std::vector<Real>(start.begin(), start.end()));
    Optimizer optimizer(model, options);
    double worst = 0;
    for (Index t = 0; t < gradients.dim(0); ++t) {
        const Real* const g_t = gradients.data() + t * size;
        w.gradient = Tensor(shape, std::vector<Real>(g_t, g_t + size));
        optimizer.step();
        worst = std::max(worst, error(w.value, weights_at(t + 1)));
    }
    CHECK(gradients.dim(0) > 1);
    CHECK(worst < bound);
}

void check_clip(const Golden& g) {
    Model model(recipe_by_name(mode_recipe), 1);
    Parameter& p = model.add("p", g.array("gradient").shape, Init::constant(0));
    p.gradient = g.tensor("gradient");
    Optimizer optimizer(model, {});
    optimizer.collect_gradients();
    const Real norm = optimizer.clip_by_norm(g.number("max_norm", 1));
    CHECK(error(Tensor(Shape{}, std::vector<Real>{norm}), g.numbers("norm")) < bound);
    CHECK(error(optimizer.gradients()[0], g.numbers("clipped")) < bound);
}

using Check = std::function<void(const Golden&)>;

Check activation(Var (*f)(Var)) {
    return [f](const Golden& g) { check_layer(g, {}, [f](Var x, const auto&) { return f(x); }); };
}

std::map<std::string, Check> golden_checks() {
    using V = std::vector<Var>;
    const auto optimizer = [](OptimizerKind kind) -> Check {
        return [kind](const Golden& g) { check_optimizer(g, {.kind = kind}); };
    };
    const Check conv = [](const Golden& g) { check_conv(g, false); };
    return {
        {"linear",
         [](const Golden& g) {
             check_layer(g, {"weight", "bias"}, [](Var x, const V& p) { return linear(x, p[0], p[1]); });
         }},
        {"conv2d", conv},
        {"conv2d_stride2", conv},
        {"conv2d_dilated", conv},
        {"conv2d_grouped", conv},
        {"conv1d_dilated", [](const Golden& g) { check_conv(g, true); }},
        {"conv_transpose2d",
         [](const Golden& g) {
             check_layer(g, {"weight", "bias"}, [&](Var x, const V& p) {
                 return conv_transpose2d(x, p[0], p[1], {.stride = g.integer("stride", 1)});
             });
         }},
        {"maxpool2d",
         [](const Golden& g) {
             check_layer(g, {}, [&](Var x, const V&) { return max_pool2d(x, g.integer("kernel", 2)); });
         }},
        {"avgpool2d",
         [](const Golden& g) {
             check_layer(g, {}, [&](Var x, const V&) { return avg_pool2d(x, g.integer("kernel", 2)); });
         }},
        {"batchnorm2d_train", check_batch_norm},
        {"layernorm",
         [](const Golden& g) {
             check_layer(g, {"weight", "bias"},
                         [&](Var x, const V& p) { return layer_norm(x, p[0], p[1], g.number("eps", 1e-5)); });
         }},
        {"groupnorm",
         [](const Golden& g) {
             check_layer(g, {"weight", "bias"}, [&](Var x, const V& p) {
                 return group_norm(x, p[0], p[1], g.integer("groups", 1), g.number("eps", 1e-5));
             });
         }},
        {"embedding", check_embedding},
        {"activation_relu", activation(relu)},
        {"activation_gelu", activation(gelu)},
        {"activation_sigmoid", activation(sigmoid)},
        {"activation_tanh", activation(ulp::tanh)},
        {"activation_softmax", activation(softmax)},
        {"activation_log_softmax", activation(log_softmax)},
        {"activation_leaky_relu",
         [](const Golden& g) { check_layer(g, {}, [](Var x, const V&) { return leaky_relu(x, 0.2); }); }},
        {"lstm", [](const Golden& g) { check_recurrent(g, true); }},
        {"gru", [](const Golden& g) { check_recurrent(g, false); }},
        {"attention", check_attention},
        {"attention_causal", check_attention},
        {"loss_cross_entropy",
         [](const Golden& g) {
             check_layer(g, {}, [&](Var x, const V&) { return cross_entropy(x, g.array("y").integers()); });
         }},
        {"loss_mse",
         [](const Golden& g) { check_layer(g, {}, [&](Var x, const V&) { return mse(x, g.tensor("y")); }); }},
        {"loss_bce_with_logits",
         [](const Golden& g) {
             check_layer(g, {}, [&](Var x, const V&) { return bce_with_logits(x, g.tensor("y")); });
         }},
        {"loss_ctc", check_ctc},
        {"optimizer_sgd", optimizer(OptimizerKind::sgd)},
        {"optimizer_sgd_momentum", optimizer(OptimizerKind::sgd)},
        {"optimizer_sgd_nesterov", optimizer(OptimizerKind::sgd)},
        {"optimizer_adam", optimizer(OptimizerKind::adam)},
        {"optimizer_adamw", optimizer(OptimizerKind::adamw)},
        {"optimizer_adagrad", optimizer(OptimizerKind::adagrad)},
        {"optimizer_rmsprop", optimizer(OptimizerKind::rmsprop)},
        {"clip_grad_norm", check_clip},
    };
}

TEST_CASE("golden results: to 1e-10 in fp64, to 1e-5 in fp32") {
    const auto root = ulp::test::shared_folder("golden");
    if (!root) return;
    for (const auto& row : golden_checks()) {
        const std::string& name = row.first;
        CAPTURE(name);
        row.second(Golden(*root, name));
    }
}

TEST_CASE("every golden case has a check") {
    const auto root = ulp::test::shared_folder("golden");
    if (!root) return;
    const auto checks = golden_checks();
    int cases = 0;
    for (const auto& entry : fs::directory_iterator(*root)) {
        if (!entry.is_directory()) continue;
        CAPTURE(entry.path().filename().string());
        CHECK(checks.count(entry.path().filename().string()) == 1);
        ++cases;
    }
    CHECK(cases == static_cast<int>(checks.size()));
}

}  // namespace
