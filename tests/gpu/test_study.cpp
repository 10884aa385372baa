// The study of cuBLAS, on stand-ins for the library whose order of summation is known.
#include <doctest/doctest.h>

#include <bit>
#include <string>
#include <vector>

#include "gpu/library/cublas.hpp"
#include "gpu/library/cublas_study.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/matrix_units/gemm.hpp"

using namespace ulp::gpu;
using ulp::ProductOrder;

namespace {

/// The values of a matrix of codes.
std::vector<float> values_of(const PackedMatrix& matrix, const ulp::FloatFormat& format) {
    std::vector<float> values;
    for (std::uint64_t i = 0; i < matrix.rows(); ++i) {
        for (std::uint64_t k = 0; k < matrix.columns(); ++k) {
            values.push_back(ulp::in_fp32_container(format, static_cast<std::uint32_t>(matrix.get(i, k))));
        }
    }
    return values;
}

/// A library whose kernels compute D' = B' * A' by one model and order.
LibraryCall library_of(const std::string& key, const ProductOrder& order) {
    return [key, order](const LibraryProduct&, const PackedMatrix& a, const PackedMatrix& b, PackedMatrix& d) {
        const ulp::TensorCoreModel model = ulp::unit_model<ulp::TensorCoreModel>(key);
        const auto x = values_of(b, model.a_format);
        const auto y = values_of(a, model.b_format);
        const auto m = static_cast<std::int64_t>(d.columns());
        const auto n = static_cast<std::int64_t>(d.rows());
        const auto k = static_cast<std::int64_t>(a.columns());
        std::vector<float> sums(static_cast<std::size_t>(m * n));
        soft_product(model, order, {{x.data(), m, k}, {y.data(), k, n, 1, k}, {}, {sums.data(), m, n, 1, m}});
        for (std::size_t i = 0; i < sums.size(); ++i) {
            d.set(i / d.columns(), i % d.columns(), ulp::operand_code(model.accumulator, sums[i]));
        }
    };
}

}  // namespace

TEST_CASE("the study finds the model and the order of a library that has one") {
    struct Known {
        const char* product;
        const char* key;
        ProductOrder order;
        std::uint64_t k = 512;
    };
    for (const Known& known :
         {Known{"fp16", "sm_90:wgmma.fp16.fp32", {}}, Known{"bf16", "sm_90:mma.bf16.fp32", {.split_k = 2}},
          Known{"tf32", "sm_90:mma.tf32.fp32", {.split_k = 2, .slice_k = 16}},
          Known{"fp16_fp16", "sm_90:mma.fp16.fp16", {.split_k = 4, .slice_k = 16}},
          Known{"e4m3", "sm_90:wgmma.e4m3.fp32", {.promote_every = 128}},
          // As cuBLAS 13.1 splits 784 and 2048 on an H100, where 16 and 64 rows and columns are too few for its
          // processors.
          Known{"tf32", "sm_90:mma.tf32.fp32", {.piece_k = 68, .tile_k = 16}, 784},
          Known{"fp16_fp16", "sm_90:mma.fp16.fp16", {.piece_k = 72, .sum_format = ulp::formats::fp16}, 784}}) {
        CAPTURE(std::string(known.key));
        const StudyResult result =
            study(library_of(known.key, known.order), {known.product, true, 16, 16, known.k}, 90);
        CHECK(result.skipped.empty());
        CHECK(result.total == 256);
        CHECK(result.predicted());
        CHECK(result.prediction.find(name_of(known.order)) != std::string::npos);
        CHECK_FALSE(result.survivors.empty());
    }
}

TEST_CASE("a library that adds in another way is not called predicted") {
    // Odd and even k apart: no candidate.
    const LibraryCall library = library_of("sm_90:mma.fp16.fp32", {.split_k = 2, .slice_k = 1});
    const StudyResult result = study(library, {"fp16", true, 16, 16, 256}, 90);
    CHECK_FALSE(result.predicted());
    CHECK(result.equal < result.total);
}

TEST_CASE("the survivors of masking probes show where a chain's blocks begin") {
    const StudyResult result = study(library_of("sm_90:mma.fp16.fp32", {}), {"fp16", true, 64, 16, 64}, 90);
    // The pair meets in the block of j: every unit up to that block's end is lost.
    CHECK(result.survivors == "1-15: 48, 16-31: 32, 32-47: 16, 48-63: 0");
}

TEST_CASE("products without Tensor Cores leave their survivors and words of D, from which an order can be told") {
    // Two lanes, each over every other k, in plain fp32; products of fp16 are exact there.
    const LibraryCall two_lanes = [](const LibraryProduct& product, const PackedMatrix& a, const PackedMatrix& b,
                                     PackedMatrix& d) {
        const auto x = values_of(a, format_of(product.a));
        const auto y = values_of(b, format_of(product.b));
        const std::size_t k = a.columns();
        for (std::size_t row = 0; row < d.rows(); ++row) {
            float lanes[2] = {0, 0};
            for (std::size_t i = 0; i < k; ++i) lanes[i % 2] += x[row * k + i] * y[i];
            d.set(row, 0, std::bit_cast<std::uint32_t>(lanes[0] + lanes[1]));
        }
    };
    const SimtTraces traces = simt_traces(two_lanes, {"fp16", true, 8, 1, 8});
    // With the pair in lane 0 the three or fewer units after it and lane 1's four survive: 6, 5 and 4. With its second
    // half in lane 1 both lanes round units away, but for k = 7: there three units come before, which with it round to
    // four.
    CHECK(traces.survivors == "1-1: 0, 2-2: 6, 3-3: 0, 4-4: 5, 5-5: 0, 6-7: 4");
    CHECK(traces.words.size() == 8 * 8 + 7);
    const LibraryCall refusing = [](const LibraryProduct&, const PackedMatrix&, const PackedMatrix&, PackedMatrix&) {
        throw ulp::UsageError("no such product");
    };
    CHECK(simt_traces(refusing, {"fp32", true, 8, 1, 8}).skipped == "no such product");
    int vectors = 0;
    for (const StudyCase& c : simt_cases()) vectors += c.n == 1 ? 1 : 0;
    CHECK(vectors == 3 * 2 * 3 * 8);
}

TEST_CASE("a product that the library refuses is skipped with its sentence") {
    const LibraryCall refusing = [](const LibraryProduct&, const PackedMatrix&, const PackedMatrix&, PackedMatrix&) {
        throw ulp::UsageError("no such product");
    };
    const StudyResult result = study(refusing, {"fp16", true, 16, 16, 64}, 90);
    CHECK(result.skipped == "no such product");
    CHECK_FALSE(result.predicted());
}

TEST_CASE("kernels' names tell the instructions") {
    CHECK(instructions_by_name("sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1") ==
          "wgmma");
    CHECK(instructions_by_name("ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_64x3_tn") == "mma.sync");
    CHECK(instructions_by_name("ampere_sgemm_128x64_tn") == "no Tensor Cores");
    CHECK(instructions_by_name("cutlass_80_tensorop_s1688gemm_128x256_16x3_tn_align4") == "mma.sync");
    CHECK(instructions_by_name("nvjet_sm90_hss_128x256_64x4_2x1_v_bz_coopA_TNN") == "wgmma");
    CHECK(instructions_by_name("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_ffma_aligna4") ==
          "no Tensor Cores");
    CHECK(instructions_by_name("something") == "unknown");
    CHECK(readable_kernel_name("_ZN7cutlass7Kernel2I47cutlass_75_tensorop_h1688gemm_256x128_tn_align1EEvNT_6ParamsE") ==
          "cutlass::Kernel2<cutlass_75_tensorop_h1688gemm_256x128_tn_align1>");
    CHECK(readable_kernel_name("ampere_sgemm_128x64_tn") == "ampere_sgemm_128x64_tn");
}
