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

/// In Real's precision. op_subtract is op_add of -b.
template <class Real, Operation op>
typename Real::Reg operate_to_odd(typename Real::Reg a, typename Real::Reg b, typename Real::Reg c) {
    if constexpr (op == op_add) return Real::add_to_odd(a, b);
    if constexpr (op == op_multiply) return Real::multiply(a, b);
    if constexpr (op == op_divide) return Real::divide(a, b);
    if constexpr (op == op_sqrt) return Real::sqrt(a);
    if constexpr (op == op_fma) return Real::fma_to_odd(a, b, c);
}

/// A sum of x and -x is +0 here; where the rounding is down it must be -0, but for +0 and +0.
template <class Lanes>
typename Lanes::Word with_zero_sign(const RoundingPlan& plan, typename Lanes::Word sum, typename Lanes::Word a,
                                    typename Lanes::Word b) {
    const auto zero = Lanes::equal(Lanes::both(sum, Lanes::set(~fp32_sign)), Lanes::set(0));
    const auto sign = Lanes::both(Lanes::either(a, b), Lanes::set(plan.zero_sum_sign));
    return Lanes::either(sum, Lanes::where(zero, sign));
}
template <class Lanes, Operation op>
typename Lanes::Word with_sum_sign(const RoundingPlan& plan, typename Lanes::Word result, typename Lanes::Word a,
                                   typename Lanes::Word b, typename Lanes::Word c) {
    if constexpr (op == op_add) return with_zero_sign<Lanes>(plan, result, a, b);
    if constexpr (op == op_fma) return with_zero_sign<Lanes>(plan, result, Lanes::differ(a, b), c);
    return result;
}

template <class Lanes, Operation op>
typename Lanes::Word by_single(typename Lanes::Word a, typename Lanes::Word b, typename Lanes::Word c) {
    using Single = typename Lanes::Single;
    return Lanes::word_of(operate_to_odd<Single, op>(Lanes::single_of(a), Lanes::single_of(b), Lanes::single_of(c)));
}
template <class Lanes, Operation op>
typename Lanes::Word by_double(typename Lanes::Word a, typename Lanes::Word b, typename Lanes::Word c) {
    using Double = typename Lanes::Double;
    const auto low = operate_to_odd<Double, op>(Lanes::widen_low(a), Lanes::widen_low(b), Lanes::widen_low(c));
    const auto high = operate_to_odd<Double, op>(Lanes::widen_high(a), Lanes::widen_high(b), Lanes::widen_high(c));
    return Lanes::narrow_odd(low, high);
}
/// The processor's own operation and rounding.
template <class Lanes, Operation op>
typename Lanes::Word by_processor(typename Lanes::Word a, typename Lanes::Word b, typename Lanes::Word c) {
    using Single = typename Lanes::Single;
    const auto x = Lanes::single_of(a);
    const auto y = Lanes::single_of(b);
    if constexpr (op == op_add) return Lanes::word_of(Single::add(x, y));
    if constexpr (op == op_multiply) return Lanes::word_of(Single::multiply(x, y));
    if constexpr (op == op_divide) return Lanes::word_of(Single::divide(x, y));
    if constexpr (op == op_sqrt) return Lanes::word_of(Single::sqrt(x));
    if constexpr (op == op_fma) return Lanes::word_of(Single::fma(x, y, Lanes::single_of(c)));
}

/// A kind of kernel: what elements look like in memory, and the operation on fp32 words.
template <class Lanes>
struct OddBySingle {
    static constexpr std::size_t size = 4;
    static typename Lanes::Word load(const void* p) { return Lanes::load(p); }
    template <Operation op>
    static typename Lanes::Word compute(const RoundingPlan& plan, typename Lanes::Word a, typename Lanes::Word b,
                                        typename Lanes::Word c) {
        return with_sum_sign<Lanes, op>(plan, by_single<Lanes, op>(a, b, c), a, b, c);
    }
    static void store(const RoundingPlan&, void* p, typename Lanes::Word x) { Lanes::store(p, x); }
};
template <class Lanes>
struct OddByDouble : OddBySingle<Lanes> {
    template <Operation op>
    static typename Lanes::Word compute(const RoundingPlan& plan, typename Lanes::Word a, typename Lanes::Word b,
                                        typename Lanes::Word c) {
        return with_sum_sign<Lanes, op>(plan, by_double<Lanes, op>(a, b, c), a, b, c);
    }
};
template <class Lanes>
struct InSingle : OddBySingle<Lanes> {
    template <Operation op>
    static typename Lanes::Word compute(const RoundingPlan&, typename Lanes::Word a, typename Lanes::Word b,
                                        typename Lanes::Word c) {
        return Lanes::canonical_nan(by_processor<Lanes, op>(a, b, c));
    }
};
/// fp16 to nearest even: the processor's conversions, and only an fma needs the way round odd.
template <class Lanes>
struct HalfNearest {
    static constexpr std::size_t size = 2;
    static typename Lanes::Word load(const void* p) { return Lanes::load_half(p); }
    template <Operation op>
    static typename Lanes::Word compute(const RoundingPlan&, typename Lanes::Word a, typename Lanes::Word b,
                                        typename Lanes::Word c) {
        if constexpr (op == op_fma) return by_single<Lanes, op>(a, b, c);
        return by_processor<Lanes, op>(a, b, c);
    }
    static void store(const RoundingPlan&, void* p, typename Lanes::Word x) {
        Lanes::store_half(p, Lanes::canonical_nan(x));
    }
};
/// bf16 to nearest even. Sums and roots are rounded to fp32 first, which changes nothing (24 >= 2 * 8 + 2; where they
/// are subnormal they are exact). The fma must be rounded to odd. Products and quotients would come out right by way of
/// fp32, too, but processors take a hundred cycles for each that is subnormal there: in fp64 none is.
template <class Lanes>
struct BfloatNearest {
    static constexpr std::size_t size = 2;
    static typename Lanes::Word load(const void* p) { return Lanes::shift_left(Lanes::load16(p), Lanes::set(16)); }
    template <Operation op>
    static typename Lanes::Word compute(const RoundingPlan&, typename Lanes::Word a, typename Lanes::Word b,
                                        typename Lanes::Word c) {
        if constexpr (op == op_add || op == op_sqrt) return by_processor<Lanes, op>(a, b, c);
        return by_double<Lanes, op>(a, b, c);
    }
    static void store(const RoundingPlan& plan, void* p, typename Lanes::Word x) {
        const auto rounded = round_word<Lanes, Rounding::nearest_even, wide, true>(plan, x, x);
        Lanes::store16(p, encode_word<Lanes, wide>(plan, rounded));
    }
};

/// Up to three operand arrays, read in step.
template <class Lanes, Operation op, class Kind>
void operate(const RoundingPlan& plan, const unsigned char* a, const unsigned char* b, const unsigned char* c,
             unsigned char* out) {
    constexpr bool two = op != op_sqrt;
    constexpr bool three = op == op_fma;
    const auto x = Kind::load(a);
    auto y = x;
    auto z = x;
    if constexpr (two) y = Kind::load(b);
    if constexpr (three) z = Kind::load(c);
    if constexpr (op == op_subtract) {
        y = Lanes::differ(y, Lanes::set(fp32_sign));
        Kind::store(plan, out, Kind::template compute<op_add>(plan, x, y, z));
    } else {
        Kind::store(plan, out, Kind::template compute<op>(plan, x, y, z));
    }
}

template <class Lanes, Operation op, class Kind>
void operate_array(const RoundingPlan& shared_plan, const void* a, const void* b, const void* c, void* out,
                   std::size_t count) {
    const RoundingPlan plan = shared_plan;
    const auto* pa = static_cast<const unsigned char*>(a);
    const auto* pb = static_cast<const unsigned char*>(b);
    const auto* pc = static_cast<const unsigned char*>(c);
    auto* to = static_cast<unsigned char*>(out);
    constexpr std::size_t step = Kind::size * Lanes::width;
    std::size_t i = 0;
    const std::size_t bytes = count * Kind::size;
    constexpr std::size_t two = op != op_sqrt ? 1 : 0;  // an operand that is not there stays null
    constexpr std::size_t three = op == op_fma ? 1 : 0;
    for (; i + step <= bytes; i += step) operate<Lanes, op, Kind>(plan, pa + i, pb + two * i, pc + three * i, to + i);
    if (i == bytes) return;
    unsigned char x[step] = {};
    unsigned char y[step] = {};
    unsigned char z[step] = {};
    copy_bytes(x, pa + i, bytes - i);
    if constexpr (two != 0) copy_bytes(y, pb + i, bytes - i);
    if constexpr (three != 0) copy_bytes(z, pc + i, bytes - i);
    operate<Lanes, op, Kind>(plan, x, y, z, x);
    copy_bytes(to + i, x, bytes - i);
}

template <class Lanes, class Kind>
constexpr void fill_operations(ArithmeticKernel (&row)[operations]) {
    row[op_add] = operate_array<Lanes, op_add, Kind>;
    row[op_subtract] = operate_array<Lanes, op_subtract, Kind>;
    row[op_multiply] = operate_array<Lanes, op_multiply, Kind>;
    row[op_divide] = operate_array<Lanes, op_divide, Kind>;
    row[op_sqrt] = operate_array<Lanes, op_sqrt, Kind>;
    row[op_fma] = operate_array<Lanes, op_fma, Kind>;
}

}  // namespace
}  // namespace ulp::array
