// Arithmetic, text and a matrix unit from the installed softfloat.
#include <cstdint>
#include <iostream>
#include <ulplab/softfloat/matrix_units/chain_dot.hpp>
#include <ulplab/softfloat/matrix_units/units.hpp>
#include <ulplab/softfloat/text.hpp>

int main() {
    const ulp::fp16 sum = ulp::fp16{2048} + ulp::fp16{1};
    const std::uint32_t a[] = {ulp::fp16{1.5}.bits()};
    const std::uint32_t b[] = {ulp::fp16{2}.bits()};
    const auto& unit = ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.fp16.fp32");
    std::cout << sum << ' ' << ulp::to_decimal(ulp::formats::fp32, ulp::chain_dot(unit, a, b, 0U, 1)) << '\n';
}
