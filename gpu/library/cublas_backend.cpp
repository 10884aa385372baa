#include <fmt/format.h>

#include <stdexcept>

#include "gpu/devices/executor.hpp"
#include "gpu/library/cublas.hpp"
#include "softfloat/matrix_units/gemm.hpp"

namespace ulp::gpu {
namespace {

bool is_fp8(const LibraryProduct& product) { return bits_of(product.a) == 8; }

std::shared_ptr<Cublas> shared_library() {
    static const auto library = std::make_shared<Cublas>();
    return library;
}

class CublasBackend final : public MatmulBackend {
  public:
    CublasBackend(std::string_view product, bool fixed_algorithm)
        : name_(fmt::format("{}:{}", fixed_algorithm ? "cublaslt" : "cublas", product)),
          product_(library_product(product)),
          library_(shared_library()) {
        product_.fixed_algorithm = fixed_algorithm;
    }
    [[nodiscard]] std::string name() const override { return name_; }
    [[nodiscard]] std::string identity() const override {
        return fmt::format("{} of cuBLAS {} on {}", name_, library_->version(), open_cuda_device()->info().name);
    }
    [[nodiscard]] bool has_product(const ProductTypes& types) const override {
        return types == ProductTypes{format_of(product_.a), format_of(product_.accumulator), format_of(product_.b)};
    }
    [[nodiscard]] std::string promised_model(const ProductTypes&) const override { return ""; }
    [[nodiscard]] std::string path(const ProductTypes&, Index m, Index n, Index k) const override {
        return fmt::format("cuBLAS {}, {}, {} x {} x {}", library_->version(),
                           product_.fixed_algorithm ? "cublasLtMatmul, fixed algorithm" : "cublasGemmEx", padded(m),
                           padded(n), padded(k));
    }

  private:
    [[nodiscard]] std::uint64_t padded(Index extent) const {
        const Index step = is_fp8(product_) ? 16 : 1;
        return static_cast<std::uint64_t>((extent + step - 1) / step * step);
    }
    [[nodiscard]] static PackedMatrix packed(const MatrixView& matrix, const FloatFormat& format, std::uint64_t rows,
                                             std::uint64_t columns) {
        PackedMatrix result(rows, columns, format.storage_bits());
        for (Index i = 0; i < matrix.rows; ++i) {
            for (Index j = 0; j < matrix.cols; ++j) {
                result.set(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j),
                           operand_code(format, matrix(i, j)));
            }
        }
        return result;
    }
    void compute(const Product& p) const override {
        if (!has_product(p.types)) {
            throw std::invalid_argument(
                fmt::format("{} has no {} product; choose another recipe or backend", name_, ulp::name_of(p.types)));
        }
        if (p.c) throw std::invalid_argument(fmt::format("{} adds no C; use cuda:mma", name_));
        if (p.d.rows == 0 || p.d.cols == 0) return;
        const FloatFormat output = p.types.accumulator;
        PackedMatrix d(padded(p.d.rows), padded(p.d.cols), output.storage_bits());
        if (p.a.cols != 0) {
            library_->matmul(product_, packed(p.a, p.types.input, padded(p.a.rows), padded(p.a.cols)),
                             packed(p.b.transposed(), p.types.b_input, padded(p.b.cols), padded(p.b.rows)), d);
        }
        for (Index i = 0; i < p.d.rows; ++i) {
            for (Index j = 0; j < p.d.cols; ++j) {
                const auto code = d.get(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j));
                p.d(i, j) = in_fp32_container(output, static_cast<std::uint32_t>(code));
            }
        }
    }

    std::string name_;
    LibraryProduct product_;
    std::shared_ptr<Cublas> library_;
};

}  // namespace

std::unique_ptr<MatmulBackend> make_cublas_backend(std::string_view product, bool fixed_algorithm) {
    return std::make_unique<CublasBackend>(product, fixed_algorithm);
}

std::vector<std::string> cublas_arguments(bool fixed_algorithm) {
    std::vector<std::string> arguments;
    for (const NamedLibraryProduct& row : library_products()) {
        if (is_float(row.product.a) && (fixed_algorithm || !is_fp8(row.product))) arguments.push_back(row.name);
    }
    return arguments;
}

const std::vector<NamedLibraryProduct>& library_products() {
    using enum Element;
    static const std::vector<NamedLibraryProduct> table{
        {"fp32", {fp32, fp32, fp32}},      {"tf32", {tf32, tf32, fp32}},
        {"bf16", {bf16, bf16, fp32}},      {"fp16", {fp16, fp16, fp32}},
        {"fp16_fp16", {fp16, fp16, fp16}}, {"e4m3", {e4m3, e4m3, fp32}},
        {"e5m2", {e5m2, e4m3, fp32}},      {"s8", {s8, s8, s32}},
    };
    return table;
}

const LibraryProduct& library_product(std::string_view name) {
    std::string names;
    for (const NamedLibraryProduct& row : library_products()) {
        if (row.name == name) return row.product;
        names += (names.empty() ? "" : ", ") + row.name;
    }
    throw std::invalid_argument(fmt::format("there is no library product '{}'; choose one of {}", name, names));
}

}  // namespace ulp::gpu
