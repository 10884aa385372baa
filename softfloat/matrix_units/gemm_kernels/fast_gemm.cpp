#include "softfloat/matrix_units/gemm_kernels/fast_gemm.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/gemm_kernels/aligned.hpp"
#include "softfloat/matrix_units/gemm_kernels/kernel_choice.hpp"
#include "softfloat/matrix_units/gemm_kernels/pack.hpp"
#include "softfloat/support/copy_matrix.hpp"
#include "softfloat/support/float_environment.hpp"
#include "softfloat/support/parallel.hpp"

namespace ulp::gemm_kernels {

namespace {

constexpr std::int64_t rows_per_tile = 32;  // with a panel's group this stays in the first-level cache

/// What all tiles of a piece share.
struct Plan {
    const Kernels& kernels;
    KernelChoice choice;
    const TensorCoreModel& model;  // the instruction: element by element, chain_dot of it is the truth
    TensorCoreModel block;         // the fused block that the kernels run
    GemmProblem problem;
    KOrder order;
    std::int64_t groups_per_segment;  // groups after which the sum is added to the result, from zero again
    Grid a_grid, b_grid;
    std::int64_t width;  // columns of a panel
    bool continues;      // C is what the piece before made
};

/// Products packed as one group: a chain without groups of its own takes as many as fit its instructions.
int packed_group(const KernelChoice& choice, const TensorCoreModel& block, std::int64_t k) {
    const bool whole = choice.family == Family::chain &&
                       (choice.chain == ChainKind::fma_chain || choice.chain == ChainKind::fma_pairs);
    if (!whole) return choice.chain == ChainKind::even_odd_fma ? block.instruction_k : block.group_size;
    std::int64_t instructions = tiles_of(k, block.instruction_k);
    int group = block.instruction_k;
    for (; instructions % 2 == 0 && group < 32; instructions /= 2) group *= 2;
    return group;
}

/// What k is filled up to with zeros. More zeros would change nothing in a fused group, but make +0 of a -0 in others.
std::int64_t packed_step(const Plan& plan) {
    if (plan.order.emulated_instruction > 0) return plan.order.emulated_instruction;
    return plan.choice.family == Family::fused ? plan.order.group : plan.model.instruction_k;
}

Plan make_plan(const Kernels& kernels, const TensorCoreModel& model, const GemmProblem& problem, bool continues) {
    const bool emulated = model.summation == Summation::fp8_by_hmma;
    Plan plan{
        kernels,  choose_kernel(model), model, emulated ? emulating_hmma(model) : model, problem, {}, 0, {}, {}, 0,
        continues};
    plan.order.k = problem.k();
    plan.order.group = packed_group(plan.choice, plan.block, problem.k());
    if (plan.choice.family == Family::fused && problem.k() < plan.order.group && !emulated) {
        plan.order.group = static_cast<int>(tiles_of(problem.k(), 4) * 4);  // a fused sum is the same without zeros
    }
    if (emulated) {
        const std::int64_t groups = 2 * tiles_of(plan.block.instruction_k, plan.block.group_size);
        plan.order.emulated_instruction = model.instruction_k;
        plan.order.groups = tiles_of(problem.k(), model.instruction_k) * groups;
        plan.groups_per_segment = groups;
    } else {
        const std::int64_t step = packed_step(plan);
        plan.order.groups = tiles_of(problem.k(), step) * step / plan.order.group;
        plan.groups_per_segment = plan.order.groups;
    }
    plan.a_grid = plan.choice.grid_of(model.a_format);
    plan.b_grid = plan.choice.grid_of(model.b_format);
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

/// The tile's row i of C, on the accumulator's grid.
void load_row(const Plan& plan, const Tile& tile, std::int64_t i, float* row) {
    for (std::int64_t j = 0; j < tile.cols; ++j) row[j] = plan.problem.c(tile.row + i, tile.col + j);
    const FloatFormat& format = plan.model.accumulator;
    if (format == formats::fp32 || plan.continues) return;
    for (std::int64_t j = 0; j < tile.cols; ++j) row[j] = in_fp32_container(format, operand_code(format, row[j]));
}

void load_tile(const Plan& plan, const PackedRows& a, const PackedPanel& b, Tile& tile) {
    tile.c.assign(static_cast<std::size_t>(tile.rows * plan.width), 0.0F);
    tile.suspects.assign(static_cast<std::size_t>(tile.rows), b.special);
    for (std::int64_t i = 0; i < tile.rows; ++i) {
        auto& suspects = tile.suspects[static_cast<std::size_t>(i)];
        if ((a.special >> i & 1) != 0) suspects = ~std::uint64_t{0};
        if (!plan.problem.has_c()) continue;
        float* row = tile.c.data() + i * plan.width;
        load_row(plan, tile, i, row);
        if (plan.choice.family == Family::chain) continue;  // follows every number
        bool any = false;
        for (std::int64_t j = 0; j < tile.cols; ++j) any |= is_suspect_addend(row[j]);
        for (std::int64_t j = 0; any && j < tile.cols; ++j) {  // rare
            if (!is_suspect_addend(row[j])) continue;
            row[j] = 0.0F;
            suspects |= std::uint64_t{1} << j;
        }
    }
}

void run_groups(const Plan& plan, const PackedRows& a, const PackedPanel& b, Tile& tile, float* c,
                std::int64_t first_group, std::int64_t groups) {
    const bool words = plan.a_grid.codes == ExponentCodes::words;
    const int vectors = vectors_computed(tile.cols, plan.kernels.lanes);
    const std::int64_t a_at = first_group * tile.rows * plan.order.group;
    const std::int64_t b_k = first_group * plan.order.group;
    const PanelTask task{
        .a = a.values + a_at,
        .a_exponents = a.exponents + a_at,
        .b = b.values + b_k * plan.width,
        .b_exponents = b.exponents + b_k * plan.kernels.lanes * (words ? 2 : 1),
        .c = c,
        .suspects = tile.suspects.data(),
        .groups = groups,
        .rows = tile.rows,
        .group = plan.order.group,
        .fraction_bits = plan.block.fraction_bits,
        .kept_bits = plan.block.output_fraction_bits == 13 ? 0xFFFFFC00U : 0xFFFFFFFFU,
        .floor_field = std::max(lowest_field, plan.block.policies.exponent_floor + 127),
        .flush = plan.model.flush_subnormals,
        .positive_c_groups = plan.model.positive_input_zeros ? plan.model.instruction_k / plan.model.group_size : 0,
        .a_scales = nullptr,
        .b_scales = nullptr};
    plan.choice.kernel(plan.kernels, words, vectors)(task);
}

/// Marks results from `first`, an fp32 word without its sign, on: infinities and NaNs stay what they are in a chain, so
/// the end shows them.
void mark_from(const Plan& plan, std::uint32_t first, Tile& tile) {
    for (std::int64_t i = 0; i < tile.rows; ++i) {
        const float* row = tile.c.data() + i * plan.width;
        for (std::int64_t j = 0; j < tile.cols; ++j) {
            const bool found = (std::bit_cast<std::uint32_t>(row[j]) & 0x7FFFFFFFU) >= first;
            tile.suspects[static_cast<std::size_t>(i)] |= std::uint64_t{found} << j;
        }
    }
}

void run_segments(const Plan& plan, const PackedRows& a, const PackedPanel& b, Tile& tile) {
    if (plan.model.summation != Summation::fp8_by_hmma) {
        run_groups(plan, a, b, tile, tile.c.data(), 0, plan.order.groups);
        // Which NaN a chain gives is the plain path's to say.
        if (plan.choice.family == Family::chain) mark_from(plan, 0x7F800001, tile);
        return;
    }
    AlignedVector<float> sums(tile.c.size());
    for (std::int64_t g = 0; g < plan.order.groups; g += plan.groups_per_segment) {
        std::fill(sums.begin(), sums.end(), 0.0F);
        run_groups(plan, a, b, tile, sums.data(), g, plan.groups_per_segment);
        plan.kernels.add_segment[static_cast<int>(plan.choice.result)](tile.c.data(), sums.data(),
                                                                       static_cast<std::int64_t>(sums.size()));
    }
    mark_from(plan, 0x7F800000, tile);
}

/// A row of A or a column of B as chain_dot takes it: decoded, or as codes where a unit needs those.
template <class Operand>
struct Operands {
    std::vector<Operand> along_k;
    bool make_nan = false;  // a fused unit makes one NaN of all and keeps it: the result is known, along_k not needed
};

/// k numbers, a stride apart.
template <class Operand>
Operands<Operand> operands_along_k(const Plan& plan, const FloatFormat& format, const float* first,
                                   std::int64_t stride) {
    const std::int64_t k = plan.problem.k();
    Operands<Operand> operands;
    const bool fused = std::is_same_v<Operand, DecodedOperand> && plan.choice.family == Family::fused;
    if (fused && format.has_nan()) {  // a net that has become NaN would otherwise train many times as slowly
        for (std::int64_t i = 0; i < k; ++i) operands.make_nan |= std::isnan(first[i * stride]);
        if (operands.make_nan) return operands;
    }
    operands.along_k.resize(static_cast<std::size_t>(k));
    for (std::int64_t i = 0; i < k; ++i) {
        const std::uint32_t code = operand_code(format, first[i * stride]);
        Operand& operand = operands.along_k[static_cast<std::size_t>(i)];
        if constexpr (std::is_same_v<Operand, DecodedOperand>) {
            operand = decoded(format, code);
            operands.make_nan |= fused && operand.kind == Kind::nan;
        } else {
            operand = code;
        }
    }
    return operands;
}

/// Computes the marked elements of a tile by the definition, or by what a NaN among the operands does.
template <class Operand>
void settle_suspects(const Plan& plan, Tile& tile) {
    const GemmProblem& p = plan.problem;
    const TensorCoreModel& model = plan.model;
    const FloatFormat& accumulator = model.accumulator;
    const float nan = in_fp32_container(accumulator, static_cast<std::uint32_t>(tensor_core_nan(accumulator)));
    const std::uint64_t used = tile.cols == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << tile.cols) - 1;
    std::vector<std::optional<Operands<Operand>>> columns(static_cast<std::size_t>(tile.cols));
    for (std::int64_t i = 0; i < tile.rows; ++i) {
        std::uint64_t suspects = tile.suspects[static_cast<std::size_t>(i)] & used;
        if (suspects == 0) continue;
        const auto row = operands_along_k<Operand>(plan, model.a_format, &p.a(tile.row + i, 0), p.a.col_stride);
        for (; suspects != 0; suspects &= suspects - 1) {
            const int j = std::countr_zero(suspects);
            float& d = tile.c[static_cast<std::size_t>(i * plan.width + j)];
            auto& column = columns[static_cast<std::size_t>(j)];
            if (!column && !row.make_nan)
                column = operands_along_k<Operand>(plan, model.b_format, &p.b(0, tile.col + j), p.b.row_stride);
            if (row.make_nan || column->make_nan) {
                d = nan;
                continue;
            }
            const float addend = !p.has_c() ? 0.0F : p.c(tile.row + i, tile.col + j);
            const std::uint32_t c = operand_code(accumulator, addend);
            d = in_fp32_container(accumulator, chain_dot(model, row.along_k.data(), column->along_k.data(), c, p.k()));
        }
    }
}

void store_tile(const Plan& plan, const Tile& tile) {
    support::copy_matrix(MatrixView(tile.c.data(), tile.rows, tile.cols, plan.width, 1),
                         plan.problem.d.part(tile.row, tile.col, tile.rows, tile.cols));
}

/// The packed operands of one piece. Their memory stays from product to product: fresh pages would cost a tenth of one.
struct PackedMemory {
    std::vector<PackedRows> rows;     // [tile]
    std::vector<PackedPanel> panels;  // [tile]

    /// Makes room for the rows of this piece, and so many of its panels; for all pieces that are no larger.
    void fit(const Plan& plan, std::int64_t panel_count) {
        const std::int64_t row_count =
            packed_row_count(plan.kernels, plan.order, std::min(rows_per_tile, plan.problem.m()));
        const PanelCounts panel = packed_panel_counts(plan.kernels, plan.b_grid, plan.order);
        rows.resize(static_cast<std::size_t>(tiles_of(plan.problem.m(), rows_per_tile)));
        panels.resize(static_cast<std::size_t>(panel_count));
        const auto row_tiles = static_cast<std::int64_t>(rows.size());
        const auto col_tiles = static_cast<std::int64_t>(panels.size());
        const std::size_t values = lines_of<float>(row_tiles * row_count + col_tiles * panel.values);
        const std::size_t exponents = lines_of<std::uint32_t>(row_tiles * row_count + col_tiles * panel.exponents);
        std::byte* const room = room_for(values + exponents);
        auto* value = reinterpret_cast<float*>(room);
        auto* exponent = reinterpret_cast<std::uint32_t*>(room + values);
        for (PackedPanel& tile : panels) {
            tile = {value, exponent};
            value += panel.values, exponent += panel.exponents;
        }
        for (PackedRows& tile : rows) {
            tile = {value, exponent};
            value += row_count, exponent += row_count;
        }
    }

  private:
    /// The bytes of so many numbers in whole cache lines.
    template <class T>
    static std::size_t lines_of(std::int64_t count) {
        return (static_cast<std::size_t>(count) * sizeof(T) + cache_line - 1) / cache_line * cache_line;
    }

    std::byte* room_for(std::size_t bytes) {
        if (memory_.size() < bytes) {
            memory_ = AlignedVector<std::byte>();  // before the new one, not beside it
            memory_.resize(bytes);
        }
        return memory_.data();
    }

    AlignedVector<std::byte> memory_;  // values, then exponents
};

void pack_row_tile(const Plan& plan, std::int64_t t, PackedMemory& packed) {
    const GemmProblem& p = plan.problem;
    const std::int64_t first = t * rows_per_tile;
    pack_rows(plan.kernels, plan.model.a_format, plan.a_grid, plan.order,
              p.a.part(first, 0, std::min(rows_per_tile, p.m() - first), p.k()),
              packed.rows[static_cast<std::size_t>(t)]);
}
void pack_col_tile(const Plan& plan, std::int64_t t, PackedPanel& panel) {
    const GemmProblem& p = plan.problem;
    const std::int64_t first = t * plan.width;
    pack_panel(plan.kernels, plan.model.b_format, plan.b_grid, plan.order,
               p.b.part(0, first, p.k(), std::min(plan.width, p.n() - first)), panel);
}

/// Rows i of the tiles' and columns j of the panels', with what is packed of them.
void run_tile(const Plan& plan, const PackedRows& a, std::int64_t i, const PackedPanel& b, std::int64_t j, Tile& tile) {
    tile.row = i * rows_per_tile;
    tile.rows = std::min(rows_per_tile, plan.problem.m() - tile.row);
    tile.col = j * plan.width;
    tile.cols = std::min(plan.width, plan.problem.n() - tile.col);
    load_tile(plan, a, b, tile);
    run_segments(plan, a, b, tile);
    if (takes_decoded(plan.model)) {
        settle_suspects<DecodedOperand>(plan, tile);
    } else {
        settle_suspects<std::uint32_t>(plan, tile);
    }
    store_tile(plan, tile);
}

/// Rows, columns and products of a piece, or where it begins.
struct Extent {
    std::int64_t m = 0, n = 0, k = 0;
};

/// How much of the product is packed at a time: what fits, and long enough that tiles are worth their loading.
Extent piece_extent(const Plan& plan, int shares, std::int64_t bytes_a_share) {
    const std::int64_t row_bytes = sizeof(float) + sizeof(std::uint32_t);  // of an element of A
    const std::int64_t col_bytes = sizeof(float) + (plan.b_grid.codes == ExponentCodes::bytes ? 1 : 2);
    const auto fitting = [&](std::int64_t size, std::int64_t step, std::int64_t bytes_each, std::int64_t others) {
        const std::int64_t room = bytes_a_share * shares - others;
        return std::min(size, std::max<std::int64_t>(room / bytes_each / step, 1) * step);
    };
    const auto filled_up = [&](std::int64_t cols) { return tiles_of(cols, plan.width) * plan.width; };
    const std::int64_t k_step = packed_step(plan);
    const std::int64_t step_k =
        plan.order.emulated_instruction > 0 ? plan.groups_per_segment * plan.order.group : k_step;
    const auto packed_k = [&](std::int64_t k) { return tiles_of(k, k_step) * step_k; };
    const GemmProblem& p = plan.problem;
    Extent most{std::min<std::int64_t>(p.m(), 96 * shares), 0, std::min<std::int64_t>(p.k(), 512)};
    const std::int64_t depth = packed_k(most.k);
    most.n = fitting(p.n(), plan.width, col_bytes * depth, row_bytes * most.m * depth);
    most.m = fitting(p.m(), rows_per_tile, row_bytes * depth, col_bytes * filled_up(most.n) * depth);
    most.k = fitting(p.k(), plan.model.instruction_k,
                     (row_bytes * most.m + col_bytes * filled_up(most.n)) * step_k / k_step, 0);
    return most;
}

/// The part of a product that begins at `at`. Along k a piece ends where an instruction of the chain does, and its
/// result is the next one's C, as in the chain itself.
GemmProblem piece_of(const GemmProblem& p, const Extent& at, const Extent& most) {
    const std::int64_t m = std::min(most.m, p.m() - at.m);
    const std::int64_t n = std::min(most.n, p.n() - at.n);
    const std::int64_t k = std::min(most.k, p.k() - at.k);
    GemmProblem piece{p.a.part(at.m, at.k, m, k), p.b.part(at.k, at.n, k, n), {}, p.d.part(at.m, at.n, m, n)};
    if (at.k > 0) {
        piece.c = piece.d;
    } else if (p.has_c()) {
        piece.c = p.c.part(at.m, at.n, m, n);
    }
    return piece;
}

/// All pieces' beginnings; those that share packed columns follow each other.
template <class Function>
void each_piece(const GemmProblem& p, const Extent& most, const Function& f) {
    for (std::int64_t n = 0; n < p.n(); n += most.n) {
        for (std::int64_t k = 0; k < p.k(); k += most.k) {
            for (std::int64_t m = 0; m < p.m(); m += most.m) f(Extent{m, n, k});
        }
    }
}

/// A product of one tile's rows, packed once: each thread packs a panel and multiplies it at once, and waits for no
/// other. The short products of recurrent nets would spend a twentieth of their time waiting.
void multiply_one_row_tile(const Plan& plan, bool parallel, PackedMemory& packed) {
    const support::FloatEnvironment of_rows;
    packed.fit(plan, parallel ? omp_get_max_threads() : 1);
    pack_row_tile(plan, 0, packed);
    const std::int64_t col_tiles = tiles_of(plan.problem.n(), plan.width);
#pragma omp parallel if (parallel)
    {
        const support::FloatEnvironment of_thread;
        PackedPanel& panel = packed.panels[static_cast<std::size_t>(omp_get_thread_num())];
        Tile tile;
#pragma omp for schedule(dynamic) nowait
        for (std::int64_t t = 0; t < col_tiles; ++t) {
            pack_col_tile(plan, t, panel);
            run_tile(plan, packed.rows.front(), 0, panel, t, tile);
        }
    }
}

}  // namespace

void fast_gemm(const Kernels& kernels, const TensorCoreModel& model, const GemmProblem& given,
               std::int64_t packed_bytes) {
    const KernelChoice choice = choose_kernel(model);
    if (choice.family == Family::none || (model.flush_subnormals && !kernels.has_flush)) {
        throw std::invalid_argument("this model has no fast path; use gemm_plain");
    }
    if (given.m() == 0 || given.n() == 0 || given.k() == 0) return gemm_plain(model, given);  // nothing to pack
    GemmProblem problem = given;
    TensorCoreModel oriented = model;
    // Wide rows fill the vectors better. A dot product has no sides, but where the first NaN is the result's.
    const bool sides = model.nan == NanStyle::x86 || model.nan == NanStyle::dmma;
    if (given.n() < given.m() && given.n() < 48 && !sides) {
        problem = given.transposed();
        std::swap(oriented.a_format, oriented.b_format);
    }
    // Below this, waking the threads would cost more than they save; a tile is one thread's.
    const bool several = problem.m() > rows_per_tile || problem.n() > vectors_per_panel * kernels.lanes;
    const bool parallel = worth_threads(several && problem.m() * problem.n() * problem.k() > (std::int64_t{1} << 18));
    const int shares = std::max(parallel ? omp_get_max_threads() : 1, 2);
    const Extent most = piece_extent(make_plan(kernels, oriented, problem, false), shares, packed_bytes);
    static thread_local PackedMemory memory;
    PackedMemory& packed = memory;  // of this thread, for all of them
    if (problem.m() <= rows_per_tile && problem.k() <= most.k) {
        return multiply_one_row_tile(make_plan(kernels, oriented, problem, false), parallel, packed);
    }
    const Plan largest = make_plan(kernels, oriented, piece_of(problem, {}, most), false);
    packed.fit(largest, tiles_of(largest.problem.n(), largest.width));
    // What each thread does. `share` divides the numbers below a count among the threads, and lets none go on before
    // all are done.
    const auto run = [&](const auto& share) {
        const support::FloatEnvironment environment;  // of this thread
        Tile tile;
        each_piece(problem, most, [&](const Extent& at) {
            const Plan plan = make_plan(kernels, oriented, piece_of(problem, at, most), at.k > 0);
            const std::int64_t row_tiles = tiles_of(plan.problem.m(), rows_per_tile);
            const std::int64_t col_tiles = tiles_of(plan.problem.n(), plan.width);
            const std::int64_t new_cols = at.m == 0 ? col_tiles : 0;
            share(new_cols + row_tiles, [&](std::int64_t t) {
                if (t < new_cols) {
                    pack_col_tile(plan, t, packed.panels[static_cast<std::size_t>(t)]);
                } else {
                    pack_row_tile(plan, t - new_cols, packed);
                }
            });
            share(row_tiles * col_tiles, [&](std::int64_t t) {
                const std::int64_t i = t % row_tiles;
                const std::int64_t j = t / row_tiles;
                run_tile(plan, packed.rows[static_cast<std::size_t>(i)], i, packed.panels[static_cast<std::size_t>(j)],
                         j, tile);
            });
        });
    };
    if (!parallel) {
        run([](std::int64_t count, const auto& f) { for_each_index(count, false, f); });
        return;
    }
#pragma omp parallel
    run([](std::int64_t count, const auto& f) {
#pragma omp for schedule(dynamic)
        for (std::int64_t t = 0; t < count; ++t) f(t);
    });
}

}  // namespace ulp::gemm_kernels
