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

/// y where it is below the normal numbers, rounded to nearest there: on a grid of constant spacing, by the processor.
/// All numbers within the error bound must round to the same value; else the lane is a NaN.
template <class Real>
[[gnu::always_inline]] inline Real round_subnormal(const FunctionPlan& plan, Real y) {
    const auto on_grid = [&](Real x) { return (x + plan.to_subnormal_grid) - plan.to_subnormal_grid; };
    const Real error = y * quick_error;
    const Real below = on_grid(y - error);
    const Real nearest = below == on_grid(y + error) ? below : quick_phase::all<Real>(__builtin_nan(""));
    const auto sign = quick_phase::word_of(y) & 0x8000000000000000;  // which a zero has lost
    return quick_phase::real_of<Real>(quick_phase::word_of(nearest) | sign);
}

/// The random numbers of a register of elements.
template <class Vec>
[[gnu::always_inline]] inline auto load_random(const std::uint32_t* random) {
    constexpr std::size_t lanes = FunctionVectors<Vec>::lanes;
    typedef std::uint32_t Words __attribute__((vector_size(4 * lanes)));
    Words words;
    __builtin_memcpy(&words, random, sizeof words);
    using Word = quick_phase::WordOf<typename FunctionVectors<Vec>::Real>;
    return __builtin_convertvector(words, Word);
}

/// Lanes whose random number chooses the other result of an end.
template <class Vec>
[[gnu::always_inline]] inline auto carries(const FunctionEnd& end, const std::uint32_t* random) {
    using Mask = typename FunctionVectors<Vec>::Mask;
    return reinterpret_cast<Mask>(load_random<Vec>(random) + end.fraction) > std::int64_t{0xFFFFFFFF};
}

/// `lanes` elements; returns a bit for each undecided one. `random`: their words, or null.
template <class Vec, class Function>
[[gnu::always_inline]] inline unsigned evaluate_lanes(const FunctionPlan& plan, const void* in, void* out,
                                                      const std::uint32_t* random) {
    using Vectors = FunctionVectors<Vec>;
    using Real = typename Vectors::Real;
    using Word = quick_phase::WordOf<Real>;
    using Mask = typename Vectors::Mask;
    using Floats = typename Vectors::Floats;
    const Real x = Vec::load_widened(in);
    const Real y = Function::quick(x);

    constexpr ulp::functions::Ends ends = Function::ends();
    constexpr bool has_beside = ends.step != 0;
    constexpr bool has_low = ends.low > -__builtin_inff();
    constexpr bool has_high = ends.high < __builtin_inff();
    Word word = quick_phase::word_of(y);
    Mask beside{};
    if constexpr (has_beside) {
        beside = x >= plan.beside;
        word = beside ? quick_phase::word_of(x) + static_cast<std::uint64_t>(std::int64_t{ends.step}) : word;
    }
    if (random != nullptr) word += load_random<Vec>(random) << plan.random_shift >> 3;
    const Word negative = reinterpret_cast<Word>(reinterpret_cast<Mask>(y) >> 63);
    const Word push = plan.push_positive ^ (plan.push_changes & negative);
    const Word rounded = ((word + push) & ~plan.dropped) | plan.odd;

    constexpr ulp::functions::Domain domain = Function::fp32_domain();
    Mask in_domain = x >= static_cast<double>(domain.low);
    // An infinity beside which the result lies is not a normal number.
    if constexpr (!has_beside || domain.high < ulp::functions::finite().high)
        in_domain &= x <= static_cast<double>(domain.high);
    const Mask magnitude = reinterpret_cast<Mask>(rounded & 0x7FFFFFFFFFFFFFFF);
    const Mask normal = reinterpret_cast<Mask>(reinterpret_cast<Word>(magnitude) + plan.to_order) < plan.end_of_order;
    const auto distance = reinterpret_cast<Mask>((word + plan.from_boundary) & plan.dropped);
    const Mask certain = (distance > static_cast<std::int64_t>(2 * quick_margin)) | beside;
    Mask decided = certain & normal & in_domain;
    Real result = decided ? quick_phase::real_of<Real>(rounded) : x;
    Mask at_low{};
    Mask at_high{};
    if constexpr (has_low) {
        at_low = (x <= plan.low.at) & (x >= -plan.end_of_ends);
        result = at_low ? quick_phase::all<Real>(plan.low.down) : result;
        decided |= at_low;
    }
    if constexpr (has_high) {
        at_high = (x >= plan.high.at) & (x <= plan.end_of_ends);
        result = at_high ? quick_phase::all<Real>(plan.high.down) : result;
        decided |= at_high;
    }
    if (random != nullptr) {
        if constexpr (has_low)
            result = at_low & carries<Vec>(plan.low, random) ? quick_phase::all<Real>(plan.low.up) : result;
        if constexpr (has_high)
            result = at_high & carries<Vec>(plan.high, random) ? quick_phase::all<Real>(plan.high.up) : result;
    }
    constexpr bool keeps_zero = Function::quick(0.0) == 0;  // and its sign
    if constexpr (keeps_zero) decided |= x == 0;
    const auto store = [&] {
        const Floats narrow = __builtin_convertvector(result, Floats);
        __builtin_memcpy(out, &narrow, sizeof narrow);
    };
    constexpr unsigned all = (1U << Vectors::lanes) - 1;
    const unsigned undecided = ~Vec::sign_bits(reinterpret_cast<Real>(decided)) & all;
    if (__builtin_expect(undecided != 0 && plan.to_subnormal_grid != 0, 0)) {
        const Real subnormal = round_subnormal(plan, y);
        const Mask found =
            ~decided & in_domain & (subnormal == subnormal) & (magnitude <= static_cast<std::int64_t>(plan.smallest));
        result = found ? subnormal : result;
        decided |= found;
        store();
        return ~Vec::sign_bits(reinterpret_cast<Real>(decided)) & all;
    }
    store();
    return undecided;
}

/// Everything is inlined: what is not would be a weak symbol of a unit with instructions of its own, and slow.
template <class Vec, class Function>
[[gnu::flatten]] std::size_t evaluate_array(const FunctionPlan& shared_plan, const void* in, void* out,
                                            std::size_t count, std::uint16_t* undecided) {
    constexpr std::size_t lanes = FunctionVectors<Vec>::lanes;
    const FunctionPlan plan = shared_plan;  // a copy that no store can alias
    const auto* from = static_cast<const unsigned char*>(in);
    auto* to = static_cast<unsigned char*>(out);
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; i += lanes) {
        const std::size_t now = count - i < lanes ? count - i : lanes;
        unsigned char rest[4 * lanes];  // of elements fewer than lanes
        std::uint32_t rest_of_random[lanes];
        const bool whole = now == lanes;
        const std::uint32_t* random = plan.random != nullptr ? plan.random + i : nullptr;
        if (!whole) {
            __builtin_memset(rest, 0, sizeof rest);
            __builtin_memcpy(rest, from + 4 * i, 4 * now);
            if (random != nullptr) {
                __builtin_memset(rest_of_random, 0, sizeof rest_of_random);
                __builtin_memcpy(rest_of_random, random, 4 * now);
                random = rest_of_random;
            }
        }
        unsigned left =
            evaluate_lanes<Vec, Function>(plan, whole ? from + 4 * i : rest, whole ? to + 4 * i : rest, random);
        for (left &= (1U << now) - 1; left != 0; left &= left - 1) {
            undecided[found++] = static_cast<std::uint16_t>(i + static_cast<unsigned>(__builtin_ctz(left)));
        }
        if (!whole) __builtin_memcpy(to + 4 * i, rest, 4 * now);
    }
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
