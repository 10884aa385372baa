// What an H100 reached: products of 4096 x 4096 x 4096 numbers, in 10^12 operations a second. A test compares the
// numbers with tests/recordings/h100_80gb_hbm3/throughput.csv.
#pragma once

#include <array>
#include <string_view>

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
