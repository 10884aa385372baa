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

constexpr std::uint32_t fp32_sign = 0x80000000;
constexpr std::uint32_t fp32_infinity = 0x7F800000;
constexpr std::uint32_t fp32_hidden = 0x00800000;

/// The bits that are dropped from each lane: `cut` of them.
template <class Lanes>
struct Cut {
    typename Lanes::Word cut;
    typename Lanes::Word dropped;  // mask
};
template <class Lanes, Shape shape>
Cut<Lanes> cut_of(const RoundingPlan& plan, typename Lanes::Word magnitude) {
    auto cut = Lanes::set(plan.cut);
    if constexpr (shape == wide) return {cut, Lanes::set((std::uint32_t{1} << plan.cut) - 1)};
    const auto field = Lanes::shift_right(magnitude, Lanes::set(23));
    cut = Lanes::max_signed(cut, Lanes::subtract(Lanes::set(plan.cut_at_zero), field));
    return {cut, Lanes::subtract(Lanes::shift_left(Lanes::set(1), cut), Lanes::set(1))};
}

/// The exponent's lowest bit replaced by the hidden bit, where that is the last kept one.
template <class Lanes, Shape shape>
typename Lanes::Word with_hidden(const RoundingPlan& plan, typename Lanes::Word magnitude) {
    if constexpr (shape == wide) return magnitude;
    return Lanes::differ(magnitude, Lanes::set(plan.hidden_parity));
}

/// All ones where a directed rounding increases the magnitude.
template <class Lanes>
typename Lanes::Word away_of(const RoundingPlan& plan, typename Lanes::Word x) {
    return Lanes::differ(Lanes::all_sign(x), Lanes::set(plan.up));
}

/// The same for stochastic rounding: as many of the random number's upper bits are added to the dropped ones.
template <class Lanes, Shape shape>
typename Lanes::Word round_magnitude_stochastic(const RoundingPlan& plan, typename Lanes::Word a,
                                                typename Lanes::Word random) {
    const auto unused = Lanes::set(32 - plan.cut);  // bits of the random number
    if constexpr (shape == wide) {
        const auto sum = Lanes::add(a, Lanes::shift_right(random, unused));
        return Lanes::without(sum, Lanes::set((std::uint32_t{1} << plan.cut) - 1));
    }
    const auto field = Lanes::shift_right(a, Lanes::set(23));
    const auto below = Lanes::min_signed(unused, Lanes::add(field, Lanes::set(32 - plan.cut_at_zero)));
    const auto cut = Lanes::subtract(Lanes::set(32), below);
    const auto sum = Lanes::add(a, Lanes::shift_right(random, below));
    return Lanes::shift_left(Lanes::shift_right(sum, cut), cut);
}

/// Rounds magnitudes at or above the smallest number of the format; the exponent is not bounded.
template <class Lanes, Rounding rounding, Shape shape>
typename Lanes::Word round_magnitude(const RoundingPlan& plan, typename Lanes::Word x, typename Lanes::Word a,
                                     typename Lanes::Word random) {
    if constexpr (rounding == Rounding::stochastic) return round_magnitude_stochastic<Lanes, shape>(plan, a, random);
    const auto [cut, dropped] = cut_of<Lanes, shape>(plan, a);
    const auto one = Lanes::set(1);
    if constexpr (rounding == Rounding::toward_zero) return Lanes::without(a, dropped);
    if constexpr (rounding == Rounding::odd) {
        const auto exact = Lanes::equal(Lanes::both(a, dropped), Lanes::set(0));
        const auto last = Lanes::select(exact, Lanes::set(0), Lanes::add(dropped, one));
        const auto kept = Lanes::without(with_hidden<Lanes, shape>(plan, a), dropped);
        return with_hidden<Lanes, shape>(plan, Lanes::either(kept, last));
    }
    auto increment = dropped;
    if constexpr (rounding == Rounding::nearest_even) {
        const auto last = Lanes::both(Lanes::shift_right(with_hidden<Lanes, shape>(plan, a), cut), one);
        increment = Lanes::add(Lanes::shift_right(dropped, one), last);
    } else if constexpr (rounding == Rounding::nearest_away) {
        increment = Lanes::shift_right(Lanes::add(dropped, one), one);
    } else {
        increment = Lanes::both(dropped, away_of<Lanes>(plan, x));
    }
    return Lanes::without(Lanes::add(a, increment), dropped);
}

/// The dropped bits of a magnitude below the smallest number, which are all of its significand, the first one at the
/// top. What falls off below is below the random number.
template <class Lanes>
typename Lanes::Word dropped_of_tiny(const RoundingPlan& plan, typename Lanes::Word a) {
    if constexpr (Lanes::has_integer_part) return Lanes::integer_part(a, Lanes::set(plan.tiny_exponent));
    const auto hidden = Lanes::set(fp32_hidden);
    const auto normal = Lanes::greater_signed(a, Lanes::set(fp32_hidden - 1));
    const auto fraction = Lanes::both(a, Lanes::set(fp32_hidden - 1));
    const auto significand = Lanes::either(fraction, Lanes::where(normal, hidden));
    const auto field = Lanes::max_signed(Lanes::shift_right(a, Lanes::set(23)), Lanes::set(1));
    const auto cut = Lanes::subtract(Lanes::set(plan.cut_at_zero), field);
    return Lanes::either(Lanes::shift_left(significand, Lanes::subtract(Lanes::set(32), cut)),
                         Lanes::shift_right(significand, Lanes::subtract(cut, Lanes::set(32))));
}

/// Whether the random number carries out of the dropped bits of a magnitude below the smallest number.
template <class Lanes>
typename Lanes::Word tiny_stochastic(const RoundingPlan& plan, typename Lanes::Word a, typename Lanes::Word random) {
    const auto rest = dropped_of_tiny<Lanes>(plan, a);
    const auto carries = Lanes::greater_unsigned(random, Lanes::differ(rest, Lanes::set(0xFFFFFFFF)));
    return Lanes::where(carries, Lanes::set(plan.smallest));
}

/// Magnitudes below the smallest number become that or zero.
template <class Lanes, Rounding rounding>
typename Lanes::Word round_tiny(const RoundingPlan& plan, typename Lanes::Word x, typename Lanes::Word a,
                                typename Lanes::Word random) {
    if constexpr (rounding == Rounding::toward_zero) return Lanes::set(0);
    if constexpr (rounding == Rounding::stochastic) return tiny_stochastic<Lanes>(plan, a, random);
    auto smallest = Lanes::set(plan.smallest);
    if constexpr (rounding == Rounding::up) smallest = Lanes::both(smallest, away_of<Lanes>(plan, x));
    return Lanes::where(Lanes::greater_signed(a, Lanes::set(plan.tiny_half)), smallest);
}

/// What magnitudes above the largest number become.
template <class Lanes, Rounding rounding>
typename Lanes::Word overflow_of(const RoundingPlan& plan, typename Lanes::Word x) {
    if constexpr (rounding == Rounding::toward_zero || rounding == Rounding::odd) {
        return Lanes::set(plan.overflow_toward);
    }
    if constexpr (rounding == Rounding::up) {
        const auto either_way =
            Lanes::both(away_of<Lanes>(plan, x), Lanes::set(plan.overflow_away ^ plan.overflow_toward));
        return Lanes::differ(either_way, Lanes::set(plan.overflow_toward));
    }
    return Lanes::set(plan.overflow_away);
}

/// An fp32 word rounded to the grid. `random`: for stochastic rounding, its upper bits. The NaN that a format without
/// infinity makes of an overflow has the sign of the value in codes, and none in fp32 words.
template <class Lanes, Rounding rounding, Shape shape, bool to_code>
typename Lanes::Word round_word(const RoundingPlan& plan, typename Lanes::Word x, typename Lanes::Word random) {
    auto sign = Lanes::both(x, Lanes::set(fp32_sign));
    const auto a = Lanes::differ(x, sign);
    const auto infinity = Lanes::set(fp32_infinity);
    auto r = round_magnitude<Lanes, rounding, shape>(plan, x, a, random);
    if constexpr (shape != wide) {
        const auto tiny = Lanes::greater_signed(Lanes::set(plan.smallest), a);
        r = Lanes::select(tiny, round_tiny<Lanes, rounding>(plan, x, a, random), r);
    }
    r = Lanes::select(Lanes::greater_signed(r, Lanes::set(plan.largest)), overflow_of<Lanes, rounding>(plan, x), r);
    constexpr bool overflows_to_infinity =
        rounding == Rounding::nearest_even || rounding == Rounding::nearest_away || rounding == Rounding::stochastic;
    if constexpr (!overflows_to_infinity) r = Lanes::select(Lanes::equal(a, infinity), Lanes::set(plan.infinity), r);
    if (plan.zero_below != 0)
        r = Lanes::select(Lanes::greater_signed(Lanes::set(plan.zero_below), a), Lanes::set(0), r);
    if constexpr (shape == no_negative_zero) {
        sign = Lanes::select(Lanes::equal(r, Lanes::set(0)), Lanes::set(0), sign);
    }
    const auto nan = Lanes::greater_signed(to_code ? a : Lanes::max_signed(a, r), infinity);
    return Lanes::select(nan, Lanes::set(plan.nan), Lanes::either(r, sign));
}

/// The storage word of an fp32 word on the format's grid.
template <class Lanes, Shape shape>
typename Lanes::Word encode_word(const RoundingPlan& plan, typename Lanes::Word x) {
    const auto sign = Lanes::both(x, Lanes::set(fp32_sign));
    const auto a = Lanes::differ(x, sign);
    const auto sign_bit = Lanes::shift_right(sign, Lanes::set(plan.code_sign_shift));
    const auto shift = Lanes::set(plan.cut);
    if constexpr (shape == wide) return Lanes::either(Lanes::shift_right(a, shift), sign_bit);
    const auto normal = Lanes::shift_right(Lanes::subtract(a, Lanes::set(plan.code_rebias)), shift);
    const auto field = Lanes::shift_right(a, Lanes::set(23));
    const auto fraction = Lanes::both(a, Lanes::set(fp32_hidden - 1));
    const auto subnormal = Lanes::shift_right(Lanes::either(fraction, Lanes::set(fp32_hidden)),
                                              Lanes::subtract(Lanes::set(plan.cut_at_zero), field));
    const auto infinity = Lanes::set(fp32_infinity);
    auto code = Lanes::select(Lanes::greater_signed(Lanes::set(plan.code_smallest_normal), a), subnormal, normal);
    code = Lanes::select(Lanes::equal(a, infinity), Lanes::set(plan.code_infinity), code);
    code = Lanes::select(Lanes::greater_signed(a, infinity), Lanes::set(plan.code_nan), code);
    return Lanes::either(code, sign_bit);
}

/// Where rounded words go.
template <class Lanes, Shape>
struct ToFp32 {
    static constexpr std::size_t size = 4;
    static constexpr bool is_code = false;
    static void put(const RoundingPlan&, void* out, typename Lanes::Word x) { Lanes::store(out, x); }
};
template <class Lanes, Shape shape>
struct To16 {
    static constexpr std::size_t size = 2;
    static constexpr bool is_code = true;
    static void put(const RoundingPlan& plan, void* out, typename Lanes::Word x) {
        Lanes::store16(out, encode_word<Lanes, shape>(plan, x));
    }
};
template <class Lanes, Shape shape>
struct To8 {
    static constexpr std::size_t size = 1;
    static constexpr bool is_code = true;
    static void put(const RoundingPlan& plan, void* out, typename Lanes::Word x) {
        Lanes::store8(out, encode_word<Lanes, shape>(plan, x));
    }
};

inline void copy_bytes(void* to, const void* from, std::size_t count) { __builtin_memcpy(to, from, count); }

/// Asks for the cache lines of a later turn. Where memory is the limit this is worth a third of the time: the processor
/// looks ahead by itself, but not far enough past so many instructions.
template <class Lanes>
void fetch_ahead(const unsigned char* p) {
    // An address beyond the array is no pointer, but may be asked for.
    if constexpr (Lanes::width > 1) {
        __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(p) + 2048));
    }
}

template <class Lanes, Rounding rounding, Shape shape, template <class, Shape> class To>
void round_deterministic(const RoundingPlan& shared_plan, const void* in, void* out, std::size_t count) {
    using Sink = To<Lanes, shape>;
    const RoundingPlan plan = shared_plan;  // a copy that no store can alias
    const auto* from = static_cast<const unsigned char*>(in);
    auto* to = static_cast<unsigned char*>(out);
    constexpr std::size_t step = Lanes::width;
    const auto unused = Lanes::set(0);
    for (; count >= step; count -= step, from += 4 * step, to += Sink::size * step) {
        fetch_ahead<Lanes>(from);
        fetch_ahead<Lanes>(to);
        Sink::put(plan, to, round_word<Lanes, rounding, shape, Sink::is_code>(plan, Lanes::load(from), unused));
    }
    if (count == 0) return;
    unsigned char buffer[4 * step] = {};
    copy_bytes(buffer, from, 4 * count);
    Sink::put(plan, buffer, round_word<Lanes, rounding, shape, Sink::is_code>(plan, Lanes::load(buffer), unused));
    copy_bytes(to, buffer, Sink::size * count);
}

}  // namespace
}  // namespace ulp::array
