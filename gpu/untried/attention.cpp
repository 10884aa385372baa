#include "gpu/untried/attention.hpp"

#include <fmt/format.h>

#include "gpu/devices/reference.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/matrix_units/gemm.hpp"

namespace ulp::gpu {
namespace {

bool is_operand_format(const FloatFormat& format) { return format == formats::fp16 || format == formats::bf16; }

}  // namespace

void require_attention(const AttentionProblem& p) {
    if (!is_operand_format(p.format)) throw UsageError("attention takes fp16 or bf16; choose one of them");
    if (p.q.cols != p.k.cols || p.k.cols != p.v.cols || p.k.rows != p.v.rows) {
        throw UsageError(
            fmt::format("Q is {} x {}, K {} x {} and V {} x {}: they need one width, and K as many rows as V", p.q.rows,
                        p.q.cols, p.k.rows, p.k.cols, p.v.rows, p.v.cols));
    }
    if (p.q.cols < 16 || p.q.cols % 16 != 0 || p.q.cols > largest_head) {
        throw UsageError(fmt::format("a head of {} is not a multiple of 16 from 16 to {}", p.q.cols, largest_head));
    }
    if (p.tile_keys < 16 || p.tile_keys % 16 != 0 || p.tile_keys > largest_tile_keys) {
        throw UsageError(
            fmt::format("a tile of {} keys is not a multiple of 16 from 16 to {}", p.tile_keys, largest_tile_keys));
    }
    if (p.q.rows < 1 || p.k.rows < 1) throw UsageError("attention needs at least one query and one key");
    if (p.splits != 1 || p.rescale_threshold != 0 || p.weights.value_or(p.format) != p.format) {
        throw UsageError("the attention kernel takes one split, no threshold and P in the operands' format");
    }
}

std::vector<float> attend(const TensorCoreModel& model, const AttentionProblem& problem) {
    require_attention(problem);
    return tiled_attention(model, problem).out;
}
std::vector<float> attend_plain(const TensorCoreModel& model, const AttentionProblem& problem) {
    require_attention(problem);
    return tiled_attention(model, problem, gemm_plain).out;
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
