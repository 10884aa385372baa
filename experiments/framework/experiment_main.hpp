// The program of one experiment: `overflow --out DIR` is `ulplab run overflow --out DIR`.
#pragma once

#include <string>
#include <vector>

#include "experiments/framework/experiment.hpp"

namespace ulp {

/// `arguments` are those behind the program's name. Gives the exit code.
int experiment_main(const Experiment& experiment, const std::vector<std::string>& arguments);

}  // namespace ulp
