// The part of the overflow experiment that is about norms and exponentials.
#pragma once

#include "experiments/framework/experiment.hpp"

namespace ulp {

/// Adds their claims and figures.
void norms_and_softmax(const RunContext& context, Result& result);

}  // namespace ulp
