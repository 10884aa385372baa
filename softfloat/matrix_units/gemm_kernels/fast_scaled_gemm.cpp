#include "softfloat/matrix_units/gemm_kernels/fast_scaled_gemm.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <vector>

#include "softfloat/matrix_units/gemm_kernels/kernel_choice.hpp"
#include "softfloat/matrix_units/gemm_kernels/pack.hpp"
#include "softfloat/matrix_units/gemm_kernels/word_panels.hpp"
#include "softfloat/support/copy_matrix.hpp"
#include "softfloat/support/parallel.hpp"
#include "softfloat/support/powers_of_two.hpp"

namespace ulp::gemm_kernels {

namespace {

/// Scales by rows or columns of the product: [index][count], each as the kernels take it. Behind the last: ones.
struct Scales {
    std::int64_t count = 0;         // of a row or column
    AlignedVector<float> values{};  // for the FP4 kernel
    AlignedVector<std::int32_t> exponents{};
    std::vector<char> nan{};  // of a row or column: whether one of them is NaN
};

Scales scales_of(const BlockScaledModel& model, const MatrixView& matrix, std::int64_t rows, std::int64_t given,
                 std::int64_t count, bool with_values) {
    Scales scales{count, {}, {}, {}};
    const auto size = static_cast<std::size_t>(rows * count);
    if (with_values) scales.values.assign(size, 1.0F);
    scales.exponents.assign(size, 0);
    scales.nan.assign(static_cast<std::size_t>(rows), 0);
    const bool powers = model.scale_format == formats::e8m0 && !with_values;
    for (std::int64_t i = 0; matrix.data != nullptr && i < rows; ++i) {
        std::int32_t* const row = scales.exponents.data() + i * count;
        const auto put = [row](std::int64_t s, std::int32_t exponent) { row[s] = exponent; };
        if (powers && given > 0 && powers_of_two(&matrix(i, 0), matrix.col_stride, given, put)) continue;
        for (std::int64_t s = 0; s < given; ++s) {
            const auto at = static_cast<std::size_t>(i * count + s);
            if (const std::optional<int> exponent = normal_exponent(model.scale_format, matrix(i, s))) {
                if (with_values) scales.values[at] = matrix(i, s);
                scales.exponents[at] = *exponent;
                continue;
            }
            const Scale scale = decode_scale(model.scale_format, operand_code(model.scale_format, matrix(i, s)));
            if (scale.nan) scales.nan[static_cast<std::size_t>(i)] = 1;
            if (with_values) {
                scales.values[at] = scale.nan ? 0.0F
                                              : std::ldexp(static_cast<float>(scale.significand),
                                                           scale.exponent - model.scale_format.fraction_bits);
            }
            scales.exponents[at] = scale.nan ? 0 : scale.exponent;
        }
    }
    return scales;
}

/// One product on its way.
struct Run {
    const Kernels& kernels;
    const BlockScaledModel& model;
    const BlockScaledProblem& problem;
    std::int64_t padded;  // k in whole instructions
    std::int64_t width;   // columns of a panel
    Scales a_scales, b_scales;
};

/// The results of some rows and a panel's columns.
struct Tile {
    std::int64_t row, rows, col, cols;
    AlignedVector<float> c{};               // [row][width]
    std::vector<std::uint64_t> suspects{};  // [row]
};

void load_tile(const Run& run, std::uint64_t special_columns, Tile& tile) {
    const GemmProblem& p = run.problem.product;
    tile.c.assign(static_cast<std::size_t>(tile.rows * run.width), 0.0F);
    tile.suspects.assign(static_cast<std::size_t>(tile.rows), special_columns);
    for (std::int64_t i = 0; i < tile.rows; ++i) {
        std::uint64_t& suspects = tile.suspects[static_cast<std::size_t>(i)];
        if (run.a_scales.nan[static_cast<std::size_t>(tile.row + i)] != 0) suspects = ~std::uint64_t{0};
        for (std::int64_t j = 0; p.has_c() && j < tile.cols; ++j) {
            const float c = p.c(tile.row + i, tile.col + j);
            if (is_suspect_addend(c)) {
                suspects |= std::uint64_t{1} << j;
            } else {
                tile.c[static_cast<std::size_t>(i * run.width + j)] = c;
            }
        }
    }
}

/// The marked elements by the definition, and all of them to their place.
void store_tile(const Run& run, Tile& tile) {
    const GemmProblem& p = run.problem.product;
    for (std::int64_t i = 0; i < tile.rows; ++i) {
        const std::uint64_t suspects = tile.suspects[static_cast<std::size_t>(i)];
        for (std::int64_t j = 0; suspects != 0 && j < tile.cols; ++j) {
            if ((suspects >> j & 1) == 0) continue;
            tile.c[static_cast<std::size_t>(i * run.width + j)] =
                block_scaled_element(run.model, run.problem, tile.row + i, tile.col + j);
        }
    }
    support::copy_matrix(MatrixView(tile.c.data(), tile.rows, tile.cols, run.width, 1),
                         p.d.part(tile.row, tile.col, tile.rows, tile.cols));
}

std::uint64_t columns_with_nan(const Run& run, std::int64_t col, std::int64_t cols) {
    std::uint64_t columns = 0;
    for (std::int64_t j = 0; j < cols; ++j) {
        columns |= std::uint64_t{run.b_scales.nan[static_cast<std::size_t>(col + j)] != 0} << j;
    }
    return columns;
}

/// The scales of a panel's columns, [scale][column].
template <class T>
AlignedVector<T> panel_scales(const Run& run, const AlignedVector<T>& scales, std::int64_t col, std::int64_t cols) {
    const std::int64_t count = run.b_scales.count;
    AlignedVector<T> panel(static_cast<std::size_t>(count * run.width), T{});
    for (std::int64_t j = 0; j < cols; ++j) {
        for (std::int64_t s = 0; s < count; ++s) {
            panel[static_cast<std::size_t>(s * run.width + j)] =
                scales[static_cast<std::size_t>((col + j) * count + s)];
        }
    }
    return panel;
}

/// Rows of the product.
struct Rows {
    std::int64_t first, last;
};

/// f(tile) for each tile of a panel's rows.
template <class Function>
void each_tile(Rows rows, std::int64_t col, std::int64_t cols, const Function& f) {
    for (std::int64_t row = rows.first; row < rows.last; row += rows_at_a_time) {
        Tile tile{row, std::min(rows_at_a_time, rows.last - row), col, cols};
        f(tile);
    }
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

/// Rows of a tile: their values, and the scales of each group.
struct PackedTile {
    AlignedVector<float> values{};
    AlignedVector<std::uint32_t> exponents{};
    AlignedVector<std::int32_t> scales{};  // [group][row]
    std::uint64_t special = 0;
};

void pack_tile(const Run& run, const Grid& grid, const Stretch& stretch, std::int64_t row, std::int64_t rows,
               PackedTile& tile) {
    const GemmProblem& p = run.problem.product;
    const KOrder& order = stretch.order;
    const auto count = static_cast<std::size_t>(packed_row_count(run.kernels, order, rows));
    tile.values.resize(std::max(tile.values.size(), count));
    tile.exponents.resize(tile.values.size());
    PackedRows packed{tile.values.data(), tile.exponents.data()};
    pack_rows(run.kernels, run.model.unscaled.a_format, grid, order, p.a.part(row, stretch.first, rows, order.k),
              packed);
    tile.special = packed.special;
    tile.scales.clear();
    for (std::int64_t g = 0; g < order.groups; ++g) {
        for (std::int64_t i = 0; i < rows; ++i) {
            const std::int64_t scale = (stretch.first + g * order.group) / run.model.scale_block;
            tile.scales.push_back(
                run.a_scales.exponents[static_cast<std::size_t>((row + i) * run.a_scales.count + scale)]);
        }
    }
}

/// Adds a stretch of k to the tiles of a panel; `rows` are the packed rows of these tiles.
void run_fused_panel(const Run& run, const Stretch& stretch, const std::vector<PackedTile>& rows,
                     std::vector<Tile>& tiles) {
    const GemmProblem& p = run.problem.product;
    const auto [col, cols] = std::pair(tiles.front().col, tiles.front().cols);
    const Grid grid = grid_of(run.model.unscaled.b_format);
    const KOrder& order = stretch.order;
    const PanelCounts counts = packed_panel_counts(run.kernels, grid, order);
    static thread_local AlignedVector<float> values;
    static thread_local AlignedVector<std::uint32_t> exponents;
    values.resize(std::max(values.size(), static_cast<std::size_t>(counts.values)));
    exponents.resize(std::max(exponents.size(), static_cast<std::size_t>(counts.exponents)));
    PackedPanel b{values.data(), exponents.data()};
    pack_panel(run.kernels, run.model.unscaled.b_format, grid, order, p.b.part(stretch.first, col, order.k, cols), b);
    const int vectors = vectors_computed(cols, run.kernels.lanes);
    AlignedVector<std::int32_t> scales(static_cast<std::size_t>(run.width));
    for (std::size_t t = 0; t < tiles.size(); ++t) {
        for (std::int64_t i = 0; i < tiles[t].rows; ++i) {
            const bool special = (rows[t].special >> i & 1) != 0;
            tiles[t].suspects[static_cast<std::size_t>(i)] |= special ? ~std::uint64_t{0} : b.special;
        }
    }
    for (std::int64_t g = 0; g < order.groups; ++g) {
        const std::int64_t k = g * order.group;
        for (std::int64_t j = 0; j < cols; ++j) {
            const std::int64_t scale = (stretch.first + k) / run.model.scale_block;
            scales[static_cast<std::size_t>(j)] =
                run.b_scales.exponents[static_cast<std::size_t>((col + j) * run.b_scales.count + scale)];
        }
        for (std::size_t t = 0; t < tiles.size(); ++t) {
            Tile& tile = tiles[t];
            run.kernels.scaled[vectors - 1]({.a = rows[t].values.data() + k * tile.rows,
                                             .a_exponents = rows[t].exponents.data() + k * tile.rows,
                                             .b = b.values + k * run.width,
                                             .b_exponents = b.exponents + k * run.kernels.lanes,
                                             .c = tile.c.data(),
                                             .suspects = tile.suspects.data(),
                                             .groups = 1,
                                             .rows = tile.rows,
                                             .group = order.group,
                                             .fraction_bits = run.model.unscaled.fraction_bits,
                                             .kept_bits = 0xFFFFFFFFU,
                                             .floor_field = lowest_field,
                                             .flush = false,
                                             .a_scales = rows[t].scales.data() + g * tile.rows,
                                             .b_scales = scales.data()});
        }
    }
}

/// Some rows of the product and some of its panels, these on all threads where `parallel`.
struct Part {
    Rows rows;
    std::int64_t first_panel, last_panel;
};

std::vector<std::vector<Tile>> tiles_of_panels(const Run& run, const Part& part) {
    std::vector<std::vector<Tile>> panels;
    for (std::int64_t i = part.first_panel; i < part.last_panel; ++i) {
        const std::int64_t col = i * run.width;
        const std::int64_t cols = std::min(run.width, run.problem.product.n() - col);
        std::vector<Tile>& panel = panels.emplace_back();
        each_tile(part.rows, col, cols, [&](Tile& tile) {
            load_tile(run, columns_with_nan(run, col, cols), tile);
            panel.push_back(std::move(tile));
        });
    }
    return panels;
}

void run_fused_part(const Run& run, const Part& part, bool parallel) {
    const Rows some = part.rows;
    const Grid grid = grid_of(run.model.unscaled.a_format);
    std::vector<std::vector<Tile>> panels = tiles_of_panels(run, part);
    const std::int64_t row_tiles = tiles_of(some.last - some.first, rows_at_a_time);
    static thread_local std::vector<PackedTile> memory;  // fresh pages would cost a part of the product
    std::vector<PackedTile>& rows = memory;              // of this thread, for all of them
    rows.resize(std::max(rows.size(), static_cast<std::size_t>(row_tiles)));
    const auto each_panel = [&](const auto& f) {
        for_each_index(static_cast<std::int64_t>(panels.size()), parallel,
                       [&](std::int64_t panel) { f(panels[static_cast<std::size_t>(panel)]); });
    };
    for (const Stretch& stretch : stretches_of(run)) {
        for_each_index(row_tiles, parallel, [&](std::int64_t t) {
            const std::int64_t row = some.first + t * rows_at_a_time;
            pack_tile(run, grid, stretch, row, std::min(rows_at_a_time, some.last - row),
                      rows[static_cast<std::size_t>(t)]);
        });
        each_panel([&](std::vector<Tile>& tiles) { run_fused_panel(run, stretch, rows, tiles); });
    }
    each_panel([&](std::vector<Tile>& tiles) {
        for (Tile& tile : tiles) store_tile(run, tile);
    });
}

/// The columns are packed again for each part of so many rows and the rows for each of so many panels, which is cheap
/// beside multiplying them; what lies between keeps little memory.
constexpr std::int64_t rows_of_part = 256;
constexpr std::int64_t panels_of_part = 8;
static_assert(rows_of_part % rows_at_a_time == 0);

void run_fused(const Run& run) {
    const GemmProblem& p = run.problem.product;
    const std::int64_t panels = tiles_of(p.n(), run.width);
    const std::int64_t row_parts = tiles_of(p.m(), rows_of_part);
    const std::int64_t parts = row_parts * tiles_of(panels, panels_of_part);
    const bool parallel = worth_threads(p.m() * p.n() * p.k() > (std::int64_t{1} << 18));
    const bool by_parts = parts > std::min(panels, panels_of_part);
    for_each_index(parts, parallel && by_parts, [&](std::int64_t i) {
        const std::int64_t row = i % row_parts * rows_of_part;
        const std::int64_t panel = i / row_parts * panels_of_part;
        run_fused_part(run,
                       {{row, std::min(row + rows_of_part, p.m())}, panel, std::min(panel + panels_of_part, panels)},
                       parallel && !by_parts);
    });
}

// FP4: operands as integers, in units of the smallest number.

/// From a value to its integer. Formats here have no infinities and NaNs: what is not a value is rounded to one.
struct IntegerOfValue {
    explicit IntegerOfValue(const FloatFormat& f) : format(f), units_in_one(std::ldexp(1.0F, -f.smallest_exponent())) {
        for (std::uint32_t code = 0; code <= f.max_finite_magnitude(); ++code) {
            is_value[static_cast<std::size_t>(in_fp32_container(f, code) * units_in_one)] = true;
        }
    }
    std::int16_t operator()(float x) const {
        const float units = x * units_in_one;
        if (std::abs(units) < static_cast<float>(is_value.size())) {
            const auto integer = static_cast<std::int16_t>(units);
            const bool whole = static_cast<float>(integer) == units;
            if (whole && is_value[static_cast<std::size_t>(std::abs(integer))]) return integer;
        }
        return static_cast<std::int16_t>(in_fp32_container(format, operand_code(format, x)) * units_in_one);
    }

    FloatFormat format;
    float units_in_one;
    std::array<bool, 512> is_value{};
};

void run_fp4_panel(const Run& run, const AlignedVector<std::uint32_t>& a, std::int64_t col) {
    const GemmProblem& p = run.problem.product;
    const std::int64_t cols = std::min(run.width, p.n() - col);
    static thread_local AlignedVector<std::uint32_t> panel;
    fill_word_panel(p.b, col, cols, p.k(), run.padded, run.width, IntegerOfValue(run.model.unscaled.b_format), panel);
    const auto values = panel_scales(run, run.b_scales.values, col, cols);
    const auto exponents = panel_scales(run, run.b_scales.exponents, col, cols);
    const int k = run.model.unscaled.instruction_k;
    each_tile({0, run.problem.product.m()}, col, cols, [&](Tile& tile) {
        load_tile(run, columns_with_nan(run, col, cols), tile);
        const auto scale = static_cast<std::size_t>(tile.row * run.a_scales.count);
        run.kernels.fp4({.a = a.data() + tile.row * run.padded / 2,
                         .b = panel.data(),
                         .a_scales = run.a_scales.values.data() + scale,
                         .a_exponents = run.a_scales.exponents.data() + scale,
                         .b_scales = values.data(),
                         .b_exponents = exponents.data(),
                         .c = tile.c.data(),
                         .suspects = tile.suspects.data(),
                         .a_stride = run.padded / 2,
                         .scale_stride = run.a_scales.count,
                         .instructions = run.padded / k,
                         .rows = tile.rows,
                         .fraction_bits = run.model.unscaled.fraction_bits,
                         .point = -run.model.unscaled.a_format.smallest_exponent() -
                                  run.model.unscaled.b_format.smallest_exponent()});
        store_tile(run, tile);
    });
}

void run_fp4(const Run& run) {
    const GemmProblem& p = run.problem.product;
    const auto a = word_rows(p.a, p.m(), p.k(), run.padded, IntegerOfValue(run.model.unscaled.a_format));
    for_each_index(tiles_of(p.n(), run.width), worth_threads(p.m() * p.n() * p.k() > (std::int64_t{1} << 18)),
                   [&](std::int64_t t) { run_fp4_panel(run, a, t * run.width); });
}

/// One scale for each 16 elements, as the FP4 kernel takes them: scales of longer blocks stand several times.
Scales for_terms(const Scales& scales, std::int64_t rows, int repeats) {
    if (repeats == 1) return scales;
    Scales each{scales.count * repeats, {}, {}, scales.nan};
    for (std::int64_t i = 0; i < rows * scales.count * repeats; ++i) {
        each.values.push_back(scales.values[static_cast<std::size_t>(i / repeats)]);
        each.exponents.push_back(scales.exponents[static_cast<std::size_t>(i / repeats)]);
    }
    return each;
}

/// Wide rows fill the vectors better. A sum of products has no sides, but where the first NaN is the result's.
bool better_turned(const BlockScaledModel& model, const GemmProblem& p) {
    const bool sides = model.unscaled.nan == NanStyle::x86 || model.unscaled.nan == NanStyle::dmma;
    return p.n() < p.m() && p.n() < 48 && !sides;
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

void fast_scaled_gemm(const Kernels& kernels, const BlockScaledModel& given, const BlockScaledProblem& given_problem) {
    const ScaledKernel kernel = choose_scaled_kernel(given);
    if (kernel == ScaledKernel::none) throw std::invalid_argument("this block-scaled model has no fast path");
    const bool turned = better_turned(given, given_problem.product);
    const BlockScaledModel model = turned ? with_sides_swapped(given) : given;
    const BlockScaledProblem problem = turned ? transposed(given_problem) : given_problem;
    const GemmProblem& p = problem.product;
    const std::int64_t padded = tiles_of(p.k(), model.unscaled.instruction_k) * model.unscaled.instruction_k;
    const std::int64_t scales = tiles_of(p.k(), model.scale_block);
    const std::int64_t count = tiles_of(padded, model.scale_block);
    Run run{kernels,
            model,
            problem,
            padded,
            std::int64_t{vectors_per_panel} * kernels.lanes,
            scales_of(model, problem.a_scales, p.m(), scales, count, kernel == ScaledKernel::fp4),
            scales_of(model, problem.b_scales.transposed(), p.n(), scales, count, kernel == ScaledKernel::fp4)};
    if (kernel == ScaledKernel::fused) return run_fused(run);
    run.a_scales = for_terms(run.a_scales, p.m(), model.scale_block / 16);
    run.b_scales = for_terms(run.b_scales, p.n(), model.scale_block / 16);
    run_fp4(run);
}

}  // namespace ulp::gemm_kernels
