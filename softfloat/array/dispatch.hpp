// From a set of instructions to its kernels, and the checks that all array operations share.
#pragma once

#include <cstddef>
#include <string_view>

#include "softfloat/array/context.hpp"
#include "softfloat/array/kernel_table.hpp"
#include "softfloat/simd_choice.hpp"

namespace ulp::array {

const KernelTable& kernels_of(Simd simd);

/// Throws std::invalid_argument that names the function and both sizes if they differ.
void require_same_size(std::string_view function, std::size_t from, std::size_t to);
/// Throws std::invalid_argument if the context's random_bits make no sense.
void require_sensible(const ArrayContext& context);

}  // namespace ulp::array
