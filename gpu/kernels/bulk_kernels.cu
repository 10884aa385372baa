#include "gpu/kernels/bulk_device.cuh"
#include "gpu/kernels/bulk_inputs.hpp"
#include "gpu/kernels/exact_dot.hpp"
#include "gpu/kernels/launch.cuh"

namespace ulp::gpu {
namespace {

template <InputKind Kind, Element E>
__global__ void make_inputs(Instruction row, InputClass input_class, std::uint64_t seed, OperandName operand,
                            int column_bits, std::uint64_t words, std::uint32_t* out) {
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * threads + threadIdx.x; i < words;
         i += std::uint64_t{gridDim.x} * threads) {
        out[i] = input_word_by_shifts<Kind, E>(row, input_class, seed, operand, column_bits, i);
    }
}

/// An element by the plain model: the chain of instructions over its row and column. Of instruction_dot's cases those
/// that GPUs here have (the models that the decoded path knows, too): the others would be compiled for nothing.
__device__ std::uint32_t plain_element(const BulkLayout& layout, const TensorCoreModel& model, const BulkData& data,
                                       std::uint64_t element) {
    const ElementPlace at = place_of(layout, element);
    const std::uint64_t row_codes = static_cast<std::uint64_t>(layout.k) * static_cast<unsigned>(layout.steps);
    const int a_bits = bits_of(layout.instruction.a);
    const int b_bits = bits_of(layout.instruction.b);
    auto sum = static_cast<std::uint32_t>(packed_code(data.c, element, bits_of(layout.instruction.accumulator)));
    for (int step = 0; step < layout.steps; ++step) {
        std::uint32_t a[max_instruction_k];
        std::uint32_t b[max_instruction_k];
        for (int k = 0; k < layout.k; ++k) {
            const std::uint64_t offset = static_cast<std::uint64_t>(step) * layout.k + k;
            a[k] = static_cast<std::uint32_t>(packed_code(data.a, at.a_row * row_codes + offset, a_bits));
            b[k] = static_cast<std::uint32_t>(packed_code(data.b, at.b_row * row_codes + offset, b_bits));
        }
        sum = model.summation == Summation::fp8_by_hmma ? fp8_by_hmma_instruction(model, a, b, sum)
                                                        : fused_instruction(model, a, b, sum);
    }
    return sum;
}

/// Every element, or with a queue what the decoded comparison left over.
__global__ void compare_plain(BulkLayout layout, TensorCoreModel model, BulkData data, BulkTally* tally,
                              const std::uint32_t* queue) {
    const std::uint64_t count = queue == nullptr ? layout.elements() : tally->in_queue;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * threads + threadIdx.x; i < count;
         i += std::uint64_t{gridDim.x} * threads) {
        const std::uint64_t element = queue == nullptr ? i : queue[i];
        report(tally, element, equals_d(layout, data, element, plain_element(layout, model, data, element)));
    }
}

/// A matrix's `rows` rows of k codes from `offset` on, decoded into shared memory; one code more between rows, against
/// bank conflicts.
template <class Decode>
__device__ void decode_rows(const DecodedModel& model, const std::uint32_t* words, int rows, int row_codes, int offset,
                            int bits, Int32Operand* out, Decode decode_one) {
    const int k_bits = top_bit(static_cast<std::uint32_t>(model.k));
    for (int i = static_cast<int>(threadIdx.x); i < rows * model.k; i += threads) {
        const int row = i >> k_bits;
        const int k = i & (model.k - 1);
        const std::uint32_t code = near_code(words, static_cast<std::uint32_t>(row * row_codes + offset + k), bits);
        out[row * (model.k + 1) + decoded_position(model, k)] = decode_one(model, code);
    }
}

/// A block a matrix: its operands are decoded once a step, its accumulators stay in shared memory over the steps.
/// Emulated: model.emulated, whose code would cost the other models registers.
template <int Group, bool Emulated>
__global__ void __launch_bounds__(threads)
    compare_decoded(BulkLayout layout, DecodedModel model, BulkData data, BulkTally* tally, std::uint32_t* queue) {
    extern __shared__ std::uint64_t shared[];
    model.emulated = Emulated;
    const int stride = layout.k + 1;
    auto* a = reinterpret_cast<Int32Operand*>(shared);
    Int32Operand* b = a + layout.rows * stride;
    auto* sums = reinterpret_cast<std::uint32_t*>(b + layout.columns * stride);
    const int elements = layout.rows * layout.columns;
    const int column_bits = top_bit(static_cast<std::uint32_t>(layout.columns));
    const int a_bits = bits_of(layout.instruction.a);
    const int b_bits = bits_of(layout.instruction.b);
    const int c_bits = bits_of(layout.instruction.accumulator);
    const int row_codes = layout.k * layout.steps;
    const auto words_of = [&](const std::uint32_t* words, std::uint32_t matrix, int rows, int bits) {
        return words + std::uint64_t{matrix} * static_cast<unsigned>(rows * row_codes * bits / 32);
    };
    const auto decode_one_a = [](const DecodedModel& m, std::uint32_t code) { return decode_a(m, code); };
    const auto decode_one_b = [](const DecodedModel& m, std::uint32_t code) { return decode_b(m, code); };
    for (std::uint32_t matrix = blockIdx.x; matrix < layout.matrices; matrix += gridDim.x) {
        const std::uint64_t first = std::uint64_t{matrix} * static_cast<unsigned>(elements);
        __syncthreads();  // the matrix before is done with
        for (int i = static_cast<int>(threadIdx.x); i < elements; i += threads) {
            sums[i] = accumulator_code(data.c, first + i, c_bits);
        }
        for (int step = 0; step < layout.steps; ++step) {
            const int offset = step * layout.k;
            __syncthreads();
            decode_rows(model, words_of(data.a, matrix, layout.rows, a_bits), layout.rows, row_codes, offset, a_bits, a,
                        decode_one_a);
            decode_rows(model, words_of(data.b, matrix, layout.columns, b_bits), layout.columns, row_codes, offset,
                        b_bits, b, decode_one_b);
            __syncthreads();
            // An element once left to the plain model stays so: its sum is a NaN, which no later group turns back.
            for (int i = static_cast<int>(threadIdx.x); i < elements; i += threads) {
                const int row = i >> column_bits;
                const int column = i & (layout.columns - 1);
                if (!decoded_instruction<Group>(model, a + row * stride, b + column * stride, sums[i])) {
                    sums[i] = static_cast<std::uint32_t>(tensor_core_nan(model.model.accumulator));
                }
            }
        }
        __syncthreads();
        for (int i = static_cast<int>(threadIdx.x); i < elements; i += threads) {
            if (model.c.is_special(sums[i])) {
                queue[atomicAdd(&tally->in_queue, 1ULL)] = static_cast<std::uint32_t>(first + i);
            } else {
                report(tally, first + i, accumulator_code(data.d, first + i, c_bits) == sums[i]);
            }
        }
    }
}

__device__ std::uint64_t exact_element(const BulkLayout& layout, const BulkData& data, std::uint64_t element) {
    const Instruction& row = layout.instruction;
    const ElementPlace at = place_of(layout, element);
    const int bits = bits_of(row.a);
    const std::uint64_t row_codes = static_cast<std::uint64_t>(layout.k) * static_cast<unsigned>(layout.steps);
    std::uint64_t sum = packed_code(data.c, element, bits_of(row.accumulator));
    for (int step = 0; step < layout.steps; ++step) {
        std::int64_t products = 0;
        for (int k = 0; k < layout.k; ++k) {
            const std::uint64_t offset = static_cast<std::uint64_t>(step) * layout.k + k;
            const std::uint64_t x = packed_code(data.a, at.a_row * row_codes + offset, bits);
            const std::uint64_t y = packed_code(data.b, at.b_row * row_codes + offset, bits);
            if (row.a == Element::fp64) {
                sum = fp64_step(x, y, sum);
            } else {
                products += integer_product(row, x, y);
            }
        }
        if (row.a != Element::fp64) sum = integer_accumulate(row, products, static_cast<std::uint32_t>(sum));
    }
    return sum;
}

__global__ void compare_exact(BulkLayout layout, BulkData data, BulkTally* tally) {
    const std::uint64_t elements = layout.elements();
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * threads + threadIdx.x; i < elements;
         i += std::uint64_t{gridDim.x} * threads) {
        report(tally, i, equals_d(layout, data, i, exact_element(layout, data, i)));
    }
}

template <int Group>
void enqueue_decoded(const BulkLayout& layout, const DecodedModel& model, const BulkData& data, BulkTally* tally,
                     std::uint32_t* queue) {
    const auto lines = static_cast<std::size_t>(layout.rows + layout.columns);
    const std::size_t bytes = lines * static_cast<std::size_t>(layout.k + 1) * sizeof(Int32Operand) +
                              static_cast<std::size_t>(layout.rows * layout.columns) * 4;
    const auto kernel = model.emulated ? compare_decoded<Group, true> : compare_decoded<Group, false>;
    kernel<<<blocks_for(layout.matrices, 1), threads, bytes>>>(layout, model, data, tally, queue);
}

}  // namespace

void enqueue_inputs(const BulkLayout& layout, InputClass input_class, std::uint64_t seed, const BulkData& data) {
    const auto one = [&](OperandName operand, std::uint64_t rows, std::uint64_t columns, int bits, std::uint32_t* out) {
        const std::uint64_t words = rows * columns * static_cast<unsigned>(bits) / 32;
        const int column_bits = top_bit(static_cast<std::uint32_t>(columns));
        with_input_kind(layout.instruction, operand, [&]<InputKind Kind, Element E>() {
            make_inputs<Kind, E><<<blocks_for(words, threads), threads>>>(layout.instruction, input_class, seed,
                                                                          operand, column_bits, words, out);
        });
    };
    const std::uint64_t row_codes = static_cast<std::uint64_t>(layout.k) * static_cast<unsigned>(layout.steps);
    const std::uint64_t matrices = layout.matrices;
    one(OperandName::a, matrices * static_cast<unsigned>(layout.rows), row_codes, bits_of(layout.instruction.a),
        data.a);
    one(OperandName::b, matrices * static_cast<unsigned>(layout.columns), row_codes, bits_of(layout.instruction.b),
        data.b);
    one(OperandName::c, matrices * static_cast<unsigned>(layout.rows), static_cast<unsigned>(layout.columns),
        bits_of(layout.instruction.accumulator), data.c);
    if (layout.instruction.scaling == Scaling::none) return;
    const auto scales = static_cast<std::uint64_t>(layout.instruction.scales() * layout.steps);
    one(OperandName::a_scales, matrices * static_cast<unsigned>(layout.rows), scales, 8, data.a_scales);
    one(OperandName::b_scales, matrices * static_cast<unsigned>(layout.columns), scales, 8, data.b_scales);
}

void enqueue_decoded_comparison(const BulkLayout& layout, const TensorCoreModel& model, const BulkData& data,
                                BulkTally* tally, std::uint32_t* queue) {
    const DecodedModel decoded = decoded_model(model);
    switch (decoded.model.group_size) {
        case 4: enqueue_decoded<4>(layout, decoded, data, tally, queue); break;
        case 8: enqueue_decoded<8>(layout, decoded, data, tally, queue); break;
        case 16: enqueue_decoded<16>(layout, decoded, data, tally, queue); break;
        default: enqueue_decoded<32>(layout, decoded, data, tally, queue); break;
    }
    compare_plain<<<1024, threads>>>(layout, model, data, tally, queue);
}

void enqueue_plain_comparison(const BulkLayout& layout, const TensorCoreModel& model, const BulkData& data,
                              BulkTally* tally) {
    compare_plain<<<blocks_for(layout.elements(), threads), threads>>>(layout, model, data, tally, nullptr);
}

void enqueue_exact_comparison(const BulkLayout& layout, const BulkData& data, BulkTally* tally) {
    compare_exact<<<blocks_for(layout.elements(), threads), threads>>>(layout, data, tally);
}

}  // namespace ulp::gpu
