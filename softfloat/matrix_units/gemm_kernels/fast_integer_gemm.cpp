// Products of integers by vector instructions, two k a step.
#include <algorithm>

#include "softfloat/matrix_units/gemm_kernels/fast_gemm.hpp"
#include "softfloat/matrix_units/gemm_kernels/tile.hpp"
#include "softfloat/matrix_units/gemm_kernels/word_panels.hpp"

namespace ulp::gemm_kernels {

namespace {

// Exclusive or as products: with +1 for 0 and -1 for 1 a product is 1 - 2 (a ^ b), and the zeros behind the last k add
// nothing. So the number of ones is (k - sum of products) / 2.
constexpr std::int16_t sign_of_bit(std::int32_t bit) { return static_cast<std::int16_t>(1 - 2 * bit); }
constexpr std::int16_t same(std::int32_t x) { return static_cast<std::int16_t>(x); }

struct Integers {
    const Kernels& kernels;
    const IntegerModel& model;
    const IntegerProblem& p;
    bool counts_differences;
    std::int64_t padded;   // k
    std::int64_t stretch;  // k for which a panel stays in the cache, whole instructions
    std::int64_t width;
};

template <class Convert>
void run_panel(const Integers& run, const AlignedVector<std::uint32_t>& a, std::int64_t col, const Convert& convert) {
    const IntegerProblem& p = run.p;
    const std::int64_t cols = std::min(run.width, p.n() - col);
    static thread_local AlignedVector<std::uint32_t> panel;
    fill_word_panel(p.b, col, cols, p.k(), run.padded, run.width, convert, panel);
    BasicTile<std::uint32_t> tile;
    for (std::int64_t row = 0; row < p.m(); row += rows_per_tile) {
        tile.load(p, run.counts_differences ? BasicMatrixView<const std::int32_t>{} : p.c, row, rows_per_tile, col,
                  run.width);
        for (std::int64_t k = 0; k < run.padded; k += run.stretch) {
            run.kernels.integers->multiply({.a = a.data() + (row * run.padded + k) / 2,
                                            .b = panel.data() + k / 2 * run.width,
                                            .c = tile.c.data(),
                                            .a_stride = run.padded / 2,
                                            .steps = std::min(run.stretch, run.padded - k) / 2,
                                            .rows = tile.rows,
                                            .instruction_steps = run.model.instruction_k / 2,
                                            .saturates = run.model.saturates});
        }
        for (std::int64_t i = 0; i < tile.rows; ++i) {
            for (std::int64_t j = 0; j < cols; ++j) {
                std::uint32_t d = tile.at(i, j);
                if (run.counts_differences) {
                    const auto differences = (p.k() - static_cast<std::int32_t>(d)) / 2;
                    d = static_cast<std::uint32_t>(differences);
                    if (p.has_c()) d += static_cast<std::uint32_t>(p.c(row + i, col + j));
                }
                p.d(row + i, col + j) = static_cast<std::int32_t>(d);
            }
        }
    }
}

template <class Convert>
void run_all(const Integers& run, const Convert& convert) {
    const IntegerProblem& p = run.p;
    const auto a = word_rows(p.a, p.m(), p.k(), run.padded, convert);
    for_each_index(tiles_of(p.n(), run.width), worth_threads_for(p),
                   [&](std::int64_t t) { run_panel(run, a, t * run.width, convert); });
}

}  // namespace

bool has_integer_kernel(const IntegerModel& model) {
    const bool saturated_differences = model.saturates && model.product == IntegerProduct::exclusive_or;
    return !saturated_differences && model.instruction_k % 2 == 0 && model.bits <= 8;
}

bool fast_integer_gemm(const Kernels& kernels, const IntegerModel& model, const IntegerProblem& p) {
    if (p.d.empty() || !has_integer_kernel(model)) return false;
    const bool differences = model.product == IntegerProduct::exclusive_or;
    const std::int64_t step = model.instruction_k;
    const Integers run{.kernels = kernels,
                       .model = model,
                       .p = p,
                       .counts_differences = differences,
                       .padded = tiles_of(p.k(), step) * step,
                       .stretch = std::max<std::int64_t>(256 / step, 1) * step,
                       .width = panel_width(kernels)};
    if (differences) {
        run_all(run, sign_of_bit);
    } else {  // of single bits the conjunction is the product
        run_all(run, same);
    }
    return true;
}

}  // namespace ulp::gemm_kernels
