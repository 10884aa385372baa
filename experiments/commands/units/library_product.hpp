// `ulplab matmul --like cublas-VERSION@CARD`: the product that a library would give on a card, by stored answers.
#pragma once

#include <string>

#include "experiments/program/exit_codes.hpp"

namespace ulp {

struct LibraryProductOptions {
    std::string like, answers, type, a, b, output;
    bool transpose_a = false, transpose_b = false;
    float alpha = 1;
};

/// D = alpha * op(A) * op(B), all by rows. Throws UsageError or DataError where the answers are of another library or
/// card, and DataError with the reason where they do not say how the library adds this shape.
ExitCode multiply_like_library(const LibraryProductOptions& options);

}  // namespace ulp
