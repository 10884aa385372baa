// A-priori bounds beside a billion products of all rows; ULPLAB_PRODUCTS gives another number of them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "softfloat/bounds/apriori.hpp"
#include "softfloat/bounds/operands.hpp"
#include "softfloat/lab/random_codes.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/table/units.hpp"

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
    return std::abs(error) / (bound.gamma * m.lifted + bound.eta + m.flushed);
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

}  // namespace

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
    for (const auto& [key, model] : rows) {
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
        INFO(key);
        CHECK(count.outside == 0);
        MESSAGE(key << ": " << count.compared << " products, " << count.outside << " outside, largest error "
                    << count.reached << " of the bound");
        total += count.compared;
    }
    CHECK(static_cast<double>(total) >= products);
    MESSAGE(total << " products in all");
}
