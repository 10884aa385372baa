// Whole products of integers: their operands checked, then by a kernel or by the definition.
#include <stdexcept>
#include <string>
#include <vector>

#include "softfloat/matrix_units/gemm_kernels/fast_gemm.hpp"
#include "softfloat/matrix_units/integer_model.hpp"
#include "softfloat/vector/dispatch.hpp"

namespace ulp {

namespace {

/// Throws for the first operand out of range. `name` is "A" or "B".
void check_range(const BasicMatrixView<const std::int32_t>& matrix, const IntegerRange& range, const char* name) {
    const auto least = static_cast<std::uint32_t>(range.least);
    const auto width = static_cast<std::uint32_t>(range.greatest) - least;
    for (std::int64_t i = 0; i < matrix.rows; ++i) {
        bool out = false;
        for (std::int64_t j = 0; j < matrix.cols; ++j) out |= static_cast<std::uint32_t>(matrix(i, j)) - least > width;
        for (std::int64_t j = 0; out && j < matrix.cols; ++j) {
            const std::int32_t x = matrix(i, j);
            if (x >= range.least && x <= range.greatest) continue;
            throw std::invalid_argument(std::string(name) + "[" + std::to_string(i) + ", " + std::to_string(j) +
                                        "] is " + std::to_string(x) + ", out of the operands' range from " +
                                        std::to_string(range.least) + " to " + std::to_string(range.greatest));
        }
    }
}

}  // namespace

void gemm(const IntegerModel& model, const IntegerProblem& p) {
    require_shapes(p);
    check_range(p.a, operand_range(model, model.a_signed), "A");
    check_range(p.b, operand_range(model, model.b_signed), "B");
    const auto& kernels = kernels_of<gemm_kernels::Kernels>(simd_choice());
    if (!gemm_kernels::fast_integer_gemm(kernels, model, p)) gemm_plain(model, p);
}

void gemm_plain(const IntegerModel& model, const IntegerProblem& p) {
    require_shapes(p);
    for (std::int64_t i = 0; i < p.m(); ++i) {
        for (std::int64_t j = 0; j < p.n(); ++j) {
            std::vector<std::int32_t> x, y;
            for (std::int64_t k = 0; k < p.k(); ++k) {
                x.push_back(p.a(i, k));
                y.push_back(p.b(k, j));
            }
            p.d(i, j) = integer_dot(model, x.data(), y.data(), !p.has_c() ? 0 : p.c(i, j), p.k());
        }
    }
}

}  // namespace ulp
