// The fp32 containers of narrow formats, and what NaNs keep on their way through them and through a product.
#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "softfloat/lab/random_codes.hpp"
#include "softfloat/lab/x86_units.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/nan_payload.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/names.hpp"
#include "tests/softfloat/matrix_units/bits.hpp"

namespace {

using ulp::FloatFormat;

/// All storage words of a format of at most 19 bits; of fp32 every 4,099th, which meets signs, exponents and NaNs.
std::vector<std::uint32_t> words_of(const FloatFormat& format) {
    std::vector<std::uint32_t> words;
    const std::uint64_t step = format.code_bits() > 19 ? 4099 : 1;
    for (std::uint64_t code = 0; code >> format.code_bits() == 0; code += step) {
        words.push_back(static_cast<std::uint32_t>(code << format.padding_bits));
    }
    return words;
}

/// D = A * B + C for one row and one column of codes.
std::uint32_t product(const ulp::TensorCoreModel& model, const std::vector<std::uint32_t>& a,
                      const std::vector<std::uint32_t>& b, std::uint32_t c) {
    std::vector<float> x, y;
    for (const auto code : a) x.push_back(ulp::in_fp32_container(model.a_format, code));
    for (const auto code : b) y.push_back(ulp::in_fp32_container(model.b_format, code));
    const float z = ulp::in_fp32_container(model.accumulator, c);
    float d = 0;
    const auto k = static_cast<std::int64_t>(a.size());
    ulp::gemm(model, {{x.data(), 1, k}, {y.data(), k, 1}, {&z, 1, 1}, {&d, 1, 1}});
    return ulp::operand_code(model.accumulator, d);
}

}  // namespace

TEST_CASE("every code of every format comes back from its container, NaNs with sign and payload") {
    for (const ulp::NamedFormat& named : ulp::named_formats()) {
        const FloatFormat& format = named.format;
        if (format.storage_bits() > 32) continue;
        CAPTURE(std::string(named.name));
        int changed = 0, wrong_kind = 0, nans = 0, lost_by_conversion = 0;
        for (const std::uint32_t word : words_of(format)) {
            const float container = ulp::in_fp32_container(format, word);
            changed += ulp::operand_code(format, container) != word ? 1 : 0;
            const bool nan = ulp::is_nan(format, word);
            wrong_kind += ulp::is_nan(ulp::formats::fp32, bits(container)) != nan ? 1 : 0;
            nans += nan ? 1 : 0;
            ulp::Context exact;
            lost_by_conversion += ulp::convert_bits(format, format, word, exact) != word ? 1 : 0;
        }
        CHECK(changed == 0);
        CHECK(wrong_kind == 0);
        // An arithmetic conversion in the container's place is caught: it makes one NaN of all.
        CHECK((lost_by_conversion > 0) == (nans > 1));
    }
}

TEST_CASE("the all-ones NaN of NVIDIA's units is all ones in every format") {
    CHECK(bits(ulp::in_fp32_container(ulp::formats::fp16, 0x7FFF)) == 0x7FFFFFFF);
    CHECK(bits(ulp::in_fp32_container(ulp::formats::e4m3, 0x7F)) == 0x7FFFFFFF);
    CHECK(ulp::operand_code(ulp::formats::fp16, std::bit_cast<float>(0x7FFFFFFFU)) == 0x7FFF);
    CHECK(ulp::operand_code(ulp::formats::bf16, std::bit_cast<float>(0x7F800001U)) == 0x7FC0);  // never infinity
}

TEST_CASE("an invalid product of an fp16 unit is the unit's NaN") {
    CHECK(product(ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.fp16.fp16"), {0x7C00}, {0x0000}, 0) == 0x7FFF);
    CHECK(product(ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.fp16.fp32"), {0x7C00}, {0x0000}, 0) == 0x7FFFFFFF);
}

TEST_CASE("NaNs of bf16 operands pass through a product as through x86's instruction") {
    const ulp::TensorCoreModel& model = ulp::unit_model<ulp::TensorCoreModel>("x86:vdpbf16ps.bf16.fp32");
    CHECK(product(model, {0xFFC1, 0}, {0x3F80, 0}, 0) == 0xFFC10000);
    CHECK(product(model, {0xFF81, 0}, {0x3F80, 0}, 0) == 0xFFC10000);  // a signalling NaN is made quiet
    int nans = 0, of_definition = 0, of_processor = 0;
    for (std::uint64_t i = 0; i < 20'000; ++i) {
        auto a = ulp::random_codes(ulp::formats::bf16, ulp::DataClass::full_range, 32, 3 * i);
        auto b = ulp::random_codes(ulp::formats::bf16, ulp::DataClass::full_range, 32, 3 * i + 1);
        const auto c = ulp::random_codes(ulp::formats::fp32, ulp::DataClass::full_range, 16, 3 * i + 2);
        if (i % 2 == 0) a[i % 32] |= 0x7F80;  // an infinity or a NaN, at a place that moves
        std::array<std::uint32_t, 16> d{};
        const std::vector<std::uint16_t> x(a.begin(), a.end()), y(b.begin(), b.end());
        const bool here = ulp::x86::has_vdpbf16ps();
        if (here) ulp::x86::vdpbf16ps(x.data(), y.data(), c.data(), d.data());
        for (std::size_t lane = 0; lane < 16; ++lane) {
            const std::uint32_t got =
                product(model, {a[2 * lane], a[2 * lane + 1]}, {b[2 * lane], b[2 * lane + 1]}, c[lane]);
            nans += ulp::is_nan(ulp::formats::fp32, got) ? 1 : 0;
            of_definition += got != ulp::chain_dot(model, &a[2 * lane], &b[2 * lane], c[lane], 2) ? 1 : 0;
            of_processor += here && got != d[lane] ? 1 : 0;
        }
    }
    CHECK(nans > 10'000);
    CHECK(of_definition == 0);
    CHECK(of_processor == 0);
}
