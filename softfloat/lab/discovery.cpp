#include "softfloat/lab/discovery.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "softfloat/lab/dot_question.hpp"
#include "softfloat/lab/narrow_discovery.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/names.hpp"

namespace ulp {

namespace {

using discovery::Number;
using discovery::Question;
using discovery::rounding_from;
using discovery::text;

/// Exponents that suit the formats: of huge terms, and of units that any rounding in their company loses.
struct Scales {
    int huge, unit;
};

Scales scales_of(const DotUnit& unit) {
    const int products = unit.a_format.emax() + unit.b_format.emax();
    const int huge = std::min({products, unit.accumulator.emax() - 1, 60});
    const int gap = unit.accumulator.precision() > 24 ? 120 : 40;
    const int least = unit.a_format.smallest_exponent() + unit.b_format.smallest_exponent();
    return {huge, std::max({huge - gap, least, unit.accumulator.smallest_exponent()})};
}

/// c = 1 beside a product of -1: zero, or what the inversion of terms against c's sign leaves.
void find_inversion(const DotUnit& unit, Discovery& found) {
    Question question(unit);
    question.put(addend_leaf, {false, 1, 0});
    question.put(0, {true, 1, 0});
    const double left = std::abs(question.value());
    if (left == 0 || left >= 1 || std::exp2(std::round(std::log2(left))) != left) return;
    found.inverts_opposing = true;
    found.fraction_bits = -static_cast<int>(std::log2(left));
    found.evidence.push_back("c = 1 beside a product of -1 gives -" + text(-*found.fraction_bits) +
                             ": a term against c's sign is inverted without the increment, and F is found");
}

SummationTree find_tree(const DotUnit& unit, const Discovery& found) {
    const Scales scales = scales_of(unit);
    // Units that a rounding to odd, or an inverted term, loses beside a huge term leave a multiple of its last place.
    const int last = std::max(unit.accumulator.precision(), found.fraction_bits.value_or(0));
    const double place = std::ldexp(1.0, std::max(scales.huge - last - scales.unit, 0));
    return reveal_tree(unit.k, [&](int i, int j) {
        Question question(unit);
        for (int leaf = addend_leaf; leaf < unit.k; ++leaf) question.put(leaf, {false, 1, scales.unit});
        question.put(i, {false, 1, scales.huge});
        question.put(j, {true, 1, scales.huge});
        double survivors = std::ldexp(question.value(), -scales.unit);
        if (place > unit.k + 1) survivors = std::round(survivors - place * std::round(survivors / place));
        if (survivors < 0) survivors += place;
        return unit.k - 1 - static_cast<int>(survivors);
    });
}

/// The leaves that are children of the node with the most of them; products first, c last.
std::vector<int> widest_node(const SummationTree& tree) {
    std::vector<int> leaves;
    bool with_c = false;
    for (const SummationTree& child : tree.children) {
        if (child.is_leaf() && child.leaf != addend_leaf) leaves.push_back(child.leaf);
        with_c = with_c || (child.is_leaf() && child.leaf == addend_leaf);
    }
    if (with_c) leaves.push_back(addend_leaf);
    for (const SummationTree& child : tree.children) {
        const auto below = widest_node(child);
        if (below.size() > leaves.size()) leaves = below;
    }
    return leaves;
}

int widest_terms(const SummationTree& tree) {
    auto terms = static_cast<int>(tree.children.size());
    for (const SummationTree& child : tree.children) terms = std::max(terms, widest_terms(child));
    return terms;
}

/// What is left of `small` beside two huge terms of opposite signs in one node.
class AlignmentTest {
  public:
    AlignmentTest(const DotUnit& unit, const std::vector<int>& leaves, const Number& huge)
        : unit_(unit), leaves_(leaves), huge_(huge) {}
    /// Nothing where the formats cannot make the number.
    [[nodiscard]] std::optional<double> left_of(const Number& small) const {
        Question question(unit_);
        if (!question.put(leaves_[0], huge_)) return std::nullopt;
        question.put(leaves_[1], {!huge_.sign, huge_.significand, huge_.exponent});
        if (!question.put(leaves_[2], small)) return std::nullopt;
        return question.value();
    }

  private:
    const DotUnit& unit_;
    const std::vector<int>& leaves_;
    Number huge_;
};

void find_alignment(const DotUnit& unit, const std::vector<int>& leaves, Discovery& found) {
    const int huge = scales_of(unit).huge;
    const AlignmentTest test(unit, leaves, {false, 1, huge});
    const int least = unit.accumulator.smallest_exponent();
    int bits = 0;
    for (int f = 1; huge - f >= least; ++f) {
        const auto left = test.left_of({false, 1, huge - f});
        if (!left || *left != std::ldexp(1.0, huge - f)) {
            found.exact_alignment = !left.has_value();
            break;
        }
        bits = f;
        found.exact_alignment = true;
    }
    if (found.exact_alignment) {
        found.evidence.push_back("alignment: beside +-" + text(huge) + " even " + text(huge - bits) +
                                 " survives, the least that the formats can ask for");
        return;
    }
    found.fraction_bits = bits;
    found.evidence.push_back("F: beside +-" + text(huge) + " in one node " + text(huge - bits) + " survives, " +
                             text(huge - bits - 1) + " does not");
    const Number three_quarters{false, 3, huge - bits - 2};
    const auto plus = test.left_of(three_quarters);
    const auto minus = test.left_of({true, 3, three_quarters.exponent});
    if (plus && minus) {
        found.alignment = rounding_from(*plus != 0, *minus != 0);
        found.evidence.push_back("alignment: 3/4 of the last place leaves " + std::string(*plus != 0 ? "1" : "0") +
                                 ", -3/4 leaves " + (*minus != 0 ? "-1" : "0"));
    }
    if (leaves.back() == addend_leaf) {
        const std::vector<int> with_c{leaves[0], leaves[1], addend_leaf};
        const AlignmentTest addend(unit, with_c, {false, 1, huge});
        const double up = addend.left_of(three_quarters).value_or(0);
        const double down = addend.left_of({true, 3, three_quarters.exponent}).value_or(0);
        found.addend_alignment = rounding_from(up != 0, down != 0);
        found.evidence.push_back(std::string("c: 3/4 of the last place leaves ") + (up != 0 ? "1" : "0") +
                                 ", -3/4 leaves " + (down != 0 ? "-1" : "0"));
    }
    const AlignmentTest doubled(unit, leaves, {false, 9, huge - 4});  // 2.25 * 2^(huge - 2)
    const auto left = doubled.left_of({false, 1, huge - 2 - bits});
    if (left) {
        found.normalises_products = *left == 0;
        found.evidence.push_back(std::string("products: 2.25 ") +
                                 (*left == 0 ? "cuts at its own" : "cuts where 1 does: at its operands'") +
                                 " exponent");
    }
}

/// The sums by which the rounding and its bits are found lie at 2^5.
constexpr int sum_exponent = 5;

void find_output_bits(const DotUnit& unit, int first, int second, Discovery& found) {
    for (int f = 1; f <= unit.accumulator.fraction_bits; ++f) {
        Question question(unit);
        question.put(first, {false, 1, sum_exponent});
        if (!question.put(second, {false, 1, sum_exponent - f})) break;
        if (question.value() != std::ldexp(1.0, sum_exponent) + std::ldexp(1.0, sum_exponent - f)) break;
        found.output_fraction_bits = f;
    }
    found.evidence.push_back("output: 1 + " + text(-found.output_fraction_bits) + " is kept, no finer sum");
}

/// Sums of a base and a part of its last place, in units of that place above the base.
class RoundingTest {
  public:
    /// The base is 27/4 * 2^5 from three leaves, so that the last place of the sum lies above that of any term; or 2^5
    /// from one leaf where the node has fewer. `with_c`: 2 * 2^5, half of it from c, whose sign is that of all terms.
    RoundingTest(const DotUnit& unit, const std::vector<int>& leaves, int fraction_bits, bool with_c)
        : unit_(unit),
          leaves_(leaves),
          wide_(!with_c && leaves.size() >= 4 && leaves[3] != addend_leaf),
          bases_(wide_    ? 3
                 : with_c ? 2
                          : 1),
          sum_(wide_ ? 6.75 : bases_),
          place_(sum_exponent + (wide_ ? 2 : bases_ - 1) - fraction_bits) {
        if (with_c) std::rotate(leaves_.begin(), std::find(leaves_.begin(), leaves_.end(), addend_leaf), leaves_.end());
    }

    /// The answer to base + numerator / 4 places, of either sign.
    [[nodiscard]] std::optional<double> places(bool negative, const Number& quarters) const {
        Question question(unit_);
        const Number base = wide_ ? Number{negative, 9, sum_exponent - 2} : Number{negative, 1, sum_exponent};
        for (int i = 0; i < bases_; ++i) {
            if (!question.put(leaves_[static_cast<std::size_t>(i)], base)) return std::nullopt;
        }
        const Number part{negative, quarters.significand, quarters.exponent + place_};
        if (!question.put(leaves_[static_cast<std::size_t>(bases_)], part)) return std::nullopt;
        const double magnitude = negative ? -question.value() : question.value();
        return std::ldexp(magnitude - sum_ * std::ldexp(1.0, sum_exponent), -place_);
    }

  private:
    const DotUnit& unit_;
    std::vector<int> leaves_;
    bool wide_;
    int bases_;
    double sum_;
    int place_;
};

void find_rounding(const DotUnit& unit, const std::vector<int>& leaves, Discovery& found) {
    const RoundingTest test(unit, leaves, found.output_fraction_bits,
                            found.inverts_opposing && leaves.size() == 3 && leaves.back() == addend_leaf);
    const auto up = test.places(false, {false, 3, -2});
    const auto down = test.places(true, {false, 3, -2});
    const auto tie_to_even = test.places(false, {false, 1, -1});
    const auto quarter = test.places(false, {false, 1, -2});
    if (!up || !down || !tie_to_even) return;
    Rounding rounding = rounding_from(*up != 0, *down != 0);
    const bool to_odd = rounding == Rounding::nearest_even && quarter.value_or(0) != 0;
    if (rounding == Rounding::nearest_even && *tie_to_even != 0) rounding = Rounding::nearest_away;
    if (to_odd) rounding = Rounding::odd;
    found.rounding = rounding;
    const auto said = [](double x) { return x == 0 ? std::string("0") : "1"; };
    found.evidence.push_back("rounding: +3/4 of the last place gives +" + said(*up) + ", -3/4 gives -" + said(*down) +
                             ", a tie above an even sum gives +" + said(*tie_to_even) +
                             (to_odd ? ", 1/4 gives +1" : ""));
}

void find_special_values(const DotUnit& unit, Discovery& found) {
    const int up = std::min(unit.b_format.emax(), -unit.a_format.smallest_exponent());
    Context context;
    Question subnormal(unit);
    const std::uint64_t least = pack(unit.a_format, false, 1);
    subnormal.put_codes(0, least, round_to_bits(unit.b_format, false, up, std::uint64_t{1}, context));
    found.uses_subnormal_inputs = subnormal.value() != 0;
    found.evidence.push_back(std::string("subnormals: the smallest operand times ") + text(up) +
                             (found.uses_subnormal_inputs ? " counts" : " counts as zero"));
    if (!unit.a_format.has_nan()) return;
    Question nan(unit);
    nan.put_codes(0, nan_bits(unit.a_format), round_to_bits(unit.b_format, false, 0, std::uint64_t{1}, context));
    found.nan = nan.answer();
}

}  // namespace

DotUnit unit_of(const TensorCoreModel& model) {
    return {model.a_format, model.b_format, model.accumulator, model.instruction_k,
            [model](std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, std::uint64_t c) {
                return chain_dot(model, a.data(), b.data(), c, static_cast<std::int64_t>(a.size()));
            }};
}

bool can_mask(const DotUnit& unit) {
    if (const FloatFormat& a = unit.a_format; a.is_table() || unit.b_format.is_table()) {
        throw std::invalid_argument("a unit is discovered by operands of chosen exponents, and " +
                                    name_of(a.is_table() ? a : unit.b_format) +
                                    " is a table of values; ask it in a format with fields");
    }
    constexpr int most_fraction_bits = 25;  // of the units known
    const Scales scales = scales_of(unit);
    const int least = unit.a_format.smallest_exponent() + unit.b_format.smallest_exponent();
    return scales.huge - scales.unit > most_fraction_bits + 2 && least <= sum_exponent - unit.accumulator.fraction_bits;
}

Discovery discover(const DotUnit& unit) {
    if (!can_mask(unit)) {
        Discovery found = discovery::discover_narrow(unit);
        find_special_values(unit, found);
        return found;
    }
    Discovery found;
    find_inversion(unit, found);
    found.tree = find_tree(unit, found);
    found.fused_terms = widest_terms(found.tree);
    const std::vector<int> leaves = widest_node(found.tree);
    if (found.fused_terms > 2 && leaves.size() >= 3 && !found.inverts_opposing) find_alignment(unit, leaves, found);
    if (leaves.size() >= 2) {
        find_output_bits(unit, leaves[0], leaves[1], found);
        find_rounding(unit, leaves, found);
    }
    find_special_values(unit, found);
    return found;
}

bool agrees(const Discovery& found, const TensorCoreModel& model, int exact_products) {
    const bool aligned = takes_decoded(model);
    const bool alignment =
        aligned ? found.fraction_bits == model.fraction_bits &&
                      found.alignment.value_or(model.variation.alignment) == model.variation.alignment &&
                      (found.inverts_opposing || found.normalises_products == model.variation.normalise_products)
                : !found.fraction_bits.has_value();
    const bool late = model.summation == Summation::late_addend || model.summation == Summation::late_addend_even_odd;
    const Rounding of_c = late ? Rounding::down : model.variation.alignment;
    const bool addend = found.addend_alignment.value_or(of_c) == of_c;
    const bool exact = (model.summation == Summation::exact) == found.exact_alignment;
    return found.tree.text() == tree_of(model).text() && found.inverts_opposing == model.variation.invert_opposing &&
           alignment && addend && exact && found.exact_products.value_or(exact_products) == exact_products &&
           found.rounding == model.rounding && found.output_fraction_bits == model.output_fraction_bits &&
           found.uses_subnormal_inputs == !(model.flush_subnormals || model.variation.flush_operands);
}

std::vector<const UnitRow*> matching_rows(const DotUnit& unit, const Discovery& found) {
    std::vector<const UnitRow*> rows;
    for (const UnitRow& row : unit_table()) {
        const auto* model = row.as<TensorCoreModel>();
        const bool formats = model != nullptr && model->a_format == unit.a_format && model->b_format == unit.b_format &&
                             model->accumulator == unit.accumulator;
        if (formats && model->instruction_k == unit.k && agrees(found, *model)) rows.push_back(&row);
    }
    return rows;
}

}  // namespace ulp
