// What a tensor holds, and what becomes of it in other formats: counted from its bytes, piece by piece, with the same
// results on any number of threads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/files/stored_arrays.hpp"
#include "engine/watching/format_loss.hpp"
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
/// The same with the packed types F4, F6_E2M3 and F6_E3M2, whose codes follow each other from the lowest bit on.
std::optional<FloatFormat> counted_format(const std::string& type);

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

/// All numbers of a tensor of a format, to nearest in fp32; NaNs keep sign and payload. Throws DataError for damage.
std::vector<float> floats_of(const StoredBytes& tensor, const FloatFormat& format);

/// Counts a tensor of a type that counted_format knows. Throws DataError for damage.
TensorCounts count_tensor(const StoredBytes& tensor, const std::vector<JudgedFormat>& formats);

/// The same of numbers one by one, without blocks: the definition that the fast ways are compared with.
TensorCounts count_plain(const std::vector<double>& numbers, const std::vector<JudgedFormat>& formats);

}  // namespace ulp
