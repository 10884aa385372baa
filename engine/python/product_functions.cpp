// The table of units and matrix products for Python.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <limits>

#include "engine/products/matmul.hpp"
#include "engine/products/unit_file.hpp"
#include "engine/python/module_parts.hpp"
#include "engine/python/numpy_arrays.hpp"
#include "engine/python/unit_lookup.hpp"
#include "softfloat/matrix_units/block_scaled.hpp"
#include "softfloat/matrix_units/gemm_path.hpp"
#include "softfloat/matrix_units/schemes.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/names.hpp"

namespace ulp::python {
namespace {

/// Rows of D that are computed between two looks at signals: a fraction of a second's work.
class Panels {
  public:
    Panels(std::int64_t rows, std::int64_t n, std::int64_t k, bool by_definition) : rows_(rows) {
        const std::int64_t multiplications = std::int64_t{1} << (by_definition ? 22 : 28);
        const std::int64_t each = std::max<std::int64_t>(1, n) * std::max<std::int64_t>(1, k);
        step_ = std::max<std::int64_t>(by_definition ? 1 : 64, multiplications / each);
    }
    /// compute(first, rows) for all rows, without the interpreter's lock.
    template <class Compute>
    void operator()(const Compute& compute) const {
        for (std::int64_t first = 0; first < rows_; first += step_) {
            if (first > 0) check_signals();
            compute(first, std::min(step_, rows_ - first));
        }
    }

  private:
    std::int64_t rows_;
    std::int64_t step_;
};

constexpr std::int64_t small = std::int64_t{1} << 15;  // multiplications that are done before a lock is given back

/// Sizes of a batch of products.
struct Sizes {
    std::int64_t batches, m, n, k;
    bool batched;
    [[nodiscard]] std::vector<py::ssize_t> shape() const {
        if (batched) return {batches, m, n};
        return {m, n};
    }
    [[nodiscard]] bool is_small() const { return batches * m * n * k <= small; }
};

std::int64_t extent(const py::array& array, int from_end) { return array.shape(array.ndim() - from_end); }

Sizes sizes_of(const py::array& a, const py::array& b) {
    if (a.ndim() < 2 || a.ndim() > 3 || b.ndim() < 2 || b.ndim() > 3) {
        throw py::value_error(fmt::format("a has {} and b {} extents; a matrix has 2", a.ndim(), b.ndim()));
    }
    if (extent(a, 1) != extent(b, 2)) {
        throw py::value_error(fmt::format("a is {} x {} and b is {} x {}: the inner sizes differ", extent(a, 2),
                                          extent(a, 1), extent(b, 2), extent(b, 1)));
    }
    const std::int64_t of_a = a.ndim() == 3 ? a.shape(0) : 1;
    const std::int64_t of_b = b.ndim() == 3 ? b.shape(0) : 1;
    if (of_a != of_b && of_a != 1 && of_b != 1) {
        throw py::value_error(fmt::format("a is a batch of {} matrices and b of {}", of_a, of_b));
    }
    return {of_a == 1 ? of_b : of_a, extent(a, 2), extent(b, 1), extent(a, 1), a.ndim() == 3 || b.ndim() == 3};
}

void require_c(const py::array& c, const Sizes& sizes) {
    const bool fits = (c.ndim() == 2 || (c.ndim() == 3 && (c.shape(0) == sizes.batches || c.shape(0) == 1))) &&
                      extent(c, 2) == sizes.m && extent(c, 1) == sizes.n;
    if (fits) return;
    throw py::value_error(fmt::format("c has shape {}, the product is {} x {}",
                                      py::str(c.attr("shape")).cast<std::string>(), sizes.m, sizes.n));
}

/// What the caller says of a product beside its matrices.
struct Request {
    ProductOrder order;
    py::object a_scales, b_scales;
    std::optional<InputRounding> rounding;
};

/// compute() with the lock given back where it takes long enough to matter.
template <class Compute>
void unlocked(const Sizes& sizes, const Compute& compute) {
    if (sizes.is_small()) return compute();
    const py::gil_scoped_release released;
    compute();
}

/// D of fp32 numbers as an array of the accumulator's type.
class Result {
  public:
    Result(const Sizes& sizes, const FloatFormat& accumulator)
        : sizes_(sizes), half_(accumulator == formats::fp16), array_(float_type(half_ ? 2 : 4), sizes.shape()) {
        if (half_) buffer_.resize(static_cast<std::size_t>(array_.size()));
        data_ = half_ ? buffer_.data() : static_cast<float*>(array_.mutable_data());
    }
    [[nodiscard]] MutableMatrixView view(std::int64_t batch) const {
        return {data_ + batch * sizes_.m * sizes_.n, sizes_.m, sizes_.n};
    }
    py::array array() {
        if (half_) encode_numbers(data_, array_.size(), formats::fp16, array_.mutable_data());
        return array_;
    }

  private:
    Sizes sizes_;
    bool half_;
    py::array array_;
    std::vector<float> buffer_;
    float* data_;
};

void require_pieces(const ProductOrder& order, const Sizes& sizes, int instruction_k) {
    const std::int64_t most = std::max<std::int64_t>((sizes.k + instruction_k - 1) / instruction_k, 1);
    if (order.split_k >= 1 && order.split_k <= most) return;
    throw py::value_error(fmt::format("split_k is {}; k = {} has {} instructions of {}, so choose 1 to {} pieces",
                                      order.split_k, sizes.k, most, instruction_k, most));
}

std::optional<Matrices> load_scales(const py::object& scales, const FloatFormat& format, std::int64_t rows,
                                    std::int64_t cols, const char* name) {
    if (scales.is_none()) return std::nullopt;
    const auto array = scales.cast<py::array>();
    if (array.ndim() < 2 || extent(array, 2) != rows || extent(array, 1) != cols) {
        throw py::value_error(fmt::format("{} have shape {}, the blocks are {} x {}", name,
                                          py::str(array.attr("shape")).cast<std::string>(), rows, cols));
    }
    return load_matrices(array, format, std::nullopt, name);
}

py::array multiply(const Request& request, const TensorCoreModel& model, const py::array& a, const py::array& b,
                   const py::object& c) {
    const Sizes sizes = sizes_of(a, b);
    const ProductOrder& order = request.order;
    const bool reads_c = !c.is_none() && (!order.epilogue || order.epilogue->beta != 0);
    const Matrices x = load_matrices(a, model.a_format, request.rounding, "a");
    const Matrices y = load_matrices(b, model.b_format, request.rounding, "b");
    std::optional<Matrices> z;
    if (!c.is_none()) require_c(c.cast<py::array>(), sizes);
    if (reads_c) z = load_matrices(c.cast<py::array>(), model.accumulator, request.rounding, "c");
    require_pieces(order, sizes, model.instruction_k);
    const std::int64_t block = std::max<std::int64_t>(1, order.promote_every);
    const std::int64_t blocks = (sizes.k + block - 1) / block;
    const auto a_scales = load_scales(request.a_scales, formats::fp32, sizes.m, blocks, "the scales of a");
    const auto b_scales = load_scales(request.b_scales, formats::fp32, blocks, sizes.n, "the scales of b");
    Result result(sizes, model.accumulator);
    const bool slow = choose_path(model, sizes.m, sizes.n, sizes.k).kernel == GemmKernel::definition;
    const Panels panels(sizes.m, sizes.n, sizes.k, slow);
    unlocked(sizes, [&] {
        for (std::int64_t batch = 0; batch < sizes.batches; ++batch) {
            const GemmProblem whole{x.view(batch), y.view(batch), z ? z->view(batch) : MatrixView(),
                                    result.view(batch)};
            if (batch % 64 == 63 && !sizes.is_small()) check_signals();
            panels([&](std::int64_t first, std::int64_t rows) {
                BlockScales scales;
                if (a_scales) scales.a = a_scales->view(batch).part(first, 0, rows, blocks);
                if (b_scales) scales.b = b_scales->view(batch);
                soft_product(model, order, whole.part(first, 0, rows, sizes.n), scales);
            });
        }
    });
    return result.array();
}

void require_plain(const Request& request, const std::string& key) {
    if (request.order == ProductOrder{}) return;
    throw py::value_error(key + " has no order, alpha or beta");
}

/// A batch of matrices of integers, converted element by element.
struct IntegerMatrices {
    std::vector<std::int32_t> numbers;
    std::int64_t batches, rows, cols;
    [[nodiscard]] BasicMatrixView<const std::int32_t> view(std::int64_t batch) const {
        return {numbers.data() + (batches == 1 ? 0 : batch * rows * cols), rows, cols};
    }
};
IntegerMatrices load_integers(const py::array& array, const char* name) {
    const char kind = array.dtype().kind();
    const bool integers =
        (kind == 'i' || kind == 'u' || kind == 'b') && array.itemsize() <= 4 && !(kind == 'u' && array.itemsize() == 4);
    if (!integers) {
        throw py::type_error(fmt::format("{} has type {}; integer units take int8, uint8, int16 or int32", name,
                                         py::str(array.dtype()).cast<std::string>()));
    }
    const py::array_t<std::int32_t, py::array::c_style | py::array::forcecast> numbers(array);
    return {{numbers.data(), numbers.data() + numbers.size()},
            array.ndim() == 3 ? array.shape(0) : 1,
            extent(array, 2),
            extent(array, 1)};
}

/// Units whose numbers are no fp32, fp64 and integers: `load` gives a batch of matrices, `compute` a part of a product.
template <class Number, class Load, class Compute>
py::array multiply_others(const py::array& a, const py::array& b, const py::object& c, const Load& load,
                          const Compute& compute) {
    const Sizes sizes = sizes_of(a, b);
    const auto x = load(a, "a");
    const auto y = load(b, "b");
    std::optional<decltype(load(a, "c"))> z;
    if (!c.is_none()) require_c(c.cast<py::array>(), sizes);
    if (!c.is_none()) z = load(c.cast<py::array>(), "c");
    py::array_t<Number> d(sizes.shape());
    Number* const numbers = d.mutable_data();
    const Panels panels(sizes.m, sizes.n, sizes.k, false);
    unlocked(sizes, [&] {
        for (std::int64_t batch = 0; batch < sizes.batches; ++batch) {
            const ProductProblem<Number> whole{x.view(batch),
                                               y.view(batch),
                                               z ? z->view(batch) : BasicMatrixView<const Number>(),
                                               {numbers + batch * sizes.m * sizes.n, sizes.m, sizes.n}};
            panels([&](std::int64_t first, std::int64_t rows) { compute(whole.part(first, 0, rows, sizes.n)); });
        }
    });
    return d;
}

py::array multiply_integers(const Request& request, const UnitRow& row, const IntegerModel& model, const py::array& a,
                            const py::array& b, const py::object& c) {
    require_plain(request, row.key());
    return multiply_others<std::int32_t>(a, b, c, load_integers,
                                         [&](const IntegerProblem& part) { gemm(model, part); });
}

py::array multiply_fp64(const Request& request, const TensorCoreModel& model, const py::array& a, const py::array& b,
                        const py::object& c) {
    const ProductOrder& order = request.order;
    const Sizes sizes = sizes_of(a, b);
    require_pieces(order, sizes, model.instruction_k);
    if (!c.is_none()) require_c(c.cast<py::array>(), sizes);
    const bool reads_c = !order.epilogue || order.epilogue->beta != 0;
    return multiply_others<double>(a, b, reads_c ? c : py::none(), load_fp64_matrices,
                                   [&](const Fp64Problem& part) { fp64_product(model, order, part); });
}

py::array multiply_scaled(const Request& request, const BlockScaledModel& model, const py::array& a, const py::array& b,
                          const py::object& c) {
    const Sizes sizes = sizes_of(a, b);
    const TensorCoreModel& plain = model.unscaled;
    const bool reads_c = !c.is_none() && (!request.order.epilogue || request.order.epilogue->beta != 0);
    const Matrices x = load_matrices(a, plain.a_format, request.rounding, "a");
    const Matrices y = load_matrices(b, plain.b_format, request.rounding, "b");
    std::optional<Matrices> z;
    if (!c.is_none()) require_c(c.cast<py::array>(), sizes);
    if (reads_c) z = load_matrices(c.cast<py::array>(), plain.accumulator, request.rounding, "c");
    const std::int64_t blocks = (sizes.k + model.scale_block - 1) / model.scale_block;
    const auto a_scales = load_scales(request.a_scales, model.scale_format, sizes.m, blocks, "the scales of a");
    const auto b_scales = load_scales(request.b_scales, model.scale_format, blocks, sizes.n, "the scales of b");
    Result result(sizes, plain.accumulator);
    const bool slow = choose_path(model, sizes.m, sizes.n, sizes.k).kernel == GemmKernel::definition;
    const Panels panels(sizes.m, sizes.n, sizes.k, slow);
    unlocked(sizes, [&] {
        for (std::int64_t batch = 0; batch < sizes.batches; ++batch) {
            const GemmProblem whole{x.view(batch), y.view(batch), z ? z->view(batch) : MatrixView(),
                                    result.view(batch)};
            panels([&](std::int64_t first, std::int64_t rows) {
                BlockScaledProblem problem{whole.part(first, 0, rows, sizes.n)};
                if (a_scales) problem.a_scales = a_scales->view(batch).part(first, 0, rows, blocks);
                if (b_scales) problem.b_scales = b_scales->view(batch);
                soft_product(model, request.order, problem);
            });
        }
    });
    return result.array();
}

std::optional<InputRounding> rounding_of(const py::object& rounding, bool saturate) {
    if (rounding.is_none()) return std::nullopt;
    const InputRounding how{rounding_by_name(rounding.cast<std::string>()), saturate};
    if (how.rounding == Rounding::stochastic) {
        throw py::value_error("operands are rounded in deterministic modes; round them stochastically by ulplab.round");
    }
    return how;
}

bool holds_fp64(const py::object& array) {
    return !array.is_none() && array.cast<py::array>().dtype().is(py::dtype::of<double>());
}

/// A scheme's product of fp32 numbers, or of fp64 numbers where an array has them.
py::array multiply_by_scheme(const std::string& scheme, const UnitRow& row, const ProductOrder& order,
                             const py::array& a, const py::array& b, const py::object& c) {
    const Sizes sizes = sizes_of(a, b);
    const bool wide = holds_fp64(a) || holds_fp64(b) || holds_fp64(c);
    if (const auto* model = row.as<TensorCoreModel>()) require_pieces(order, sizes, model->instruction_k);
    const SchemePlan plan = plan_of(scheme_by_name(scheme), row, order, sizes.k, wide ? formats::fp64 : formats::fp32);
    const py::array d = multiply_others<double>(a, b, c, load_fp64_matrices,
                                                [&](const Fp64Problem& part) { scheme_product(plan, part); });
    return wide ? d : py::array(py::array_t<float>(d));
}

py::array matmul(const py::array& a, const py::array& b, const py::object& c, const std::string& unit,
                 const py::object& order, const py::object& alpha, const py::object& beta, const py::object& a_scales,
                 const py::object& b_scales, const py::object& rounding, bool saturate, const py::object& policy,
                 const std::optional<std::string>& scheme) {
    const std::shared_ptr<const UnitRow> row = unit_named(unit);
    if (scheme) {
        for (const py::object& other : {alpha, beta, a_scales, b_scales, rounding, policy}) {
            if (other.is_none()) continue;
            throw py::value_error("a scheme takes a, b and c as they are, with unit and order; leave the rest out");
        }
        return multiply_by_scheme(*scheme, *row, order_of(order), a, b, c);
    }
    Request request{order_of(order), a_scales, b_scales, rounding_of(rounding, saturate)};
    const auto* const model = row->as<TensorCoreModel>();
    const bool in_fp64 = model != nullptr && model->accumulator == formats::fp64;
    request.order.epilogue = epilogue_of(alpha, beta, !c.is_none(), in_fp64);
    if (const auto* scaled = row->as<BlockScaledModel>()) return multiply_scaled(request, *scaled, a, b, c);
    if (!a_scales.is_none() || !b_scales.is_none()) {
        if (model == nullptr || in_fp64) {
            throw py::value_error(unit +
                                  " has no scales; block-scaled units have, and those with fp16 or fp32 results");
        }
        if (request.order.promote_every == 0) request.order.promote_every = usual_scale_block;
    }
    if (const auto* integers = row->as<IntegerModel>()) return multiply_integers(request, *row, *integers, a, b, c);
    if (in_fp64) return multiply_fp64(request, *model, a, b, c);
    if (policy.is_none()) return multiply(request, *model, a, b, c);
    return multiply(request, floating_point_model(*row, policy), a, b, c);
}

const TensorCoreModel* unscaled_model(const UnitRow& row) {
    const auto* scaled = row.as<BlockScaledModel>();
    return scaled != nullptr ? &scaled->unscaled : row.as<TensorCoreModel>();
}

py::dict fields_of(const UnitRow& row) {
    py::dict fields;
    fields["key"] = row.key();
    fields["architecture"] = row.architecture;
    fields["instruction"] = row.instruction;
    fields["input"] = row.input;
    fields["output"] = row.output;
    fields["kind"] = row.as<IntegerModel>() != nullptr       ? "integer"
                     : row.as<BlockScaledModel>() != nullptr ? "block_scaled"
                                                             : "floating_point";
    const TensorCoreModel* model = unscaled_model(row);
    if (model != nullptr) {
        fields["a_format"] = name_of(model->a_format);
        fields["b_format"] = name_of(model->b_format);
        fields["accumulator"] = name_of(model->accumulator);
        fields["instruction_k"] = model->instruction_k;
    } else {
        fields["a_format"] = py::none();
        fields["b_format"] = py::none();
        fields["accumulator"] = "s32";
        fields["instruction_k"] = row.as<IntegerModel>()->instruction_k;
    }
    const auto* scaled = row.as<BlockScaledModel>();
    fields["scale_format"] = scaled == nullptr ? py::object(py::none()) : py::str(name_of(scaled->scale_format));
    fields["scale_block"] = scaled == nullptr ? py::object(py::none()) : py::int_(scaled->scale_block);
    fields["evidence"] = std::string(name_of(row.evidence));
    fields["proof"] = row.proof;
    fields["description"] = unit_json({row.key(), row.model});
    return fields;
}

/// The trainer's backend of an architecture's instruction, "soft:h100.wgmma"; empty where there is none.
std::string backend_of_unit(const std::string& architecture, const std::string& instruction) {
    for (const NamedGpu& gpu : named_gpus()) {
        if (gpu.architecture != architecture) continue;
        std::string name(gpu.name);
        std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        // The instruction that an architecture has by default may have no name.
        for (const std::string& spec : {fmt::format("soft:{}.{}", name, instruction), fmt::format("soft:{}", name)}) {
            try {
                return make_backend(spec)->name();
            } catch (const std::exception&) {
            }
        }
    }
    return {};
}

}  // namespace

void add_products(py::module_& module) {
    module.def("architecture_of_gpu", &architecture_of_gpu);
    module.attr("usual_scale_block") = usual_scale_block;
    module.def("matmul", &matmul, py::arg("a"), py::arg("b"), py::arg("c"), py::arg("unit"), py::arg("order"),
               py::arg("alpha"), py::arg("beta"), py::arg("a_scales"), py::arg("b_scales"), py::arg("rounding"),
               py::arg("saturate"), py::arg("policy"), py::arg("scheme") = py::none());
    module.def("unit_rows", [] {
        py::list rows;
        for (const UnitRow& row : unit_table()) rows.append(fields_of(row));
        return rows;
    });
    module.def("backend_of_unit", &backend_of_unit);
    module.def("unit_row", [](const std::string& unit) { return fields_of(*unit_named(unit)); });
}

}  // namespace ulp::python
