// One warp takes 16 queries through all tiles of keys (transformer_pass.hpp says what it computes). Scores, weights and
// sums lie in shared memory, so that each step reads as the definition does; the speed is that of a reference.
#include "gpu/instructions/mma.cuh"
#include "gpu/untried/function_kernels.hpp"
#include "softfloat/functions/online_softmax.hpp"
#include "softfloat/round.hpp"

namespace ulp::gpu {
namespace {

constexpr int rows = 16;  // queries of a block

// nvcc 13 takes no FloatFormat as a kernel's template argument.
struct HalfOperands {
    static constexpr FloatFormat format() { return formats::fp16; }
};
struct Bf16Operands {
    static constexpr FloatFormat format() { return formats::bf16; }
};

/// Two neighbouring codes of a row, or zeros beyond the last row.
__device__ std::uint32_t pair_at(const std::uint16_t* codes, std::int64_t row, std::int64_t count, int head,
                                 int column) {
    if (row >= count) return 0;
    return *reinterpret_cast<const std::uint32_t*>(codes + row * head + column);
}

template <class Op, class Operands>
struct Block {
    using Word = typename Op::Word;
    AttentionExtents e;
    const std::uint16_t *q, *k, *v;
    float *scores, *sums;    // rows x tile_keys, rows x head
    std::uint16_t* weights;  // rows x tile_keys
    SoftmaxRow* state;       // of each row
    float* factors;
    std::int64_t first;  // query
    int lane;

    /// 16 x 8 scores: the keys from first_key + n on.
    __device__ void score(std::int64_t first_key, int n) {
        Word d[Op::c_words] = {};
        for (int step = 0; step < e.head; step += Op::shape.k) {
            Word a[Op::a_words];
            Word b[Op::b_words];
            for (int r = 0; r < Op::a_words; ++r) {
                const Place at = layout::a_word(Op::shape, lane, r);
                a[r] = pair_at(q, first + at.row, e.queries, e.head, step + 2 * at.column);
            }
            for (int r = 0; r < Op::b_words; ++r) {
                const Place at = layout::b_word(lane, r);
                b[r] = pair_at(k, first_key + n + at.row, e.keys, e.head, step + 2 * at.column);
            }
            Op::apply(d, a, b);
        }
        for (int r = 0; r < Op::c_words; ++r) {
            const Place at = layout::c_word(32, lane, r);
            const std::int64_t key = first_key + n + at.column;
            const bool masked = key >= e.keys || (e.causal && key > first + at.row);
            scores[at.row * e.tile_keys + n + at.column] =
                masked ? -std::numeric_limits<float>::infinity() : e.scale * __uint_as_float(d[r]);
        }
    }
    /// A row of scores becomes weights, in fp32 and then in the operands' format; zeros from `count` on.
    __device__ void weigh(int row, int count) {
        float* const x = scores + row * e.tile_keys;
        factors[row] = next_tile(state[row], x, count);
        std::uint16_t* const codes = weights + row * e.tile_keys;
        for (int j = 0; j < count; ++j) {
            Context context;
            const std::uint64_t code = convert_bits(Operands::format(), formats::fp32, __float_as_uint(x[j]), context);
            codes[j] = static_cast<std::uint16_t>(code);
        }
        for (int j = count; j < e.tile_keys; ++j) codes[j] = 0;
    }
    /// 16 x 8 sums: the columns of V from n on.
    __device__ void add_values(std::int64_t first_key, int count, int n) {
        Word d[Op::c_words];
        for (int r = 0; r < Op::c_words; ++r) {
            const Place at = layout::c_word(32, lane, r);
            d[r] = __float_as_uint(sums[at.row * e.head + n + at.column] * factors[at.row]);
        }
        for (int step = 0; step < count; step += Op::shape.k) {
            Word a[Op::a_words];
            Word b[Op::b_words];
            for (int r = 0; r < Op::a_words; ++r) {
                const Place at = layout::a_word(Op::shape, lane, r);
                a[r] = *reinterpret_cast<const std::uint32_t*>(weights + at.row * e.tile_keys + step + 2 * at.column);
            }
            for (int r = 0; r < Op::b_words; ++r) {
                const Place at = layout::b_word(lane, r);
                const int j = step + 2 * at.column;
                const std::uint16_t* const value = v + (first_key + j) * e.head + n + at.row;
                const std::uint32_t low = j < count ? value[0] : 0;
                const std::uint32_t high = j + 1 < count ? value[e.head] : 0;
                b[r] = low | high << 16;
            }
            Op::apply(d, a, b);
        }
        for (int r = 0; r < Op::c_words; ++r) {
            const Place at = layout::c_word(32, lane, r);
            sums[at.row * e.head + n + at.column] = __uint_as_float(d[r]);
        }
    }
    __device__ void take_tile(std::int64_t first_key) {
        const std::int64_t left = e.keys - first_key;
        const int count = left < e.tile_keys ? static_cast<int>(left) : e.tile_keys;
        for (int n = 0; n < count; n += Op::shape.n) score(first_key, n);
        __syncwarp();
        if (lane < rows) weigh(lane, count);
        __syncwarp();
        for (int n = 0; n < e.head; n += Op::shape.n) add_values(first_key, count, n);
        __syncwarp();
    }
};

template <class Op, class Operands>
__global__ void attention(AttentionExtents e, const std::uint16_t* q, const std::uint16_t* k, const std::uint16_t* v,
                          float* out) {
    extern __shared__ float shared[];
    __shared__ SoftmaxRow state[rows];
    __shared__ float factors[rows];
    float* const sums = shared + rows * e.tile_keys;
    auto* const weights = reinterpret_cast<std::uint16_t*>(sums + rows * e.head);
    const int lane = static_cast<int>(threadIdx.x);
    const std::int64_t first = std::int64_t{blockIdx.x} * rows;
    Block<Op, Operands> block{e, q, k, v, shared, sums, weights, state, factors, first, lane};
    for (int i = lane; i < rows * e.head; i += layout::lanes) sums[i] = 0;
    if (lane < rows) state[lane] = SoftmaxRow{};
    __syncwarp();
    for (std::int64_t key = 0; key < e.keys; key += e.tile_keys) block.take_tile(key);
    for (int i = lane; i < rows * e.head; i += layout::lanes) {
        const std::int64_t row = first + i / e.head;
        if (row < e.queries) out[row * e.head + i % e.head] = sums[i] / state[i / e.head].sum;
    }
}

template <class Op, class Operands>
void launch(const AttentionExtents& e, const std::uint16_t* q, const std::uint16_t* k, const std::uint16_t* v,
            float* out) {
    const auto blocks = static_cast<unsigned>((e.queries + rows - 1) / rows);
    attention<Op, Operands><<<blocks, layout::lanes, attention_shared_bytes(e)>>>(e, q, k, v, out);
}

}  // namespace

std::size_t attention_shared_bytes(const AttentionExtents& e) {
    const auto tile = static_cast<std::size_t>(rows * e.tile_keys);
    return tile * (sizeof(float) + sizeof(std::uint16_t)) + static_cast<std::size_t>(rows * e.head) * sizeof(float);
}

void launch_attention_fp16(const AttentionExtents& extents, const std::uint16_t* q, const std::uint16_t* k,
                           const std::uint16_t* v, float* out) {
    launch<Mma<16, 8, 16, Element::fp16, Element::fp16, Element::fp32>, HalfOperands>(extents, q, k, v, out);
}
void launch_attention_bf16(const AttentionExtents& extents, const std::uint16_t* q, const std::uint16_t* k,
                           const std::uint16_t* v, float* out) {
    launch<Mma<16, 8, 16, Element::bf16, Element::bf16, Element::fp32>, Bf16Operands>(extents, q, k, v, out);
}

}  // namespace ulp::gpu
