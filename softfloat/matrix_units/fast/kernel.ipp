// The kernels, written once over a set of vector operations `S`. Included inside an anonymous namespace by one source
// file an instruction set: no symbol of it may be shared between files compiled with different flags.

using ulp::fast::ExponentCodes;
using ulp::fast::Grid;
using ulp::fast::Kernels;
using ulp::fast::lowest_field;
using ulp::fast::PanelTask;
using ulp::fast::ResultKind;
using ulp::fast::vectors_per_panel;

inline constexpr std::int32_t exponent_mask = 0x7F800000;
inline constexpr std::int64_t panel_width = std::int64_t{vectors_per_panel} * S::lanes;

/// The largest exponent of one row's group in every column of the panel, from byte codes.
struct ByteExponents {
    static constexpr int stride = S::lanes;  // 32-bit words a k
    S::Int largest;

    void find(const std::uint32_t* a, const std::uint32_t* b, int count) {
        const auto sum = [&](int k) { return S::add_bytes(S::broadcast(a[k]), S::load(b + k * stride)); };
        largest = S::set(0);
        for (int k = 0; k < count; k += 4) {
            const auto low = S::max_bytes(sum(k), sum(k + 1));
            const auto high = S::max_bytes(sum(k + 2), sum(k + 3));
            largest = S::max_bytes(largest, S::max_bytes(low, high));
        }
    }
    /// As an exponent field of fp32 in place. Without nonzero products: below lowest_field.
    template <int v>
    S::Int field() const {
        constexpr int offset = 2 * ulp::fast::byte_code_of_exponent_0 - 127;
        const auto moved =
            v == 3 ? S::template shift_right<1>(largest) : S::template shift_left<(23 - 8 * v) & 31>(largest);
        return S::sub(S::bit_and(moved, S::set(exponent_mask)), S::set(offset << 23));
    }
    /// Lanes in which some product is nonzero, but all of them smaller than the kernel follows: none with byte codes.
    std::uint64_t too_small() const { return 0; }
};

/// The same from word codes.
struct WordExponents {
    static constexpr int stride = 2 * S::lanes;
    S::Int largest[2];

    void find(const std::uint32_t* a, const std::uint32_t* b, int count) {
        for (int half = 0; half < 2; ++half) {
            const auto sum = [&](int k) {
                return S::add_words(S::broadcast(a[k]), S::load(b + k * stride + half * S::lanes));
            };
            largest[half] = S::max_words(sum(0), sum(1));
            for (int k = 2; k < count; k += 2) {
                largest[half] = S::max_words(largest[half], S::max_words(sum(k), sum(k + 1)));
            }
        }
    }
    template <int v>
    S::Int field() const {
        // Sum of two fields to one field: minus 127. Negative sums become 0.
        const auto clamped = S::max_words(S::sub_words(largest[v / 2], S::set(127 * 0x00010001)), S::set(0));
        return v % 2 == 0
                   ? S::template shift_left<23>(clamped)
                   : S::template shift_left<7>(S::bit_and(clamped, S::set(static_cast<std::int32_t>(0xFFFF0000))));
    }
    std::uint64_t too_small() const {
        std::uint64_t lanes = 0;
        for (int half = 0; half < 2; ++half) {
            const std::uint64_t found = S::words_between(largest[half], 2, lowest_field + 127);  // bit 2 l + v % 2
            lanes |= found << (2 * S::lanes * half);
        }
        return lanes;
    }
};

/// Bits 2 l + h of two halves -> bits v * lanes + l.
inline std::uint64_t columns_of_words(std::uint64_t bits) {
    std::uint64_t columns = 0;
    for (int v = 0; v < vectors_per_panel; ++v) {
        for (int l = 0; l < S::lanes; ++l) {
            const std::uint64_t bit = bits >> (2 * S::lanes * (v / 2) + 2 * l + v % 2) & 1;
            columns |= bit << (v * S::lanes + l);
        }
    }
    return columns;
}

/// One row's group: c <- sum of the group's products and c, for V vectors of columns.
template <class Exponents, ResultKind kind, int V>
[[gnu::always_inline]] inline void block(const PanelTask& task, const float* a, const std::uint32_t* a_exponents,
                                         const float* b, const std::uint32_t* b_exponents, float* c,
                                         std::uint64_t& suspects) {
    constexpr bool words = std::is_same_v<Exponents, WordExponents>;
    Exponents exponents;
    exponents.find(a_exponents, b_exponents, task.group);
    if constexpr (words) {
        const std::uint64_t small = exponents.too_small();
        if (small != 0) suspects |= columns_of_words(small);
    }

    // M, the largest exponent, as an fp32 exponent field; 2^(F - M) aligns a term, 2^(M - F) undoes it.
    const auto scale_base = S::set((254 + task.fraction_bits) << 23);
    const auto inverse_base = S::set(task.fraction_bits << 23);
    const auto floor = S::set(task.floor_field << 23);
    typename S::Int field[V];
    typename S::Float scale[V];
    typename S::Int sum[V];
    typename S::Int wrong = S::set(0);
    const auto prepare = [&]<int v>(std::integral_constant<int, v>) {
        const auto addend = S::load_float(c + v * S::lanes);
        const auto bits = S::as_int(addend);
        auto c_field = S::bit_and(bits, S::set(exponent_mask));
        if constexpr (kind == ResultKind::fp16_nearest) {
            // A subnormal fp16 c counts at -14. An infinity (the sum before overflowed) makes a suspect.
            const auto magnitude = S::bit_and(bits, S::set(0x7FFFFFFF));
            c_field = S::zero_where_zero(magnitude, S::max(c_field, S::set((127 - 14) << 23)));
            wrong = S::bit_or(wrong, S::sub(S::set(exponent_mask - 1), c_field));
        } else if constexpr (words) {
            // A nonzero c below the smallest field: its bits minus 1 are below that field's, as unsigned numbers.
            const auto magnitude = S::bit_and(bits, S::set(0x7FFFFFFF));
            wrong = S::bit_or(wrong,
                              S::bit_and(S::sub(magnitude, S::set(lowest_field << 23)), S::sub(S::set(0), magnitude)));
        }
        field[v] = S::max(S::max(exponents.template field<v>(), c_field), floor);
        scale[v] = S::as_float(S::sub(scale_base, field[v]));
        sum[v] = S::truncate(S::mul(addend, scale[v]));
    };
    [&]<int... v>(std::integer_sequence<int, v...>) { (prepare(std::integral_constant<int, v>{}), ...); }
    (std::make_integer_sequence<int, V>{});

    // 16 aligned products fit an int32 (their significands have at most 11 bits); with c or another 16 the sum may not.
    for (int first = 0; first < task.group; first += 16) {
        const int end = task.group - first < 16 ? task.group : first + 16;
        typename S::Int part[V];
        for (int v = 0; v < V; ++v) part[v] = S::set(0);
        // Four k a turn: every group is a multiple of 4, and the sums stay in their registers.
        const auto add_products = [&](int k) {
            const auto factor = S::broadcast_float(a[k]);
            for (int v = 0; v < V; ++v) {
                const auto product = S::mul(factor, S::load_float(b + k * panel_width + v * S::lanes));
                part[v] = S::add(part[v], S::truncate(S::mul(product, scale[v])));
            }
        };
        for (int k = first; k < end; k += 4) {
            add_products(k);
            add_products(k + 1);
            add_products(k + 2);
            add_products(k + 3);
        }
        for (int v = 0; v < V; ++v) {
            const auto total = S::add(sum[v], part[v]);
            wrong = S::or_overflow(wrong, sum[v], part[v], total);
            sum[v] = total;
        }
    }

    for (int v = 0; v < V; ++v) {
        const auto inverse = S::as_float(S::sub(field[v], inverse_base));
        if constexpr (kind == ResultKind::fp32_toward_zero) {
            const auto result = S::mul(S::to_float_toward_zero(sum[v]), inverse);
            S::store(c + v * S::lanes,
                     S::bit_and(S::as_int(result), S::set(static_cast<std::int32_t>(task.kept_bits))));
        } else {
            const auto result = S::as_int(S::round_to_fp16(S::mul(S::to_float_odd(sum[v]), inverse)));
            // A negative sum that rounds to zero gives +0 (UnderflowSign::positive).
            S::store(c + v * S::lanes, S::zero_where_zero(S::bit_and(result, S::set(0x7FFFFFFF)), result));
        }
    }
    // Rare: `wrong` has forgotten which vector it was, so the lane counts in all of them.
    const std::uint64_t lanes = S::sign_bits(wrong);
    if (lanes != 0) {
        for (int v = 0; v < V; ++v) suspects |= lanes << (v * S::lanes);
    }
}

template <class Exponents, ResultKind kind, int V>
void run_panel(const PanelTask& task) {
    const typename S::FlushResults flush;  // tiny products lie below every quantum, and slow the processor down
    const std::int64_t group = task.group;
    for (std::int64_t g = 0; g < task.groups; ++g) {
        const float* b = task.b + g * group * panel_width;
        const std::uint32_t* b_exponents = task.b_exponents + g * group * Exponents::stride;
        for (std::int64_t row = 0; row < task.rows; ++row) {
            const std::int64_t at = (g * task.rows + row) * group;
            block<Exponents, kind, V>(task, task.a + at, task.a_exponents + at, b, b_exponents,
                                      task.c + row * panel_width, task.suspects[row]);
        }
    }
}

/// The exponent code of each lane. `odd` collects lanes (sign bit) that are not finite values of the grid.
inline S::Int encode(const Grid& grid, float* values, S::Int& odd) {
    auto bits = S::as_int(S::load_float(values));
    bits = S::bit_and(bits, S::set(static_cast<std::int32_t>(~grid.ignored_bits)));
    S::store(values, bits);
    const auto magnitude = S::bit_and(bits, S::set(0x7FFFFFFF));
    // Sign bit set where something is off: too large, or bits that a normal number of the format does not have.
    const auto large = S::sub(S::set(static_cast<std::int32_t>(grid.max_finite)), magnitude);
    auto off = S::sub(S::set(0), S::bit_and(magnitude, S::set(static_cast<std::int32_t>(grid.dropped_bits))));
    if (grid.subnormal_steps_in_one != 0) {
        // A subnormal is a whole number of steps instead.
        const auto steps = S::mul(S::as_float(magnitude), S::set_float(grid.subnormal_steps_in_one));
        const auto rest = S::bit_xor(S::as_int(S::to_float(S::truncate(steps))), S::as_int(steps));
        const auto subnormal = S::sub(magnitude, S::set(static_cast<std::int32_t>(grid.min_normal)));
        off = S::select_by_sign(subnormal, S::sub(S::set(0), S::bit_and(rest, S::set(0x7FFFFFFF))), off);
    }
    odd = S::bit_or(odd, S::bit_or(large, off));
    const auto field = S::max(S::template shift_right<23>(magnitude), S::set(grid.lowest_code_field));
    if (grid.codes == ExponentCodes::bytes) {
        return S::zero_where_zero(magnitude, S::sub(field, S::set(127 - ulp::fast::byte_code_of_exponent_0)));
    }
    const auto zero = S::set(ulp::fast::word_code_of_zero);
    return S::add(zero, S::zero_where_zero(magnitude, S::sub(field, zero)));
}

inline bool encode_row(const Grid& grid, float* values, std::int64_t count, std::uint32_t* codes) {
    auto odd = S::set(0);
    for (std::int64_t i = 0; i < count; i += S::lanes) {
        auto code = encode(grid, values + i, odd);
        if (grid.codes == ExponentCodes::bytes) {
            code = S::bit_or(code, S::template shift_left<8>(code));
            code = S::bit_or(code, S::template shift_left<16>(code));
        } else {
            code = S::bit_or(S::bit_and(code, S::set(0xFFFF)), S::template shift_left<16>(code));
        }
        S::store(codes + i, code);
    }
    return S::sign_bits(odd) == 0;
}

inline bool encode_panel(const Grid& grid, float* values, std::int64_t count, std::uint32_t* codes) {
    auto odd = S::set(0);
    const bool bytes = grid.codes == ExponentCodes::bytes;
    for (std::int64_t k = 0; k < count; ++k) {
        S::Int code[vectors_per_panel];
        for (int v = 0; v < vectors_per_panel; ++v)
            code[v] = encode(grid, values + k * panel_width + v * S::lanes, odd);
        if (bytes) {
            const auto low = S::bit_or(code[0], S::template shift_left<8>(code[1]));
            const auto high = S::bit_or(S::template shift_left<16>(code[2]), S::template shift_left<24>(code[3]));
            S::store(codes + k * S::lanes, S::bit_or(low, high));
        } else {
            for (int half = 0; half < 2; ++half) {
                const auto low = S::bit_and(code[2 * half], S::set(0xFFFF));
                S::store(codes + (2 * k + half) * S::lanes,
                         S::bit_or(low, S::template shift_left<16>(code[2 * half + 1])));
            }
        }
    }
    return S::sign_bits(odd) == 0;
}

constexpr Kernels make_kernels(const char* name) {
    using enum ResultKind;
    using B = ByteExponents;
    using W = WordExponents;
    return {name,
            S::lanes,
            {{{run_panel<B, fp32_toward_zero, 1>, run_panel<B, fp32_toward_zero, 2>, run_panel<B, fp32_toward_zero, 3>,
               run_panel<B, fp32_toward_zero, 4>},
              {run_panel<B, fp16_nearest, 1>, run_panel<B, fp16_nearest, 2>, run_panel<B, fp16_nearest, 3>,
               run_panel<B, fp16_nearest, 4>}},
             {{run_panel<W, fp32_toward_zero, 1>, run_panel<W, fp32_toward_zero, 2>, run_panel<W, fp32_toward_zero, 3>,
               run_panel<W, fp32_toward_zero, 4>},
              {run_panel<W, fp16_nearest, 1>, run_panel<W, fp16_nearest, 2>, run_panel<W, fp16_nearest, 3>,
               run_panel<W, fp16_nearest, 4>}}},
            encode_row,
            encode_panel};
}
