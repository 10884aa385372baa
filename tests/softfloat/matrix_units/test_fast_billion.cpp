// The fast products against the plain ones, a billion random blocks of every path: groups that are added at once, on
// data of every class. Takes minutes to hours a path on one core. In pieces: ULPLAB_PATH names one row, ULPLAB_BLOCKS
// says how many blocks, ULPLAB_SEED where the random numbers begin (each seed is one product of 64 x 256 by 256 x 128).
#include <doctest/doctest.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "softfloat/lab/random_codes.hpp"
#include "softfloat/matrix_units/block_scaled.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/integer_model.hpp"
#include "softfloat/matrix_units/units.hpp"

namespace {

constexpr std::int64_t m = 64, n = 128, k = 256;

std::vector<float> floats(const ulp::FloatFormat& format, ulp::DataClass data, std::int64_t count, std::uint64_t seed) {
    std::vector<float> values;
    for (const auto code : ulp::random_codes(format, data, count, seed))
        values.push_back(ulp::in_fp32_container(format, code));
    return values;
}

ulp::DataClass class_of(std::uint64_t seed) { return ulp::all_classes[seed % std::size(ulp::all_classes)]; }

template <class Number>
std::int64_t differences(const std::vector<Number>& plain, const std::vector<Number>& fast) {
    std::int64_t different = 0;
    for (std::size_t i = 0; i < fast.size(); ++i) {
        different += std::memcmp(&fast[i], &plain[i], sizeof(Number)) != 0 ? 1 : 0;
    }
    return different;
}

std::int64_t compare(const ulp::TensorCoreModel& model, std::uint64_t seed) {
    const auto data = class_of(seed);
    const auto a = floats(model.a_format, data, m * k, 3 * seed);
    const auto b = floats(model.b_format, data, k * n, 3 * seed + 1);
    const auto c = floats(model.accumulator, data, m * n, 3 * seed + 2);
    std::vector<float> plain(c.size()), fast(c.size());
    ulp::GemmProblem p{{a.data(), m, k}, {b.data(), k, n}, {c.data(), m, n}, {plain.data(), m, n}};
    ulp::gemm_plain(model, p);
    p.d.data = fast.data();
    ulp::gemm(model, p);
    return differences(plain, fast);
}

std::int64_t compare_fp64(const ulp::TensorCoreModel& model, std::uint64_t seed) {
    const auto doubles = [&](std::int64_t count, std::uint64_t stream) {
        std::vector<double> values;
        for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(count); ++i) {
            const auto code = ulp::random_code(ulp::formats::fp64, class_of(seed), ulp::random_word(stream, i));
            values.push_back(std::bit_cast<double>(code));
        }
        return values;
    };
    const auto a = doubles(m * k, 3 * seed);
    const auto b = doubles(k * n, 3 * seed + 1);
    const auto c = doubles(m * n, 3 * seed + 2);
    std::vector<double> plain(c.size()), fast(c.size());
    ulp::Fp64Problem p{{a.data(), m, k}, {b.data(), k, n}, {c.data(), m, n}, {plain.data(), m, n}};
    ulp::gemm_plain(model, p);
    p.d.data = fast.data();
    ulp::gemm(model, p);
    return differences(plain, fast);
}

std::int64_t compare(const ulp::BlockScaledModel& model, std::uint64_t seed) {
    const auto data = class_of(seed);
    const std::int64_t blocks = k / model.scale_block;
    const auto a = floats(model.unscaled.a_format, data, m * k, 5 * seed);
    const auto b = floats(model.unscaled.b_format, data, k * n, 5 * seed + 1);
    const auto c = floats(model.unscaled.accumulator, data, m * n, 5 * seed + 2);
    const auto x = floats(model.scale_format, data, m * blocks, 5 * seed + 3);
    const auto y = floats(model.scale_format, data, blocks * n, 5 * seed + 4);
    std::vector<float> plain(c.size()), fast(c.size());
    ulp::BlockScaledProblem p{{{a.data(), m, k}, {b.data(), k, n}, {c.data(), m, n}, {plain.data(), m, n}},
                              {x.data(), m, blocks},
                              {y.data(), blocks, n}};
    ulp::gemm_plain(model, p);
    p.product.d.data = fast.data();
    ulp::gemm(model, p);
    return differences(plain, fast);
}

std::int64_t compare(const ulp::IntegerModel& model, std::uint64_t seed) {
    const auto integers = [&](ulp::IntegerRange range, std::int64_t count, std::uint64_t stream) {
        std::vector<std::int32_t> values(static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < values.size(); ++i) {
            const std::uint64_t word = ulp::random_word(stream, i);
            const int place = static_cast<int>(word >> 40) % (range.greatest - range.least + 1);
            values[i] = (word & 3) == 0 ? range.greatest : range.least + place;
        }
        return values;
    };
    const auto a = integers(operand_range(model, model.a_signed), m * k, 3 * seed);
    const auto b = integers(operand_range(model, model.b_signed), k * n, 3 * seed + 1);
    std::vector<std::int32_t> c(static_cast<std::size_t>(m * n)), plain(c.size()), fast(c.size());
    for (std::size_t i = 0; i < c.size(); ++i) {
        const std::uint64_t word = ulp::random_word(3 * seed + 2, i);
        c[i] = (word & 1) != 0 ? 0x7FFFFFFF - static_cast<int>(word >> 50) : static_cast<int>(word >> 32);
    }
    ulp::IntegerProblem p{{a.data(), m, k}, {b.data(), k, n}, {c.data(), m, n}, {plain.data(), m, n}};
    ulp::gemm_plain(model, p);
    p.d.data = fast.data();
    ulp::gemm(model, p);
    return differences(plain, fast);
}

/// One kernel's path by a row that takes it; products of a block.
struct Path {
    std::string key;
    std::int64_t products;
    std::function<std::int64_t(std::uint64_t)> compare_seed;
};

std::vector<Path> paths() {
    std::vector<Path> all;
    for (const char* key : {"sm_90:mma.fp16.fp32",
                            "sm_90:mma.fp16.fp16",
                            "sm_90:mma.bf16.fp32",
                            "sm_90:mma.tf32.fp32",
                            "sm_80:mma.fp16.fp32",
                            "sm_70:mma.fp16.fp32",
                            "sm_90:wgmma.e4m3.fp32",
                            "sm_89:mma.e5m2.fp32",
                            "sm_90:mma.e4m3.fp32",
                            "sm_90:mma.e4m3.fp16",
                            "sm_100:tcgen05.e4m3.fp32",
                            "sm_100:tcgen05.fp16_bf16.fp32",
                            "sm_100:tcgen05.bf16_fp16.fp32",
                            "gfx908:mfma_pairwise.fp16.fp32",
                            "gfx908:mfma_pairwise.bf16.fp32",
                            "gfx908:mfma.fp32.fp32",
                            "gfx908:mfma.fp16.fp32",
                            "gfx908:mfma.bf16.fp32",
                            "gfx90a:mfma.fp16.fp32",
                            "gfx942:mfma.fp16.fp32",
                            "gfx942:mfma.tf32.fp32",
                            "gfx942:mfma.e4m3fnuz.fp32",
                            "x86:vdpbf16ps.bf16.fp32",
                            "x86:tdpbf16ps.bf16.fp32"}) {
        const ulp::TensorCoreModel model = ulp::unit_model<ulp::TensorCoreModel>(key);
        const bool chain = model.summation == ulp::Summation::fma_chain;
        all.push_back({key, chain ? model.instruction_k : model.group_size,
                       [=](std::uint64_t seed) { return compare(model, seed); }});
    }
    const char* fp64 = "sm_90:mma.fp64.fp64";
    const ulp::TensorCoreModel chain = ulp::unit_model<ulp::TensorCoreModel>(fp64);
    all.push_back({fp64, chain.instruction_k, [=](std::uint64_t seed) { return compare_fp64(chain, seed); }});
    for (const char* key :
         {"sm_100:tcgen05.mxf8f6f4.e4m3.fp32", "sm_100:tcgen05.mxf4.e2m1.fp32", "sm_100:tcgen05.nvf4.e2m1.fp32"}) {
        const ulp::BlockScaledModel model = ulp::unit_model<ulp::BlockScaledModel>(key);
        all.push_back({key, model.unscaled.instruction_k, [=](std::uint64_t seed) { return compare(model, seed); }});
    }
    for (const char* key : {"sm_80:mma.s8.s32", "sm_80:mma.s8.s32.satfinite", "sm_80:mma.b1_xor.s32"}) {
        const ulp::IntegerModel model = ulp::unit_model<ulp::IntegerModel>(key);
        all.push_back({key, model.instruction_k, [=](std::uint64_t seed) { return compare(model, seed); }});
    }
    return all;
}

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
    const char* text = std::getenv(variable);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace

TEST_CASE("fast and plain products agree on a billion blocks of each path") {
    const char* only = std::getenv("ULPLAB_PATH");
    const std::uint64_t blocks = number_from("ULPLAB_BLOCKS", 1'000'000'000);
    bool found = false;
    for (const Path& path : paths()) {
        if (only != nullptr && path.key != only) continue;
        found = true;
        const std::uint64_t blocks_a_seed = static_cast<std::uint64_t>(m * n * k / path.products);
        const std::uint64_t first = number_from("ULPLAB_SEED", 1);
        std::uint64_t seed = first;
        std::int64_t different = 0;
        for (; (seed - first) * blocks_a_seed < blocks; ++seed) different += path.compare_seed(seed);
        CAPTURE(path.key);
        CHECK(different == 0);
        std::cout << path.key << ": " << (seed - first) * blocks_a_seed << " blocks compared, " << different
                  << " elements differ, next seed " << seed << std::endl;
    }
    CHECK(found);
}
