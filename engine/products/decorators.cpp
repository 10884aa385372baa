#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <map>
#include <mutex>
#include <set>
#include <sstream>

#include "engine/files/sha256.hpp"
#include "engine/files/whole_file.hpp"
#include "engine/products/backends.hpp"
#include "softfloat/support/read_number.hpp"

namespace ulp {
namespace {

namespace fs = std::filesystem;

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }
bool same(float x, float y) { return bits(x) == bits(y) || (std::isnan(x) && std::isnan(y)); }

class Checked final : public MatmulBackend {
  public:
    Checked(std::unique_ptr<MatmulBackend> backend, std::unique_ptr<MatmulBackend> reference)
        : backend_(std::move(backend)), reference_(std::move(reference)) {}

    [[nodiscard]] std::string name() const override {
        return fmt::format("checked({},{})", backend_->name(), reference_->name());
    }
    [[nodiscard]] std::string identity() const override {
        return fmt::format("checked({},{})", backend_->identity(), reference_->identity());
    }
    [[nodiscard]] bool has_product(const ProductTypes& types) const override { return backend_->has_product(types); }
    [[nodiscard]] std::string promised_model(const ProductTypes& types) const override {
        return backend_->promised_model(types);
    }
    [[nodiscard]] std::string path(const ProductTypes& types, Index m, Index n, Index k) const override {
        return backend_->path(types, m, n, k) + ", checked against " + reference_->name();
    }

  private:
    void compute(const Product& p) const override {
        Matrix expected(p.d.rows, p.d.cols);
        Product again = p;
        again.d = expected;
        reference_->matmul(again);  // first: D may be C itself
        backend_->matmul(p);
        for (Index i = 0; i < p.d.rows; ++i) {
            for (Index j = 0; j < p.d.cols; ++j) {
                if (!same(p.d(i, j), expected(i, j))) report(p, i, j, expected(i, j));
            }
        }
    }

    [[noreturn]] void report(const Product& p, Index i, Index j, float expected) const {
        std::string text =
            fmt::format("{} product {} x {} x {}, element ({}, {}): {} gives {:#010x} ({:a}), {} gives {:#010x} ({:a})",
                        name_of(p.types), p.d.rows, p.d.cols, p.a.cols, i, j, backend_->name(), bits(p.d(i, j)),
                        p.d(i, j), reference_->name(), bits(expected), expected);
        text += "\n  a * b:";
        for (Index k = 0; k < p.a.cols; ++k) text += fmt::format(" {:08x}*{:08x}", bits(p.a(i, k)), bits(p.b(k, j)));
        throw BitsDiffer(text);
    }

    std::unique_ptr<MatmulBackend> backend_;
    std::unique_ptr<MatmulBackend> reference_;
};

/// What a product is known by in a recording.
std::string key_of(const Product& p) {
    Sha256 sha;
    const auto add = [&](const MatrixView& matrix) {
        const Matrix copy = packed(matrix);
        sha.add(std::span<const float>(copy.data(), static_cast<std::size_t>(copy.size())));
    };
    add(p.a);
    add(p.b);
    if (p.c) add(*p.c);
    if (p.types.scaling) {
        add(p.a_scales);
        add(p.b_scales);
    }
    return fmt::format("{} {} {} {} {} {}", name_of(p.types), p.d.rows, p.d.cols, p.a.cols, p.c ? "c" : "0", sha.hex());
}

constexpr const char* first_line = "ulplab matrix products, version 1";

/// The format, line by line:
///
///     ulplab matrix products, version 1
///     backend soft:h100
///     claims fp16->fp32 sm_90:mma.fp16.fp32        one for each kind of product that occurs
///     product fp16->fp32 2 2 16 0 <SHA-256 of the operands, with C and scales where the product has them>
///     3f800000 ...                                 the result's words, row by row
class Recorded final : public MatmulBackend {
  public:
    Recorded(std::unique_ptr<MatmulBackend> backend, fs::path file)
        : backend_(std::move(backend)), file_(std::move(file)), out_(file_) {
        out_.write(fmt::format("{}\nbackend {}\n", first_line, backend_->name()));
    }
    ~Recorded() override {
        try {
            out_.publish();
        } catch (const DataError& error) {  // a destructor cannot throw
            fmt::print(stderr, "ulplab: {}\n", error.what());
        }
    }

    [[nodiscard]] std::string name() const override {
        return fmt::format("recorded({},{})", file_.string(), backend_->name());
    }
    [[nodiscard]] std::string identity() const override {
        return fmt::format("recorded({},{})", file_.string(), backend_->identity());
    }
    [[nodiscard]] bool has_product(const ProductTypes& types) const override { return backend_->has_product(types); }
    [[nodiscard]] std::string promised_model(const ProductTypes& types) const override {
        return backend_->promised_model(types);
    }
    [[nodiscard]] std::string path(const ProductTypes& types, Index m, Index n, Index k) const override {
        return backend_->path(types, m, n, k) + ", recorded";
    }

  private:
    void compute(const Product& p) const override {
        const std::string key = key_of(p);  // before: D may be C itself
        backend_->matmul(p);
        const std::lock_guard lock(mutex_);
        const std::string types = name_of(p.types);
        if (claimed_.insert(types).second)
            out_.write(fmt::format("claims {} {}\n", types, backend_->promised_model(p.types)));
        out_.write(fmt::format("product {}\n", key));
        for (Index i = 0; i < p.d.rows; ++i) {
            for (Index j = 0; j < p.d.cols; ++j)
                out_.write(fmt::format("{:08x}{}", bits(p.d(i, j)), j + 1 < p.d.cols ? " " : "\n"));
        }
    }

    std::unique_ptr<MatmulBackend> backend_;
    fs::path file_;
    mutable WholeFile out_;
    mutable std::mutex mutex_;
    mutable std::set<std::string> claimed_;
};

class Replayed final : public MatmulBackend {
  public:
    explicit Replayed(const fs::path& file) : file_(file) {
        std::string content = read_whole_file(file);
        sha256_ = sha256_of(content);
        std::istringstream in(std::move(content));
        std::string line;
        std::getline(in, line);
        if (line != first_line) refuse("it does not begin with '" + std::string(first_line) + "'");
        while (std::getline(in, line)) read_line(in, line);
    }

    [[nodiscard]] std::string name() const override { return fmt::format("replayed({})", file_.string()); }
    [[nodiscard]] std::string identity() const override { return fmt::format("{} of SHA-256 {}", name(), sha256_); }
    [[nodiscard]] bool has_product(const ProductTypes& types) const override {
        return claims_.contains(name_of(types));
    }
    [[nodiscard]] std::string promised_model(const ProductTypes& types) const override {
        const auto claim = claims_.find(name_of(types));
        return claim == claims_.end() ? std::string() : claim->second;
    }
    [[nodiscard]] std::string path(const ProductTypes&, Index, Index, Index) const override {
        return "from a recording of " + backend_;
    }

  private:
    [[noreturn]] void refuse(const std::string& why) const {
        throw DataError(fmt::format("{}: {}; it is no whole recording of products", file_.string(), why));
    }

    void read_line(std::istream& in, const std::string& line) {
        std::istringstream words(line);
        std::string kind;
        words >> kind;
        if (kind == "backend") {
            words >> backend_;
        } else if (kind == "claims") {
            std::string types;
            std::string model;
            words >> types >> model;
            claims_[types] = model;
        } else if (kind == "product") {
            std::string types;
            Index rows = 0;
            Index cols = 0;
            if (!(words >> types >> rows >> cols)) refuse("a product without a shape");
            results_[line.substr(kind.size() + 1)] = read_words(in, rows * cols);
        } else {
            refuse(fmt::format("the line '{}'", line.substr(0, 40)));
        }
    }
    std::vector<float> read_words(std::istream& in, Index count) const {
        std::vector<float> values;
        std::string word;
        while (static_cast<Index>(values.size()) < count && in >> word) {
            const auto read = read_number<std::uint32_t>(word, 16);
            if (word.size() != 8 || !read) refuse(fmt::format("'{}' where eight hexadecimal digits belong", word));
            values.push_back(std::bit_cast<float>(*read));
        }
        if (static_cast<Index>(values.size()) < count) refuse("it ends inside a product");
        in.ignore(1);
        return values;
    }

    void compute(const Product& p) const override {
        const auto found = results_.find(key_of(p));
        if (found == results_.end()) {
            throw BitsDiffer(fmt::format("{}: no {} product {} x {} x {} with these operands was recorded",
                                         file_.string(), name_of(p.types), p.d.rows, p.d.cols, p.a.cols));
        }
        const float* from = found->second.data();
        for (Index i = 0; i < p.d.rows; ++i) {
            for (Index j = 0; j < p.d.cols; ++j) p.d(i, j) = *from++;
        }
    }

    fs::path file_;
    std::string sha256_;
    std::string backend_;
    std::map<std::string, std::string> claims_;
    std::map<std::string, std::vector<float>> results_;
};

class WithIeee final : public MatmulBackend {
  public:
    explicit WithIeee(std::unique_ptr<MatmulBackend> backend)
        : backend_(std::move(backend)), ieee_(make_backend("soft:ieee")), lacks_fp32_(!backend_->has_product(fp32)) {}

    [[nodiscard]] std::string name() const override { return fmt::format("with_ieee({})", backend_->name()); }
    [[nodiscard]] std::string identity() const override { return fmt::format("with_ieee({})", backend_->identity()); }
    [[nodiscard]] bool has_product(const ProductTypes& types) const override {
        return chosen(types).has_product(types);
    }
    [[nodiscard]] std::string promised_model(const ProductTypes& types) const override {
        return chosen(types).promised_model(types);
    }
    [[nodiscard]] std::string path(const ProductTypes& types, Index m, Index n, Index k) const override {
        const std::string way = chosen(types).path(types, m, n, k);
        return &chosen(types) == backend_.get() ? way : way + ", which " + backend_->name() + " lacks";
    }

  private:
    static constexpr ProductTypes fp32{formats::fp32, formats::fp32};

    void compute(const Product& p) const override { chosen(p.types).matmul(p); }
    void compute_each(std::span<const Product> products) const override {
        chosen(products.front().types).matmul(products);
    }
    [[nodiscard]] const MatmulBackend& chosen(const ProductTypes& types) const {
        return lacks_fp32_ && types == fp32 ? *ieee_ : *backend_;
    }

    std::unique_ptr<MatmulBackend> backend_;
    std::unique_ptr<MatmulBackend> ieee_;
    bool lacks_fp32_;
};

class InOrder final : public MatmulBackend {
  public:
    InOrder(std::unique_ptr<MatmulBackend> backend, const ProductOrder& order,
            std::function<TensorCoreModel(const std::string&)> model_of)
        : backend_(std::move(backend)), order_(order), model_of_(std::move(model_of)) {}

    [[nodiscard]] std::string name() const override { return backend_->name() + ", " + name_of(order_); }
    [[nodiscard]] bool has_product(const ProductTypes& types) const override { return backend_->has_product(types); }
    [[nodiscard]] std::string promised_model(const ProductTypes& types) const override {
        return types.scaling ? backend_->promised_model(types) : std::string();
    }
    [[nodiscard]] std::string path(const ProductTypes& types, Index m, Index n, Index k) const override {
        return types.scaling ? backend_->path(types, m, n, k) : "plain code, " + name_of(order_);
    }

  private:
    void compute(const Product& p) const override {
        if (p.types.scaling) return backend_->matmul(p);
        const std::string key = backend_->promised_model(p.types);
        if (key.empty() || key.starts_with("ieee ")) {
            throw std::invalid_argument(backend_->name() + " has an order of its own; orders are of matrix units");
        }
        soft_product(model_of_(key), order_, {p.a, p.b, p.c.value_or(MatrixView()), p.d});
    }

    std::unique_ptr<MatmulBackend> backend_;
    ProductOrder order_;
    std::function<TensorCoreModel(const std::string&)> model_of_;
};

/// "a,b" cut at the first comma outside parentheses.
std::pair<std::string_view, std::string_view> two_arguments(std::string_view text) {
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
        if (depth == 0 && text[i] == ',') return {text.substr(0, i), text.substr(i + 1)};
    }
    throw std::invalid_argument(fmt::format("'{}' should be two arguments with a comma between them", text));
}

}  // namespace

std::unique_ptr<MatmulBackend> checked(std::unique_ptr<MatmulBackend> backend,
                                       std::unique_ptr<MatmulBackend> reference) {
    return std::make_unique<Checked>(std::move(backend), std::move(reference));
}
std::unique_ptr<MatmulBackend> recorded(std::unique_ptr<MatmulBackend> backend, const fs::path& file) {
    return std::make_unique<Recorded>(std::move(backend), file);
}
std::unique_ptr<MatmulBackend> replayed(const fs::path& file) { return std::make_unique<Replayed>(file); }
std::unique_ptr<MatmulBackend> with_ieee(std::unique_ptr<MatmulBackend> backend) {
    return std::make_unique<WithIeee>(std::move(backend));
}
std::unique_ptr<MatmulBackend> in_order(std::unique_ptr<MatmulBackend> backend, const ProductOrder& order,
                                        std::function<TensorCoreModel(const std::string&)> model_of) {
    return std::make_unique<InOrder>(std::move(backend), order, std::move(model_of));
}

std::vector<BackendFamily> decorator_families() {
    return {
        {"checked",
         {},
         "two backends side by side; stops at the first bit that differs",
         [](std::string_view text) {
             const auto [backend, reference] = two_arguments(text);
             return checked(make_backend(backend), make_backend(reference));
         },
         "(BACKEND,REFERENCE)"},
        {"recorded",
         {},
         "a backend whose products are written to a file",
         [](std::string_view text) {
             const auto [file, backend] = two_arguments(text);
             return recorded(make_backend(backend), file);
         },
         "(FILE,BACKEND)"},
        {"with_ieee",
         {},
         "a backend, and soft:ieee for products of fp32 that it lacks",
         [](std::string_view backend) { return with_ieee(make_backend(backend)); },
         "(BACKEND)"},
        {"replayed", {}, "answers from such a file", [](std::string_view file) { return replayed(file); }, "(FILE)"},
    };
}

}  // namespace ulp
