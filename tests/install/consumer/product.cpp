// A matrix product through the seam of the installed engine.
#include <fmt/core.h>

#include <ulplab/engine/products/matmul.hpp>

int main() {
    const ulp::Matrix a = ulp::Matrix::Constant(2, 3, 2);
    const ulp::Matrix b = ulp::Matrix::Constant(3, 2, 0.5F);
    const auto unit = ulp::make_backend("soft:h100");
    const ulp::Matrix d = ulp::matmul(*unit, {ulp::formats::fp16, ulp::formats::fp32}, a, b);
    fmt::print("{} {}\n", d(0, 0), d(1, 1));
}
