#include "softfloat/matrix_units/bounds_of_units.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/rounded_up.hpp"

namespace ulp {
namespace {

std::vector<double> numbers_of(const FloatFormat& format, std::span<const std::uint32_t> codes) {
    std::vector<double> numbers;
    for (const std::uint32_t code : codes) numbers.push_back(static_cast<double>(in_fp32_container(format, code)));
    return numbers;
}

/// A dot product of which one instruction after the other is taken.
class Instructions {
  public:
    Instructions(const TensorCoreModel& model, std::span<const std::uint32_t> a, std::span<const std::uint32_t> b)
        : model_(model),
          a_(numbers_of(model.a_format, a)),
          b_(numbers_of(model.b_format, b)),
          whole_(apriori_bound(model, model.instruction_k)),
          rest_(apriori_bound(model, static_cast<std::int64_t>(a.size()) % model.instruction_k)) {}

    /// f(first k, count of k) for each.
    template <class Function>
    void each(const Function& f) const {
        const auto length = static_cast<std::size_t>(model_.instruction_k);
        for (std::size_t first = 0; first < a_.size(); first += length) f(first, std::min(length, a_.size() - first));
    }

    [[nodiscard]] bool drops(std::size_t first, std::size_t count) const {
        return drops_addend(model_, std::span(a_).subspan(first, count), std::span(b_).subspan(first, count));
    }
    /// Of the products and c.
    [[nodiscard]] Magnitude magnitude(std::size_t first, std::size_t count, double c) const {
        return magnitude_of(model_, std::span(a_).subspan(first, count), std::span(b_).subspan(first, count), c);
    }
    /// What the instruction may add to the error, without the c that it drops.
    [[nodiscard]] double bound(std::size_t count, Magnitude m, double dropped) const {
        // `unseen` was rounded up: its part that is not c is not less than this.
        if (dropped > 0) m.unseen = std::max(0.0, m.unseen - dropped) + dropped * 0x1p-50;
        return bound_at(model_, count == static_cast<std::size_t>(model_.instruction_k) ? whole_ : rest_, m);
    }
    /// Of all of them whatever the partial sums are.
    [[nodiscard]] double apriori(double c) const {
        return bound_at(model_, apriori_bound(model_, static_cast<std::int64_t>(a_.size())),
                        magnitude_of(model_, a_, b_, c));
    }

  private:
    TensorCoreModel model_;
    std::vector<double> a_, b_;
    AprioriBound whole_, rest_;
};

double number_of(const TensorCoreModel& model, std::uint32_t code) {
    return static_cast<double>(in_fp32_container(model.accumulator, code));
}

}  // namespace

ErrorInterval running_interval_of_instructions(const TensorCoreModel& model, std::span<const std::uint32_t> a,
                                               std::span<const std::uint32_t> b, std::uint32_t c) {
    const Instructions instructions(model, a, b);
    const double apriori = instructions.apriori(number_of(model, c));
    ErrorInterval error;
    double addends = 0;
    instructions.each([&](std::size_t first, std::size_t count) {
        const double addend = number_of(model, c);
        const double dropped = instructions.drops(first, count) ? std::abs(addend) : 0;
        const double bound = instructions.bound(count, instructions.magnitude(first, count, addend), dropped);
        error.below += bound + (addend > 0 ? dropped : 0);
        error.above += bound + (addend < 0 ? dropped : 0);
        c = chain_dot(model, a.data() + first, b.data() + first, c, static_cast<std::int64_t>(count));
        addends += std::abs(number_of(model, c));
    });
    error.finite = std::isfinite(error.below + error.above + addends);
    if (!error.finite) {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        return {infinity, infinity, 0, false};
    }
    const auto operations = static_cast<double>(2 * a.size());
    error.below = std::min(rounded_up(error.below, operations), apriori);
    error.above = std::min(rounded_up(error.above, operations), apriori);
    return error;
}

double magnitudes_bound_of_instructions(const TensorCoreModel& model, std::span<const std::uint32_t> a,
                                        std::span<const std::uint32_t> b, std::uint32_t c) {
    const Instructions instructions(model, a, b);
    const double apriori = instructions.apriori(number_of(model, c));
    double largest = std::abs(number_of(model, c));  // not less than any partial sum so far
    double sum = 0;
    instructions.each([&](std::size_t first, std::size_t count) {
        Magnitude m = instructions.magnitude(first, count, largest);
        m.lifted += m.another_sum;  // a smaller c may count as a larger one
        const bool drops = instructions.drops(first, count);
        const double bound = instructions.bound(count, m, drops ? largest : 0);
        sum += bound + (drops ? largest : 0);
        largest = rounded_up(instructions.magnitude(first, count, drops ? 0 : largest).plain + bound, 2);
    });
    return std::min(rounded_up(sum, static_cast<double>(2 * a.size())), apriori);
}

}  // namespace ulp
