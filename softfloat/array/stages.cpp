#include "softfloat/array/stages.hpp"

#include <algorithm>

namespace ulp::array {
namespace {

/// The storage word is the fp32 word of the value: fp32 itself and tf32.
bool is_fp32_word(const FloatFormat& format, const Plan& plan) {
    return plan.range == wide && format.storage_bits() == 32 &&
           format.padding_bits == static_cast<int>(plan.constants.cut);
}

RoundKernel write_kernel(const FloatFormat& format, const Plan& plan, const KernelTable& kernels) {
    const auto rounding = static_cast<std::size_t>(plan.rounding);
    if (is_fp32_word(format, plan)) return kernels.round[rounding][plan.range];
    if (format.padding_bits != 0) return nullptr;
    const std::size_t bytes = bytes_of(format);
    if (bytes == 2) return kernels.encode16[rounding][plan.range];
    return bytes == 1 ? kernels.encode8[rounding][plan.range] : nullptr;
}
RoundKernel64 write_kernel(const FloatFormat& format, const Plan64& plan, const KernelTable& kernels) {
    const auto rounding = static_cast<std::size_t>(plan.rounding);
    if (format == formats::fp64) return kernels.round64[rounding][plan.range];
    const std::size_t bytes = bytes_of(format);
    if (bytes == 4) return kernels.encode32_64[rounding][plan.range];
    if (format.padding_bits != 0) return nullptr;
    if (bytes == 2) return kernels.encode16_64[rounding][plan.range];
    return bytes == 1 ? kernels.encode8_64[rounding][plan.range] : nullptr;
}

template <class Word>
std::optional<BasicPlan<Word>> plan_for(const FloatFormat& format, const Context& context) {
    if constexpr (sizeof(Word) == 8) {
        return make_plan64(format, context);
    } else {
        return make_plan(format, context);
    }
}

}  // namespace

void plan_operands(RoundingPlan& plan, const FloatFormat& format, const Context& context) {
    if (!context.flush_inputs) return;
    plan.operand_below = static_cast<std::uint32_t>(format.emin() + formats::fp32.bias) << formats::fp32.fraction_bits;
    plan.operand_sign = format.has_negative_zero() ? 0x80000000 : 0;
}

void make_random_words(const Context& context, std::size_t begin, std::size_t count, std::uint32_t* words,
                       const KernelTable& kernels) {
    for (std::size_t done = 0; done < count;) {
        const std::size_t now = std::min<std::uint64_t>(count - done, elements_of_upper_half(context, begin + done));
        RoundingPlan64 plan{};
        start_random(plan, context, begin + done);
        kernels.random_words(plan, words + done, now);
        done += now;
    }
}

std::optional<Storage> truncated_storage(const FloatFormat& format) {
    if (format == formats::fp16) return as_half;
    if (format == formats::bf16) return as_bfloat;
    if (format == formats::fp32) return as_fp32;
    if (const auto plan = make_plan(format, {}); plan && is_fp32_word(format, *plan)) return as_single;
    return std::nullopt;
}

std::optional<Reader> Reader::make(const FloatFormat& format, const Context& context, const KernelTable& kernels) {
    const auto plan = make_plan(format, {});
    if (!plan) return std::nullopt;
    Reader reader;
    reader.bytes_ = bytes_of(format);
    reader.plan_ = plan->constants;
    plan_operands(reader.plan_, format, context);
    if (context.flush_inputs) reader.flush_ = kernels.flush;
    if (is_fp32_word(format, *plan)) return reader;
    if (format.padding_bits != 0) return std::nullopt;
    if (reader.bytes_ == 2) reader.decode_ = kernels.decode16[plan->range];
    if (reader.bytes_ == 1) reader.decode_ = kernels.decode8[plan->range];
    if (reader.decode_ == nullptr) return std::nullopt;
    return reader;
}

const void* Reader::read(const void* from, std::size_t begin, std::size_t count, void* buffer) const {
    const void* words = static_cast<const unsigned char*>(from) + begin * bytes_;
    for (const RoundKernel kernel : {decode_, flush_}) {
        if (kernel == nullptr) continue;
        kernel(plan_, words, buffer, count);
        words = buffer;
    }
    return words;
}

template <class Word>
std::optional<BasicWriter<Word>> BasicWriter<Word>::make(const FloatFormat& format, const Context& context,
                                                         const KernelTable& kernels) {
    const auto plan = plan_for<Word>(format, context);
    if (!plan) return std::nullopt;
    BasicWriter writer(*plan, context);
    writer.bytes_ = bytes_of(format);
    writer.kernel_ = write_kernel(format, *plan, kernels);
    if (writer.kernel_ == nullptr) return std::nullopt;
    return writer;
}

template <class Word>
void BasicWriter<Word>::write(const void* words, std::size_t begin, std::size_t count, void* to) {
    if (context_.rounding == Rounding::stochastic) start_random(plan_.constants, context_, begin);
    kernel_(plan_.constants, words, static_cast<unsigned char*>(to) + begin * bytes_, count);
}

template class BasicWriter<std::uint32_t>;
template class BasicWriter<std::uint64_t>;

}  // namespace ulp::array
