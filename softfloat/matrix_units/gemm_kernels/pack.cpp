#include "softfloat/matrix_units/gemm_kernels/pack.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/support/copy_matrix.hpp"

namespace ulp::gemm_kernels {

namespace {

std::uint32_t word_of(float x) { return std::bit_cast<std::uint32_t>(x); }

bool is_special(const Grid& grid, float value) { return (word_of(value) & 0x7FFFFFFFU) > grid.max_finite; }

/// Rows of A, a group after the other; zeros behind the last k.
void order_rows(const KOrder& order, const MatrixView& a, float* to) {
    const std::int64_t size = a.rows * order.group;
    std::int64_t g = 0;
    if (a.row_major()) {  // a row is read in one go
        g = order.k / order.group;
        for (std::int64_t row = 0; row < a.rows; ++row) {
            support::copy_matrix(MatrixView(&a(row, 0), g, order.group),
                                 MutableMatrixView(to + row * order.group, g, order.group, size, 1));
        }
    }
    for (to += g * size; g < order.groups; ++g, to += size) {
        const std::int64_t first = g * order.group;
        const std::int64_t count = std::clamp<std::int64_t>(order.k - first, 0, order.group);
        if (count < order.group) std::fill_n(to, size, 0.0F);
        if (count == 0) continue;
        support::copy_matrix(a.part(0, first, a.rows, count), MutableMatrixView(to, a.rows, count, order.group, 1));
    }
}

/// The same where the emulation of FP8 takes k in another order.
void reorder_rows(const KOrder& order, const MatrixView& a, float* to) {
    std::fill_n(to, order.groups * a.rows * order.group, 0.0F);
    for (std::int64_t g = 0; g < order.groups; ++g) {
        for (std::int64_t row = 0; row < a.rows; ++row) {
            for (int place = 0; place < order.group; ++place, ++to) {
                const std::int64_t k = order.source(g, place);
                if (k < order.k) *to = a(row, k);
            }
        }
    }
}

/// A panel's columns in ascending k, zeros to the right up to `used` columns and behind the last k.
void order_panel(const KOrder& order, const MatrixView& b, float* to, std::int64_t width, std::int64_t used) {
    const std::int64_t depth = order.groups * order.group;
    for (std::int64_t k = 0; b.cols < used && k < order.k; ++k)
        std::fill(to + k * width + b.cols, to + k * width + used, 0.0F);
    for (std::int64_t k = order.k; k < depth; ++k) std::fill_n(to + k * width, used, 0.0F);
    support::copy_matrix(b.part(0, 0, order.k, b.cols), MutableMatrixView(to, order.k, b.cols, width, 1));
}
void reorder_panel(const KOrder& order, const MatrixView& b, float* to, std::int64_t width, std::int64_t used) {
    for (std::int64_t g = 0; g < order.groups; ++g) {
        for (int place = 0; place < order.group; ++place, to += width) {
            std::fill_n(to, used, 0.0F);
            const std::int64_t k = order.source(g, place);
            if (k < order.k) support::copy_matrix(b.part(k, 0, 1, b.cols), MutableMatrixView(to, 1, b.cols));
        }
    }
}

/// The bytes of that many numbers in whole cache lines.
template <class T>
std::size_t lines_of(std::int64_t count) {
    return (static_cast<std::size_t>(count) * sizeof(T) + cache_line - 1) / cache_line * cache_line;
}

/// Whether rounding to the grid leaves the number as it is; normal numbers and zeros only are looked at.
bool is_settled(const FloatFormat& format, const Grid& grid, std::uint32_t magnitude) {
    if (magnitude == 0) return format.has_negative_zero();
    return (magnitude & grid.dropped_bits) == 0 && magnitude >= grid.min_normal && magnitude <= grid.max_finite;
}

/// What an encoder refused, number by number: rounds to the grid what is off it; true for a special value, now 0.
bool settle(const FloatFormat& format, const Grid& grid, float& value) {
    const std::uint32_t magnitude = word_of(value) & 0x7FFFFFFFU;
    if (is_settled(format, grid, magnitude)) return false;
    // Whole tensors are NaN or infinite where a training has diverged: these need no rounding to be known as special.
    const bool stays_special = format.has_infinity() && magnitude >= 0x7F800000U;
    if (!stays_special) value = in_fp32_container(format, operand_code(format, value));
    if (!stays_special && !is_special(grid, value)) return false;
    value = 0.0F;
    return true;
}

/// PackedRows::crowded: whether the fractions of 16 numbers, whose ones add up to 16 at most, add up to 15 or more.
bool is_crowded(const float* values, std::int64_t count) {
    bool found = false;
    for (const float* group = values; group < values + count; group += 16) {
        std::uint32_t fractions = 0;
        for (int k = 0; k < 16; ++k) fractions += word_of(group[k]) & 0x7FFFFFU;
        found |= fractions >= 15U << 23;
    }
    return found;
}

}  // namespace

std::uint32_t fp32_word_of_largest(const FloatFormat& format) {
    const auto top = static_cast<std::uint32_t>(format.max_finite_magnitude() & format.fraction_mask());
    return static_cast<std::uint32_t>(format.emax() + 127) << 23 | top << (23 - format.fraction_bits);
}

Grid grid_of(const FloatFormat& format) {
    const bool words = format.emin() < -30;
    const auto field = [](int exponent) { return static_cast<std::uint32_t>(exponent + 127) << 23; };
    Grid grid{};
    grid.codes = words ? ExponentCodes::words : ExponentCodes::bytes;
    grid.dropped_bits = (std::uint32_t{1} << (23 - format.fraction_bits)) - 1;
    if (format == formats::tf32) {
        grid.ignored_bits = grid.dropped_bits;
    }
    grid.max_finite = fp32_word_of_largest(format);
    if (words) {
        grid.max_finite = std::min(grid.max_finite, word_codes_limit - 1);
        grid.lowest_code_field = 1;
    } else {
        grid.min_normal = field(format.emin());
        grid.all_steps = std::ldexp(1.0F, format.smallest_exponent() + formats::fp32.fraction_bits);
        grid.lowest_code_field = format.emin() + 127;
    }
    return grid;
}

std::int64_t KOrder::source(std::int64_t g, int place) const {
    const std::int64_t ascending = g * group + place;
    if (emulated_instruction == 0) return ascending;
    const std::int64_t first = ascending / emulated_instruction * emulated_instruction;
    const std::int64_t within = ascending - first;
    const std::int64_t half = emulated_instruction / 2;
    const std::int64_t second = within >= half ? 2 : 0;  // k mod 4 in {2, 3}
    const std::int64_t pair = within % half;
    return first + pair / 2 * 4 + pair % 2 + second;
}

std::int64_t packed_row_count(const Kernels& kernels, const KOrder& order, std::int64_t rows) {
    const std::int64_t count = order.groups * rows * order.group;
    return (count + kernels.lanes - 1) / kernels.lanes * kernels.lanes;
}

void pack_rows(const Kernels& kernels, const FloatFormat& format, const Grid& grid, const KOrder& order,
               const MatrixView& a, PackedRows& packed) {
    const std::int64_t rows = a.rows;
    const std::int64_t count = order.groups * rows * order.group;
    const std::int64_t padded = packed_row_count(kernels, order, rows);
    std::fill_n(packed.values + count, padded - count, 0.0F);
    packed.special = 0;
    (order.emulated_instruction == 0 ? order_rows : reorder_rows)(order, a, packed.values);
    if (!kernels.encode_row(grid, packed.values, padded, packed.exponents)) {
        for (std::int64_t i = 0; i < count; ++i) {
            if (settle(format, grid, packed.values[i])) packed.special |= std::uint64_t{1} << (i / order.group % rows);
        }
        kernels.encode_row(grid, packed.values, padded, packed.exponents);
    }
    packed.crowded = order.group == 16 && is_crowded(packed.values, count);
}

PanelCounts packed_panel_counts(const Kernels& kernels, const Grid& grid, const KOrder& order) {
    const std::int64_t depth = order.groups * order.group;
    const int words_a_k = kernels.lanes * (grid.codes == ExponentCodes::bytes ? 1 : 2);
    return {depth * panel_width(kernels), depth * words_a_k};
}

void pack_panel(const Kernels& kernels, const FloatFormat& format, const Grid& grid, const KOrder& order,
                const MatrixView& b, PackedPanel& packed) {
    const std::int64_t width = panel_width(kernels);
    const std::int64_t depth = order.groups * order.group;
    packed.special = 0;
    const int vectors = vectors_computed(b.cols, kernels.lanes);
    (order.emulated_instruction == 0 ? order_panel : reorder_panel)(order, b, packed.values, width,
                                                                    std::int64_t{vectors} * kernels.lanes);
    if (kernels.encode_panel(grid, packed.values, depth, vectors, packed.exponents)) return;
    for (std::int64_t i = 0; i < depth * width; ++i) {
        if (i % width >= b.cols) continue;
        if (settle(format, grid, packed.values[i])) packed.special |= std::uint64_t{1} << (i % width);
    }
    kernels.encode_panel(grid, packed.values, depth, vectors, packed.exponents);
}

void PackedMemory::fit(const Kernels& kernels, const Grid& b_grid, const KOrder& order, std::int64_t m,
                       std::int64_t panel_count) {
    const std::int64_t row_count = packed_row_count(kernels, order, std::min(rows_per_tile, m));
    const std::int64_t row_tiles = tiles_of(m, rows_per_tile);
    const PanelCounts panel = packed_panel_counts(kernels, b_grid, order);
    rows.resize(static_cast<std::size_t>(row_tiles));
    panels.resize(static_cast<std::size_t>(panel_count));
    const std::size_t values = lines_of<float>(row_tiles * row_count + panel_count * panel.values);
    const std::size_t bytes = values + lines_of<std::uint32_t>(row_tiles * row_count + panel_count * panel.exponents);
    if (memory_.size() < bytes) {
        memory_ = AlignedVector<std::byte>();  // before the new one, not beside it
        memory_.resize(bytes);
    }
    auto* value = reinterpret_cast<float*>(memory_.data());
    auto* exponent = reinterpret_cast<std::uint32_t*>(memory_.data() + values);
    for (PackedPanel& tile : panels) {
        tile = {value, exponent};
        value += panel.values, exponent += panel.exponents;
    }
    for (PackedRows& tile : rows) {
        tile = {value, exponent};
        value += row_count, exponent += row_count;
    }
}

}  // namespace ulp::gemm_kernels
