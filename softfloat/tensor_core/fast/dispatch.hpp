// Which kernels run: the best that the processor has, or those that the environment variable ULPLAB_SIMD names.
#pragma once

#include <span>
#include <string_view>

#include "softfloat/tensor_core/fast/panel.hpp"

namespace ulp::fast {

/// The kernels that this processor can run, portable first, the widest last.
std::span<const Kernels* const> available_kernels();

/// The kernels of that name ("portable", "avx2", "avx512"). Throws std::invalid_argument if there are none or the
/// processor cannot run them.
const Kernels& kernels_by_name(std::string_view name);

/// ULPLAB_SIMD's choice, or the widest. Read once.
const Kernels& chosen_kernels();

}  // namespace ulp::fast
