#include "softfloat/tensor_core/gemm.hpp"

#include <bit>
#include <stdexcept>
#include <vector>

#include "softfloat/tensor_core/chain_dot.hpp"
#include "softfloat/tensor_core/fast/dispatch.hpp"
#include "softfloat/tensor_core/fast/fast_gemm.hpp"

namespace ulp {

namespace {

void check(const GemmProblem& p) {
    if (p.m < 0 || p.n < 0 || p.k < 0) throw std::invalid_argument("a matrix product needs sizes of 0 or more");
    const bool empty = p.m == 0 || p.n == 0;
    if (!empty && p.d.data == nullptr) throw std::invalid_argument("a matrix product needs an array for its result");
    if (!empty && p.k > 0 && (p.a.data == nullptr || p.b.data == nullptr)) {
        throw std::invalid_argument("a matrix product needs the arrays of both operands");
    }
}

std::vector<std::uint32_t> codes_of(const FloatFormat& format, std::int64_t rows, std::int64_t cols,
                                    const Strided<const float>& matrix) {
    std::vector<std::uint32_t> codes(static_cast<std::size_t>(rows * cols));
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < cols; ++j) {
            codes[static_cast<std::size_t>(i * cols + j)] = operand_code(format, matrix(i, j));
        }
    }
    return codes;
}

}  // namespace

std::uint32_t operand_code(const FloatFormat& format, float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    if (format == formats::fp32) return word;
    // The instruction reads the whole fp32 register and ignores its low 13 bits.
    if (format == formats::tf32) return word & ~std::uint32_t{0x1FFF};
    Context context;
    return static_cast<std::uint32_t>(convert_bits(format, formats::fp32, word, context));
}

float carrier_of(const FloatFormat& format, std::uint32_t code) {
    if (format == formats::fp32) return std::bit_cast<float>(code);
    if (is_nan(format, code)) {
        return std::bit_cast<float>(static_cast<std::uint32_t>(tensor_core_nan(formats::fp32)));
    }
    Context exact;
    return std::bit_cast<float>(static_cast<std::uint32_t>(convert_bits(formats::fp32, format, code, exact)));
}

void soft_gemm_plain(const TensorCoreModel& model, const GemmProblem& p) {
    check(p);
    const auto a = codes_of(model.a_format, p.m, p.k, p.a);
    const auto b = codes_of(model.b_format, p.n, p.k, p.b.transposed());
#pragma omp parallel for schedule(dynamic)
    for (std::int64_t i = 0; i < p.m; ++i) {
        for (std::int64_t j = 0; j < p.n; ++j) {
            const std::uint32_t c = p.c.data == nullptr ? 0 : operand_code(model.accumulator, p.c(i, j));
            const std::uint32_t d = chain_dot(model, a.data() + i * p.k, b.data() + j * p.k, c, p.k);
            p.d(i, j) = carrier_of(model.accumulator, d);
        }
    }
}

void soft_gemm(const TensorCoreModel& model, const GemmProblem& problem) {
    check(problem);
    if (fast::has_fast_path(model)) {
        fast::fast_gemm(fast::kernels_of(simd_choice()), model, problem);
    } else {
        soft_gemm_plain(model, problem);
    }
}

}  // namespace ulp
