#include "softfloat/quantization/exponent_blocks.hpp"

#include <algorithm>
#include <vector>

#include "softfloat/quantization/elements.hpp"
#include "softfloat/quantization/layout.hpp"
#include "softfloat/quantization/wide_loops.hpp"

namespace ulp {
namespace {

using Index = Quantized::Index;

/// A block of consecutive numbers by the definition, in place; returns dec.
float settle(const Quantization& how, const ScaleOfBlock& rule, float* numbers, Index count) {
    const Stretch block{numbers, 1, count, count};
    const BlockScale scale = rule(statistic_of(how, block));
    scale_numbers(how, block, scale.encode, rule.full_decode(scale));
    round_elements(how, {numbers, static_cast<std::size_t>(count)}, with_stream(how.elements.rounding, 0, 0));
    return scale.decode;
}

struct Maker {
    const MatrixView& lines;
    const ScaleOfBlock& rule;
    Quantized& q;
    const ExponentScales scales_of{q.how, rule(0)};
    const ScaledRounding round{q.how.element};

    /// Blocks of consecutive numbers, the last perhaps shorter.
    void make_run(const float* from, Index count, float* to, float* decodes) const {
        constexpr Index most = 64;  // blocks, which stay in the nearest cache
        std::uint32_t words[most];
        float encodes[most];
        const Index block = q.how.block.k;
        for (Index first = 0; first < count; first += most * block) {
            const float* const x = from + first;
            float* const elements = to + first;
            const Index size = std::min(most * block, count - first);
            const Index blocks = (size + block - 1) / block;
            largest_words(x, size, block, words);
            if (scales_of(words, blocks, decodes, encodes)) {
                round(x, elements, size, block, encodes);
            } else {
                std::copy_n(x, size, elements);
                for (Index b = 0; b < blocks; ++b) {
                    decodes[b] = settle(q.how, rule, elements + b * block, std::min(block, size - b * block));
                }
            }
            decodes += blocks;
        }
    }
    void make_rows(Index first, Index last) const {
        float* const to = q.numbers.data() + first * q.k;
        float* const decodes = q.scales.data() + first * q.blocks_along_k;
        const float* const from = lines.data + first * lines.row_stride;
        const Index count = last - first;
        if (q.k % q.how.block.k == 0 && lines.row_stride == q.k) return make_run(from, count * q.k, to, decodes);
        for (Index i = 0; i < count; ++i) {
            make_run(from + i * lines.row_stride, q.k, to + i * q.k, decodes + i * q.blocks_along_k);
        }
    }

    /// Where the numbers of a block lie below each other: `count` lines from `line` on, side by side.
    void make_columns(Index line, Index count) const {
        std::uint32_t words[most_columns];
        float decodes[most_columns], encodes[most_columns];
        for (Index b = 0; b < q.blocks_along_k; ++b) {
            const Index k = b * q.how.block.k;
            const Columns from{lines.data + k * lines.col_stride + line, std::min<Index>(q.how.block.k, q.k - k), count,
                               lines.col_stride};
            float* const to = q.numbers.data() + k * q.lines + line;
            largest_words_of_columns(from, words);
            if (scales_of(words, count, decodes, encodes)) {
                round(from, to, q.lines, encodes);
            } else {
                for (Index j = 0; j < count; ++j) decodes[j] = settle_column(from, j, to);
            }
            for (Index j = 0; j < count; ++j) {
                q.scales[static_cast<std::size_t>((line + j) * q.blocks_along_k + b)] = decodes[j];
            }
        }
    }
    float settle_column(const Columns& from, Index j, float* to) const {
        std::vector<float> column(static_cast<std::size_t>(from.rows));
        for (Index i = 0; i < from.rows; ++i) column[static_cast<std::size_t>(i)] = from.data[i * from.next_row + j];
        const float decode = settle(q.how, rule, column.data(), from.rows);
        for (Index i = 0; i < from.rows; ++i) to[i * q.lines + j] = column[static_cast<std::size_t>(i)];
        return decode;
    }
    static constexpr Index most_columns = 256;
};

}  // namespace

bool has_exponent_blocks(const Quantization& how) {
    return how.block.lines == 1 && how.block.k > 0 && how.candidate.factor == 0 && scales_by_exponent(how) &&
           how.element.emax() > 0 && how.statistic == ScaleStatistic::largest && ScaledRounding::fits(how);
}

void make_exponent_blocks(const MatrixView& lines, const ScaleOfBlock& rule, Quantized& q) {
    q.numbers.resize(static_cast<std::size_t>(q.lines * q.k));
    q.blocks_along_k = (q.k + q.how.block.k - 1) / q.how.block.k;
    q.scales.resize(static_cast<std::size_t>(q.lines * q.blocks_along_k));
    const Maker maker{lines, rule, q};
    if (!q.by_columns) {
        each_part(q.lines, q.k, [&](Index first, Index last) { maker.make_rows(first, last); });
        return;
    }
    constexpr Index most = Maker::most_columns;
    each_part((q.lines + most - 1) / most, most * q.k, [&](Index first, Index last) {
        for (Index i = first * most; i < std::min(last * most, q.lines); i += most) {
            maker.make_columns(i, std::min(most, q.lines - i));
        }
    });
}

}  // namespace ulp
