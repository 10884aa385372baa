// Recordings of matrix instructions: reading them, and replaying them against a model.
//
// Layout (as published with arXiv 2512.07004): <GPU>/<input format>/{a,b}_<GPU>_<format>.txt hold fp32 words in hex,
// one dot product a row; c_<GPU>_fp32.txt and d_<GPU>_<output format>.txt hold 32 binary digits of fp32 bits a row.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "softfloat/lab/discovery.hpp"
#include "softfloat/matrix_units/model.hpp"
#include "softfloat/matrix_units/units.hpp"

namespace ulp {

/// One recorded set: `rows` dot products of `products` products each, as storage words of the formats named.
struct RecordedSet {
    std::string gpu;     // "H100", as the folder says
    std::string input;   // "fp16", "E4M3", as the folder says
    std::string output;  // "fp32" or "fp16"
    std::string key;     // the model row that the recording names; empty if it is to be found by GPU and formats
    std::filesystem::path path;  // the file of results
    std::int64_t rows = 0;
    std::int64_t products = 0;
    std::vector<std::uint32_t> a{}, b{};  // rows x products
    std::vector<std::uint32_t> c{}, d{};  // one per row, in the output format
};

/// Which files make up a set; reading is separate, so that a folder can be listed cheaply.
struct RecordedFiles {
    std::string gpu, input, output;
    std::filesystem::path a, b, c, d;
};

/// All sets below a path: a folder of GPUs, one GPU's folder, or one format's folder. Sorted by GPU, input and output.
/// Throws DataError if the path does not exist or holds no set.
std::vector<RecordedFiles> find_recordings(const std::filesystem::path& path);

/// The same, empty where there is none.
std::vector<RecordedFiles> list_recordings(const std::filesystem::path& path);

/// Reads a set. Throws DataError naming file and line for a missing or truncated file, a row of the wrong width, a
/// digit that is none, or a value that is not on the input format's grid.
RecordedSet read_recording(const RecordedFiles& files);

/// The row that a set is replayed against, if the table has one.
std::optional<RowOf<TensorCoreModel>> model_of(const RecordedSet& set);

/// The first row of a set on which model and recording differ.
struct Mismatch {
    std::int64_t row = 0;  // from 0
    std::uint32_t expected = 0;
    std::uint32_t got = 0;
};

struct ReplayResult {
    std::int64_t rows = 0;
    std::int64_t equal = 0;
    std::optional<Mismatch> first;
};

/// Computes every row of the set with the model and compares bits. With `zero_c` every c counts as +0.
ReplayResult replay(const RecordedSet& set, const TensorCoreModel& model, bool zero_c);

/// The same by a unit, whose k is the set's number of products.
ReplayResult replay(const RecordedSet& set, const DotUnit& unit, bool zero_c);

/// Whether a set was recorded with c = 0 whatever its file of c says: FP8 to fp32 on Hopper, made through wgmma.
bool recorded_with_zero_c(const RecordedSet& set);

}  // namespace ulp
