// Layers, losses and optimizers against float64 results of PyTorch, where there is a folder of them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
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
    template <class Real>
    [[nodiscard]] BasicTensor<Real> tensor(const std::string& name) const {
        const npy::Numbers numbers = array(name);
        return BasicTensor<Real>(numbers.shape, std::vector<Real>(numbers.values.begin(), numbers.values.end()));
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

template <class Real>
constexpr const char* recipe_of = std::is_same_v<Real, double> ? "fp64" : "fp32";
/// fp64: as the description asks. fp32: sums of up to some hundred terms, relative to the largest entry.
template <class Real>
constexpr double bound_of = std::is_same_v<Real, double> ? 1e-10 : 1e-5;

/// The largest difference, relative to the largest expected entry.
template <class Real>
double error(const BasicTensor<Real>& got, const BasicTensor<double>& expected) {
    if (got.size() != expected.size()) return INFINITY;
    double worst = 0;
    double largest = 1e-12;
    for (Index i = 0; i < got.size(); ++i) {
        const double difference = std::abs(static_cast<double>(got[i]) - expected[i]);
        worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
        largest = std::max(largest, std::abs(expected[i]));
    }
    return worst / largest;
}

/// Runs f on x and the named parameters; checks the result (or the loss) and every gradient that the case has.
template <class Real>
void check_layer(const Golden& golden, const std::vector<std::string>& parameters,
                 const std::function<BasicVar<Real>(BasicVar<Real> x, const std::vector<BasicVar<Real>>&)>& f) {
    const Engine engine(recipe_of<Real>, "soft:ieee");
    BasicTape<Real> tape(engine);
    const BasicVar<Real> x = tape.leaf(golden.tensor<Real>("x"));
    std::vector<BasicVar<Real>> vars;
    for (const std::string& name : parameters) vars.push_back(tape.leaf(golden.tensor<Real>(name)));
    BasicVar<Real> out = f(x, vars);
    if (golden.has("out")) {
        CHECK(out.shape() == golden.array("out").shape);
        CHECK(error(out.value(), golden.tensor<double>("out")) < bound_of<Real>);
        // sum(out * cotangent) as a product of one row by one column
        const Index n = out.value().size();
        const BasicVar<Real> cotangent = tape.constant(golden.tensor<Real>("cotangent"));
        out = reshape(matmul(reshape(out, {1, n}), reshape(cotangent, {n, 1})), {});
    } else {
        CHECK(error(out.value(), golden.tensor<double>("loss")) < bound_of<Real>);
    }
    tape.backward(out);
    if (golden.has("grad_x")) CHECK(error(x.gradient(), golden.tensor<double>("grad_x")) < bound_of<Real>);
    for (std::size_t i = 0; i < vars.size(); ++i) {
        CAPTURE(parameters[i]);
        CHECK(error(vars[i].gradient(), golden.tensor<double>("grad_" + parameters[i])) < bound_of<Real>);
    }
}

template <class Real>
void check_conv(const Golden& g, bool one_dimensional) {
    const ConvOptions options{g.integer("stride", 1), g.integer("padding", 0), g.integer("dilation", 1),
                              g.integer("groups", 1)};
    check_layer<Real>(g, {"weight", "bias"}, [&](BasicVar<Real> x, const auto& p) {
        return one_dimensional ? conv1d(x, p[0], p[1], options) : conv2d(x, p[0], p[1], options);
    });
}

/// Copies the case's arrays into the model's parameters, by the last part of their names.
template <class Real>
void load_parameters(BasicModel<Real>& model, const Golden& g,
                     const std::function<std::string(std::string)>& array_of) {
    for (BasicParameter<Real>& parameter : model.parameters())
        parameter.value = g.tensor<Real>(array_of(parameter.name));
}

/// A layer that owns its parameters: compares its result and all gradients.
template <class Real, class Layer>
void check_model(const Golden& g, BasicModel<Real>& model, const std::function<std::string(std::string)>& array_of,
                 const Layer& layer) {
    load_parameters(model, g, array_of);
    check_layer<Real>(g, {}, [&](BasicVar<Real> x, const auto&) { return layer(x); });
    for (const BasicParameter<Real>& parameter : model.parameters()) {
        CAPTURE(parameter.name);
        CHECK(error(parameter.gradient, g.tensor<double>("grad_" + array_of(parameter.name))) < bound_of<Real>);
    }
}

std::string after_dot(const std::string& name) { return name.substr(name.find('.') + 1); }
std::string underscored(std::string name) {
    name = after_dot(name);
    std::replace(name.begin(), name.end(), '.', '_');
    return name;
}

template <class Real>
void check_recurrent(const Golden& g, bool lstm) {
    BasicModel<Real> model(recipe_by_name(recipe_of<Real>), 1);
    const Index in = g.array("x").shape[2];
    const Index width = g.array("out").shape[2];
    const auto array_of = [](const std::string& name) { return after_dot(name) + "_l0"; };
    if (lstm) {
        check_model<Real>(g, model, array_of, BasicLstm<Real>(model, "cell", in, width));
    } else {
        check_model<Real>(g, model, array_of, BasicGru<Real>(model, "cell", in, width));
    }
}

template <class Real>
void check_attention(const Golden& g) {
    BasicModel<Real> model(recipe_by_name(recipe_of<Real>), 1);
    const BasicMultiHeadAttention<Real> layer(model, "mha", g.array("x").shape[2], g.integer("heads", 1));
    check_model<Real>(g, model, underscored, [&](BasicVar<Real> x) { return layer(x, g.flag("causal")); });
}

template <class Real>
void check_batch_norm(const Golden& g) {
    const Index channels = g.array("x").shape[1];
    BasicBatchStatistics<Real> running{
        BasicTensor<Real>({channels}),
        BasicTensor<Real>({channels}, std::vector<Real>(static_cast<std::size_t>(channels), 1))};
    check_layer<Real>(g, {"weight", "bias"}, [&](BasicVar<Real> x, const auto& p) {
        return batch_norm(x, p[0], p[1], running, {g.number("eps", 1e-5), g.number("momentum", 0.1)});
    });
    CHECK(error(running.mean, g.tensor<double>("running_mean_after")) < bound_of<Real>);
    CHECK(error(running.variance, g.tensor<double>("running_var_after")) < bound_of<Real>);
}

template <class Real>
void check_embedding(const Golden& g) {
    const Engine engine(recipe_of<Real>, "soft:ieee");
    BasicTape<Real> tape(engine);
    const BasicVar<Real> table = tape.leaf(g.tensor<Real>("weight"));
    const npy::Numbers ids = g.array("x");
    const BasicVar<Real> out = embedding(table, ids.integers(), ids.shape);
    CHECK(error(out.value(), g.tensor<double>("out")) < bound_of<Real>);
    const Index n = out.value().size();
    const BasicVar<Real> cotangent = tape.constant(g.tensor<Real>("cotangent"));
    tape.backward(reshape(matmul(reshape(out, {1, n}), reshape(cotangent, {n, 1})), {}));
    CHECK(error(table.gradient(), g.tensor<double>("grad_weight")) < bound_of<Real>);
}

template <class Real>
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
    check_layer<Real>(g, {}, [&](BasicVar<Real> x, const auto&) {
        return ctc(log_softmax(x), targets, static_cast<int>(g.integer("blank", 0)));
    });
}

template <class Real>
void check_optimizer(const Golden& g, OptimizerOptions options) {
    options.learning_rate = g.number("lr", 0);
    options.momentum = g.number("momentum", 0);
    options.nesterov = g.flag("nesterov");
    options.weight_decay = g.number("weight_decay", 0);
    options.beta1 = g.element("betas", 0, 0.9);
    options.beta2 = g.element("betas", 1, 0.999);
    options.alpha = g.number("alpha", 0.99);
    options.eps = g.number("eps", 1e-8);
    const BasicTensor<Real> gradients = g.tensor<Real>("gradients");
    const BasicTensor<double> path = g.tensor<double>("weights");
    const Shape shape(gradients.shape().begin() + 1, gradients.shape().end());
    const Index size = volume(shape);
    const auto part = [&](const auto& from, Index i, auto* to) {
        for (Index j = 0; j < size; ++j)
            (*to)[j] = static_cast<std::remove_reference_t<decltype((*to)[0])>>(from[i * size + j]);
    };
    BasicModel<Real> model(recipe_by_name(recipe_of<Real>), 1);
    BasicParameter<Real>& w = model.add("w", shape, Init::constant(0));
    part(path, 0, &w.value);
    BasicOptimizer<Real> optimizer(model, options);
    double worst = 0;
    for (Index t = 0; t < gradients.dim(0); ++t) {
        w.gradient = BasicTensor<Real>(shape);
        part(gradients, t, &w.gradient);
        optimizer.step();
        BasicTensor<double> expected(shape);
        part(path, t + 1, &expected);
        worst = std::max(worst, error(w.value, expected));
    }
    CHECK(gradients.dim(0) > 1);
    CHECK(worst < bound_of<Real>);
}

template <class Real>
void check_clip(const Golden& g) {
    BasicModel<Real> model(recipe_by_name(recipe_of<Real>), 1);
    BasicParameter<Real>& p = model.add("p", g.array("gradient").shape, Init::constant(0));
    p.gradient = g.tensor<Real>("gradient");
    BasicOptimizer<Real> optimizer(model, {});
    optimizer.collect_gradients();
    const Real norm = optimizer.clip_by_norm(g.number("max_norm", 1));
    CHECK(error(BasicTensor<Real>(Shape{}, std::vector<Real>{norm}), g.tensor<double>("norm")) < bound_of<Real>);
    CHECK(error(optimizer.gradients()[0], g.tensor<double>("clipped")) < bound_of<Real>);
}

using Check = std::function<void(const Golden&)>;

template <class Real>
Check activation(BasicVar<Real> (*f)(BasicVar<Real>)) {
    return [f](const Golden& g) { check_layer<Real>(g, {}, [f](BasicVar<Real> x, const auto&) { return f(x); }); };
}

template <class Real>
std::map<std::string, Check> golden_checks() {
    using V = std::vector<BasicVar<Real>>;
    const auto optimizer = [](OptimizerKind kind) -> Check {
        return [kind](const Golden& g) { check_optimizer<Real>(g, {.kind = kind}); };
    };
    const Check conv = [](const Golden& g) { check_conv<Real>(g, false); };
    return {
        {"linear",
         [](const Golden& g) {
             check_layer<Real>(g, {"weight", "bias"},
                               [](BasicVar<Real> x, const V& p) { return linear(x, p[0], p[1]); });
         }},
        {"conv2d", conv},
        {"conv2d_stride2", conv},
        {"conv2d_dilated", conv},
        {"conv2d_grouped", conv},
        {"conv1d_dilated", [](const Golden& g) { check_conv<Real>(g, true); }},
        {"conv_transpose2d",
         [](const Golden& g) {
             check_layer<Real>(g, {"weight", "bias"}, [&](BasicVar<Real> x, const V& p) {
                 return conv_transpose2d(x, p[0], p[1], {.stride = g.integer("stride", 1)});
             });
         }},
        {"maxpool2d",
         [](const Golden& g) {
             check_layer<Real>(g, {},
                               [&](BasicVar<Real> x, const V&) { return max_pool2d(x, g.integer("kernel", 2)); });
         }},
        {"avgpool2d",
         [](const Golden& g) {
             check_layer<Real>(g, {},
                               [&](BasicVar<Real> x, const V&) { return avg_pool2d(x, g.integer("kernel", 2)); });
         }},
        {"batchnorm2d_train", check_batch_norm<Real>},
        {"layernorm",
         [](const Golden& g) {
             check_layer<Real>(g, {"weight", "bias"}, [&](BasicVar<Real> x, const V& p) {
                 return layer_norm(x, p[0], p[1], g.number("eps", 1e-5));
             });
         }},
        {"groupnorm",
         [](const Golden& g) {
             check_layer<Real>(g, {"weight", "bias"}, [&](BasicVar<Real> x, const V& p) {
                 return group_norm(x, p[0], p[1], g.integer("groups", 1), g.number("eps", 1e-5));
             });
         }},
        {"embedding", check_embedding<Real>},
        {"activation_relu", activation<Real>(relu<Real>)},
        {"activation_gelu", activation<Real>(gelu<Real>)},
        {"activation_sigmoid", activation<Real>(sigmoid<Real>)},
        {"activation_tanh", activation<Real>(ulp::tanh<Real>)},
        {"activation_softmax", activation<Real>(softmax<Real>)},
        {"activation_log_softmax", activation<Real>(log_softmax<Real>)},
        {"activation_leaky_relu",
         [](const Golden& g) {
             check_layer<Real>(g, {}, [](BasicVar<Real> x, const V&) { return leaky_relu(x, 0.2); });
         }},
        {"lstm", [](const Golden& g) { check_recurrent<Real>(g, true); }},
        {"gru", [](const Golden& g) { check_recurrent<Real>(g, false); }},
        {"attention", check_attention<Real>},
        {"attention_causal", check_attention<Real>},
        {"loss_cross_entropy",
         [](const Golden& g) {
             check_layer<Real>(g, {},
                               [&](BasicVar<Real> x, const V&) { return cross_entropy(x, g.array("y").integers()); });
         }},
        {"loss_mse",
         [](const Golden& g) {
             check_layer<Real>(g, {}, [&](BasicVar<Real> x, const V&) { return mse(x, g.tensor<Real>("y")); });
         }},
        {"loss_bce_with_logits",
         [](const Golden& g) {
             check_layer<Real>(g, {},
                               [&](BasicVar<Real> x, const V&) { return bce_with_logits(x, g.tensor<Real>("y")); });
         }},
        {"loss_ctc", check_ctc<Real>},
        {"optimizer_sgd", optimizer(OptimizerKind::sgd)},
        {"optimizer_sgd_momentum", optimizer(OptimizerKind::sgd)},
        {"optimizer_sgd_nesterov", optimizer(OptimizerKind::sgd)},
        {"optimizer_adam", optimizer(OptimizerKind::adam)},
        {"optimizer_adamw", optimizer(OptimizerKind::adamw)},
        {"optimizer_adagrad", optimizer(OptimizerKind::adagrad)},
        {"optimizer_rmsprop", optimizer(OptimizerKind::rmsprop)},
        {"clip_grad_norm", check_clip<Real>},
    };
}

template <class Real>
void check_all() {
    const auto root = ulp::test::shared_folder("golden");
    if (!root) return;
    for (const auto& row : golden_checks<Real>()) {
        const std::string& name = row.first;
        CAPTURE(name);
        row.second(Golden(*root, name));
    }
}

TEST_CASE("golden results in fp64, to 1e-10") { check_all<double>(); }
TEST_CASE("golden results in fp32, to 1e-5") { check_all<float>(); }

TEST_CASE("every golden case has a check") {
    const auto root = ulp::test::shared_folder("golden");
    if (!root) return;
    const auto checks = golden_checks<double>();
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
