#include "softfloat/matrix_units/gemm_kernels/fast_gemm.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <type_traits>
#include <vector>

#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/gemm_kernels/kernel_choice.hpp"
#include "softfloat/matrix_units/gemm_kernels/pack.hpp"
#include "softfloat/matrix_units/gemm_kernels/tile.hpp"
#include "softfloat/support/float_environment.hpp"

namespace ulp::gemm_kernels {

namespace {

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

Plan make_plan(const Kernels& kernels, const KernelChoice& choice, const TensorCoreModel& model,
               const GemmProblem& problem, bool continues) {
    const bool emulated = model.summation == Summation::fp8_by_hmma;
    Plan plan{kernels, choice, model, emulated ? emulating_hmma(model) : model, problem, {}, 0, {}, {}, 0, continues};
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
    plan.width = panel_width(kernels);
    return plan;
}

/// C on the accumulator's grid, with the marks of what is packed as zeros and of what the kernel cannot start from.
void load_tile(const Plan& plan, const PackedRows& a, std::int64_t row, const PackedPanel& b, std::int64_t col,
               Tile& tile) {
    tile.load(plan.problem, plan.problem.c, row, rows_per_tile, col, plan.width);
    tile.mark(a.special, b.special);
    if (!plan.problem.has_c()) return;
    const FloatFormat& format = plan.model.accumulator;
    if (format != formats::fp32 && !plan.continues) {
        for (std::int64_t i = 0; i < tile.rows; ++i) {
            for (std::int64_t j = 0; j < tile.cols; ++j) {
                tile.at(i, j) = in_fp32_container(format, operand_code(format, tile.at(i, j)));
            }
        }
    }
    if (plan.choice.family != Family::chain) mark_addends(tile);  // a chain follows every number
}

void run_groups(const Plan& plan, const PackedRows& a, const PackedPanel& b, Tile& tile, float* c,
                std::int64_t first_group, std::int64_t groups) {
    const ExponentCodes codes = plan.a_grid.codes;
    PanelTask task = task_of(plan.kernels, codes, plan.order, a, b, tile, c, first_group, groups);
    task.fraction_bits = plan.block.fraction_bits;
    if (plan.block.output_fraction_bits == 13) task.kept_bits = 0xFFFFFC00U;
    task.floor_field = std::max(lowest_field, plan.block.policies.exponent_floor + 127);
    task.flush = plan.model.flush_subnormals;
    if (plan.model.positive_input_zeros) task.positive_c_groups = plan.model.instruction_k / plan.model.group_size;
    plan.choice.kernel(plan.kernels, vectors_computed(tile.cols, plan.kernels.lanes))(task);
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

/// What a unit makes of any NaN and keeps, where that is always the same one.
std::optional<float> the_nan(const Plan& plan) {
    const FloatFormat& format = plan.model.accumulator;
    if (plan.choice.family == Family::fused || plan.model.nan == NanStyle::all_ones)
        return in_fp32_container(format, static_cast<std::uint32_t>(tensor_core_nan(format)));
    if (plan.model.nan == NanStyle::quiet)
        return in_fp32_container(format, static_cast<std::uint32_t>(nan_bits(format)));
    return {};
}

/// A row of A or a column of B, k numbers a stride apart, as chain_dot takes it: decoded, or as codes where a unit
/// needs those.
template <class Operand>
struct Operands {
    const Plan* plan = nullptr;
    const FloatFormat* format = nullptr;
    const float* first = nullptr;
    std::int64_t stride = 0;
    bool shows_nan = false;  // a NaN among them is the result's
    bool make_nan = false;   // and there is one
    std::vector<Operand> along_k{};
    std::vector<std::size_t> infinite{};  // k of infinities
    double largest = 0, sum = 0;          // of the finite magnitudes

    /// Decoding costs as much as a tile's sums, so NaNs are looked for first: a net that has become NaN would otherwise
    /// train many times as slowly.
    void look_for_nan() {
        if (!shows_nan || !format->has_nan()) return;
        for (std::int64_t i = 0; i < plan->problem.k(); ++i) make_nan |= std::isnan(first[i * stride]);
    }
    void decode() {
        if (!along_k.empty()) return;
        along_k.resize(static_cast<std::size_t>(plan->problem.k()));
        for (std::int64_t i = 0; i < plan->problem.k(); ++i) {
            const std::uint32_t code = operand_code(*format, first[i * stride]);
            const DecodedOperand operand = decoded(*format, code);
            make_nan |= shows_nan && operand.kind == Kind::nan;
            if (operand.kind == Kind::infinity) infinite.push_back(static_cast<std::size_t>(i));
            if (operand.kind == Kind::finite) {
                const double magnitude = std::ldexp(static_cast<double>(operand.significand), operand.exponent);
                largest = std::max(largest, magnitude);
                sum += magnitude;
            }
            if constexpr (std::is_same_v<Operand, DecodedOperand>) {
                along_k[static_cast<std::size_t>(i)] = operand;
            } else {
                along_k[static_cast<std::size_t>(i)] = code;
            }
        }
    }
};

/// What infinities make of a sum whose finite terms cannot overflow; nothing where they might.
template <class Operand>
BlockSpecials specials_of(const TensorCoreModel& model, const Operands<Operand>& row, const Operands<Operand>& column,
                          float addend) {
    BlockSpecials specials;
    const double terms = row.sum * column.largest + (std::isinf(addend) ? 0 : std::fabs(addend));
    if (!(terms < std::ldexp(1.0, model.accumulator.emax() - 1))) return specials;
    if (std::isinf(addend)) specials.add_infinity(std::signbit(addend));
    for (const auto* line : {&row, &column}) {
        for (const std::size_t k : line->infinite) {
            product_term(model, decoded(model.a_format, row.along_k[k]), decoded(model.b_format, column.along_k[k]),
                         specials);
            if (specials.nan || (specials.positive_infinity && specials.negative_infinity)) return specials;
        }
    }
    return specials;
}

/// Computes the marked elements of a tile by the definition, or by what NaNs and infinities do.
/// `special_rows` and `special_cols`: a bit for each that may hold infinities or NaNs.
template <class Operand>
void settle_suspects(const Plan& plan, std::uint64_t special_rows, std::uint64_t special_cols, Tile& tile) {
    const GemmProblem& p = plan.problem;
    const TensorCoreModel& model = plan.model;
    const FloatFormat& accumulator = model.accumulator;
    const std::optional<float> nan = the_nan(plan);
    const bool keeps_specials = plan.choice.family == Family::fused && model.summation != Summation::fp8_by_hmma;
    const bool infinities_decide = nan && !model.flush_subnormals && model.summation != Summation::fp8_by_hmma;
    std::int64_t row_taken = -1;
    Operands<Operand> row;
    std::vector<std::optional<Operands<Operand>>> columns(static_cast<std::size_t>(tile.cols));
    tile.each_suspect([&](std::int64_t i, std::int64_t j) {
        const float addend = !p.has_c() ? 0.0F : p.c(tile.row + i, tile.col + j);
        const bool finite_operands = (special_rows >> i & 1) == 0 && (special_cols >> j & 1) == 0;
        if (nan && std::isnan(addend)) {
            tile.at(i, j) = *nan;
            return;
        }
        if (keeps_specials && std::isinf(addend) && finite_operands) {
            tile.at(i, j) = addend;
            return;
        }
        if (i != row_taken) {
            row = {&plan, &model.a_format, &p.a(tile.row + i, 0), p.a.col_stride, nan.has_value()};
            row.look_for_nan();
            row_taken = i;
        }
        auto& column = columns[static_cast<std::size_t>(j)];
        if (!column) {
            column = Operands<Operand>{&plan, &model.b_format, &p.b(0, tile.col + j), p.b.row_stride, nan.has_value()};
            column->look_for_nan();
        }
        if (!row.make_nan && !column->make_nan) {
            row.decode();
            column->decode();
        }
        if (row.make_nan || column->make_nan) {
            tile.at(i, j) = *nan;
            return;
        }
        if (infinities_decide) {
            const BlockSpecials specials = specials_of(model, row, *column, addend);
            const bool opposing = specials.positive_infinity && specials.negative_infinity;
            if (specials.any() && (plan.choice.family == Family::fused || specials.nan || !opposing)) {
                const auto result = static_cast<std::uint32_t>(specials.result(accumulator));
                tile.at(i, j) = specials.nan ? *nan : in_fp32_container(accumulator, result);
                return;
            }
        }
        const std::uint32_t c = operand_code(accumulator, addend);
        const std::uint32_t d = chain_dot(model, row.along_k.data(), column->along_k.data(), c, p.k());
        tile.at(i, j) = in_fp32_container(accumulator, d);
    });
}

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
    load_tile(plan, a, i * rows_per_tile, b, j * plan.width, tile);
    support::prepare_to_write(plan.problem.d.part(tile.row, tile.col, tile.rows, tile.cols));
    run_segments(plan, a, b, tile);
    if (!tile.has_suspects()) return store_tile(plan.problem, tile);
    if (takes_decoded(plan.model)) {
        settle_suspects<DecodedOperand>(plan, a.special, b.special, tile);
    } else {
        settle_suspects<std::uint32_t>(plan, a.special, b.special, tile);
    }
    store_tile(plan.problem, tile);
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
    most.n = filled_up(tiles_of(p.n(), tiles_of(p.n(), most.n)));  // no narrow last piece, whose rows are packed for it
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
    packed.fit(plan.kernels, plan.b_grid, plan.order, plan.problem.m(), parallel ? omp_get_max_threads() : 1);
    pack_row_tile(plan, 0, packed);
    const std::int64_t col_tiles = tiles_of(plan.problem.n(), plan.width);
    const auto run_panel = [&](std::int64_t t, PackedPanel& panel) {
        static thread_local Tile tile;  // whose memory stays, as that of `packed`
        pack_col_tile(plan, t, panel);
        run_tile(plan, packed.rows.front(), 0, panel, t, tile);
    };
    if (!parallel) {  // a parallel region of one thread asks the kernel to wake others
        for (std::int64_t t = 0; t < col_tiles; ++t) run_panel(t, packed.panels.front());
        return;
    }
#pragma omp parallel
    {
        const support::FloatEnvironment of_thread;
        PackedPanel& panel = packed.panels[static_cast<std::size_t>(omp_get_thread_num())];
#pragma omp for schedule(dynamic) nowait
        for (std::int64_t t = 0; t < col_tiles; ++t) run_panel(t, panel);
    }
}

}  // namespace

bool fast_gemm(const Kernels& kernels, const TensorCoreModel& model, const GemmProblem& given,
               std::int64_t packed_bytes) {
    const KernelChoice choice = choose_kernel(model);
    if (choice.family == Family::none || (model.flush_subnormals && !kernels.has_flush)) return false;
    if (given.m() == 0 || given.n() == 0 || given.k() == 0) {  // nothing to pack
        gemm_plain(model, given);
        return true;
    }
    GemmProblem problem = given;
    TensorCoreModel oriented = with_fields(model);
    if (better_turned(model, given)) {
        problem = given.transposed();
        std::swap(oriented.a_format, oriented.b_format);
    }
    const bool several = problem.m() > rows_per_tile || problem.n() > panel_width(kernels);  // a tile is one thread's
    const bool parallel = several && worth_threads_for(problem);
    const int shares = std::max(parallel ? omp_get_max_threads() : 1, 2);
    const Extent most = piece_extent(make_plan(kernels, choice, oriented, problem, false), shares, packed_bytes);
    static thread_local PackedMemory memory;
    PackedMemory& packed = memory;  // of this thread, for all of them
    if (problem.m() <= rows_per_tile && problem.k() <= most.k) {
        multiply_one_row_tile(make_plan(kernels, choice, oriented, problem, false), parallel, packed);
        return true;
    }
    const Plan largest = make_plan(kernels, choice, oriented, piece_of(problem, {}, most), false);
    packed.fit(kernels, largest.b_grid, largest.order, largest.problem.m(),
               tiles_of(largest.problem.n(), largest.width));
    // What each thread does. `share` divides the numbers below a count among the threads, and lets none go on before
    // all are done.
    const auto run = [&](const auto& share) {
        const support::FloatEnvironment environment;  // of this thread
        Tile tile;
        each_piece(problem, most, [&](const Extent& at) {
            const Plan plan = make_plan(kernels, choice, oriented, piece_of(problem, at, most), at.k > 0);
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
        return true;
    }
#pragma omp parallel
    run([](std::int64_t count, const auto& f) {
#pragma omp for schedule(dynamic)
        for (std::int64_t t = 0; t < count; ++t) f(t);
    });
    return true;
}

}  // namespace ulp::gemm_kernels
