// The inputs that decide between hypotheses: what every hypothesis and every model predicts for them, and what a unit
// or a card answers.
#pragma once

#include <functional>
#include <string>

#include "experiments/framework/exit_codes.hpp"
#include "softfloat/lab/discovery.hpp"

namespace ulp {

struct ProbeTableOptions {
    std::string architecture = "sm_90";  // whose models are listed where there is no unit
    std::string unit;                    // that answers instead; "cuda" or "software:sm_90": all its instructions
    std::string input, output;           // formats of the unit
    int k = 16;
    std::function<DotUnit()> open;  // the unit, where it adds no integers
    std::string out;                // file for a card's answers
};

/// Prints the table. bits_differ where a card's answer is not its row's. Throws UsageError where no probe has these
/// formats.
ExitCode print_probe_table(const ProbeTableOptions& options);

}  // namespace ulp
