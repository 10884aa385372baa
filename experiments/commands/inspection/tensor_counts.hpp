// What a tensor holds, and what becomes of it in other formats: counted from its bytes, piece by piece, with the same
// results on any number of threads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/files/stored_bytes.hpp"
#include "softfloat/format.hpp"
#include "softfloat/quantization/quantization.hpp"

namespace ulp {

/// A format to judge: of single numbers, or elements with scales of blocks along the last extent.
struct JudgedFormat {
    std::string name;
    FloatFormat format{};  // of the elements
    std::optional<Quantization> blocks{};
};
/// A row of `ulplab formats` with a sign, or one of named_quantizations() without a transform. Throws UsageError that
/// lists them.
JudgedFormat judged_format(const std::string& name);

/// The format of a tensor type of safetensors or NumPy; nothing for integers and other types.
std::optional<FloatFormat> format_of_type(const std::string& type);

/// What rounding to nearest (ties to even) does to finite numbers.
struct FormatLoss {
    std::int64_t lost = 0;         // nonzero numbers that become zero
    std::int64_t subnormal = 0;    // those that become subnormal; of block-scaled formats: whose element does
    std::int64_t overflow = 0;     // those that become infinite or NaN, or lie as far beyond the largest number
    std::int64_t judged = 0;       // nonzero numbers that do not overflow; the members below are about these
    double relative_error = 0;     // sum of |error| / |number|; 1 for a lost number
    double worst = 0;              // the largest of these
    double signal = 0, noise = 0;  // sums of squares, of the numbers and of their errors

    void add(const FormatLoss& other);
    [[nodiscard]] std::optional<double> mean_relative_error() const;
    /// 10 log10(signal / noise); nothing where there is no error or nothing to judge.
    [[nodiscard]] std::optional<double> snr_db() const;
};

/// Numbers with magnitude in [2^e, 2^(e+1)), and those of them that are 2^e: a loss scale moves both by its exponent.
struct Binade {
    std::int64_t numbers = 0;
    std::int64_t powers = 0;
    bool operator==(const Binade&) const = default;
};
using Binades = std::map<int, Binade>;

struct TensorCounts {
    std::int64_t count = 0, zeros = 0, infinities = 0, nans = 0;
    double absmax = 0;  // of the finite numbers
    Binades binades;
    std::vector<std::optional<FormatLoss>> losses;  // in the order of the formats; nothing where it was not computed

    void add(const TensorCounts& other);
};

/// Numbers beyond which a tensor's block-scaled formats are left out: they need the tensor in memory.
inline constexpr std::int64_t most_in_blocks = std::int64_t{1} << 26;

/// Counts a tensor of a type that format_of_type knows. Throws DataError for damage.
TensorCounts count_tensor(const StoredBytes& tensor, const std::vector<JudgedFormat>& formats);

/// The same of numbers one by one, without blocks: the definition that the fast ways are compared with.
TensorCounts count_plain(const std::vector<double>& numbers, const std::vector<JudgedFormat>& formats);

/// The least magnitude that overflows; infinity where nothing does.
double overflow_from(const FloatFormat& format);

}  // namespace ulp
