#include "softfloat/matrix_units/product.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "softfloat/matrix_units/chain_dot.hpp"

namespace ulp {

namespace {

float from_bits(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }
std::uint64_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

float add_fp32(float x, float y) { return from_bits(add_nearest(formats::fp32, bits_of(x), bits_of(y))); }

float nvidia_nan(std::uint64_t bits) {
    return from_bits(is_nan(formats::fp32, bits) ? tensor_core_nan(formats::fp32) : bits);
}

float multiply(float x, float y) {
    Context context;
    return nvidia_nan(multiply_bits<std::uint64_t>(formats::fp32, bits_of(x), bits_of(y), context));
}

/// Each factor of 0 leaves its operand unread.
float apply(const LinearEpilogue& epilogue, float sum, float c) {
    if (epilogue.alpha == 0 && epilogue.beta == 0) return 0;
    if (epilogue.beta == 0) return multiply(epilogue.alpha, sum);
    const float scaled_c = multiply(epilogue.beta, c);
    if (epilogue.alpha == 0) return scaled_c;
    Context context;
    return nvidia_nan(
        fma_bits<std::uint64_t>(formats::fp32, bits_of(epilogue.alpha), bits_of(sum), bits_of(scaled_c), context));
}

/// An m x n array of sums, row-major.
using Sums = std::vector<float>;

GemmProblem stretch(const GemmProblem& p, std::int64_t first, std::int64_t count, const float* c, Sums& sums) {
    return {p.a.part(0, first, p.m(), count),
            p.b.part(first, 0, count, p.n()),
            {c, p.m(), p.n()},
            {sums.data(), p.m(), p.n()}};
}

void add_to(Sums& total, const Sums& sums) {
    for (std::size_t i = 0; i < total.size(); ++i) total[i] = add_fp32(total[i], sums[i]);
}

/// Two pieces' sums, in fp32 or in the accumulator's format.
void add_piece(const TensorCoreModel& model, const ProductOrder& order, Sums& total, const Sums& sums) {
    if (!order.narrow_sums) return add_to(total, sums);
    const FloatFormat& format = model.accumulator;
    for (std::size_t i = 0; i < total.size(); ++i) {
        const std::uint64_t sum = add_nearest(format, operand_code(format, total[i]), operand_code(format, sums[i]));
        total[i] = in_fp32_container(format, static_cast<std::uint32_t>(sum));
    }
}

/// k in [first, first + count), promoted at intervals, starting from c or from zero.
Sums sum_piece(const TensorCoreModel& model, const ProductOrder& order, const GemmProblem& p, std::int64_t first,
               std::int64_t count, const float* c) {
    Sums sums(static_cast<std::size_t>(p.m() * p.n()));
    if (order.promote_every == 0 || count == 0) {
        const std::int64_t rest = order.tile_k > 0 ? count % order.tile_k : 0;
        if (rest == 0 || rest == count) {
            gemm(model, stretch(p, first, count, c, sums));
            return sums;
        }
        Sums begun(sums.size());
        gemm(model, stretch(p, first, rest, c, begun));
        gemm(model, stretch(p, first + rest, count - rest, begun.data(), sums));
        return sums;
    }
    Sums total(sums.size());
    if (c != nullptr) total.assign(c, c + total.size());
    for (std::int64_t done = 0; done < count; done += order.promote_every) {
        gemm(model, stretch(p, first + done, std::min(order.promote_every, count - done), nullptr, sums));
        add_to(total, sums);
    }
    return total;
}

/// Each piece is a stretch of k, of whole instructions.
Sums sum_of_stretches(const TensorCoreModel& model, const ProductOrder& order, const GemmProblem& p, const float* c) {
    const std::int64_t instructions = (p.k() + model.instruction_k - 1) / model.instruction_k;
    const std::int64_t equal = (instructions + order.split_k - 1) / order.split_k * model.instruction_k;
    const std::int64_t length = order.piece_k > 0 ? order.piece_k : equal;
    Sums total = sum_piece(model, order, p, 0, std::min(length, p.k()), c);
    for (std::int64_t first = length; first < p.k(); first += length) {
        add_piece(model, order, total, sum_piece(model, order, p, first, std::min(length, p.k() - first), nullptr));
    }
    return total;
}

/// The k of a piece that takes turns with the others.
std::vector<std::int64_t> sliced_k(const ProductOrder& order, std::int64_t k, int piece) {
    std::vector<std::int64_t> mine;
    for (std::int64_t i = 0; i < k; ++i) {
        if (i / order.slice_k % order.split_k == piece) mine.push_back(i);
    }
    return mine;
}

/// Each piece has slices of k, put side by side here.
Sums sum_of_slices(const TensorCoreModel& model, const ProductOrder& order, const GemmProblem& p, const float* c) {
    Sums total;
    for (int piece = 0; piece < order.split_k; ++piece) {
        const auto mine = sliced_k(order, p.k(), piece);
        if (piece > 0 && mine.empty()) break;
        const auto count = static_cast<std::int64_t>(mine.size());
        std::vector<float> a, b;
        for (std::int64_t i = 0; i < p.m(); ++i) {
            for (const std::int64_t k : mine) a.push_back(p.a(i, k));
        }
        for (const std::int64_t k : mine) {
            for (std::int64_t j = 0; j < p.n(); ++j) b.push_back(p.b(k, j));
        }
        const GemmProblem side_by_side{{a.data(), p.m(), count}, {b.data(), count, p.n()}, {}, {nullptr, p.m(), p.n()}};
        Sums sums = sum_piece(model, order, side_by_side, 0, count, piece == 0 ? c : nullptr);
        if (piece == 0) {
            total = std::move(sums);
        } else {
            add_piece(model, order, total, sums);
        }
    }
    return total;
}

Sums sum_of_products(const TensorCoreModel& model, const ProductOrder& order, const GemmProblem& p, const float* c) {
    const bool reads_a_and_b = !order.epilogue || order.epilogue->alpha != 0;
    if (!reads_a_and_b) return Sums(static_cast<std::size_t>(p.m() * p.n()));
    return order.slice_k > 0 ? sum_of_slices(model, order, p, c) : sum_of_stretches(model, order, p, c);
}

void check(const TensorCoreModel& model, const ProductOrder& order) {
    const auto k = std::to_string(model.instruction_k);
    if (order.split_k < 1) throw std::invalid_argument("split-k needs 1 piece or more");
    if (order.slice_k < 0) throw std::invalid_argument("slices of k need 1 k or more");
    if (order.piece_k < 0 || order.tile_k < 0) throw std::invalid_argument("pieces and tiles of k need 1 k or more");
    if (order.piece_k > 0 && order.slice_k > 0)
        throw std::invalid_argument("pieces of k are split or sliced, not both");
    if (order.promote_every > 0 && order.tile_k > 0) throw std::invalid_argument("promoted sums know no tiles of k");
    if (order.promote_every < 0 || order.promote_every % model.instruction_k != 0) {
        throw std::invalid_argument("sums are promoted between instructions; choose a multiple of " + k);
    }
    if (model.accumulator.precision() > formats::fp32.precision()) {
        throw std::invalid_argument("orders of products are defined for accumulators of up to fp32");
    }
}

/// Row-major C in the accumulator's values, or nothing.
Sums addends(const TensorCoreModel& model, const GemmProblem& p) {
    Sums c;
    if (!p.has_c()) return c;
    c.reserve(static_cast<std::size_t>(p.m() * p.n()));
    for (std::int64_t i = 0; i < p.m(); ++i) {
        for (std::int64_t j = 0; j < p.n(); ++j) {
            c.push_back(in_fp32_container(model.accumulator, operand_code(model.accumulator, p.c(i, j))));
        }
    }
    return c;
}

}  // namespace

void soft_product(const TensorCoreModel& model, const ProductOrder& order, const GemmProblem& p) {
    check(model, order);
    require_shapes(p);
    const bool one_chain = order.split_k == 1 && order.piece_k == 0 && order.tile_k == 0;
    if (one_chain && order.promote_every == 0 && !order.epilogue) {
        gemm(model, p);
        return;
    }
    const bool reads_c = !order.epilogue || order.epilogue->beta != 0;
    const Sums c = reads_c ? addends(model, p) : Sums{};
    const float* first_c = c.empty() || order.epilogue ? nullptr : c.data();
    const Sums total = sum_of_products(model, order, p, first_c);
    for (std::int64_t i = 0; i < p.m(); ++i) {
        for (std::int64_t j = 0; j < p.n(); ++j) {
            const auto at = static_cast<std::size_t>(i * p.n() + j);
            const float d = order.epilogue ? apply(*order.epilogue, total[at], c.empty() ? 0.0F : c[at]) : total[at];
            p.d(i, j) = in_fp32_container(model.accumulator, operand_code(model.accumulator, d));
        }
    }
}

}  // namespace ulp
