#include "engine/products/matmul.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "engine/products/backends.hpp"
#include "engine/tensor/matrix.hpp"
#include "softfloat/matrix_units/gemm_problem.hpp"
#include "softfloat/names.hpp"
#include "softfloat/support/nearest_names.hpp"

namespace ulp {

std::string name_of(const ProductTypes& types) {
    const std::string b = types.b_input == types.input ? "" : "*" + name_of(types.b_input);
    const std::string scales =
        types.scaling ? fmt::format("({}/{})", name_of(types.scaling->format), types.scaling->block) : "";
    return name_of(types.input) + b + scales + "->" + name_of(types.accumulator);
}

Product transposed(const Product& p) {
    return {{p.types.b_input, p.types.accumulator, p.types.input, p.types.scaling},
            p.b.transposed(),
            p.a.transposed(),
            p.c ? std::optional(p.c->transposed()) : std::nullopt,
            p.d.transposed(),
            p.b_scales.transposed(),
            p.a_scales.transposed()};
}

namespace {

void require_scales(const MatrixView& scales, Index rows, Index cols, const FloatFormat& format,
                    std::string_view what) {
    if (scales.rows != rows || scales.cols != cols) {
        throw std::invalid_argument(
            fmt::format("{} are {} x {} where the blocks are {} x {}", what, scales.rows, scales.cols, rows, cols));
    }
    require_on_grid(scales, format, what);
}

void require_scales(const Product& p) {
    if (!p.types.scaling) {
        if (p.a_scales.data == nullptr && p.b_scales.data == nullptr) return;
        throw std::invalid_argument(fmt::format("a {} product takes no scales", name_of(p.types)));
    }
    const auto& [format, block] = *p.types.scaling;
    const Index blocks = (p.a.cols + block - 1) / block;
    require_scales(p.a_scales, p.d.rows, blocks, format, "A's scales");
    require_scales(p.b_scales, blocks, p.d.cols, format, "B's scales");
}

std::atomic<ProductObserver*> observer_of_all = nullptr;
ReplacedBackends::Replace replacement;

/// How many products of this thread are inside each other.
class Nesting {
  public:
    Nesting() { ++depth; }
    ~Nesting() { --depth; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    [[nodiscard]] static bool outermost() { return depth == 1; }

  private:
    static thread_local int depth;
};
thread_local int Nesting::depth = 0;

}  // namespace

ObservedProducts::ObservedProducts(ProductObserver& observer) { observer_of_all = &observer; }
ObservedProducts::~ObservedProducts() { observer_of_all = nullptr; }
ReplacedBackends::ReplacedBackends(Replace replace) { replacement = std::move(replace); }
ReplacedBackends::~ReplacedBackends() { replacement = nullptr; }

namespace {

void require_numbers(const Product& product) {
    require_shapes(GemmProblem{product.a, product.b, product.c.value_or(MatrixView()), product.d});
    require_scales(product);
    require_on_grid(product.a, product.types.input, "A");
    require_on_grid(product.b, product.types.b_input, "B");
    if (product.c) require_on_grid(*product.c, product.types.accumulator, "C");
}

}  // namespace

void MatmulBackend::matmul(std::span<const Product> products) const {
    if (products.empty()) return;
    const ProductTypes& types = products.front().types;
    if (types.scaling && !has_product(types)) {
        throw std::invalid_argument(
            fmt::format("{} has no block-scaled {} product; choose a unit of Blackwell (soft:b200, soft:rtx5090), or "
                        "another recipe",
                        name(), name_of(types)));
    }
    const Nesting nesting;
    // A decorator hands on the numbers that it was given.
    if (Nesting::outermost()) std::ranges::for_each(products, require_numbers);
    ProductObserver* const observer = Nesting::outermost() ? observer_of_all.load() : nullptr;
    if (observer == nullptr) return compute_each(products);
    std::vector<std::uint64_t> noted;
    for (const Product& product : products) noted.push_back(observer->before(*this, product));
    compute_each(products);
    for (std::size_t i = 0; i < products.size(); ++i) observer->after(*this, products[i], noted[i]);
}

void MatmulBackend::compute_each(std::span<const Product> products) const {
    const auto count = static_cast<Index>(products.size());
    // A product that the backend does not have must throw here, not on one of several threads.
    if (!runs_at_once() || count < omp_get_max_threads() || !has_product(products.front().types)) {
        for (const Product& product : products) compute(product);
        return;
    }
    const Product& first = products.front();
    in_parallel(count, first.d.rows * first.d.cols * first.a.cols, [&](Index from, Index to) {
        for (Index i = from; i < to; ++i) compute(products[static_cast<std::size_t>(i)]);
    });
}

Matrix matmul(const MatmulBackend& backend, const ProductTypes& types, const MatrixView& a, const MatrixView& b) {
    Matrix d(a.rows, b.cols);
    backend.matmul({types, a, b, std::nullopt, d});
    return d;
}

Matrix matmul(const MatmulBackend& backend, const ProductTypes& types, const MatrixView& a, const MatrixView& b,
              const MatrixView& c) {
    Matrix d(a.rows, b.cols);
    backend.matmul({types, a, b, c, d});
    return d;
}

namespace {

std::vector<BackendFamily>& families() {
    static std::vector<BackendFamily> all = built_in_backends();
    return all;
}

}  // namespace

void register_backend_family(BackendFamily family) { families().push_back(std::move(family)); }

std::vector<std::pair<std::string, std::string>> backend_specs() {
    std::vector<std::pair<std::string, std::string>> specs;
    for (const BackendFamily& family : families()) {
        if (!family.usage.empty() || !family.suffix.empty()) continue;
        if (family.arguments.empty()) specs.emplace_back(family.prefix, family.description);
        for (const std::string& argument : family.arguments) {
            specs.emplace_back(family.prefix + ":" + argument, family.description);
        }
    }
    return specs;
}

std::vector<std::pair<std::string, std::string>> wrapper_specs() {
    std::vector<std::pair<std::string, std::string>> specs;
    for (const BackendFamily& family : families()) {
        if (!family.usage.empty()) specs.emplace_back(family.prefix + family.usage, family.description);
        if (!family.suffix.empty()) specs.emplace_back(family.prefix + ":FILE" + family.suffix, family.description);
    }
    return specs;
}

namespace {

/// Nothing where there is none of that name.
std::unique_ptr<MatmulBackend> made(std::string_view spec) {
    for (const BackendFamily& family : families()) {
        const std::string_view rest = spec.starts_with(family.prefix) ? spec.substr(family.prefix.size()) : "?";
        if (!family.usage.empty()) {
            if (rest.starts_with("(") && rest.ends_with(")")) return family.make(rest.substr(1, rest.size() - 2));
            continue;
        }
        if (family.arguments.empty() && family.suffix.empty() && rest.empty()) return family.make("");
        for (const std::string& argument : family.arguments) {
            if (rest == ":" + argument) return family.make(argument);
        }
        if (family.spelled && rest.starts_with(":")) {
            if (const std::string argument = family.spelled(rest.substr(1)); !argument.empty())
                return family.make(argument);
        }
        if (!family.suffix.empty() && rest.starts_with(":") && rest.ends_with(family.suffix)) {
            return family.make(rest.substr(1));
        }
    }
    return nullptr;
}

}  // namespace

std::unique_ptr<MatmulBackend> make_backend(std::string_view spec) {
    if (auto backend = made(spec)) return replacement ? replacement(std::move(backend)) : std::move(backend);
    for (const NamedFormat& format : named_formats()) {
        if (format.name != spec) continue;
        throw std::invalid_argument(
            fmt::format("{} is a number format, not what multiplies; `ulplab models` lists the units", spec));
    }
    std::vector<std::string> names;
    for (const auto& row : backend_specs()) names.push_back(row.first);
    for (const auto& row : wrapper_specs()) names.push_back(row.first);
    throw std::invalid_argument(fmt::format("no matmul backend '{}'; nearest are {}, and `ulplab models` lists all",
                                            spec, nearest_names(spec, names)));
}

}  // namespace ulp
