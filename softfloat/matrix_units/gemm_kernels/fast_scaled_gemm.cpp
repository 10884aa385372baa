// Products of elements that share scales: fused groups, and sums of FP4 products.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "softfloat/matrix_units/gemm_kernels/block_scales.hpp"
#include "softfloat/matrix_units/gemm_kernels/fast_gemm.hpp"
#include "softfloat/matrix_units/gemm_kernels/fp4_operands.hpp"
#include "softfloat/matrix_units/gemm_kernels/kernel_choice.hpp"
#include "softfloat/matrix_units/gemm_kernels/tile.hpp"

namespace ulp::gemm_kernels {

namespace {

/// One product on its way.
struct Run {
    const Kernels& kernels;
    const BlockScaledModel& model;
    const BlockScaledProblem& problem;
    std::int64_t padded;  // k in whole instructions
    std::int64_t width;   // columns of a panel
    Scales a_scales, b_scales;
};

/// Zeros or C, with the marks of rows and columns that have a scale that is NaN.
void load_scaled_tile(const Run& run, std::int64_t row, std::int64_t col, Tile& tile) {
    tile.load(run.problem.product, run.problem.product.c, row, rows_per_tile, col, run.width);
    tile.mark(lines_with_nan(run.a_scales, row, tile.rows), lines_with_nan(run.b_scales, col, tile.cols));
    if (run.problem.product.has_c()) mark_addends(tile);
}

/// A bit for each of up to 64 lines along k: whether it holds a NaN, and whether anything that is not finite.
struct SpecialLines {
    std::uint64_t nan = 0, any = 0;
};
SpecialLines special_lines(const FloatFormat& format, const MatrixView& lines) {
    const float largest = in_fp32_container(format, static_cast<std::uint32_t>(format.max_finite_magnitude()));
    SpecialLines special;
    for (std::int64_t i = 0; i < lines.rows; ++i) {
        bool nan = false, any = false;
        for (std::int64_t k = 0; k < lines.cols; ++k) {
            nan |= std::isnan(lines(i, k));
            any |= !(std::fabs(lines(i, k)) <= largest);
        }
        special.nan |= std::uint64_t{nan && format.has_nan()} << i;
        special.any |= std::uint64_t{any} << i;
    }
    return special;
}

/// The marked elements by the definition, or by what a NaN or an infinite addend does; and all of them to their place.
void settle_scaled_tile(const Run& run, Tile& tile) {
    const GemmProblem& p = run.problem.product;
    const TensorCoreModel& model = run.model.unscaled;
    const float nan =
        in_fp32_container(model.accumulator, static_cast<std::uint32_t>(tensor_core_nan(model.accumulator)));
    std::optional<SpecialLines> rows, cols;  // looked for where an element is marked
    tile.each_suspect([&](std::int64_t i, std::int64_t j) {
        if (!rows) {
            rows = special_lines(model.a_format, p.a.part(tile.row, 0, tile.rows, p.k()));
            cols = special_lines(model.b_format, p.b.part(0, tile.col, p.k(), tile.cols).transposed());
            rows->nan |= lines_with_nan(run.a_scales, tile.row, tile.rows);
            cols->nan |= lines_with_nan(run.b_scales, tile.col, tile.cols);
        }
        const float addend = p.has_c() ? p.c(tile.row + i, tile.col + j) : 0.0F;
        if (std::isnan(addend) || ((rows->nan >> i | cols->nan >> j) & 1) != 0) {
            tile.at(i, j) = nan;
        } else if (std::isinf(addend) && ((rows->any >> i | cols->any >> j) & 1) == 0) {
            tile.at(i, j) = addend;
        } else {
            tile.at(i, j) = block_scaled_element(run.model, run.problem, tile.row + i, tile.col + j);
        }
    });
    store_tile(p, tile);
}

// Fused groups whose products share two scales, which only move their exponents.

/// Some consecutive k of the product, from a multiple of all block sizes on.
struct Stretch {
    std::int64_t first;
    KOrder order;
};

/// Long products are packed in stretches of k: what is packed stays in the caches, however long k is.
constexpr std::int64_t longest_stretch = 256;

/// The last stretch is what is left of a group, without most of the zeros that fill it: a fused sum is the same.
std::vector<Stretch> stretches_of(const Run& run) {
    const int group = run.model.unscaled.group_size;
    const std::int64_t k = run.problem.product.k();
    const std::int64_t whole = k / group * group;
    const std::int64_t step = std::max<std::int64_t>(run.model.unscaled.instruction_k, run.model.scale_block);
    const std::int64_t length = tiles_of(longest_stretch, step) * step;
    std::vector<Stretch> stretches;
    for (std::int64_t first = 0; first < whole; first += length) {
        const std::int64_t count = std::min(length, whole - first);
        stretches.push_back({first, {.k = count, .groups = count / group, .group = group}});
    }
    constexpr std::int64_t turn = 4;  // products that a kernel adds in one turn
    const std::int64_t left = k - whole;
    if (left != 0) {
        const auto filled = static_cast<int>(tiles_of(left, turn) * turn);
        stretches.push_back({whole, {.k = left, .groups = 1, .group = filled}});
    }
    return stretches;
}

/// A stretch of some rows.
struct PackedStretch {
    PackedMemory operands;
    std::vector<std::vector<std::int32_t>> scales;  // [tile][group][row]
};

void pack_tile(const Run& run, const Stretch& stretch, std::int64_t row, std::size_t t, PackedStretch& packed) {
    const GemmProblem& p = run.problem.product;
    const KOrder& order = stretch.order;
    const std::int64_t rows = std::min(rows_per_tile, p.m() - row);
    const FloatFormat& format = run.model.unscaled.a_format;
    pack_rows(run.kernels, format, grid_of(format), order, p.a.part(row, stretch.first, rows, order.k),
              packed.operands.rows[t]);
    packed.scales[t].clear();
    for (std::int64_t g = 0; g < order.groups; ++g) {
        const std::int64_t scale = (stretch.first + g * order.group) / run.model.scale_block;
        for (std::int64_t i = 0; i < rows; ++i) packed.scales[t].push_back(run.a_scales.exponent(row + i, scale));
    }
}

/// Adds a stretch of k to the tiles of a panel, packed in b.
void run_fused_panel(const Run& run, const Stretch& stretch, const PackedStretch& packed, PackedPanel& b,
                     std::vector<Tile>& tiles) {
    const auto [col, cols] = std::pair(tiles.front().col, tiles.front().cols);
    const FloatFormat& format = run.model.unscaled.b_format;
    const KOrder& order = stretch.order;
    pack_panel(run.kernels, format, grid_of(format), order,
               run.problem.product.b.part(stretch.first, col, order.k, cols), b);
    for (std::size_t t = 0; t < tiles.size(); ++t) tiles[t].mark(packed.operands.rows[t].special, b.special);
    const PanelKernel kernel = run.kernels.scaled[vectors_computed(cols, run.kernels.lanes) - 1];
    AlignedVector<std::int32_t> scales(static_cast<std::size_t>(run.width));
    for (std::int64_t g = 0; g < order.groups; ++g) {
        const std::int64_t scale = (stretch.first + g * order.group) / run.model.scale_block;
        for (std::int64_t j = 0; j < cols; ++j) {
            scales[static_cast<std::size_t>(j)] = run.b_scales.exponent(col + j, scale);
        }
        for (std::size_t t = 0; t < tiles.size(); ++t) {
            Tile& tile = tiles[t];
            PanelTask task = task_of(run.kernels, ExponentCodes::bytes, order, packed.operands.rows[t], b, tile,
                                     tile.c.data(), g, 1);
            task.fraction_bits = run.model.unscaled.fraction_bits;
            task.a_scales = packed.scales[t].data() + g * tile.rows;
            task.b_scales = scales.data();
            kernel(task);
        }
    }
}

/// The columns are packed again for each part of that many rows and the rows for each of that many panels, which is
/// cheap beside multiplying them; what lies between keeps little memory.
constexpr std::int64_t rows_of_part = 256;
constexpr std::int64_t panels_of_part = 4;
static_assert(rows_of_part % rows_per_tile == 0);

/// Some rows of the product, from a tile's first on, and some of its panels.
struct Part {
    std::int64_t first_row, last_row;
    std::int64_t first_panel, last_panel;
};

/// The tiles of a panel, one for each tile of the part's rows.
std::vector<Tile> tiles_of_panel(const Run& run, const Part& part, std::int64_t panel) {
    std::vector<Tile> tiles;
    for (std::int64_t row = part.first_row; row < part.last_row; row += rows_per_tile) {
        load_scaled_tile(run, row, (part.first_panel + panel) * run.width, tiles.emplace_back());
    }
    return tiles;
}

/// `parallel`: the panels on all threads. The stretches of which all rows fit the packed memory are gone through
/// panel by panel: a short product wakes the threads once.
void run_fused_part(const Run& run, const Part& part, bool parallel) {
    const Grid grid = grid_of(run.model.unscaled.b_format);
    const std::int64_t rows = part.last_row - part.first_row;
    const std::int64_t row_tiles = tiles_of(rows, rows_per_tile);
    const std::vector<Stretch> stretches = stretches_of(run);
    const auto count = static_cast<std::int64_t>(stretches.size());
    const std::int64_t at_once = std::min(count, rows_of_part / rows);
    static thread_local std::vector<PackedStretch> memory;
    std::vector<PackedStretch>& packed = memory;  // of this thread, for all of them
    packed.resize(std::max(packed.size(), static_cast<std::size_t>(at_once)));
    std::vector<std::vector<Tile>> panels(static_cast<std::size_t>(part.last_panel - part.first_panel));
    for (std::int64_t first = 0; first < count; first += at_once) {
        const std::int64_t last = std::min(first + at_once, count);
        const auto stretch = [&](std::int64_t i) -> const Stretch& { return stretches[static_cast<std::size_t>(i)]; };
        const auto packed_at = [&](std::int64_t i) -> PackedStretch& {
            return packed[static_cast<std::size_t>(i - first)];
        };
        for (std::int64_t i = first; i < last; ++i) {
            const int panels_packed = i > first ? 0 : parallel ? omp_get_max_threads() : 1;
            packed_at(i).operands.fit(run.kernels, grid, stretch(i).order, rows, panels_packed);
            packed_at(i).scales.resize(static_cast<std::size_t>(row_tiles));
        }
        for_each_index(row_tiles * (last - first), parallel && row_tiles > 2, [&](std::int64_t t) {
            const std::int64_t i = first + t / row_tiles;
            const std::int64_t tile = t % row_tiles;
            pack_tile(run, stretch(i), part.first_row + tile * rows_per_tile, static_cast<std::size_t>(tile),
                      packed_at(i));
        });
        for_each_index(static_cast<std::int64_t>(panels.size()), parallel, [&](std::int64_t panel) {
            std::vector<Tile>& tiles = panels[static_cast<std::size_t>(panel)];
            if (first == 0) tiles = tiles_of_panel(run, part, panel);
            const auto thread = static_cast<std::size_t>(parallel ? omp_get_thread_num() : 0);
            PackedPanel& b = packed.front().operands.panels[thread];  // no stretch is longer than the first
            for (std::int64_t i = first; i < last; ++i) run_fused_panel(run, stretch(i), packed_at(i), b, tiles);
            if (last < count) return;
            for (Tile& tile : tiles) settle_scaled_tile(run, tile);
            tiles.clear();
        });
    }
}

void run_fused(const Run& run) {
    const GemmProblem& p = run.problem.product;
    const std::int64_t panels = tiles_of(p.n(), run.width);
    const std::int64_t row_parts = tiles_of(p.m(), rows_of_part);
    const std::int64_t parts = row_parts * tiles_of(panels, panels_of_part);
    const bool parallel = worth_threads_for(p);
    const bool by_parts = parts >= std::min(panels, panels_of_part);
    for_each_index(parts, parallel && by_parts, [&](std::int64_t i) {
        const std::int64_t row = i % row_parts * rows_of_part;
        const std::int64_t panel = i / row_parts * panels_of_part;
        const Part part{row, std::min(row + rows_of_part, p.m()), panel, std::min(panel + panels_of_part, panels)};
        run_fused_part(run, part, parallel && !by_parts);
    });
}

// FP4: operands as integers, in units of the smallest number.

/// The operands of A and what is known of both sides' scales.
struct Fp4Run {
    Fp4Folding folding;
    Fp4Lines a_lines, b_lines;
    AlignedVector<std::uint32_t> a;
};

void run_fp4_panel(const Run& run, const Fp4Run& fp4, std::int64_t col) {
    const GemmProblem& p = run.problem.product;
    const std::int64_t cols = std::min(run.width, p.n() - col);
    const auto instructions = static_cast<std::int64_t>(fp4.folding.folded.size());
    const auto turned = [&](const auto& numbers, std::int64_t count) {
        return turned_lines(numbers, count, col, cols, run.width);
    };
    static thread_local AlignedVector<std::uint32_t> panel;
    static thread_local AlignedVector<std::int32_t> sums;
    fp4_panel(*run.kernels.integers, run.model.unscaled.b_format, fp4.folding,
              turned(fp4.b_lines.factors, run.b_scales.count), p.b.part(0, col, p.k(), cols), run.width, panel, sums);
    const auto values = turned(run.b_scales.values, run.b_scales.count);
    const auto exponents = turned(run.b_scales.exponents, run.b_scales.count);
    const auto units = turned(fp4.b_lines.units, instructions);
    const auto least = turned(fp4.b_lines.least, instructions);
    const bool by_terms = fp4.folding.operands == Fp4Operands::bytes_by_terms;
    const auto multipliers =
        by_terms ? turned(fp4.b_lines.multipliers, run.b_scales.count) : AlignedVector<std::int32_t>();
    const std::int64_t a_stride = run.padded / fp4.folding.k_of_word();
    Tile tile;
    for (std::int64_t row = 0; row < p.m(); row += rows_per_tile) {
        load_scaled_tile(run, row, col, tile);
        const auto scale = static_cast<std::size_t>(row * run.a_scales.count);
        run.kernels.integers->fp4[fp4.folding.kernel()].multiply(
            {.a = fp4.a.data() + row * a_stride,
             .b = panel.data(),
             .a_scales = run.a_scales.values.data() + scale,
             .a_exponents = run.a_scales.exponents.data() + scale,
             .b_scales = values.data(),
             .b_exponents = exponents.data(),
             .folded = fp4.folding.folded.data(),
             .a_units = fp4.a_lines.units.data() + row * instructions,
             .b_units = units.data(),
             .a_least = fp4.a_lines.least.data() + row * instructions,
             .b_least = least.data(),
             .addend_range = fp4_addend_range(run.model, fp4.folding),
             .b_sums = sums.data(),
             .a_multipliers = fp4.a_lines.multipliers.data() + (by_terms ? scale : 0),
             .b_multipliers = multipliers.data(),
             .c = tile.c.data(),
             .suspects = tile.suspects.data(),
             .a_stride = a_stride,
             .scale_stride = run.a_scales.count,
             .instructions = instructions,
             .rows = tile.rows,
             .fraction_bits = run.model.unscaled.fraction_bits,
             .point = fp4_point(run.model)});
        settle_scaled_tile(run, tile);
    }
}

void run_fp4(const Run& run) {
    const GemmProblem& p = run.problem.product;
    const TensorCoreModel& unscaled = run.model.unscaled;
    const bool parallel = worth_threads_for(p);
    const IntegerKernels& kernels = *run.kernels.integers;
    Fp4Run fp4{fp4_folding(kernels, run.model, run.a_scales, run.b_scales), {}, {}, {}};
    fp4.a_lines = fp4_lines(run.model, unscaled.a_format, fp4.folding, run.a_scales);
    fp4.b_lines = fp4_lines(run.model, unscaled.b_format, fp4.folding, run.b_scales);
    for (float& unit : fp4.a_lines.units) unit = std::ldexp(unit, -fp4_point(run.model));
    for (std::int32_t& least : fp4.a_lines.least) least += fp4_least_addend(run.model);
    fp4.a = fp4_rows(kernels, unscaled.a_format, fp4.folding, fp4.a_lines, p.a, parallel);
    for_each_index(tiles_of(p.n(), run.width), parallel,
                   [&](std::int64_t t) { run_fp4_panel(run, fp4, t * run.width); });
}

BlockScaledModel with_sides_swapped(BlockScaledModel model) {
    std::swap(model.unscaled.a_format, model.unscaled.b_format);
    return model;
}
BlockScaledProblem transposed(const BlockScaledProblem& problem) {
    return {problem.product.transposed(), problem.b_scales.transposed(), problem.a_scales.transposed()};
}

}  // namespace

ScaledKernel choose_scaled_kernel(const BlockScaledModel& model) {
    const TensorCoreModel& unscaled = model.unscaled;
    const bool rounding = unscaled.accumulator == formats::fp32 && unscaled.rounding == Rounding::toward_zero &&
                          unscaled.output_fraction_bits == 23 && !is_varied(unscaled);
    const bool policies = unscaled.policies.subnormal_addend == SubnormalAddend::at_emin &&
                          unscaled.policies.exponent_floor + 127 <= lowest_field;
    if (!rounding || !policies || unscaled.flush_subnormals) return ScaledKernel::none;
    if (model.exact_products == 1) {
        const bool fused = choose_kernel(unscaled).family == Family::fused &&
                           unscaled.instruction_k == unscaled.group_size &&
                           grid_of(unscaled.a_format).codes == ExponentCodes::bytes;
        return fused && model.scale_format == formats::e8m0 && model.scale_block % unscaled.group_size == 0
                   ? ScaledKernel::fused
                   : ScaledKernel::none;
    }
    // Operands fit 10 bits, and a term at most 51 (kernels_fp4.hpp).
    const auto narrow = [](const FloatFormat& format) {
        return format.specials == Specials::none && format.emax() + 1 - format.smallest_exponent() <= 9;
    };
    const bool whole =
        model.exact_products == 16 && unscaled.instruction_k == 16 * fp4_terms && model.scale_block % 16 == 0;
    const bool exact = unscaled.fraction_bits <= 35 && model.scale_format.fraction_bits <= 3;
    return narrow(unscaled.a_format) && narrow(unscaled.b_format) && whole && exact ? ScaledKernel::fp4
                                                                                    : ScaledKernel::none;
}

bool fast_scaled_gemm(const Kernels& kernels, const BlockScaledModel& given, const BlockScaledProblem& given_problem) {
    if (given_problem.product.m() == 0 || given_problem.product.n() == 0 || given_problem.product.k() == 0)
        return false;
    const ScaledKernel kernel = choose_scaled_kernel(given);
    if (kernel == ScaledKernel::none) return false;
    const bool turned = better_turned(given.unscaled, given_problem.product);
    const BlockScaledModel model = turned ? with_sides_swapped(given) : given;
    const BlockScaledProblem problem = turned ? transposed(given_problem) : given_problem;
    const GemmProblem& p = problem.product;
    const std::int64_t padded = tiles_of(p.k(), model.unscaled.instruction_k) * model.unscaled.instruction_k;
    const std::int64_t scales = tiles_of(p.k(), model.scale_block);
    const std::int64_t count = tiles_of(padded, model.scale_block);
    const bool fp4 = kernel == ScaledKernel::fp4;
    Run run{kernels,
            model,
            problem,
            padded,
            panel_width(kernels),
            scales_of(model, problem.a_scales, p.m(), scales, count, fp4),
            scales_of(model, problem.b_scales.transposed(), p.n(), scales, count, fp4)};
    if (!fp4) {
        run_fused(run);
        return true;
    }
    run.a_scales = for_terms(run.a_scales, p.m(), model.scale_block / 16);
    run.b_scales = for_terms(run.b_scales, p.n(), model.scale_block / 16);
    run_fp4(run);
    return true;
}

}  // namespace ulp::gemm_kernels
