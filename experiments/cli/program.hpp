// The whole command line, declared but not run: to be described (manual.cpp).
#pragma once

#include "experiments/framework/options.hpp"

namespace ulp {

/// `ulplab` with all its subcommands and their options.
OptionParser declared_program();

}  // namespace ulp
