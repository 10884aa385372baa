#include "softfloat/matrix_units/alternatives.hpp"

#include <algorithm>
#include <stdexcept>

#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/policies.hpp"
#include "softfloat/matrix_units/witness_dots.hpp"

namespace ulp {

namespace {

DotHypothesis dot_of(const TensorCoreModel& model) {
    return [model](const RecordedDot& dot) {
        return chain_dot(model, dot.a.data(), dot.b.data(), dot.c, static_cast<std::int64_t>(dot.a.size()));
    };
}

/// The number that an operand's code stands for.
std::int32_t integer_of(std::uint64_t code, int bits, bool is_signed) {
    const auto value = static_cast<std::int32_t>(code & ((std::uint64_t{1} << bits) - 1));
    return is_signed && (value >> (bits - 1)) != 0 ? value - (1 << bits) : value;
}

DotHypothesis dot_of(const IntegerModel& model) {
    return [model](const RecordedDot& dot) {
        std::vector<std::int32_t> a, b;
        for (const std::uint64_t code : dot.a) a.push_back(integer_of(code, model.bits, model.a_signed));
        for (const std::uint64_t code : dot.b) b.push_back(integer_of(code, model.bits, model.b_signed));
        const auto c = static_cast<std::int32_t>(static_cast<std::uint32_t>(dot.c));
        const std::int32_t d = integer_dot(model, a.data(), b.data(), c, static_cast<std::int64_t>(a.size()));
        return std::uint64_t{static_cast<std::uint32_t>(d)};
    };
}

/// Collects alternatives to one floating-point model.
class FloatAlternatives {
  public:
    explicit FloatAlternatives(const TensorCoreModel& model) : model_(model) {
        add_parameters();
        if (is_fused(model)) add_policies();
        add_flushing();
        add_special_values();
    }
    std::vector<Alternative> take() { return std::move(all_); }

  private:
    template <class Change>
    void add_model(Aspect aspect, const std::string& name, const Change& change) {
        TensorCoreModel other = model_;
        change(other);
        if (other == model_ || std::find(others_.begin(), others_.end(), other) != others_.end()) return;
        others_.push_back(other);
        all_.push_back({aspect, name, dot_of(other)});
    }
    /// The model's answer, changed.
    template <class Change>
    void add_answer(Aspect aspect, const std::string& name, const Change& change) {
        all_.push_back({aspect, name, [model = model_, change](const RecordedDot& dot) {
                            return change(model.accumulator, dot_of(model)(dot));
                        }});
    }

    void add_parameters() {
        constexpr auto ordinary = Aspect::ordinary;
        if (!takes_decoded(model_)) {
            add_model(ordinary, "one chain", [](auto& m) { m.summation = Summation::fma_chain; });
            add_model(ordinary, "two chains", [](auto& m) { m.summation = Summation::even_odd_fma; });
            return;
        }
        add_model(ordinary, "F + 1", [](auto& m) { ++m.fraction_bits; });
        add_model(ordinary, "F - 1", [](auto& m) { --m.fraction_bits; });
        add_model(ordinary, "half groups", [](auto& m) { m.group_size = std::max(1, m.group_size / 2); });
        add_model(ordinary, "another rounding", [](auto& m) {
            const bool cuts = m.rounding == Rounding::toward_zero;
            m.rounding = cuts ? Rounding::nearest_even : Rounding::toward_zero;
        });
        add_model(ordinary, "products normalised", [](auto& m) { m.variation.normalise_products = true; });
        add_model(ordinary, "terms rounded down", [](auto& m) { m.variation.alignment = Rounding::down; });
    }

    void add_policies() {
        for (const PolicySet& set : policy_sets) {
            const BlockPolicies theirs = with_policies(model_, set).policies;
            const auto add = [&](Aspect aspect, const std::string& name, auto policy) {
                add_model(aspect, name + " as in set " + std::string(set.name),
                          [&](auto& m) { m.policies.*policy = theirs.*policy; });
            };
            add(Aspect::zeros, "a zero product", &BlockPolicies::zero_product);
            add(Aspect::zeros, "a zero c", &BlockPolicies::zero_addend);
            add(Aspect::exponent_floor, "the floor", &BlockPolicies::exponent_floor);
            add(Aspect::subnormals, "a subnormal c", &BlockPolicies::subnormal_addend);
            add(Aspect::subnormals, "the sign of underflow", &BlockPolicies::underflow_sign);
        }
    }

    void add_flushing() {
        all_.push_back({Aspect::subnormals, "subnormal operands flushed", [model = model_](RecordedDot dot) {
                            for (std::uint64_t& code : dot.a) code = flushed(model.a_format, code);
                            for (std::uint64_t& code : dot.b) code = flushed(model.b_format, code);
                            return dot_of(model)(dot);
                        }});
        all_.push_back({Aspect::subnormals, "a subnormal c flushed", [model = model_](RecordedDot dot) {
                            dot.c = flushed(model.accumulator, dot.c);
                            return dot_of(model)(dot);
                        }});
        add_answer(Aspect::subnormals, "subnormal results flushed", flushed);
    }

    void add_special_values() {
        add_answer(Aspect::specials, "overflow to the largest number", [](const FloatFormat& format, auto d) {
            const bool infinite = magnitude_of(format, d) == format.infinity_magnitude();
            return infinite ? pack(format, sign_of(format, d), format.max_finite_magnitude()) : d;
        });
        add_answer(Aspect::nan, "the quiet NaN",
                   [](const FloatFormat& format, auto d) { return is_nan(format, d) ? nan_bits(format) : d; });
        add_answer(Aspect::nan, "the NaN of all ones",
                   [](const FloatFormat& format, auto d) { return is_nan(format, d) ? tensor_core_nan(format) : d; });
    }

    TensorCoreModel model_;
    std::vector<TensorCoreModel> others_;
    std::vector<Alternative> all_;
};

std::vector<Alternative> integer_alternatives(const IntegerModel& model) {
    std::vector<Alternative> all;
    const auto add = [&](Aspect aspect, const char* name, const auto& change) {
        IntegerModel other = model;
        change(other);
        if (!(other == model)) all.push_back({aspect, name, dot_of(other)});
    };
    if (model.product == IntegerProduct::multiply) {
        add(Aspect::ordinary, "the other sign of a", [](auto& m) { m.a_signed = !m.a_signed; });
        add(Aspect::ordinary, "the other sign of b", [](auto& m) { m.b_signed = !m.b_signed; });
    } else {
        add(Aspect::ordinary, "and", [](auto& m) { m.product = IntegerProduct::conjunction; });
        add(Aspect::ordinary, "xor", [](auto& m) { m.product = IntegerProduct::exclusive_or; });
    }
    add(Aspect::specials, "the other way beyond s32", [](auto& m) { m.saturates = !m.saturates; });
    return all;
}

/// The verdict on an alternative, if there is one yet.
Verdict* verdict_on(std::vector<Verdict>& verdicts, const Alternative& other) {
    const auto same = [&](const Verdict& one) { return one.aspect == other.aspect && one.name == other.name; };
    const auto found = std::find_if(verdicts.begin(), verdicts.end(), same);
    return found == verdicts.end() ? nullptr : &*found;
}

const TensorCoreModel* floating(const UnitModel& model) { return std::get_if<TensorCoreModel>(&model); }
const IntegerModel* integer(const UnitModel& model) { return std::get_if<IntegerModel>(&model); }

}  // namespace

DotHypothesis hypothesis_of(const UnitModel& model) {
    if (floating(model) != nullptr) return dot_of(*floating(model));
    if (integer(model) != nullptr) return dot_of(*integer(model));
    throw std::invalid_argument("products with block scales have no hypothesis without scales");
}

std::vector<Alternative> alternatives(const UnitModel& model) {
    if (floating(model) != nullptr) return FloatAlternatives(*floating(model)).take();
    if (integer(model) != nullptr) return integer_alternatives(*integer(model));
    return {};
}

AspectSet DecidedDots::aspects() const {
    AspectSet decided;
    if (differ != 0) return decided;
    for (const Verdict& verdict : verdicts) {
        if (verdict.contradicted) decided.add(verdict.aspect);
    }
    for (const Verdict& verdict : verdicts) {
        if (verdict.is_open() && verdict.aspect != Aspect::ordinary) decided.remove(verdict.aspect);
    }
    return decided;
}

void decide(const UnitModel& model, std::span<const RecordedDot> dots, DecidedDots& decided) {
    const DotHypothesis own = hypothesis_of(model);
    for (const RecordedDot& dot : dots) decided.differ += own(dot) == dot.d ? 0 : 1;
    std::vector<RecordedDot> witnesses;
    for (const Alternative& other : alternatives(model)) {
        const auto differs = [&](const RecordedDot& dot) { return other.dot(dot) != dot.d; };
        const auto differs_on = [&](const auto& some) { return std::any_of(some.begin(), some.end(), differs); };
        Verdict* verdict = verdict_on(decided.verdicts, other);
        if (verdict == nullptr) {
            if (witnesses.empty()) witnesses = witness_dots(model);
            verdict = &decided.verdicts.emplace_back(Verdict{other.aspect, other.name, differs_on(witnesses)});
        }
        if (verdict->is_open()) verdict->contradicted = differs_on(dots);
    }
}

DecidedDots decide(const UnitModel& model, std::span<const RecordedDot> dots) {
    DecidedDots decided;
    decide(model, dots, decided);
    return decided;
}

}  // namespace ulp
