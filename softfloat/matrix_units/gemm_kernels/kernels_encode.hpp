// Exponent codes of packed operands (panel.hpp), and whether all of them are values that the kernels take. A template
// over a vector kit `V` (softfloat/vector/vec_portable.hpp).
#pragma once

#include <cstdint>

#include "softfloat/matrix_units/gemm_kernels/kernels_fused.hpp"

namespace ulp::gemm_kernels {
namespace {

/// The exponent code of each lane. `odd` collects lanes (sign bit) that are not finite values of the grid.
template <class V>
typename V::Int encode(const Grid& grid, float* values, typename V::Int& odd) {
    auto bits = V::as_int(V::load_float(values));
    bits = V::bit_and(bits, V::set(static_cast<std::int32_t>(~grid.ignored_bits)));
    if (grid.flushed_below != 0) {
        const auto above = V::sub(V::bit_and(bits, V::set(0x7FFFFFFF)), V::set(grid.flushed_below));
        bits = V::select_by_sign(above, V::bit_and(bits, V::set(static_cast<std::int32_t>(grid.flushed_sign))), bits);
    }
    V::store(values, bits);
    const auto magnitude = V::bit_and(bits, V::set(0x7FFFFFFF));
    // Sign bit set where something is off: too large, or bits that a normal number of the format does not have.
    const auto large = V::sub(V::set(static_cast<std::int32_t>(grid.max_finite)), magnitude);
    auto off = V::sub(V::set(0), V::bit_and(magnitude, V::set(static_cast<std::int32_t>(grid.dropped_bits))));
    if (grid.subnormal_steps_in_one != 0) {
        // A subnormal is a whole number of steps instead.
        const auto steps = V::mul(V::as_float(magnitude), V::set_float(grid.subnormal_steps_in_one));
        const auto rest = V::bit_xor(V::as_int(V::to_float(V::truncate(steps))), V::as_int(steps));
        const auto subnormal = V::sub(magnitude, V::set(static_cast<std::int32_t>(grid.min_normal)));
        off = V::select_by_sign(subnormal, V::sub(V::set(0), V::bit_and(rest, V::set(0x7FFFFFFF))), off);
    }
    odd = V::bit_or(odd, V::bit_or(large, off));
    const auto field = V::max(V::template shift_right<23>(magnitude), V::set(grid.lowest_code_field));
    if (grid.codes == ExponentCodes::bytes) {
        return V::zero_where_zero(magnitude, V::sub(field, V::set(127 - byte_code_of_exponent_0)));
    }
    const auto zero = V::set(word_code_of_zero);
    return V::add(zero, V::zero_where_zero(magnitude, V::sub(field, zero)));
}

template <class V>
bool encode_row(const Grid& grid, float* values, std::int64_t count, std::uint32_t* codes) {
    auto odd = V::set(0);
    for (std::int64_t i = 0; i < count; i += V::lanes) {
        auto code = encode<V>(grid, values + i, odd);
        if (grid.codes == ExponentCodes::bytes) {
            code = V::bit_or(code, V::template shift_left<8>(code));
            code = V::bit_or(code, V::template shift_left<16>(code));
        } else {
            code = V::bit_or(V::bit_and(code, V::set(0xFFFF)), V::template shift_left<16>(code));
        }
        V::store(codes + i, code);
    }
    return V::sign_bits(odd) == 0;
}

template <class V>
bool encode_panel(const Grid& grid, float* values, std::int64_t count, int vectors, std::uint32_t* codes) {
    auto odd = V::set(0);
    const bool bytes = grid.codes == ExponentCodes::bytes;
    typename V::Int code[vectors_per_panel];
    for (auto& unused : code) unused = V::set(0);
    for (std::int64_t k = 0; k < count; ++k) {
        for (int v = 0; v < vectors; ++v) code[v] = encode<V>(grid, values + k * panel_width<V> + v * V::lanes, odd);
        if (bytes) {
            const auto low = V::bit_or(code[0], V::template shift_left<8>(code[1]));
            const auto high = V::bit_or(V::template shift_left<16>(code[2]), V::template shift_left<24>(code[3]));
            V::store(codes + k * V::lanes, V::bit_or(low, high));
        } else {
            for (int half = 0; half < 2; ++half) {
                const auto low = V::bit_and(code[2 * half], V::set(0xFFFF));
                V::store(codes + (2 * k + half) * V::lanes,
                         V::bit_or(low, V::template shift_left<16>(code[2 * half + 1])));
            }
        }
    }
    return V::sign_bits(odd) == 0;
}

}  // namespace
}  // namespace ulp::gemm_kernels
