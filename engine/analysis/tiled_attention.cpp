#include "engine/analysis/tiled_attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>

#include "engine/tensor/rounder.hpp"
#include "softfloat/array/functions.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/functions/online_softmax.hpp"
#include "softfloat/names.hpp"
#include "softfloat/support/parallel.hpp"

namespace ulp {
namespace {

constexpr float masked_score = -std::numeric_limits<float>::infinity();
/// Queries that are taken at once: any number gives the same bits forward.
constexpr std::int64_t query_block = 64;

struct ArrayExponentials {
    void operator()(float* x, std::int64_t count) const {
        if (count == 1) return EachExponential()(x, 1);
        const auto size = static_cast<std::size_t>(count);
        exp_array<float>({x, size}, {x, size});
    }
};

FloatFormat weights_of(const AttentionProblem& p) { return p.weights.value_or(p.format); }

/// Every finite number of `inner` is one of `outer`.
bool holds(const FloatFormat& outer, const FloatFormat& inner) {
    return inner.precision() <= outer.precision() && inner.emax() <= outer.emax() &&
           inner.smallest_exponent() >= outer.smallest_exponent();
}

void require_problem(const TensorCoreModel& model, const AttentionProblem& p) {
    if (model.a_format != p.format || model.b_format != p.format || model.accumulator != formats::fp32) {
        throw UsageError(fmt::format("attention multiplies {} with {} in fp32; this unit multiplies {} with {} in {}",
                                     name_of(p.format), name_of(p.format), name_of(model.a_format),
                                     name_of(model.b_format), name_of(model.accumulator)));
    }
    if (!holds(p.format, weights_of(p)) || !weights_of(p).has_subnormals) {
        throw UsageError(
            fmt::format("P in {} is not an operand of a unit of {}; give that, or a narrower format with a zero",
                        name_of(weights_of(p)), name_of(p.format)));
    }
    if (p.q.rows < 1 || p.k.rows < 1) throw UsageError("attention needs at least one query and one key");
    if (p.q.cols != p.k.cols || p.k.rows != p.v.rows || p.q.cols < 1 || p.v.cols < 1) {
        throw UsageError(
            fmt::format("Q is {} x {}, K {} x {} and V {} x {}: Q and K need one width, and K as many "
                        "rows as V",
                        p.q.rows, p.q.cols, p.k.rows, p.k.cols, p.v.rows, p.v.cols));
    }
    if (p.tile_keys < 1) throw UsageError(fmt::format("a tile of {} keys; give 1 or more", p.tile_keys));
    const std::int64_t tiles = (p.k.rows + p.tile_keys - 1) / p.tile_keys;
    if (p.splits < 1 || p.splits > tiles) {
        throw UsageError(fmt::format("{} splits of {} keys, which are {} tiles of {}; give 1 to {}", p.splits, p.k.rows,
                                     tiles, p.tile_keys, tiles));
    }
    if (!(p.rescale_threshold >= 0)) {
        throw UsageError(fmt::format("a rescale threshold of {}; give 0 or more", p.rescale_threshold));
    }
}

/// Scores of some queries against some keys, scaled and masked.
void score(const TensorCoreModel& model, const AttentionProblem& p, AttentionProduct product, std::int64_t first,
           std::int64_t first_key, MutableMatrixView x) {
    const MatrixView q = p.q.part(first, 0, x.rows, p.q.cols);
    product(model, {q, p.k.part(first_key, 0, x.cols, p.k.cols).transposed(), {}, x});
    for (std::int64_t i = 0; i < x.rows; ++i) {
        float* const row = &x(i, 0);
        const std::int64_t seen = p.causal ? std::clamp<std::int64_t>(first + i - first_key + 1, 0, x.cols) : x.cols;
        for (std::int64_t j = 0; j < seen; ++j) row[j] = p.scale * row[j];
        std::fill(row + seen, row + x.cols, masked_score);
    }
}

/// The keys of one split, as tiles.
struct KeySplit {
    std::int64_t first, last;
    KeySplit(const AttentionProblem& p, int index) {
        const std::int64_t tiles = (p.k.rows + p.tile_keys - 1) / p.tile_keys;
        const std::int64_t each = (tiles + p.splits - 1) / p.splits * p.tile_keys;
        first = std::min(p.k.rows, index * each);
        last = std::min(p.k.rows, first + each);
    }
};

/// The queries from `first` on of one head, against the keys of one split.
struct QueryBlock {
    const TensorCoreModel& model;
    const AttentionProblem& problem;
    AttentionProduct product;
    std::int64_t first;
    MutableMatrixView out;  // count x width, zeros at first
    float* logarithms;
    std::int64_t rescaled = 0;
    std::vector<SoftmaxRow> rows = std::vector<SoftmaxRow>(static_cast<std::size_t>(out.rows));
    std::vector<float> memory{};
    /// Called for each tile and row after its weights were found, before they are rounded.
    std::function<void(std::int64_t first_key, const float* scores, const MutableMatrixView& weights, float factor)>
        watch{};

    void weigh(MutableMatrixView scores, std::int64_t first_key, std::int64_t i) {
        float* const x = &scores(i, 0);
        SoftmaxRow& row = rows[static_cast<std::size_t>(i)];
        const bool begun = row.sum != 0;
        const std::vector<float> before = watch ? std::vector<float>(x, x + scores.cols) : std::vector<float>();
        const float factor = next_tile(row, x, scores.cols, problem.rescale_threshold, ArrayExponentials());
        if (watch) watch(first_key, before.data(), scores, factor);
        if (factor == 1) return;
        rescaled += begun ? 1 : 0;
        for (std::int64_t j = 0; j < out.cols; ++j) out(i, j) = out(i, j) * factor;
    }
    void take_tile(std::int64_t first_key, std::int64_t keys) {
        memory.resize(static_cast<std::size_t>(out.rows * keys));
        const MutableMatrixView scores(memory.data(), out.rows, keys);
        score(model, problem, product, first, first_key, scores);
        for (std::int64_t i = 0; i < out.rows; ++i) weigh(scores, first_key, i);
        round_all(weights_of(problem), memory);
        product(model, {scores, problem.v.part(first_key, 0, keys, problem.v.cols), out, out});
    }
    void run(const KeySplit& split) {
        for (std::int64_t key = split.first; key < split.last; key += problem.tile_keys) {
            take_tile(key, std::min<std::int64_t>(problem.tile_keys, split.last - key));
        }
        for (std::int64_t i = 0; i < out.rows; ++i) {
            const SoftmaxRow& row = rows[static_cast<std::size_t>(i)];
            const float divisor = row.sum == 0 ? 1 : row.sum;  // all keys masked
            for (std::int64_t j = 0; j < out.cols; ++j) out(i, j) = out(i, j) / divisor;
            logarithms[i] = row.sum == 0 ? masked_score : row.largest + evaluate_fp32<functions::Log>(row.sum);
        }
    }
};

/// The O and L of several splits of a query, in `out` and `logarithm`.
void merge(const std::vector<std::vector<float>>& outs, const std::vector<std::vector<float>>& logarithms,
           std::int64_t i, std::int64_t width, float* out, float* logarithm) {
    const auto at = static_cast<std::size_t>(i);
    float largest = masked_score;
    for (const auto& each : logarithms) largest = std::max(largest, each[at]);
    float sum = 0;
    for (const auto& each : logarithms) sum = sum + evaluate_fp32<functions::Exp>(each[at] - largest);
    *logarithm = largest + evaluate_fp32<functions::Log>(sum);
    std::fill_n(out, width, 0.0F);
    for (std::size_t s = 0; s < outs.size(); ++s) {
        const float weight = evaluate_fp32<functions::Exp>(logarithms[s][at] - *logarithm);
        for (std::int64_t j = 0; j < width; ++j) {
            out[j] = std::fma(weight, outs[s][static_cast<std::size_t>(i * width + j)], out[j]);
        }
    }
}

/// dO * round(O), added over each row.
std::vector<float> row_products(const AttentionProblem& p, const AttentionResult& result, MatrixView d_out) {
    std::vector<float> out = result.out;
    round_all(p.format, out);
    std::vector<float> sums(static_cast<std::size_t>(d_out.rows));
    for (std::int64_t i = 0; i < d_out.rows; ++i) {
        float sum = 0;
        for (std::int64_t j = 0; j < d_out.cols; ++j) {
            sum = sum + d_out(i, j) * out[static_cast<std::size_t>(i * d_out.cols + j)];
        }
        sums[static_cast<std::size_t>(i)] = sum;
    }
    return sums;
}

/// The gradients of one block of queries.
struct GradientBlock {
    const TensorCoreModel& model;
    const AttentionProblem& problem;
    AttentionProduct product;
    const AttentionResult& result;
    const std::vector<float>& row_sums;
    MatrixView d_out;  // of the block, as q, d_q
    std::int64_t first;
    MatrixView q;
    MutableMatrixView d_q, d_k, d_v;  // the latter of all keys
    std::vector<float> d_scores = std::vector<float>(static_cast<std::size_t>(q.rows * problem.k.rows));

    [[nodiscard]] MutableMatrixView tile_of(std::int64_t first_key, std::int64_t keys) {
        return MutableMatrixView(d_scores.data(), q.rows, problem.k.rows).part(0, first_key, q.rows, keys);
    }
    /// P of a row in place of its scores.
    void weigh(float* x, std::int64_t count, std::int64_t i) const {
        const float logarithm = result.logarithms[static_cast<std::size_t>(first + i)];
        for (std::int64_t j = 0; j < count; ++j) x[j] = x[j] - logarithm;
        ArrayExponentials()(x, count);
    }
    void take_tile(std::int64_t first_key, std::int64_t keys) {
        const auto count = static_cast<std::size_t>(q.rows * keys);
        std::vector<float> weights(count);
        std::vector<float> d_weights(count);
        const MutableMatrixView p(weights.data(), q.rows, keys);
        const MutableMatrixView d_p(d_weights.data(), q.rows, keys);
        score(model, problem, product, first, first_key, p);
        for (std::int64_t i = 0; i < q.rows; ++i) weigh(&p(i, 0), keys, i);
        const std::int64_t width = problem.v.cols;
        product(model, {d_out, problem.v.part(first_key, 0, keys, width).transposed(), {}, d_p});
        for (std::int64_t i = 0; i < q.rows; ++i) {
            const float row_sum = row_sums[static_cast<std::size_t>(first + i)];
            for (std::int64_t j = 0; j < keys; ++j) d_p(i, j) = p(i, j) * (d_p(i, j) - row_sum);
        }
        round_all(weights_of(problem), weights);
        round_all(problem.format, d_weights);
        const MutableMatrixView d_v_tile = d_v.part(first_key, 0, keys, width);
        const MutableMatrixView d_k_tile = d_k.part(first_key, 0, keys, q.cols);
        product(model, {MatrixView(p).transposed(), d_out, d_v_tile, d_v_tile});
        product(model, {MatrixView(d_p).transposed(), q, d_k_tile, d_k_tile});
        const MutableMatrixView kept = tile_of(first_key, keys);
        for (std::int64_t i = 0; i < q.rows; ++i) std::copy_n(&d_p(i, 0), keys, &kept(i, 0));
    }
    void run() {
        const std::int64_t tile = problem.tile_keys;
        const std::int64_t tiles = (problem.k.rows + tile - 1) / tile;
        const auto keys_of = [&](std::int64_t t) { return std::min(tile, problem.k.rows - t * tile); };
        for_each_index(tiles, worth_threads(tiles > 1), [&](std::int64_t t) { take_tile(t * tile, keys_of(t)); });
        for (std::int64_t t = 0; t < tiles; ++t) {
            product(model, {tile_of(t * tile, keys_of(t)), problem.k.part(t * tile, 0, keys_of(t), q.cols), d_q, d_q});
        }
    }
};

}  // namespace

AttentionResult tiled_attention(const TensorCoreModel& model, const AttentionProblem& p, AttentionProduct product) {
    require_problem(model, p);
    const std::int64_t queries = p.q.rows;
    const std::int64_t width = p.v.cols;
    const auto splits = static_cast<std::size_t>(p.splits);
    std::vector<std::vector<float>> outs(splits, std::vector<float>(static_cast<std::size_t>(queries * width)));
    std::vector<std::vector<float>> logarithms(splits, std::vector<float>(static_cast<std::size_t>(queries)));
    const std::int64_t blocks = (queries + query_block - 1) / query_block;
    std::atomic<std::int64_t> rescaled = 0;
    for_each_index(blocks * p.splits, worth_threads(blocks * p.splits > 1), [&](std::int64_t at) {
        const auto s = static_cast<std::size_t>(at / blocks);
        const std::int64_t first = at % blocks * query_block;
        const std::int64_t count = std::min(query_block, queries - first);
        const MutableMatrixView out(outs[s].data() + first * width, count, width);
        QueryBlock block{model, p, product, first, out, logarithms[s].data() + first};
        block.run(KeySplit(p, static_cast<int>(s)));
        rescaled += block.rescaled;
    });
    AttentionResult result{std::move(outs[0]), std::move(logarithms[0]), rescaled};
    if (splits == 1) return result;
    outs[0] = result.out;
    logarithms[0] = result.logarithms;
    for (std::int64_t i = 0; i < queries; ++i) {
        merge(outs, logarithms, i, width, result.out.data() + i * width,
              &result.logarithms[static_cast<std::size_t>(i)]);
    }
    return result;
}

AttentionGradients attention_gradients(const TensorCoreModel& model, const AttentionProblem& p,
                                       const AttentionResult& result, MatrixView d_out, AttentionProduct product) {
    require_problem(model, p);
    if (d_out.rows != p.q.rows || d_out.cols != p.v.cols) {
        throw UsageError(
            fmt::format("the gradient of O is {} x {}; O is {} x {}", d_out.rows, d_out.cols, p.q.rows, p.v.cols));
    }
    const auto zeros = [](const MatrixView& like) {
        return std::vector<float>(static_cast<std::size_t>(like.rows * like.cols));
    };
    AttentionGradients gradients{zeros(p.q), zeros(p.k), zeros(p.v)};
    const std::vector<float> row_sums = row_products(p, result, d_out);
    const std::int64_t head = p.q.cols;
    for (std::int64_t first = 0; first < p.q.rows; first += query_block) {
        const std::int64_t count = std::min(query_block, p.q.rows - first);
        GradientBlock{model,
                      p,
                      product,
                      result,
                      row_sums,
                      d_out.part(first, 0, count, p.v.cols),
                      first,
                      p.q.part(first, 0, count, head),
                      MutableMatrixView(gradients.q.data() + first * head, count, head),
                      MutableMatrixView(gradients.k.data(), p.k.rows, head),
                      MutableMatrixView(gradients.v.data(), p.v.rows, p.v.cols)}
            .run();
    }
    for (float& x : gradients.q) x = p.scale * x;
    for (float& x : gradients.k) x = p.scale * x;
    return gradients;
}

std::vector<AttentionTile> tiles_of_query(const TensorCoreModel& model, const AttentionProblem& p, std::int64_t query) {
    require_problem(model, p);
    if (query < 0 || query >= p.q.rows) {
        throw UsageError(fmt::format("there is no query {}; give 0 to {}", query, p.q.rows - 1));
    }
    const float logarithm = tiled_attention(model, p).logarithms[static_cast<std::size_t>(query)];
    std::vector<AttentionTile> tiles;
    for (int s = 0; s < p.splits; ++s) {
        std::vector<float> out(static_cast<std::size_t>(p.v.cols));
        float own = 0;
        QueryBlock block{model, p, gemm, query, MutableMatrixView(out.data(), 1, p.v.cols), &own};
        block.watch = [&](std::int64_t first_key, const float* scores, const MutableMatrixView& weights, float factor) {
            AttentionTile tile{s, first_key, weights.cols, std::count(scores, scores + weights.cols, masked_score)};
            if (tile.masked < tile.keys) {
                const float* const largest = std::max_element(scores, scores + weights.cols);
                tile.largest_key = first_key + (largest - scores);
                tile.largest_score = *largest;
            }
            tile.reference = block.rows[0].largest;
            tile.factor = factor;
            tile.sum = block.rows[0].sum;
            const Rounder<float> round(weights_of(p));
            for (std::int64_t j = 0; j < weights.cols; ++j) {
                if (scores[j] == masked_score) continue;
                tile.lost += round(weights(0, j)) == 0 ? 1 : 0;
                tile.share += std::exp(double{scores[j]} - double{logarithm});
            }
            tiles.push_back(tile);
        };
        block.run(KeySplit(p, s));
    }
    return tiles;
}

}  // namespace ulp
