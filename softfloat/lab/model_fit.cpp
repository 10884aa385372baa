#include "softfloat/lab/model_fit.hpp"

#include <algorithm>
#include <limits>

#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/model_names.hpp"
#include "softfloat/matrix_units/policies.hpp"
#include "softfloat/names.hpp"
#include "softfloat/support/parallel.hpp"

namespace ulp {

namespace {

/// The changes, collected.
class Changes {
  public:
    template <class Apply>
    void add(const std::string& name, const Apply& apply) {
        all_.push_back({name, apply});
    }
    template <class At>
    void flag(const std::string& name, const At& at) {
        add(name + " = true", [at](TensorCoreModel& m) { at(m) = true; });
        add(name + " = false", [at](TensorCoreModel& m) { at(m) = false; });
    }
    template <class At, class Value, std::size_t count>
    void values(const std::string& name, const At& at, const model_names::Named<Value> (&values)[count]) {
        for (const auto& each : values) {
            add(name + " = " + std::string(each.name), [at, value = each.value](TensorCoreModel& m) { at(m) = value; });
        }
    }
    template <class At>
    void numbers(const std::string& name, const At& at, const std::vector<int>& values) {
        for (const int value : values) {
            add(name + " = " + std::to_string(value), [at, value](TensorCoreModel& m) { at(m) = value; });
        }
    }
    [[nodiscard]] std::vector<ModelChange> take() { return std::move(all_); }

  private:
    std::vector<ModelChange> all_;
};

using Model = TensorCoreModel;

/// The model with another summation, without the parameters that units of that kind do not have.
Model with_summation(const Model& model, Summation summation) {
    Model other = model;
    other.summation = summation;
    if (summation == Summation::fused) {
        other.fraction_bits = std::max(other.fraction_bits, 24);
        other.flush_subnormals = other.positive_input_zeros = false;
        if (other.nan != NanStyle::all_ones) other.nan = NanStyle::quiet;
        return other;
    }
    other.variation = {.order = model.variation.order};
    other.rounding = Rounding::nearest_even;
    other.output_fraction_bits = other.accumulator.fraction_bits;
    other.fraction_bits = summation == Summation::late_addend ? 24 : 0;
    if (summation != Summation::late_addend) other.policies = {};
    return other;
}

void add_structure(const Model& model, Changes& changes) {
    for (const auto& [name, summation] : {std::pair{"fused", Summation::fused},
                                          {"fma_chain", Summation::fma_chain},
                                          {"fma_pairs", Summation::fma_pairs},
                                          {"even_odd_fma", Summation::even_odd_fma},
                                          {"pairwise", Summation::pairwise},
                                          {"exact", Summation::exact},
                                          {"late_addend", Summation::late_addend}}) {
        changes.add(std::string("summation = ") + name,
                    [summation = summation](Model& m) { m = with_summation(m, summation); });
    }
    std::vector<int> groups;
    for (int size = 1; size <= model.instruction_k; ++size) {
        if (model.instruction_k % size == 0 || is_power_of_two(static_cast<std::uint64_t>(size)))
            groups.push_back(size);
    }
    changes.numbers(
        "group_size", [](Model & m) -> auto& { return m.group_size; }, groups);
    changes.values(
        "k_order", [](Model & m) -> auto& { return m.variation.order; }, model_names::lane_orders);
    changes.values(
        "c_enters", [](Model & m) -> auto& { return m.variation.addend; }, model_names::addend_entries);
}

void add_alignment(const Model& model, Changes& changes) {
    std::vector<int> bits;
    for (const int away : {-8, -4, -2, -1, 1, 2, 4, 8}) bits.push_back(model.fraction_bits + away);
    for (const int usual : {10, 13, 22, 23, 24, 25, 26, 28, 35, 48, 80}) bits.push_back(usual);
    std::erase_if(bits, [](int f) { return f < 1; });
    changes.numbers(
        "fraction_bits", [](Model & m) -> auto& { return m.fraction_bits; }, bits);
    for (const Rounding rounding :
         {Rounding::toward_zero, Rounding::down, Rounding::up, Rounding::nearest_even, Rounding::nearest_away}) {
        const std::string name(name_of(rounding));
        changes.add("alignment = " + name, [rounding](Model& m) {
            m.variation.alignment = rounding;
            m.variation.sticky = false;
        });
        changes.add("rounding = " + name, [rounding](Model& m) { m.rounding = rounding; });
    }
    changes.add("rounding = odd", [](Model& m) { m.rounding = Rounding::odd; });
    changes.add("invert_opposing = true", [](Model& m) {
        m.variation.alignment = Rounding::toward_zero;
        m.variation.sticky = false;
        m.variation.invert_opposing = true;
    });
    changes.add("invert_opposing = false", [](Model& m) { m.variation.invert_opposing = false; });
    changes.add("sticky = true", [](Model& m) {
        m.variation.alignment = Rounding::toward_zero;
        m.variation.sticky = true;
    });
    changes.add("sticky = false", [](Model& m) { m.variation.sticky = false; });
    changes.flag(
        "normalise_products", [](Model & m) -> auto& { return m.variation.normalise_products; });
    changes.add("product_format = none", [](Model& m) { m.variation.product_format = {0, 0, 0}; });
    for (const FloatFormat& format : {formats::fp32, formats::tf32, formats::bf16, formats::fp16}) {
        changes.add("product_format = " + name_of(format), [format](Model& m) { m.variation.product_format = format; });
    }
    std::vector<int> kept;
    for (const int f :
         {model.accumulator.fraction_bits, 7, 10, 13, model.output_fraction_bits - 1, model.output_fraction_bits + 1}) {
        if (f >= 1 && f <= model.accumulator.fraction_bits) kept.push_back(f);
    }
    changes.numbers(
        "output_fraction_bits", [](Model & m) -> auto& { return m.output_fraction_bits; }, kept);
}

void add_special_values(const Model& model, Changes& changes) {
    changes.flag(
        "flush operands", [](Model & m) -> auto& { return m.variation.flush_operands; });
    changes.flag(
        "flush c", [](Model & m) -> auto& { return m.variation.flush_addend; });
    changes.flag(
        "flush results", [](Model & m) -> auto& { return m.variation.flush_results; });
    changes.flag(
        "flush in chains", [](Model & m) -> auto& { return m.flush_subnormals; });
    changes.flag(
        "positive_input_zeros", [](Model & m) -> auto& { return m.positive_input_zeros; });
    changes.flag(
        "saturate", [](Model & m) -> auto& { return m.variation.saturate; });
    changes.flag(
        "negative_zeros", [](Model & m) -> auto& { return m.variation.negative_zeros; });
    changes.values(
        "nan", [](Model & m) -> auto& { return m.nan; }, model_names::nan_styles);
    changes.values(
        "zero_product", [](Model & m) -> auto& { return m.policies.zero_product; }, model_names::zero_products);
    changes.values(
        "zero_c", [](Model & m) -> auto& { return m.policies.zero_addend; }, model_names::zero_addends);
    changes.values(
        "subnormal_c", [](Model & m) -> auto& { return m.policies.subnormal_addend; }, model_names::subnormal_addends);
    changes.values(
        "underflow_sign", [](Model & m) -> auto& { return m.policies.underflow_sign; }, model_names::underflow_signs);
    changes.add("exponent_floor = none", [](Model& m) { m.policies.exponent_floor = no_exponent_floor; });
    std::vector<int> floors;
    for (int below = 0; below <= 9; ++below) floors.push_back(model.accumulator.emin() - below);
    changes.numbers(
        "exponent_floor", [](Model & m) -> auto& { return m.policies.exponent_floor; }, floors);
}

/// A question and the unit's answer.
struct Answered {
    std::vector<std::uint64_t> a, b;
    std::uint64_t c, answer;
};

class Fit {
  public:
    Fit(const DotUnit& unit, std::span<const TensorCoreModel> starts, const FitOptions& options)
        : unit_(unit), starts_(starts), options_(options) {}

    ModelFit run() {
        ModelFit fit;
        if (starts_.empty()) return fit;
        if (!ask()) {
            fit.check.blocks = fit.asked = static_cast<std::int64_t>(sample_.size());
            fit.check.unstable = unstable_;
            fit.differ = fit.asked;
            return fit;
        }
        seek_from_starts(fit);
        std::uint64_t last_seed = 0;
        for (int round = 0; round <= options_.rounds; ++round) {
            fit.differ = differing(fit.model, limit);
            fit.check =
                check_match(unit_, fit.model, options_.blocks, options_.seed + 1 + static_cast<unsigned>(round));
            if (fit.check.agrees() || fit.check.unstable > 0 || round == options_.rounds) break;
            for (const Contradiction& each : fit.check.examples) sample_.push_back({each.a, each.b, each.c, each.unit});
            const TensorCoreModel before = fit.model;
            climb(fit.model);
            if (fit.model == before && !climb_by_pairs(fit.model)) {
                seek_from_starts(fit);
                if (fit.model == before) break;
            }
        }
        fit.asked = static_cast<std::int64_t>(sample_.size());
        fit.differ = differing(fit.model, limit);
        if (fit.found()) fit.undecided = undecided(fit.model, last_seed);
        return fit;
    }

  private:
    static constexpr std::int64_t limit = std::numeric_limits<std::int64_t>::max();

    /// Deciding and random dot products; false if the unit answers one of them in two ways.
    bool ask() {
        const auto ask_one = [&](const RandomBlock& block) {
            const std::uint64_t answer = unit_.dot(block.a, block.b, block.c);
            if (unit_.dot(block.a, block.b, block.c) != answer) ++unstable_;
            sample_.push_back({block.a, block.b, block.c, answer});
        };
        for (const RandomBlock& block : deciding_blocks(unit_)) ask_one(block);
        BlockSource source(unit_, options_.seed);
        for (std::int64_t i = 0; i < options_.sample; ++i) ask_one(source.next());
        return unstable_ == 0;
    }

    /// How many of the sample a model answers otherwise; stops counting above `most`.
    [[nodiscard]] std::int64_t differing(const TensorCoreModel& model, std::int64_t most) const {
        std::int64_t count = 0;
        for (const Answered& each : sample_) {
            const std::uint64_t d = chain_dot(model, each.a.data(), each.b.data(), each.c, unit_.k);
            if (d != each.answer && ++count > most) break;
        }
        return count;
    }

    [[nodiscard]] bool may_be(const TensorCoreModel& model) const {
        return !options_.allowed || options_.allowed(model);
    }

    /// Takes the best change as long as one is better than none; gives what is left.
    std::int64_t climb(TensorCoreModel& model) const {
        std::int64_t best = differing(model, limit);
        while (best > 0) {
            std::vector<TensorCoreModel> tried;
            for (const ModelChange& change : changes_of(model)) tried.push_back(changed(model, change));
            std::vector<std::int64_t> counts(tried.size(), limit);
            for_each_index(static_cast<std::int64_t>(tried.size()), worth_threads(true), [&](std::int64_t index) {
                const auto i = static_cast<std::size_t>(index);
                if (tried[i] != model && may_be(tried[i])) counts[i] = differing(tried[i], best - 1);
            });
            const auto least = std::min_element(counts.begin(), counts.end());
            if (*least >= best) break;
            best = *least;
            model = tried[static_cast<std::size_t>(least - counts.begin())];
        }
        return best;
    }

    /// Where no single change helps, two together may.
    bool climb_by_pairs(TensorCoreModel& model) const {
        const std::int64_t left = differing(model, limit);
        for (const ModelChange& first : changes_of(model)) {
            const TensorCoreModel once = changed(model, first);
            if (once == model) continue;
            for (const ModelChange& second : changes_of(once)) {
                const TensorCoreModel tried = changed(once, second);
                if (tried == once || !may_be(tried) || differing(tried, left - 1) >= left) continue;
                model = tried;
                climb(model);
                return true;
            }
        }
        return false;
    }

    void seek_from_starts(ModelFit& fit) const {
        std::vector<std::pair<std::int64_t, std::size_t>> ranked;
        for (std::size_t i = 0; i < starts_.size(); ++i) ranked.emplace_back(differing(starts_[i], limit), i);
        std::stable_sort(ranked.begin(), ranked.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
        std::int64_t best = limit;
        constexpr std::size_t most = 4;
        for (std::size_t i = 0; i < std::min(most, ranked.size()) && best > 0; ++i) {
            TensorCoreModel model = starts_[ranked[i].second];
            std::int64_t left = climb(model);
            while (left > 0 && i == 0 && climb_by_pairs(model)) left = differing(model, limit);
            if (left >= best) continue;
            best = left;
            fit.model = model;
            fit.start = ranked[i].second;
        }
    }

    /// The dot products of the last check, on which the unit is the model, tell them from it or do not.
    [[nodiscard]] std::vector<std::string> undecided(const TensorCoreModel& model, std::uint64_t seed) const {
        std::vector<std::pair<std::string, TensorCoreModel>> left;
        for (const ModelChange& change : changes_of(model)) {
            const TensorCoreModel tried = changed(model, change);
            const bool same_group = model.summation == Summation::fused && model.group_size >= model.instruction_k &&
                                    tried.variation.order != model.variation.order;
            if (tried == model || same_group || !may_be(tried) || differing(tried, 0) > 0) continue;
            left.emplace_back(change.name, tried);
        }
        BlockSource source(unit_, seed);
        constexpr std::int64_t most = 20'000;  // of the checked ones, all of which this could ask
        for (std::int64_t i = 0; i < std::min(options_.blocks, most) && !left.empty(); ++i) {
            const RandomBlock& block = source.next();
            const std::uint64_t d = chain_dot(model, block.a.data(), block.b.data(), block.c, unit_.k);
            std::erase_if(left, [&](const auto& each) {
                return chain_dot(each.second, block.a.data(), block.b.data(), block.c, unit_.k) != d;
            });
        }
        std::vector<std::string> names;
        for (const auto& [name, tried] : left) names.push_back(name);
        return names;
    }

    static TensorCoreModel changed(TensorCoreModel model, const ModelChange& change) {
        change.apply(model);
        return model;
    }

    const DotUnit& unit_;
    std::span<const TensorCoreModel> starts_;
    const FitOptions& options_;
    std::vector<Answered> sample_;
    std::int64_t unstable_ = 0;
};

}  // namespace

std::vector<ModelChange> changes_of(const TensorCoreModel& model) {
    Changes changes;
    add_structure(model, changes);
    add_alignment(model, changes);
    add_special_values(model, changes);
    return changes.take();
}

ModelFit fit_model(const DotUnit& unit, std::span<const TensorCoreModel> starts, const FitOptions& options) {
    return Fit(unit, starts, options).run();
}

std::vector<TensorCoreModel> fit_starts(const DotUnit& unit) {
    std::vector<TensorCoreModel> starts;
    int length = std::min(unit.k, max_instruction_k);  // a longer unit is a chain of equal instructions
    while (unit.k % length != 0) --length;
    const auto add = [&](TensorCoreModel model) {
        model.a_format = unit.a_format;
        model.b_format = unit.b_format;
        model.accumulator = unit.accumulator;
        model.instruction_k = length;
        model.group_size = std::min(model.group_size, length);
        model.output_fraction_bits = std::min(model.output_fraction_bits, unit.accumulator.fraction_bits);
        if (std::find(starts.begin(), starts.end(), model) == starts.end()) starts.push_back(model);
    };
    for (const auto& [row, model] : rows_of<TensorCoreModel>()) {
        const bool formats =
            model.a_format == unit.a_format && model.b_format == unit.b_format && model.accumulator == unit.accumulator;
        if (formats && model.instruction_k == length) add(model);
    }
    const int kept = unit.accumulator.fraction_bits;
    for (const int group : {4, 8, 16, 32, 64}) {
        for (const int f : {23, 25}) {
            for (const Rounding rounding : {Rounding::toward_zero, Rounding::nearest_even}) {
                TensorCoreModel model{
                    .group_size = group, .fraction_bits = f, .rounding = rounding, .output_fraction_bits = kept};
                add(with_policies(model, policy_set("C")));
            }
        }
    }
    for (const Summation summation :
         {Summation::fma_chain, Summation::even_odd_fma, Summation::pairwise, Summation::exact}) {
        TensorCoreModel model{.summation = summation,
                              .group_size = 4,
                              .fraction_bits = 0,
                              .rounding = Rounding::nearest_even,
                              .output_fraction_bits = kept};
        model.nan = NanStyle::quiet;
        add(model);
    }
    return starts;
}

}  // namespace ulp
