// The kernels of one set of instructions as a table. See kernel_table.hpp.
#pragma once

#include "softfloat/array/kernels_round.hpp"
#include "softfloat/array/kernels_stochastic.hpp"

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
    return table;
}

}  // namespace
}  // namespace ulp::array
