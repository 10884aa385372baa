// The classes of inputs hold what they say.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "gpu/devices/executor.hpp"
#include "gpu/devices/recording.hpp"
#include "gpu/devices/reference.hpp"
#include "gpu/instructions/input_classes.hpp"

using namespace ulp::gpu;

namespace {

struct Census {
    int zeros = 0, subnormals = 0, infinities = 0, nans = 0, total = 0;
    int lowest_exponent = 10000, highest_exponent = -10000;
};

Census census(const PackedMatrix& matrix, const ulp::FloatFormat& format) {
    Census count;
    for (std::uint64_t i = 0; i < matrix.rows(); ++i) {
        for (std::uint64_t j = 0; j < matrix.columns(); ++j) {
            const auto value = ulp::decode<std::uint64_t>(format, matrix.get(i, j));
            ++count.total;
            if (value.kind == ulp::Kind::zero) ++count.zeros;
            if (value.kind == ulp::Kind::infinity) ++count.infinities;
            if (value.kind == ulp::Kind::nan) ++count.nans;
            if (value.kind != ulp::Kind::finite) continue;
            const int exponent = value.exponent + format.fraction_bits;
            if ((value.significand >> format.fraction_bits) == 0) ++count.subnormals;
            count.lowest_exponent = std::min(count.lowest_exponent, exponent);
            count.highest_exponent = std::max(count.highest_exponent, exponent);
        }
    }
    return count;
}

const Instruction& fp16() { return instruction_by_name("mma.m16n8k16.fp16.fp32"); }

}  // namespace

TEST_CASE("ordinary operands are finite, not zero, and between 2^-12 and 2^4") {
    const auto count = census(make_tiles(fp16(), InputClass::ordinary, 1, 16).a, ulp::formats::fp16);
    CHECK(count.total == 4096);
    CHECK(count.zeros + count.infinities + count.nans + count.subnormals == 0);
    CHECK(count.lowest_exponent == -12);
    CHECK(count.highest_exponent == 3);
}

TEST_CASE("wide operands use every exponent, subnormals included, and stay finite") {
    for (const Instruction& row : instructions()) {
        if (!is_float(row.a)) continue;
        CAPTURE(row.name());
        const auto format = format_of(row.a);
        const auto count = census(make_tiles(row, InputClass::wide, 1, 64).a, format);
        CHECK(count.infinities + count.nans == 0);
        CHECK(count.highest_exponent >= format.emax() - (format.emax() > 100 ? 20 : 0));
        if (format.emax() < 100) CHECK(count.subnormals > 0);
    }
}

TEST_CASE("bit patterns hold a quarter zeros and some infinities and NaNs") {
    const auto count = census(make_tiles(fp16(), InputClass::bits, 1, 16).a, ulp::formats::fp16);
    CHECK(std::abs(count.zeros - 1024) < 100);
    CHECK(count.nans > 50);
    CHECK(make_tiles(instruction_by_name("mma.m16n8k8.tf32.fp32"), InputClass::bits, 1, 1).a.get(0, 0) != 0);
}

TEST_CASE("FP4 is in the middle of its byte, nothing around it, scales keep to their class") {
    for (const InputClass input_class : input_classes) {
        const HostProduct p = make_tiles(instruction_by_name("mma.m16n8k32.mxf8f6f4.e2m1.fp32"), input_class, 1, 4);
        std::uint64_t seen = 0;
        for (std::uint64_t k = 0; k < 32; ++k) seen |= p.a.get(1, k) | p.b.get(1, k);
        CHECK(seen == 0x3C);
        for (const char* name : {"mma.m16n8k64.mxf4.e2m1.fp32", "mma.m16n8k64.nvf4.e2m1.fp32"}) {
            const Instruction& row = instruction_by_name(name);
            const HostProduct q = make_tiles(row, input_class, 1, 64);
            const Census scales = census(q.a_scales, scale_format_of(row.scaling));
            CHECK(scales.total == 64 * 16 * row.scales() * static_cast<int>(steps_of(input_class)));
            CHECK((scales.nans > 0) == (input_class == InputClass::bits));
            const bool narrow = input_class != InputClass::wide && input_class != InputClass::bits;
            if (narrow) CHECK(scales.lowest_exponent == -4);
            if (narrow) CHECK(scales.highest_exponent == 3);
            if (!narrow) CHECK(scales.highest_exponent == scale_format_of(row.scaling).emax());
            CHECK_FALSE(q.a_scales == q.b_scales);
        }
    }
}

TEST_CASE("pairs cancel but for the last bits") {
    const HostProduct p = make_tiles(fp16(), InputClass::cancellation, 1, 1);
    int exact = 0;
    for (std::uint64_t row = 0; row < 16; ++row) {
        for (std::uint64_t k = 0; k < 16; k += 2) {
            CHECK((p.a.get(row, k) ^ p.a.get(row, k + 1)) <= 1);
            exact += p.a.get(row, k) == p.a.get(row, k + 1) ? 1 : 0;
            CHECK((p.b.get(row / 2, k) ^ p.b.get(row / 2, k + 1)) == 0x8000);
        }
    }
    CHECK(exact > 40);
    CHECK(exact < 90);
}

TEST_CASE("inputs depend on seed, operand, row and column, and on nothing else") {
    const HostProduct one = make_tiles(fp16(), InputClass::ordinary, 1, 1);
    const HostProduct many = make_tiles(fp16(), InputClass::ordinary, 1, 5);
    for (std::uint64_t row = 0; row < 16; ++row) CHECK(one.a.get(row, 3) == many.a.get(row, 3));
    CHECK_FALSE(make_tiles(fp16(), InputClass::ordinary, 2, 1).a == one.a);
    CHECK(input_code(fp16(), InputClass::ordinary, {1, OperandName::b, 9, 4}) == many.b.get(9, 4));
    CHECK(make_tiles(fp16(), InputClass::chain, 1, 1).a.columns() == 64);
    HostProduct fourth(fp16(), {}, true);
    fill_inputs(fourth, InputClass::ordinary, 1, 3);
    CHECK(fourth.a.get(5, 6) == many.a.get(3 * 16 + 5, 6));
    CHECK(fourth.b.get(5, 6) == many.b.get(3 * 8 + 5, 6));
    CHECK(fourth.c.get(5, 6) == many.c.get(3 * 16 + 5, 6));
}

TEST_CASE("the generator is pinned: recordings hold digests of results, not the inputs") {
    CHECK(mix(0) == 0xE220A8397B1DCDAF);  // first output of splitmix64 with seed 0 (Vigna's reference code)
    CHECK(input_digest_of(make_tiles(fp16(), InputClass::ordinary, 1, 1)) == 0x4E47E70C226AFC18);
    CHECK(input_digest_of(make_tiles(instruction_by_name("mma.m16n8k32.s8.s32"), InputClass::wide, 1, 1)) ==
          0x1802C3639E4EE265);
}

TEST_CASE("a digest sees the value and the place of every word") {
    const std::vector<std::uint32_t> words{1, 2, 3};
    const std::vector<std::uint32_t> swapped{2, 1, 3};
    const std::vector<std::uint32_t> changed{1, 2, 2};
    CHECK(digest(words) != digest(swapped));
    CHECK(digest(words) != digest(changed));
    CHECK(digest(words) == digest_term(2, 3) + digest_term(0, 1) + digest_term(1, 2));
}
