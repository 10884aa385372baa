// Exponent codes of packed operands (panel.hpp), and whether all of them are values that the kernels take. A template
// over a vector kit `V` (softfloat/vector/vec_portable.hpp).
#pragma once

#include <cstdint>

#include "softfloat/matrix_units/gemm_kernels/kernels_fused.hpp"

namespace ulp::gemm_kernels {
namespace {

/// What an encoder found that is no finite value of the grid.
template <class V>
struct Refused {
    typename V::Int signs = V::set(0);  // a sign in a lane that was too large
    typename V::Int bits = V::set(0);   // bits that no number of the format has
    /// `bits` has no sign, so that 0 - bits has one where there is any.
    [[nodiscard]] bool any() const { return V::sign_bits(V::bit_or(signs, V::sub(V::set(0), bits))) != 0; }
};

/// The exponent code of each lane.
template <class V>
typename V::Int encode(const Grid& grid, float* values, Refused<V>& refused) {
    auto bits = V::as_int(V::load_float(values));
    bits = V::bit_and(bits, V::set(static_cast<std::int32_t>(~grid.ignored_bits)));
    if (grid.flushed_below != 0) {
        const auto above = V::sub(V::bit_and(bits, V::set(0x7FFFFFFF)), V::set(grid.flushed_below));
        bits = V::select_by_sign(above, V::bit_and(bits, V::set(static_cast<std::int32_t>(grid.flushed_sign))), bits);
    }
    V::store(values, bits);
    const auto magnitude = V::bit_and(bits, V::set(0x7FFFFFFF));
    refused.signs = V::bit_or(refused.signs, V::sub(V::set(static_cast<std::int32_t>(grid.max_finite)), magnitude));
    // In a sum with 2^23 of the smallest subnormal, a number up to that loses what is not a multiple of it.
    const auto small = V::min(magnitude, V::as_int(V::set_float(grid.all_steps)));
    const auto cut = V::sub(V::add(V::as_float(small), V::set_float(grid.all_steps)), V::set_float(grid.all_steps));
    const auto dropped = V::bit_and(magnitude, V::set(static_cast<std::int32_t>(grid.dropped_bits)));
    refused.bits = V::bit_or(refused.bits, V::bit_or(dropped, V::bit_xor(V::as_int(cut), small)));
    const auto field = V::max(V::template shift_right<23>(magnitude), V::set(grid.lowest_code_field));
    if (grid.codes == ExponentCodes::bytes) {
        return V::zero_where_zero(magnitude, V::sub(field, V::set(127 - byte_code_of_exponent_0)));
    }
    const auto zero = V::set(word_code_of_zero);
    return V::add(zero, V::zero_where_zero(magnitude, V::sub(field, zero)));
}

template <class V>
bool encode_row(const Grid& grid, float* values, std::int64_t count, std::uint32_t* codes) {
    Refused<V> refused;
    for (std::int64_t i = 0; i < count; i += V::lanes) {
        auto code = encode<V>(grid, values + i, refused);
        if (grid.codes == ExponentCodes::bytes) {
            code = V::bit_or(code, V::template shift_left<8>(code));
            code = V::bit_or(code, V::template shift_left<16>(code));
        } else {
            code = V::bit_or(V::bit_and(code, V::set(0xFFFF)), V::template shift_left<16>(code));
        }
        V::store(codes + i, code);
    }
    return !refused.any();
}

template <class V>
bool encode_panel(const Grid& grid, float* values, std::int64_t count, int vectors, std::uint32_t* codes) {
    Refused<V> refused;
    const bool bytes = grid.codes == ExponentCodes::bytes;
    typename V::Int code[vectors_per_panel];
    for (auto& unused : code) unused = V::set(0);
    for (std::int64_t k = 0; k < count; ++k) {
        for (int v = 0; v < vectors; ++v)
            code[v] = encode<V>(grid, values + k * panel_width<V> + v * V::lanes, refused);
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
    return !refused.any();
}

}  // namespace
}  // namespace ulp::gemm_kernels
