#include "engine/watch.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "softfloat/format_names.hpp"

namespace ulp {

std::string_view name_of(TensorRole role) {
    switch (role) {
        case TensorRole::weight: return "weight";
        case TensorRole::activation: return "activation";
        case TensorRole::weight_gradient: return "weight gradient";
        case TensorRole::activation_gradient: return "activation gradient";
    }
    return "";
}

namespace {

struct Tally {
    std::int64_t zeros = 0;
    std::int64_t finite = 0;
};
template <class Real>
Tally tally_of(std::span<const Real> values) {
    Tally tally;
    for (const Real x : values) {
        tally.zeros += x == 0 ? 1 : 0;
        tally.finite += std::abs(x) <= std::numeric_limits<Real>::max() ? 1 : 0;
    }
    return tally;
}

std::string bits_text(float x) { return fmt::format("{} ({:#010x})", x, std::bit_cast<std::uint32_t>(x)); }

}  // namespace

template <class Real>
void Watch::store(const std::string& place, Tensor<Real>& result, const FloatFormat& format) {
    if (!count_rounding) return result.round_to_format(format);
    const Tally before = tally_of<Real>(result.values());
    result.round_to_format(format);
    const Tally after = tally_of<Real>(result.values());
    RoundingCounts& counts = rounding[place];
    counts.elements += result.size();
    counts.overflows += before.finite - after.finite;
    counts.underflows += after.zeros - before.zeros;
    counts.zeros += after.zeros;
}
template void Watch::store(const std::string&, Tensor<float>&, const FloatFormat&);
template void Watch::store(const std::string&, Tensor<double>&, const FloatFormat&);

std::string NonFinite::text() const {
    std::string text = fmt::format("step {}, {}, {}: element {} became {} in {}\n", step, label, pass, element,
                                   bits_text(value), name_of(format));
    for (const SuspectOperand& operand : operands) {
        text += fmt::format("  {} {}: largest magnitude {}", operand.label, text_of(operand.shape),
                            bits_text(operand.largest));
        if (operand.value) text += fmt::format(", at this place {}", bits_text(*operand.value));
        if (operand.not_finite > 0) text += fmt::format(", {} infinities or NaNs of its own", operand.not_finite);
        text += "\n";
    }
    return text;
}

}  // namespace ulp
