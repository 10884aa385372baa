// Random products of FP4 elements with scales, of several kinds that a seed chooses.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "softfloat/lab/random_codes.hpp"
#include "softfloat/matrix_units/block_scaled.hpp"
#include "softfloat/matrix_units/gemm_kernels/fast_gemm.hpp"

namespace ulp::test {

/// A, B, C and scales. Seeds take turns in how far the scales of a line lie apart, where they lie, what the elements
/// are like, and what C is; rarely a scale is zero or NaN.
struct Fp4Case {
    BlockScaledModel model;
    std::int64_t m, n, k;
    std::vector<float> a, b, c, scales_of_a, scales_of_b;

    Fp4Case(const BlockScaledModel& of, const std::array<std::int64_t, 3>& extents, std::uint64_t seed)
        : model(of), m(extents[0]), n(extents[1]), k(extents[2]), seed_(seed) {
        constexpr std::array spreads{0, 1, 2, 3, 4, 5, 8, 20};
        const int spread = spreads[seed % spreads.size()];
        const bool powers = model.scale_format == formats::e8m0;
        constexpr std::array middles{0, -3, 40, -60, 100, -120};
        const int middle = powers ? middles[seed / 8 % middles.size()] : static_cast<int>(seed / 8 % 3) - 1;
        a = elements(m * k);
        b = elements(k * n);
        const std::int64_t blocks = (k + model.scale_block - 1) / model.scale_block;
        scales_of_a = scales(m * blocks, spread, middle);
        scales_of_b = scales(blocks * n, spread, seed % 5 == 0 ? -middle : middle);
        for (std::int64_t i = 0; i < m * n; ++i) c.push_back(addend(2 * middle + spread));
    }

    [[nodiscard]] std::vector<float> plain() {
        std::vector<float> d(static_cast<std::size_t>(m * n));
        gemm_plain(model, problem(d));
        return d;
    }
    std::int64_t differences(const gemm_kernels::Kernels& kernels, const std::vector<float>& expected) {
        std::vector<float> d(expected.size());
        if (!gemm_kernels::fast_scaled_gemm(kernels, model, problem(d))) return -1;
        std::int64_t count = 0;
        for (std::size_t i = 0; i < d.size(); ++i) {
            count += std::bit_cast<std::uint32_t>(d[i]) == std::bit_cast<std::uint32_t>(expected[i]) ? 0 : 1;
        }
        return count;
    }

  private:
    std::uint64_t word() { return random_word(seed_, at_++); }

    BlockScaledProblem problem(std::vector<float>& d) {
        const std::int64_t blocks = (k + model.scale_block - 1) / model.scale_block;
        BlockScaledProblem p{{.a = {a.data(), m, k}, .b = {b.data(), k, n}, .d = {d.data(), m, n}},
                             {scales_of_a.data(), m, blocks},
                             {scales_of_b.data(), blocks, n}};
        if (seed_ % 4 != 1) p.product.c = {c.data(), m, n};
        return p;
    }

    std::vector<float> elements(std::int64_t count) {
        std::vector<float> values;
        const std::uint64_t kind = seed_ / 3 % 4;
        for (std::int64_t i = 0; i < count; ++i) {
            const std::uint64_t w = word();
            // Any codes; the largest alone, of one sign; many zeros; numbers off the grid.
            std::uint32_t code = static_cast<std::uint32_t>(w & 15);
            if (kind == 1) code = 7;
            if (kind == 2 && (w >> 8) % 8 != 0) code &= 8;
            const float value = in_fp32_container(model.unscaled.a_format, code);
            values.push_back(kind == 3 && (w >> 8) % 64 == 0 ? value * 1.03F : value);
        }
        return values;
    }

    std::vector<float> scales(std::int64_t count, int spread, int middle) {
        std::vector<float> values;
        const bool powers = model.scale_format == formats::e8m0;
        for (std::int64_t i = 0; i < count; ++i) {
            const std::uint64_t w = word();
            const int exponent = middle + static_cast<int>(w % static_cast<unsigned>(spread + 1));
            const auto significand = static_cast<float>(powers ? 8 : 8 + (w >> 16) % 8) / 8;
            float scale = std::ldexp(significand, exponent);
            if (!powers && (w >> 24) % 512 == 0) scale = 0;
            if (!powers && (w >> 24) % 512 == 1) scale = 0x1p-9F;  // subnormal
            if ((w >> 24) % 4096 == 2) scale = std::numeric_limits<float>::quiet_NaN();
            values.push_back(in_fp32_container(model.scale_format, operand_code(model.scale_format, scale)));
        }
        return values;
    }

    /// Near the products, far below or above them, zeros, and rarely special.
    float addend(int products) {
        const std::uint64_t w = word();
        const float sign = (w & 1) != 0 ? -1.0F : 1.0F;
        const auto digits = static_cast<float>((w >> 8 & 0xFFFFFF) | 0x800000);
        const int offset = static_cast<int>(w >> 40 & 127) - 64;
        switch (w >> 48 & 7) {
            case 0: return sign * 0.0F;
            case 1: return sign * std::ldexp(digits, products - 23 + offset);
            case 2: return sign * std::ldexp(digits, -160 + offset / 8);  // subnormal
            case 3:
                if ((w >> 52) % 64 == 0) return sign * std::numeric_limits<float>::infinity();
                return sign * std::ldexp(digits, products - 36);
            default: return sign * std::ldexp(digits, products - 23 + offset / 8);
        }
    }

    std::uint64_t seed_ = 0, at_ = 0;
};

}  // namespace ulp::test
