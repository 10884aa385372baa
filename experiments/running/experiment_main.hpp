// What the program of one experiment calls; it includes nothing else, and so compiles at once.
#pragma once

#include <string_view>

namespace ulp {

/// The main function of the program of the experiment of that name.
int experiment_main(std::string_view name, int argc, const char* const* argv);

}  // namespace ulp
