// Block-scaled instructions on FP4: 16 products are added exactly as integers, the sum is multiplied by both scales,
// and these few terms are aligned with c in fp64, which holds them and their sum exactly (block_scaled.hpp).
//
// Where the scales of a line differ little within an instruction, its operands already are multiplied by them, as
// integers of one unit a line (fp4_operands.hpp): the instruction is one exact sum. If it fits fp32 and alignment
// cuts neither c nor a term, one fused multiply-add toward zero gives the instruction's result. A template over a
// vector kit `V` (softfloat/vector/vec_portable.hpp).
#pragma once

#include <cstdint>

#include "softfloat/matrix_units/gemm_kernels/kernels_integer.hpp"

namespace ulp::gemm_kernels {
namespace {

/// One instruction, one row and one vector of columns.
template <class V, int count>
struct Fp4Terms {
    typename V::Int units[count];  // sums of 16 products, or the one sum of all
    const float* row_scales;
    const float* column_scales;  // [term][column]
    const std::int32_t* row_exponents;
    const std::int32_t* column_exponents;
};

template <class V>
[[gnu::always_inline]] inline typename V::Double cut_term(typename V::Double units, double row_scale,
                                                          typename V::Double column_scale, typename V::Double align) {
    return V::integral(V::mul(V::mul(units, V::mul(V::set_double(row_scale), column_scale)), align));
}

template <class V, int count>
[[gnu::always_inline]] inline void fp4_vector(const Fp4Task& task, const Fp4Terms<V, count>& terms, float* c,
                                              typename V::Int& wrong) {
    auto addend = V::load(c);
    // The largest exponent, as a field of fp32: scales count, whatever their products sum up to.
    auto largest = V::max(V::template shift_right<23>(V::bit_and(addend, V::set(exponent_mask))), V::set(1));
    unrolled<fp4_terms>([&](auto t) {
        const auto exponent =
            V::add(V::set(terms.row_exponents[t]), V::load(terms.column_exponents + t * panel_width<V>));
        largest = V::max(largest, V::add(exponent, V::set(127)));
    });
    if constexpr (count == 1) {  // the sum holds if none of its terms is cut
        const auto unit = V::mul(V::set_float(terms.row_scales[0]), V::load_float(terms.column_scales));
        const auto field = V::template shift_right<23>(V::as_int(unit));
        wrong = V::bit_or(wrong, V::sub(V::add(field, V::set(task.fraction_bits)), largest));
    }
    wrong =
        V::bit_or(wrong, V::bit_or(V::sub(largest, V::set(lowest_field + 5)), V::sub(V::set(highest_field), largest)));
    largest = V::min(V::max(largest, V::set(lowest_field + 5)), V::set(highest_field));
    const auto align = V::template shift_left<23>(V::sub(V::set(254 + task.fraction_bits), largest));
    const int point = count == 1 ? 0 : task.point;
    const auto term_align = V::template shift_left<23>(V::sub(V::set(254 + task.fraction_bits - point), largest));
    auto low = V::integral(V::mul(V::widen_low(addend), V::widen_low(align)));
    auto high = V::integral(V::mul(V::widen_high(addend), V::widen_high(align)));
    const auto term_low = V::widen_low(term_align);
    const auto term_high = V::widen_high(term_align);
    unrolled<count>([&](auto t) {
        const auto scales = V::load(terms.column_scales + t * panel_width<V>);
        const double row_scale = terms.row_scales[t];
        low = V::add(low, cut_term<V>(V::to_double_low(terms.units[t]), row_scale, V::widen_low(scales), term_low));
        high =
            V::add(high, cut_term<V>(V::to_double_high(terms.units[t]), row_scale, V::widen_high(scales), term_high));
    });
    const auto back = V::template shift_left<23>(V::sub(largest, V::set(task.fraction_bits)));
    const auto zero = V::set_double(0);  // a sum of zeros is +0
    V::store(c, V::narrow_toward_zero(V::mul(V::add(low, zero), V::widen_low(back)),
                                      V::mul(V::add(high, zero), V::widen_high(back))));
}

/// An instruction of one row by its vectors of columns: terms(v) are those of one.
template <class V, class Terms>
[[gnu::always_inline]] inline void fp4_row(const Fp4Task& task, std::int64_t row, const Terms& terms) {
    unrolled<vectors_per_panel>([&](auto v) {
        typename V::Int wrong = V::set(0);
        fp4_vector<V>(task, terms(v), task.c + row * panel_width<V> + v * V::lanes, wrong);
        task.suspects[row] |= V::sign_bits(wrong) << (v * V::lanes);
    });
}

/// What is read of an instruction's scales for one row.
template <class V>
struct Fp4Scales {
    const float* a;
    const float* b;
    const std::int32_t* a_exponents;
    const std::int32_t* b_exponents;

    Fp4Scales(const Fp4Task& task, std::int64_t instruction, std::int64_t row)
        : a(task.a_scales + row * task.scale_stride + instruction * fp4_terms),
          b(task.b_scales + instruction * fp4_terms * panel_width<V>),
          a_exponents(task.a_exponents + (a - task.a_scales)),
          b_exponents(task.b_exponents + (b - task.b_scales)) {}
};

/// A row whose sum is one integer, where c may be cut or the sum does not fit fp32: rare.
template <class V>
[[gnu::noinline]] void finish_wide(const Fp4Task& task, std::int64_t instruction, std::int64_t row,
                                   const typename V::Int (&sum)[vectors_per_panel]) {
    const Fp4Scales<V> scales(task, instruction, row);
    fp4_row<V>(task, row, [&](auto v) {
        return Fp4Terms<V, 1>{{sum[v]},
                              task.a_units + row * task.instructions + instruction,
                              task.b_units + instruction * panel_width<V> + v * V::lanes,
                              scales.a_exponents,
                              scales.b_exponents + v * V::lanes};
    });
}

/// A row whose sum is one integer.
template <class V, Fp4Operands operands>
[[gnu::always_inline]] inline void finish_folded(const Fp4Task& task, std::int64_t instruction, std::int64_t row,
                                                 const typename V::Int (&sum)[vectors_per_panel]) {
    const std::int64_t of_row = row * task.instructions + instruction;
    const std::int64_t of_columns = instruction * panel_width<V>;
    float* const c = task.c + row * panel_width<V>;
    const auto unit = V::set_float(task.a_units[of_row]);
    const auto least = V::set(task.a_least[of_row]);
    auto wrong = V::set(0);
    typename V::Float result[vectors_per_panel];
    unrolled<vectors_per_panel>([&](auto v) __attribute__((always_inline)) {
        const std::int64_t column = of_columns + v * V::lanes;
        const auto addend = V::load(c + v * V::lanes);
        const auto magnitude = V::bit_and(addend, V::set(0x7FFFFFFF));
        const auto above =
            V::zero_where_zero(magnitude, V::sub(magnitude, V::add(least, V::load(task.b_least + column))));
        wrong = V::bit_or(wrong, V::bit_or(above, V::sub(V::set(task.addend_range), above)));
        if constexpr (operands != Fp4Operands::bytes) {  // whose sums are below 2^21
            const auto exact = V::set(1 << 24);
            wrong = V::bit_or(wrong, V::bit_or(V::add(exact, sum[v]), V::sub(exact, sum[v])));
        }
        const auto scale = V::mul(unit, V::load_float(task.b_units + column));
        if constexpr (V::has_fast_fma) {
            result[v] = V::fma(V::to_float(sum[v]), scale, V::as_float(addend));
        } else {  // the product is exact
            result[v] = V::add(V::mul(V::to_float(sum[v]), scale), V::as_float(addend));
        }
    });
    if (V::sign_bits(wrong) == 0) {
        unrolled<vectors_per_panel>([&](auto v)
                                        __attribute__((always_inline)) { V::store(c + v * V::lanes, result[v]); });
        return;
    }
    typename V::Int kept[vectors_per_panel];  // so that the sums themselves stay in registers
    unrolled<vectors_per_panel>([&](auto v) __attribute__((always_inline)) { kept[v] = sum[v]; });
    finish_wide<V>(task, instruction, row, kept);
}

/// An instruction of R rows whose sums are one integer each.
template <class V, Fp4Operands operands, int R>
[[gnu::always_inline]] inline void run_folded(const Fp4Task& task, std::int64_t instruction, std::int64_t row) {
    constexpr bool fours = operands != Fp4Operands::words;
    constexpr bool by_terms = operands == Fp4Operands::bytes_by_terms;
    constexpr std::int64_t parts = by_terms ? fp4_terms : 1;
    constexpr std::int64_t steps = fp4_k / (fours ? 4 : 2) / parts;
    const std::uint32_t* a[R];
    unrolled<R>([&](auto r) __attribute__((always_inline)) {
        a[r] = task.a + (row + r) * task.a_stride + instruction * steps * parts;
    });
    typename V::Int sum[R][vectors_per_panel];
    const auto each = [](const auto& f) __attribute__((always_inline)) {
        unrolled<R>([&](auto r) __attribute__((always_inline)) {
            unrolled<vectors_per_panel>([&](auto v) __attribute__((always_inline)) { f(r, v); });
        });
    };
    if constexpr (by_terms) each([&](auto r, auto v) __attribute__((always_inline)) { sum[r][v] = V::set(0); });
    for (std::int64_t part = instruction * parts; part < (instruction + 1) * parts; ++part) {
        const auto column = [&](const std::int32_t* numbers, auto v) __attribute__((always_inline)) {
            return V::load(numbers + part * panel_width<V> + v * V::lanes);
        };
        typename V::Int term[R][vectors_per_panel];
        each([&](auto r, auto v)
                 __attribute__((always_inline)) { term[r][v] = fours ? column(task.b_sums, v) : V::set(0); });
        add_steps<V, R, fours, 2>(a, task.b + part * steps * panel_width<V>, steps, term);
        each([&](auto r, auto v) __attribute__((always_inline)) {
            if constexpr (by_terms) {  // a term fits 16 bits, and both scales together 15
                const auto scale = V::set(task.a_multipliers[(row + r) * task.scale_stride + part]);
                sum[r][v] = add_products<V, false>(sum[r][v], term[r][v],
                                                   V::mul_add_words(scale, column(task.b_multipliers, v)));
            } else {
                sum[r][v] = term[r][v];
            }
        });
        unrolled<R>([&](auto r) __attribute__((always_inline)) { a[r] += steps; });
    }
    unrolled<R>([&](auto r)
                    __attribute__((always_inline)) { finish_folded<V, operands>(task, instruction, row + r, sum[r]); });
}

/// An instruction of one row whose terms are scaled one by one.
template <class V>
[[gnu::always_inline]] inline void run_terms(const Fp4Task& task, std::int64_t instruction, std::int64_t row) {
    constexpr std::int64_t steps = 8;  // of a term
    const std::uint32_t* a = task.a + row * task.a_stride + instruction * fp4_terms * steps;
    const std::uint32_t* b = task.b + instruction * fp4_terms * steps * panel_width<V>;
    typename V::Int units[fp4_terms][1][vectors_per_panel];
    for (int t = 0; t < fp4_terms; ++t, a += steps, b += steps * panel_width<V>) {
        unrolled<vectors_per_panel>([&](auto v) { units[t][0][v] = V::set(0); });
        add_steps<V, 1>(&a, b, steps, units[t]);
    }
    const Fp4Scales<V> scales(task, instruction, row);
    fp4_row<V>(task, row, [&](auto v) {
        return Fp4Terms<V, fp4_terms>{{units[0][0][v], units[1][0][v], units[2][0][v], units[3][0][v]},
                                      scales.a,
                                      scales.b + v * V::lanes,
                                      scales.a_exponents,
                                      scales.b_exponents + v * V::lanes};
    });
}

template <class V, Fp4Operands operands>
void run_fp4(const Fp4Task& task) {
    constexpr bool fours = operands != Fp4Operands::words;
    // Scales may be subnormal numbers of fp32. Toward zero rounds what is not exact here.
    const typename V::FloatMode mode(false, false, V::FloatMode::Rounding::toward_zero);
    constexpr int R = V::lanes == 16 ? 3 : 2;  // as many rows as the registers hold
    for (std::int64_t i = 0; i < task.instructions; ++i) {
        std::int64_t row = 0;
        if (fours || task.folded[i] != 0) {
            for (; row + R <= task.rows; row += R) run_folded<V, operands, R>(task, i, row);
            for (; row + 2 <= task.rows; row += 2) run_folded<V, operands, 2>(task, i, row);
            for (; row < task.rows; ++row) run_folded<V, operands, 1>(task, i, row);
        }
        if constexpr (!fours) {
            for (; row < task.rows; ++row) run_terms<V>(task, i, row);
        }
    }
}

// Operands from values (fp4_operands.hpp).

/// An operand of each lane; marks in `wrong` what is not a number of the format.
template <class V>
[[gnu::always_inline]] inline typename V::Int fp4_operand(const Fp4Packing& task, const float* values,
                                                          typename V::Float factor, typename V::Int& wrong) {
    const auto x = V::load_float(values);
    const auto no_sign = V::set(0x7FFFFFFF);
    const auto units = V::mul(x, V::set_float(task.units_in_one));
    const auto whole = V::as_int(V::to_float(V::truncate(units)));
    const auto too_large = V::all_sign(V::sub(V::set(task.max_finite), V::bit_and(V::as_int(x), no_sign)));
    wrong = V::bit_or(wrong, V::bit_or(too_large, V::bit_and(V::as_int(x), V::set(task.dropped_bits))));
    wrong = V::bit_or(wrong, V::bit_and(V::bit_xor(whole, V::as_int(units)), no_sign));
    return V::truncate(V::mul(x, factor));
}

template <class V>
[[gnu::always_inline]] inline bool none_of(typename V::Int wrong) {
    return V::sign_bits(V::bit_or(wrong, V::sub(V::set(0), wrong))) == 0;
}

/// One instruction of a row of A.
template <class V, Fp4Operands operands>
bool pack_fp4_row(const Fp4Packing& task) {
    auto wrong = V::set(0);
    for (int k = 0; k < fp4_k; k += V::lanes) {
        const auto operand = fp4_operand<V>(task, task.values + k, V::set_float(task.factors[k / 16]), wrong);
        if constexpr (operands != Fp4Operands::words) {
            V::store8(reinterpret_cast<std::uint8_t*>(task.words) + k, V::add(operand, V::set(fp4_byte_offset)));
        } else {
            V::store16(reinterpret_cast<std::uint16_t*>(task.words) + k, V::bit_and(operand, V::set(0xFFFF)));
        }
    }
    return none_of<V>(wrong);
}

/// One instruction of a panel of B.
template <class V, Fp4Operands operands>
bool pack_fp4_panel(const Fp4Packing& task) {
    constexpr bool fours = operands != Fp4Operands::words;
    constexpr int each = fours ? 4 : 2;
    constexpr int part = operands == Fp4Operands::bytes_by_terms ? 16 : fp4_k;  // products of a sum
    auto wrong = V::set(0);
    for (int v = 0; v < vectors_per_panel; ++v) {
        auto sum = V::set(0);
        for (int k = 0; k < fp4_k; k += each) {
            if (k % part == 0) sum = V::set(0);
            const auto factor = V::load_float(task.factors + k / 16 * panel_width<V> + v * V::lanes);
            auto word = V::set(0);
            unrolled<each>([&](auto i) {
                const auto operand =
                    fp4_operand<V>(task, task.values + (k + i) * task.stride + v * V::lanes, factor, wrong);
                if constexpr (fours) sum = V::add(sum, operand);
                const auto kept = V::bit_and(operand, V::set(fours ? 0xFF : 0xFFFF));
                word = V::bit_or(word, V::template shift_left<i * 32 / each>(kept));
            });
            V::store(task.words + k / each * panel_width<V> + v * V::lanes, word);
            if (!fours || (k + each) % part != 0) continue;
            static_assert(fp4_byte_offset == 128);
            V::store(task.sums + k / part * panel_width<V> + v * V::lanes,
                     V::sub(V::set(0), V::template shift_left<7>(sum)));
        }
    }
    return none_of<V>(wrong);
}

}  // namespace
}  // namespace ulp::gemm_kernels
