// The mild controls, which need the power of a whole quick run.
#include "control_runs.hpp"

using namespace ulp;

TEST_CASE("with the effect switched off the claims about it fail, and no others") { try_controls(RunSize::quick); }
