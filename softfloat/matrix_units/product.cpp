#include "softfloat/matrix_units/product.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "softfloat/array/array.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/names.hpp"
#include "softfloat/round.hpp"
#include "softfloat/support/parallel.hpp"

namespace ulp {

namespace {

constexpr std::array<std::string_view, 3> reduction_names = {"ascending", "descending", "pairwise"};

/// The format of epilogues and of the pieces' sums, whose values an array holds.
template <class Real>
constexpr FloatFormat format_of = formats::fp32;
template <>
constexpr FloatFormat format_of<double> = formats::fp64;

std::uint64_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }
template <class Real>
Real from_bits(std::uint64_t bits) {
    if constexpr (std::is_same_v<Real, double>) {
        return std::bit_cast<double>(bits);
    } else {
        return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    }
}

template <class Real>
Real add_to_nearest(Real x, Real y) {
    return from_bits<Real>(add_nearest(format_of<Real>, bits_of(x), bits_of(y)));
}

template <class Real>
Real nvidia_nan(std::uint64_t bits) {
    return from_bits<Real>(is_nan(format_of<Real>, bits) ? tensor_core_nan(format_of<Real>) : bits);
}

/// A significand of twice the precision.
template <class Real>
using Significand = std::conditional_t<std::is_same_v<Real, double>, UInt128, std::uint64_t>;

template <class Real>
Real multiply(Real x, Real y) {
    Context context;
    return nvidia_nan<Real>(multiply_bits<Significand<Real>>(format_of<Real>, bits_of(x), bits_of(y), context));
}

/// Each factor of 0 leaves its operand unread.
template <class Real>
Real apply(const LinearEpilogue& epilogue, Real sum, Real c) {
    const auto alpha = static_cast<Real>(epilogue.alpha);
    const auto beta = static_cast<Real>(epilogue.beta);
    if (alpha == 0 && beta == 0) return 0;
    if (beta == 0) return multiply(alpha, sum);
    const Real scaled_c = multiply(beta, c);
    if (alpha == 0) return scaled_c;
    Context context;
    return nvidia_nan<Real>(
        fma_bits<Significand<Real>>(format_of<Real>, bits_of(alpha), bits_of(sum), bits_of(scaled_c), context));
}

/// A value of the accumulator's format; others are rounded to it.
float in_accumulator(const TensorCoreModel& model, float x) {
    if (model.accumulator == formats::fp32) return x;
    return in_fp32_container(model.accumulator, operand_code(model.accumulator, x));
}
double in_accumulator(const TensorCoreModel&, double x) { return x; }

/// An m x n array of sums, row-major.
template <class Real>
using Sums = std::vector<Real>;

template <class Real>
ProductProblem<Real> stretch(const ProductProblem<Real>& p, std::int64_t first, std::int64_t count, const Real* c,
                             Sums<Real>& sums) {
    return {p.a.part(0, first, p.m(), count),
            p.b.part(first, 0, count, p.n()),
            {c, p.m(), p.n()},
            {sums.data(), p.m(), p.n()}};
}

template <class Real>
void add_to(Sums<Real>& total, const Sums<Real>& sums) {
    add_array<Real>(total, sums, total);
}

/// To nearest even (tf32: truncated); NaNs stay NaNs of their sign where the format has them.
template <class Real>
void round_sums(const std::optional<FloatFormat>& format, Sums<Real>& sums) {
    if (!format || *format == format_of<Real>) return;
    const bool any_nan = std::ranges::any_of(sums, [](Real x) { return x != x; });
    if (std::is_same_v<Real, double> || !(any_nan || *format == formats::tf32)) return round_array(*format, sums);
    for (Real& x : sums) {
        x = static_cast<Real>(in_fp32_container(*format, operand_code(*format, static_cast<float>(x))));
    }
}

/// The sums of pieces that sum_of(0), sum_of(1), ... give, added as the order says. An addition in the array's format
/// that is rounded again to one of less than half its precision is rounded as if once.
template <class Real, class SumOf>
class PieceAddition {
  public:
    PieceAddition(const ProductOrder& order, const SumOf& sum_of)
        : order_(order), total_format_(order.total_format ? order.total_format : order.sum_format), sum_of_(sum_of) {}

    [[nodiscard]] Sums<Real> of(std::int64_t pieces) const {
        if (pieces == 1) return sum_of_(0);
        if (order_.reduction == SumOrder::pairwise) return in_pairs(0, pieces);
        const bool ascending = order_.reduction == SumOrder::ascending;
        const auto piece = [&](std::int64_t i) { return rounded(ascending ? i : pieces - 1 - i); };
        Sums<Real> total = piece(0);
        round_sums(total_format_, total);
        for (std::int64_t i = 1; i < pieces; ++i) add(total, piece(i));
        return total;
    }

  private:
    [[nodiscard]] Sums<Real> rounded(std::int64_t piece) const {
        Sums<Real> sums = sum_of_(piece);
        round_sums(order_.sum_format, sums);
        return sums;
    }
    void add(Sums<Real>& total, const Sums<Real>& sums) const {
        add_to(total, sums);
        round_sums(total_format_, total);
    }
    [[nodiscard]] Sums<Real> in_pairs(std::int64_t first, std::int64_t count) const {
        if (count == 1) return rounded(first);
        const auto half = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(count - 1)));
        Sums<Real> total = in_pairs(first, half);
        add(total, in_pairs(first + half, count - half));
        return total;
    }

    const ProductOrder& order_;
    std::optional<FloatFormat> total_format_;
    const SumOf& sum_of_;
};

template <class Real, class SumOf>
Sums<Real> add_pieces(const ProductOrder& order, std::int64_t pieces, const SumOf& sum_of) {
    return PieceAddition<Real, SumOf>(order, sum_of).of(pieces);
}

/// k in [first, first + count), promoted at intervals, starting from c or from zero.
template <class Real>
Sums<Real> sum_piece(const TensorCoreModel& model, const ProductOrder& order, const ProductProblem<Real>& p,
                     std::int64_t first, std::int64_t count, const Real* c) {
    Sums<Real> sums(static_cast<std::size_t>(p.m() * p.n()));
    if (order.promote_every == 0 || count == 0) {
        const std::int64_t rest = order.tile_k > 0 ? count % order.tile_k : 0;
        if (rest == 0 || rest == count) {
            gemm(model, stretch(p, first, count, c, sums));
            return sums;
        }
        Sums<Real> begun(sums.size());
        gemm(model, stretch(p, first, rest, c, begun));
        gemm(model, stretch<Real>(p, first + rest, count - rest, begun.data(), sums));
        return sums;
    }
    Sums<Real> total(sums.size());
    if (c != nullptr) total.assign(c, c + total.size());
    const Real* none = nullptr;
    for (std::int64_t done = 0; done < count; done += order.promote_every) {
        gemm(model, stretch(p, first + done, std::min(order.promote_every, count - done), none, sums));
        add_to(total, sums);
    }
    return total;
}

/// Each piece is a stretch of k, of whole instructions.
template <class Real>
Sums<Real> sum_of_stretches(const TensorCoreModel& model, const ProductOrder& order, const ProductProblem<Real>& p,
                            const Real* c) {
    const std::int64_t instructions = (p.k() + model.instruction_k - 1) / model.instruction_k;
    const std::int64_t equal = (instructions + order.split_k - 1) / order.split_k * model.instruction_k;
    const std::int64_t length = order.piece_k > 0 ? order.piece_k : equal;
    const std::int64_t pieces = p.k() > length ? (p.k() + length - 1) / length : 1;
    const Real* none = nullptr;
    return add_pieces<Real>(order, pieces, [&](std::int64_t piece) {
        const std::int64_t first = piece * length;
        return sum_piece(model, order, p, first, std::min(length, p.k() - first), piece == 0 ? c : none);
    });
}

/// The k of a piece that takes turns with the others.
std::vector<std::int64_t> sliced_k(const ProductOrder& order, std::int64_t k, std::int64_t piece) {
    std::vector<std::int64_t> mine;
    for (std::int64_t i = 0; i < k; ++i) {
        if (i / order.slice_k % order.split_k == piece) mine.push_back(i);
    }
    return mine;
}

/// Each piece has slices of k, put side by side here.
template <class Real>
Sums<Real> sum_of_slices(const TensorCoreModel& model, const ProductOrder& order, const ProductProblem<Real>& p,
                         const Real* c) {
    const Real* none = nullptr;
    const std::int64_t slices = (p.k() + order.slice_k - 1) / order.slice_k;
    const std::int64_t pieces = std::clamp<std::int64_t>(slices, 1, order.split_k);
    return add_pieces<Real>(order, pieces, [&](std::int64_t piece) {
        const auto mine = sliced_k(order, p.k(), piece);
        const auto count = static_cast<std::int64_t>(mine.size());
        std::vector<Real> a, b;
        for (std::int64_t i = 0; i < p.m(); ++i) {
            for (const std::int64_t k : mine) a.push_back(p.a(i, k));
        }
        for (const std::int64_t k : mine) {
            for (std::int64_t j = 0; j < p.n(); ++j) b.push_back(p.b(k, j));
        }
        const ProductProblem<Real> side_by_side{
            {a.data(), p.m(), count}, {b.data(), count, p.n()}, {}, {nullptr, p.m(), p.n()}};
        return sum_piece(model, order, side_by_side, 0, count, piece == 0 ? c : none);
    });
}

template <class Real>
Sums<Real> sum_of_products(const TensorCoreModel& model, const ProductOrder& order, const ProductProblem<Real>& p,
                           const Real* c) {
    const bool reads_a_and_b = !order.epilogue || order.epilogue->alpha != 0;
    if (!reads_a_and_b) return Sums<Real>(static_cast<std::size_t>(p.m() * p.n()));
    return order.slice_k > 0 ? sum_of_slices(model, order, p, c) : sum_of_stretches(model, order, p, c);
}

/// Formats of the pieces' sums and of their total.
void require_sum_formats(const ProductOrder& order, const FloatFormat& widest) {
    const bool in_pieces = order.split_k > 1 || order.piece_k > 0;
    const bool says_how = order.sum_format || order.total_format || order.reduction != SumOrder::ascending;
    if (says_how && !in_pieces) {
        throw std::invalid_argument("partial sums are of pieces of k, and there is one; give split or piece, too");
    }
    for (const auto& format : {order.sum_format, order.total_format}) {
        if (!format) continue;
        const bool fits = format->precision() <= widest.precision() && format->emin() >= widest.emin() &&
                          format->emax() <= widest.emax() && format->has_sign;
        if (fits) continue;
        throw std::invalid_argument("partial sums are held in " + name_of(widest) + " at most, not in " +
                                    name_of(*format));
    }
}

}  // namespace

void require_fitting(const TensorCoreModel& model, const ProductOrder& order) {
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
    if (model.accumulator == formats::fp64 && order.promote_every > 0) {
        throw std::invalid_argument("sums in an fp64 accumulator are not promoted: there is no wider one");
    }
    require_sum_formats(order, model.accumulator == formats::fp64 ? formats::fp64 : formats::fp32);
}

namespace {

/// Row-major C in the accumulator's values, or nothing.
template <class Real>
Sums<Real> addends(const TensorCoreModel& model, const ProductProblem<Real>& p) {
    Sums<Real> c;
    if (!p.has_c()) return c;
    c.reserve(static_cast<std::size_t>(p.m() * p.n()));
    for (std::int64_t i = 0; i < p.m(); ++i) {
        for (std::int64_t j = 0; j < p.n(); ++j) c.push_back(in_accumulator(model, p.c(i, j)));
    }
    return c;
}

/// D from the sums that sum_of(the first C, or null) gives.
template <class Real, class SumOf>
void with_epilogue(const TensorCoreModel& model, const ProductOrder& order, const ProductProblem<Real>& p,
                   const SumOf& sum_of) {
    const bool reads_c = !order.epilogue || order.epilogue->beta != 0;
    const Sums<Real> c = reads_c ? addends(model, p) : Sums<Real>{};
    const Sums<Real> total = sum_of(c.empty() || order.epilogue ? nullptr : c.data());
    for (std::int64_t i = 0; i < p.m(); ++i) {
        for (std::int64_t j = 0; j < p.n(); ++j) {
            const auto at = static_cast<std::size_t>(i * p.n() + j);
            const Real d = order.epilogue ? apply(*order.epilogue, total[at], c.empty() ? Real(0) : c[at]) : total[at];
            p.d(i, j) = in_accumulator(model, d);
        }
    }
}

template <class Real>
void product_in_order(const TensorCoreModel& model, const ProductOrder& order, const ProductProblem<Real>& p) {
    require_fitting(model, order);
    require_shapes(p);
    const bool one_chain = order.split_k == 1 && order.piece_k == 0 && order.tile_k == 0;
    if (one_chain && order.promote_every == 0 && !order.epilogue) {
        gemm(model, p);
        return;
    }
    with_epilogue(model, order, p, [&](const Real* c) { return sum_of_products(model, order, p, c); });
}

}  // namespace

void require_scales(const BlockScales& scales, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t block) {
    const std::int64_t blocks = (k + block - 1) / block;
    const auto require = [&](const MatrixView& given, const char* name, std::int64_t rows, std::int64_t cols) {
        if (given.data == nullptr || (given.rows == rows && given.cols == cols)) return;
        throw std::invalid_argument("the scales of " + std::string(name) + " are " + std::to_string(given.rows) +
                                    " x " + std::to_string(given.cols) + " where the blocks are " +
                                    std::to_string(rows) + " x " + std::to_string(cols));
    };
    require(scales.a, "A", m, blocks);
    require(scales.b, "B", blocks, n);
}

void soft_product(const TensorCoreModel& model, const ProductOrder& order, const GemmProblem& p,
                  const BlockScales& scales) {
    if (!scales.any()) return soft_product(model, order, p);
    require_fitting(model, order);
    require_shapes(p);
    const bool one_chain = order.split_k == 1 && order.piece_k == 0 && order.slice_k == 0;
    if (order.promote_every == 0 || !one_chain) {
        throw std::invalid_argument("scales of blocks are multiplied in where the sums of one chain are promoted");
    }
    require_scales(scales, p.m(), p.n(), p.k(), order.promote_every);
    const auto scale = [](const MatrixView& of, std::int64_t i, std::int64_t j) { return of.data ? of(i, j) : 1.0F; };
    with_epilogue(model, order, p, [&](const float* c) {
        Sums<float> sums(static_cast<std::size_t>(p.m() * p.n()));
        Sums<float> total(sums.size());
        if (c != nullptr) total.assign(c, c + total.size());
        const float* none = nullptr;
        for (std::int64_t k = 0; k < p.k(); k += order.promote_every) {
            gemm(model, stretch(p, k, std::min(order.promote_every, p.k() - k), none, sums));
            const std::int64_t block = k / order.promote_every;
            for_each_index(p.m(), worth_threads(p.m() * p.n() > 4096), [&](std::int64_t i) {
                for (std::int64_t j = 0; j < p.n(); ++j) {
                    const auto at = static_cast<std::size_t>(i * p.n() + j);
                    const float both = multiply(scale(scales.a, i, block), scale(scales.b, block, j));
                    total[at] = add_to_nearest(total[at], multiply(sums[at], both));
                }
            });
        }
        return total;
    });
}

void soft_product(const BlockScaledModel& model, const ProductOrder& order, const BlockScaledProblem& p) {
    ProductOrder plain = order;
    plain.epilogue.reset();
    if (plain != ProductOrder{}) throw std::invalid_argument("units with block scales add in ascending k");
    if (!order.epilogue) return gemm(model, p);
    require_shapes(p.product);
    with_epilogue(model.unscaled, order, p.product, [&](const float*) {
        Sums<float> sums(static_cast<std::size_t>(p.product.m() * p.product.n()));
        BlockScaledProblem without_c = p;
        without_c.product.c = {};
        without_c.product.d = {sums.data(), p.product.m(), p.product.n()};
        gemm(model, without_c);
        return sums;
    });
}

void soft_product(const TensorCoreModel& model, const ProductOrder& order, const GemmProblem& p) {
    product_in_order(model, order, p);
}

void fp64_product(const TensorCoreModel& model, const ProductOrder& order, const Fp64Problem& p) {
    product_in_order(model, order, p);
}

std::string_view name_of(SumOrder reduction) { return reduction_names.at(static_cast<std::size_t>(reduction)); }

SumOrder sum_order_by_name(std::string_view name) {
    const auto found = std::ranges::find(reduction_names, name);
    if (found != reduction_names.end()) return static_cast<SumOrder>(found - reduction_names.begin());
    throw std::invalid_argument("partial sums are added ascending, descending or pairwise, not '" + std::string(name) +
                                "'");
}

std::string name_of(const ProductOrder& order) {
    std::string text = "ascending k";
    if (order.piece_k > 0) {
        text = "split-k of " + std::to_string(order.piece_k) + " each";
    } else if (order.split_k > 1) {
        const std::string pieces = std::to_string(order.split_k);
        text = order.slice_k == 0 ? "split-k " + pieces : "sliced k: " + pieces + " x " + std::to_string(order.slice_k);
    }
    if (order.tile_k > 0) text += ", the rest of tiles of " + std::to_string(order.tile_k) + " first";
    if (order.reduction == SumOrder::descending) text += ", added from the last on";
    if (order.reduction == SumOrder::pairwise) text += ", added in pairs";
    if (order.sum_format) text += ", partial sums in " + name_of(*order.sum_format);
    if (order.total_format) text += ", their total in " + name_of(*order.total_format);
    if (order.promote_every > 0) text += ", promoted every " + std::to_string(order.promote_every);
    return text;
}

const std::vector<ProductOrder>& candidate_orders() {
    static const std::vector<ProductOrder> orders = [] {
        std::vector<ProductOrder> list{{}, {.promote_every = 128}};
        for (const int pieces : {2, 3, 4, 6, 8, 16}) list.push_back({.split_k = pieces});
        for (const int pieces : {2, 4}) {
            for (const int slice : {8, 16, 32, 64}) list.push_back({.split_k = pieces, .slice_k = slice});
        }
        return list;
    }();
    return orders;
}

std::vector<ProductOrder> split_orders(std::int64_t k, const std::optional<FloatFormat>& sum_format) {
    std::set<std::int64_t> lengths;
    for (int pieces = 1; pieces <= 32; ++pieces) {
        for (const int alignment : {4, 8, 16, 32, 64, 128}) {
            const std::int64_t length = ((k + pieces - 1) / pieces + alignment - 1) / alignment * alignment;
            lengths.insert(std::min(length, k));
        }
    }
    std::vector<ProductOrder> list;
    for (const std::int64_t length : lengths) {
        for (const int tile : {0, 16, 32, 64, 128}) {
            const bool plain = tile == 0 || length % tile == 0;
            if (tile != 0 && plain && (k % length) % tile == 0) continue;  // as without tiles
            list.push_back({.piece_k = length, .tile_k = tile, .sum_format = sum_format});
        }
    }
    return list;
}

}  // namespace ulp
