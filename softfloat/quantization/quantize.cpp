#include "softfloat/quantization/quantize.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "softfloat/array/array.hpp"
#include "softfloat/quantization/elements.hpp"
#include "softfloat/quantization/layout.hpp"
#include "softfloat/quantization/scale_of_block.hpp"

namespace ulp {
namespace {

using Index = Quantized::Index;

bool whole_operand(const Quantization& how) { return how.block == ScaleBlock{}; }

void require_sensible(const Quantization& how, const QuantizedUse& use) {
    if (use.statistic && !whole_operand(how)) {
        throw std::invalid_argument("a statistic from elsewhere is that of one block: the whole operand");
    }
    static_cast<void>(can_round(how.elements.rounding));
}

/// An operand on its way: numbers become elements in place.
struct Work {
    Quantized& q;
    Index rows, cols;              // as the numbers lie in memory
    Index block_rows, block_cols;  // the extent of a block
    Index row_blocks, col_blocks;
    std::vector<float> encodes;  // of each block

    explicit Work(Quantized& quantized)
        : q(quantized),
          rows(q.by_columns ? q.k : q.lines),
          cols(q.by_columns ? q.lines : q.k),
          block_rows(std::max<Index>(1, q.how.block.lines == 0 ? rows : q.how.block.lines)),
          block_cols(std::max<Index>(1, q.how.block.k == 0 ? cols : q.how.block.k)),
          row_blocks((rows + block_rows - 1) / block_rows),
          col_blocks((cols + block_cols - 1) / block_cols),
          encodes(static_cast<std::size_t>(row_blocks * col_blocks)) {
        q.scales.resize(encodes.size());
        q.blocks_along_k = col_blocks;
    }
    [[nodiscard]] Stretch block(Index row_block, Index col_block) const {
        const Index i = row_block * block_rows;
        const Index j = col_block * block_cols;
        return {q.numbers.data() + i * cols + j, std::min(block_rows, rows - i), std::min(block_cols, cols - j), cols};
    }
};

void transform(const Quantization& how, const QuantizedUse& use, Quantized& q) {
    if (how.transform.size == 0) return;
    const std::vector<float> signs = hadamard_signs(how.transform, use.seed, use.signs_stream);
    each_part(q.lines, q.k * 8, [&](Index first, Index last) {
        for (Index i = first; i < last; ++i) hadamard_transform(q.numbers.data() + i * q.k, q.k, signs);
    });
}

/// The largest magnitude of all numbers in blocks without infinities and NaNs.
float largest_of_blocks(const Work& work) {
    if (work.q.how.scale.tensor_scale_max == 0) return 0;
    std::vector<float> largest(static_cast<std::size_t>(work.row_blocks), 0.0F);
    each_part(work.row_blocks, work.block_rows * work.cols, [&](Index first, Index last) {
        for (Index i = first; i < last; ++i) {
            float& own = largest[static_cast<std::size_t>(i)];
            for (Index j = 0; j < work.col_blocks; ++j) {
                const float of_block = largest_magnitude(work.q.how, work.block(i, j));
                if (std::isfinite(of_block)) own = std::max(own, of_block);
            }
        }
    });
    return *std::ranges::max_element(largest);
}

/// The scale of a block: of two candidates the one whose elements are nearer to the numbers.
BlockScale scale_for(const Quantization& how, const ScaleOfBlock& rule, const Stretch& block, float statistic) {
    const BlockScale scale = rule(statistic);
    if (how.candidate.factor == 0 || std::isnan(scale.decode)) return scale;
    const BlockScale other = rule(statistic, how.candidate.factor);
    const float error = error_of(how, block, scale.encode, rule.full_decode(scale));
    return error_of(how, block, other.encode, rule.full_decode(other)) < error ? other : scale;
}

void choose_scales(Work& work, const ScaleOfBlock& rule, const QuantizedUse& use) {
    Quantized& q = work.q;
    each_part(work.row_blocks, work.block_rows * work.cols, [&](Index first, Index last) {
        for (Index i = first; i < last; ++i) {
            for (Index j = 0; j < work.col_blocks; ++j) {
                const Stretch block = work.block(i, j);
                const float own = statistic_of(q.how, block);
                const BlockScale scale = scale_for(q.how, rule, block, use.statistic.value_or(own));
                const auto at = static_cast<std::size_t>(i * work.col_blocks + j);
                q.scales[at] = scale.decode;
                work.encodes[at] = scale.encode;
                if (i + j == 0) q.statistic = own, q.encode = scale.encode;
            }
        }
    });
}

void make_elements(const Work& work, const ScaleOfBlock& rule, const QuantizedUse& use) {
    const Quantized& q = work.q;
    const Context rounding = with_stream(q.how.elements.rounding, use.seed, use.stream);
    each_part(work.rows, work.cols, [&](Index first, Index last) {
        for (Index i = first; i < last; ++i) {
            for (Index j = 0; j < work.col_blocks; ++j) {
                const auto at = static_cast<std::size_t>(i / work.block_rows * work.col_blocks + j);
                const Index from = j * work.block_cols;
                float* numbers = work.q.numbers.data() + i * work.cols + from;
                scale_numbers(q.how, {numbers, 1, std::min(work.block_cols, work.cols - from), work.cols},
                              work.encodes[at], rule.full_decode({q.scales[at], 0}));
            }
        }
        // Whole rows at once: the rounding has a cost a call.
        Context own = rounding;
        own.first = use.first + static_cast<std::uint64_t>(first * work.cols);
        round_elements(
            q.how, {work.q.numbers.data() + first * work.cols, static_cast<std::size_t>((last - first) * work.cols)},
            own);
    });
}

}  // namespace

Quantized quantize(const Quantization& how, const MatrixView& lines, const QuantizedUse& use) {
    require_sensible(how, use);
    const support::FloatEnvironment own;
    Quantized q;
    q.how = how;
    q.lines = lines.rows;
    const Index group = std::max(1, how.transform.size);
    q.k = (lines.cols + group - 1) / group * group;
    // One block has no order: its numbers stay in that of memory, unless random numbers are drawn by place.
    q.by_columns = whole_operand(how) && group == 1 && how.elements.rounding.rounding != Rounding::stochastic &&
                   how.statistic == ScaleStatistic::largest && lines.col_major() && !lines.row_major();
    q.numbers = q.by_columns ? gathered(lines.transposed(), lines.rows) : gathered(lines, q.k);
    if (q.numbers.empty()) return q;
    transform(how, use, q);
    Work work(q);
    const ScaleOfBlock rule(q.how, use, largest_of_blocks(work));
    q.tensor_scale = rule.tensor_scale();
    choose_scales(work, rule, use);
    make_elements(work, rule, use);
    return q;
}

}  // namespace ulp
