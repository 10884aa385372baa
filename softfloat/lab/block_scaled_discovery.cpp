#include "softfloat/lab/block_scaled_discovery.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "softfloat/lab/narrow_discovery.hpp"
#include "softfloat/names.hpp"

namespace ulp {

namespace {

using discovery::Number;
using discovery::power_of_two;
using discovery::Question;

constexpr int scale_codes = 256;
using Codes = std::vector<std::uint64_t>;
using Values = std::array<double, scale_codes>;

bool same(double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); }

class ScaleTest {
  public:
    explicit ScaleTest(const ScaledUnit& unit) : unit_(unit) {}

    ScaledDiscovery run() {
        if (!find_one()) return found_;
        find_format();
        find_blocks();
        found_.products = discover(scaled_by(one_, one_));
        if (found_.products.fraction_bits) find_place_of_scales();
        return found_;
    }

  private:
    /// The unit with these scales.
    [[nodiscard]] DotUnit scaled_by(const Codes& x, const Codes& y) const {
        return {unit_.a_format, unit_.b_format, unit_.accumulator, unit_.k,
                [this, x, y](std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, std::uint64_t c) {
                    return unit_.dot(a, b, x, y, c);
                }};
    }
    [[nodiscard]] DotUnit scaled_by(int x, int y) const { return scaled_by(all(x), all(y)); }
    [[nodiscard]] Codes all(int code) const {
        return Codes(static_cast<std::size_t>(unit_.k), static_cast<std::uint64_t>(code));
    }
    /// 1 * 1 at one leaf of a unit.
    static double one_at(const DotUnit& unit, int leaf) {
        Question question(unit);
        question.put(leaf, power_of_two(0));
        return question.value();
    }
    void say(const std::string& sentence) { found_.evidence.push_back(sentence); }

    bool find_one() {
        for (one_ = 0; one_ < scale_codes; ++one_) {
            if (one_at(scaled_by(one_, one_), 0) == 1) return true;
        }
        say("scales: no code on both sides leaves 1 as it is");
        return false;
    }

    void find_format() {
        Values of_a{}, of_b{};
        for (int code = 0; code < scale_codes; ++code) {
            const auto at = static_cast<std::size_t>(code);
            of_a[at] = one_at(scaled_by(code, one_), 0);
            of_b[at] = one_at(scaled_by(one_, code), 0);
            found_.signed_scales = found_.signed_scales || of_a[at] < 0 || of_b[at] < 0;
            if (!(of_a[at] > 0)) continue;
            found_.least_scale = found_.least_scale == 0 ? of_a[at] : std::min(found_.least_scale, of_a[at]);
            found_.greatest_scale = std::max(found_.greatest_scale, of_a[at]);
        }
        for (const NamedFormat& row : named_formats()) {
            if (row.format.storage_bits() == 8 && fits(row.format, of_a) && fits(row.format, of_b)) {
                found_.scale_format = row.format;
            }
        }
        values_ = of_a;
        say("scales: all 256 codes of A's and of B's " +
            (found_.scale_format ? "have the magnitudes of " + name_of(*found_.scale_format)
                                 : std::string("have the magnitudes of no format of the table")) +
            (found_.signed_scales ? "; their sign counts" : "; a sign does not count"));
    }
    static bool fits(const FloatFormat& format, const Values& values) {
        for (int code = 0; code < scale_codes; ++code) {
            Context context;
            const auto word = static_cast<std::uint64_t>(code);
            const double value = std::bit_cast<double>(convert_bits(formats::fp64, format, word, context));
            if (!same(std::fabs(value), std::fabs(values[static_cast<std::size_t>(code)]))) return false;
        }
        return true;
    }
    /// The first code of that value.
    [[nodiscard]] std::optional<int> code_of(double value) const {
        const auto at = std::find(values_.begin(), values_.end(), value);
        if (at == values_.end()) return std::nullopt;
        return static_cast<int>(at - values_.begin());
    }

    void find_blocks() {
        const std::optional<int> two = code_of(2);
        if (!two) return;
        const std::vector<int> of_a = covering_scales(*two, true);
        const std::vector<int> of_b = covering_scales(*two, false);
        const auto block = static_cast<int>(std::count(of_a.begin(), of_a.end(), of_a.front()));
        bool regular = of_a == of_b;
        for (int leaf = 0; leaf < unit_.k; ++leaf) {
            regular = regular && of_a[static_cast<std::size_t>(leaf)] == leaf / block;
        }
        if (regular) found_.scale_block = block;
        say("blocks: with one scale doubled " + (regular ? std::to_string(block) + " neighbouring products double"
                                                         : std::string("no block of neighbouring products doubles")));
    }
    /// Of each product the scale that doubles it; -1: none.
    [[nodiscard]] std::vector<int> covering_scales(int two, bool of_a) const {
        std::vector<int> covering(static_cast<std::size_t>(unit_.k), -1);
        for (int scale = 0; scale < unit_.k; ++scale) {
            Codes codes = all(one_);
            codes[static_cast<std::size_t>(scale)] = static_cast<std::uint64_t>(two);
            const DotUnit unit = of_a ? scaled_by(codes, all(one_)) : scaled_by(all(one_), codes);
            for (int leaf = 0; leaf < unit_.k; ++leaf) {
                if (one_at(unit, leaf) == 2) covering[static_cast<std::size_t>(leaf)] = scale;
            }
        }
        return covering;
    }

    /// The least c beside products of +-1 under these scales.
    [[nodiscard]] std::optional<int> least_c(int x, int y) const {
        return discovery::least_addend(scaled_by(x, y), 0, unit_.k - 1, power_of_two(0));
    }
    void find_place_of_scales() {
        const std::optional<int> least = least_c(one_, one_);
        const std::optional<int> sixteen = code_of(16);
        if (!least || !sixteen) return;
        const auto moved = [&](std::optional<int> c) { return c.value_or(*least) - *least; };
        const int by_a = moved(least_c(*sixteen, one_));
        const int by_b = moved(least_c(one_, *sixteen));
        found_.scales_before_alignment = by_a == 4 && by_b == 4;
        say("alignment: under scales of 2^4 the least c beside +-1 is 2^" + std::to_string(by_a) + " and 2^" +
            std::to_string(by_b) + " times what it is under 1");
        const std::optional<int> three_halves = code_of(1.5);
        if (!three_halves) return;
        const int by_both = moved(least_c(*three_halves, *three_halves));
        found_.normalises_scales = by_both != 0;
        say("alignment: under scales of 1.5 and 1.5 it is 2^" + std::to_string(by_both) + " times that");
    }

    const ScaledUnit& unit_;
    int one_ = 0;
    Values values_{};  // of the codes of A's scales
    ScaledDiscovery found_;
};

}  // namespace

ScaledUnit unit_of(const BlockScaledModel& model) {
    const TensorCoreModel& unscaled = model.unscaled;
    using Span = ScaledUnit::Codes;
    return {unscaled.a_format, unscaled.b_format, unscaled.accumulator, unscaled.instruction_k,
            [model](Span a, Span b, Span a_scales, Span b_scales, std::uint64_t c) {
                const auto words = [](Span codes) { return std::vector<std::uint32_t>(codes.begin(), codes.end()); };
                return std::uint64_t{block_scaled_dot(model, words(a).data(), words(b).data(), words(a_scales).data(),
                                                      words(b_scales).data(), static_cast<std::uint32_t>(c))};
            }};
}

ScaledDiscovery discover(const ScaledUnit& unit) { return ScaleTest(unit).run(); }

bool agrees(const ScaledDiscovery& found, const BlockScaledModel& model) {
    return found.scale_format == model.scale_format && !found.signed_scales && found.scale_block == model.scale_block &&
           found.scales_before_alignment && !found.normalises_scales.value_or(false) &&
           agrees(found.products, model.unscaled, model.exact_products);
}

std::vector<const UnitRow*> matching_rows(const ScaledUnit& unit, const ScaledDiscovery& found) {
    std::vector<const UnitRow*> rows;
    for (const UnitRow& row : unit_table()) {
        const auto* model = row.as<BlockScaledModel>();
        if (model == nullptr) continue;
        const TensorCoreModel& unscaled = model->unscaled;
        const bool formats = unscaled.a_format == unit.a_format && unscaled.b_format == unit.b_format &&
                             unscaled.accumulator == unit.accumulator && unscaled.instruction_k == unit.k;
        if (formats && agrees(found, *model)) rows.push_back(&row);
    }
    return rows;
}

}  // namespace ulp
