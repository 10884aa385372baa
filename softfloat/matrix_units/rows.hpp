// How the rows of the table are made, and the functions that make them.
#pragma once

#include <string>
#include <vector>

#include "softfloat/matrix_units/units.hpp"

namespace ulp {

/// Who states a row's parameters.
struct Source {
    Evidence evidence;
    std::string text;
};
inline Source recorded(const std::string& gpus) { return {Evidence::recorded, "recordings of " + gpus}; }
inline Source published(const std::string& source) { return {Evidence::published, source}; }

/// Appends a row. In the aspects that neither recordings nor bulk runs decide it shows its source; a unit that was
/// recorded or run in bulk shows there what its other parameters rest on.
void add_row(std::vector<UnitRow>& rows, const UnitName& name, const UnitModel& model, const Source& source);

/// fp64: a chain of fused multiply-adds.
TensorCoreModel fp64_model(NanStyle nan);

/// A unit of IEEE operations with an fp32 accumulator.
TensorCoreModel chained_model(const FloatFormat& input, Summation summation, int k, int group);

/// The rows of an architecture again for another whose units compute the same.
void add_copies(std::vector<UnitRow>& rows, const std::string& from, const std::string& to, bool with_fp64);

// In the order of the table, oldest architecture first.
void add_nvidia_rows(std::vector<UnitRow>& rows);
void add_amd_rows(std::vector<UnitRow>& rows);
void add_x86_rows(std::vector<UnitRow>& rows);
void add_arm_rows(std::vector<UnitRow>& rows);
void add_integer_rows(std::vector<UnitRow>& rows);
void add_block_scaled_rows(std::vector<UnitRow>& rows);

}  // namespace ulp
