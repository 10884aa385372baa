#include "engine/watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/exponent_counts.hpp"
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

std::string bits_text(float x) { return fmt::format("{} ({:#010x})", x, std::bit_cast<std::uint32_t>(x)); }

}  // namespace

template <class Real>
bool Watch::store(const std::string& place, Tensor<Real>& result, const StepFormat& format) {
    const bool rounds = format != result.format() || format.subnormals.flush_outputs;
    const Tally before = count_rounding && rounds ? tally_of(std::span<const Real>(result.values())) : Tally{};
    result.round_to_format(format);
    if (!count_rounding && !find_nonfinite) return true;
    const Tally after = tally_of(std::span<const Real>(result.values()));
    if (count_rounding) {
        RoundingCounts& counts = rounding[place];
        counts.elements += result.size();
        counts.overflows += rounds ? before.finite - after.finite : 0;
        counts.underflows += rounds ? after.zeros - before.zeros : 0;
        counts.zeros += after.zeros;
    }
    return after.finite == result.size();
}
template bool Watch::store(const std::string&, Tensor<float>&, const StepFormat&);
template bool Watch::store(const std::string&, Tensor<double>&, const StepFormat&);

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
