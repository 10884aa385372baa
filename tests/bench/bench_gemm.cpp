// Speed of soft products beside Eigen's fp32 product of the same size. Items are products: m * n * k.
#include <benchmark/benchmark.h>
#include <omp.h>

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "softfloat/tensor_core/fast/dispatch.hpp"
#include "softfloat/tensor_core/fast/fast_gemm.hpp"
#include "softfloat/tensor_core/gemm.hpp"
#include "softfloat/tensor_core/models.hpp"

namespace {

using ulp::TensorCoreModel;

/// Values as a layer has them: a sum of four uniform numbers, rounded to the format. A fixed sequence.
std::vector<float> ordinary_values(const ulp::FloatFormat& format, std::int64_t count, std::uint64_t seed) {
    std::vector<float> values(static_cast<std::size_t>(count));
    std::uint64_t state = seed;
    for (float& value : values) {
        float sum = 0;
        for (int i = 0; i < 4; ++i) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            sum += static_cast<float>(state >> 40) * 0x1p-24F - 0.5F;
        }
        value = ulp::carrier_of(format, ulp::operand_code(format, sum));
    }
    return values;
}

void count_products(benchmark::State& state, std::int64_t size) {
    state.SetItemsProcessed(state.iterations() * size * size * size);
}

void soft(benchmark::State& state, const ulp::fast::Kernels* kernels, const TensorCoreModel& model, std::int64_t size,
          int threads) {
    const auto a = ordinary_values(model.a_format, size * size, 1);
    const auto b = ordinary_values(model.b_format, size * size, 2);
    std::vector<float> d(a.size());
    const ulp::GemmProblem problem{size, size, size, {a.data(), size, 1}, {b.data(), size, 1}, {}, {d.data(), size, 1}};
    omp_set_num_threads(threads);
    for (auto _ : state) {
        if (kernels != nullptr) {
            ulp::fast::fast_gemm(*kernels, model, problem);
        } else {
            ulp::soft_gemm_plain(model, problem);
        }
        benchmark::DoNotOptimize(d.data());
    }
    count_products(state, size);
}

void eigen(benchmark::State& state, std::int64_t size, int threads) {
    using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const auto x = ordinary_values(ulp::formats::fp32, size * size, 1);
    const auto y = ordinary_values(ulp::formats::fp32, size * size, 2);
    const Matrix a = Eigen::Map<const Matrix>(x.data(), size, size);
    const Matrix b = Eigen::Map<const Matrix>(y.data(), size, size);
    Matrix d(size, size);
    omp_set_num_threads(threads);
    Eigen::setNbThreads(threads);
    for (auto _ : state) {
        d.noalias() = a * b;
        benchmark::DoNotOptimize(d.data());
    }
    count_products(state, size);
}

void add(const std::string& name, int threads, const std::function<void(benchmark::State&)>& run) {
    auto* benchmark = benchmark::RegisterBenchmark(name.c_str(), run)->Unit(benchmark::kMillisecond);
    if (threads > 1) benchmark->UseRealTime();  // the processor time is the first thread's alone
}

void add_soft(const std::string& name, const ulp::fast::Kernels* kernels, const char* key, std::int64_t size,
              int threads = 1) {
    const TensorCoreModel model = ulp::find_model(key).model;
    add(name, threads, [=](benchmark::State& state) { soft(state, kernels, model, size, threads); });
}

void add_eigen(std::int64_t size, int threads = 1) {
    const std::string name = "eigen/fp32/" + std::to_string(size) + (threads == 1 ? "" : "/threads:2");
    add(name, threads, [=](benchmark::State& state) { eigen(state, size, threads); });
}

struct Case {
    const char* name;
    const char* key;
};
constexpr Case cases[] = {
    {"hopper/fp16_fp32", "sm_90:mma.fp16.fp32"},         {"hopper/fp16_fp16", "sm_90:mma.fp16.fp16"},
    {"hopper/bf16_fp32", "sm_90:mma.bf16.fp32"},         {"hopper/tf32_fp32", "sm_90:mma.tf32.fp32"},
    {"hopper/e4m3_fp32", "sm_90:wgmma.e4m3.fp32"},       {"hopper/e4m3_fp32_mma", "sm_90:mma.e4m3.fp32"},
    {"ampere/fp16_fp32", "sm_80:mma.fp16.fp32"},         {"ampere/tf32_fp32", "sm_80:mma.tf32.fp32"},
    {"volta/fp16_fp32", "sm_70:mma.fp16.fp32"},          {"ada/e4m3_fp32", "sm_89:mma.e4m3.fp32"},
    {"blackwell/e4m3_fp32", "sm_100:tcgen05.e4m3.fp32"},
};

void add_all() {
    const ulp::fast::Kernels* best = &ulp::fast::kernels_of(ulp::simd_choice());
    for (const std::int64_t size : {128, 512, 1024}) {
        add_eigen(size);
        add_soft("soft/hopper/fp16_fp32/" + std::to_string(size), best, "sm_90:mma.fp16.fp32", size);
    }
    for (const Case& c : cases) {
        if (std::string(c.name) != "hopper/fp16_fp32")
            add_soft(std::string("soft/") + c.name + "/512", best, c.key, 512);
    }
    for (const ulp::Simd simd : ulp::supported_simd()) {
        if (simd > ulp::Simd::avx512) continue;  // no kernels of its own
        const ulp::fast::Kernels* set = &ulp::fast::kernels_of(simd);
        add_soft(std::string("soft/") + set->name + "/hopper/fp16_fp32/512", set, "sm_90:mma.fp16.fp32", 512);
    }
    add_soft("soft/plain/hopper/fp16_fp32/128", nullptr, "sm_90:mma.fp16.fp32", 128);
    add_eigen(512, 2);
    add_soft("soft/hopper/fp16_fp32/512/threads:2", best, "sm_90:mma.fp16.fp32", 512, 2);
}

}  // namespace

int main(int argc, char** argv) {
    add_all();
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
