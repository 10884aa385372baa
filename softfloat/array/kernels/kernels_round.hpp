// Rounding fp32 words to a format's grid, written once for every number of lanes. See plan.hpp for the idea.
//
// Included by kernels_*.cpp only, each compiled for its own instructions: everything is in an unnamed namespace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "softfloat/array/kernels/kernel_table.hpp"
#include "softfloat/array/plan.hpp"
#include "softfloat/context.hpp"

namespace ulp::array {
namespace {

/// The words that lanes of `Vec` carry, fp32's or fp64's.
template <class Vec>
using PlanOf = BasicRoundingPlan<typename Vec::Word>;
template <class Vec>
constexpr typename Vec::Word word_bits = 8 * sizeof(typename Vec::Word);
template <class Vec>
constexpr typename Vec::Word fraction_bits = word_bits<Vec> == 64 ? 52 : 23;
template <class Vec>
constexpr typename Vec::Word hidden_bit = typename Vec::Word{1} << fraction_bits<Vec>;
template <class Vec>
constexpr typename Vec::Word fraction_mask = hidden_bit<Vec> - 1;
template <class Vec>
constexpr typename Vec::Word sign_bit = typename Vec::Word{1} << (word_bits<Vec> - 1);
template <class Vec>
constexpr typename Vec::Word infinity_word = sign_bit<Vec> - hidden_bit<Vec>;

/// The bits that are dropped from each lane: `cut` of them.
template <class Vec>
struct Cut {
    typename Vec::Int cut;
    typename Vec::Int dropped;  // mask
};
template <class Vec, KernelRange range>
Cut<Vec> cut_of(const PlanOf<Vec>& plan, typename Vec::Int magnitude) {
    auto cut = Vec::set(plan.cut);
    if constexpr (range == wide) return {cut, Vec::set((typename Vec::Word{1} << plan.cut) - 1)};
    const auto field = Vec::shift_right(magnitude, Vec::set(fraction_bits<Vec>));
    cut = Vec::max(cut, Vec::sub(Vec::set(plan.cut_at_zero), field));
    return {cut, Vec::sub(Vec::shift_left(Vec::set(1), cut), Vec::set(1))};
}

/// The exponent's lowest bit replaced by the hidden bit, where that is the last kept one.
template <class Vec, KernelRange range>
typename Vec::Int with_hidden(const PlanOf<Vec>& plan, typename Vec::Int magnitude) {
    if constexpr (range == wide) return magnitude;
    return Vec::bit_xor(magnitude, Vec::set(plan.hidden_parity));
}

/// All ones where a directed rounding increases the magnitude.
template <class Vec>
typename Vec::Int away_of(const PlanOf<Vec>& plan, typename Vec::Int x) {
    return Vec::bit_xor(Vec::all_sign(x), Vec::set(plan.up));
}

/// The same for stochastic rounding: as many of the random number's upper bits are added to the dropped ones.
template <class Vec, KernelRange range>
typename Vec::Int round_magnitude_stochastic(const PlanOf<Vec>& plan, typename Vec::Int a, typename Vec::Int random) {
    const auto unused = Vec::set(word_bits<Vec> - plan.cut);  // bits of the random number
    if constexpr (range == wide) {
        const auto sum = Vec::add(a, Vec::shift_right(random, unused));
        return Vec::and_not(sum, Vec::set((typename Vec::Word{1} << plan.cut) - 1));
    }
    const auto field = Vec::shift_right(a, Vec::set(fraction_bits<Vec>));
    const auto below = Vec::min(unused, Vec::add(field, Vec::set(word_bits<Vec> - plan.cut_at_zero)));
    const auto cut = Vec::sub(Vec::set(word_bits<Vec>), below);
    const auto sum = Vec::add(a, Vec::shift_right(random, below));
    return Vec::shift_left(Vec::shift_right(sum, cut), cut);
}

/// Rounds magnitudes at or above the smallest number of the format; the exponent is not bounded.
template <class Vec, Rounding rounding, KernelRange range>
typename Vec::Int round_magnitude(const PlanOf<Vec>& plan, typename Vec::Int x, typename Vec::Int a,
                                  typename Vec::Int random) {
    if constexpr (rounding == Rounding::stochastic) return round_magnitude_stochastic<Vec, range>(plan, a, random);
    const auto [cut, dropped] = cut_of<Vec, range>(plan, a);
    const auto one = Vec::set(1);
    if constexpr (rounding == Rounding::toward_zero) return Vec::and_not(a, dropped);
    if constexpr (rounding == Rounding::odd) {
        const auto exact = Vec::equal(Vec::bit_and(a, dropped), Vec::set(0));
        const auto last = Vec::select(exact, Vec::set(0), Vec::add(dropped, one));
        const auto kept = Vec::and_not(with_hidden<Vec, range>(plan, a), dropped);
        return with_hidden<Vec, range>(plan, Vec::bit_or(kept, last));
    }
    auto increment = dropped;
    if constexpr (rounding == Rounding::nearest_even) {
        const auto last = Vec::bit_and(Vec::shift_right(with_hidden<Vec, range>(plan, a), cut), one);
        increment = Vec::add(Vec::shift_right(dropped, one), last);
    } else if constexpr (rounding == Rounding::nearest_away) {
        increment = Vec::shift_right(Vec::add(dropped, one), one);
    } else {
        increment = Vec::bit_and(dropped, away_of<Vec>(plan, x));
    }
    return Vec::and_not(Vec::add(a, increment), dropped);
}

/// The dropped bits of a magnitude below the smallest number, which are all of its significand, the first one at the
/// top. What falls off below is below the random number.
template <class Vec>
typename Vec::Int dropped_of_tiny(const PlanOf<Vec>& plan, typename Vec::Int a) {
    if constexpr (Vec::has_integer_part) return Vec::integer_part(a, Vec::set(plan.tiny_exponent));
    const auto hidden = Vec::set(hidden_bit<Vec>);
    const auto normal = Vec::greater(a, Vec::set(fraction_mask<Vec>));
    const auto fraction = Vec::bit_and(a, Vec::set(fraction_mask<Vec>));
    const auto significand = Vec::bit_or(fraction, Vec::where(normal, hidden));
    const auto field = Vec::max(Vec::shift_right(a, Vec::set(fraction_bits<Vec>)), Vec::set(1));
    const auto cut = Vec::sub(Vec::set(plan.cut_at_zero), field);
    return Vec::bit_or(Vec::shift_left(significand, Vec::sub(Vec::set(word_bits<Vec>), cut)),
                       Vec::shift_right(significand, Vec::sub(cut, Vec::set(word_bits<Vec>))));
}

/// Whether the random number carries out of the dropped bits of a magnitude below the smallest number.
template <class Vec>
typename Vec::Int tiny_stochastic(const PlanOf<Vec>& plan, typename Vec::Int a, typename Vec::Int random) {
    const auto rest = dropped_of_tiny<Vec>(plan, a);
    const auto carries = Vec::greater_unsigned(random, Vec::bit_xor(rest, Vec::set(~typename Vec::Word{0})));
    return Vec::where(carries, Vec::set(plan.smallest));
}

/// Magnitudes below the smallest number become that or zero.
template <class Vec, Rounding rounding>
typename Vec::Int round_tiny(const PlanOf<Vec>& plan, typename Vec::Int x, typename Vec::Int a,
                             typename Vec::Int random) {
    if constexpr (rounding == Rounding::toward_zero) return Vec::set(0);
    if constexpr (rounding == Rounding::stochastic) return tiny_stochastic<Vec>(plan, a, random);
    auto smallest = Vec::set(plan.smallest);
    if constexpr (rounding == Rounding::up) smallest = Vec::bit_and(smallest, away_of<Vec>(plan, x));
    return Vec::where(Vec::greater(a, Vec::set(plan.tiny_half)), smallest);
}

/// What magnitudes above the largest number become.
template <class Vec, Rounding rounding>
typename Vec::Int overflow_of(const PlanOf<Vec>& plan, typename Vec::Int x) {
    if constexpr (rounding == Rounding::toward_zero || rounding == Rounding::odd) {
        return Vec::set(plan.overflow_toward);
    }
    if constexpr (rounding == Rounding::up) {
        const auto either_way =
            Vec::bit_and(away_of<Vec>(plan, x), Vec::set(plan.overflow_away ^ plan.overflow_toward));
        return Vec::bit_xor(either_way, Vec::set(plan.overflow_toward));
    }
    return Vec::set(plan.overflow_away);
}

/// r, or zero where the magnitude a is tiny: see plan_flushing in make_plan.cpp.
template <class Vec, Rounding rounding>
typename Vec::Int flush_tiny(const PlanOf<Vec>& plan, typename Vec::Int x, typename Vec::Int a,
                             typename Vec::Int random, typename Vec::Int r) {
    auto threshold = Vec::set(plan.zero_below);
    if constexpr (rounding == Rounding::up) {
        const auto difference = Vec::set(plan.zero_below ^ plan.zero_below_away);
        threshold = Vec::bit_xor(threshold, Vec::bit_and(away_of<Vec>(plan, x), difference));
    }
    if constexpr (rounding == Rounding::stochastic)
        a = Vec::add(a, Vec::shift_right(random, Vec::set(plan.flush_shift)));
    return Vec::select(Vec::greater(threshold, a), Vec::set(0), r);
}

/// A word rounded to the grid. `random`: for stochastic rounding, its upper bits. The NaN that a format without
/// infinity makes of an overflow has the sign of the value in codes, and none in fp32 words.
template <class Vec, Rounding rounding, KernelRange range, bool to_code>
typename Vec::Int round_word(const PlanOf<Vec>& plan, typename Vec::Int x, typename Vec::Int random) {
    auto sign = Vec::bit_and(x, Vec::set(sign_bit<Vec>));
    const auto a = Vec::bit_xor(x, sign);
    const auto infinity = Vec::set(infinity_word<Vec>);
    auto r = round_magnitude<Vec, rounding, range>(plan, x, a, random);
    if constexpr (range != wide) {
        const auto tiny = Vec::greater(Vec::set(plan.smallest), a);
        r = Vec::select(tiny, round_tiny<Vec, rounding>(plan, x, a, random), r);
    }
    r = Vec::select(Vec::greater(r, Vec::set(plan.largest)), overflow_of<Vec, rounding>(plan, x), r);
    constexpr bool overflows_to_infinity =
        rounding == Rounding::nearest_even || rounding == Rounding::nearest_away || rounding == Rounding::stochastic;
    if constexpr (!overflows_to_infinity) r = Vec::select(Vec::equal(a, infinity), Vec::set(plan.infinity), r);
    if (plan.zero_below != 0) r = flush_tiny<Vec, rounding>(plan, x, a, random, r);
    if constexpr (range == no_negative_zero) {
        sign = Vec::select(Vec::equal(r, Vec::set(0)), Vec::set(0), sign);
    }
    const auto nan = Vec::greater(to_code ? a : Vec::max(a, r), infinity);
    return Vec::select(nan, Vec::set(plan.nan), Vec::bit_or(r, sign));
}

/// The storage word of an fp32 word on the format's grid.
template <class Vec, KernelRange range>
typename Vec::Int encode_word(const PlanOf<Vec>& plan, typename Vec::Int x) {
    const auto sign = Vec::bit_and(x, Vec::set(sign_bit<Vec>));
    const auto a = Vec::bit_xor(x, sign);
    const auto sign_bit = Vec::shift_right(sign, Vec::set(plan.code_sign_shift));
    const auto shift = Vec::set(plan.cut);
    if constexpr (range == wide) return Vec::bit_or(Vec::shift_right(a, shift), sign_bit);
    const auto normal = Vec::shift_right(Vec::sub(a, Vec::set(plan.code_rebias)), shift);
    const auto field = Vec::shift_right(a, Vec::set(fraction_bits<Vec>));
    const auto fraction = Vec::bit_and(a, Vec::set(fraction_mask<Vec>));
    const auto subnormal =
        Vec::shift_right(Vec::bit_or(fraction, Vec::set(hidden_bit<Vec>)), Vec::sub(Vec::set(plan.cut_at_zero), field));
    const auto infinity = Vec::set(infinity_word<Vec>);
    auto code = Vec::select(Vec::greater(Vec::set(plan.code_smallest_normal), a), subnormal, normal);
    code = Vec::select(Vec::equal(a, infinity), Vec::set(plan.code_infinity), code);
    code = Vec::select(Vec::greater(a, infinity), Vec::set(plan.code_nan), code);
    return Vec::bit_or(code, sign_bit);
}

/// Where rounded words go: to words of the container, or to storage words of that many bytes.
template <class Vec, KernelRange>
struct ToContainer {
    static constexpr std::size_t size = sizeof(typename Vec::Word);
    static constexpr bool is_code = false;
    static void put(const PlanOf<Vec>&, void* out, typename Vec::Int x) { Vec::store(out, x); }
};
template <class Vec, KernelRange range>
struct To32 {
    static constexpr std::size_t size = 4;
    static constexpr bool is_code = true;
    static void put(const PlanOf<Vec>& plan, void* out, typename Vec::Int x) {
        Vec::store32(out, Vec::shift_left(encode_word<Vec, range>(plan, x), Vec::set(plan.code_padding)));
    }
};
template <class Vec, KernelRange range>
struct To16 {
    static constexpr std::size_t size = 2;
    static constexpr bool is_code = true;
    static void put(const PlanOf<Vec>& plan, void* out, typename Vec::Int x) {
        Vec::store16(out, encode_word<Vec, range>(plan, x));
    }
};
template <class Vec, KernelRange range>
struct To8 {
    static constexpr std::size_t size = 1;
    static constexpr bool is_code = true;
    static void put(const PlanOf<Vec>& plan, void* out, typename Vec::Int x) {
        Vec::store8(out, encode_word<Vec, range>(plan, x));
    }
};

inline void copy_bytes(void* to, const void* from, std::size_t count) { __builtin_memcpy(to, from, count); }

/// Asks for the cache lines of a later turn. Where memory is the limit this is worth a third of the time: the processor
/// looks ahead by itself, but not far enough past that many instructions.
template <class Vec>
void fetch_ahead(const unsigned char* p) {
    // An address beyond the array is no pointer, but may be asked for.
    if constexpr (Vec::lanes > 1) {
        __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(p) + 2048));
    }
}

template <class Vec, Rounding rounding, KernelRange range, template <class, KernelRange> class To>
void round_deterministic(const PlanOf<Vec>& shared_plan, const void* in, void* out, std::size_t count) {
    using Sink = To<Vec, range>;
    const PlanOf<Vec> plan = shared_plan;  // a copy that no store can alias
    const auto* from = static_cast<const unsigned char*>(in);
    auto* to = static_cast<unsigned char*>(out);
    constexpr std::size_t step = Vec::lanes;
    constexpr std::size_t bytes = sizeof(typename Vec::Word);
    const auto unused = Vec::set(0);
    for (; count >= step; count -= step, from += bytes * step, to += Sink::size * step) {
        fetch_ahead<Vec>(from);
        fetch_ahead<Vec>(to);
        Sink::put(plan, to, round_word<Vec, rounding, range, Sink::is_code>(plan, Vec::load(from), unused));
    }
    if (count == 0) return;
    unsigned char buffer[bytes * step] = {};
    copy_bytes(buffer, from, bytes * count);
    Sink::put(plan, buffer, round_word<Vec, rounding, range, Sink::is_code>(plan, Vec::load(buffer), unused));
    copy_bytes(to, buffer, Sink::size * count);
}

}  // namespace
}  // namespace ulp::array
