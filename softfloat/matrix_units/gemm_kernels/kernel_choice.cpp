#include "softfloat/matrix_units/gemm_kernels/kernel_choice.hpp"

#include "softfloat/matrix_units/gemm_kernels/pack.hpp"

namespace ulp::gemm_kernels {

namespace {

KernelChoice none(const char* reason) { return {.reason = reason}; }

/// Both operands have codes of one kind, so that codes can be added.
ExponentCodes codes_of(const TensorCoreModel& model) {
    const auto needs_words = [](const FloatFormat& format) {
        return ulp::gemm_kernels::grid_of(format).codes == ExponentCodes::words;
    };
    return needs_words(model.a_format) || needs_words(model.b_format) ? ExponentCodes::words : ExponentCodes::bytes;
}

/// Significands that the integer kernels hold: 16 products must fit an int32 and be exact in fp32.
bool narrow_operands(const TensorCoreModel& model) {
    return model.a_format.fraction_bits <= 10 && model.b_format.fraction_bits <= 10 && !model.flush_subnormals;
}

KernelChoice choose_fused(const TensorCoreModel& model) {
    const BlockPolicies& p = model.policies;
    const bool wide = model.accumulator == formats::fp32 && model.rounding == Rounding::toward_zero &&
                      (model.output_fraction_bits == 23 || model.output_fraction_bits == 13);
    const bool narrow = model.accumulator == formats::fp16 && model.rounding == Rounding::nearest_even &&
                        model.output_fraction_bits == 10;
    if (!wide && !narrow) return none("No kernel rounds a group's sum as this model does.");
    if (!narrow_operands(model)) return none("No kernel holds operands of these formats.");
    if (model.fraction_bits < model.output_fraction_bits) {
        return none("The kernels' sums have at least as many fraction bits as the result.");
    }
    if (model.fraction_bits > 25 || model.group_size % 4 != 0 || model.instruction_k % model.group_size != 0) {
        return none("No kernel takes groups of this size or that many fraction bits.");
    }
    const bool policies = p.zero_product != ZeroProduct::operand_as_subnormal &&
                          (p.zero_addend != ZeroAddend::at_accumulator_emin || wide) &&
                          p.subnormal_addend == SubnormalAddend::at_emin && p.underflow_sign == UnderflowSign::positive;
    // With word codes a floor among the exponents that the kernels follow would meet their suspects.
    const bool low_floor = p.exponent_floor + 127 <= lowest_field || codes_of(model) == ExponentCodes::bytes;
    if (!policies || !low_floor)
        return none("No kernel follows these policies for zeros, subnormals and the exponent floor.");
    return {.family = Family::fused,
            .reason = "16 aligned products and their sum fit 32-bit integers.",
            .codes = codes_of(model),
            .result = wide ? ResultKind::fp32_toward_zero : ResultKind::fp16_nearest};
}

KernelChoice choose_late(const TensorCoreModel& model) {
    const bool even_odd = model.summation == Summation::late_addend_even_odd;
    const bool exact = model.fraction_bits <= 24 && model.group_size <= 32 && model.group_size % 4 == 0;
    const bool policies = model.policies.zero_product != ZeroProduct::operand_as_subnormal &&
                          model.policies.subnormal_addend == SubnormalAddend::at_emin;
    if (!narrow_operands(model) || !exact || !policies || model.accumulator != formats::fp32) {
        return none("No kernel holds this model's groups.");
    }
    return {.family = Family::late,
            .reason = "Aligned products fit 32-bit integers, and their sum with c fits fp64.",
            .codes = codes_of(model),
            .even_odd = even_odd};
}

KernelChoice choose_chain(const TensorCoreModel& model, ChainKind kind) {
    if (model.rounding != Rounding::nearest_even) return none("No kernel of operations rounds as this model does.");
    if (model.positive_input_zeros && !model.flush_subnormals) return none("no kernel changes the sign of zeros alone");
    const auto exact_in_fp32 = [](const FloatFormat& format) {
        return format.fraction_bits <= 23 && format.emin() >= formats::fp32.emin() &&
               format.emax() <= formats::fp32.emax();
    };
    if (model.accumulator != formats::fp32 || !exact_in_fp32(model.a_format) || !exact_in_fp32(model.b_format)) {
        return none("The kernels hold operands and sums in fp32.");
    }
    return {.family = Family::chain,
            .reason = "The unit's operations are IEEE operations that the processor has.",
            .chain = kind,
            .flush = model.flush_subnormals,
            .positive_zeros = model.positive_input_zeros};
}

KernelChoice choose_groups(const TensorCoreModel& model, ChainKind of_two, ChainKind of_four) {
    if (model.group_size == 2) return choose_chain(model, of_two);
    if (model.group_size == 4) return choose_chain(model, of_four);
    return none("No kernel takes groups of this size.");
}

}  // namespace

TensorCoreModel with_fields(const TensorCoreModel& model) {
    TensorCoreModel same = model;
    for (FloatFormat* format : {&same.a_format, &same.b_format}) {
        if (format->is_table()) *format = ieee_format(8, std::max(1, format->fraction_bits));
    }
    return same;
}

KernelChoice choose_kernel(const TensorCoreModel& given) {
    const TensorCoreModel model = with_fields(given);
    if (is_varied(model)) return none("A unit whose steps vary from its summation's is computed by the definition.");
    switch (model.summation) {
        case Summation::fused:
        case Summation::fp8_by_hmma: return choose_fused(model);
        case Summation::late_addend:
        case Summation::late_addend_even_odd: return choose_late(model);
        case Summation::fma_chain: return choose_chain(model, ChainKind::fma_chain);
        case Summation::fma_pairs: return choose_chain(model, ChainKind::fma_pairs);
        case Summation::even_odd_fma: return choose_chain(model, ChainKind::even_odd_fma);
        case Summation::pairwise: return choose_groups(model, ChainKind::pairwise_2, ChainKind::pairwise_4);
        case Summation::exact:
            return model.flush_subnormals ? none("No kernel adds exactly and flushes.")
                                          : choose_groups(model, ChainKind::exact_2, ChainKind::exact_4);
    }
    return none("No kernel knows this summation.");
}

PanelKernel KernelChoice::kernel(const Kernels& kernels, int vectors) const {
    const int words = codes == ExponentCodes::words ? 1 : 0;
    switch (family) {
        case Family::fused: return kernels.fused[words][result == ResultKind::fp16_nearest ? 1 : 0][vectors - 1];
        case Family::late: return kernels.late[words][even_odd ? 1 : 0][vectors - 1];
        case Family::chain: return kernels.chain[static_cast<int>(chain)][vectors - 1];
        case Family::none: break;
    }
    return nullptr;
}

Grid KernelChoice::grid_of(const FloatFormat& format) const {
    Grid grid = ulp::gemm_kernels::grid_of(format);
    if (family != Family::chain) {
        grid.codes = codes;
        return grid;
    }
    // Every number may take part.
    grid.max_finite = fp32_word_of_largest(format);
    if (flush) grid.flushed_below = static_cast<std::uint32_t>(format.emin() + 127) << 23;
    grid.flushed_sign = positive_zeros ? 0 : 0x80000000U;
    return grid;
}

}  // namespace ulp::gemm_kernels
