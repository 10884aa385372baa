// A-priori bounds beside a billion products of all rows; ULPLAB_PRODUCTS gives another number of them. And how near to
// its bound a search brings each row: ULPLAB_STEPS dot products of 64.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "softfloat/lab/random_codes.hpp"
#include "softfloat/matrix_units/bound_operands.hpp"
#include "softfloat/matrix_units/bounds.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/round.hpp"

namespace {

using namespace ulp;

constexpr std::int64_t side = 64;

struct Operand {
    std::vector<std::uint32_t> codes;
    std::vector<float> values;
};
Operand random_operand(const FloatFormat& format, DataClass data, std::int64_t count, std::uint64_t seed) {
    Operand operand{random_codes(format, data, count, seed), {}};
    for (const std::uint32_t code : operand.codes) operand.values.push_back(in_fp32_container(format, code));
    return operand;
}

/// C + A * B in fp64, of the numbers or of their magnitudes; A by rows, B by columns of the transposed.
std::vector<double> product(const Operand& a, const Operand& b, const Operand& c, std::int64_t k, bool magnitudes) {
    const auto value = [&](float x) { return magnitudes ? std::abs(static_cast<double>(x)) : static_cast<double>(x); };
    std::vector<double> d;
    for (const float x : c.values) d.push_back(value(x));
    std::vector<double> row(static_cast<std::size_t>(side));
    for (std::int64_t q = 0; q < k; ++q) {
        for (std::size_t j = 0; j < side; ++j) row[j] = value(b.values[static_cast<std::size_t>(q) * side + j]);
        for (std::size_t i = 0; i < side; ++i) {
            const double x = value(a.values[i * static_cast<std::size_t>(k) + static_cast<std::size_t>(q)]);
            double* const to = d.data() + i * side;
            for (std::size_t j = 0; j < side; ++j) to[j] += x * row[j];
        }
    }
    return d;
}

/// The error's share of the bound at one element, by the exact sum and the lifted magnitudes.
double exact_share(const TensorCoreModel& model, const AprioriBound& bound, const Operand& a, const Operand& b,
                   const Operand& c, std::int64_t k, std::size_t i, std::size_t j, float d) {
    std::vector<std::uint32_t> x, y;
    std::vector<double> u, v;
    for (std::size_t q = 0; q < static_cast<std::size_t>(k); ++q) {
        x.push_back(a.codes[i * static_cast<std::size_t>(k) + q]);
        y.push_back(b.codes[q * side + j]);
        u.push_back(static_cast<double>(a.values[i * static_cast<std::size_t>(k) + q]));
        v.push_back(static_cast<double>(b.values[q * side + j]));
    }
    const Magnitude m = magnitude_of(model, u, v, static_cast<double>(c.values[i * side + j]));
    const double error = exact_error(model, x, y, c.codes[i * side + j], operand_code(model.accumulator, d));
    return std::abs(error) / (bound.gamma * m.lifted + bound.eta + m.unseen);
}

struct Count {
    std::int64_t compared = 0, outside = 0;
    double reached = 0;  // largest share of the bound
};

void compare(const TensorCoreModel& model, DataClass data, std::int64_t k, std::uint64_t seed, Count& count) {
    const AprioriBound bound = apriori_bound(model, k);
    const Operand a = random_operand(model.a_format, data, side * k, seed);
    const Operand b = random_operand(model.b_format, data, k * side, seed + 1);
    const Operand c = random_operand(model.accumulator, data, side * side, seed + 2);
    std::vector<float> d(side * side);
    gemm(model, {{a.values.data(), side, k},
                 {b.values.data(), k, side},
                 {c.values.data(), side, side},
                 {d.data(), side, side}});
    const std::vector<double> sums = product(a, b, c, k, false);
    const std::vector<double> magnitudes = product(a, b, c, k, true);
    for (std::size_t at = 0; at < d.size(); ++at) {
        if (!std::isfinite(d[at]) || !std::isfinite(magnitudes[at])) continue;
        ++count.compared;
        const double limit = bound.gamma * magnitudes[at] + bound.eta;
        const double error = std::abs(static_cast<double>(d[at]) - sums[at]);
        // The fp64 sums are off by at most (k + 1) 2^-53 of the magnitudes.
        const double off = static_cast<double>(k + 1) * 0x1p-53 * magnitudes[at];
        double share = limit > 0 ? (error + off) / limit : 1;
        if (share >= 1 && error > 0) share = exact_share(model, bound, a, b, c, k, at / side, at % side, d[at]);
        count.outside += error > 0 && share > 1 ? 1 : 0;
        count.reached = std::max(count.reached, error > 0 ? share : 0);
    }
}

/// Operands of one dot product that a search makes worse: codes, and the share of the bound that the error takes.
class Climb {
  public:
    Climb(const TensorCoreModel& model, std::int64_t k, std::uint64_t seed)
        : model_(model), bound_(apriori_bound(model, k)), seed_(seed) {}

    double run(std::vector<std::uint32_t> a, std::vector<std::uint32_t> b, std::uint32_t c, std::int64_t steps) {
        a_ = std::move(a);
        b_ = std::move(b);
        c_ = c;
        double best = share();
        for (std::int64_t step = 0; step < steps; ++step) {
            const auto before = std::tuple(a_, b_, c_);
            change();
            const double now = share();
            if (now >= best) {
                best = now;
            } else {
                std::tie(a_, b_, c_) = before;
            }
        }
        return best;
    }

  private:
    std::uint64_t below(std::uint64_t count) { return (random_word(seed_, next_++) >> 16) % count; }

    std::uint32_t changed(const FloatFormat& format, std::uint32_t code) {
        const int bits = format.storage_bits() - format.padding_bits;
        const auto mask = static_cast<std::uint32_t>(((std::uint64_t{1} << bits) - 1) << format.padding_bits);
        if (below(4) == 0) return static_cast<std::uint32_t>(random_word(seed_, next_++)) & mask;
        const std::uint32_t one =
            1U << (below(static_cast<std::uint64_t>(bits)) + static_cast<unsigned>(format.padding_bits));
        return (below(2) == 0 ? code ^ one : code + one) & mask;
    }

    /// One operand, or those of a group, or c.
    void change() {
        if (below(16) == 0) c_ = changed(model_.accumulator, c_);
        auto& operand = below(2) == 0 ? a_ : b_;
        const FloatFormat& format = &operand == &a_ ? model_.a_format : model_.b_format;
        const std::size_t size = operand.size();
        const std::size_t first = below(size);
        const std::uint32_t code = changed(format, operand[first]);
        const std::size_t lengths[] = {1, 1, 2, static_cast<std::size_t>(model_.group_size), size};
        const std::size_t stride = below(4) == 0 ? static_cast<std::size_t>(model_.group_size) : 1;
        const std::size_t length = lengths[below(5)] * stride;
        for (std::size_t i = first; i < std::min(size, first + length); i += stride) operand[i] = code;
    }

    [[nodiscard]] double share() const {
        std::vector<double> u, v;
        for (const std::uint32_t code : a_) u.push_back(static_cast<double>(in_fp32_container(model_.a_format, code)));
        for (const std::uint32_t code : b_) v.push_back(static_cast<double>(in_fp32_container(model_.b_format, code)));
        const auto c = static_cast<double>(in_fp32_container(model_.accumulator, c_));
        const double limit = bound_at(model_, bound_, magnitude_of(model_, u, v, c));
        if (!std::isfinite(limit) || limit == 0) return 0;
        const std::uint32_t d = chain_dot(model_, a_.data(), b_.data(), c_, static_cast<std::int64_t>(a_.size()));
        return std::abs(exact_error(model_, a_, b_, c_, d)) / limit;
    }

    TensorCoreModel model_;
    AprioriBound bound_;
    std::uint64_t seed_, next_ = 0;
    std::vector<std::uint32_t> a_, b_;
    std::uint32_t c_ = 0;
};

/// The best of searches from products of all ones beside a c that is larger by the alignment, and from random numbers.
double climbed(const TensorCoreModel& model, std::int64_t k, std::int64_t steps) {
    const auto ones = [](const FloatFormat& format) {
        return operand_code(format, round_to(format, 2.0F - std::ldexp(1.0F, -format.fraction_bits)));
    };
    double best = 0;
    const int kept = takes_decoded(model) ? model.fraction_bits : model.accumulator.fraction_bits;
    for (const int up : {0, 1, 2, 3}) {
        const int exponent = std::min(kept + up, model.accumulator.emax() - 3);
        const std::uint32_t c = operand_code(model.accumulator, std::ldexp(1.0F, exponent));
        best = std::max(best, Climb(model, k, 7)
                                  .run(std::vector(static_cast<std::size_t>(k), ones(model.a_format)),
                                       std::vector(static_cast<std::size_t>(k), ones(model.b_format)), c, steps / 8));
    }
    for (const DataClass data : {DataClass::ordinary, DataClass::cancelling, DataClass::wide, DataClass::subnormal}) {
        const auto c = random_codes(model.accumulator, data, 1, 3);
        best = std::max(best, Climb(model, k, 8)
                                  .run(random_codes(model.a_format, data, k, 1),
                                       random_codes(model.b_format, data, k, 2), c.front(), steps / 8));
    }
    return best;
}

/// What a search must reach: half of the bound, or what docs/bounds.md gives.
double attainable(const TensorCoreModel& model) {
    if (model.summation == Summation::late_addend_even_odd) return 0.35;
    return model.summation == Summation::fp8_by_hmma ? 0.4 : 0.5;
}

}  // namespace

TEST_CASE("a search brings every row near its bound") {
    const char* given = std::getenv("ULPLAB_STEPS");
    const std::int64_t steps = given == nullptr ? 48'000 : std::stoll(given);
    for (const auto& [row, model] : rows_of<TensorCoreModel>()) {
        if (model.accumulator == formats::fp64) continue;
        const double share = climbed(model, 64, steps);
        const std::string key = row.key();
        CAPTURE(key);
        CHECK(share >= attainable(model));
        CHECK(share <= 1);
        MESSAGE(row.key() << ": a search reaches " << share << " of the bound");
    }
}

TEST_CASE("no product of a billion leaves its a-priori bound") {
    const char* given = std::getenv("ULPLAB_PRODUCTS");
    const double products = given == nullptr ? 1e9 : std::stod(given);
    std::vector<std::pair<std::string, TensorCoreModel>> rows;
    for (const auto& [row, model] : rows_of<TensorCoreModel>()) {
        if (model.accumulator != formats::fp64) rows.emplace_back(row.key(), model);
    }
    constexpr std::int64_t lengths[] = {16, 37, 64, 256};
    const double batch = side * side * std::size(lengths) * std::size(all_classes);
    // About a ninth of the random products is not finite and bounds nothing.
    const auto rounds = static_cast<std::int64_t>(std::ceil(1.2 * products / batch / static_cast<double>(rows.size())));
    std::int64_t total = 0;
    for (const auto& row : rows) {
        const auto& model = row.second;
        Count count;
#pragma omp parallel for schedule(dynamic, 1)
        for (std::int64_t round = 0; round < rounds; ++round) {
            Count own;
            for (const std::int64_t k : lengths) {
                for (const DataClass data : all_classes) {
                    compare(model, data, k, static_cast<std::uint64_t>(round * 8191 + k), own);
                }
            }
#pragma omp critical(counting)
            {
                count.compared += own.compared;
                count.outside += own.outside;
                count.reached = std::max(count.reached, own.reached);
            }
        }
        INFO(row.first);
        CHECK(count.outside == 0);
        MESSAGE(row.first << ": " << count.compared << " products, " << count.outside << " outside, largest error "
                          << count.reached << " of the bound");
        total += count.compared;
    }
    CHECK(static_cast<double>(total) >= products);
    MESSAGE(total << " products in all");
}
