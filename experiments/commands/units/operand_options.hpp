// Options that say how the operands of a product lie in files, and how they are rounded.
#pragma once

#include <optional>
#include <string>

#include "experiments/commands/units/matrix_files.hpp"
#include "experiments/program/options.hpp"

namespace ulp {

/// --transpose a, b or a,b.
struct Transpositions {
    bool a = false, b = false;
    void declare(OptionParser& app);
};

/// --rounding MODE and --saturate: none where neither is given.
struct RoundingOptions {
    std::string mode;
    bool saturate = false;
    /// `what` is rounded: "the operands".
    void declare(OptionParser& app, const std::string& what);
    [[nodiscard]] bool given() const { return saturate || !mode.empty(); }
    /// Throws UsageError for a mode that units' operands are not rounded by, and for --saturate alone.
    [[nodiscard]] std::optional<OperandRounding> rounding() const;
};

/// --format IN,OUT: of A and B, and of C and D, for units that no row describes.
void declare_unit_formats(OptionParser& app, std::string& input, std::string& output);

/// Whether an operand on the command line is a file: its name ends in .npy.
inline bool is_matrix_file(const std::string& text) { return text.ends_with(".npy"); }

}  // namespace ulp
