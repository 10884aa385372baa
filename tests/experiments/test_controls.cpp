#include "control_runs.hpp"

using namespace ulp;

TEST_CASE("every experiment has a control") {
    for (const Experiment& experiment : experiments()) {
        INFO(experiment.name);
        CHECK_FALSE(experiment.controls.empty());
    }
}

TEST_CASE("with the effect switched off the claims about it fail, and no others") { try_controls(RunSize::smoke); }
