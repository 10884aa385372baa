// The mild controls, which need the power of a whole quick run.
#include "backend_runs.hpp"
#include "control_runs.hpp"

using namespace ulp;

TEST_CASE("with the effect switched off the claims about it fail, and no others") { try_controls(RunSize::quick); }

TEST_CASE("every experiment runs on a backend that is made of two, and its figures name the hardware that they show") {
    for (const Experiment& experiment : experiments()) {
        if (experiment.without_backend.empty()) try_checked_backend(experiment);
    }
}
