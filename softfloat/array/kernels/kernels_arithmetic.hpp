// Arithmetic on fp32 words, rounded to odd: exact, or the neighbour with an odd last bit. A number rounded to odd can
// be rounded again, in any rounding, to a format with at least two bits less, as if it were exact (Boldo and Melquiond,
// "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE ToC 57, 2008).
//
//   by single   operands with at most 11 digits and exponents so small that nothing overflows or underflows in fp32:
//               products are exact, sums are rounded to odd, and no quotient or root of such operands comes so near to
//               a number of 12 digits that fp32's rounding could hide on which side it lies (24 >= 2 * 11 + 2:
//               Figueroa, "When is double rounding innocuous?", SIGNUM 30, 1995).
//   by double   any fp32 operands, in the same way in fp64 (53 >= 2 * 24 + 2), then rounded to odd in fp32.
//
// See kernels_round.hpp for how this file is compiled.
#pragma once

#include "softfloat/array/kernels/kernels_convert.hpp"

namespace ulp::array {
namespace {

/// In fp32. op_subtract is op_add of -b.
template <class Vec, Operation op>
typename Vec::Float operate_to_odd(typename Vec::Float a, typename Vec::Float b, typename Vec::Float c) {
    if constexpr (op == op_add) return Vec::add_to_odd(a, b);
    if constexpr (op == op_multiply) return Vec::mul(a, b);
    if constexpr (op == op_divide) return Vec::div(a, b);
    if constexpr (op == op_sqrt) return Vec::sqrt(a);
    if constexpr (op == op_fma) return Vec::fma_to_odd(a, b, c);
}
/// In fp64. With `all_digits`, quotients and roots are rounded to odd in fp64 too, for a stochastic rounding.
template <class Vec, Operation op, bool all_digits>
typename Vec::Double operate_to_odd(typename Vec::Double a, typename Vec::Double b, typename Vec::Double c) {
    if constexpr (op == op_add) return Vec::add_to_odd(a, b);
    if constexpr (op == op_multiply) return Vec::mul(a, b);
    if constexpr (op == op_divide) return all_digits ? Vec::div_to_odd(a, b) : Vec::div(a, b);
    if constexpr (op == op_sqrt) return all_digits ? Vec::sqrt_to_odd(a) : Vec::sqrt(a);
    if constexpr (op == op_fma) return Vec::fma_to_odd(a, b, c);
}

/// A sum of x and -x is +0 here; where the rounding is down it must be -0, but for +0 and +0.
template <class Vec>
typename Vec::Int with_zero_sign(const RoundingPlan& plan, typename Vec::Int sum, typename Vec::Int a,
                                 typename Vec::Int b) {
    const auto zero = Vec::equal(Vec::bit_and(sum, Vec::set(~sign_bit<Vec>)), Vec::set(0));
    const auto sign = Vec::bit_and(Vec::bit_or(a, b), Vec::set(plan.zero_sum_sign));
    return Vec::bit_or(sum, Vec::where(zero, sign));
}
template <class Vec, Operation op>
typename Vec::Int with_sum_sign(const RoundingPlan& plan, typename Vec::Int result, typename Vec::Int a,
                                typename Vec::Int b, typename Vec::Int c) {
    if constexpr (op == op_add) return with_zero_sign<Vec>(plan, result, a, b);
    if constexpr (op == op_fma) return with_zero_sign<Vec>(plan, result, Vec::bit_xor(a, b), c);
    return result;
}

template <class Vec, Operation op>
typename Vec::Int by_single(typename Vec::Int a, typename Vec::Int b, typename Vec::Int c) {
    return Vec::as_int(operate_to_odd<Vec, op>(Vec::as_float(a), Vec::as_float(b), Vec::as_float(c)));
}
template <class Vec>
struct Doubles {
    typename Vec::Double low, high;
};
template <class Vec, Operation op, bool all_digits>
Doubles<Vec> in_double(typename Vec::Int a, typename Vec::Int b, typename Vec::Int c) {
    return {operate_to_odd<Vec, op, all_digits>(Vec::widen_low(a), Vec::widen_low(b), Vec::widen_low(c)),
            operate_to_odd<Vec, op, all_digits>(Vec::widen_high(a), Vec::widen_high(b), Vec::widen_high(c))};
}
template <class Vec, Operation op>
typename Vec::Int by_double(typename Vec::Int a, typename Vec::Int b, typename Vec::Int c) {
    if constexpr (op == op_add && Vec::adds_to_odd_everywhere) return by_single<Vec, op>(a, b, c);
    const auto [low, high] = in_double<Vec, op, false>(a, b, c);
    return Vec::narrow_odd(low, high);
}
/// The processor's own operation and rounding.
template <class Vec, Operation op>
typename Vec::Int by_processor(typename Vec::Int a, typename Vec::Int b, typename Vec::Int c) {
    const auto x = Vec::as_float(a);
    const auto y = Vec::as_float(b);
    if constexpr (op == op_add) return Vec::as_int(Vec::add(x, y));
    if constexpr (op == op_multiply) return Vec::as_int(Vec::mul(x, y));
    if constexpr (op == op_divide) return Vec::as_int(Vec::div(x, y));
    if constexpr (op == op_sqrt) return Vec::as_int(Vec::sqrt(x));
    if constexpr (op == op_fma) return Vec::as_int(Vec::fma(x, y, Vec::as_float(c)));
}

/// A kind of kernel: what elements look like in memory, and the operation on fp32 words.
template <class Vec>
struct OddBySingle {
    static constexpr std::size_t size = 4;
    static constexpr std::size_t out_size = 4;
    static typename Vec::Int load(const RoundingPlan&, const void* p) { return Vec::load(p); }
    template <Operation op>
    static typename Vec::Int compute(const RoundingPlan& plan, typename Vec::Int a, typename Vec::Int b,
                                     typename Vec::Int c) {
        return with_sum_sign<Vec, op>(plan, by_single<Vec, op>(a, b, c), a, b, c);
    }
    static void store(const RoundingPlan&, void* p, typename Vec::Int x) { Vec::store(p, x); }
};
template <class Vec>
struct OddByDouble : OddBySingle<Vec> {
    template <Operation op>
    static typename Vec::Int compute(const RoundingPlan& plan, typename Vec::Int a, typename Vec::Int b,
                                     typename Vec::Int c) {
        return with_sum_sign<Vec, op>(plan, by_double<Vec, op>(a, b, c), a, b, c);
    }
};
/// fp32 operands, results in fp64 and to odd there. A sum that is zero gets its sign as fp32 words do.
template <class Vec>
struct OddInDouble : OddBySingle<Vec> {
    static constexpr std::size_t out_size = 8;
    template <Operation op>
    static Doubles<Vec> compute(const RoundingPlan& plan, typename Vec::Int a, typename Vec::Int b,
                                typename Vec::Int c) {
        const auto [low, high] = in_double<Vec, op, true>(a, b, c);
        if constexpr (op != op_add && op != op_fma) return {low, high};
        const auto x = op == op_add ? a : Vec::bit_xor(a, b);
        const auto sign = Vec::bit_and(Vec::bit_or(x, op == op_add ? b : c), Vec::set(plan.zero_sum_sign));
        return {Vec::or_sign_of_zero(low, Vec::widen_low(sign)), Vec::or_sign_of_zero(high, Vec::widen_high(sign))};
    }
    static void store(const RoundingPlan&, void* p, const Doubles<Vec>& x) {
        Vec::store(p, x.low);
        Vec::store(static_cast<unsigned char*>(p) + 4 * Vec::lanes, x.high);
    }
};
template <class Vec>
struct InSingle : OddBySingle<Vec> {
    template <Operation op>
    static typename Vec::Int compute(const RoundingPlan&, typename Vec::Int a, typename Vec::Int b,
                                     typename Vec::Int c) {
        return Vec::canonical_nan(by_processor<Vec, op>(a, b, c));
    }
};
/// fp16 to nearest even: the processor's conversions, and only an fma needs the way round odd.
template <class Vec>
struct HalfNearest {
    static constexpr std::size_t size = 2;
    static constexpr std::size_t out_size = 2;
    static typename Vec::Int load(const RoundingPlan&, const void* p) { return Vec::load_half(p); }
    template <Operation op>
    static typename Vec::Int compute(const RoundingPlan&, typename Vec::Int a, typename Vec::Int b,
                                     typename Vec::Int c) {
        if constexpr (op == op_fma) return by_single<Vec, op>(a, b, c);
        return by_processor<Vec, op>(a, b, c);
    }
    static void store(const RoundingPlan&, void* p, typename Vec::Int x) { Vec::store_half(p, Vec::canonical_nan(x)); }
};
/// x, flushed and saturated as the plan says, before the processor rounds it to fp16. A number that is not a tiny one
/// by its fp32 word is none: products and sums near the smallest normal number are exact there, and no quotient or root
/// of numbers with 11 digits comes as near to one with 13.
template <class Vec, Rounding rounding>
typename Vec::Int limit_half(const RoundingPlan& plan, typename Vec::Int x) {
    const auto sign = Vec::bit_and(x, Vec::set(sign_bit<Vec>));
    const auto a = Vec::bit_xor(x, sign);
    auto r = a;
    constexpr bool directed = rounding == Rounding::up || rounding == Rounding::down;
    constexpr Rounding kind = directed ? Rounding::up : Rounding::nearest_even;
    if (plan.zero_below != 0) r = flush_tiny<Vec, kind>(plan, x, a, a, r);
    if (plan.overflow_away == plan.largest) r = Vec::min(r, Vec::set(plan.largest));
    const auto nan = Vec::greater(a, Vec::set(infinity_word<Vec>));
    return Vec::select(nan, x, Vec::bit_or(r, sign));
}

/// fp16 in any rounding but stochastic, with any options.
template <class Vec, Rounding rounding>
struct HalfRounded {
    static constexpr std::size_t size = 2;
    static constexpr std::size_t out_size = 2;
    static typename Vec::Int load(const RoundingPlan& plan, const void* p) {
        const auto x = Vec::load_half(p);
        return plan.operand_below == 0 ? x : flush_operand<Vec>(plan, x);
    }
    template <Operation op>
    static typename Vec::Int compute(const RoundingPlan& plan, typename Vec::Int a, typename Vec::Int b,
                                     typename Vec::Int c) {
        if constexpr (rounding == Rounding::nearest_even && op != op_fma) return by_processor<Vec, op>(a, b, c);
        return with_sum_sign<Vec, op>(plan, by_single<Vec, op>(a, b, c), a, b, c);
    }
    static void store(const RoundingPlan& plan, void* p, typename Vec::Int x) {
        if constexpr (rounding == Rounding::nearest_away) {
            x = round_word<Vec, rounding, narrow, false>(plan, x, x);
        } else if (plan.zero_below != 0 || plan.overflow_away == plan.largest) {
            x = limit_half<Vec, rounding>(plan, x);
        }
        x = Vec::canonical_nan(x);
        if constexpr (rounding == Rounding::toward_zero) {
            Vec::template store_half<Vec::zero>(p, x);
        } else if constexpr (rounding == Rounding::down) {
            Vec::template store_half<Vec::down>(p, x);
        } else if constexpr (rounding == Rounding::up) {
            Vec::template store_half<Vec::up>(p, x);
        } else if constexpr (rounding == Rounding::odd) {
            Vec::store_half_odd(p, x);
        } else {
            Vec::store_half(p, x);
        }
    }
};
/// bf16 to nearest even. Sums and roots are rounded to fp32 first, which changes nothing (24 >= 2 * 8 + 2; where they
/// are subnormal they are exact). The fma must be rounded to odd. Products and quotients would come out right by way of
/// fp32, too, but processors take a hundred cycles for each that is subnormal there: in fp64 none is.
template <class Vec>
struct BfloatNearest {
    static constexpr std::size_t size = 2;
    static constexpr std::size_t out_size = 2;
    static typename Vec::Int load(const RoundingPlan& plan, const void* p) {
        const auto x = Vec::shift_left(Vec::load16(p), Vec::set(16));
        return plan.operand_below == 0 ? x : flush_operand<Vec>(plan, x);
    }
    template <Operation op>
    static typename Vec::Int compute(const RoundingPlan&, typename Vec::Int a, typename Vec::Int b,
                                     typename Vec::Int c) {
        if constexpr (op == op_add || op == op_sqrt) return by_processor<Vec, op>(a, b, c);
        return by_double<Vec, op>(a, b, c);
    }
    static void store(const RoundingPlan& plan, void* p, typename Vec::Int x) {
        const auto rounded = round_word<Vec, Rounding::nearest_even, wide, true>(plan, x, x);
        Vec::store16(p, encode_word<Vec, wide>(plan, rounded));
    }
};

/// Up to three operand arrays, read in step.
template <class Vec, Operation op, class Kind>
void operate(const RoundingPlan& plan, const unsigned char* a, const unsigned char* b, const unsigned char* c,
             unsigned char* out) {
    constexpr bool two = op != op_sqrt;
    constexpr bool three = op == op_fma;
    const auto x = Kind::load(plan, a);
    auto y = x;
    auto z = x;
    if constexpr (two) y = Kind::load(plan, b);
    if constexpr (three) z = Kind::load(plan, c);
    if constexpr (op == op_subtract) {
        y = Vec::bit_xor(y, Vec::set(sign_bit<Vec>));
        Kind::store(plan, out, Kind::template compute<op_add>(plan, x, y, z));
    } else {
        Kind::store(plan, out, Kind::template compute<op>(plan, x, y, z));
    }
}

template <class Vec, Operation op, class Kind>
void operate_array(const RoundingPlan& shared_plan, const void* a, const void* b, const void* c, void* out,
                   std::size_t count) {
    const RoundingPlan plan = shared_plan;
    const auto* pa = static_cast<const unsigned char*>(a);
    const auto* pb = static_cast<const unsigned char*>(b);
    const auto* pc = static_cast<const unsigned char*>(c);
    auto* to = static_cast<unsigned char*>(out);
    constexpr std::size_t step = Kind::size * Vec::lanes;
    constexpr std::size_t out_step = Kind::out_size * Vec::lanes;
    constexpr std::size_t two = op != op_sqrt ? 1 : 0;  // an operand that is not there stays null
    constexpr std::size_t three = op == op_fma ? 1 : 0;
    std::size_t i = 0;
    for (; count >= Vec::lanes; count -= Vec::lanes, i += step, to += out_step) {
        operate<Vec, op, Kind>(plan, pa + i, pb + two * i, pc + three * i, to);
    }
    if (count == 0) return;
    const std::size_t bytes = count * Kind::size;
    unsigned char x[step] = {};
    unsigned char y[step] = {};
    unsigned char z[step] = {};
    unsigned char result[out_step];
    copy_bytes(x, pa + i, bytes);
    if constexpr (two != 0) copy_bytes(y, pb + i, bytes);
    if constexpr (three != 0) copy_bytes(z, pc + i, bytes);
    operate<Vec, op, Kind>(plan, x, y, z, result);
    copy_bytes(to, result, count * Kind::out_size);
}

template <class Vec, class Kind>
constexpr void fill_operations(ArithmeticKernel (&row)[operations]) {
    row[op_add] = operate_array<Vec, op_add, Kind>;
    row[op_subtract] = operate_array<Vec, op_subtract, Kind>;
    row[op_multiply] = operate_array<Vec, op_multiply, Kind>;
    row[op_divide] = operate_array<Vec, op_divide, Kind>;
    row[op_sqrt] = operate_array<Vec, op_sqrt, Kind>;
    row[op_fma] = operate_array<Vec, op_fma, Kind>;
}

}  // namespace
}  // namespace ulp::array
