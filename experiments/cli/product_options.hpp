// Options of the commands that compute or explain products: in which order they are added, how their operands lie in
// files, how they are rounded, and the formats of units that no row describes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/framework/options.hpp"
#include "softfloat/context.hpp"
#include "softfloat/format.hpp"
#include "softfloat/matrix_units/product.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/matrix_view.hpp"

namespace ulp {

// Matrices of a format from .npy files, and back.

/// A row-major matrix; fp32 carries the values of every format but fp64.
template <class Real>
struct LoadedMatrix {
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::vector<Real> values;
    std::int64_t overflows = 0;  // finite elements that rounding made infinite, or NaN where the format has no infinity
};

/// The matrix, or its transpose, where it lies.
template <class Real>
BasicMatrixView<const Real> view_of(const LoadedMatrix<Real>& matrix, bool transposed = false) {
    const BasicMatrixView<const Real> rows(matrix.values.data(), matrix.rows, matrix.cols);
    return transposed ? rows.transposed() : rows;
}

/// How elements are rounded to a format.
struct OperandRounding {
    Rounding rounding = Rounding::nearest_even;
    Saturation saturate{};  // true: what is too large becomes the largest finite number (PTX: cvt with .satfinite)
};

/// Whether a byte of a file holds two codes of 4 bits, neighbours of a row (across) or of a column (down).
enum class Pairs : std::uint8_t { none, across, down };

/// Reads a matrix whose elements are values of `format`: float16, float32 or float64 numbers, or the format's codes as
/// unsigned integers of its width (uint8, uint16, uint32). Every code comes back by operand_code unchanged; a NaN that
/// is read as a number keeps its sign and payload. Rounds to the format where `rounding` says how; otherwise throws
/// DataError naming the first element that is not on the format's grid. Throws DataError, too, for a word above the
/// format's codes (two codes of E2M1 packed into a byte, say), a bad file, another type or not two dimensions. Either
/// memory order is read.
LoadedMatrix<float> load_matrix(const std::filesystem::path& path, const FloatFormat& format,
                                const std::optional<OperandRounding>& rounding, Pairs pairs = Pairs::none);

/// A product that a library made: fp32 numbers, as load_matrix, and never rounded, which the refusal of another value
/// says.
LoadedMatrix<float> load_result(const std::filesystem::path& path);

/// A matrix of scales: as load_matrix, and never rounded, which the refusal of another value says. Throws DataError for
/// a negative one, too.
LoadedMatrix<float> load_scales(const std::filesystem::path& path, const FloatFormat& format);

/// Scales of blocks of operands of a unit without scales of its own (BlockScales): fp32 numbers, or UE8M0 codes as
/// bytes. Of `along_k` blocks of k for each of `lines` rows of A (columns of B: `of_b`), or of the blocks of as many of
/// them as of k; then each line gets its block's. Throws DataError for another shape.
LoadedMatrix<float> load_block_scales(const std::filesystem::path& path, std::int64_t lines, std::int64_t k,
                                      std::int64_t block, bool of_b);

/// What to do about an operand or a scale that is not a value of its format, for the end of a message.
inline constexpr std::string_view remedy_of_operands = "use --rounding nearest_even to round first";
std::string_view remedy_of_scales(const FloatFormat& format);

/// The same for fp64: float64, float32 or float16 numbers, or codes as uint64.
LoadedMatrix<double> load_fp64_matrix(const std::filesystem::path& path);

/// Integers in [least, greatest]: int8, uint8, int16 or int32 numbers.
LoadedMatrix<std::int32_t> load_integer_matrix(const std::filesystem::path& path, std::int64_t least,
                                               std::int64_t greatest);

/// --transpose a, b or a,b.
struct Transpositions {
    bool a = false, b = false;
    void declare(OptionParser& app);
};

/// The operands of a product made by a scheme (softfloat/matrix_units/schemes.hpp): fp64 if a file of A, B or C holds
/// float64, else fp32. Without a file for D the problem has zeros there; without one for C it has no C.
struct SchemeOperands {
    SchemeOperands(const std::string& a_file, const std::string& b_file, const std::string& c_file,
                   const std::string& d_file, const Transpositions& transpose);
    SchemeOperands(const SchemeOperands&) = delete;
    FloatFormat format = formats::fp32;
    LoadedMatrix<double> a, b, c, d;
    Fp64Problem problem{};
};

/// --scheme.
void declare_scheme(OptionParser& app, std::string& scheme);

/// Writes values of a format: float16 for fp16, else float32. NaNs keep their bits.
void save_matrix(const std::filesystem::path& path, const FloatFormat& format, std::int64_t rows, std::int64_t cols,
                 const std::vector<float>& values);

/// --order: in which order a product is added (softfloat/matrix_units/product.hpp).
struct OrderOptions {
    ProductOrder given{};

    void declare(OptionParser& app);
    /// Takes "split=4,slice=32". Throws UsageError that lists the words.
    void take(const std::string& text);
    /// Without an epilogue. Throws UsageError for numbers out of range and orders that exclude each other.
    [[nodiscard]] ProductOrder order() const;
    /// Throws UsageError where there are more pieces than instructions in k.
    void require_pieces(std::int64_t k, int instruction_k) const;
};

/// What --saturate or --saturate=MODE says. Throws std::invalid_argument that lists the modes.
Saturation saturation_of_option(const std::string& text);

/// --rounding MODE and --saturate: none where neither is given.
struct RoundingOptions {
    std::string mode, saturate;
    /// `what` is rounded: "the operands".
    void declare(OptionParser& app, const std::string& what);
    [[nodiscard]] bool given() const { return !saturate.empty() || !mode.empty(); }
    /// Throws UsageError for a mode that units' operands are not rounded by, and for --saturate alone.
    [[nodiscard]] std::optional<OperandRounding> rounding() const;
};

/// --format IN,OUT: of A and B, and of C and D, for units that no row describes.
void declare_unit_formats(OptionParser& app, std::string& input, std::string& output);

/// Whether an operand on the command line is a file: its name ends in .npy.
inline bool is_matrix_file(const std::string& text) { return text.ends_with(".npy"); }

// The keys of all model tables: floating point, integers and block-scaled; and units by key or file.

std::vector<std::string> model_keys();

/// Throws UsageError that names the keys nearest to `key`, or those of the GPU of that name, or says that it is a
/// number format.
[[noreturn]] void throw_no_model(std::string_view key);

/// The row of the table with that key, or the unit of a file whose name ends in .json. Throws as throw_no_model does,
/// and DataError for a file that does not describe a unit.
UnitRow unit_named(const std::string& key_or_file);

/// The row's model, with the policies of a set where --policy names one. Throws UsageError for a unit without policies,
/// std::invalid_argument for an unknown name.
TensorCoreModel with_policy(const UnitRow& row, const TensorCoreModel& model, const std::string& policy);

/// --policy WORD.
void declare_policy(OptionParser& app, std::string& policy);

/// "evidence: ordinary values recorded; ..." and a newline, for every kind of unit; `all`: of each aspect, with its
/// data. Where --policy names another set than the row's, a line more says that the evidence is not of it.
std::string evidence_lines(const UnitRow& row, const std::string& policy, bool all);

/// For --help, after what the option names.
inline constexpr std::string_view or_unit_file = ", or a file that describes a unit (FILE.json)";

}  // namespace ulp
