// The kernels of one set of instructions as a table. See kernel_table.hpp.
#pragma once

#include "softfloat/array/kernels/kernels_arithmetic.hpp"
#include "softfloat/array/kernels/kernels_convert.hpp"
#include "softfloat/array/kernels/kernels_round.hpp"
#include "softfloat/array/kernels/kernels_stochastic.hpp"

namespace ulp::array {
namespace {

template <class Lanes, Shape shape, template <class, Shape> class To>
constexpr void fill_roundings(RoundKernel (&row)[roundings][shapes]) {
    const auto at = [&](Rounding rounding) -> RoundKernel& { return row[static_cast<int>(rounding)][shape]; };
    at(Rounding::nearest_even) = round_deterministic<Lanes, Rounding::nearest_even, shape, To>;
    at(Rounding::nearest_away) = round_deterministic<Lanes, Rounding::nearest_away, shape, To>;
    at(Rounding::toward_zero) = round_deterministic<Lanes, Rounding::toward_zero, shape, To>;
    at(Rounding::down) = round_deterministic<Lanes, Rounding::up, shape, To>;
    at(Rounding::up) = round_deterministic<Lanes, Rounding::up, shape, To>;
    at(Rounding::odd) = round_deterministic<Lanes, Rounding::odd, shape, To>;
    at(Rounding::stochastic) = round_stochastic<Lanes, shape, To>;
}

template <class Lanes>
constexpr KernelTable make_kernels() {
    KernelTable table{};
    fill_roundings<Lanes, wide, ToFp32>(table.round);
    fill_roundings<Lanes, narrow, ToFp32>(table.round);
    fill_roundings<Lanes, no_negative_zero, ToFp32>(table.round);
    fill_roundings<Lanes, wide, To16>(table.encode16);
    fill_roundings<Lanes, narrow, To16>(table.encode16);
    fill_roundings<Lanes, narrow, To8>(table.encode8);
    fill_roundings<Lanes, no_negative_zero, To8>(table.encode8);
    table.decode16[wide] = map_array<Lanes, Decode16<Lanes, wide>>;
    table.decode16[narrow] = map_array<Lanes, Decode16<Lanes, narrow>>;
    table.decode8[narrow] = map_array<Lanes, Decode8<Lanes, narrow>>;
    table.decode8[no_negative_zero] = map_array<Lanes, Decode8<Lanes, no_negative_zero>>;
    table.narrow = map_array<Lanes, Narrow<Lanes>>;
    table.widen = map_array<Lanes, Widen<Lanes>>;
    fill_operations<Lanes, OddBySingle<Lanes>>(table.odd_by_single);
    fill_operations<Lanes, OddByDouble<Lanes>>(table.odd_by_double);
    fill_operations<Lanes, InSingle<Lanes>>(table.single);
    if constexpr (Lanes::has_half) fill_operations<Lanes, HalfNearest<Lanes>>(table.half_nearest);
    fill_operations<Lanes, BfloatNearest<Lanes>>(table.bfloat_nearest);
    return table;
}

}  // namespace
}  // namespace ulp::array
