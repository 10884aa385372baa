#include "engine/analysis/product_explanation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <map>
#include <span>
#include <stdexcept>
#include <tuple>

#include "engine/analysis/product_faults.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/lab/random_codes.hpp"
#include "softfloat/matrix_units/bound_operands.hpp"
#include "softfloat/matrix_units/bounds.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/names.hpp"
#include "softfloat/round.hpp"

namespace ulp {

namespace {

constexpr Index part_rows = 16;               // of D, and as many columns, by which ways are chosen
constexpr Index first_rows = 4;               // by which the part's ways are
constexpr std::size_t computed_whole = 1000;  // ways that give all of the part, until they differ
constexpr Index chunk_rows = 16;              // of D, after each of which a way that differs is given up
constexpr std::size_t orders_elsewhere = 16;  // that are found, tried on other units
constexpr std::int64_t long_k = 1024;         // beyond which other units are tried in simple orders alone
constexpr std::size_t others_whole = 8;       // ways that do not
constexpr int most_pieces = 64;

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

/// How near a unit is to the one that is asked for.
enum class Nearness : std::uint8_t { itself, same_architecture, other };

struct NamedModel {
    std::string name;
    TensorCoreModel model;
    Nearness nearness = Nearness::other;
    std::vector<std::string> others{};  // rows of the same model
    std::optional<BlockScaledModel> scaled{};
};

/// A row's model as the question's kind of unit, if it takes the question's operands.
template <class Real>
std::optional<NamedModel> fitting(const UnitRow& row, const BasicProductQuestion<Real>& question) {
    const auto* scaled = row.as<BlockScaledModel>();
    const auto* model = scaled != nullptr ? &scaled->unscaled : row.as<TensorCoreModel>();
    const bool same_kind = (scaled != nullptr) == question.scaled.has_value();
    if (model == nullptr || !same_kind || row.key() == question.unit) return std::nullopt;
    const bool same_scales = scaled == nullptr || (scaled->scale_format == question.scaled->scale_format &&
                                                   scaled->scale_block == question.scaled->scale_block);
    const bool fits = model->a_format == question.model.a_format && model->b_format == question.model.b_format &&
                      (model->accumulator == formats::fp64) == std::is_same_v<Real, double>;
    if (!same_scales || !fits) return std::nullopt;
    const bool here = question.unit.starts_with(row.architecture + ":");
    NamedModel unit{row.key(), *model, here ? Nearness::same_architecture : Nearness::other};
    if (scaled != nullptr) unit.scaled = *scaled;
    return unit;
}

/// Loops of an ordinary processor.
template <class Real>
std::vector<NamedModel> loops_for(const BasicProductQuestion<Real>& question) {
    const FloatFormat format = std::is_same_v<Real, double> ? formats::fp64 : formats::fp32;
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
    std::vector<NamedModel> loops = {{fmt::format("loop of fused multiply-adds in {}", name_of(format)), loop}};
    if (loop.a_format.precision() + loop.b_format.precision() > format.precision()) {
        loop.summation = Summation::pairwise;  // of one product, which is rounded
        loops.push_back({fmt::format("loop of products and sums in {}", name_of(format)), loop});
    }
    return loops;
}

/// The question's unit, the others of its architecture, then all other rows with its input formats whose numbers Real
/// holds, and loops.
template <class Real>
std::vector<NamedModel> units_for(const BasicProductQuestion<Real>& question) {
    std::vector<NamedModel> units = {{question.unit, question.model, Nearness::itself, {}, question.scaled}};
    for (const Nearness nearness : {Nearness::same_architecture, Nearness::other}) {
        for (const UnitRow& row : unit_table()) {
            const std::optional<NamedModel> unit = fitting(row, question);
            if (!unit || unit->nearness != nearness) continue;
            const auto known = std::ranges::find_if(units, [&](const NamedModel& other) {
                return other.model == unit->model && other.scaled == unit->scaled;
            });
            if (known == units.end()) {
                units.push_back(*unit);
            } else {
                known->others.push_back(unit->name);
            }
        }
    }
    if (question.scaled) return units;
    for (NamedModel& loop : loops_for(question)) units.push_back(std::move(loop));
    return units;
}

/// 2 to 64 equal pieces, those of one length once.
std::vector<ProductOrder> equal_pieces(std::int64_t k, int instruction_k) {
    std::vector<ProductOrder> orders;
    const std::int64_t instructions = (k + instruction_k - 1) / instruction_k;
    std::int64_t known = instructions;
    for (int pieces = 2; pieces <= most_pieces; ++pieces) {
        const std::int64_t length = (instructions + pieces - 1) / pieces;
        if (length == known) continue;
        known = length;
        orders.push_back({.split_k = pieces});
    }
    return orders;
}

/// One chain, promoted, and equal pieces added in fp32 from the first to the last.
std::vector<ProductOrder> simple_orders(std::int64_t k, int instruction_k) {
    std::vector<ProductOrder> orders{{}};
    for (const std::int64_t every : {128, 32, 64, 256, 512}) {
        if (every < k) orders.push_back({.promote_every = every});
    }
    std::ranges::copy(equal_pieces(k, instruction_k), std::back_inserter(orders));
    return orders;
}

/// Formats of partial sums and of their total.
struct SumFormats {
    std::optional<FloatFormat> sum{}, total{};
};

/// Each piece of the orders added in other directions and formats.
std::vector<ProductOrder> reduced_otherwise(const std::vector<ProductOrder>& pieces,
                                            const std::vector<SumFormats>& formats) {
    std::vector<ProductOrder> orders;
    for (const SumFormats& format : formats) {
        for (const SumOrder reduction : {SumOrder::ascending, SumOrder::descending, SumOrder::pairwise}) {
            for (ProductOrder order : pieces) {
                const bool same = (order.split_k == 2 && reduction != SumOrder::ascending && !format.total) ||
                                  (order.split_k == 3 && reduction == SumOrder::pairwise) ||
                                  (reduction == SumOrder::ascending && !format.sum && !format.total);
                if (same) continue;
                order.reduction = reduction;
                order.sum_format = format.sum;
                order.total_format = format.total;
                orders.push_back(order);
            }
        }
    }
    return orders;
}

/// Slices of k that take turns, and pieces of lengths and tiles as libraries choose them.
std::vector<ProductOrder> uneven_orders(std::int64_t k, const std::vector<SumFormats>& formats) {
    std::vector<ProductOrder> orders;
    for (const ProductOrder& order : candidate_orders()) {
        if (order.slice_k > 0) orders.push_back(order);
    }
    for (const SumFormats& format : formats) {
        for (ProductOrder order : split_orders(k, format.sum)) {
            order.total_format = format.total;
            orders.push_back(order);
        }
    }
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
    if (question.c && !question.scaled) add({1, 1});
    if (question.c && estimated != LinearEpilogue{1, 0}) add(estimated);
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

/// Different numbers enough to tell a factor or a format of partial sums by: those of ones, say, are not.
template <class Real>
bool tells_numbers(const MatrixOf<Real>& d) {
    std::vector<WordOf<Real>> words = words_of(d);
    std::ranges::sort(words);
    return std::ranges::unique(words).begin() - words.begin() >= std::min<Index>(16, d.size());
}

template <class Real>
ProductOperands<Real> part_of(const ProductOperands<Real>& given, const std::vector<Index>& rows,
                              const std::vector<Index>& cols) {
    ProductOperands<Real> part{given.a(rows, Eigen::all), given.b(Eigen::all, cols)};
    if (given.c) part.c = (*given.c)(rows, cols);
    if (given.a_scales) part.a_scales = (*given.a_scales)(rows, Eigen::all);
    if (given.b_scales) part.b_scales = (*given.b_scales)(Eigen::all, cols);
    return part;
}

struct Tried {
    ProductComputation way;
    std::int64_t matches;  // in the first rows, and if those are all, in the part
    Nearness nearness;
    std::size_t number;  // simpler ways come first
    std::size_t fault;   // 0: none
};

/// Units, walks of k and operands, by which orders are tried.
struct Scope {
    bool near = true;       // the unit and its architecture; else the others
    bool all_walks = true;  // else ascending k alone
};

/// All ways, judged by a part of D.
template <class Real>
class Search {
  public:
    Search(const BasicProductQuestion<Real>& question, const LinearEpilogue& estimated)
        : question_(question), units_(units_for(question)), epilogues_(epilogues_for(question, estimated)) {
        d_first_ = question.d(rows(first_rows), cols(first_rows));
        d_part_ = question.d(rows(part_rows), cols(part_rows));
        take(question.operands());
        for (const FloatFormat& format : {formats::fp32, formats::fp16, formats::bf16}) {
            if (sizeof(Real) * 8 > static_cast<unsigned>(format.storage_bits()) && lies_on(question.d, format)) {
                narrow_.push_back(format);
            }
        }
    }

    void run() {
        const std::int64_t k = question_.a.cols();
        const int instruction = question_.model.instruction_k;
        const auto simple = question_.scaled ? std::vector<ProductOrder>{{}} : simple_orders(k, instruction);
        attempt(simple, {});
        const bool only_simple = question_.scaled.has_value() || k == 0;
        const auto formats = sum_formats();
        const auto reduced = reduced_otherwise(equal_pieces(k, instruction), formats);
        if (!found() && !only_simple) attempt(reduced, {.all_walks = false});
        if (!found() && !only_simple) attempt(uneven_orders(k, formats), {.all_walks = false});
        if (!found() && !only_simple) attempt(candidate_orders(), {});
        attempt(found() ? orders_found() : simple, {.near = false});
        if (!found()) attempt_faults(simple, formats);
        if (found() || only_simple || k > long_k) return;
        attempt(reduced, {.near = false, .all_walks = false});
        attempt(uneven_orders(k, formats), {.near = false, .all_walks = false});
    }

    [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(tried_.size()); }

    /// The best by the part: units as they were, the nearest unit, the simplest order first.
    std::vector<Tried> best() {
        std::ranges::stable_sort(tried_, [](const Tried& x, const Tried& y) {
            return std::tuple(-x.matches, x.fault != 0, x.nearness, x.number) <
                   std::tuple(-y.matches, y.fault != 0, y.nearness, y.number);
        });
        std::vector<Tried> ways;
        std::size_t others = 0;
        for (const Tried& way : tried_) {
            const bool all = way.matches == d_first_.size() + d_part_.size();
            others += all ? 0 : 1;
            if (ways.size() == computed_whole || others > others_whole || (!ways.empty() && way.matches == 0)) break;
            ways.push_back(way);
        }
        return ways;
    }

    /// The operands with the fault of a way.
    [[nodiscard]] ProductOperands<Real> operands_of(const Tried& way) const {
        return way.fault == 0 ? question_.operands() : faults_[way.fault - 1].applied(question_.operands());
    }

  private:
    [[nodiscard]] std::vector<Index> rows(Index most) const { return spread_over(question_.d.rows(), most); }
    [[nodiscard]] std::vector<Index> cols(Index most) const { return spread_over(question_.d.cols(), most); }
    void take(const ProductOperands<Real>& operands) {
        first_ = part_of(operands, rows(first_rows), cols(first_rows));
        part_ = part_of(operands, rows(part_rows), cols(part_rows));
    }

    [[nodiscard]] bool is_whole(const Tried& way) const { return way.matches == d_first_.size() + d_part_.size(); }
    [[nodiscard]] bool found() const {
        return std::ranges::any_of(tried_, [&](const Tried& way) { return is_whole(way); });
    }
    /// Without their epilogues.
    [[nodiscard]] std::vector<ProductOrder> orders_found() const {
        std::vector<ProductOrder> orders;
        for (const Tried& way : tried_) {
            ProductOrder order = way.way.order;
            order.epilogue.reset();
            const bool is_new = std::ranges::find(orders, order) == orders.end();
            if (is_whole(way) && is_new && orders.size() < orders_elsewhere) orders.push_back(order);
        }
        return orders;
    }

    /// None; and of 16-bit formats those that D can tell of: a total in them lies on them.
    [[nodiscard]] std::vector<SumFormats> sum_formats() const {
        const FloatFormat wide = std::is_same_v<Real, double> ? formats::fp64 : formats::fp32;
        std::vector<SumFormats> list{{}};
        if (!tells_numbers(question_.d)) return list;
        for (const FloatFormat& format : {formats::bf16, formats::fp16}) {
            const bool holds_d = std::ranges::find(narrow_, format) != narrow_.end();
            if (holds_d) list.push_back({format, {}});
            if (holds_d && format != question_.model.accumulator) list.push_back({{}, format});
            if (format != question_.model.accumulator) list.push_back({format, wide});
        }
        return list;
    }

    void attempt(const std::vector<ProductOrder>& orders, const Scope& scope) {
        for (const LaneOrder walk : {LaneOrder::ascending, LaneOrder::descending, LaneOrder::even_first}) {
            if (walk != LaneOrder::ascending && !scope.all_walks) return;
            for (const ProductOrder& order : orders) {
                for (const Epilogue& epilogue : epilogues_) {
                    for (const NamedModel& unit : units_) {
                        if ((unit.nearness != Nearness::other) != scope.near) continue;
                        if (question_.before_each_way) question_.before_each_way();
                        attempt(unit, walk, order, epilogue);
                    }
                }
            }
        }
    }

    /// Stretches of k may be missing before k is split into pieces of other lengths.
    void attempt_faults(const std::vector<ProductOrder>& simple, const std::vector<SumFormats>& formats) {
        faults_ = suspected_faults(question_, bounds_of_elements(question_));
        enum class Effort : std::uint8_t { same_orders, uneven, other_units };
        for (const Effort effort : {Effort::same_orders, Effort::uneven, Effort::other_units}) {
            const bool thorough = effort == Effort::uneven;
            for (fault_ = 1; fault_ <= faults_.size() && !found(); ++fault_) {
                const ProductFault<Real>& fault = faults_[fault_ - 1];
                std::vector<ProductOrder> orders = simple;
                if (fault.piece > 0) orders.push_back({.piece_k = fault.piece});
                const std::int64_t k = question_.a.cols() - fault.missing;
                if (thorough && (fault.missing == 0 || question_.scaled)) continue;
                if (thorough) orders = uneven_orders(k, formats);
                if (thorough) {
                    std::ranges::copy(reduced_otherwise(equal_pieces(k, question_.model.instruction_k), formats),
                                      std::back_inserter(orders));
                }
                take(fault.applied(question_.operands()));
                attempt(orders, {.near = effort != Effort::other_units, .all_walks = false});
            }
        }
        fault_ = 0;
        take(question_.operands());
    }

    void attempt(const NamedModel& unit, LaneOrder walk, ProductOrder order, const Epilogue& epilogue) {
        order.epilogue = epilogue.factors;
        ProductComputation way{unit.name,        unit.others,           unit.model, walk, order,
                               epilogue.reads_c, unit.model.accumulator};
        way.scaled = unit.scaled;
        if (fault_ > 0) {
            way.fault = faults_[fault_ - 1].text;
            way.missing = faults_[fault_ - 1].missing;
            way.reads_c = epilogue.factors ? epilogue.factors->beta != 0 : first_.c.has_value();
        }
        MatrixOf<Real> sums, of_part;
        try {
            sums = product_of(way, first_);
        } catch (const std::exception&) {
            return;  // the order does not fit the unit, or C its accumulator
        }
        for (const FloatFormat& output : outputs_of(unit.model, narrow_)) {
            way.output = output;
            std::int64_t matches = matches_of<Real>(rounded_to(output, sums), d_first_);
            if (matches == d_first_.size()) {
                if (of_part.size() == 0) of_part = product_of(way, part_);
                matches += matches_of<Real>(rounded_to(output, of_part), d_part_);
            }
            if (fault_ > 0 && matches < d_first_.size()) continue;
            tried_.push_back({way, matches, unit.nearness, tried_.size(), fault_});
        }
    }

    const BasicProductQuestion<Real>& question_;
    std::vector<NamedModel> units_;
    std::vector<Epilogue> epilogues_;
    std::vector<FloatFormat> narrow_;  // that hold all of D
    ProductOperands<Real> first_, part_;
    MatrixOf<Real> d_first_, d_part_;
    std::vector<Tried> tried_;
    std::vector<ProductFault<Real>> faults_;
    std::size_t fault_ = 0;  // that the operands have, from 1 on
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

/// Whether the way gives all of D: computed by rows until it does not.
template <class Real>
bool gives_all(const ProductComputation& way, const ProductOperands<Real>& operands, const MatrixOf<Real>& d) {
    for (Index first = 0; first < d.rows(); first += chunk_rows) {
        std::vector<Index> rows;
        for (Index i = first; i < std::min(first + chunk_rows, d.rows()); ++i) rows.push_back(i);
        const MatrixOf<Real> chunk = product_of(way, part_of(operands, rows, all_of(d.cols())));
        const MatrixOf<Real> wanted = d(rows, Eigen::all);
        if (matches_of<Real>(rounded_to(way.output, chunk), wanted) != wanted.size()) return false;
    }
    return true;
}

/// Ways of the same bits together, in the order in which they come.
template <class Real>
std::vector<BasicProductCandidate<Real>> classes_of(Search<Real>& search, const BasicProductQuestion<Real>& question) {
    std::vector<BasicProductCandidate<Real>> classes;
    std::map<std::vector<WordOf<Real>>, std::size_t> known;
    std::size_t others = 0;
    for (const Tried& tried : search.best()) {
        if (question.before_each_way) question.before_each_way();
        const ProductOperands<Real> operands = search.operands_of(tried);
        MatrixOf<Real> d;
        if (gives_all(tried.way, operands, question.d)) {
            d = question.d;
        } else if (++others <= others_whole) {
            d = rounded_to<Real>(tried.way.output, product_of(tried.way, operands));
        } else {
            continue;
        }
        const auto [place, is_new] = known.try_emplace(words_of(d), classes.size());
        if (is_new) classes.push_back({{}, matches_of(d, question.d), std::move(d)});
        classes[place->second].ways.push_back(tried.way);
    }
    std::ranges::stable_sort(classes, [](const auto& x, const auto& y) { return x.matches > y.matches; });
    return classes;
}

template <class Real>
ProductVerdict verdict_of(const BasicProductQuestion<Real>& question,
                          const BasicProductExplanation<Real>& explanation) {
    if (explanation.agree() > 0) {
        const bool as_given = explanation.candidates.front().ways.front().fault.empty();
        return as_given ? ProductVerdict::explained : ProductVerdict::fault;
    }
    const std::vector<double> exact = exact_elements(question);
    const std::vector<double> bounds = bounds_of_elements(question);
    for (std::size_t e = 0; e < bounds.size(); ++e) {
        const auto d = static_cast<double>(question.d.data()[e]);
        if (!std::isinf(bounds[e]) && !(std::abs(d - exact[e]) <= bounds[e])) return ProductVerdict::outside_bound;
    }
    return ProductVerdict::within_bound;
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

void multiply(const ProductComputation& way, const ProductOperands<float>& operands, const GemmProblem& problem) {
    if (!way.scaled) return soft_product(way.model, way.order, problem);
    if (way.order != ProductOrder{}) throw std::invalid_argument("units with block scales add in ascending k");
    BlockScaledProblem scaled{problem};
    if (operands.a_scales) scaled.a_scales = *operands.a_scales;
    if (operands.b_scales) scaled.b_scales = *operands.b_scales;
    gemm(*way.scaled, scaled);
}
void multiply(const ProductComputation& way, const ProductOperands<double>&, const Fp64Problem& problem) {
    fp64_product(way.model, way.order, problem);
}

/// The narrowest format that holds all of D, if it is narrower than the container.
template <class Real>
std::optional<FloatFormat> format_of_d(const BasicProductQuestion<Real>& question) {
    for (const FloatFormat& format : {formats::bf16, formats::fp16, formats::fp32}) {
        if (format.storage_bits() < static_cast<int>(sizeof(Real)) * 8 && lies_on(question.d, format)) return format;
    }
    return std::nullopt;
}

/// Of element (i, j): its operands in fp64, with their scales.
template <class Real>
struct ElementOperands {
    std::vector<double> a, b;
    double c = 0;

    void take(const BasicProductQuestion<Real>& q, Index i, Index j) {
        a.clear();
        b.clear();
        c = q.c ? static_cast<double>((*q.c)(i, j)) : 0;
        for (Index x = 0; x < q.a.cols(); ++x) {
            a.push_back(static_cast<double>(q.a(i, x)));
            b.push_back(static_cast<double>(q.b(x, j)));
            if (!q.scaled) continue;
            const Index block = x / q.scaled->scale_block;
            if (q.a_scales) a.back() *= std::abs(static_cast<double>((*q.a_scales)(i, block)));
            if (q.b_scales) b.back() *= std::abs(static_cast<double>((*q.b_scales)(block, j)));
        }
    }
};

/// fn(element, place) for every element of D.
template <class Real, class Fn>
void each_element(const BasicProductQuestion<Real>& q, const Fn& fn) {
    ElementOperands<Real> operands;
    for (Index i = 0; i < q.d.rows(); ++i) {
        for (Index j = 0; j < q.d.cols(); ++j) {
            operands.take(q, i, j);
            fn(operands, static_cast<std::size_t>(i * q.d.cols() + j));
        }
    }
}

/// The bound of sums of k in any order of at most 64 pieces, or promoted every 32 k.
template <class Real>
AprioriBound bound_of_any_order(const BasicProductQuestion<Real>& q) {
    const TensorCoreModel& model = q.model;
    const std::int64_t k = q.a.cols();
    AprioriBound bound = apriori_bound(model, k + model.instruction_k);
    const double u = std::is_same_v<Real, double> ? 0x1p-53 : 0x1p-24;
    const double additions = most_pieces + static_cast<double>(k) / 32;
    bound.gamma += additions * u * (1 + additions * u) * (1 + bound.gamma) + static_cast<double>(k) * 0x1p-52;
    bound.eta = additions * (bound.eta + 0x1p-148) * (1 + bound.gamma);
    bound.sums = q.epilogue ? 1 : most_pieces;
    bound.drops_any = bound.drops_sums;
    return bound;
}

}  // namespace

template <class Real>
MatrixOf<Real> product_of(const ProductComputation& way, const ProductOperands<Real>& operands) {
    MatrixOf<Real> d(operands.a.rows(), operands.b.cols());
    const bool reads_c = way.reads_c && operands.c.has_value();
    if (reads_c && !lies_on(*operands.c, way.model.accumulator)) {
        throw std::invalid_argument("C is not the accumulator's");
    }
    const auto view_of_c = reads_c ? BasicMatrixView<const Real>(*operands.c) : BasicMatrixView<const Real>();
    if (way.walk == LaneOrder::ascending) {
        multiply(way, operands, ProductProblem<Real>{operands.a, operands.b, view_of_c, d});
    } else {
        const std::vector<Index> order = walked(way.walk, operands.a.cols());
        const MatrixOf<Real> left = operands.a(Eigen::all, order);
        const MatrixOf<Real> right = operands.b(order, Eigen::all);
        multiply(way, operands, ProductProblem<Real>{left, right, view_of_c, d});
    }
    return d;
}

template <class Real>
std::vector<double> exact_elements(const BasicProductQuestion<Real>& q) {
    std::vector<double> exact(static_cast<std::size_t>(q.d.size()));
    const LinearEpilogue epilogue = q.epilogue.value_or(LinearEpilogue{1, q.c ? 1.0 : 0.0});
    each_element(q, [&](const ElementOperands<Real>& dot, std::size_t place) {
        double sum = 0;
        for (std::size_t x = 0; x < dot.a.size(); ++x) sum += dot.a[x] * dot.b[x];
        exact[place] = epilogue.alpha * sum + (epilogue.beta == 0 ? 0 : epilogue.beta * dot.c);
    });
    return exact;
}

template <class Real>
std::vector<double> bounds_of_elements(const BasicProductQuestion<Real>& q) {
    const AprioriBound bound = bound_of_any_order(q);
    const std::optional<FloatFormat> output = format_of_d(q);
    const FloatFormat container = std::is_same_v<Real, double> ? formats::fp64 : formats::fp32;
    std::vector<double> bounds(static_cast<std::size_t>(q.d.size()));
    each_element(q, [&](const ElementOperands<Real>& dot, std::size_t place) {
        const Magnitude m = magnitude_of(q.model, dot.a, dot.b, q.epilogue ? 0 : dot.c);
        double absolute = bound_at(q.model, bound, m);
        if (q.scaled) {  // elements align as their formats' normal numbers do
            double lifted = std::abs(dot.c);
            const double a = std::ldexp(1.0, q.model.a_format.emin()), b = std::ldexp(1.0, q.model.b_format.emin());
            for (std::size_t x = 0; x < dot.a.size(); ++x) {
                lifted += std::max(std::abs(dot.a[x]), a) * std::max(std::abs(dot.b[x]), b);
            }
            absolute = bound.gamma * (lifted + m.plain) + bound.eta;
        }
        double largest = m.plain + absolute;
        if (q.epilogue) {
            absolute = epilogue_bound(*q.epilogue, absolute, m.plain, std::abs(dot.c), container);
            largest = std::abs(q.epilogue->alpha) * largest + std::abs(q.epilogue->beta * dot.c);
        }
        if (output) {
            const double d = std::abs(static_cast<double>(q.d.data()[place]));
            absolute += std::ldexp(std::isfinite(d) ? std::min(d * 1.01, largest) : largest, -output->precision()) +
                        std::ldexp(1.0, output->smallest_exponent());
        }
        bounds[place] = absolute;
    });
    return bounds;
}

template <class Real>
BasicProductExplanation<Real> explain_product(const BasicProductQuestion<Real>& question) {
    require_shapes(question);
    BasicProductExplanation<Real> explanation;
    explanation.of = question.d.size();
    const auto rows = spread_over(question.d.rows(), part_rows);
    const auto cols = spread_over(question.d.cols(), part_rows);
    const ProductOperands<Real> part = part_of(question.operands(), rows, cols);
    if (question.c && !question.scaled && tells_numbers(question.d)) {
        explanation.estimated = estimate<Real>(part.a, part.b, &*part.c, MatrixOf<Real>(question.d(rows, cols)));
    }
    Search<Real> search(question, explanation.estimated);
    search.run();
    explanation.tried = search.count();
    explanation.tried_on = std::min<std::int64_t>(part_rows * part_rows, question.d.size());
    explanation.candidates = classes_of(search, question);
    explanation.verdict = verdict_of(question, explanation);
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
        const ProductOperands<Real> without_c{operands.a, operands.b};
        std::map<std::vector<WordOf<Real>>, std::vector<std::size_t>> groups;
        for (std::size_t i = 0; i < ways.size(); ++i) {
            groups[words_of(rounded_to<Real>(ways[i].output, product_of(ways[i], without_c)))].push_back(i);
        }
        for (auto& [words, group] : groups) operands.groups.push_back(std::move(group));
        std::ranges::sort(operands.groups);
        if (operands.groups.size() > best.groups.size()) best = std::move(operands);
        if (best.groups.size() == ways.size()) break;
    }
    return best;
}

#define ULP_EXPLAIN(Real)                                                                        \
    template MatrixOf<Real> product_of(const ProductComputation&, const ProductOperands<Real>&); \
    template std::vector<double> exact_elements(const BasicProductQuestion<Real>&);              \
    template std::vector<double> bounds_of_elements(const BasicProductQuestion<Real>&);          \
    template BasicProductExplanation<Real> explain_product(const BasicProductQuestion<Real>&);   \
    template SeparatingOperands<Real> separate(const std::vector<ProductComputation>&, std::int64_t)
ULP_EXPLAIN(float);
ULP_EXPLAIN(double);
#undef ULP_EXPLAIN

}  // namespace ulp
