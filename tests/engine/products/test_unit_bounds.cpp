// Bounds of units that no row of the table describes: random descriptions, written and read as files, whose dot
// products never leave their bounds; and bounds of units with one field other, which are left.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "engine/products/unit_file.hpp"
#include "softfloat/lab/random_codes.hpp"
#include "softfloat/matrix_units/bound_operands.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/policies.hpp"
#include "softfloat/names.hpp"

namespace {

using namespace ulp;

class Picks {
  public:
    explicit Picks(std::uint64_t seed) : seed_(seed) {}
    int below(int count) {
        return static_cast<int>((random_word(seed_, next_++) >> 20) % static_cast<unsigned>(count));
    }
    bool one_in(int count) { return below(count) == 0; }
    template <class Value>
    Value of(std::initializer_list<Value> values) {
        return values.begin()[below(static_cast<int>(values.size()))];
    }

  private:
    std::uint64_t seed_, next_ = 0;
};

GroupVariation random_variation(Picks& pick) {
    GroupVariation v;
    v.order = pick.of({LaneOrder::ascending, LaneOrder::descending, LaneOrder::even_first});
    v.negative_zeros = pick.one_in(4);
    if (pick.one_in(3)) return v;  // the terms and sums of rows
    v.alignment = pick.of({Rounding::toward_zero, Rounding::nearest_even, Rounding::nearest_away, Rounding::down,
                           Rounding::up, Rounding::odd});
    v.sticky = v.alignment == Rounding::toward_zero && pick.one_in(2);
    v.normalise_products = pick.one_in(2);
    if (pick.one_in(3)) v.product_format = pick.of({formats::fp16, formats::bf16, formats::tf32, formats::e5m2});
    v.addend = pick.of({AddendEntry::with_products, AddendEntry::with_products, AddendEntry::after_products,
                        AddendEntry::beside_zeros_alone, AddendEntry::never});
    v.flush_operands = pick.one_in(3);
    v.flush_addend = pick.one_in(3);
    v.flush_results = pick.one_in(3);
    v.saturate = pick.one_in(3);
    return v;
}

/// Of any kind; not all are units that a file may describe.
TensorCoreModel random_unit(Picks& pick) {
    TensorCoreModel m;
    const auto operand = [&] {
        return pick.of({formats::fp16, formats::bf16, formats::tf32, formats::e4m3, formats::e5m2, formats::fp32,
                        ieee_format(4, 5), format_by_name("hif8")});
    };
    m.a_format = operand();
    m.b_format = pick.one_in(3) ? operand() : m.a_format;
    m.accumulator = pick.of({formats::fp32, formats::fp32, formats::fp16, formats::bf16, ieee_format(8, 13)});
    m.instruction_k = pick.of({1, 3, 4, 8, 12, 16});
    m.group_size = pick.of({m.instruction_k, 1, 2, 3, 4, 8});
    m.nan = NanStyle::quiet;
    const int policy = pick.below(static_cast<int>(std::size(policy_sets)));
    if (pick.one_in(4)) {
        m.summation = pick.of({Summation::fma_chain, Summation::fma_pairs, Summation::even_odd_fma, Summation::pairwise,
                               Summation::exact, Summation::late_addend, Summation::late_addend_even_odd,
                               Summation::fp8_by_hmma});
        m.variation.order = pick.of({LaneOrder::ascending, LaneOrder::descending, LaneOrder::even_first});
        m.output_fraction_bits = m.accumulator.fraction_bits;
        m.fraction_bits = pick.of({13, 20, 24, 25, 28, 31});
        if (m.summation == Summation::fp8_by_hmma) m.nan = NanStyle::all_ones;
        m.rounding = m.summation == Summation::fp8_by_hmma ? pick.of({Rounding::toward_zero, Rounding::nearest_even})
                                                           : Rounding::nearest_even;
        m.flush_subnormals = !takes_decoded(m) && pick.one_in(3);
    } else {
        m.output_fraction_bits =
            pick.one_in(2) ? m.accumulator.fraction_bits : 1 + pick.below(m.accumulator.fraction_bits);
        m.fraction_bits = pick.one_in(2) ? 3 + pick.below(50) : m.output_fraction_bits + pick.below(4);
        m.rounding = pick.of({Rounding::toward_zero, Rounding::toward_zero, Rounding::nearest_even,
                              Rounding::nearest_away, Rounding::down, Rounding::up, Rounding::odd});
        m.variation = random_variation(pick);
    }
    if (takes_decoded(m)) m = with_policies(m, policy_sets.at(static_cast<std::size_t>(policy)));
    if (takes_decoded(m) && pick.one_in(4)) m.policies.exponent_floor = m.accumulator.emin() + 3 - pick.below(12);
    return m;
}

/// A dot product, its error and what bounds speak of.
struct Dot {
    std::vector<std::uint32_t> a, b;
    std::uint32_t c = 0;
};

std::vector<double> numbers(const FloatFormat& format, const std::vector<std::uint32_t>& codes) {
    std::vector<double> values;
    for (const std::uint32_t code : codes) values.push_back(static_cast<double>(in_fp32_container(format, code)));
    return values;
}

Magnitude magnitude_in(const TensorCoreModel& m, const Dot& dot) {
    return magnitude_of(m, numbers(m.a_format, dot.a), numbers(m.b_format, dot.b),
                        static_cast<double>(in_fp32_container(m.accumulator, dot.c)));
}

double error_in(const TensorCoreModel& m, const Dot& dot) {
    const auto k = static_cast<std::int64_t>(dot.a.size());
    const std::uint32_t d = chain_dot(m, dot.a.data(), dot.b.data(), dot.c, k);
    if (!std::isfinite(in_fp32_container(m.accumulator, d))) return std::numeric_limits<double>::infinity();
    return std::abs(exact_error(m, dot.a, dot.b, dot.c, d));
}

/// Whether operands and c are numbers, of which bounds speak.
bool is_finite(const TensorCoreModel& m, const Dot& dot) { return std::isfinite(magnitude_in(m, dot).plain); }

/// Random operands, of two classes now and then: terms that end far below the largest.
Dot random_dot(const TensorCoreModel& m, int k, std::uint64_t seed) {
    const DataClass data = all_classes[seed % std::size(all_classes)];
    Dot dot{random_codes(m.a_format, data, k, seed), random_codes(m.b_format, data, k, seed + 1), 0};
    const DataClass of_c = seed % 3 == 0 ? DataClass::ordinary : data;
    dot.c = random_codes(m.accumulator, of_c, 1, seed + 2).front();
    if (seed % 5 == 0) dot.c = 0;
    if (seed % 7 != 0) return dot;
    const auto small = random_codes(m.a_format, DataClass::subnormal, k, seed + 3);
    std::copy(small.begin() + 1, small.end(), dot.a.begin() + 1);
    return dot;
}

/// Units that a file may describe, as read from one, the same ones each time.
std::vector<TensorCoreModel> described_units(int count) {
    std::vector<TensorCoreModel> units;
    for (std::uint64_t seed = 1; static_cast<int>(units.size()) < count; ++seed) {
        Picks pick(seed);
        const TensorCoreModel m = random_unit(pick);
        if (!limit_of(m).empty()) continue;
        units.push_back(std::get<TensorCoreModel>(unit_from_json(unit_json({"random", m})).model));
    }
    return units;
}

/// A fault: the bound of a unit with one field other than the unit has.
struct Fault {
    std::string name;
    std::function<void(TensorCoreModel&)> apply;
};
const std::vector<Fault> faults = {
    {"one bit more in the sum", [](TensorCoreModel& m) { ++m.output_fraction_bits; }},
    {"sums to nearest", [](TensorCoreModel& m) { m.rounding = Rounding::nearest_even; }},
    {"exact products",
     [](TensorCoreModel& m) {
         m.variation.product_format = {0, 0, 0};
     }},
    {"c always read", [](TensorCoreModel& m) { m.variation.addend = AddendEntry::with_products; }},
    {"operands kept", [](TensorCoreModel& m) { m.variation.flush_operands = m.flush_subnormals = false; }},
    {"c kept", [](TensorCoreModel& m) { m.variation.flush_addend = false; }},
    {"results kept", [](TensorCoreModel& m) { m.variation.flush_results = false; }},
    {"no exponent floor", [](TensorCoreModel& m) { m.policies.exponent_floor = no_exponent_floor; }},
};
/// Those that random terms do not show.
const std::vector<Fault> faults_of_alignment = {
    {"one bit more in the alignment", [](TensorCoreModel& m) { ++m.fraction_bits; }},
    {"a sticky bit", [](TensorCoreModel& m) { m.variation.sticky = true; }},
    {"terms cut to nearest", [](TensorCoreModel& m) { m.variation.alignment = Rounding::nearest_even; }},
};

}  // namespace

TEST_CASE("no dot product of a unit in a file leaves its bound, and each bound with a fault is left") {
    std::map<std::string, double> left;  // the largest error of such a unit's bound
    std::int64_t compared = 0, near = 0, swapped = 0, tighter = 0;
    for (const TensorCoreModel& unit : described_units(400)) {
        double reached = 0;
        for (const int k : {1, unit.instruction_k, 2 * unit.instruction_k + 3, 40}) {
            const AprioriBound bound = apriori_bound(unit, k);
            for (std::uint64_t seed = 0; seed < 28; ++seed) {
                const Dot dot = random_dot(unit, k, 977 * seed + static_cast<std::uint64_t>(k));
                if (!is_finite(unit, dot)) continue;
                const double limit = bound_at(unit, bound, magnitude_in(unit, dot));
                if (std::isinf(limit)) continue;
                const double error = error_in(unit, dot);
                CAPTURE(unit_json({"left", unit}));
                CAPTURE(k);
                CAPTURE(seed);
                REQUIRE(error <= limit);
                ++compared;
                const std::uint32_t d = chain_dot(unit, dot.a.data(), dot.b.data(), dot.c, k);
                const double difference = exact_error(unit, dot.a, dot.b, dot.c, d);
                const ErrorInterval running = running_interval(unit, dot.a, dot.b, dot.c);
                REQUIRE(difference <= running.above);
                REQUIRE(-difference <= running.below);
                REQUIRE(error <= magnitudes_bound(unit, dot.a, dot.b, dot.c));
                swapped += difference > running.below || -difference > running.above ? 1 : 0;
                tighter += 2 * running.bound() < limit ? 1 : 0;
                if (limit > 0) reached = std::max(reached, error / limit);
                for (const Fault& fault : faults) {
                    TensorCoreModel other = unit;
                    fault.apply(other);
                    if (other == unit || error == 0) continue;
                    const double theirs = bound_at(other, apriori_bound(other, k), magnitude_in(other, dot));
                    left[fault.name] = std::max(left[fault.name], theirs > 0 ? error / theirs : 2);
                }
            }
        }
        near += reached > 0.1 ? 1 : 0;
    }
    CHECK(compared > 25'000);
    CHECK(swapped > 0);  // an interval with its ends exchanged is left
    CHECK(tighter > 1000);
    CHECK(near > 200);  // bounds that nothing comes near say nothing
    for (const Fault& fault : faults) {
        CAPTURE(fault.name);
        CHECK(left[fault.name] > 1);
    }
}

TEST_CASE("operands chosen for it leave the bounds of units that align otherwise") {
    TensorCoreModel unit{.accumulator = formats::tf32,
                         .instruction_k = 8,
                         .group_size = 8,
                         .fraction_bits = 10,
                         .output_fraction_bits = 10};
    unit = with_policies(unit, policy_set("C"));
    REQUIRE(limit_of(unit).empty());
    const auto share = [](const TensorCoreModel& computed, const TensorCoreModel& bounded, const Dot& dot) {
        return error_in(computed, dot) / bound_at(bounded, apriori_bound(bounded, 8), magnitude_in(bounded, dot));
    };
    // Beside c = 1 eight products just below 2^-10: all are cut away.
    const Dot cut{std::vector<std::uint32_t>(8, 0x27FF), std::vector<std::uint32_t>(8, 0x2800), 0x3F800000};
    CHECK(share(unit, unit, cut) > 0.8);
    CHECK(share(unit, unit, cut) <= 1);
    for (const Fault& fault : faults_of_alignment) {
        TensorCoreModel other = unit;
        fault.apply(other);
        CAPTURE(fault.name);
        CHECK(share(unit, other, cut) > 1);
    }
    // A subnormal operand aligns as a normal one would, unless products are normalised.
    Dot small{std::vector<std::uint32_t>(8, 0x27FF), std::vector<std::uint32_t>(8, 0x2800), 0};
    small.a[0] = 0x0001;
    small.b[0] = 0x7800;
    TensorCoreModel normalised = unit;
    normalised.variation.normalise_products = true;
    CHECK(share(unit, unit, small) <= 1);
    CHECK(share(unit, normalised, small) > 1);
    CHECK(share(normalised, normalised, small) <= 1);
}
