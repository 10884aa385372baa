// The chain rule of two layers, multiplied out in double beside the tape's gradients. Compiled in fp64 mode.
#pragma once

#include <cstdint>

namespace ulp {

/// The largest difference between a gradient of the tape and that of the notebook's formulas, over the weights of two
/// layers of 4 with tanh between them. Without `with_tanh` the formulas leave its derivative out.
double chain_rule_error(std::uint64_t seed, bool with_tanh);

}  // namespace ulp
