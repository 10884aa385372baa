// Arrays in NumPy's .npy files, format versions 1 to 3: little-endian float32, float64, int32, int64 or bytes, in C
// order.
#pragma once

#include <filesystem>
#include <vector>

#include "engine/tensor.hpp"
#include "softfloat/errors.hpp"

namespace ulp {

struct NpyArray {
    Shape shape;
    std::vector<double> values;  // exact for every type but int64 beyond 2^53, which is refused

    /// The numbers as indices. Throws DataError if one is not an int.
    [[nodiscard]] std::vector<int> integers() const;
    template <class Real>
    [[nodiscard]] Tensor<Real> tensor() const {
        return {shape, std::vector<Real>(values.begin(), values.end())};
    }
};

/// Throws DataError naming the file for anything that is not such an array.
NpyArray read_npy(const std::filesystem::path& file);

}  // namespace ulp
