// Error bounds: no product leaves them, worst cases reach them, and bounds with a fault are left.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "softfloat/lab/random_codes.hpp"
#include "softfloat/matrix_units/bound_operands.hpp"
#include "softfloat/matrix_units/bounds.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/policies.hpp"
#include "softfloat/matrix_units/units.hpp"

namespace {

using namespace ulp;
using Codes = std::vector<std::uint32_t>;

/// One dot product with its result.
struct Dot {
    Codes a, b;
    std::uint32_t c;
};

std::vector<double> values_of(const FloatFormat& format, const Codes& codes) {
    std::vector<double> values;
    for (const std::uint32_t code : codes) values.push_back(static_cast<double>(in_fp32_container(format, code)));
    return values;
}

struct Measured {
    double error;  // |D - s|
    Magnitude magnitude;
    bool finite;
};
Measured measure(const TensorCoreModel& model, const Dot& dot) {
    const auto k = static_cast<std::int64_t>(dot.a.size());
    const std::uint32_t d = chain_dot(model, dot.a.data(), dot.b.data(), dot.c, k);
    const double c = static_cast<double>(in_fp32_container(model.accumulator, dot.c));
    Measured measured{0, magnitude_of(model, values_of(model.a_format, dot.a), values_of(model.b_format, dot.b), c),
                      std::isfinite(in_fp32_container(model.accumulator, d))};
    measured.finite = measured.finite && std::isfinite(measured.magnitude.plain);
    if (measured.finite) measured.error = std::abs(exact_error(model, dot.a, dot.b, dot.c, d));
    return measured;
}

Dot random_dot(const TensorCoreModel& model, DataClass data, std::int64_t k, std::uint64_t seed) {
    const auto c = random_codes(model.accumulator, data, 1, seed + 2);
    return {random_codes(model.a_format, data, k, seed), random_codes(model.b_format, data, k, seed + 1), c.front()};
}

/// The bound for all operands at one product; infinite where the sum may leave the range.
double apriori_at(const AprioriBound& bound, const Magnitude& m) {
    return bound.gamma * m.lifted + bound.eta + m.unseen;
}

/// c = 1 and operands whose products lose as much as the alignment lets them, in every group.
Dot worst_case(int k, int group, const std::vector<std::pair<int, std::pair<std::uint32_t, std::uint32_t>>>& pattern) {
    Dot dot{{}, {}, 0x3F800000};
    while (static_cast<int>(dot.a.size()) < k) {
        int filled = 0;
        for (const auto& [count, operands] : pattern) {
            for (int i = 0; i < count; ++i, ++filled) {
                dot.a.push_back(operands.first);
                dot.b.push_back(operands.second);
            }
        }
        REQUIRE(filled == group);
    }
    return dot;
}

struct WorstCase {
    const char* key;
    int group;
    std::vector<std::pair<int, std::pair<std::uint32_t, std::uint32_t>>> pattern;  // of fp16 codes
};
const WorstCase worst_cases[] = {
    {"sm_90:mma.fp16.fp32", 16, {{13, {0x0BFF, 0x07FF}}, {3, {0x0BFF, 0x0BFF}}}},
    {"sm_80:mma.fp16.fp32", 8, {{7, {0x0BFF, 0x0BFF}}, {1, {0x0FFF, 0x0BFF}}}},
    {"sm_70:mma.fp16.fp32", 4, {{4, {0x0FFF, 0x0BFF}}}},
};

}  // namespace

TEST_CASE("gamma is that of the derivation") {
    const auto gamma = [](const char* key, std::int64_t k) {
        return apriori_bound(unit_model<TensorCoreModel>(key), k).gamma;
    };
    struct Row {
        const char* key;
        double at_64, at_4096;
    };
    for (const Row& row :
         {Row{"sm_70:mma.fp16.fp32", 7.629e-6, 4.883e-4}, Row{"sm_80:mma.fp16.fp32", 4.292e-6, 2.747e-4},
          Row{"sm_90:mma.fp16.fp32", 2.265e-6, 1.450e-4}, Row{"sm_90:wgmma.e4m3.fp32", 7.935e-3, 0.5001},
          Row{"gfx942:mfma.fp16.fp32", 9.574e-7, 3.123e-5}}) {
        INFO(row.key);
        CHECK(gamma(row.key, 64) == doctest::Approx(row.at_64).epsilon(2e-4));
        CHECK(gamma(row.key, 4096) == doctest::Approx(row.at_4096).epsilon(2e-4));
    }
    CHECK(gamma("sm_90:mma.fp16.fp32", 0) == 0);
}

TEST_CASE("no product of any row leaves a bound") {
    std::int64_t compared = 0;
    for (const auto& [row, model] : rows_of<TensorCoreModel>()) {
        if (model.accumulator == formats::fp64) continue;
        const std::string key = row.key();
        double reached = 0;
        for (const std::int64_t k : {1, 16, 37, 64}) {
            const AprioriBound bound = apriori_bound(model, k);
            for (const DataClass data : all_classes) {
                for (std::uint64_t seed = 0; seed < 24; ++seed) {
                    const Dot dot = random_dot(model, data, k, 1000 * seed + static_cast<std::uint64_t>(k));
                    const Measured m = measure(model, dot);
                    if (!m.finite) continue;
                    INFO(key << ", k " << k << ", " << name_of(data) << ", seed " << seed);
                    const double apriori = apriori_at(bound, m.magnitude);
                    CHECK(m.error <= apriori);
                    if (apriori > 0) reached = std::max(reached, m.error / apriori);
                    ++compared;
                    const ErrorInterval running = running_interval(model, dot.a, dot.b, dot.c);
                    if (model.summation == Summation::fused) REQUIRE(running.finite);
                    const std::uint32_t d = chain_dot(model, dot.a.data(), dot.b.data(), dot.c, k);
                    const double error = exact_error(model, dot.a, dot.b, dot.c, d);
                    CHECK(error <= running.above);
                    CHECK(-error <= running.below);
                    CHECK(m.error <= magnitudes_bound(model, dot.a, dot.b, dot.c));
                }
            }
        }
        INFO(key);
        CHECK(reached > 0.01);  // a bound that nothing comes near says nothing
    }
    CHECK(compared > 20000);
}

TEST_CASE("a subnormal partial sum aligns the next group as a normal number would") {
    const TensorCoreModel& model = unit_model<TensorCoreModel>("sm_90:wgmma.e5m2.fp16");
    const AprioriBound bound = apriori_bound(model, 64);
    int beyond_operands = 0;  // errors that the magnitudes of the operands alone do not explain
    for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
        const Dot dot = random_dot(model, DataClass::subnormal, 64, 7 * seed);
        const Measured m = measure(model, dot);
        if (!m.finite) continue;
        CHECK(m.error <= apriori_at(bound, m.magnitude));
        CHECK(m.error <= magnitudes_bound(model, dot.a, dot.b, dot.c));
        const double without = m.magnitude.lifted - std::ldexp(1.0, model.accumulator.emin());
        beyond_operands += m.error > bound.gamma * without + bound.eta ? 1 : 0;
    }
    CHECK(beyond_operands > 0);
}

TEST_CASE("operands chosen for it reach the bound of units that truncate to a thousandth") {
    for (const WorstCase& worst : worst_cases) {
        for (const int k : {worst.group, 64, 1024}) {
            INFO(worst.key << ", k " << k);
            const auto& model = unit_model<TensorCoreModel>(worst.key);
            const Dot dot = worst_case(k, worst.group, worst.pattern);
            const Measured m = measure(model, dot);
            const double ratio = m.error / apriori_at(apriori_bound(model, k), m.magnitude);
            CHECK(ratio > 0.998);
            CHECK(ratio <= 1);
            const ErrorInterval running = running_interval(model, dot.a, dot.b, dot.c);
            CHECK(m.error <= running.below);
            CHECK(running.above == 0);  // all that is lost is lost from above
        }
    }
}

TEST_CASE("a bound with a fault is left by these operands") {
    for (const WorstCase& worst : worst_cases) {
        INFO(worst.key);
        const auto& model = unit_model<TensorCoreModel>(worst.key);
        const Dot dot = worst_case(64, worst.group, worst.pattern);
        const Measured m = measure(model, dot);
        const auto left = [&](const std::function<void(TensorCoreModel&)>& fault) {
            TensorCoreModel mutant = model;
            fault(mutant);
            return m.error > apriori_at(apriori_bound(mutant, 64), m.magnitude);
        };
        CHECK(left([](TensorCoreModel& x) { ++x.fraction_bits; }));
        // A bit more than the alignment has is no bit more of the sum.
        const bool has_more = model.fraction_bits > model.output_fraction_bits;
        if (has_more) CHECK(left([](TensorCoreModel& x) { ++x.output_fraction_bits; }));
        const AprioriBound bound = apriori_bound(model, 64);
        CHECK(m.error > bound.gamma * (m.magnitude.lifted - 1) + bound.eta);  // S without c
        CHECK(m.error > apriori_bound(model, 64 - worst.group).gamma * m.magnitude.lifted + bound.eta);
    }
    // S must be lifted: a subnormal aligns as the smallest normal number.
    const auto& model = unit_model<TensorCoreModel>("sm_90:mma.fp16.fp32");
    Dot dot{Codes(16, 0x0001), Codes(16, 0x6BFF), 0};
    dot.a[0] = 0x0001;
    double worst = 0;
    for (std::uint32_t low = 1; low < 64; ++low) {
        for (std::size_t i = 1; i < 16; ++i) dot.b[i] = 0x1000 + low;
        const Measured m = measure(model, dot);
        CHECK(m.error <= apriori_at(apriori_bound(model, 16), m.magnitude));
        worst = std::max(worst, m.error / (apriori_bound(model, 16).gamma * m.magnitude.plain));
    }
    CHECK(worst > 1);
}

TEST_CASE("bounds follow the order of the sum") {
    const auto& model = unit_model<TensorCoreModel>("sm_90:wgmma.e4m3.fp32");
    const double plain = apriori_bound(model, 4096).gamma;
    const double promoted = apriori_bound(model, 4096, {.promote_every = 128}).gamma;
    CHECK(promoted == doctest::Approx(0.0158).epsilon(0.01));
    CHECK(promoted < plain / 20);
    const auto& half = unit_model<TensorCoreModel>("sm_80:mma.fp16.fp32");
    // Of three slices of 32 the first piece has two: 8 groups of 8.
    CHECK(apriori_bound(half, 96, {.split_k = 2, .slice_k = 32}).groups == 8);
    for (const ProductOrder& order : {ProductOrder{.split_k = 4}, ProductOrder{.promote_every = 32},
                                      ProductOrder{.split_k = 2, .promote_every = 16}, ProductOrder{.piece_k = 48},
                                      ProductOrder{.split_k = 2, .slice_k = 32}, ProductOrder{.tile_k = 48},
                                      ProductOrder{.split_k = 4, .sum_format = formats::fp16}}) {
        const std::int64_t k = 128;
        const AprioriBound bound = apriori_bound(half, k, order);
        for (const DataClass data : {DataClass::ordinary, DataClass::wide, DataClass::cancelling}) {
            for (std::uint64_t seed = 0; seed < 20; ++seed) {
                const Dot dot = random_dot(half, data, k, seed);
                const auto a = values_of(half.a_format, dot.a);
                const auto b = values_of(half.b_format, dot.b);
                const std::vector<float> x(a.begin(), a.end()), y(b.begin(), b.end());
                const float c = in_fp32_container(half.accumulator, dot.c);
                float d = 0;
                soft_product(half, order, {{x.data(), 1, k}, {y.data(), k, 1}, {&c, 1, 1}, {&d, 1, 1}});
                const Magnitude m = magnitude_of(half, a, b, static_cast<double>(c));
                if (!std::isfinite(d)) continue;
                CHECK(std::abs(exact_error(half, dot.a, dot.b, dot.c, operand_code(half.accumulator, d))) <=
                      apriori_at(bound, m));
            }
        }
    }
}

/// A random product of a row and a column, its partial sums added in an order.
struct Ordered {
    Dot dot;
    float d;
    Magnitude magnitude;

    [[nodiscard]] double error(const TensorCoreModel& unit) const {
        return std::abs(exact_error(unit, dot.a, dot.b, dot.c, operand_code(unit.accumulator, d)));
    }
};

Ordered in_order(const TensorCoreModel& unit, const ProductOrder& order, std::int64_t k, std::uint64_t seed) {
    Ordered product{random_dot(unit, all_classes[seed % std::size(all_classes)], k, seed), 0, {}};
    const auto a = values_of(unit.a_format, product.dot.a);
    const auto b = values_of(unit.b_format, product.dot.b);
    const std::vector<float> x(a.begin(), a.end()), y(b.begin(), b.end());
    const float c = in_fp32_container(unit.accumulator, product.dot.c);
    soft_product(unit, order, {{x.data(), 1, k}, {y.data(), k, 1}, {&c, 1, 1}, {&product.d, 1, 1}});
    product.magnitude = magnitude_of(unit, a, b, static_cast<double>(c));
    return product;
}

TEST_CASE("partial sums in narrow formats stay in their bounds, and come near them") {
    using formats::bf16, formats::fp16, formats::fp32, formats::tf32;
    double reached = 0;
    std::int64_t compared = 0;
    for (const char* key : {"sm_90:mma.bf16.fp32", "sm_80:mma.fp16.fp16", "gfx942:mfma.fp16.fp32"}) {
        const auto& unit = unit_model<TensorCoreModel>(key);
        for (ProductOrder order :
             {ProductOrder{}, ProductOrder{.sum_format = bf16}, ProductOrder{.sum_format = fp16},
              ProductOrder{.sum_format = bf16, .total_format = fp32}, ProductOrder{.total_format = bf16},
              ProductOrder{.sum_format = tf32, .total_format = fp16}, ProductOrder{.sum_format = formats::e4m3},
              ProductOrder{.sum_format = fp16, .promote_every = 16}}) {
            for (const SumOrder reduction : {SumOrder::ascending, SumOrder::descending, SumOrder::pairwise}) {
                order.reduction = reduction;
                order.split_k = 5;
                constexpr std::int64_t k = 80;
                const AprioriBound bound = apriori_bound(unit, k, order);
                for (std::uint64_t seed = 0; seed < 40; ++seed) {
                    const Ordered product = in_order(unit, order, k, seed);
                    const double limit = bound_at(unit, bound, product.magnitude);
                    if (std::isinf(limit)) continue;
                    REQUIRE(std::isfinite(product.d));
                    const double error = product.error(unit);
                    CHECK(error <= limit);
                    if (limit > 0) reached = std::max(reached, error / limit);
                    ++compared;
                }
            }
        }
    }
    CHECK(compared > 1000);
    CHECK(reached > 0.3);
}

TEST_CASE("what is expected on average is what a truncating unit loses of positive data") {
    const auto& model = unit_model<TensorCoreModel>("sm_80:mma.fp16.fp32");
    double measured = 0;
    double expected = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        Dot dot = random_dot(model, DataClass::ordinary, 1024, seed);
        for (Codes* codes : {&dot.a, &dot.b}) {
            for (std::uint32_t& code : *codes) code &= 0x7FFF;
        }
        dot.c = 0;
        const std::uint32_t d = chain_dot(model, dot.a.data(), dot.b.data(), dot.c, 1024);
        measured += exact_error(model, dot.a, dot.b, dot.c, d);
        expected += running_interval(model, dot.a, dot.b, dot.c).expected;
    }
    CHECK(measured < 0);
    CHECK(expected / measured == doctest::Approx(1).epsilon(0.25));
}

TEST_CASE("products of units that drop c stay in their bounds in every order") {
    std::int64_t compared = 0;
    for (const AddendEntry entry : {AddendEntry::never, AddendEntry::beside_zeros_alone}) {
        TensorCoreModel unit = unit_model<TensorCoreModel>("sm_80:mma.fp16.fp32");
        unit.variation.addend = entry;
        for (const ProductOrder& order :
             {ProductOrder{.split_k = 3}, ProductOrder{.split_k = 2, .slice_k = 16}, ProductOrder{.piece_k = 16},
              ProductOrder{.promote_every = 16}, ProductOrder{.tile_k = 24}}) {
            constexpr std::int64_t k = 100;
            const AprioriBound bound = apriori_bound(unit, k, order);
            for (std::uint64_t seed = 0; seed < 60; ++seed) {
                const Ordered product = in_order(unit, order, k, seed);
                if (!std::isfinite(product.d) || !std::isfinite(product.magnitude.plain)) continue;
                CHECK(product.error(unit) <= bound_at(unit, bound, product.magnitude));
                ++compared;
            }
        }
    }
    CHECK(compared > 400);
    // Of slices of 6 the second piece has k 6 to 11 and 18 to 23: it drops k = 18, which ascending k would keep.
    TensorCoreModel unit = unit_model<TensorCoreModel>("sm_80:mma.fp16.fp32");
    unit.variation.addend = AddendEntry::never;
    unit.instruction_k = 8;
    std::vector<float> x(24), y(24, 1.0F);
    x[18] = 1;
    float d = 1;
    const ProductOrder order{.split_k = 2, .slice_k = 6};
    soft_product(unit, order, {{x.data(), 1, 24}, {y.data(), 24, 1}, {}, {&d, 1, 1}});
    CHECK(d == 0);
    const Magnitude m = magnitude_of(unit, std::vector<double>(x.begin(), x.end()), std::vector<double>(24, 1), 0);
    CHECK(bound_at(unit, apriori_bound(unit, 24, order), m) >= 1);
    CHECK(bound_at(unit, apriori_bound(unit, 24), m) < 1);
}

TEST_CASE("fp64 products stay in their bounds, their errors are computed exactly") {
    const TensorCoreModel& unit = unit_model<TensorCoreModel>("sm_90:mma.fp64.fp64");
    const auto number = [](std::uint64_t code) { return std::bit_cast<double>(code); };
    // 2^1000 - 2^1000 + 2^-1000 * 2^-74: only the last is left, the least subnormal number.
    const std::vector<std::uint64_t> wide_a{0x7E70000000000000, 0x7E70000000000000, 0x0170000000000000};
    const std::vector<std::uint64_t> wide_b{0x3FF0000000000000, 0xBFF0000000000000, 0x3B50000000000000};
    CHECK(exact_error(unit, wide_a, wide_b, 0, 0) == -0x1p-1074);
    CHECK(exact_error(unit, wide_a, wide_b, 0, 1) == 0);
    CHECK(exact_error(unit, wide_a, wide_b, 0x3FF0000000000000, 0x3FF0000000000001) == 0x1p-52);
    std::int64_t compared = 0;
    double reached = 0;
    for (const ProductOrder& order : {ProductOrder{}, ProductOrder{.split_k = 4}, ProductOrder{.piece_k = 12}}) {
        for (const std::int64_t k : {1, 2, 50}) {
            const AprioriBound bound = apriori_bound(unit, k, order);
            for (std::uint64_t seed = 0; seed < 140; ++seed) {
                const DataClass data = all_classes[seed % std::size(all_classes)];
                std::vector<std::uint64_t> codes(static_cast<std::size_t>(2 * k + 1));
                for (std::size_t i = 0; i < codes.size(); ++i) {
                    codes[i] = random_code(unit.a_format, data, random_word(seed, i));
                }
                std::vector<double> x;
                for (const std::uint64_t code : codes) x.push_back(number(code));
                double d = 0;
                const auto count = static_cast<std::size_t>(k);
                fp64_product(unit, order, {{x.data(), 1, k}, {x.data() + k, k, 1}, {&x[2 * count], 1, 1}, {&d, 1, 1}});
                const auto a = std::span(x).first(count), b = std::span(x).subspan(count, count);
                const double limit = bound_at(unit, bound, magnitude_of(unit, a, b, x[2 * count]));
                if (std::isinf(limit)) continue;
                REQUIRE(std::isfinite(d));
                const auto all = std::span<const std::uint64_t>(codes);
                const double error = std::abs(exact_error(unit, all.first(count), all.subspan(count, count),
                                                          codes[2 * count], std::bit_cast<std::uint64_t>(d)));
                CHECK(error <= limit);
                if (limit > 0) reached = std::max(reached, error / limit);
                ++compared;
            }
        }
    }
    CHECK(compared > 700);
    CHECK(reached > 0.5);
}

TEST_CASE("bounds refuse what they are not about") {
    const auto& chain = unit_model<TensorCoreModel>("sm_90:mma.fp64.fp64");
    const Codes one{0x3F800000};
    CHECK_THROWS_AS((void)running_interval(chain, one, one, 0), std::invalid_argument);
    CHECK_THROWS_AS((void)magnitudes_bound(chain, one, one, 0), std::invalid_argument);
    const auto& fused = unit_model<TensorCoreModel>("sm_90:mma.fp16.fp32");
    CHECK_THROWS_AS((void)apriori_bound(fused, -1), std::invalid_argument);
    CHECK_THROWS_AS((void)apriori_bound(fused, 16, {.promote_every = 8}), std::invalid_argument);
    CHECK_THROWS_AS((void)apriori_bound(chain, 64, {.promote_every = 16}), std::invalid_argument);
    const Codes infinite{0x7C00};
    CHECK_FALSE(running_interval(fused, infinite, Codes{0x3C00}, 0).finite);
    const std::vector<double> inf{HUGE_VAL}, zero{0};
    CHECK(std::isinf(bound_at(fused, apriori_bound(fused, 1), magnitude_of(fused, inf, zero, 0))));
}
