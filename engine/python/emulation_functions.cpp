// What ulplab.torch is made of: a recipe's products on a backend, by the trainer's own code, and loss scales.
#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "engine/products/backends.hpp"
#include "engine/python/module_parts.hpp"
#include "engine/python/numpy_arrays.hpp"
#include "engine/python/operations.hpp"
#include "engine/python/tensor_arrays.hpp"
#include "engine/python/unit_lookup.hpp"
#include "engine/recipes/loss_scale.hpp"
#include "engine/recipes/product_rules.hpp"
#include "engine/recipes/recipe.hpp"
#include "engine/tape/run.hpp"
#include "engine/tape/scaled_matmul.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/names.hpp"

namespace ulp::python {
namespace {

/// A backend whose long products end with Ctrl-C.
class EmulatedBackend final : public MatmulBackend {
  public:
    explicit EmulatedBackend(std::unique_ptr<MatmulBackend> inner) : inner_(std::move(inner)) {}
    [[nodiscard]] std::string name() const override { return inner_->name(); }
    [[nodiscard]] bool has_product(const ProductTypes& types) const override { return inner_->has_product(types); }
    [[nodiscard]] std::string promised_model(const ProductTypes& types) const override {
        return inner_->promised_model(types);
    }
    [[nodiscard]] std::string path(const ProductTypes& types, Index m, Index n, Index k) const override {
        return inner_->path(types, m, n, k);
    }

  private:
    /// In parts of some rows; eigen's bits may depend on how many there are.
    void compute(const Product& p) const override {
        constexpr Index between_signals = Index{1} << 28;  // multiplications
        const Index each = std::max<Index>(1, p.b.cols * p.b.rows);
        const Index step = inner_->name() == "eigen" ? p.d.rows : std::max<Index>(64, between_signals / each);
        for (Index first = 0; first < p.d.rows; first += step) {
            if (first > 0) check_signals();
            const Index rows = std::min(step, p.d.rows - first);
            Product part = p;
            part.a = p.a.part(first, 0, rows, p.a.cols);
            part.d = p.d.part(first, 0, rows, p.d.cols);
            if (p.c) part.c = p.c->part(first, 0, rows, p.c->cols);
            if (p.a_scales.rows > 0) part.a_scales = p.a_scales.part(first, 0, rows, p.a_scales.cols);
            inner_->matmul(part);
        }
    }

    std::unique_ptr<MatmulBackend> inner_;
};

std::unique_ptr<MatmulBackend> backend_of(const std::string& spec, const ProductOrder& order) {
    std::unique_ptr<MatmulBackend> backend = make_backend(spec);
    if (order != ProductOrder{}) {
        backend = in_order(std::move(backend), order,
                           [](const std::string& key) { return *unit_named(key)->as<TensorCoreModel>(); });
    }
    return std::make_unique<EmulatedBackend>(std::move(backend));
}

std::string name_of_cast(Cast cast) {
    constexpr const char* names[] = {"as_stored", "low", "single", "banned"};
    return names[static_cast<std::size_t>(cast)];
}

/// A product as the emulation knows it: its layer, the operation of the trainer that it belongs to, its pass
/// (ProductPass) and which operand is a gradient (ProductPurpose::Gradient).
struct EmulatedProduct {
    std::string layer, operation;
    int pass = 0;
    int gradient = 0;
    bool again = false;  // a checkpoint computes its forward pass again: with the scales that it had
};

/// A recipe on a backend, and the run that remembers its delayed scales.
class Emulated {
  public:
    /// `fp32`: operations that it computes in fp32 beside its own.
    Emulated(const std::string& recipe, const std::string& backend, const py::object& order, std::uint64_t seed,
             const std::vector<std::string>& fp32)
        : engine_(with_fp32_operations(recipe_by_name(recipe), fp32), backend_of(backend, order_of(order))),
          backend_(backend) {
        if (const auto refusal = refusal_of(engine_.recipe, *engine_.backend)) throw py::value_error(*refusal);
        run_.seed = seed;
        run_.layers = LayerRecipes(engine_.recipe, {});
    }

    /// The model's linear layers, in its order: which of them the recipe leaves to another one.
    void set_linear_layers(const std::vector<std::string>& names) {
        const std::lock_guard lock(mutex_);
        run_.layers = LayerRecipes(engine_.recipe, names);
    }

    /// m x k times k x n, or batches of them: fp32 numbers, rounded to the recipe's operand format first.
    /// Adds to `saturated` the quantised numbers that their scales leave no room for.
    py::array matmul(const py::array& a, const py::array& b, const EmulatedProduct& which) {
        const Recipe& recipe = run_.layers.recipe_for(engine_.recipe, which.layer, which.operation);
        const FloatFormat own[] = {engine_.recipe.low};
        const ProductTypes types = recipe.precision_of(which.operation, own).product;
        const Matrices x = load_matrices(a, types.input, InputRounding{}, "a");
        const Matrices y = load_matrices(b, types.b_input, InputRounding{}, "b");
        if (x.cols != y.rows || (x.batches != y.batches && x.batches != 1 && y.batches != 1)) {
            throw py::value_error(fmt::format("a is {} x {} x {} and b {} x {} x {}", x.batches, x.rows, x.cols,
                                              y.batches, y.rows, y.cols));
        }
        const std::int64_t batches = std::max(x.batches, y.batches);
        Shape shape{x.rows, y.cols};
        if (a.ndim() == 3 || b.ndim() == 3) shape.insert(shape.begin(), batches);
        Tensor d = Tensor::unset(shape);
        float* const numbers = d.data();
        const std::string label = which.layer + "/" + which.operation;
        ProductPurpose purpose{label, static_cast<ProductPass>(which.pass),
                               static_cast<ProductPurpose::Gradient>(which.gradient), &recipe.products};
        purpose.gradient_used_before = purpose.pass == ProductPass::weight_gradient;
        purpose.saturated = &saturated_;
        {
            const py::gil_scoped_release unlocked;
            const std::lock_guard lock(mutex_);
            std::vector<MatrixProduct> products;
            for (std::int64_t i = 0; i < batches; ++i) {
                products.push_back({x.view(i), y.view(i), {numbers + i * x.rows * y.cols, x.rows, y.cols}});
            }
            if (purpose.pass != ProductPass::forward) {
                scaled_matmul(engine_, run_, types, purpose, products);
            } else if (which.again) {
                Run as_before{.seed = run_.seed, .step = run_.step, .layers = run_.layers};
                Earlier& earlier = earlier_[label];
                if (earlier.next < earlier.before.size()) as_before.scaling_history = earlier.before[earlier.next++];
                scaled_matmul(engine_, as_before, types, purpose, products);
            } else {
                keep_history(label);
                scaled_matmul(engine_, run_, types, purpose, products);
            }
        }
        return array_from(std::move(d));
    }

    /// The result of an operation (operations.hpp), or from that of the result the gradients of its inputs, with their
    /// formats' names; then overflows and underflows. `single` says which inputs are in fp32, the others are in the low
    /// format.
    py::tuple operate(const std::string& name, const std::vector<Floats>& inputs, const std::vector<bool>& single,
                      const std::vector<double>& numbers, const std::optional<Floats>& of_result) {
        OperationCall call{name, {}, numbers};
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            call.inputs.push_back(tensor_from(inputs[i]));
            if (!single[i]) call.inputs.back().round_to_format(engine_.recipe.stored(engine_.recipe.low));
        }
        OperationResults results;
        {
            std::optional<Tensor> cotangent;
            if (of_result) cotangent = tensor_from(*of_result);
            const py::gil_scoped_release unlocked;
            results = cotangent ? gradients(engine_, std::move(call), *cotangent) : compute(engine_, std::move(call));
        }
        py::list tensors;
        for (Tensor& each : results.tensors) {
            const bool in_fp32 = each.format() == formats::fp32;
            tensors.append(py::make_tuple(array_from(std::move(each)), in_fp32));
        }
        return py::make_tuple(tensors, results.overflows, results.underflows);
    }

    /// rows x cols to cols: sums from the first row down, in the steps of linear layers.
    py::array sum_rows(const Floats& matrix, bool single) {
        Tensor rows = tensor_from(matrix);
        if (!single) rows.round_to_format(engine_.recipe.stored(engine_.recipe.low));
        const py::gil_scoped_release unlocked;
        Tensor sums = sum_of_rows(engine_, rows);
        const py::gil_scoped_acquire lock;
        return array_from(std::move(sums));
    }

    [[nodiscard]] py::dict recipe() const {
        const Recipe& r = engine_.recipe;
        const FloatFormat own[] = {r.low};
        const ProductTypes types = r.precision_of("linear", own).product;
        py::dict fields;
        fields["name"] = r.name;
        fields["what"] = r.what;
        for (const auto& [name, format] : {std::pair{"low", r.low},
                                           {"weights", r.weights},
                                           {"inputs", r.inputs},
                                           {"compute", r.compute},
                                           {"accumulator", r.accumulator},
                                           {"update", r.update},
                                           {"input", types.input},
                                           {"b_input", types.b_input}}) {
            fields[name] = name_of(format);
        }
        fields["quantised"] = r.products.quantised();
        fields["master_weights"] = r.master_weights;
        fields["keep_batchnorm_fp32"] = r.keep_batchnorm_fp32;
        fields["flush"] = r.rounding.flush_outputs;
        fields["loss_scale"] = r.loss_scale.dialect;
        fields["kept"] = kept_by_kind(r);
        py::dict casts;
        for (const CastRule& rule : r.cast_rules) casts[py::str(rule.op)] = name_of_cast(rule.cast);
        fields["casts"] = casts;
        return fields;
    }
    [[nodiscard]] std::int64_t saturated() const { return saturated_; }
    [[nodiscard]] std::string path(std::int64_t m, std::int64_t n, std::int64_t k) const {
        return engine_.backend->path(engine_.recipe.product_types(), m, n, k);
    }
    /// As it was given, without the order.
    [[nodiscard]] const std::string& backend() const { return backend_; }
    [[nodiscard]] std::int64_t step() const { return run_.step; }
    void set_step(std::int64_t step) { run_.step = step; }
    void set_training(bool training) { run_.training = training; }

  private:
    /// What delayed scales remembered of a layer before each of its forward products, in their order, until a
    /// checkpoint has computed them again.
    struct Earlier {
        static constexpr std::size_t most = 1024;  // where nothing is computed again
        std::vector<ScalingHistory> before{};
        std::size_t next = 0;  // of these the one that is computed again next
    };

    void keep_history(const std::string& label) {
        const ScalingHistory& all = run_.scaling_history;
        if (engine_.recipe.products.fprop.a.history.length == 0) return;
        Earlier& earlier = earlier_[label];
        if (earlier.next > 0 || earlier.before.size() == Earlier::most) earlier = {};
        ScalingHistory& kept = earlier.before.emplace_back();
        const std::string begin = label + ", ";
        for (auto entry = all.lower_bound(begin); entry != all.end() && entry->first.starts_with(begin); ++entry) {
            kept.insert(*entry);
        }
    }

    /// What an optimizer keeps between steps, by kind of parameter ("" for the ordinary ones), as the trainer's model
    /// has it (engine/tape/parameter.cpp).
    static py::dict kept_by_kind(const Recipe& r) {
        Recipe norms = r;
        if (r.keep_batchnorm_fp32) norms.update = norms.weights = formats::fp32;
        Recipe others = r;
        if (r.state.linear_weights_only) {
            for (Recipe* each : {&norms, &others}) {
                each->state.weight = each->state.master = each->state.gradient = std::nullopt;
            }
        }
        py::dict kept;
        kept[""] = kept_tensors(others);
        kept["batch_norm"] = kept_tensors(norms);
        kept["linear_weight"] = kept_tensors(r);
        return kept;
    }
    /// Where it is not fp32: by role the format, whether it is scaled, and the rounding. "value" is what the model sees
    /// of a master; "update" the format of the steps.
    static py::dict kept_tensors(const Recipe& r) {
        const StateFormat update{r.update};
        const bool stored = !r.master_weights && r.weights != formats::fp32;
        py::dict kept;
        const auto add = [&](const char* role, const StateFormat& format, const char* rounding) {
            if (format.format != formats::fp32)
                kept[role] = py::make_tuple(name_of(format.format), format.scaled, rounding);
        };
        constexpr const char* roundings[] = {"nearest_even", "stochastic", "kahan"};
        if (stored) {
            add("weight", {r.weights}, roundings[static_cast<std::size_t>(r.update_rounding)]);
        } else {
            add("weight", r.state.master.value_or(update), "nearest_even");
        }
        add("gradient", r.state.gradient.value_or(update), "nearest_even");
        add("m", r.state.m.value_or(update), "nearest_even");
        add("v", r.state.v.value_or(update), "nearest_even");
        add("update", update, "nearest_even");
        if (r.state.weight) add("value", *r.state.weight, "nearest_even");
        return kept;
    }

    Engine engine_;
    std::string backend_;
    Run run_;
    std::map<std::string, Earlier> earlier_;  // by layer
    std::int64_t saturated_ = 0;
    std::mutex mutex_;  // of the run
};

/// In place, as an optimizer keeps a tensor whose format is scaled by a power of two.
void keep_scaled(py::array_t<float, py::array::c_style>& array, const std::string& format) {
    Tensor tensor = tensor_from(array);
    keep_in(StateFormat{format_by_name(format), true}, {}, tensor);
    std::copy_n(tensor.data(), tensor.size(), array.mutable_data());
}

LossScale loss_scale_of(const std::string& dialect, const py::dict& options) {
    LossScaleOptions row = loss_scale_dialect(dialect);
    for (const auto& [key, value] : options) {
        const auto name = key.cast<std::string>();
        if (name == "init_scale")
            row.initial = value.cast<double>();
        else if (name == "growth_factor")
            row.growth = value.cast<double>();
        else if (name == "backoff_factor")
            row.backoff = value.cast<double>();
        else if (name == "growth_interval")
            row.window = value.cast<std::int64_t>();
        else
            throw py::value_error("a loss scale has no option " + name);
    }
    return LossScale(row);
}

}  // namespace

void add_emulation(py::module_& module) {
    py::class_<Emulated>(module, "Emulated")
        .def(py::init<const std::string&, const std::string&, const py::object&, std::uint64_t,
                      const std::vector<std::string>&>())
        .def("set_linear_layers", &Emulated::set_linear_layers)
        .def(
            "matmul",
            [](Emulated& self, const py::array& a, const py::array& b, const std::string& layer,
               const std::string& operation, int pass, int gradient, bool again) {
                return self.matmul(a, b, {layer, operation, pass, gradient, again});
            },
            py::arg("a"), py::arg("b"), py::arg("layer"), py::arg("operation"), py::arg("which"), py::arg("gradient"),
            py::arg("again") = false)
        .def("operate", &Emulated::operate)
        .def("sum_rows", &Emulated::sum_rows)
        .def("path", &Emulated::path)
        .def_property_readonly("recipe", &Emulated::recipe)
        .def_property_readonly("saturated", &Emulated::saturated)
        .def_property_readonly("backend", &Emulated::backend)
        .def_property("step", &Emulated::step, &Emulated::set_step)
        .def("set_training", &Emulated::set_training);
    module.def("operation_names", &operation_names);
    // The key of the unit that multiplies numbers of a format (those of b of another), without scales or with those of
    // blocks, with fp32 sums; empty where the backend has none.
    module.def(
        "unit_of_backend",
        [](const std::string& backend, const py::object& format, const py::object& b_format,
           const py::object& scale_format, int scale_block) {
            const FloatFormat a = format_of(format);
            ProductTypes types{a, formats::fp32, b_format.is_none() ? a : format_of(b_format)};
            if (!scale_format.is_none()) types.scaling = {format_of(scale_format), scale_block};
            return make_backend(backend)->promised_model(types);
        },
        py::arg("backend"), py::arg("format"), py::arg("b_format") = py::none(), py::arg("scale_format") = py::none(),
        py::arg("scale_block") = 0);
    module.def("keep_scaled", &keep_scaled, py::arg("array").noconvert(), py::arg("format"));
    py::class_<LossScale>(module, "LossScale")
        .def(py::init(&loss_scale_of))
        .def_property_readonly("value", &LossScale::value)
        .def_property_readonly("growth_tracker", &LossScale::growth_tracker)
        .def("update", &LossScale::update)
        .def("state", &LossScale::state)
        .def("load", &LossScale::load);
    module.def("recipes", [] {
        std::vector<std::pair<std::string, std::string>> rows;
        for (const Recipe& row : recipes()) rows.emplace_back(row.name, row.what);
        return rows;
    });
    module.def("loss_scale_dialects", [] {
        std::vector<std::string> names;
        for (const LossScaleOptions& row : loss_scale_dialects()) names.push_back(row.dialect);
        return names;
    });
}

}  // namespace ulp::python
