// What `ulplab discover` says of a unit that no row of the table describes, and of comparisons on random dot products.
#pragma once

#include <cstdint>
#include <string>

#include "experiments/framework/exit_codes.hpp"
#include "softfloat/lab/match_check.hpp"
#include "softfloat/matrix_units/units.hpp"

namespace ulp {

/// One line, and one for the first contradiction with the options that give it to `ulplab explain`.
void print_check(const DotUnit& unit, const std::string& key, const MatchCheck& check);

/// Writes the model to a file in the form that --unit reads; nothing where `file` is empty.
void write_description(const std::string& file, const std::string& name, const UnitModel& model);

struct FitRequest {
    std::string name;  // of the unit: what was asked
    int blocks;        // random dot products
    std::uint64_t seed;
    std::string write;  // file for the description, or empty
};

/// Seeks a description of the unit and prints it beside the nearest row's. bits_differ where there is none.
ExitCode fit_unit(const DotUnit& unit, const FitRequest& request);

/// Compares the unit with a row or a description. bits_differ where they differ.
ExitCode check_against(const DotUnit& unit, const std::string& model_or_file, const FitRequest& request);

}  // namespace ulp
