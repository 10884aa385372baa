// The interface between the trainer and the matrix-product backends. Stable: experiments, decorators and the GPU build
// on it.
//
// Only matrix products cross it. fp32 is the container, that is, it holds every value of the formats exactly (fp16,
// bf16, tf32, FP8), so neither the interface nor a caller needs templates. A forward product x * W^T and the two of the
// backward pass, dX = dY * W and dW = dY^T * x, differ only in the strides of their operands:
//
//     auto backend = ulp::make_backend("soft:h100");
//     ulp::Matrix y = ulp::matmul(*backend, {ulp::formats::fp16, ulp::formats::fp32}, x, ulp::transposed(w));
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tensor/matrix.hpp"
#include "softfloat/format.hpp"

namespace ulp {

/// Operands whose elements share scales along k, as the block-scaled products of matrix units take them (MX: a scale of
/// format e8m0 for every 32 elements).
struct BlockScaling {
    FloatFormat format;  // of the scales
    int block = 32;      // elements along k that share a scale; the last block may be shorter
    constexpr bool operator==(const BlockScaling&) const = default;
};

/// What a product is made of: the grid its operands lie on, and the format it accumulates in and answers with
/// (fp16 -> fp32 is {fp16, fp32}).
struct ProductTypes {
    FloatFormat input;
    FloatFormat accumulator;
    FloatFormat b_input = input;  // B's grid where it is another one (FP8: e4m3 times e5m2)
    std::optional<BlockScaling> scaling{};
    constexpr bool operator==(const ProductTypes&) const = default;
};
/// "fp16->fp32", "e5m2*e4m3->fp32"; with scales of format e8m0 for 32 elements "e4m3(e8m0/32)->fp32"
std::string name_of(const ProductTypes& types);

/// D = A * B + C. A is m x k, B is k x n; C, where there is one, and D are m x n, and D may be C itself.
struct Product {
    ProductTypes types;
    MatrixView a;
    MatrixView b;
    std::optional<MatrixView> c;
    MutableMatrixView d;
    MatrixView a_scales{};  // where the types have scales: m x ceil(k / block), numbers of their format
    MatrixView b_scales{};  // ceil(k / block) x n
};

/// The same product as D^T = B^T * A^T + C^T: a backend that writes rows can so write columns.
Product transposed(const Product& product);

class MatmulBackend {
  public:
    virtual ~MatmulBackend() = default;
    MatmulBackend() = default;
    MatmulBackend(const MatmulBackend&) = delete;
    MatmulBackend& operator=(const MatmulBackend&) = delete;

    /// The specification that makes it: "soft:h100".
    [[nodiscard]] virtual std::string name() const = 0;
    /// What the bits of its products depend on: the name, and what that leaves open, such as a file's content or the
    /// processor's vector width. Backends of the same identity give the same bits; a checkpoint holds it.
    [[nodiscard]] virtual std::string identity() const { return name(); }
    /// Whether it computes products of these types.
    [[nodiscard]] virtual bool has_product(const ProductTypes& types) const = 0;
    /// The model whose bits it promises for these types, or empty if it promises none. Backends that claim the same
    /// model give the same bits.
    [[nodiscard]] virtual std::string promised_model(const ProductTypes& types) const = 0;
    /// The way a product of this shape takes inside the backend, and why: for the log of products.
    [[nodiscard]] virtual std::string path(const ProductTypes& types, Index m, Index n, Index k) const = 0;

    /// Computes the product. Throws std::invalid_argument if the shapes do not fit or the backend has no such product,
    /// and std::logic_error, naming the entry, if an operand, a scale or C is not a number of its format. That holds
    /// for tf32 too: an instruction would ignore the low 13 bits of an operand, other backends would not.
    void matmul(const Product& product) const { matmul({&product, 1}); }
    /// Computes products of the same types and of one shape that do not need each other's results.
    void matmul(std::span<const Product> products) const;

  private:
    virtual void compute(const Product& product) const = 0;
    /// compute() of each, on all threads where there are as many products as threads and they may run at the same time.
    virtual void compute_each(std::span<const Product> products) const;
    [[nodiscard]] virtual bool runs_at_once() const { return false; }
};

/// A * B, and A * B + C. `types.input` must hold the operands' entries.
Matrix matmul(const MatmulBackend& backend, const ProductTypes& types, const MatrixView& a, const MatrixView& b);
Matrix matmul(const MatmulBackend& backend, const ProductTypes& types, const MatrixView& a, const MatrixView& b,
              const MatrixView& c);

/// Throws std::logic_error naming the first entry of `matrix` that the format cannot hold. Any NaN passes.
void require_on_grid(const MatrixView& matrix, const FloatFormat& format, std::string_view what);

/// A family of backends under one prefix: "soft:h100" is made by the family "soft" from "h100".
struct BackendFamily {
    std::string prefix;
    std::vector<std::string> arguments;  // those there are; empty for a backend that takes none, or a file
    std::string description;
    std::function<std::unique_ptr<MatmulBackend>(std::string_view argument)> make;
    std::string usage{};   // of backends that wrap others: "(BACKEND,REFERENCE)"; make gets what is in the parentheses
    std::string suffix{};  // of further arguments, names of files: ".json"
    /// The argument that another spelling stands for; empty where it is none. Not listed.
    std::function<std::string(std::string_view)> spelled{};
};
/// Adds a family (the GPU library registers "cuda").
void register_backend_family(BackendFamily family);
/// Every specification that make_backend takes, with what it is: for --help and error messages.
std::vector<std::pair<std::string, std::string>> backend_specs();
/// The same for backends that wrap others or that a file describes: "checked(BACKEND,REFERENCE)", "soft:FILE.json".
std::vector<std::pair<std::string, std::string>> wrapper_specs();
/// Throws std::invalid_argument that lists what there is.
std::unique_ptr<MatmulBackend> make_backend(std::string_view spec);

// A quick look whether numbers lie on a format's grid, before a slow one that says where they do not; and what to say
// of words that are no codes.

/// False where all numbers are the format's (or NaN): vectorised, on all threads. True where one may not be.
bool maybe_off_grid(const MatrixView& matrix, const FloatFormat& format);
/// Of fp64 numbers nothing is known without the slow look.
constexpr bool maybe_off_grid(const BasicMatrixView<const double>&, const FloatFormat&) { return true; }

/// Whether a word has bits above the format's storage bits, as two codes of E2M1 packed into a byte have.
constexpr bool is_beyond_codes(const FloatFormat& format, std::uint64_t word) {
    return format.storage_bits() < 64 && word >> format.storage_bits() != 0;
}
/// "0x73 is not a code of e2m1, whose codes are 0x0 to 0xF", and what to do.
std::string beyond_codes_text(const FloatFormat& format, std::uint64_t word);

// What a program multiplies, seen from outside: an observer of all products, and other backends instead of those
// that are asked for. Both hold for the whole process while the object lives; one of each at a time.

/// Is told of each product that somebody asks a backend for, not of those that a decorator asks of the backends inside
/// it; from any thread.
class ProductObserver {
  public:
    virtual ~ProductObserver() = default;
    ProductObserver() = default;
    ProductObserver(const ProductObserver&) = delete;
    ProductObserver& operator=(const ProductObserver&) = delete;

    /// Before it is computed, as D may be C itself. What it returns is given to `after`.
    virtual std::uint64_t before(const MatmulBackend& backend, const Product& product) = 0;
    virtual void after(const MatmulBackend& backend, const Product& product, std::uint64_t noted) = 0;
};

class ObservedProducts {
  public:
    explicit ObservedProducts(ProductObserver& observer);
    ~ObservedProducts();
    ObservedProducts(const ObservedProducts&) = delete;
    ObservedProducts& operator=(const ObservedProducts&) = delete;
};

/// make_backend hands each backend that it has made to `replace` and gives what comes back.
class ReplacedBackends {
  public:
    using Replace = std::function<std::unique_ptr<MatmulBackend>(std::unique_ptr<MatmulBackend>)>;
    explicit ReplacedBackends(Replace replace);
    ~ReplacedBackends();
    ReplacedBackends(const ReplacedBackends&) = delete;
    ReplacedBackends& operator=(const ReplacedBackends&) = delete;
};

}  // namespace ulp
