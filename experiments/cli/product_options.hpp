// Options of the commands that compute or explain products: in which order they are added, how their operands lie in
// files, how they are rounded, and the formats of units that no row describes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "experiments/cli/matrix_files.hpp"
#include "experiments/framework/options.hpp"
#include "softfloat/matrix_units/product.hpp"

namespace ulp {

/// --order: in which order a product is added (softfloat/matrix_units/product.hpp).
struct OrderOptions {
    int split_k = 1;
    std::int64_t piece_k = 0, slice_k = 0, tile_k = 0, promote = 0;
    bool narrow_sums = false;

    void declare(OptionParser& app);
    /// Takes "split=4,slice=32". Throws UsageError that lists the words.
    void take(const std::string& text);
    /// Without an epilogue. Throws UsageError for numbers out of range and orders that exclude each other.
    [[nodiscard]] ProductOrder order() const;
    /// Throws UsageError where there are more pieces than instructions in k.
    void require_pieces(std::int64_t k, int instruction_k) const;
};

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
