#include "softfloat/array/stages.hpp"

#include "softfloat/round.hpp"

namespace ulp::array {

namespace {

/// The storage word is the fp32 word of the value: fp32 itself and tf32.
bool is_fp32_word(const FloatFormat& format, const Plan& plan) {
    return plan.range == wide && format.storage_bits() == 32 &&
           format.padding_bits == static_cast<int>(plan.constants.cut);
}

}  // namespace

std::optional<Reader> Reader::make(const FloatFormat& format, const KernelTable& kernels) {
    Reader reader;
    reader.bytes_ = bytes_of(format);
    if (format == formats::fp64) {
        reader.kernel_ = kernels.narrow;
        return reader;
    }
    const auto plan = make_plan(format, {});
    if (!plan) return std::nullopt;
    reader.plan_ = plan->constants;
    if (is_fp32_word(format, *plan)) return reader;
    if (format.padding_bits != 0) return std::nullopt;
    if (reader.bytes_ == 2) reader.kernel_ = kernels.decode16[plan->range];
    if (reader.bytes_ == 1) reader.kernel_ = kernels.decode8[plan->range];
    if (reader.kernel_ == nullptr) return std::nullopt;
    return reader;
}

const void* Reader::read(const void* from, std::size_t begin, std::size_t count, void* buffer) const {
    const auto* words = static_cast<const unsigned char*>(from) + begin * bytes_;
    if (kernel_ == nullptr) return words;
    kernel_(plan_, words, buffer, count);
    return buffer;
}

std::optional<Writer> Writer::make(const FloatFormat& format, const ArrayContext& context, const KernelTable& kernels) {
    const bool to_fp64 = format == formats::fp64;
    const auto plan = make_plan(to_fp64 ? formats::fp32 : format, context);
    if (!plan) return std::nullopt;
    Writer writer(*plan, context);
    writer.bytes_ = bytes_of(format);
    const auto rounding = static_cast<std::size_t>(plan->rounding);
    if (to_fp64) {
        writer.kernel_ = kernels.round[rounding][plan->range];
        writer.widen_ = kernels.widen;
    } else if (is_fp32_word(format, *plan)) {
        writer.kernel_ = kernels.round[rounding][plan->range];
    } else if (format.padding_bits == 0) {
        if (writer.bytes_ == 2) writer.kernel_ = kernels.encode16[rounding][plan->range];
        if (writer.bytes_ == 1) writer.kernel_ = kernels.encode8[rounding][plan->range];
    }
    if (writer.kernel_ == nullptr) return std::nullopt;
    return writer;
}

void Writer::write(const void* words, std::size_t begin, std::size_t count, void* to) {
    if (context_.rounding == Rounding::stochastic) start_random(plan_.constants, context_, begin);
    auto* out = static_cast<unsigned char*>(to) + begin * bytes_;
    if (widen_ == nullptr) {
        kernel_(plan_.constants, words, out, count);
        return;
    }
    alignas(64) std::uint32_t rounded[block_size];
    kernel_(plan_.constants, words, rounded, count);
    widen_(plan_.constants, rounded, out, count);
}

bool by_odd_fp32(const FloatFormat& format, const ArrayContext& context) {
    if (context.flush_inputs) return false;  // the plan would flush fp32's subnormals
    if (context.rounding != Rounding::stochastic) return format.precision() + 1 < formats::fp32.precision();
    // Odd makes fp32's largest number of everything beyond it, which chance could round down.
    return format.precision() + context.random_bits < formats::fp32.precision() && format.emax() < formats::fp32.emax();
}

}  // namespace ulp::array
