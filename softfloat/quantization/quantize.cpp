#include "softfloat/quantization/quantize.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "softfloat/array/array.hpp"
#include "softfloat/names.hpp"
#include "softfloat/quantization/elements.hpp"
#include "softfloat/quantization/exponent_blocks.hpp"
#include "softfloat/quantization/layout.hpp"
#include "softfloat/quantization/scale_of_block.hpp"
#include "softfloat/quantization/wide_loops.hpp"
#include "softfloat/round.hpp"

namespace ulp {

namespace {

using Index = Quantized::Index;

bool whole_operand(const Quantization& how) { return how.block == ScaleBlock{}; }

void require_sensible(const Quantization& how, const QuantizedUse& use) {
    if (use.statistic && !whole_operand(how)) {
        throw std::invalid_argument("a statistic from elsewhere is that of one block: the whole operand");
    }
    static_cast<void>(can_round(how.elements.rounding));
    const Rounding rounding = how.elements.rounding.rounding;
    if (how.elements.whole.any() && (rounding == Rounding::stochastic || rounding == Rounding::odd)) {
        throw std::invalid_argument("whole numbers are rounded to nearest, away, toward zero, down or up, not " +
                                    std::string(name_of(rounding)));
    }
}

/// An operand on its way: numbers become elements in place.
struct Work {
    Quantized& q;
    Index rows, cols;              // as the numbers lie in memory
    Index block_rows, block_cols;  // the extent of a block
    Index row_blocks, col_blocks;
    std::vector<float> encodes;           // of each block; before its scale is chosen, its statistic
    std::vector<char> special;            // of each row of blocks: infinities, NaNs, or a block without an enc
    std::optional<ScaledRounding> round;  // where elements are made in one pass

    explicit Work(Quantized& quantized)
        : q(quantized),
          rows(q.by_columns ? q.k : q.lines),
          cols(q.by_columns ? q.lines : q.k),
          block_rows(std::max<Index>(1, q.how.block.lines == 0 ? rows : q.how.block.lines)),
          block_cols(std::max<Index>(1, q.how.block.k == 0 ? cols : q.how.block.k)),
          row_blocks((rows + block_rows - 1) / block_rows),
          col_blocks((cols + block_cols - 1) / block_cols),
          encodes(static_cast<std::size_t>(row_blocks * col_blocks)),
          special(static_cast<std::size_t>(row_blocks)) {
        if (ScaledRounding::fits(q.how)) round.emplace(q.how.element);
        q.scales.resize(encodes.size());
        if (q.how.elements.whole.any()) q.zero_points.resize(encodes.size());
        q.blocks_along_k = col_blocks;
    }
    [[nodiscard]] Stretch block(Index row_block, Index col_block) const {
        const Index i = row_block * block_rows;
        const Index j = col_block * block_cols;
        return {q.numbers.data() + i * cols + j, std::min(block_rows, rows - i), std::min(block_cols, cols - j), cols};
    }
    void note_special(Index row_block, bool is_special) {
        if (is_special) special[static_cast<std::size_t>(row_block)] = 1;
    }
};

std::uint32_t largest_word(const Stretch& block) {
    std::uint32_t largest = 0;
    for (Index i = 0; i < block.rows; ++i) {
        std::uint32_t of_row = 0;
        largest_words(block.data + i * block.next_row, block.cols, block.cols, &of_row);
        largest = std::max(largest, of_row);
    }
    return largest;
}

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

/// The statistic of a block whose largest magnitude has this word: infinities and NaNs count as the row says.
float statistic_of(const Quantization& how, const Stretch& block, std::uint32_t word) {
    const bool is_word = how.statistic == ScaleStatistic::largest && word < first_special_word;
    return is_word ? std::bit_cast<float>(word) : statistic_of(how, block);
}

/// The statistics of a row of blocks; `words` is memory for one word a block.
void find_statistics(Work& work, Index row_block, std::vector<std::uint32_t>& words) {
    if (work.block_rows == 1) largest_words(work.block(row_block, 0).data, work.cols, work.block_cols, words.data());
    for (Index j = 0; j < work.col_blocks; ++j) {
        const Stretch block = work.block(row_block, j);
        std::uint32_t& word = words[static_cast<std::size_t>(j)];
        if (work.block_rows != 1) word = largest_word(block);
        work.note_special(row_block, word >= first_special_word);
        work.encodes[static_cast<std::size_t>(row_block * work.col_blocks + j)] = statistic_of(work.q.how, block, word);
    }
}

/// That of the one block that is the operand, on all threads.
void find_statistic_of_all(Work& work) {
    std::vector<std::uint32_t> words(static_cast<std::size_t>(work.rows), 0);
    each_part(work.rows, work.cols, [&](Index first, Index last) {
        const Index count = (last - first) * work.cols;
        largest_words(work.q.numbers.data() + first * work.cols, count, count, &words[static_cast<std::size_t>(first)]);
    });
    const std::uint32_t word = *std::ranges::max_element(words);
    work.note_special(0, word >= first_special_word);
    work.encodes[0] = statistic_of(work.q.how, work.block(0, 0), word);
}

void choose_scales(Work& work, const ScaleOfBlock& rule, const QuantizedUse& use, Index row_block) {
    Quantized& q = work.q;
    for (Index j = 0; j < work.col_blocks; ++j) {
        const auto at = static_cast<std::size_t>(row_block * work.col_blocks + j);
        const float own = work.encodes[at];
        const BlockScale scale = scale_for(q.how, rule, work.block(row_block, j), use.statistic.value_or(own));
        q.scales[at] = scale.decode;
        if (!q.zero_points.empty()) q.zero_points[at] = zero_point_of(q.how, work.block(row_block, j), scale.decode);
        work.encodes[at] = scale.encode;
        work.note_special(row_block, scale.encode == 0 || std::isnan(scale.decode));
        if (row_block + j == 0) q.statistic = own, q.encode = scale.encode;
    }
}

/// Of some rows of numbers.
void make_elements(const Work& work, const ScaleOfBlock& rule, const QuantizedUse& use, Index first, Index last) {
    const Quantized& q = work.q;
    for (Index i = first; i < last; ++i) {
        for (Index j = 0; j < work.col_blocks; ++j) {
            const auto at = static_cast<std::size_t>(i / work.block_rows * work.col_blocks + j);
            const Index from = j * work.block_cols;
            float* numbers = work.q.numbers.data() + i * work.cols + from;
            const Index count = std::min(work.block_cols, work.cols - from);
            scale_numbers(q.how, {numbers, 1, count, work.cols}, work.encodes[at], rule.full_decode({q.scales[at], 0}));
            if (!q.zero_points.empty()) {
                round_whole_numbers(q.how.elements, {numbers, static_cast<std::size_t>(count)}, q.zero_points[at]);
            }
        }
    }
    if (!q.zero_points.empty()) return;
    // Whole rows at once: the rounding has a cost a call.
    Context rounding = with_stream(q.how.elements.rounding, use.seed, use.stream);
    rounding.first = use.first + static_cast<std::uint64_t>(first * work.cols);
    round_elements(q.how,
                   {work.q.numbers.data() + first * work.cols, static_cast<std::size_t>((last - first) * work.cols)},
                   rounding);
}

/// Of some rows of numbers in one row of blocks.
void make_elements_in_one_pass(const Work& work, const ScaleOfBlock& rule, const QuantizedUse& use, Index row_block,
                               Index first, Index last) {
    if (work.special[static_cast<std::size_t>(row_block)] != 0) return make_elements(work, rule, use, first, last);
    const ScaledRounding& round = *work.round;
    const float* const encodes = &work.encodes[static_cast<std::size_t>(row_block * work.col_blocks)];
    float* const numbers = work.q.numbers.data() + first * work.cols;
    const Index count = (last - first) * work.cols;
    if (work.col_blocks == 1) return round(numbers, count, count, encodes);
    for (Index i = 0; i < count; i += work.cols) round(numbers + i, work.cols, work.block_cols, encodes);
}

/// Scales and elements; where it goes, a row of blocks after the other while it is in the processor's nearest memory.
void scale_and_round(Work& work, const ScaleOfBlock& rule, const QuantizedUse& use) {
    const bool one_pass = work.round.has_value();
    const bool one_block = work.row_blocks == 1 && work.col_blocks == 1;
    if (one_block) {
        find_statistic_of_all(work);
        choose_scales(work, rule, use, 0);
    } else {
        each_part(work.row_blocks, work.block_rows * work.cols, [&](Index first, Index last) {
            std::vector<std::uint32_t> words(static_cast<std::size_t>(work.col_blocks));
            for (Index i = first; i < last; ++i) {
                find_statistics(work, i, words);
                choose_scales(work, rule, use, i);
                if (!one_pass) continue;
                make_elements_in_one_pass(work, rule, use, i, i * work.block_rows,
                                          std::min((i + 1) * work.block_rows, work.rows));
            }
        });
    }
    if (one_pass && !one_block) return;
    each_part(work.rows, work.cols, [&](Index first, Index last) {
        one_pass ? make_elements_in_one_pass(work, rule, use, 0, first, last)
                 : make_elements(work, rule, use, first, last);
    });
}

}  // namespace

Quantized quantize(const Quantization& how, const MatrixView& lines, const QuantizedUse& use) {
    require_sensible(how, use);
    const support::FloatEnvironment own;
    Quantized q{.how = how, .numbers = std::pmr::vector<float>(use.memory)};
    q.lines = lines.rows;
    const Index group = std::max(1, how.transform.size);
    q.k = (lines.cols + group - 1) / group * group;
    // One block has no order, and blocks whose scales are exponents are quantised either way: the numbers stay in that
    // of memory, unless random numbers are drawn by place.
    const bool exponents = has_exponent_blocks(how);
    const bool one_block = whole_operand(how) && how.elements.rounding.rounding != Rounding::stochastic &&
                           how.statistic == ScaleStatistic::largest;
    q.by_columns = (one_block || exponents) && group == 1 && lines.col_major() && !lines.row_major();
    const bool as_it_lies = exponents && group == 1 && (lines.row_major() || lines.col_major());
    if (as_it_lies && !lines.empty()) {
        make_exponent_blocks(lines, ScaleOfBlock(q.how, use, 0), q);
        return q;
    }
    const MatrixView rows = q.by_columns ? lines.transposed() : lines;
    q.numbers = gathered(rows, q.by_columns ? lines.rows : q.k, use.memory);
    if (q.numbers.empty()) return q;
    transform(how, use, q);
    if (exponents) {
        std::pmr::vector<float> numbers(use.memory);
        numbers.swap(q.numbers);
        make_exponent_blocks(MatrixView(numbers.data(), q.lines, q.k), ScaleOfBlock(q.how, use, 0), q);
        return q;
    }
    Work work(q);
    const ScaleOfBlock rule(q.how, use, largest_of_blocks(work));
    q.tensor_scale = rule.tensor_scale();
    scale_and_round(work, rule, use);
    return q;
}

namespace {

using Index = Quantized::Index;

std::vector<std::uint8_t> codes_of(const FloatFormat& format, std::span<const float> numbers) {
    if (format.storage_bits() > 8) throw std::invalid_argument("codes of one byte need a format of at most 8 bits");
    std::vector<std::uint8_t> codes;
    codes.reserve(numbers.size());
    Context exact;
    for (const float x : numbers) {
        codes.push_back(
            static_cast<std::uint8_t>(convert_bits(format, formats::fp32, std::bit_cast<std::uint32_t>(x), exact)));
    }
    return codes;
}

}  // namespace

void dequantize_blocks(Quantized& q) {
    const Index lines = std::max<Index>(1, q.block_lines());
    const Index width = std::max<Index>(1, q.block_k());
    // Rows as they lie in memory, and the extent of a block in them.
    const Index rows = q.by_columns ? q.k : q.lines;
    const Index cols = q.by_columns ? q.lines : q.k;
    const Index block_rows = q.by_columns ? width : lines;
    const Index block_cols = q.by_columns ? lines : width;
    each_part(rows, cols, [&](Index first, Index last) {
        for (Index i = first; i < last; ++i) {
            for (Index j = 0; j < cols; j += block_cols) {
                const Index down = i / block_rows, across = j / block_cols;
                const float scale = q.by_columns ? q.scale(across, down) : q.scale(down, across);
                float* of_block = q.numbers.data() + i * cols + j;
                const Index count = std::min(block_cols, cols - j);
                if (std::isnan(scale))
                    std::fill_n(of_block, count, std::numeric_limits<float>::quiet_NaN());
                else
                    for (Index l = 0; l < count; ++l) of_block[l] *= scale;
            }
        }
    });
}

std::vector<float> dequantize(Quantized q) {
    dequantize_blocks(q);
    const std::pmr::vector<float> in_order = q.by_columns ? gathered(q.elements(), q.k) : std::move(q.numbers);
    std::vector<float> numbers(in_order.size());
    const support::FloatEnvironment own;
    std::ranges::transform(in_order, numbers.begin(), [&](float x) { return x * q.tensor_scale; });
    return numbers;
}

std::vector<std::uint8_t> element_codes(const Quantized& q) {
    if (!q.zero_points.empty()) {
        const MatrixView elements = q.elements();
        const int mask = (1 << q.how.element.code_bits()) - 1;
        std::vector<std::uint8_t> codes;
        for (Index i = 0; i < q.lines; ++i) {
            for (Index j = 0; j < q.k; ++j) {
                const Index block = i / q.block_lines() * q.blocks_along_k + j / q.block_k();
                const float code = elements(i, j) + q.zero_points[static_cast<std::size_t>(block)];
                codes.push_back(static_cast<std::uint8_t>(static_cast<int>(code) & mask));
            }
        }
        return codes;
    }
    return codes_of(q.how.element, gathered(q.elements(), q.k));
}

std::vector<std::uint8_t> scale_codes(const Quantized& q) { return codes_of(q.how.scale.format, q.scales); }

}  // namespace ulp
