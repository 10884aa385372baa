#include "softfloat/lab/narrow_discovery.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "softfloat/lab/dot_question.hpp"

namespace ulp::discovery {

namespace {

using Leaves = std::vector<int>;

class NarrowTest {
  public:
    explicit NarrowTest(const DotUnit& unit)
        : unit_(unit),
          huge_(unit.a_format.emax() + unit.b_format.emax()),
          least_(unit.a_format.smallest_exponent() + unit.b_format.smallest_exponent()) {}

    Discovery run() {
        find_output_bits();
        find_groups();
        find_rounding();
        find_alignment_of_c();
        found_.tree = tree();
        found_.fused_terms = static_cast<int>(group().size()) + (c_is_aligned() ? 1 : 0);
        if (found_.fraction_bits) {
            if (find_exponent_of_terms()) {
                find_alignment_of_products();
            } else {
                find_exact_products();
            }
        }
        return found_;
    }

  private:
    /// The answer to c and products at leaves, less `base`.
    [[nodiscard]] double above(double base, const Number& c,
                               const std::vector<std::pair<int, Number>>& products) const {
        Question question(unit_);
        question.put(addend_leaf, c);
        for (const auto& [leaf, number] : products) question.put(leaf, number);
        return question.value() - base;
    }
    /// The same with one number at all of a group's leaves, less c.
    [[nodiscard]] double sum_beside(int exponent, const Number& each) const {
        std::vector<std::pair<int, Number>> products;
        for (const int leaf : group()) products.emplace_back(leaf, each);
        return above(std::ldexp(1.0, exponent), power_of_two(exponent), products);
    }
    /// c, beside two equal products of opposite signs.
    [[nodiscard]] double left_of(const Number& c, const Number& product) const {
        return above(0, c, {{group().front(), product}, {group().back(), minus(product)}});
    }
    [[nodiscard]] std::optional<int> least_beside(const Number& product) const {
        return least_addend(unit_, group().front(), group().back(), product);
    }
    [[nodiscard]] const Leaves& group() const { return groups_.front(); }
    [[nodiscard]] bool c_is_aligned() const { return found_.fraction_bits.has_value(); }
    void say(const std::string& sentence) { found_.evidence.push_back(sentence); }

    void find_output_bits() {
        for (int f = 1; f <= unit_.accumulator.fraction_bits; ++f) {
            if (above(std::ldexp(1.0, f), power_of_two(f), {{0, power_of_two(0)}}) != 1) break;
            found_.output_fraction_bits = f;
        }
        say("output: c = " + text(found_.output_fraction_bits) + " plus 1 is kept, no finer sum");
    }

    /// c = 2^(f+1), half of whose last place is 1.
    [[nodiscard]] double with_ones(int i, const Number& at_i, int j, const Number& at_j) const {
        const int exponent = found_.output_fraction_bits + 1;
        return above(std::ldexp(1.0, exponent), power_of_two(exponent), {{i, at_i}, {j, at_j}});
    }

    /// The leaves in groups: each has those that meet its first.
    template <class Meet>
    [[nodiscard]] std::vector<Leaves> grouped(Meet&& meet) const {
        std::vector<Leaves> groups;
        for (int leaf = 0; leaf < unit_.k; ++leaf) {
            const auto group =
                std::find_if(groups.begin(), groups.end(), [&](const Leaves& g) { return meet(g.front(), leaf); });
            if (group == groups.end()) {
                groups.push_back({leaf});
            } else {
                group->push_back(leaf);
            }
        }
        return groups;
    }

    void find_groups() {
        const Number one = power_of_two(0);
        groups_ = grouped([&](int i, int j) { return with_ones(i, one, j, one) == 2; });
        // Each group's place: how many come before it.
        std::vector<std::pair<int, Leaves>> placed;
        for (const Leaves& group : groups_) {
            const auto before = [&](const Leaves& other) {
                return &other != &group && with_ones(other.front(), one, group.front(), minus(one)) == -1;
            };
            placed.emplace_back(std::count_if(groups_.begin(), groups_.end(), before), group);
        }
        std::stable_sort(placed.begin(), placed.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
        for (std::size_t g = 0; g < placed.size(); ++g) groups_[g] = placed[g].second;
        say("groups: beside c = " + text(found_.output_fraction_bits + 1) + " two products of 1 survive together in " +
            std::to_string(groups_.size()) + (groups_.size() == 1 ? " group" : " groups, ordered by 1 and -1"));
    }

    void find_alignment_of_c() {
        if (group().size() < 2) return;
        const std::optional<int> least = least_beside(power_of_two(huge_));
        if (!least) {
            found_.exact_alignment = true;
            say("alignment: beside +-" + text(huge_) + " every c survives: c comes later");
            return;
        }
        const int bits = huge_ - *least;
        found_.fraction_bits = bits;
        say("F: beside +-" + text(huge_) + " c = " + text(huge_ - bits) + " survives, " + text(huge_ - bits - 1) +
            " does not");
        const Number three_quarters{false, 3, huge_ - bits - 2};
        const bool up = left_of(three_quarters, power_of_two(huge_)) != 0;
        const bool down = left_of(minus(three_quarters), power_of_two(huge_)) != 0;
        found_.addend_alignment = rounding_from(up, down);
        say(std::string("c: 3/4 of the last place leaves ") + (up ? "1" : "0") + ", -3/4 leaves " +
            (down ? "-1" : "0"));
    }

    /// Whether products have exponents of their own. If not, F counts from 2^0, the exponent of scales of one.
    bool find_exponent_of_terms() {
        const int bits = *found_.fraction_bits;
        const Number doubled{false, 9, huge_ - 4};  // 2.25 * 2^(huge - 2)
        const int exponent = least_beside(doubled).value_or(huge_ - 2 - bits) + bits;
        found_.normalises_products = exponent == huge_ - 1;
        if (exponent < huge_) {
            say(std::string("products: 2.25 ") +
                (exponent == huge_ - 1 ? "cuts at its own" : "cuts where 1 does: at its operands'") + " exponent");
            return true;
        }
        found_.fraction_bits = bits - huge_;
        say("products: 2.25 * " + text(huge_ - 2) + " cuts where " + text(huge_) +
            " does: they are added before terms are aligned; F counts from 2^0");
        return false;
    }

    void find_alignment_of_products() {
        const int bits = *found_.fraction_bits;
        const int last = bits + least_;  // beside 2^last, 2^least is just kept
        if (last + 2 > unit_.accumulator.emax()) {
            say("products: no c is large enough to cut one, so how they are cut cannot be asked; any F from " +
                std::to_string(unit_.accumulator.emax() - least_) + " up gives the same answers for them");
            return;
        }
        const int unseen = bits + 1 - found_.output_fraction_bits;  // the sum's last place above that of the terms
        if (unseen > 20 || group().size() < std::size_t{1} << std::max(unseen, 0)) {
            say("products: rounding hides what " + std::to_string(group().size()) + " of " + text(least_) +
                " leave beside c, so how they are cut cannot be asked");
            return;
        }
        const double kept = sum_beside(last, power_of_two(least_));
        const double lost = sum_beside(last + 1, power_of_two(least_));
        if (kept == 0 || lost != 0) {
            say("products: " + std::to_string(group().size()) + " of " + text(least_) +
                " do not vanish where F says: they are not aligned with c");
            found_.fraction_bits.reset();
            return;
        }
        const bool up = sum_beside(last + 2, Number{false, 3, least_}) != 0;
        const bool down = sum_beside(last + 2, Number{true, 3, least_}) != 0;
        found_.alignment = rounding_from(up, down);
        say("alignment: " + std::to_string(group().size()) + " products of " + text(least_) +
            " survive beside c = " + text(last) + ", not beside " + text(last + 1) + "; 3/4 of the last place leaves " +
            (up ? "1" : "0") + ", -3/4 leaves " + (down ? "-1" : "0"));
    }

    void find_rounding() {
        const int exponent = found_.output_fraction_bits + 2;  // the last place is 4
        const double c = std::ldexp(1.0, exponent);
        const bool up = above(c, power_of_two(exponent), {{0, {false, 3, 0}}}) != 0;
        const bool down = above(-c, minus(power_of_two(exponent)), {{0, {true, 3, 0}}}) != 0;
        const bool tie = above(c, power_of_two(exponent), {{0, power_of_two(1)}}) != 0;
        Rounding rounding = rounding_from(up, down);
        if (rounding == Rounding::nearest_even && tie) rounding = Rounding::nearest_away;
        found_.rounding = rounding;
        say(std::string("rounding: +3/4 of c's last place gives +") + (up ? "1" : "0") + ", -3/4 gives -" +
            (down ? "1" : "0") + ", a tie above an even sum gives +" + (tie ? "1" : "0"));
    }

    /// Whether c = 2^exponent less these products is not c: of a sum rounded toward zero any rest shows.
    [[nodiscard]] bool shows_below(int exponent, const Number& x, int i, std::optional<int> j = std::nullopt) const {
        std::vector<std::pair<int, Number>> products{{i, x}};
        if (j) products.emplace_back(*j, x);
        const double c = std::ldexp(x.sign ? 1.0 : -1.0, exponent);
        return above(c, {!x.sign, 1, exponent}, products) != 0;
    }

    void find_exact_products() {
        found_.exact_products.reset();
        if (found_.rounding != Rounding::toward_zero) {
            say("products: the sum's rounding hides how many are added exactly, and how their sum is cut");
            return;
        }
        const int last = *found_.fraction_bits + least_;  // beside 2^last, 2^least is just kept
        const bool up = shows_below(last + 2, {false, 3, least_}, 0);
        const bool down = shows_below(last + 2, {true, 3, least_}, 0);
        found_.alignment = rounding_from(up, down);
        say(std::string("alignment: 3/4 of the last place leaves ") + (up ? "1" : "0") + ", -3/4 leaves " +
            (down ? "-1" : "0"));
        const Number least{!down, 1, least_};  // of the sign that is cut to zero
        const auto meet = [&](int i, int j) { return i == j || shows_below(last + 1, least, i, j); };
        const std::vector<Leaves> groups = grouped(meet);
        const auto as_first = [&](const Leaves& g) { return g.size() == groups.front().size(); };
        const bool cut = shows_below(last, least, 0) && !shows_below(last + 1, least, 0);
        if (!cut || !std::all_of(groups.begin(), groups.end(), as_first)) {
            say("products: one of " + text(least_) + " is not cut where F says");
            found_.fraction_bits.reset();
            return;
        }
        found_.exact_products = static_cast<int>(groups.front().size());
        say("exact: beside " + text(last + 1) + " one product of " + text(least_) + " vanishes, two show in " +
            std::to_string(groups.size()) + " groups of " + std::to_string(groups.front().size()));
    }

    /// The groups in their order, c before the first of them or after all.
    [[nodiscard]] SummationTree tree() const {
        SummationTree all;
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            std::vector<SummationTree> children;
            if (g > 0) children.push_back(std::move(all));
            if (g == 0 && c_is_aligned()) children.push_back(SummationTree::of_leaf(addend_leaf));
            for (const int leaf : groups_[g]) children.push_back(SummationTree::of_leaf(leaf));
            all = children.size() == 1 ? children.front() : SummationTree::node(std::move(children));
        }
        return c_is_aligned() ? all : SummationTree::node({SummationTree::of_leaf(addend_leaf), std::move(all)});
    }

    const DotUnit& unit_;
    int huge_, least_;  // exponents of the largest and the least power of two among the products
    std::vector<Leaves> groups_;
    Discovery found_;
};

}  // namespace

std::optional<int> least_addend(const DotUnit& unit, int i, int j, const Number& product) {
    const int lowest = unit.accumulator.smallest_exponent();
    int exponent = product.exponent + 4;
    const auto survives = [&](int c) {
        Question question(unit);
        question.put(addend_leaf, power_of_two(c));
        question.put(i, product);
        question.put(j, minus(product));
        return question.value() == std::ldexp(1.0, c);
    };
    while (exponent > lowest && survives(exponent - 1)) --exponent;
    if (exponent == lowest) return std::nullopt;
    return exponent;
}

Discovery discover_narrow(const DotUnit& unit) { return NarrowTest(unit).run(); }

}  // namespace ulp::discovery
