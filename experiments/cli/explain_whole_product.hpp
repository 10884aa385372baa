// What `ulplab explain` takes, and its answer to a whole product.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/analysis/product_explanation.hpp"
#include "experiments/cli/product_options.hpp"
#include "softfloat/matrix_units/units.hpp"

namespace ulp {

struct ExplainOptions {
    std::string unit, policy;
    std::vector<std::string> a, b, a_scales, b_scales;  // of a whole product the scales are files
    std::string c = "0", d;
    std::string a_file, b_file, c_file, d_file;  // those of --a, --b, --c and --d that are files
    std::optional<std::int64_t> row, column;
    std::optional<double> alpha, beta;
    std::string separate;
    bool json = false, evidence = false;
    RoundingOptions rounding;

    /// All of D is asked for: it is given, and no element is named.
    [[nodiscard]] bool whole() const {
        return !a_file.empty() && !b_file.empty() && !d_file.empty() && !row && !column;
    }
};

/// Prints which unit, order, epilogue and output format gave D, and writes the operands that --out asks for. Whether
/// the operands as they are explain all of D. Throws UsageError for units and options that this is not for, DataError
/// for files that do not fit.
bool explain_all_of_d(const ExplainOptions& options, const UnitRow& row);

/// The question of a product in files, with fp32 containers: for units without fp64 operands.
ProductQuestion product_question(const ExplainOptions& options, const UnitRow& row);

}  // namespace ulp
