#include "engine/analysis/product_explanation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <span>
#include <stdexcept>

#include "softfloat/errors.hpp"
#include "softfloat/lab/random_codes.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/names.hpp"
#include "softfloat/round.hpp"

namespace ulp {

namespace {

constexpr Index part_rows = 16;             // of D, and as many columns, by which ways are chosen
constexpr std::size_t computed_whole = 48;  // ways

/// The elements row by row.
template <class Real>
std::span<const Real> elements(const MatrixOf<Real>& matrix) {
    return {matrix.data(), static_cast<std::size_t>(matrix.size())};
}

std::vector<Index> all_of(Index count) {
    std::vector<Index> list(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < list.size(); ++i) list[i] = static_cast<Index>(i);
    return list;
}

/// At most `most` of them, evenly spread.
std::vector<Index> spread_over(Index count, Index most) {
    if (count <= most) return all_of(count);
    std::vector<Index> list;
    for (Index i = 0; i < most; ++i) list.push_back(i * count / most);
    return list;
}

std::vector<Index> walked(LaneOrder walk, Index k) {
    std::vector<Index> list;
    for (Index i = 0; i < k; ++i) list.push_back(lane_at(walk, static_cast<int>(k), static_cast<int>(i)));
    return list;
}

struct NamedModel {
    std::string name;
    TensorCoreModel model;
    std::vector<std::string> others{};  // rows of the same model
};

/// The question's unit, all rows with its input formats whose numbers Real holds, and loops of an ordinary processor.
template <class Real>
std::vector<NamedModel> units_for(const BasicProductQuestion<Real>& question) {
    constexpr bool is_double = std::is_same_v<Real, double>;
    std::vector<NamedModel> units = {{question.unit, question.model}};
    for (const UnitRow& row : unit_table()) {
        const auto* model = row.as<TensorCoreModel>();
        const bool fits = model != nullptr && model->a_format == question.model.a_format &&
                          model->b_format == question.model.b_format &&
                          (model->accumulator == formats::fp64) == is_double;
        if (!fits || row.key() == question.unit) continue;
        const auto known = std::ranges::find(units, *model, &NamedModel::model);
        if (known == units.end()) {
            units.push_back({row.key(), *model});
        } else {
            known->others.push_back(row.key());
        }
    }
    const FloatFormat format = is_double ? formats::fp64 : formats::fp32;
    TensorCoreModel loop{.a_format = question.model.a_format,
                         .b_format = question.model.b_format,
                         .accumulator = format,
                         .summation = Summation::fma_chain,
                         .instruction_k = 1,
                         .group_size = 1,
                         .fraction_bits = 0,
                         .rounding = Rounding::nearest_even,
                         .output_fraction_bits = format.fraction_bits,
                         .nan = question.model.nan};
    units.push_back({fmt::format("loop of fused multiply-adds in {}", name_of(format)), loop});
    if (loop.a_format.precision() + loop.b_format.precision() > format.precision()) {
        loop.summation = Summation::pairwise;  // of one product, which is rounded
        units.push_back({fmt::format("loop of products and sums in {}", name_of(format)), loop});
    }
    return units;
}

std::vector<ProductOrder> usual_orders(std::int64_t k) {
    std::vector<ProductOrder> orders = candidate_orders();
    for (const std::int64_t every : {32, 64, 256, 512}) orders.push_back({.promote_every = every});
    std::erase_if(orders,
                  [&](const ProductOrder& order) { return order.promote_every > 0 && order.promote_every >= k; });
    return orders;
}

/// What a BLAS call may do with C, as far as the data allow; alpha and beta are known or estimated.
struct Epilogue {
    bool reads_c;
    std::optional<LinearEpilogue> factors;
};
template <class Real>
std::vector<Epilogue> epilogues_for(const BasicProductQuestion<Real>& question, const LinearEpilogue& estimated) {
    if (question.epilogue) return {{question.epilogue->beta != 0, question.epilogue}};
    std::vector<Epilogue> list = {{question.c.has_value(), {}}};
    const auto add = [&](const LinearEpilogue& factors) {
        for (const Epilogue& known : list) {
            if (known.factors == factors) return;
        }
        list.push_back({factors.beta != 0, factors});
    };
    if (question.c) {
        list.push_back({false, {}});
        add({1, 1});
    }
    if (estimated != LinearEpilogue{1, 0}) add(estimated);
    return list;
}

/// The number of three decimal digits at `x`, if it is as near as an estimate can be.
double snapped(double x) {
    if (!std::isfinite(x) || std::abs(x) < 1e-3) return 0;
    const double rounded = std::stod(fmt::format("{:.3g}", x));
    return std::abs(rounded - x) < 2e-3 * std::abs(x) ? rounded : x;
}

/// alpha and beta of D = alpha * A * B + beta * C by least squares over the finite elements.
template <class Real>
LinearEpilogue estimate(const MatrixOf<Real>& a, const MatrixOf<Real>& b, const MatrixOf<Real>* c,
                        const MatrixOf<Real>& d) {
    double ss = 0, sc = 0, cc = 0, sd = 0, cd = 0;
    for (Index i = 0; i < d.rows(); ++i) {
        for (Index j = 0; j < d.cols(); ++j) {
            double sum = 0;
            for (Index k = 0; k < a.cols(); ++k) sum += static_cast<double>(a(i, k)) * static_cast<double>(b(k, j));
            const double addend = c == nullptr ? 0 : static_cast<double>((*c)(i, j));
            const auto result = static_cast<double>(d(i, j));
            if (!std::isfinite(sum) || !std::isfinite(addend) || !std::isfinite(result)) continue;
            ss += sum * sum;
            sc += sum * addend;
            cc += addend * addend;
            sd += sum * result;
            cd += addend * result;
        }
    }
    const double determinant = ss * cc - sc * sc;
    if (cc == 0 || determinant <= 1e-9 * ss * cc) return {ss == 0 ? 1 : snapped(sd / ss), 0};
    return {snapped((sd * cc - cd * sc) / determinant), snapped((cd * ss - sd * sc) / determinant)};
}

template <class Real>
bool lies_on(const MatrixOf<Real>& d, const FloatFormat& format) {
    return std::ranges::all_of(elements(d), [&](Real x) { return same_bits(round_to(format, x), x); });
}

std::vector<FloatFormat> outputs_of(const TensorCoreModel& model, const std::vector<FloatFormat>& narrow) {
    std::vector<FloatFormat> list = {model.accumulator};
    for (const FloatFormat& format : narrow) {
        if (format.storage_bits() < model.accumulator.storage_bits()) list.push_back(format);
    }
    return list;
}

template <class Real>
MatrixOf<Real> rounded_to(const FloatFormat& format, const MatrixOf<Real>& matrix) {
    return matrix.unaryExpr([&](Real x) { return round_to(format, x); });
}

template <class Real>
std::int64_t matches_of(const MatrixOf<Real>& d, const MatrixOf<Real>& wanted) {
    std::int64_t count = 0;
    for (Index i = 0; i < d.size(); ++i) count += same_bits(d.data()[i], wanted.data()[i]) ? 1 : 0;
    return count;
}

/// The bits row by row; all NaNs are one.
template <class Real>
std::vector<WordOf<Real>> words_of(const MatrixOf<Real>& d) {
    std::vector<WordOf<Real>> words;
    for (const Real x : elements(d)) words.push_back(std::isnan(x) ? ~WordOf<Real>{0} >> 1 : bits_of(x));
    return words;
}

struct Tried {
    ProductComputation way;
    std::int64_t matches;
    std::size_t number;  // simpler ways come first
};

/// All ways, judged by a part of D.
template <class Real>
class Search {
  public:
    Search(const BasicProductQuestion<Real>& question, const LinearEpilogue& estimated)
        : question_(question), units_(units_for(question)), epilogues_(epilogues_for(question, estimated)) {
        const auto rows = spread_over(question.d.rows(), part_rows);
        const auto cols = spread_over(question.d.cols(), part_rows);
        const auto inner = all_of(question.a.cols());
        a_ = question.a(rows, inner);
        b_ = question.b(inner, cols);
        d_ = question.d(rows, cols);
        if (question.c) c_ = (*question.c)(rows, cols);
        for (const FloatFormat& format : {formats::fp32, formats::fp16, formats::bf16}) {
            if (sizeof(Real) * 8 > static_cast<unsigned>(format.storage_bits()) && lies_on(question.d, format)) {
                narrow_.push_back(format);
            }
        }
    }

    void attempt(const std::vector<ProductOrder>& orders) {
        for (const ProductOrder& order : orders) {
            for (const LaneOrder walk : {LaneOrder::ascending, LaneOrder::descending, LaneOrder::even_first}) {
                for (const Epilogue& epilogue : epilogues_) {
                    for (const NamedModel& unit : units_) {
                        if (question_.before_each_way) question_.before_each_way();
                        attempt(unit, walk, order, epilogue);
                    }
                }
            }
        }
    }

    [[nodiscard]] bool found() const {
        return std::ranges::any_of(tried_, [&](const Tried& way) { return way.matches == d_.size(); });
    }
    [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(tried_.size()); }

    /// The best by the part, simpler ones first.
    std::vector<ProductComputation> best() {
        std::ranges::stable_sort(tried_, [](const Tried& x, const Tried& y) { return x.matches > y.matches; });
        std::vector<ProductComputation> ways;
        for (const Tried& way : tried_) {
            if (ways.size() == computed_whole || (!ways.empty() && way.matches == 0)) break;
            ways.push_back(way.way);
        }
        return ways;
    }

  private:
    void attempt(const NamedModel& unit, LaneOrder walk, ProductOrder order, const Epilogue& epilogue) {
        order.epilogue = epilogue.factors;
        ProductComputation way{unit.name,        unit.others,           unit.model, walk, order,
                               epilogue.reads_c, unit.model.accumulator};
        MatrixOf<Real> sums;
        try {
            sums = product_of(way, a_, b_, c_ ? &*c_ : nullptr);
        } catch (const std::exception&) {
            return;  // the order does not fit the unit, or C its accumulator
        }
        for (const FloatFormat& output : outputs_of(unit.model, narrow_)) {
            way.output = output;
            tried_.push_back({way, matches_of<Real>(rounded_to(output, sums), d_), tried_.size()});
        }
    }

    const BasicProductQuestion<Real>& question_;
    std::vector<NamedModel> units_;
    std::vector<Epilogue> epilogues_;
    std::vector<FloatFormat> narrow_;  // that hold all of D
    MatrixOf<Real> a_, b_, d_;         // the part
    std::optional<MatrixOf<Real>> c_;
    std::vector<Tried> tried_;
};

template <class Real>
void require_shapes(const BasicProductQuestion<Real>& q) {
    if (q.a.cols() != q.b.rows()) {
        throw DataError(fmt::format("A is {} x {} and B is {} x {}: the inner sizes differ", q.a.rows(), q.a.cols(),
                                    q.b.rows(), q.b.cols()));
    }
    const auto require = [&](const MatrixOf<Real>& matrix, const char* name) {
        if (matrix.rows() == q.a.rows() && matrix.cols() == q.b.cols()) return;
        throw DataError(fmt::format("{} is {} x {}, the product of A and B {} x {}", name, matrix.rows(), matrix.cols(),
                                    q.a.rows(), q.b.cols()));
    };
    require(q.d, "D");
    if (q.c) require(*q.c, "C");
    if (q.d.size() == 0) throw DataError("D has no element: there is nothing to explain");
}

/// Ways of the same bits together, in the order in which they come.
template <class Real>
std::vector<BasicProductCandidate<Real>> classes_of(const std::vector<ProductComputation>& ways,
                                                    const BasicProductQuestion<Real>& question) {
    std::vector<BasicProductCandidate<Real>> classes;
    std::map<std::vector<WordOf<Real>>, std::size_t> known;
    for (const ProductComputation& way : ways) {
        if (question.before_each_way) question.before_each_way();
        MatrixOf<Real> d = product_of(way, question.a, question.b, question.c ? &*question.c : nullptr);
        const auto [place, is_new] = known.try_emplace(words_of(d), classes.size());
        if (is_new) classes.push_back({{}, matches_of(d, question.d), std::move(d)});
        classes[place->second].ways.push_back(way);
    }
    std::ranges::stable_sort(classes, [](const auto& x, const auto& y) { return x.matches > y.matches; });
    return classes;
}

template <class Real>
MatrixOf<Real> random_matrix(const FloatFormat& format, DataClass data, Index rows, Index cols, std::uint64_t seed) {
    MatrixOf<Real> matrix(rows, cols);
    for (Index i = 0; i < matrix.size(); ++i) {
        const std::uint64_t code = random_code(format, data, random_word(seed, static_cast<std::uint64_t>(i)));
        if constexpr (std::is_same_v<Real, double>) {
            matrix.data()[i] = std::bit_cast<double>(code);
        } else {
            matrix.data()[i] = in_fp32_container(format, static_cast<std::uint32_t>(code));
        }
    }
    return matrix;
}

void multiply(const ProductComputation& way, const GemmProblem& problem) {
    soft_product(way.model, way.order, problem);
}
void multiply(const ProductComputation& way, const Fp64Problem& problem) {
    fp64_product(way.model, way.order, problem);
}

}  // namespace

template <class Real>
MatrixOf<Real> product_of(const ProductComputation& way, const MatrixOf<Real>& a, const MatrixOf<Real>& b,
                          const MatrixOf<Real>* c) {
    using Owned = MatrixOf<Real>;
    using View = BasicMatrixView<const Real>;
    const bool reordered = way.walk != LaneOrder::ascending;
    const std::vector<Index> k = walked(way.walk, a.cols());
    const Owned left = reordered ? Owned(a(Eigen::all, k)) : a;
    const Owned right = reordered ? Owned(b(k, Eigen::all)) : b;
    if (way.reads_c && c == nullptr) throw std::invalid_argument("the way reads C");
    if (way.reads_c && !lies_on(*c, way.model.accumulator)) throw std::invalid_argument("C is not the accumulator's");
    Owned d(a.rows(), b.cols());
    multiply(way, ProductProblem<Real>{left, right, way.reads_c ? View(*c) : View(), d});
    return rounded_to(way.output, d);
}

template <class Real>
BasicProductExplanation<Real> explain_product(const BasicProductQuestion<Real>& question) {
    require_shapes(question);
    BasicProductExplanation<Real> explanation;
    explanation.of = question.d.size();
    explanation.estimated = estimate(question.a, question.b, question.c ? &*question.c : nullptr, question.d);
    Search search(question, explanation.estimated);
    search.attempt(usual_orders(question.a.cols()));
    if (!search.found() && question.a.cols() > 0) search.attempt(split_orders(question.a.cols(), false));
    explanation.tried = search.count();
    explanation.tried_on = part_rows * part_rows;
    explanation.candidates = classes_of(search.best(), question);
    return explanation;
}

template <class Real>
SeparatingOperands<Real> separate(const std::vector<ProductComputation>& ways, std::int64_t k) {
    constexpr Index side = 16;
    constexpr std::array data = {DataClass::wide, DataClass::ordinary, DataClass::cancelling, DataClass::subnormal};
    SeparatingOperands<Real> best;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        const DataClass kind = data.at(seed % data.size());
        SeparatingOperands<Real> operands{random_matrix<Real>(ways.front().model.a_format, kind, side, k, 2 * seed),
                                          random_matrix<Real>(ways.front().model.b_format, kind, k, side, 2 * seed + 1),
                                          {}};
        const MatrixOf<Real> c = MatrixOf<Real>::Zero(side, side);
        std::map<std::vector<WordOf<Real>>, std::vector<std::size_t>> groups;
        for (std::size_t i = 0; i < ways.size(); ++i) {
            groups[words_of(product_of(ways[i], operands.a, operands.b, &c))].push_back(i);
        }
        for (auto& [words, group] : groups) operands.groups.push_back(std::move(group));
        std::ranges::sort(operands.groups);
        if (operands.groups.size() > best.groups.size()) best = std::move(operands);
        if (best.groups.size() == ways.size()) break;
    }
    return best;
}

#define ULP_EXPLAIN(Real)                                                                                       \
    template MatrixOf<Real> product_of(const ProductComputation&, const MatrixOf<Real>&, const MatrixOf<Real>&, \
                                       const MatrixOf<Real>*);                                                  \
    template BasicProductExplanation<Real> explain_product(const BasicProductQuestion<Real>&);                  \
    template SeparatingOperands<Real> separate(const std::vector<ProductComputation>&, std::int64_t)
ULP_EXPLAIN(float);
ULP_EXPLAIN(double);
#undef ULP_EXPLAIN

}  // namespace ulp
