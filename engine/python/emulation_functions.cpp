// What ulplab.torch is made of: a recipe's products on a backend, by the trainer's own code, and loss scales.
#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "engine/products/matmul.hpp"
#include "engine/python/module_parts.hpp"
#include "engine/python/numpy_arrays.hpp"
#include "engine/python/unit_lookup.hpp"
#include "engine/recipes/loss_scale.hpp"
#include "engine/recipes/product_plan.hpp"
#include "engine/tape/engine.hpp"
#include "engine/tape/run.hpp"
#include "engine/tape/scaled_matmul.hpp"
#include "softfloat/format_names.hpp"
#include "softfloat/matrix_units/table/units.hpp"

namespace ulp::python {
namespace {

/// A backend whose unscaled products are added in an order.
class OrderedBackend final : public MatmulBackend {
  public:
    OrderedBackend(std::unique_ptr<MatmulBackend> inner, const ProductOrder& order)
        : inner_(std::move(inner)), order_(order) {}
    [[nodiscard]] std::string name() const override { return inner_->name() + " in an order"; }
    [[nodiscard]] bool has_product(const ProductTypes& types) const override { return inner_->has_product(types); }
    [[nodiscard]] std::string promised_model(const ProductTypes&) const override { return {}; }
    [[nodiscard]] std::string path(const ProductTypes& types, Index m, Index n, Index k) const override {
        return inner_->path(types, m, n, k);
    }

  private:
    void compute(const Product& p) const override {
        if (p.types.scaling) return inner_->matmul(p);
        const std::shared_ptr<const UnitRow> row = unit_named(inner_->promised_model(p.types));
        soft_product(floating_point_model(*row, py::none()), order_, {p.a, p.b, p.c.value_or(MatrixView()), p.d});
    }

    std::unique_ptr<MatmulBackend> inner_;
    ProductOrder order_;
};

std::unique_ptr<MatmulBackend> backend_of(const std::string& spec, const ProductOrder& order) {
    auto backend = make_backend(spec);
    if (order == ProductOrder{}) return backend;
    return std::make_unique<OrderedBackend>(std::move(backend), order);
}

std::string text_of(Cast cast) {
    constexpr const char* names[] = {"as_stored", "low", "single", "banned"};
    return names[static_cast<std::size_t>(cast)];
}

/// A recipe on a backend, and the run that remembers its delayed scales.
class Products {
  public:
    Products(const std::string& recipe, const std::string& backend, const py::object& order, std::uint64_t seed)
        : engine_(recipe_by_name(recipe), backend_of(backend, order_of(order))) {
        if (const auto refusal = refusal_of(engine_.recipe, *engine_.backend)) throw py::value_error(*refusal);
        run_.seed = seed;
        types_ = engine_.recipe.product_types();
    }

    /// m x k times k x n, or batches of them: fp32 numbers, rounded to the recipe's operand format first.
    py::array matmul(const py::array& a, const py::array& b, const std::string& layer, int pass, int gradient,
                     bool gradient_used_before) {
        const Matrices x = load_matrices(a, types_.input, InputRounding{}, "a");
        const Matrices y = load_matrices(b, types_.b_input, InputRounding{}, "b");
        if (x.cols != y.rows || (x.batches != y.batches && x.batches != 1 && y.batches != 1)) {
            throw py::value_error(fmt::format("a is {} x {} x {} and b {} x {} x {}", x.batches, x.rows, x.cols,
                                              y.batches, y.rows, y.cols));
        }
        const std::int64_t batches = std::max(x.batches, y.batches);
        std::vector<py::ssize_t> shape{x.rows, y.cols};
        if (a.ndim() == 3 || b.ndim() == 3) shape.insert(shape.begin(), batches);
        py::array d(float_type(4), shape);
        auto* const numbers = static_cast<float*>(d.mutable_data());
        ProductPurpose purpose{layer, static_cast<ProductPass>(pass), static_cast<ProductPurpose::Gradient>(gradient)};
        purpose.gradient_used_before = gradient_used_before;
        const py::gil_scoped_release unlocked;
        const std::lock_guard lock(mutex_);
        for (std::int64_t i = 0; i < batches; ++i) {
            purpose.part = i;
            scaled_matmul<float>(engine_, run_, types_, purpose, x.view(i), y.view(i),
                                 {numbers + i * x.rows * y.cols, x.rows, y.cols});
        }
        return d;
    }

    [[nodiscard]] py::dict recipe() const {
        const Recipe& r = engine_.recipe;
        py::dict fields;
        fields["name"] = r.name;
        fields["what"] = r.what;
        for (const auto& [name, format] : {std::pair{"low", r.low},
                                           {"weights", r.weights},
                                           {"inputs", r.inputs},
                                           {"compute", r.compute},
                                           {"accumulator", r.accumulator},
                                           {"update", r.update}}) {
            fields[name] = name_of(format);
        }
        fields["input"] = name_of(types_.input);
        fields["b_input"] = name_of(types_.b_input);
        fields["quantised"] = r.products.quantised();
        fields["excluded"] = !r.excluded.empty();
        fields["keep_batchnorm_fp32"] = r.keep_batchnorm_fp32;
        fields["flush"] = r.rounding.flush_outputs;
        fields["loss_scale"] = r.loss_scale.dialect;
        py::dict casts;
        for (const CastRule& rule : r.cast_rules) casts[py::str(rule.op)] = text_of(rule.cast);
        fields["casts"] = casts;
        return fields;
    }
    [[nodiscard]] std::string path(std::int64_t m, std::int64_t n, std::int64_t k) const {
        return engine_.backend->path(types_, m, n, k);
    }
    [[nodiscard]] std::string backend() const { return engine_.backend->name(); }
    [[nodiscard]] std::int64_t step() const { return run_.step; }
    void set_step(std::int64_t step) { run_.step = step; }
    void set_training(bool training) { run_.training = training; }

  private:
    Engine engine_;
    Run run_;
    ProductTypes types_{};
    std::mutex mutex_;  // of the run
};

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
    py::class_<Products>(module, "Products")
        .def(py::init<const std::string&, const std::string&, const py::object&, std::uint64_t>())
        .def("matmul", &Products::matmul)
        .def("path", &Products::path)
        .def_property_readonly("recipe", &Products::recipe)
        .def_property_readonly("backend", &Products::backend)
        .def_property("step", &Products::step, &Products::set_step)
        .def("set_training", &Products::set_training);
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
