#include "engine/analysis/product_search.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>

#include "softfloat/matrix_units/units.hpp"
#include "softfloat/names.hpp"

namespace ulp {

namespace {

constexpr Index part_rows = 16;               // of D, and as many columns, by which ways are chosen
constexpr Index first_rows = 4;               // by which the part's ways are
constexpr std::size_t most_ways = 1000;       // that give all of the part
constexpr std::size_t other_ways = 8;         // that do not
constexpr std::size_t orders_elsewhere = 16;  // that are found, tried on other units
constexpr std::int64_t long_k = 1024;         // beyond which other units are tried in simple orders alone

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
    for (int pieces = 2; pieces <= most_pieces_of_k; ++pieces) {
        const std::int64_t length = (instructions + pieces - 1) / pieces;
        if (length == known) continue;
        known = length;
        orders.push_back({.split_k = pieces});
    }
    return orders;
}

/// One chain, promoted, and equal pieces added in fp32 from the first to the last. Libraries promote sums of 8-bit
/// products and split the k of others, so that these come first.
std::vector<ProductOrder> simple_orders(std::int64_t k, const TensorCoreModel& model) {
    std::vector<ProductOrder> orders{{}};
    const std::vector<ProductOrder> pieces = equal_pieces(k, model.instruction_k);
    const auto add_pieces = [&] { std::ranges::copy(pieces, std::back_inserter(orders)); };
    const bool narrow = model.a_format.code_bits() <= 8;
    if (!narrow) add_pieces();
    for (const std::int64_t every : {128, 32, 64, 256, 512}) {
        if (every < k) orders.push_back({.promote_every = every});
    }
    if (narrow) add_pieces();
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
    // With an alpha of 0 every way gives D, and none explains it.
    if (question.c && estimated != LinearEpilogue{1, 0} && estimated.alpha != 0) add(estimated);
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

std::vector<FloatFormat> outputs_of(const TensorCoreModel& model, const std::vector<FloatFormat>& narrow) {
    std::vector<FloatFormat> list = {model.accumulator};
    for (const FloatFormat& format : narrow) {
        if (format.storage_bits() < model.accumulator.storage_bits()) list.push_back(format);
    }
    return list;
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
        const std::int64_t promoted = question_.promote_every;
        const auto simple = question_.scaled || promoted > 0 ? std::vector<ProductOrder>{{.promote_every = promoted}}
                                                             : simple_orders(k, question_.model);
        attempt(simple, {});
        const bool only_simple = question_.scaled.has_value() || promoted > 0 || k == 0;
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
    std::vector<SearchedWay> best() {
        std::ranges::stable_sort(tried_, [](const Tried& x, const Tried& y) {
            return std::tuple(-x.matches, x.fault != 0, x.nearness, x.number) <
                   std::tuple(-y.matches, y.fault != 0, y.nearness, y.number);
        });
        std::vector<SearchedWay> ways;
        std::size_t others = 0;
        for (const Tried& way : tried_) {
            const bool all = way.matches == d_first_.size() + d_part_.size();
            others += all ? 0 : 1;
            if (ways.size() == most_ways || others > other_ways || (!ways.empty() && way.matches == 0)) break;
            ways.push_back({way.way, way.fault});
        }
        return ways;
    }

    [[nodiscard]] std::vector<ProductFault<Real>> faults() { return std::move(faults_); }

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
        const std::vector<FloatFormat> outputs = outputs_of(unit.model, narrow_);
        const std::optional<FloatFormat> total = order.total_format ? order.total_format : order.sum_format;
        const bool total_is_output = total && std::ranges::find(outputs, *total) != outputs.end();
        for (const FloatFormat& output : outputs) {
            way.output = output;
            const MatrixOf<Real> stored = rounded_to(output, sums);
            // Of formats that change nothing one is said: that of the total, or the accumulator.
            const bool is_plain = output == (total.value_or(unit.model.accumulator));
            if (!is_plain && (output == unit.model.accumulator ? total_is_output : words_of(stored) == words_of(sums)))
                continue;
            std::int64_t matches = matches_of<Real>(stored, d_first_);
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

}  // namespace

template <class Real>
ProductSearch<Real> search_product(const BasicProductQuestion<Real>& question) {
    ProductSearch<Real> result;
    const auto rows = spread_over(question.d.rows(), part_rows);
    const auto cols = spread_over(question.d.cols(), part_rows);
    if (question.c && !question.scaled && tells_numbers(question.d)) {
        const ProductOperands<Real> part = part_of(question.operands(), rows, cols);
        result.estimated = estimate<Real>(part.a, part.b, &*part.c, MatrixOf<Real>(question.d(rows, cols)));
    }
    Search<Real> search(question, result.estimated);
    search.run();
    result.tried = search.count();
    result.tried_on = static_cast<std::int64_t>(rows.size() * cols.size());
    result.ways = search.best();
    result.faults = search.faults();
    return result;
}
template ProductSearch<float> search_product(const BasicProductQuestion<float>&);
template ProductSearch<double> search_product(const BasicProductQuestion<double>&);

}  // namespace ulp
