// The kernels of one set of instructions as a table. See kernel_table.hpp.
#pragma once

#include "softfloat/array/kernels/kernels_arithmetic.hpp"
#include "softfloat/array/kernels/kernels_convert.hpp"
#include "softfloat/array/kernels/kernels_round.hpp"
#include "softfloat/array/kernels/kernels_stochastic.hpp"
#include "softfloat/array/kernels/kernels_truncated.hpp"
#include "softfloat/array/kernels/truncated_fp32.hpp"

namespace ulp::array {
namespace {

template <class Vec, KernelRange range, template <class, KernelRange> class To>
constexpr void fill_roundings(auto(&row)[roundings][ranges]) {
    const auto at = [&](Rounding rounding) -> auto& { return row[static_cast<int>(rounding)][range]; };
    at(Rounding::nearest_even) = round_deterministic<Vec, Rounding::nearest_even, range, To>;
    at(Rounding::nearest_away) = round_deterministic<Vec, Rounding::nearest_away, range, To>;
    at(Rounding::toward_zero) = round_deterministic<Vec, Rounding::toward_zero, range, To>;
    at(Rounding::down) = round_deterministic<Vec, Rounding::up, range, To>;
    at(Rounding::up) = round_deterministic<Vec, Rounding::up, range, To>;
    at(Rounding::odd) = round_deterministic<Vec, Rounding::odd, range, To>;
    at(Rounding::stochastic) = round_stochastic<Vec, range, To>;
}

/// Lanes of fp64.
template <class Wide>
constexpr void fill_wide(KernelTable& table) {
    fill_roundings<Wide, wide, ToContainer>(table.round64);
    fill_roundings<Wide, narrow, ToContainer>(table.round64);
    fill_roundings<Wide, no_negative_zero, ToContainer>(table.round64);
    fill_roundings<Wide, narrow, To32>(table.encode32_64);
    fill_roundings<Wide, narrow, To16>(table.encode16_64);
    fill_roundings<Wide, narrow, To8>(table.encode8_64);
    fill_roundings<Wide, no_negative_zero, To8>(table.encode8_64);
}

template <class Vec>
constexpr void fill_half(KernelTable& table) {
    const auto fill = [&]<Rounding rounding>() {
        fill_operations<Vec, HalfRounded<Vec, rounding>>(table.half[static_cast<int>(rounding)]);
    };
    using enum Rounding;
    fill.template operator()<nearest_even>();
    fill.template operator()<nearest_away>();
    fill.template operator()<toward_zero>();
    fill.template operator()<down>();
    fill.template operator()<up>();
    fill.template operator()<odd>();
}

template <class Vec, class Kind>
constexpr void fill_truncated(TruncatedKernel (&rows)[fractions][operations]) {
    fill_truncated<Vec, Kind, HalfFractions<Vec>>(rows[a_half]);
    fill_truncated<Vec, Kind, RandomFractions<Vec>>(rows[random_fraction]);
}

template <class Vec>
constexpr KernelTable make_kernels() {
    KernelTable table{};
    fill_roundings<Vec, wide, ToContainer>(table.round);
    fill_roundings<Vec, narrow, ToContainer>(table.round);
    fill_roundings<Vec, no_negative_zero, ToContainer>(table.round);
    fill_roundings<Vec, wide, To16>(table.encode16);
    fill_roundings<Vec, narrow, To16>(table.encode16);
    fill_roundings<Vec, narrow, To8>(table.encode8);
    fill_roundings<Vec, no_negative_zero, To8>(table.encode8);
    table.decode16[wide] = map_array<Vec, Decode16<Vec, wide>>;
    table.decode16[narrow] = map_array<Vec, Decode16<Vec, narrow>>;
    table.decode8[narrow] = map_array<Vec, Decode8<Vec, narrow>>;
    table.decode8[no_negative_zero] = map_array<Vec, Decode8<Vec, no_negative_zero>>;
    fill_wide<typename Vec::Wide>(table);
    table.widen = map_array<Vec, Widen<Vec>>;
    table.narrow_odd = map_array<Vec, NarrowOdd<Vec>>;
    table.flush = map_array<Vec, FlushOperand<Vec>>;
    table.flush_words16 = flush_words<Vec, 2>;
    table.flush_words32 = flush_words<Vec, 4>;
    table.random_words = random_words<Vec>;
    fill_operations<Vec, OddBySingle<Vec>>(table.odd_by_single);
    fill_operations<Vec, OddByDouble<Vec>>(table.odd_by_double);
    fill_operations<Vec, OddInDouble<Vec>>(table.odd_in_double);
    fill_operations<Vec, InSingle<Vec>>(table.single);
    if constexpr (Vec::has_half) {
        table.through_half = map_array<Vec, ThroughHalf<Vec>>;
        fill_operations<Vec, HalfNearest<Vec>>(table.half_nearest);
        fill_half<Vec>(table);
        fill_truncated<Vec, HalfTruncated<Vec>>(table.truncated[as_half]);
    }
    fill_operations<Vec, BfloatNearest<Vec>>(table.bfloat_nearest);
    table.bfloat_has_options = true;
    fill_truncated<Vec, BfloatTruncated<Vec>>(table.truncated[as_bfloat]);
    fill_truncated<Vec, SingleTruncated<Vec>>(table.truncated[as_single]);
    if constexpr (Vec::has_fast_fma) {
        fill_truncated<Vec, Fp32Truncated<Vec>>(table.truncated[as_fp32]);
    } else {
        fill_truncated<Vec, SingleTruncated<Vec>>(table.truncated[as_fp32]);
    }
    return table;
}

}  // namespace
}  // namespace ulp::array
