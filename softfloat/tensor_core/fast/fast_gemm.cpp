#include "softfloat/tensor_core/fast/fast_gemm.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <stdexcept>
#include <vector>

#include "softfloat/tensor_core/chain_dot.hpp"
#include "softfloat/tensor_core/fast/pack.hpp"

namespace ulp::fast {

namespace {

constexpr std::int64_t rows_per_tile = 32;  // with a panel's group this stays in the first-level cache

/// What all tiles share.
struct Plan {
    const Kernels& kernels;
    const TensorCoreModel& model;  // the instruction: element by element, chain_dot of it is the truth
    TensorCoreModel block;         // the fused block that the kernels run
    GemmProblem problem;
    KOrder order;
    std::int64_t groups_per_segment;  // groups after which the sum is added to the result, from zero again
    Grid a_grid, b_grid;
    std::int64_t width;  // columns of a panel
};

int round_up_div(int x, int y) { return (x + y - 1) / y; }
std::int64_t tiles_of(std::int64_t size, std::int64_t tile) { return (size + tile - 1) / tile; }

Plan make_plan(const Kernels& kernels, const TensorCoreModel& model, const GemmProblem& problem) {
    const bool emulated = model.summation == Summation::fp8_by_hmma;
    Plan plan{kernels, model, emulated ? emulating_hmma(model) : model, problem, {}, 0, {}, {}, 0};
    plan.order.k = problem.k;
    plan.order.group = plan.block.group;
    if (emulated) {
        const int groups = 2 * round_up_div(plan.block.instruction_k, plan.block.group);
        plan.order.emulated_instruction = model.instruction_k;
        plan.order.groups = tiles_of(problem.k, model.instruction_k) * groups;
        plan.groups_per_segment = groups;
    } else {
        plan.order.groups = tiles_of(problem.k, plan.block.group);
        plan.groups_per_segment = plan.order.groups;
    }
    plan.a_grid = grid_of(model.a_format);
    plan.b_grid = grid_of(model.b_format);
    if (emulated) {  // decoded as fp16, where E4M3's subnormals are normal numbers
        plan.a_grid.lowest_code_field = grid_of(formats::fp16).lowest_code_field;
        plan.b_grid.lowest_code_field = plan.a_grid.lowest_code_field;
    }
    plan.width = std::int64_t{vectors_per_panel} * kernels.lanes;
    return plan;
}

/// One tile's results while the groups run, with the marks of the elements to be computed again.
struct Tile {
    std::int64_t row, rows, col, cols;
    AlignedVector<float> c;                 // [row][width]
    std::vector<std::uint64_t> suspects{};  // [row]
};

/// A c that no kernel may start from: not finite, huge, or so small that it could decide the largest exponent.
bool is_suspect_addend(float c) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(c) & 0x7FFFFFFFU;
    return magnitude != 0 && (magnitude < (std::uint32_t{lowest_field} << 23) || magnitude >= (227U << 23));
}

float initial_addend(const Plan& plan, std::int64_t i, std::int64_t j) {
    const FloatFormat& format = plan.model.accumulator;
    const float c = plan.problem.c(i, j);
    return format == formats::fp32 ? c : carrier_of(format, operand_code(format, c));
}

void load_tile(const Plan& plan, const PackedRows& a, const PackedPanel& b, Tile& tile) {
    tile.c.assign(static_cast<std::size_t>(tile.rows * plan.width), 0.0F);
    tile.suspects.assign(static_cast<std::size_t>(tile.rows), b.special);
    for (std::int64_t i = 0; i < tile.rows; ++i) {
        auto& suspects = tile.suspects[static_cast<std::size_t>(i)];
        if (a.special[static_cast<std::size_t>(i)]) suspects = ~std::uint64_t{0};
        if (plan.problem.c.data == nullptr) continue;
        for (std::int64_t j = 0; j < tile.cols; ++j) {
            const float c = initial_addend(plan, tile.row + i, tile.col + j);
            const bool suspect = is_suspect_addend(c);
            tile.c[static_cast<std::size_t>(i * plan.width + j)] = suspect ? 0.0F : c;
            suspects |= std::uint64_t{suspect} << j;
        }
    }
}

void run_groups(const Plan& plan, const PackedRows& a, const PackedPanel& b, Tile& tile, float* c,
                std::int64_t first_group, std::int64_t groups) {
    const bool words = plan.a_grid.codes == ExponentCodes::words;
    const bool narrow = plan.block.accumulator == formats::fp16;
    const int vectors = static_cast<int>(tiles_of(tile.cols, plan.kernels.lanes));
    const std::int64_t a_at = first_group * tile.rows * plan.order.group;
    const std::int64_t b_k = first_group * plan.order.group;
    const PanelTask task{a.values.data() + a_at,
                         a.exponents.data() + a_at,
                         b.values.data() + b_k * plan.width,
                         b.exponents.data() + b_k * plan.kernels.lanes * (words ? 2 : 1),
                         c,
                         tile.suspects.data(),
                         groups,
                         tile.rows,
                         plan.order.group,
                         plan.block.fraction_bits,
                         plan.block.output_fraction_bits == 13 ? 0xFFFFFC00U : 0xFFFFFFFFU};
    plan.kernels.panel[words ? 1 : 0][narrow ? 1 : 0][vectors - 1](task);
}

/// c + sum, to nearest even in the accumulator's format; marks what is not finite.
void add_segment(const Plan& plan, const AlignedVector<float>& sums, Tile& tile) {
    for (std::int64_t i = 0; i < tile.rows; ++i) {
        for (std::int64_t j = 0; j < tile.cols; ++j) {
            const auto at = static_cast<std::size_t>(i * plan.width + j);
            // An fp16 sum is rounded twice, harmlessly: fp32 has more than 2 * 11 + 2 bits.
            float sum = tile.c[at] + sums[at];
            if (plan.model.accumulator == formats::fp16) sum = round_to(formats::fp16, sum);
            const bool finite = (std::bit_cast<std::uint32_t>(sum) & 0x7F800000U) != 0x7F800000U;
            tile.c[at] = sum;
            if (!finite) tile.suspects[static_cast<std::size_t>(i)] |= std::uint64_t{1} << j;
        }
    }
}

void run_segments(const Plan& plan, const PackedRows& a, const PackedPanel& b, Tile& tile) {
    if (plan.model.summation != Summation::fp8_by_hmma) {
        run_groups(plan, a, b, tile, tile.c.data(), 0, plan.order.groups);
        return;
    }
    AlignedVector<float> sums(tile.c.size());
    for (std::int64_t g = 0; g < plan.order.groups; g += plan.groups_per_segment) {
        std::fill(sums.begin(), sums.end(), 0.0F);
        run_groups(plan, a, b, tile, sums.data(), g, plan.groups_per_segment);
        add_segment(plan, sums, tile);
    }
}

std::vector<DecodedOperand> operands_along_k(const FloatFormat& format, const float* first, std::int64_t stride,
                                             std::int64_t k) {
    std::vector<DecodedOperand> operands(static_cast<std::size_t>(k));
    for (std::int64_t i = 0; i < k; ++i) {
        operands[static_cast<std::size_t>(i)] = decoded(format, operand_code(format, first[i * stride]));
    }
    return operands;
}

/// Computes the marked elements of a tile by the definition.
void settle_suspects(const Plan& plan, Tile& tile) {
    const GemmProblem& p = plan.problem;
    const std::uint64_t used = tile.cols == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << tile.cols) - 1;
    std::vector<std::vector<DecodedOperand>> columns(static_cast<std::size_t>(tile.cols));
    for (std::int64_t i = 0; i < tile.rows; ++i) {
        std::uint64_t suspects = tile.suspects[static_cast<std::size_t>(i)] & used;
        if (suspects == 0) continue;
        const auto row = operands_along_k(plan.model.a_format, &p.a(tile.row + i, 0), p.a.col_stride, p.k);
        for (; suspects != 0; suspects &= suspects - 1) {
            const int j = std::countr_zero(suspects);
            auto& column = columns[static_cast<std::size_t>(j)];
            if (column.empty())
                column = operands_along_k(plan.model.b_format, &p.b(0, tile.col + j), p.b.row_stride, p.k);
            const float addend = p.c.data == nullptr ? 0.0F : p.c(tile.row + i, tile.col + j);
            const std::uint32_t c = operand_code(plan.model.accumulator, addend);
            const std::uint32_t d = chain_dot(plan.model, row.data(), column.data(), c, p.k);
            tile.c[static_cast<std::size_t>(i * plan.width + j)] = carrier_of(plan.model.accumulator, d);
        }
    }
}

void store_tile(const Plan& plan, const Tile& tile) {
    const Strided<float>& d = plan.problem.d;
    for (std::int64_t i = 0; i < tile.rows; ++i) {
        const float* from = tile.c.data() + i * plan.width;
        float* to = &d(tile.row + i, tile.col);
        for (std::int64_t j = 0; j < tile.cols; ++j) to[j * d.col_stride] = from[j];
    }
}

void run_tile(const Plan& plan, const PackedRows& a, const PackedPanel& b, Tile& tile) {
    load_tile(plan, a, b, tile);
    run_segments(plan, a, b, tile);
    settle_suspects(plan, tile);
    store_tile(plan, tile);
}

bool ordinary_policies(const TensorCoreModel& model) {
    const BlockPolicies& p = model.policies;
    return p.zero_product != ZeroProduct::operand_as_subnormal &&
           (p.zero_addend != ZeroAddend::at_accumulator_emin || model.accumulator == formats::fp32) &&
           p.subnormal_addend == SubnormalAddend::at_emin && p.underflow_sign == UnderflowSign::positive &&
           p.exponent_floor == no_exponent_floor;
}

/// 16 products must fit an int32, each below 4 * 2^F, and be exact in fp32.
bool fits_kernels(const TensorCoreModel& block) {
    const bool same_codes = grid_of(block.a_format).codes == grid_of(block.b_format).codes;
    return same_codes && block.a_format.fraction_bits <= 10 && block.b_format.fraction_bits <= 10 &&
           block.fraction_bits <= 25 && block.instruction_k % block.group == 0 && !block.flush_subnormals;
}

}  // namespace

bool has_fast_path(const TensorCoreModel& model) {
    const bool emulated = model.summation == Summation::fp8_by_hmma;
    const bool fused = model.summation == Summation::fused || emulated;
    const bool known_output = (model.accumulator == formats::fp32 && model.rounding == Rounding::toward_zero &&
                               (model.output_fraction_bits == 23 || model.output_fraction_bits == 13)) ||
                              (model.accumulator == formats::fp16 && model.rounding == Rounding::nearest_even &&
                               model.output_fraction_bits == 10);
    return fused && known_output && ordinary_policies(model) && fits_kernels(model) &&
           model.mutation == BlockMutation{};
}

void fast_gemm(const Kernels& kernels, const TensorCoreModel& model, const GemmProblem& given) {
    if (!has_fast_path(model)) throw std::invalid_argument("this model has no fast path; use soft_gemm_plain");
    if (given.m == 0 || given.n == 0 || given.k == 0) return soft_gemm_plain(model, given);  // nothing to pack
    GemmProblem problem = given;
    TensorCoreModel oriented = model;
    if (given.n < given.m && given.n < 48) {  // wide rows fill the vectors better; a dot product has no sides
        problem = {given.n,
                   given.m,
                   given.k,
                   given.b.transposed(),
                   given.a.transposed(),
                   given.c.transposed(),
                   given.d.transposed()};
        std::swap(oriented.a_format, oriented.b_format);
    }
    const Plan plan = make_plan(kernels, oriented, problem);
    const std::int64_t row_tiles = tiles_of(problem.m, rows_per_tile);
    const std::int64_t col_tiles = tiles_of(problem.n, plan.width);
    // Packed operands keep their memory from call to call: fresh pages would cost a tenth of a product.
    static thread_local std::vector<PackedRows> a_memory;
    static thread_local std::vector<PackedPanel> b_memory;
    if (a_memory.size() < static_cast<std::size_t>(row_tiles)) a_memory.resize(static_cast<std::size_t>(row_tiles));
    if (b_memory.size() < static_cast<std::size_t>(col_tiles)) b_memory.resize(static_cast<std::size_t>(col_tiles));
    const std::span a(a_memory);
    const std::span b(b_memory);
    // Below this, waking the threads would cost more than they save.
    const bool worth_threads = problem.m * problem.n * problem.k > (std::int64_t{1} << 18);
#pragma omp parallel if (worth_threads)
    {
#pragma omp for schedule(dynamic) nowait
        for (std::int64_t t = 0; t < row_tiles; ++t) {
            const std::int64_t first = t * rows_per_tile;
            const Strided<const float> rows{problem.a.data + first * problem.a.row_stride, problem.a.row_stride,
                                            problem.a.col_stride};
            pack_rows(kernels, oriented.a_format, plan.a_grid, plan.order, rows,
                      std::min(rows_per_tile, problem.m - first), a[static_cast<std::size_t>(t)]);
        }
#pragma omp for schedule(dynamic)
        for (std::int64_t t = 0; t < col_tiles; ++t) {
            const std::int64_t first = t * plan.width;
            const Strided<const float> cols{problem.b.data + first * problem.b.col_stride, problem.b.row_stride,
                                            problem.b.col_stride};
            pack_panel(kernels, oriented.b_format, plan.b_grid, plan.order, cols,
                       std::min(plan.width, problem.n - first), b[static_cast<std::size_t>(t)]);
        }
        Tile tile;
#pragma omp for schedule(dynamic)
        for (std::int64_t t = 0; t < row_tiles * col_tiles; ++t) {
            const std::int64_t i = t % row_tiles;
            const std::int64_t j = t / row_tiles;
            tile.row = i * rows_per_tile;
            tile.rows = std::min(rows_per_tile, problem.m - tile.row);
            tile.col = j * plan.width;
            tile.cols = std::min(plan.width, problem.n - tile.col);
            run_tile(plan, a[static_cast<std::size_t>(i)], b[static_cast<std::size_t>(j)], tile);
        }
    }
}

}  // namespace ulp::fast
