// Whole products of integers: 16-bit operands side by side, so that the compiler makes multiply-add instructions of the
// inner loop.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "softfloat/matrix_units/integer_models.hpp"
#include "softfloat/support/parallel.hpp"

namespace ulp {

namespace {

using Packed = std::vector<std::int16_t>;

/// The matrix by rows. `name` is "A" or "B", for errors.
Packed packed(const BasicMatrixView<const std::int32_t>& matrix, const IntegerRange& range, const char* name,
              bool transposed) {
    Packed values(static_cast<std::size_t>(matrix.rows * matrix.cols));
    for (std::int64_t i = 0; i < matrix.rows; ++i) {
        for (std::int64_t j = 0; j < matrix.cols; ++j) {
            const std::int32_t x = matrix(i, j);
            if (x < range.least || x > range.greatest) {
                const auto [row, col] = transposed ? std::pair{j, i} : std::pair{i, j};
                throw std::invalid_argument(std::string(name) + "[" + std::to_string(row) + ", " + std::to_string(col) +
                                            "] is " + std::to_string(x) + ", out of the operands' range from " +
                                            std::to_string(range.least) + " to " + std::to_string(range.greatest));
            }
            values[static_cast<std::size_t>(i * matrix.cols + j)] = static_cast<std::int16_t>(x);
        }
    }
    return values;
}

/// The sum of one instruction's products: at most 256 of at most 255^2.
template <IntegerProduct product>
std::int32_t sum_of(const std::int16_t* a, const std::int16_t* b, std::int64_t count) {
    std::int32_t sum = 0;
    for (std::int64_t k = 0; k < count; ++k) {
        const std::int32_t x = a[k];
        const std::int32_t y = b[k];
        if constexpr (product == IntegerProduct::multiply) sum += x * y;
        if constexpr (product == IntegerProduct::exclusive_or) sum += (x ^ y) & 1;
        if constexpr (product == IntegerProduct::conjunction) sum += x & y & 1;
    }
    return sum;
}

template <IntegerProduct product>
void gemm(const IntegerModel& model, const IntegerProblem& p, const Packed& a, const Packed& b) {
    // Without saturation the order of the sums does not matter, and longer stretches are faster.
    const std::int64_t step = model.saturates ? model.instruction_k : 4096;
    for_each_index(p.m(), worth_threads(p.m() * p.n() * p.k() > (std::int64_t{1} << 18)), [&](std::int64_t i) {
        for (std::int64_t j = 0; j < p.n(); ++j) {
            std::int32_t d = !p.has_c() ? 0 : p.c(i, j);
            for (std::int64_t k = 0; k < p.k(); k += step) {
                const std::int64_t count = std::min(step, p.k() - k);
                d = accumulate(model, sum_of<product>(a.data() + i * p.k() + k, b.data() + j * p.k() + k, count), d);
            }
            p.d(i, j) = d;
        }
    });
}

}  // namespace

void integer_gemm(const IntegerModel& model, const IntegerProblem& p) {
    require_shapes(p);
    const Packed a = packed(p.a, operand_range(model, model.a_signed), "A", false);
    const Packed b = packed(p.b.transposed(), operand_range(model, model.b_signed), "B", true);
    switch (model.product) {
        case IntegerProduct::multiply: return gemm<IntegerProduct::multiply>(model, p, a, b);
        case IntegerProduct::exclusive_or: return gemm<IntegerProduct::exclusive_or>(model, p, a, b);
        case IntegerProduct::conjunction: return gemm<IntegerProduct::conjunction>(model, p, a, b);
    }
}

void integer_gemm_plain(const IntegerModel& model, const IntegerProblem& p) {
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
