#include <fmt/format.h>

#include <bit>
#include <vector>

#include "engine/nets/net_tasks.hpp"
#include "engine/training/trainer.hpp"
#include "experiments/cli/net_declarations.hpp"

namespace ulp {
namespace {

/// A product as it went through a backend, and whose it is ("fc1/linear, forward").
struct SeenProduct {
    ProductTypes types;
    Matrix a, b, c, d;
    std::string place{};
};

/// Passes products on and keeps them.
class Watching final : public MatmulBackend {
  public:
    Watching(std::unique_ptr<MatmulBackend> inner, std::vector<SeenProduct>& seen)
        : inner_(std::move(inner)), seen_(seen) {}
    [[nodiscard]] std::string name() const override { return inner_->name(); }
    [[nodiscard]] std::string identity() const override { return inner_->identity(); }
    [[nodiscard]] bool has_product(const ProductTypes& types) const override { return inner_->has_product(types); }
    [[nodiscard]] std::string promised_model(const ProductTypes& types) const override {
        return inner_->promised_model(types);
    }
    [[nodiscard]] std::string path(const ProductTypes& types, Index m, Index n, Index k) const override {
        return inner_->path(types, m, n, k);
    }

  private:
    void compute(const Product& p) const override {
        SeenProduct seen{p.types, packed(p.a), packed(p.b), p.c ? packed(*p.c) : Matrix(), {}};
        inner_->matmul(p);
        seen.d = packed(p.d);
        seen_.push_back(std::move(seen));
    }

    std::unique_ptr<MatmulBackend> inner_;
    std::vector<SeenProduct>& seen_;
};

/// One of two training runs that are stepped in turn, with the products of its last step.
class WatchedTraining {
  public:
    WatchedTraining(std::unique_ptr<MatmulBackend> backend, const NetOptions& options, const NetDescription& net,
                    const Recipe& recipe)
        : training_(
              options, net,
              Engine(recipe, std::unique_ptr<MatmulBackend>(std::make_unique<Watching>(std::move(backend), seen_))),
              options.seed, optimizer_of(options)) {
        training_.trainer.observers().product_tap = [this](const ProductRecord& product) {
            places_.push_back(fmt::format("{}, {}", product.layer, product.pass));
        };
    }
    void step() {
        seen_.clear();
        places_.clear();
        (void)training_.step();
        for (std::size_t i = 0; i < places_.size() && i < seen_.size(); ++i) seen_[i].place = places_[i];
    }
    [[nodiscard]] const std::vector<SeenProduct>& seen() const { return seen_; }
    [[nodiscard]] const Trace& trace() const { return training_.trainer.trace(); }
    [[nodiscard]] const Model& model() { return training_.trainer.model(); }

  private:
    std::vector<SeenProduct> seen_;
    std::vector<std::string> places_;
    NetTraining training_;
};

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

/// The factors of an element, as bits: the first ones whose product is not zero.
std::string operands_of(const SeenProduct& p, Index i, Index j) {
    constexpr int most = 16;
    std::string text;
    int shown = 0;
    int more = 0;
    for (Index k = 0; k < p.a.cols(); ++k) {
        if (p.a(i, k) == 0 || p.b(k, j) == 0) continue;
        if (shown == most) {
            ++more;
            continue;
        }
        text += fmt::format(" {:08X}*{:08X}", bits(p.a(i, k)), bits(p.b(k, j)));
        ++shown;
    }
    return more == 0 ? text : text + fmt::format(" and {} more", more);
}

/// The first element that differs between the products of a step, in words; `where` is empty if none does.
struct ProductDifference {
    std::string where, operands;
};
ProductDifference first_product_difference(const std::vector<SeenProduct>& x, const std::vector<SeenProduct>& y) {
    for (std::size_t i = 0; i < x.size() && i < y.size(); ++i) {
        for (Index row = 0; row < x[i].d.rows(); ++row) {
            for (Index column = 0; column < x[i].d.cols(); ++column) {
                const std::uint32_t first = bits(x[i].d(row, column));
                const std::uint32_t second = bits(y[i].d(row, column));
                if (first == second) continue;
                return {fmt::format("product {} ({}; {} of {} x {} by {} x {}), element ({}, {}): {:08X} and {:08X}", i,
                                    x[i].place, name_of(x[i].types), x[i].a.rows(), x[i].a.cols(), x[i].b.rows(),
                                    x[i].b.cols(), row, column, first, second),
                        "; operands" + operands_of(x[i], row, column)};
            }
        }
    }
    if (x.size() != y.size()) return {fmt::format("one made {} products, the other {}", x.size(), y.size()), ""};
    return {};
}

std::string first_parameter_difference(const Model& x, const Model& y) {
    for (std::size_t p = 0; p < x.parameters().size(); ++p) {
        const auto first = x.parameters()[p].updated().values();
        const auto second = y.parameters()[p].updated().values();
        for (std::size_t i = 0; i < first.size(); ++i) {
            if (bits(first[i]) == bits(second[i])) continue;
            return fmt::format("{}, element {}: {:08X} and {:08X}", x.parameters()[p].name, i, bits(first[i]),
                               bits(second[i]));
        }
    }
    return "";
}

}  // namespace

std::string first_training_difference(std::unique_ptr<MatmulBackend> a, std::unique_ptr<MatmulBackend> b,
                                      const NetOptions& options) {
    const NetDescription net = net_of(options.net);
    const Recipe recipe = recipe_of(options);
    WatchedTraining first(std::move(a), options, net, recipe);
    WatchedTraining second(std::move(b), options, net, recipe);
    ProductDifference product;
    for (std::int64_t i = 0; i < options.steps; ++i) {
        first.step();
        second.step();
        const bool known = !product.where.empty();
        if (!known) {
            product = first_product_difference(first.seen(), second.seen());
            if (!product.where.empty()) product.where = fmt::format("step {}, {}", i, product.where);
        }
        // A product's difference may be lost when its result is stored; a parameter's shows that it was not.
        const std::string parameter = first_parameter_difference(first.model(), second.model());
        if (!parameter.empty() && !product.where.empty()) {
            return fmt::format("{}; after step {} {}{}", product.where, i, parameter, product.operands);
        }
        if (!parameter.empty()) return fmt::format("step {}, {}, though every product was the same", i, parameter);
        if (product.where.empty()) {
            if (const auto in_trace = first_difference(first.trace(), second.trace())) return *in_trace;
        }
    }
    if (product.where.empty()) return "";
    return fmt::format("{}; after {} steps the parameters are still the same{}", product.where, options.steps,
                       product.operands);
}

}  // namespace ulp
