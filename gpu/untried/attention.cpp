#include "gpu/untried/attention.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/devices/reference.hpp"
#include "gpu/untried/online_softmax.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/round.hpp"

namespace ulp::gpu {
namespace {

using Multiply = void (*)(const TensorCoreModel& model, const GemmProblem& problem);

/// Queries that the model takes at once: any number gives the same bits.
constexpr std::int64_t query_block = 64;

/// The queries from `first` on of one head, tile by tile.
struct QueryBlock {
    const TensorCoreModel& model;
    const AttentionProblem& problem;
    Multiply product;
    std::int64_t first, count;
    MutableMatrixView out;  // count x head
    std::vector<SoftmaxRow> rows = std::vector<SoftmaxRow>(static_cast<std::size_t>(count));

    void weigh(MutableMatrixView scores, std::int64_t first_key, std::int64_t i) {
        for (std::int64_t j = 0; j < scores.cols; ++j) {
            const bool masked = problem.causal && first_key + j > first + i;
            scores(i, j) = masked ? -std::numeric_limits<float>::infinity() : problem.scale * scores(i, j);
        }
        const float factor = next_tile(rows[static_cast<std::size_t>(i)], &scores(i, 0), scores.cols);
        for (std::int64_t j = 0; j < scores.cols; ++j) {
            scores(i, j) = static_cast<float>(round_to(problem.format, static_cast<double>(scores(i, j))));
        }
        for (std::int64_t j = 0; j < out.cols; ++j) out(i, j) = out(i, j) * factor;
    }
    void take_tile(std::int64_t first_key) {
        const std::int64_t keys = std::min<std::int64_t>(problem.tile_keys, problem.k.rows - first_key);
        std::vector<float> memory(static_cast<std::size_t>(count * keys));
        const MutableMatrixView scores(memory.data(), count, keys);
        const std::int64_t head = problem.q.cols;
        const MatrixView k = problem.k.part(first_key, 0, keys, head);
        product(model, {problem.q.part(first, 0, count, head), k.transposed(), {}, scores});
        for (std::int64_t i = 0; i < count; ++i) weigh(scores, first_key, i);
        product(model, {scores, problem.v.part(first_key, 0, keys, head), out, out});
    }
    void run() {
        for (std::int64_t key = 0; key < problem.k.rows; key += problem.tile_keys) take_tile(key);
        for (std::int64_t i = 0; i < count; ++i) {
            for (std::int64_t j = 0; j < out.cols; ++j) out(i, j) = out(i, j) / rows[static_cast<std::size_t>(i)].sum;
        }
    }
};

std::vector<float> attend_by(Multiply product, const TensorCoreModel& model, const AttentionProblem& problem) {
    require_attention(problem);
    const std::int64_t queries = problem.q.rows;
    std::vector<float> result(static_cast<std::size_t>(queries * problem.q.cols));
    const MutableMatrixView out(result.data(), queries, problem.q.cols);
    for (std::int64_t first = 0; first < queries; first += query_block) {
        const std::int64_t count = std::min(query_block, queries - first);
        QueryBlock{model, problem, product, first, count, out.part(first, 0, count, out.cols)}.run();
    }
    return result;
}

bool is_operand_format(const FloatFormat& format) { return format == formats::fp16 || format == formats::bf16; }

}  // namespace

void require_attention(const AttentionProblem& p) {
    if (!is_operand_format(p.format)) throw UsageError("attention takes fp16 or bf16; choose one of them");
    if (p.q.cols != p.k.cols || p.k.cols != p.v.cols || p.k.rows != p.v.rows) {
        throw UsageError(
            fmt::format("Q is {} x {}, K {} x {} and V {} x {}: they need one width, and K as many rows as V", p.q.rows,
                        p.q.cols, p.k.rows, p.k.cols, p.v.rows, p.v.cols));
    }
    if (p.q.cols < 16 || p.q.cols % 16 != 0 || p.q.cols > AttentionProblem::largest_head) {
        throw UsageError(fmt::format("a head of {} is not a multiple of 16 from 16 to {}", p.q.cols,
                                     AttentionProblem::largest_head));
    }
    if (p.tile_keys < 16 || p.tile_keys % 16 != 0 || p.tile_keys > AttentionProblem::largest_tile_keys) {
        throw UsageError(fmt::format("a tile of {} keys is not a multiple of 16 from 16 to {}", p.tile_keys,
                                     AttentionProblem::largest_tile_keys));
    }
    if (p.q.rows < 1 || p.k.rows < 1) throw UsageError("attention needs at least one query and one key");
}

std::vector<float> attend(const TensorCoreModel& model, const AttentionProblem& problem) {
    return attend_by(gemm, model, problem);
}
std::vector<float> attend_plain(const TensorCoreModel& model, const AttentionProblem& problem) {
    return attend_by(gemm_plain, model, problem);
}

const Instruction& attention_instruction(const Executor& device, const FloatFormat& format) {
    const bool halves = format == formats::fp16;
    const Instruction& row = instruction_by_name(halves ? "mma.m16n8k16.fp16.fp32" : "mma.m16n8k16.bf16.fp32");
    if (!device.has(row)) {
        throw UsageError(fmt::format("{} has no {}, which the attention kernel needs; take a GPU from {} on",
                                     device.info().name, row.name(), architecture_name(row.availability.minimum)));
    }
    return row;
}

TensorCoreModel attention_model(const Executor& device, const FloatFormat& format) {
    const Instruction& row = attention_instruction(device, format);
    const auto promised = promised_model(row, device.info().architecture);
    if (!promised) {
        throw UsageError(
            fmt::format("no row of the table says what {} computes on {}", row.name(), device.info().name));
    }
    return promised->model;
}

std::vector<float> attend_on(const Executor& device, const AttentionProblem& problem) {
    if (device.info().hardware) return attend_on_cuda(problem);
    return attend_plain(attention_model(device, problem.format), problem);
}

}  // namespace ulp::gpu
