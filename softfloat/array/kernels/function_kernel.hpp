// The functions' quick phase in vectors of doubles, and its rounding test (Ziv, "Fast evaluation of elementary
// mathematical functions with correctly rounded last bit", ACM TOMS 17, 1991): a result counts where all numbers within
// the phase's error bound round to it. About 1 in 32,000 fp32 results to nearest stays undecided.
#pragma once

#include "softfloat/array/kernels/function_kernels.hpp"
#include "softfloat/functions/catalog.hpp"

namespace ulp::array {
namespace {

template <class Vec>
struct FunctionVectors {
    static constexpr std::size_t lanes = sizeof(typename Vec::Double) / sizeof(double);
    typedef double Real __attribute__((vector_size(8 * lanes)));  // Vec::Double, without its attributes
    typedef float Floats __attribute__((vector_size(4 * lanes)));
    typedef std::int64_t Mask __attribute__((vector_size(8 * lanes)));
};

/// `lanes` elements; returns a bit for each undecided one.
template <class Vec, class Function>
[[gnu::always_inline]] inline unsigned evaluate_lanes(const FunctionPlan& plan, const void* in, void* out) {
    using Vectors = FunctionVectors<Vec>;
    using Real = typename Vectors::Real;
    using Word = quick_phase::WordOf<Real>;
    using Mask = typename Vectors::Mask;
    using Floats = typename Vectors::Floats;
    Floats operand;
    __builtin_memcpy(&operand, in, sizeof operand);
    const Real x = __builtin_convertvector(operand, Real);
    const Real y = Function::quick(x);

    constexpr ulp::functions::Ends ends = Function::ends();
    constexpr bool has_beside = ends.step != 0;
    constexpr bool has_low = ends.low > -__builtin_inff();
    constexpr bool has_high = ends.high < __builtin_inff();
    const Word sign = quick_phase::word_of(y) & 0x8000000000000000;
    Word word = quick_phase::word_of(y) ^ sign;
    Mask beside{};
    if constexpr (has_beside) {
        beside = x >= static_cast<double>(ends.beside);
        word = beside ? quick_phase::word_of(x) + static_cast<std::uint64_t>(std::int64_t{ends.step}) : word;
    }
    const Word push = sign != 0 ? plan.push_negative + Word{} : plan.push_positive + Word{};
    const Word rounded = ((word + push) & ~plan.dropped) | plan.odd;

    constexpr ulp::functions::Domain domain = Function::fp32_domain();
    const Mask in_domain = (x >= static_cast<double>(domain.low)) & (x <= static_cast<double>(domain.high));
    const Mask normal = (reinterpret_cast<Mask>(word) >= static_cast<std::int64_t>(plan.smallest)) &
                        (reinterpret_cast<Mask>(rounded) <= static_cast<std::int64_t>(plan.largest));
    const auto distance = reinterpret_cast<Mask>((word + plan.from_boundary) & plan.dropped);
    const Mask certain = (distance > static_cast<std::int64_t>(2 * quick_margin)) | beside;
    Mask decided = certain & normal & in_domain;
    Real result = decided ? quick_phase::real_of<Real>(rounded | sign) : x;
    if constexpr (has_low) {
        const Mask at_end = (x <= static_cast<double>(ends.low)) & (x >= -plan.end_of_ends);
        result = at_end ? quick_phase::all<Real>(plan.low_result) : result;
        decided |= at_end;
    }
    if constexpr (has_high) {
        const Mask at_end = (x >= static_cast<double>(ends.high)) & (x <= plan.end_of_ends);
        result = at_end ? quick_phase::all<Real>(plan.high_result) : result;
        decided |= at_end;
    }
    constexpr bool keeps_zero = Function::quick(0.0) == 0;  // and its sign
    if constexpr (keeps_zero) decided |= x == 0;
    const Floats narrow = __builtin_convertvector(result, Floats);
    __builtin_memcpy(out, &narrow, sizeof narrow);
    return ~Vec::sign_bits(reinterpret_cast<Real>(decided)) & ((1U << Vectors::lanes) - 1);
}

template <class Vec, class Function>
std::size_t evaluate_array(const FunctionPlan& plan, const void* in, void* out, std::size_t count,
                           std::uint16_t* undecided) {
    constexpr std::size_t lanes = FunctionVectors<Vec>::lanes;
    const auto* from = static_cast<const unsigned char*>(in);
    auto* to = static_cast<unsigned char*>(out);
    std::size_t found = 0;
    const auto list = [&](std::size_t first, unsigned left) {
        for (; left != 0; left &= left - 1) {
            undecided[found++] = static_cast<std::uint16_t>(first + static_cast<unsigned>(__builtin_ctz(left)));
        }
    };
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes) list(i, evaluate_lanes<Vec, Function>(plan, from + 4 * i, to + 4 * i));
    if (i == count) return found;
    unsigned char rest[4 * lanes] = {};
    __builtin_memcpy(rest, from + 4 * i, 4 * (count - i));
    const unsigned left = evaluate_lanes<Vec, Function>(plan, rest, rest);
    list(i, left & ((1U << (count - i)) - 1));
    __builtin_memcpy(to + 4 * i, rest, 4 * (count - i));
    return found;
}

template <class Vec>
constexpr FunctionKernels make_function_kernels() {
#define ULPLAB_FUNCTION(name, Definition) evaluate_array<Vec, ulp::functions::Definition>,
    return {{ULPLAB_FUNCTIONS(ULPLAB_FUNCTION)}};
#undef ULPLAB_FUNCTION
}

}  // namespace
}  // namespace ulp::array
