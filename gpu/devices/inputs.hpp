// Products filled with the inputs of a class, on the host.
#pragma once

#include "gpu/devices/executor.hpp"
#include "gpu/instructions/input_classes.hpp"

namespace ulp::gpu {

/// a, b and, where there are any, c and the scales of the product from (class, seed): of a longer batch, the matrices
/// from `first_matrix`, a multiple of the product's own batch.
void fill_inputs(HostProduct& product, InputClass input_class, std::uint64_t seed, std::uint64_t first_matrix = 0);

/// `tiles` tiles of one instruction's size, each with its own rows and columns, filled.
HostProduct make_tiles(const Instruction& instruction, InputClass input_class, std::uint64_t seed, std::uint32_t tiles);

}  // namespace ulp::gpu
