// The pinned functions against Boost.Multiprecision with 50 digits: the largest error of each is stated and bounded.
#include <doctest/doctest.h>

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <vector>

#include "engine/pinned_math.hpp"
#include "engine/random.hpp"

namespace {

using namespace ulp;
using Wide = boost::multiprecision::cpp_bin_float_50;

/// Units in the last place of the result between a double and the true value.
double ulp_error(double got, const Wide& expected) {
    const auto nearest = static_cast<double>(expected);
    if (std::isinf(nearest) || std::isnan(nearest)) return got == nearest ? 0 : 1e9;
    const double ulp = std::max(std::nextafter(std::abs(nearest), pinned::infinity) - std::abs(nearest), 0x1p-1074);
    return static_cast<double>(abs(Wide(got) - expected) / ulp);
}

/// Numbers of all sizes in [-limit, limit], both signs.
std::vector<double> spread(double limit, std::uint64_t seed) {
    std::vector<double> numbers;
    Random random(seed);
    for (int i = 0; i < 3000; ++i) {
        numbers.push_back(random.uniform(-limit, limit));
        numbers.push_back(limit * std::ldexp(random.uniform(-1, 1), -static_cast<int>(random.below(40))));
    }
    return numbers;
}

template <class Function, class Reference>
double worst(const std::vector<double>& numbers, Function function, Reference reference) {
    double largest = 0;
    for (const double x : numbers) largest = std::max(largest, ulp_error(function(x), reference(Wide(x))));
    return largest;
}

std::vector<double> magnitudes(std::vector<double> numbers) {
    for (double& x : numbers) x = std::abs(x);
    return numbers;
}

#define CHECK_WORST(bound, numbers, function, reference)                        \
    do {                                                                        \
        const double found = worst(numbers, function, reference);               \
        MESSAGE(#function << ": largest error found " << found << " ulp fp64"); \
        CHECK(found <= (bound));                                                \
    } while (false)

TEST_CASE("pinned functions stay within a few units in the last place of fp64") {
    CHECK_WORST(1.0, spread(700, 1), pinned::exp, [](const Wide& x) -> Wide { return exp(x); });
    CHECK_WORST(1.0, magnitudes(spread(1e300, 2)), pinned::log, [](const Wide& x) -> Wide { return log(x); });
    CHECK_WORST(2.0, magnitudes(spread(4, 3)), pinned::log, [](const Wide& x) -> Wide { return log(x); });
    CHECK_WORST(4.0, spread(30, 4), pinned::expm1, [](const Wide& x) -> Wide { return expm1(x); });
    CHECK_WORST(3.0, magnitudes(spread(1, 5)), pinned::log1p, [](const Wide& x) -> Wide { return log1p(x); });
    CHECK_WORST(3.0, spread(22, 6), pinned::tanh, [](const Wide& x) -> Wide { return tanh(x); });
    CHECK_WORST(2.5, spread(60, 7), pinned::sigmoid, [](const Wide& x) -> Wide { return 1 / (1 + exp(-x)); });
    CHECK_WORST(12.0, spread(6, 8), pinned::erf, [](const Wide& x) -> Wide { return boost::math::erf(x); });
}

TEST_CASE("pinned functions at the ends") {
    const double inf = pinned::infinity;
    CHECK(pinned::exp(inf) == inf);
    CHECK(pinned::exp(-inf) == 0);
    CHECK(pinned::exp(-745.0) == 0x1p-1074);
    CHECK(pinned::log(0.0) == -inf);
    CHECK(pinned::log(inf) == inf);
    CHECK(std::isnan(pinned::log(-1.0)));
    CHECK(pinned::tanh(inf) == 1);
    CHECK(pinned::tanh(-inf) == -1);
    CHECK(std::signbit(pinned::tanh(-0.0)));
    CHECK(pinned::sigmoid(-inf) == 0);
    CHECK(pinned::sigmoid(inf) == 1);
    CHECK(pinned::erf(inf) == 1);
    for (auto function : {pinned::exp, pinned::log, pinned::tanh, pinned::sigmoid, pinned::erf, pinned::expm1}) {
        CHECK(std::isnan(function(pinned::not_a_number)));
    }
}

}  // namespace
