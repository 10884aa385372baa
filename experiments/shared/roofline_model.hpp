// How fast a product can be on a GPU at most: by its arithmetic and by the bytes it moves; and which shapes the
// libraries of the sources give to Tensor Cores.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/products/matmul.hpp"

namespace ulp {

/// D = A B, m x n x k: each operand read once, the result written once.
struct GemmShape {
    std::int64_t m, n, k;

    [[nodiscard]] double operations() const;  // a multiply-add counts as two
    [[nodiscard]] double bytes(double bytes_of_a_number) const;
    [[nodiscard]] double intensity(double bytes_of_a_number) const;  // operations a byte
};

/// The V100 of the sources: 80 multiprocessors, 512 fp16 multiply-adds a clock on Tensor Cores and 64 fp32 ones each,
/// 1.53 GHz, 900 GB/s.
struct Gpu {
    double multiprocessors = 80;
    double tensor_core_products = 512;  // a clock and multiprocessor
    double fp32_products = 64;
    double clock = 1.53e9;     // 1/s
    double bandwidth = 900e9;  // bytes/s

    [[nodiscard]] double tensor_core_rate() const { return multiprocessors * tensor_core_products * 2 * clock; }
    [[nodiscard]] double fp32_rate() const { return multiprocessors * fp32_products * 2 * clock; }
    /// Operations a second, at most.
    [[nodiscard]] double attainable(double intensity, double rate) const;
    /// The least time of a product: arithmetic or memory, whichever takes longer. Tensor Cores take fp16 numbers.
    [[nodiscard]] double tensor_core_seconds(const GemmShape& shape) const;
    [[nodiscard]] double fp32_seconds(const GemmShape& shape, double bytes_of_a_number = 4) const;
};

/// The speed-up of the whole where a share of the time becomes `factor` times as fast and the rest `other` times.
double amdahl(double share, double factor, double other = 1);

/// Why the libraries of 2018 and 2019 do not run the product on a V100's Tensor Cores, or "" if they do: fp16 operands,
/// and m, n and k multiples of 8.
std::string refusal(const ProductTypes& types, std::int64_t m, std::int64_t n, std::int64_t k);

/// The next multiple of 8.
constexpr std::int64_t padded(std::int64_t size) { return (size + 7) / 8 * 8; }
static_assert(padded(50257) == 50264 && padded(1024) == 1024);

}  // namespace ulp

// What an H100 reached: products of 4096 x 4096 x 4096 numbers, in 10^12 operations a second. A test compares the
// numbers with tests/recordings/h100_80gb_hbm3/throughput.csv.

namespace ulp::h100 {

// By cuBLAS; "odd": that side is 4097.
inline constexpr double fp32 = 50.00;
inline constexpr double tf32 = 384.72;
inline constexpr double fp16 = 659.75;
inline constexpr double fp16_fp16 = 715.23;  // with fp16 accumulators
inline constexpr double fp16_m_odd = 668.95;
inline constexpr double fp16_n_odd = 92.15;
inline constexpr double fp16_k_odd = 123.43;
// By cublasLt, which alone has int8.
inline constexpr double fp16_lt = 678.94;
inline constexpr double s8 = 1171.57;

struct Row {
    std::string_view product, by, shape;  // as in the file; by: cublas or cublasLt
    double rate;
};
inline constexpr std::array rows = {
    Row{"fp32", "cublas", "square", fp32},      Row{"tf32", "cublas", "square", tf32},
    Row{"fp16", "cublas", "square", fp16},      Row{"fp16_fp16", "cublas", "square", fp16_fp16},
    Row{"fp16", "cublas", "m odd", fp16_m_odd}, Row{"fp16", "cublas", "n odd", fp16_n_odd},
    Row{"fp16", "cublas", "k odd", fp16_k_odd}, Row{"fp16", "cublasLt", "square", fp16_lt},
    Row{"s8", "cublasLt", "square", s8},
};

}  // namespace ulp::h100
