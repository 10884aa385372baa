// The dot products of this processor, an ARM one or qemu's, against their rows of the table, on blocks of every class.
#include <doctest/doctest.h>

#include <array>
#include <iostream>
#include <string>
#include <vector>

#include "softfloat/lab/arm_units.hpp"
#include "softfloat/lab/random_codes.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/units.hpp"

namespace {

/// Lanes on which `vectors` results of an instruction differ from the model's, the products of lane i at a_of(i),
/// b_of(i).
template <class Instruction, class Lane>
int arm_differences(const ulp::TensorCoreModel& model, ulp::DataClass data, int vectors, const Instruction& instruction,
                    const Lane& a_of, const Lane& b_of) {
    int different = 0;
    for (int i = 0; i < vectors; ++i) {
        const std::uint64_t seed = 3 * static_cast<std::uint64_t>(i);
        const auto a = ulp::random_codes(ulp::formats::bf16, data, 8, seed);
        const auto b = ulp::random_codes(ulp::formats::bf16, data, 8, seed + 1);
        const auto c = ulp::random_codes(ulp::formats::fp32, data, 4, seed + 2);
        const std::vector<std::uint16_t> x(a.begin(), a.end()), y(b.begin(), b.end());
        std::array<std::uint32_t, 4> d{};
        instruction(x.data(), y.data(), c.data(), d.data());
        for (std::size_t lane = 0; lane < 4; ++lane) {
            const std::uint32_t expected =
                ulp::chain_dot(model, &a[a_of(lane)], &b[b_of(lane)], c[lane], model.instruction_k);
            different += expected != d[lane] ? 1 : 0;
        }
    }
    return different;
}

}  // namespace

TEST_CASE("bfdot and bfmmla compute what their rows say, and other roundings do not") {
    if (!ulp::arm::has_bfdot()) {
        std::cout << "skipped: no FEAT_BF16 on this processor\n";
        return;
    }
    using Lane = std::size_t (*)(std::size_t);
    const Lane pairs = [](std::size_t lane) { return 2 * lane; };
    const Lane rows = [](std::size_t lane) { return lane / 2 * 4; };
    const Lane columns = [](std::size_t lane) { return lane % 2 * 4; };
    const auto& dot = ulp::unit_model<ulp::TensorCoreModel>("arm:bfdot.bf16.fp32");
    const auto& matrix = ulp::unit_model<ulp::TensorCoreModel>("arm:bfmmla.bf16.fp32");
    for (const ulp::DataClass data : ulp::all_classes) {
        CAPTURE(std::string(ulp::name_of(data)));
        CHECK(arm_differences(dot, data, 25'000, ulp::arm::bfdot, pairs, pairs) == 0);
        CHECK(arm_differences(matrix, data, 25'000, ulp::arm::bfmmla, rows, columns) == 0);
    }
    ulp::TensorCoreModel other = dot;
    other.rounding = ulp::Rounding::nearest_even;
    CHECK(arm_differences(other, ulp::DataClass::ordinary, 500, ulp::arm::bfdot, pairs, pairs) > 100);
    other = dot;
    other.flush_subnormals = false;
    CHECK(arm_differences(other, ulp::DataClass::subnormal, 500, ulp::arm::bfdot, pairs, pairs) > 100);
}
