// Blocks with scales by the exponent, many at a time (exponent_blocks.hpp), against the definition block by block.
#include <doctest/doctest.h>
#include <omp.h>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <string>
#include <vector>

#include "softfloat/quantization/exponent_blocks.hpp"
#include "tests/softfloat/cases.hpp"

namespace ulp::test {
namespace {

/// Numbers of very different blocks: zeros, subnormal numbers, now and then an infinity or a NaN.
std::vector<float> mixed_operand(std::int64_t lines, std::int64_t k, std::uint64_t seed) {
    RandomWords random(seed);
    std::vector<float> x(static_cast<std::size_t>(lines * k));
    int field = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (i % 16 == 0) field = static_cast<int>(random.below(255));
        const auto word = static_cast<std::uint32_t>(random.next());
        const auto own = static_cast<std::uint32_t>(std::max(0, field - static_cast<int>(word >> 28)));
        const bool is_zero = field % 16 == 3 || word % 8 == 0;
        const bool is_special = field % 16 == 5 && word % 512 == 1;
        const std::uint32_t magnitude = is_zero ? 0 : is_special ? 0x7F800000 + word % 2 : own << 23 | word >> 9;
        x[i] = std::bit_cast<float>(magnitude | (word << 20 & 0x80000000));
    }
    return x;
}

int differing(const std::vector<float>& a, const std::vector<float>& b) {
    int count = a.size() == b.size() ? 0 : 1;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        const bool both_nan = std::isnan(a[i]) && std::isnan(b[i]);
        count += both_nan || std::bit_cast<std::uint32_t>(a[i]) == std::bit_cast<std::uint32_t>(b[i]) ? 0 : 1;
    }
    return count;
}

std::vector<float> by_lines(const Quantized& q) {
    std::vector<float> numbers;
    for (std::int64_t i = 0; i < q.lines; ++i) {
        for (std::int64_t j = 0; j < q.k; ++j) numbers.push_back(q.elements()(i, j));
    }
    return numbers;
}

}  // namespace

TEST_CASE("elements below 1 have scales of the definition, up to the largest scale, and no kernel") {
    Quantization how = quantization_by_name("mxfp8");
    how.element = ulp::FloatFormat{2, 1, 5};  // its largest number is 1.5 x 2^-3
    CHECK_FALSE(has_exponent_blocks(how));
    Quantization definition = how;
    definition.scale.least = FLT_TRUE_MIN;
    std::vector<float> x = mixed_operand(4, 64, 1);
    for (std::size_t i = 0; i < 32; ++i) x[i] = FLT_MAX / static_cast<float>(i + 1);
    const MatrixView view(x.data(), 4, 64);
    const Quantized found = quantize(how, view), expected = quantize(definition, view);
    CHECK(differing(found.scales, expected.scales) == 0);
    CHECK(differing(by_lines(found), by_lines(expected)) == 0);
}

TEST_CASE("blocks with scales by the exponent are those of the definition, by lines and by columns") {
    struct Extent {
        std::int64_t lines, k;
    };
    const int threads = omp_get_max_threads();
    for (const char* name : {"mxfp8", "mxfp8_e5m2", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4", "mxfp8_ceil", "mxfp4_ceil"}) {
        for (const SpecialScale zero : {SpecialScale::least, SpecialScale::one, SpecialScale::nan}) {
            Quantization how = quantization_by_name(name);
            how.zero = zero;
            CHECK(has_exponent_blocks(how));
            Quantization definition = how;
            definition.scale.least = FLT_TRUE_MIN;  // no scale is less
            CHECK_FALSE(has_exponent_blocks(definition));
            for (const Extent& extent : {Extent{1, 1}, {3, 70}, {70, 3}, {5, 96}, {96, 5}, {300, 64}, {64, 4200}}) {
                const std::int64_t lines = extent.lines, k = extent.k;
                CAPTURE(std::string(name));
                CAPTURE(lines);
                CAPTURE(k);
                const std::vector<float> x = mixed_operand(lines, k, static_cast<std::uint64_t>(lines + k));
                for (const MatrixView& view :
                     {MatrixView(x.data(), lines, k), MatrixView(x.data(), k, lines).transposed()}) {
                    const Quantized expected = quantize(definition, view);
                    for (const int count : {1, 3}) {
                        omp_set_num_threads(count);
                        const Quantized found = quantize(how, view);
                        CHECK(found.by_columns == (!view.row_major() && view.col_major()));
                        CHECK(found.blocks_along_k == expected.blocks_along_k);
                        CHECK(differing(found.scales, expected.scales) == 0);
                        CHECK(differing(by_lines(found), by_lines(expected)) == 0);
                        CHECK(differing(dequantize(found), dequantize(expected)) == 0);
                    }
                }
            }
        }
    }
    omp_set_num_threads(threads);
}

}  // namespace ulp::test
