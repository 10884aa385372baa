#include "experiments/framework/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace ulp {
namespace {

/// The same on machines whose long double is another.
using Policy = boost::math::policies::policy<boost::math::policies::promote_double<false>>;
using StudentsT = boost::math::students_t_distribution<double, Policy>;
using Beta = boost::math::beta_distribution<double, Policy>;

constexpr double tail = 0.025;

double rounded(double value) { return static_cast<double>(static_cast<float>(value)); }

/// Places of the values from the smallest on.
std::vector<std::size_t> ascending(std::span<const double> values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
    return order;
}

}  // namespace

double t_quantile(std::int64_t degrees_of_freedom) {
    if (degrees_of_freedom < 1) throw std::invalid_argument("Student's t needs a degree of freedom");
    const StudentsT t(static_cast<double>(degrees_of_freedom));
    return std::round(1000 * boost::math::quantile(boost::math::complement(t, tail))) / 1000;
}

ShareInterval exact_share(std::int64_t count, std::int64_t trials) {
    if (trials < 1 || count < 0 || count > trials) throw std::invalid_argument("that is no share");
    const auto seen = static_cast<double>(count);
    const auto missed = static_cast<double>(trials - count);
    return {
        count == 0 ? 0 : rounded(boost::math::quantile(Beta(seen, missed + 1), tail)),
        count == trials ? 1 : rounded(boost::math::quantile(boost::math::complement(Beta(seen + 1, missed), tail)))};
}

double p_value(const ParityInterval& parity) {
    if (parity.seeds < 2 || !std::isfinite(parity.high - parity.low) || !(parity.high > parity.low)) return 1;
    const double mean = (parity.low + parity.high) / 2;
    const double error = (parity.high - parity.low) / 2 / t_quantile(parity.seeds - 1);
    const StudentsT t(static_cast<double>(parity.seeds - 1));
    const auto above = [&](double distance) { return boost::math::cdf(boost::math::complement(t, distance / error)); };
    // How far inside the edges the mean lies.
    const double from_below = mean + parity.margin;
    const double from_above = parity.margin - mean;
    const double inside = parity.side == MarginSide::not_below   ? from_below
                          : parity.side == MarginSide::not_above ? from_above
                                                                 : std::min(from_below, from_above);
    return rounded(above(parity.worse ? -inside : inside));
}

std::vector<double> holm(std::span<const double> p) {
    std::vector<double> corrected(p.size());
    double largest = 0;
    std::size_t left = p.size();
    for (const std::size_t i : ascending(p)) {
        largest = std::max(largest, std::min(1.0, p[i] * static_cast<double>(left--)));
        corrected[i] = largest;
    }
    return corrected;
}

std::vector<double> benjamini_hochberg(std::span<const double> p) {
    std::vector<double> corrected(p.size());
    const std::vector<std::size_t> order = ascending(p);
    double least = 1;
    for (std::size_t rank = order.size(); rank > 0; --rank) {
        const std::size_t i = order[rank - 1];
        least = std::min(least, p[i] * static_cast<double>(order.size()) / static_cast<double>(rank));
        corrected[i] = least;
    }
    return corrected;
}

}  // namespace ulp
