#include "softfloat/array/path.hpp"

#include "softfloat/array/kernels/function_plan.hpp"
#include "softfloat/array/kernels/kernel_table.hpp"
#include "softfloat/array/make_plan.hpp"
#include "softfloat/array/stages.hpp"
#include "softfloat/array/steps.hpp"
#include "softfloat/array/words.hpp"
#include "softfloat/functions/evaluate.hpp"
#include "softfloat/vector/dispatch.hpp"

namespace ulp::array {
namespace {

constexpr int fp64_digits = formats::fp64.precision();

constexpr std::string_view names[] = {
    "scalar_loop",    "fp32_words",      "fp64_words",        "native_half", "half_nearest",  "half_rounded",
    "bfloat_nearest", "processor",       "processor_options", "truncated",   "odd_in_single", "odd_by_double",
    "odd_in_double",  "between_doubles", "table_of_results",  "quick_phase", "steps"};
static_assert(std::size(names) == static_cast<std::size_t>(Kernel::steps) + 1);

/// Whether everything stays well within fp32's exponents: see kernels_arithmetic.hpp.
bool fits_single(const FloatFormat& format) {
    return format.precision() <= 11 && format.smallest_exponent() >= -60 && format.emax() <= 60;
}

bool has_processor(Rounding rounding) {
    return rounding == Rounding::nearest_even || rounding == Rounding::toward_zero || rounding == Rounding::up ||
           rounding == Rounding::down;
}

/// Whether the kernels round so: not P3109's other stochastic modes, and an infinity becomes what an overflow does.
bool has_kernels(const FloatFormat& format, const Context& context) {
    return context.rounding <= Rounding::stochastic && saturation_of(format, context) != Saturation::sat_propagate;
}

constexpr std::string_view of_steps = "the format has at most 65,536 codes";
constexpr std::string_view no_kernel_rounds = "no kernel rounds in this mode";

bool flushes(const Context& context) { return context.flush_inputs || context.flush_outputs; }
bool has_options(const Context& context) { return flushes(context) || context.saturate; }

/// Where rounding is an addition: see kernels_truncated.hpp.
bool has_truncated(const FloatFormat& format, const Context& context, const KernelTable& kernels) {
    if (context.rounding != Rounding::stochastic && context.rounding != Rounding::nearest_away) return false;
    const auto storage = truncated_storage(format);
    return storage && kernels.truncated[*storage][random_fraction][op_add] != nullptr;
}

/// A kernel of the format's own.
Kernel own_kernel(const FloatFormat& format, const Context& context, Simd simd) {
    const bool nearest = context.rounding == Rounding::nearest_even;
    const bool of_processor = has_processor(context.rounding);
    const bool options = has_options(context);
    const KernelTable& kernels = kernels_of<KernelTable>(simd);
    const bool rounded = kernels.half[static_cast<std::size_t>(context.rounding)][op_add] != nullptr;
    if (format == formats::fp16 && flushes(context) && rounded)
        return Kernel::half_rounded;  // and flushes as it rounds
    if (has_truncated(format, context, kernels)) return Kernel::truncated;
    if (format == formats::bf16 && nearest && (!options || kernels.bfloat_has_options)) return Kernel::bfloat_nearest;
    if (format == formats::fp32 && of_processor) return options ? Kernel::processor_options : Kernel::processor;
    if (format != formats::fp16) return Kernel::scalar_loop;
    if (of_processor && !options && simd == Simd::avx512_fp16) return Kernel::native_half;
    if (nearest && !options) return Kernel::half_nearest;
    return rounded ? Kernel::half_rounded : Kernel::scalar_loop;
}

/// Whether fp64 holds enough of any result: one digit more than is rounded to, and one that says if more follow.
bool fits_double(Operation operation, const FloatFormat& format, const Context& context) {
    if (operation == op_multiply) return true;  // exact
    const int random_bits = context.rounding == Rounding::stochastic ? context.random_bits : 0;
    return format.precision() + random_bits + 2 <= fp64_digits;
}

}  // namespace

std::string_view name_of(Kernel kernel) { return names[static_cast<std::size_t>(kernel)]; }

Path choose_round_path(const FloatFormat& format, const FloatFormat& container, const Context& context, Simd simd) {
    require_sensible(context);
    require_instructions(simd);
    const bool rounds = has_kernels(format, context);
    if (container == formats::fp64 && rounds && has_plan64(format)) {
        return {Kernel::fp64_words, simd, "every value of the format is an fp64 number"};
    }
    const bool nearest = context.rounding == Rounding::nearest_even && !has_options(context);
    if (container == formats::fp32 && rounds && format == formats::fp16 && nearest &&
        kernels_of<KernelTable>(simd).through_half != nullptr) {
        return {Kernel::half_nearest, simd, "the processor converts fp32 to fp16 and back"};
    }
    if (container == formats::fp32 && rounds && has_plan(format)) {
        return {Kernel::fp32_words, simd, "every value of the format is an fp32 number"};
    }
    if (container == formats::fp32 && has_steps(format, context)) return {Kernel::steps, simd, of_steps};
    return {Kernel::scalar_loop, simd,
            rounds ? "the format has no sign, no subnormals or values that the container lacks" : no_kernel_rounds};
}

namespace {
/// The path of conversions by kernels alone.
Path kernel_path(const FloatFormat& to, const FloatFormat& from, const Context& context, Simd simd) {
    require_sensible(context);
    if (!has_kernels(to, context)) return {Kernel::scalar_loop, simd, no_kernel_rounds};
    const KernelTable& kernels = kernels_of<KernelTable>(simd);
    const bool reads = from == formats::fp64 || Reader::make(from, context, kernels);
    if (!reads) return {Kernel::scalar_loop, simd, "no kernel reads the source's storage words"};
    // A number rounded to odd keeps what a rounding to two digits less needs. Operands are flushed before.
    const bool by_odd = from == formats::fp64 && bytes_of(to) <= 2 && to.precision() + 2 <= formats::fp32.precision() &&
                        context.rounding != Rounding::stochastic && !context.flush_inputs;
    if (by_odd && Writer::make(to, context, kernels)) {
        return {Kernel::fp32_words, simd, "fp32 numbers, rounded to odd, say enough of fp64 numbers"};
    }
    if (from == formats::fp64 || to == formats::fp64) {
        const bool inputs = from == formats::fp64;
        if (Writer64::make(to, inputs ? context : of_results(context), kernels))
            return {Kernel::fp64_words, simd, "one of the formats is fp64"};
    } else if (Writer::make(to, of_results(context), kernels)) {
        return {Kernel::fp32_words, simd, "every value of the source is an fp32 number"};
    }
    return {Kernel::scalar_loop, simd, "no kernel rounds to this format"};
}
}  // namespace

Path choose_path(const FloatFormat& to, const FloatFormat& from, const Context& context, Simd simd) {
    const Path path = kernel_path(to, from, context, simd);
    if (path.kernel != Kernel::scalar_loop) return path;
    const bool writes = from == formats::fp32 && has_steps(to, context);
    const bool reads = to == formats::fp32 && has_steps(from, context);
    return writes || reads ? Path{Kernel::steps, simd, of_steps} : path;
}

Path choose_path(Operation operation, const FloatFormat& format, const Context& context, Simd simd) {
    require_sensible(context);
    const KernelTable& kernels = kernels_of<KernelTable>(simd);
    if (!has_kernels(format, context)) return {Kernel::scalar_loop, simd, no_kernel_rounds};
    const Kernel own = own_kernel(format, context, simd);
    if (own != Kernel::scalar_loop) return {own, simd, "the format has a kernel of its own for this rounding"};
    if (!Reader::make(format, context, kernels)) {
        return {Kernel::scalar_loop, simd, "no kernel reads the format's storage words as fp32 numbers"};
    }
    // Two digits more than the format's, or none at all where to odd is the rounding.
    const bool odd_is_result = context.rounding == Rounding::odd && format == formats::fp32;
    const bool to_spare = format.precision() + 2 <= formats::fp32.precision() || odd_is_result;
    if (context.rounding != Rounding::stochastic && to_spare && Writer::make(format, of_results(context), kernels)) {
        if (fits_single(format)) return {Kernel::odd_in_single, simd, "results fit fp32 with digits to spare"};
        return {Kernel::odd_by_double, simd, "results need fp64's exponents, and fit fp32 with digits to spare"};
    }
    if (2 * format.precision() > fp64_digits) {
        return {Kernel::scalar_loop, simd, "fp64 does not hold a product of two numbers of this format"};
    }
    if (!Writer64::make(format, of_results(context), kernels)) {
        return {Kernel::scalar_loop, simd, "no kernel rounds fp64 numbers to this format"};
    }
    if (!fits_double(operation, format, context)) {
        return {Kernel::between_doubles, simd,
                "the rounding looks at more digits than fp64 has, but seldom needs them"};
    }
    return {Kernel::odd_in_double, simd, "the rounding looks at more digits than fp32 has"};
}

Path choose_path(Function, const FloatFormat& format, const Context& context, Simd simd) {
    require_sensible(context);
    require_supported(format);
    require_instructions(simd);
    if (context.rounding > Rounding::stochastic) return {Kernel::scalar_loop, simd, no_kernel_rounds};
    if (bytes_of(format) <= 2) return {Kernel::table_of_results, simd, "the format has at most 65,536 operands"};
    if (has_kernels(format, context) && function_plan(format, context.rounding)) {
        return {Kernel::quick_phase, simd, "the format's storage words are fp32 words"};
    }
    return {Kernel::scalar_loop, simd, "the format's storage words have 32 bits and are not fp32 words"};
}

}  // namespace ulp::array
