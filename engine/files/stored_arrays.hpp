// Arrays of numbers by name, from files of weights: safetensors, and NumPy's .npz (stored or deflated).
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/tensor/tensor.hpp"

namespace ulp {

/// An array that is still in its file: what it claims to be is known, its numbers are read when they are asked for. So
/// a file that claims too much costs nothing where nobody wants that.
struct StoredArray {
    std::string type;  // as the file has it: "F64", "BF16", "<f4"
    Shape shape;
    bool exact = true;  // whether fp32 holds every number of the type
    /// In C order, to nearest in fp32. Throws DataError for a type that is no real number (C64, F4), and for damage.
    std::function<std::vector<float>()> numbers;
};
using StoredArrays = std::map<std::string, StoredArray>;

/// By what the file begins with. Throws DataError that names the file: neither of the two, cut short, lengths that lie,
/// a name that stands twice, parts that overlap, encryption, a checksum that is wrong.
StoredArrays stored_arrays(const std::filesystem::path& file);

StoredArrays safetensors_arrays(const std::filesystem::path& file);
/// Arrays are named as numpy.load names them: without ".npy".
StoredArrays npz_arrays(const std::filesystem::path& file);

}  // namespace ulp
