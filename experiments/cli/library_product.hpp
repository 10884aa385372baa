// `ulplab matmul --unit cublas-VERSION@CARD`: the product that a library would give on a card, by stored answers.
#pragma once

#include <string>

#include "experiments/framework/exit_codes.hpp"

namespace ulp {

struct LibraryProductOptions {
    std::string unit, answers, type, a, b, c, out;
    bool transpose_a = false, transpose_b = false;
    float alpha = 1, beta = 0;  // C is read unless beta is 0
};

/// Whether a unit's name is that of a library on a card: "cublas-13.1.0@H100".
inline bool is_library_name(const std::string& unit) {
    return unit.starts_with("cublas") && !unit.starts_with("cublas:");
}

/// D = alpha * op(A) * op(B) + beta * C, all by rows; C has D's format. The library's A is B, as it thinks in columns:
/// of the type e5m2, E5M2 times E4M3 there, A is E4M3 and B is E5M2. Throws UsageError or DataError where the answers
/// are of another library or card, and DataError with the reason where they do not say how the library adds this shape.
ExitCode multiply_like_library(const LibraryProductOptions& options);

}  // namespace ulp
