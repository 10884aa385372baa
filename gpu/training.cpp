#include "gpu/training.hpp"

#include <fmt/format.h>

#include <bit>
#include <fstream>
#include <optional>
#include <sstream>
#include <type_traits>
#include <vector>

#include "engine/data/digits.hpp"
#include "engine/files/whole_file.hpp"
#include "engine/training/batch_schedule.hpp"
#include "engine/training/images.hpp"
#include "engine/training/trainer.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/support/read_number.hpp"

namespace ulp::gpu {
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

/// The net, its data and its trainer: one training run that is stepped from outside.
class Run {
  public:
    Run(std::unique_ptr<MatmulBackend> backend, const TrainingRun& run)
        : trainer_(Engine(recipe_by_name(run.recipe), std::move(backend)), run.seed),
          net_(trainer_.model(), {28 * 28, run.hidden, 10}),
          data_(generated_digits({.count = run.images, .side = 28, .seed = run.seed})),
          batches_(data_.size(), run.batch, run.seed) {
        trainer_.optimize({.learning_rate = 0.1, .momentum = 0.9});
    }
    /// Writes the products' places into what a Watching backend has seen of a step.
    void name_products(std::vector<SeenProduct>& seen) {
        trainer_.observers().product_tap = [this](const ProductRecord& product) {
            places_.push_back(fmt::format("{}, {}", product.layer, product.pass));
        };
        seen_ = &seen;
    }
    void step() {
        places_.clear();
        const Batch batch = batch_of(data_, batches_.next());
        trainer_.step([&](Tape& tape) { return cross_entropy(net_(images_on(tape, batch.images)), batch.labels); });
        for (std::size_t i = 0; i < places_.size() && i < seen_->size(); ++i) (*seen_)[i].place = places_[i];
    }
    [[nodiscard]] const Trace& trace() const { return trainer_.trace(); }
    [[nodiscard]] const Model& model() { return trainer_.model(); }

  private:
    Trainer trainer_;
    Mlp net_;
    Dataset data_;
    BatchSchedule batches_;
    std::vector<std::string> places_;
    std::vector<SeenProduct>* seen_ = nullptr;
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

Trace train(std::unique_ptr<MatmulBackend> backend, const TrainingRun& run) {
    Run training(std::move(backend), run);
    for (std::int64_t i = 0; i < run.steps; ++i) training.step();
    return training.trace();
}

std::string first_training_difference(const std::string& backend_a, const std::string& backend_b,
                                      const TrainingRun& run) {
    return first_training_difference(make_backend(backend_a), make_backend(backend_b), run);
}

std::string first_training_difference(std::unique_ptr<MatmulBackend> a, std::unique_ptr<MatmulBackend> b,
                                      const TrainingRun& run) {
    std::vector<SeenProduct> seen_a;
    std::vector<SeenProduct> seen_b;
    Run first(std::make_unique<Watching>(std::move(a), seen_a), run);
    Run second(std::make_unique<Watching>(std::move(b), seen_b), run);
    first.name_products(seen_a);
    second.name_products(seen_b);
    ProductDifference product;
    for (std::int64_t i = 0; i < run.steps; ++i) {
        seen_a.clear();
        seen_b.clear();
        first.step();
        second.step();
        const bool known = !product.where.empty();
        if (!known) {
            product = first_product_difference(seen_a, seen_b);
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
    return fmt::format("{}; after {} steps the parameters are still the same{}", product.where, run.steps,
                       product.operands);
}

namespace {

/// Of a SHA-256 in hexadecimal: enough to tell tensors apart, a quarter of the file.
constexpr std::size_t digest_digits = 16;

[[noreturn]] void bad_line(const std::filesystem::path& path, int line, const std::string& what) {
    throw DataError(fmt::format("{}, line {}: {}", path.string(), line, what));
}

template <class Number>
Number number_in(const std::filesystem::path& path, int line, const std::string& text, int base) {
    const std::optional<Number> value = read_number<Number>(text, base);
    if (!value) bad_line(path, line, "'" + text + "' is no number");
    return *value;
}

TraceStep read_step(const std::filesystem::path& path, int line, const std::string& text, std::size_t parameters) {
    std::istringstream words(text);
    std::string step;
    std::string loss;
    std::string scale;
    std::string skipped;
    if (!(words >> step >> loss >> scale >> skipped)) bad_line(path, line, "a step has at least four fields");
    TraceStep result;
    result.step = number_in<std::int64_t>(path, line, step, 10);
    result.loss_bits = number_in<std::uint64_t>(path, line, loss, 16);
    char* end = nullptr;
    result.loss_scale = std::strtod(scale.c_str(), &end);
    if (end != scale.c_str() + scale.size()) bad_line(path, line, "'" + scale + "' is no loss scale");
    result.skipped = skipped == "1";
    std::string digest;
    while (words >> digest) result.digests.push_back(digest);
    if (result.digests.size() != parameters) {
        bad_line(path, line, fmt::format("{} digests for {} parameters", result.digests.size(), parameters));
    }
    return result;
}

}  // namespace

void shorten_digests(Trace& trace) {
    for (TraceStep& step : trace.steps) {
        for (std::string& digest : step.digests) digest = digest.substr(0, digest_digits);
    }
}

void write_trace(const std::filesystem::path& path, const TraceFile& file) {
    std::string text = fmt::format(
        "ulplab trace 1\nbackend {}\ndevice {}\nrecipe {}\nsteps {}\nhidden {}\nbatch {}\nimages {}\nseed {}\n",
        file.backend, file.device, file.run.recipe, file.run.steps, file.run.hidden, file.run.batch, file.run.images,
        file.run.seed);
    text += fmt::format("parameters {}\n", fmt::join(file.trace.parameters, " "));
    for (const TraceStep& step : file.trace.steps) {
        text += fmt::format("{} {:08x} {} {}", step.step, step.loss_bits, step.loss_scale, step.skipped ? 1 : 0);
        for (const std::string& digest : step.digests) text += " " + digest.substr(0, digest_digits);
        text += '\n';
    }
    replace_whole_file(path, text + "end\n");
}

TraceFile read_trace(const std::filesystem::path& path) {
    std::ifstream in(path);
    if (!in) throw DataError(fmt::format("cannot open the trace {}; check the path", path.string()));
    int line = 0;
    std::string text;
    const auto next = [&] {
        ++line;
        if (!std::getline(in, text)) bad_line(path, line, "the file ends here; it is truncated");
    };
    const auto field = [&](const std::string& name) {
        next();
        if (!text.starts_with(name + " ")) bad_line(path, line, fmt::format("'{} ...' belongs here", name));
        return text.substr(name.size() + 1);
    };
    const auto read_number = [&](const char* name, auto& number) {
        const std::string digits = field(name);  // moves on to its line
        number = number_in<std::remove_reference_t<decltype(number)>>(path, line, digits, 10);
    };
    TraceFile file;
    if (field("ulplab") != "trace 1") bad_line(path, line, "this is no 'ulplab trace 1'");
    file.backend = field("backend");
    file.device = field("device");
    file.run.recipe = field("recipe");
    read_number("steps", file.run.steps);
    read_number("hidden", file.run.hidden);
    read_number("batch", file.run.batch);
    read_number("images", file.run.images);
    read_number("seed", file.run.seed);
    std::istringstream names(field("parameters"));
    for (std::string name; names >> name;) file.trace.parameters.push_back(name);
    for (next(); text != "end"; next()) {
        file.trace.steps.push_back(read_step(path, line, text, file.trace.parameters.size()));
    }
    return file;
}

}  // namespace ulp::gpu
