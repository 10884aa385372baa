// Fused groups on panels: exponents from their codes, products aligned and cut as int32, one rounding a group. A
// template over a vector kit `V` (softfloat/vector/vec_portable.hpp).
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "softfloat/matrix_units/gemm_kernels/panel.hpp"

namespace ulp::gemm_kernels {
namespace {

inline constexpr std::int32_t exponent_mask = 0x7F800000;
template <class V>
inline constexpr std::int64_t panel_width = std::int64_t{vectors_per_panel} * V::lanes;

/// The largest exponent of one row's group in every column of the panel, from byte codes.
template <class V>
struct ByteExponents {
    static constexpr bool words = false;
    static constexpr int stride = V::lanes;  // 32-bit words a k
    typename V::Int largest;

    /// Of every `step`-th of `count` products from `first` on; at least two of them, an even number.
    template <int first = 0, int step = 1>
    void find(const std::uint32_t* a, const std::uint32_t* b, int count) {
        const auto sum = [&](int k) { return V::add_bytes(V::set(a[k]), V::load(b + k * stride)); };
        largest = V::max_bytes(sum(first), sum(first + step));
        for (int k = first + 2 * step; k < count; k += 2 * step) {
            largest = V::max_bytes(largest, V::max_bytes(sum(k), sum(k + step)));
        }
    }
    /// From sums of codes to exponent fields of fp32, at least `floor`. Without nonzero products: below lowest_field.
    void make_fields(int floor = 0) {
        const auto fields = V::sub_bytes(largest, V::set(byte_code_sum_of_field_0 * 0x01010101U));
        largest = V::max_bytes(fields, V::set(static_cast<std::uint32_t>(floor) * 0x01010101U));
    }
    template <int v>
    typename V::Int code() const {  // a field
        return V::bit_and(V::template shift_right<8 * v>(largest), V::set(0xFF));
    }
    /// A field in its place in fp32.
    template <int v>
    typename V::Int field() const {
        const auto moved =
            v == 3 ? V::template shift_right<1>(largest) : V::template shift_left<(23 - 8 * v) & 31>(largest);
        return V::bit_and(moved, V::set(exponent_mask));
    }
    /// Lanes in which some product is nonzero, but all of them smaller than the kernel follows: none with byte codes.
    std::uint64_t too_small() const { return 0; }
};

/// The same from word codes, of the first 2 or of all 4 vectors.
template <class V, int N>
struct WordExponents {
    static constexpr bool words = true;
    static constexpr int stride = 2 * V::lanes;
    static constexpr int halves = N > 2 ? 2 : 1;
    typename V::Int largest[halves];

    template <int first = 0, int step = 1>
    void find(const std::uint32_t* a, const std::uint32_t* b, int count) {
        for (int half = 0; half < halves; ++half) {
            const auto sum = [&](int k) {
                return V::add_words(V::set(a[k]), V::load(b + k * stride + half * V::lanes));
            };
            largest[half] = V::max_words(sum(first), sum(first + step));
            for (int k = first + 2 * step; k < count; k += 2 * step) {
                largest[half] = V::max_words(largest[half], V::max_words(sum(k), sum(k + step)));
            }
        }
    }
    /// Sums of two fields become one field: minus 127.
    void make_fields(int floor = 0) {
        for (auto& half : largest) {
            half = V::max_words(V::sub_words(half, V::set(127 * 0x00010001)), V::set(floor * 0x00010001));
        }
    }
    template <int v>
    typename V::Int field() const {
        return v % 2 == 0 ? V::template shift_left<23>(largest[v / 2])
                          : V::template shift_left<7>(
                                V::bit_and(largest[v / 2], V::set(static_cast<std::int32_t>(0xFFFF0000))));
    }
    /// Before make_fields.
    std::uint64_t too_small() const {
        std::uint64_t lanes = 0;
        for (int half = 0; half < halves; ++half) {
            const std::uint64_t found =
                V::words_between(largest[half], 2, lowest_products_field + 127);  // bit 2 l + v % 2
            lanes |= found << (2 * V::lanes * half);
        }
        return lanes;
    }
};

/// Bits 2 l + h of two halves -> bits v * lanes + l.
template <class V>
std::uint64_t columns_of_words(std::uint64_t bits) {
    std::uint64_t columns = 0;
    for (int v = 0; v < vectors_per_panel; ++v) {
        for (int l = 0; l < V::lanes; ++l) {
            const std::uint64_t bit = bits >> (2 * V::lanes * (v / 2) + 2 * l + v % 2) & 1;
            columns |= bit << (v * V::lanes + l);
        }
    }
    return columns;
}

/// Where one row's group lies.
struct RowGroup {
    const float* a;
    const std::uint32_t* exponents;
    const std::int32_t* scale;  // exponent of the row's block scale, with block scales
    float* c;
    std::uint64_t* suspects;
};

/// f(integral_constant<int, 0>), ... f(integral_constant<int, count - 1>).
template <int count, class Function>
[[gnu::always_inline]] inline void unrolled(const Function& f) {
    [&]<int... i>(std::integer_sequence<int, i...>) { (f(std::integral_constant<int, i>{}), ...); }
    (std::make_integer_sequence<int, count>{});
}

/// The powers of two that align products and c, in one vector of columns.
template <class V>
struct Alignment {
    typename V::Float of_products, of_addend;
};

/// c's exponent field in place; marks a c that decides where the kernel does not follow.
template <class V, ResultKind kind>
[[gnu::always_inline]] inline typename V::Int addend_field(typename V::Int bits, typename V::Int& wrong) {
    const auto field = V::bit_and(bits, V::set(exponent_mask));
    if constexpr (kind == ResultKind::fp16_nearest) {
        // A subnormal fp16 c, which is normal in fp32, counts at -14. An infinity (the sum before overflowed) makes a
        // suspect.
        const auto raised = V::zero_where_zero(field, V::max(field, V::set((127 - 14) << 23)));
        wrong = V::bit_or(wrong, V::sub(V::set(exponent_mask - 1), raised));
        return raised;
    }
    return field;
}

/// 2^(F - M), for the largest exponent M as a field of fp32 in place.
template <class V>
[[gnu::always_inline]] inline typename V::Float power_aligning(const PanelTask& task, typename V::Int field) {
    return V::as_float(V::sub(V::set((254 + task.fraction_bits) << 23), field));
}

/// With block scales, whose exponents `moved` add up to: the products move by it. Lanes that the kernel does not follow
/// get a sign in `wrong`.
template <class V>
[[gnu::always_inline]] inline Alignment<V> aligned_scaled(const PanelTask& task, typename V::Int code,
                                                          typename V::Int moved, typename V::Int addend,
                                                          typename V::Int& wrong) {
    // All products zero: the code is below that of any nonzero product. Their exponents, from -126 on, count only where
    // the scales are large.
    const auto zero = V::sub(code, V::set(smallest_byte_code_sum - byte_code_sum_of_field_0));
    wrong = V::bit_or(wrong, V::bit_and(zero, V::sub(V::set(16), moved)));
    const auto products = V::select_by_sign(zero, V::set(lowest_field), V::add(code, moved));
    const auto field = V::max(V::max(products, V::template shift_right<23>(addend)), V::set(task.floor_field));
    wrong = V::bit_or(wrong, V::bit_or(V::sub(products, V::set(lowest_field)), V::sub(V::set(highest_field), field)));
    const auto of_addend = V::sub(V::set(254 + task.fraction_bits), field);
    const auto of_products = V::min(V::max(V::add(of_addend, moved), V::set(1)), V::set(254));
    return {V::as_float(V::template shift_left<23>(of_products)), V::as_float(V::template shift_left<23>(of_addend))};
}

/// x + y; a lane that overflows gets a sign in `wrong`.
template <class V>
[[gnu::always_inline]] inline typename V::Int add_watched(typename V::Int x, typename V::Int y,
                                                          typename V::Int& wrong) {
    const auto total = V::add(x, y);
    wrong = V::or_overflow(wrong, x, y, total);
    return total;
}

/// That many aligned products fit an int32: their significands have at most 11 bits. With another 16 of them the sum
/// may not, nor with c where the rows are crowded. Else, with F = 25: each product is below 2 * 2^25 times its left
/// significand, so that 16 of them stay below 31 * 2^26, and c below 2^26.
inline constexpr int most_products = 16;

/// R rows' groups: c <- sum of the group's products and c, for N vectors of columns. G: products in a group, all
/// bits of whose sum are kept and, up to 16 of them, fit an int32 with c, or 0 where only the task knows.
template <class V, class Exponents, ResultKind kind, bool scaled, int N, int R, int G>
[[gnu::always_inline]] inline void block(const PanelTask& task, const RowGroup* rows, const float* b,
                                         const std::uint32_t* b_exponents, const std::int32_t* b_scales) {
    const int group = G > 0 ? G : task.group;
    // Few registers are left beside these and the sums.
    typename V::Float scale[R][N];         // of products
    typename V::Float addend_scale[R][N];  // with block scales
    typename V::Int wrong[R];
    unrolled<R>([&](auto r) {
        Exponents exponents;
        exponents.find(rows[r].exponents, b_exponents, group);
        if constexpr (Exponents::words) {
            const std::uint64_t small = exponents.too_small();
            if (small != 0) *rows[r].suspects |= columns_of_words<V>(small);
        }
        exponents.make_fields(scaled ? 0 : task.floor_field);
        wrong[r] = V::set(0);
        unrolled<N>([&](auto v) {
            const auto addend = V::as_int(V::load_float(rows[r].c + v * V::lanes));
            const auto c_field = addend_field<V, kind>(addend, wrong[r]);
            if constexpr (scaled) {
                const auto moved = V::add(V::set(*rows[r].scale), V::load(b_scales + v * V::lanes));
                const auto alignment = aligned_scaled<V>(task, exponents.template code<v>(), moved, c_field, wrong[r]);
                scale[r][v] = alignment.of_products;
                addend_scale[r][v] = alignment.of_addend;
            } else {
                scale[r][v] = power_aligning<V>(task, V::max(exponents.template field<v>(), c_field));
            }
        });
    });
    const auto scale_of_addend = [&](int r, int v) { return scaled ? addend_scale[r][v] : scale[r][v]; };
    const auto aligned_addend = [&](int r, int v) {
        return V::truncate(V::mul(V::load_float(rows[r].c + v * V::lanes), scale_of_addend(r, v)));
    };

    typename V::Int sum[R][N];
    const auto add_product = [&](int k) __attribute__((always_inline)) {
        typename V::Float factor[R];
        unrolled<R>([&](auto r) { factor[r] = V::set_float(rows[r].a[k]); });
        unrolled<N>([&](auto v) __attribute__((always_inline)) {
            const auto column = V::load_float(b + k * panel_width<V> + v * V::lanes);
            unrolled<R>([&](auto r) __attribute__((always_inline)) {
                const auto aligned_product = V::mul(V::mul(factor[r], column), scale[r][v]);
                sum[r][v] = V::computed_here(V::add(sum[r][v], V::truncate(aligned_product)));
            });
        });
    };
    const auto add_products = [&](int first, int last) __attribute__((always_inline)) {
        if (V::has_computed_here && last - first == most_products) {
#pragma GCC unroll 16
            for (int k = 0; k < most_products; ++k) add_product(first + k);
        } else {
            for (int k = first; k < last; ++k) add_product(k);
        }
    };
    if constexpr (G > 0 && G <= most_products) {
        unrolled<R>([&](auto r) { unrolled<N>([&](auto v) { sum[r][v] = aligned_addend(r, v); }); });
        add_products(0, G);
    } else {
        unrolled<R>([&](auto r) { unrolled<N>([&](auto v) { sum[r][v] = V::set(0); }); });
        add_products(0, group < most_products ? group : most_products);
        for (int first = most_products; first < group; first += most_products) {
            typename V::Int before[R][N];
            unrolled<R>(
                [&](auto r) { unrolled<N>([&](auto v) { before[r][v] = std::exchange(sum[r][v], V::set(0)); }); });
            add_products(first, group - first < most_products ? group : first + most_products);
            unrolled<R>([&](auto r) {
                unrolled<N>([&](auto v) { sum[r][v] = add_watched<V>(sum[r][v], before[r][v], wrong[r]); });
            });
        }
        unrolled<R>([&](auto r) {
            unrolled<N>([&](auto v) { sum[r][v] = add_watched<V>(sum[r][v], aligned_addend(r, v), wrong[r]); });
        });
    }

    unrolled<R>([&](auto r) {
        unrolled<N>([&](auto v) {
            const auto inverse = V::as_float(V::sub(V::set(254 << 23), V::as_int(scale_of_addend(r, v))));
            float* c = rows[r].c + v * V::lanes;
            if constexpr (kind == ResultKind::fp32_toward_zero) {
                const auto result = V::mul(V::to_float_toward_zero(sum[r][v]), inverse);
                if constexpr (G > 0) {
                    V::store(c, result);
                } else {
                    V::store(c, V::bit_and(V::as_int(result), V::set(task.kept_bits)));
                }
            } else {
                const auto result = V::round_to_fp16(V::mul(V::to_float_odd(sum[r][v]), inverse));
                // A negative sum that rounds to zero gives +0 (UnderflowSign::positive), as -0 + 0 is.
                V::store(c, V::add(result, V::set_float(0)));
            }
        });
        // Rare: `wrong` has forgotten which vector it was, so the lane counts in all of them.
        const std::uint64_t lanes = V::sign_bits(wrong[r]);
        if (lanes != 0) {
            for (int v = 0; v < N; ++v) *rows[r].suspects |= lanes << (v * V::lanes);
        }
    });
}

/// Rows for each load of b: as many as the registers hold.
template <class V>
inline constexpr int rows_at_once = V::lanes >= 16 ? 2 : 1;

template <class V, class Exponents, ResultKind kind, bool scaled, int N, int G>
void run_groups(const PanelTask& given) {
    constexpr int R = rows_at_once<V>;
    const PanelTask task = given;  // a copy stays as it is, whatever is stored to c
    const int group = G > 0 ? G : task.group;
    for (std::int64_t g = 0; g < task.groups; ++g) {
        const float* b = task.b + g * group * panel_width<V>;
        const std::uint32_t* b_exponents = task.b_exponents + g * group * Exponents::stride;
        const std::int32_t* b_scales = scaled ? task.b_scales + g * panel_width<V> : nullptr;
        for (std::int64_t first = 0; first < task.rows; first += R) {
            RowGroup rows[R];
            for (int r = 0; r < R; ++r) {  // behind the last row: that one again
                const std::int64_t row = first + r < task.rows ? first + r : task.rows - 1;
                const std::int64_t at = (g * task.rows + row) * group;
                rows[r] = {task.a + at, task.a_exponents + at, scaled ? task.a_scales + g * task.rows + row : nullptr,
                           task.c + row * panel_width<V>, task.suspects + row};
            }
            block<V, Exponents, kind, scaled, N, R, G>(task, rows, b, b_exponents, b_scales);
        }
    }
}

/// Tiny products lie below every quantum, and would slow the processor down. Sums become fp32 numbers toward zero; all
/// other results of these kernels are exact, whatever the rounding, or name their own.
template <class V, ResultKind kind>
typename V::FloatMode fused_mode() {
    using Rounding = typename V::FloatMode::Rounding;
    const bool cuts = kind == ResultKind::fp32_toward_zero;
    return typename V::FloatMode(true, false, cuts ? Rounding::toward_zero : Rounding::nearest_even);
}

template <class V, class Exponents, ResultKind kind, int N>
void run_fused(const PanelTask& task) {
    const auto mode = fused_mode<V, kind>();
    switch (task.kept_bits == 0xFFFFFFFFU && !task.crowded ? task.group : 0) {
        case 4: return run_groups<V, Exponents, kind, false, N, 4>(task);
        case 8: return run_groups<V, Exponents, kind, false, N, 8>(task);
        case 16: return run_groups<V, Exponents, kind, false, N, 16>(task);
        default: return run_groups<V, Exponents, kind, false, N, 0>(task);
    }
}

/// The emulation of FP8 adds what its groups give to c. An fp16 sum is rounded twice, harmlessly: fp32 has more than
/// 2 * 11 + 2 bits.
template <class V, ResultKind kind>
void add_segment(float* c, const float* sums, std::int64_t count) {
    const typename V::FloatMode mode(false);
    for (std::int64_t i = 0; i < count; i += V::lanes) {
        auto sum = V::add(V::load_float(c + i), V::load_float(sums + i));
        if constexpr (kind == ResultKind::fp16_nearest) sum = V::round_to_fp16(sum);
        V::store(c + i, sum);
    }
}

/// Groups whose products share block scales.
template <class V, int N>
void run_scaled(const PanelTask& task) {
    const auto mode = fused_mode<V, ResultKind::fp32_toward_zero>();
    constexpr auto kind = ResultKind::fp32_toward_zero;
    if (task.group == 32) return run_groups<V, ByteExponents<V>, kind, true, N, 32>(task);
    run_groups<V, ByteExponents<V>, kind, true, N, 0>(task);
}

}  // namespace
}  // namespace ulp::gemm_kernels
