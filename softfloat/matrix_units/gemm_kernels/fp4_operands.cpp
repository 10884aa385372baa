#include "softfloat/matrix_units/gemm_kernels/fp4_operands.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "softfloat/support/copy_matrix.hpp"
#include "softfloat/support/parallel.hpp"

namespace ulp::gemm_kernels {

namespace {

/// Exponents of a line's scales in one instruction, those of zeros left out.
struct Span {
    int least = 0, most = 0;
};
Span span_of(const Scales& scales, std::int64_t line, std::int64_t instruction) {
    Span span;
    bool any = false;
    for (std::int64_t t = 0; t < fp4_terms; ++t) {
        const std::int64_t at = instruction * fp4_terms + t;
        if (scales.values[static_cast<std::size_t>(line * scales.count + at)] == 0) continue;
        const int exponent = scales.exponent(line, at);
        span = any ? Span{std::min(span.least, exponent), std::max(span.most, exponent)} : Span{exponent, exponent};
        any = true;
    }
    return span;
}

std::int64_t lines_of(const Scales& scales) { return static_cast<std::int64_t>(scales.nan.size()); }

/// All lines of an instruction.
struct Spans {
    int least = 1 << 20, most = -(1 << 20), widest = 0;
};
Spans spans_of(const Scales& scales, std::int64_t instruction) {
    Spans all;
    for (std::int64_t line = 0; line < lines_of(scales); ++line) {
        const Span span = span_of(scales, line, instruction);
        all = {std::min(all.least, span.least), std::max(all.most, span.most),
               std::max(all.widest, span.most - span.least)};
    }
    return all;
}

int fraction_bits_of_scales(const BlockScaledModel& model) { return 2 * model.scale_format.fraction_bits; }

/// How far the scales of a line may lie apart: operands (or, by terms, scales) stay below a limit, and no product is
/// cut beside another one. Negative: nothing can be folded.
int orders_folded(const BlockScaledModel& model, Fp4Operands operands) {
    const auto units = [](const FloatFormat& f) {
        return static_cast<int>(in_fp32_container(f, static_cast<std::uint32_t>(f.max_finite_magnitude())) *
                                std::ldexp(1.0F, -f.smallest_exponent()));
    };
    const int operand = std::max(units(model.unscaled.a_format), units(model.unscaled.b_format));
    const bool by_terms = operands == Fp4Operands::bytes_by_terms;
    if (by_terms && 16 * operand * operand > 32767) return -1;  // a term
    const int largest = (by_terms ? 1 : operand) * ((2 << model.scale_format.fraction_bits) - 1);
    // 64 products of 16-bit operands stay below 2^31, and two scales below 2^15.
    const int limit = operands == Fp4Operands::words ? 5792 : operands == Fp4Operands::bytes ? 127 : 181;
    int orders = -1;
    while (largest << (orders + 1) <= limit) ++orders;
    return std::min(orders, (model.unscaled.fraction_bits - fraction_bits_of_scales(model) - fp4_point(model)) / 2);
}

Fp4Folding folded_below(const BlockScaledModel& model, const std::vector<Spans>& a, const std::vector<Spans>& b,
                        Fp4Operands operands) {
    Fp4Folding folding{operands, orders_folded(model, operands), std::vector<char>(a.size(), 0)};
    if (folding.orders < 0 || fp4_addend_range(model, folding) <= 0) return folding;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const bool ordinary = a[i].most + b[i].most <= highest_field - 127 && a[i].least + b[i].least >= -70;
        folding.folded[i] = ordinary && std::max(a[i].widest, b[i].widest) <= folding.orders ? 1 : 0;
    }
    return folding;
}

/// What the packing kernels refused: rounds to the format what is off it. Formats here have no infinities and NaNs.
void settle_fp4(const FloatFormat& format, float* values, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) values[i] = in_fp32_container(format, operand_code(format, values[i]));
}

Fp4Packing packing_of(const FloatFormat& format) {
    const Grid grid = grid_of(format);
    return {.units_in_one = std::ldexp(1.0F, -format.smallest_exponent()),
            .dropped_bits = grid.dropped_bits,
            .max_finite = grid.max_finite};
}

}  // namespace

int fp4_point(const BlockScaledModel& model) {
    return -model.unscaled.a_format.smallest_exponent() - model.unscaled.b_format.smallest_exponent();
}

// c's last bit is 23 below its exponent; with exponent `most` a sum of products may be the largest, so c is cut below
// most + 23 - F. A term's last bit is that of a product times both significands; terms are cut where c's exponent is
// more than F above that.
std::int32_t fp4_least_addend(const BlockScaledModel& model) {
    return (127 + 23 - model.unscaled.fraction_bits) * (1 << 23);
}
std::int32_t fp4_addend_range(const BlockScaledModel& model, const Fp4Folding& folding) {
    const int orders =
        2 * model.unscaled.fraction_bits - 22 - 2 * folding.orders - fraction_bits_of_scales(model) - fp4_point(model);
    return std::max(orders, 0) * (1 << 23) - 1;
}

Fp4Folding fp4_folding(const IntegerKernels& kernels, const BlockScaledModel& model, const Scales& a, const Scales& b) {
    std::vector<Spans> of_a, of_b;
    for (std::int64_t i = 0; kernels.can_fold && i < a.count / fp4_terms; ++i) {
        of_a.push_back(spans_of(a, i));
        of_b.push_back(spans_of(b, i));
    }
    if (!kernels.can_fold) return {.folded = std::vector<char>(static_cast<std::size_t>(a.count / fp4_terms), 0)};
    for (const Fp4Operands bytes : {Fp4Operands::bytes, Fp4Operands::bytes_by_terms}) {
        if (kernels.fp4[static_cast<std::size_t>(bytes)].multiply == nullptr) continue;
        Fp4Folding folding = folded_below(model, of_a, of_b, bytes);
        if (std::ranges::count(folding.folded, 0) == 0) return folding;
    }
    return folded_below(model, of_a, of_b, Fp4Operands::words);
}

Fp4Lines fp4_lines(const BlockScaledModel& model, const FloatFormat& format, const Fp4Folding& folding,
                   const Scales& scales) {
    const float units_in_one = std::ldexp(1.0F, -format.smallest_exponent());
    const int fraction_bits = model.scale_format.fraction_bits;
    const bool by_terms = folding.operands == Fp4Operands::bytes_by_terms;
    Fp4Lines lines;
    if (by_terms) lines.multipliers.assign(scales.values.size(), 0);
    lines.factors.assign(scales.values.size(), units_in_one);
    lines.units.assign(scales.values.size() / fp4_terms, 1.0F);
    lines.least.assign(lines.units.size(), 0);
    const auto instructions = static_cast<std::int64_t>(folding.folded.size());
    for (std::int64_t i = 0; i < lines_of(scales) * instructions; ++i) {
        if (folding.folded[static_cast<std::size_t>(i % instructions)] == 0) continue;
        const Span span = span_of(scales, i / instructions, i % instructions);
        const float factor = std::ldexp(1.0F, fraction_bits - span.least);
        for (int t = 0; t < fp4_terms; ++t) {
            const auto at = static_cast<std::size_t>(i * fp4_terms + t);
            const float multiplier = scales.values[at] * factor;
            if (by_terms) lines.multipliers[at] = static_cast<std::int32_t>(multiplier);
            if (!by_terms) lines.factors[at] = units_in_one * multiplier;
        }
        lines.units[static_cast<std::size_t>(i)] = std::ldexp(1.0F, span.least - fraction_bits);
        lines.least[static_cast<std::size_t>(i)] = span.most * (1 << 23);
    }
    return lines;
}

AlignedVector<std::uint32_t> fp4_rows(const IntegerKernels& kernels, const FloatFormat& format,
                                      const Fp4Folding& folding, const Fp4Lines& lines, const MatrixView& a,
                                      bool parallel) {
    const auto instructions = static_cast<std::int64_t>(folding.folded.size());
    const std::int64_t steps = fp4_k / folding.k_of_word();
    AlignedVector<std::uint32_t> words(static_cast<std::size_t>(a.rows * instructions * steps));
    const Fp4Kernels& fp4 = kernels.fp4[folding.kernel()];
    for_each_index(a.rows, parallel, [&](std::int64_t row) {
        std::array<float, fp4_k> values{};
        for (std::int64_t i = 0; i < instructions; ++i) {
            const std::int64_t first = i * fp4_k;
            const std::int64_t count = std::min<std::int64_t>(a.cols - first, fp4_k);
            Fp4Packing task = packing_of(format);
            task.factors = lines.factors.data() + (row * instructions + i) * fp4_terms;
            task.words = words.data() + (row * instructions + i) * steps;
            const bool in_place = a.col_stride == 1 && count == fp4_k;
            task.values = in_place ? &a(row, first) : values.data();
            const auto copy = [&] {
                std::fill(values.begin() + count, values.end(), 0.0F);
                support::copy_matrix(a.part(row, first, 1, count), MutableMatrixView(values.data(), 1, count));
            };
            if (!in_place) copy();
            if (fp4.pack_row(task)) continue;
            if (in_place) copy();
            settle_fp4(format, values.data(), fp4_k);
            task.values = values.data();
            fp4.pack_row(task);
        }
    });
    return words;
}

void fp4_panel(const IntegerKernels& kernels, const FloatFormat& format, const Fp4Folding& folding,
               const AlignedVector<float>& factors, const MatrixView& b, std::int64_t width,
               AlignedVector<std::uint32_t>& words, AlignedVector<std::int32_t>& sums) {
    const auto instructions = static_cast<std::int64_t>(folding.folded.size());
    const std::int64_t steps = fp4_k / folding.k_of_word();
    words.resize(static_cast<std::size_t>(instructions * steps * width));
    const std::int64_t parts = folding.operands == Fp4Operands::bytes_by_terms ? fp4_terms : 1;
    sums.resize(static_cast<std::size_t>(instructions * parts * width));
    AlignedVector<float> values(static_cast<std::size_t>(fp4_k * width), 0.0F);
    const Fp4Kernels& fp4 = kernels.fp4[folding.kernel()];
    for (std::int64_t i = 0; i < instructions; ++i) {
        const std::int64_t first = i * fp4_k;
        const std::int64_t count = std::min<std::int64_t>(b.rows - first, fp4_k);
        Fp4Packing task = packing_of(format);
        task.factors = factors.data() + i * fp4_terms * width;
        task.words = words.data() + i * steps * width;
        task.sums = sums.data() + i * parts * width;
        const bool in_place = b.col_stride == 1 && b.cols == width && count == fp4_k;
        task.values = in_place ? &b(first, 0) : values.data();
        task.stride = in_place ? b.row_stride : width;
        const auto copy = [&] {
            std::fill(values.begin() + count * width, values.end(), 0.0F);
            support::copy_matrix(b.part(first, 0, count, b.cols),
                                 MutableMatrixView(values.data(), count, b.cols, width, 1));
        };
        if (!in_place) copy();
        if (fp4.pack_panel(task)) continue;
        if (in_place) copy();
        settle_fp4(format, values.data(), fp4_k * width);
        task.values = values.data(), task.stride = width;
        fp4.pack_panel(task);
    }
}

}  // namespace ulp::gemm_kernels
