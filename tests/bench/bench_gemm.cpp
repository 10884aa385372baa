// Speed of soft products beside Eigen's fp32 product of the same size. Items are products: m * n * k.
#include <benchmark/benchmark.h>
#include <omp.h>

#include <Eigen/Core>
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "softfloat/matrix_units/block_scaled.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/gemm_kernels/fast_gemm.hpp"
#include "softfloat/matrix_units/gemm_kernels/kernel_choice.hpp"
#include "softfloat/matrix_units/integer_model.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/vector/dispatch.hpp"

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
        value = ulp::in_fp32_container(format, ulp::operand_code(format, sum));
    }
    return values;
}

void count_products(benchmark::State& state, std::int64_t size) {
    state.SetItemsProcessed(state.iterations() * size * size * size);
}

void soft(benchmark::State& state, const ulp::gemm_kernels::Kernels* kernels, const TensorCoreModel& model,
          std::int64_t size, int threads) {
    const auto a = ordinary_values(model.a_format, size * size, 1);
    const auto b = ordinary_values(model.b_format, size * size, 2);
    std::vector<float> d(a.size());
    const ulp::GemmProblem problem{{a.data(), size, size}, {b.data(), size, size}, {}, {d.data(), size, size}};
    omp_set_num_threads(threads);
    for (auto _ : state) {
        if (kernels != nullptr) {
            ulp::gemm_kernels::fast_gemm(*kernels, model, problem);
        } else {
            ulp::gemm_plain(model, problem);
        }
        benchmark::DoNotOptimize(d.data());
    }
    count_products(state, size);
}

void integer(benchmark::State& state, const ulp::IntegerModel& model, std::int64_t size) {
    const auto values = [&](bool is_signed, std::uint64_t seed) {
        const auto [least, greatest] = operand_range(model, is_signed);
        std::vector<std::int32_t> integers;
        for (const float x : ordinary_values(ulp::formats::fp32, size * size, seed)) {
            integers.push_back(least + static_cast<int>((x + 2) / 4 * static_cast<float>(greatest - least + 1)));
        }
        return integers;
    };
    const auto a = values(model.a_signed, 1);
    const auto b = values(model.b_signed, 2);
    std::vector<std::int32_t> d(a.size());
    const ulp::IntegerProblem problem{{a.data(), size, size}, {b.data(), size, size}, {}, {d.data(), size, size}};
    omp_set_num_threads(1);
    for (auto _ : state) {
        ulp::gemm(model, problem);
        benchmark::DoNotOptimize(d.data());
    }
    count_products(state, size);
}

void fp64(benchmark::State& state, const TensorCoreModel& model, std::int64_t size) {
    const auto x = ordinary_values(ulp::formats::fp32, size * size, 1);
    const auto y = ordinary_values(ulp::formats::fp32, size * size, 2);
    const std::vector<double> a(x.begin(), x.end());
    const std::vector<double> b(y.begin(), y.end());
    std::vector<double> d(a.size());
    const ulp::Fp64Problem problem{{a.data(), size, size}, {b.data(), size, size}, {}, {d.data(), size, size}};
    omp_set_num_threads(1);
    for (auto _ : state) {
        ulp::gemm(model, problem);
        benchmark::DoNotOptimize(d.data());
    }
    count_products(state, size);
}

void block_scaled(benchmark::State& state, const ulp::BlockScaledModel& model, std::int64_t size,
                  void (*multiply)(const ulp::BlockScaledModel&, const ulp::BlockScaledProblem&)) {
    const auto a = ordinary_values(model.unscaled.a_format, size * size, 1);
    const auto b = ordinary_values(model.unscaled.b_format, size * size, 2);
    const std::int64_t blocks = size / model.scale_block;
    std::vector<float> scales(static_cast<std::size_t>(size * blocks));
    for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = i % 3 == 0 ? 2.0F : 0.5F;
    std::vector<float> d(a.size());
    const ulp::BlockScaledProblem problem{{{a.data(), size, size}, {b.data(), size, size}, {}, {d.data(), size, size}},
                                          {scales.data(), size, blocks},
                                          {scales.data(), blocks, size}};
    omp_set_num_threads(1);
    for (auto _ : state) {
        multiply(model, problem);
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

void add_soft(const std::string& name, const ulp::gemm_kernels::Kernels* kernels, const TensorCoreModel& model,
              std::int64_t size, int threads = 1) {
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
    {"blackwell/e4m3_fp32", "sm_100:tcgen05.e4m3.fp32"}, {"hopper/fp64_fp64", "sm_90:mma.fp64.fp64"},
};

constexpr Case integer_cases[] = {
    {"hopper/s8_s32", "sm_90:wgmma.s8.s32"},
    {"hopper/s8_s32_satfinite", "sm_90:wgmma.s8.s32.satfinite"},
    {"ampere/s4_s32", "sm_80:mma.s4.s32"},
    {"ampere/b1_xor_s32", "sm_80:mma.b1_xor.s32"},
};

constexpr Case scaled_cases[] = {
    {"blackwell/mxf8f6f4_e4m3_fp32", "sm_100:tcgen05.mxf8f6f4.e4m3.fp32"},
    {"blackwell/mxf4_e2m1_fp32", "sm_100:tcgen05.mxf4.e2m1.fp32"},
    {"blackwell/nvf4_e2m1_fp32", "sm_100:tcgen05.nvf4.e2m1.fp32"},
};

/// Whether a row's arithmetic is not among those shown yet; adds it to them. Policies change no step of a kernel.
template <class Model>
bool is_new(std::vector<Model>& shown, Model model) {
    if constexpr (requires { model.policies; }) model.policies = {};
    if constexpr (requires { model.unscaled; }) model.unscaled.policies = {};
    if (std::find(shown.begin(), shown.end(), model) != shown.end()) return false;
    shown.push_back(model);
    return true;
}

/// f(name, model) for the named rows, then for those whose arithmetic none before has: these under their keys.
template <class Model, std::size_t count, class Function>
void each_row(const Case (&named)[count], const Function& f) {
    std::vector<Model> shown;
    for (const Case& c : named) {
        is_new(shown, ulp::unit_model<Model>(c.key));
        f(std::string(c.name), ulp::unit_model<Model>(c.key));
    }
    for (const auto& [row, model] : ulp::rows_of<Model>()) {
        if (is_new(shown, model)) f(row.key(), model);
    }
}

/// Floating rows, by their fast path where they have one.
void add_floating(const ulp::gemm_kernels::Kernels* kernels) {
    each_row<TensorCoreModel>(cases, [=](const std::string& name, const TensorCoreModel& model) {
        if (name == "hopper/fp16_fp32") return;  // in several sizes
        if (model.a_format == ulp::formats::fp64) {
            add("soft/" + name + "/512", 1, [=](benchmark::State& state) { fp64(state, model, 512); });
        } else {
            const bool fast = ulp::gemm_kernels::choose_kernel(model).family != ulp::gemm_kernels::Family::none;
            add_soft("soft/" + name + "/512", fast ? kernels : nullptr, model, 512);
        }
    });
}

/// Products of integers and with block scales.
void add_other_kinds() {
    each_row<ulp::IntegerModel>(integer_cases, [](const std::string& name, const ulp::IntegerModel& model) {
        add("soft/" + name + "/512", 1, [=](benchmark::State& state) { integer(state, model, 512); });
    });
    each_row<ulp::BlockScaledModel>(scaled_cases, [](const std::string& name, const ulp::BlockScaledModel& model) {
        add("soft/" + name + "/512", 1, [=](benchmark::State& state) { block_scaled(state, model, 512, ulp::gemm); });
    });
    for (const Case& c : scaled_cases) {
        const ulp::BlockScaledModel model = ulp::unit_model<ulp::BlockScaledModel>(c.key);
        add(std::string("soft/plain/") + c.name + "/128", 1,
            [=](benchmark::State& state) { block_scaled(state, model, 128, ulp::gemm_plain); });
    }
}

void add_all() {
    const TensorCoreModel& model = ulp::unit_model<TensorCoreModel>("sm_90:mma.fp16.fp32");
    const ulp::gemm_kernels::Kernels* best = &ulp::kernels_of<ulp::gemm_kernels::Kernels>(ulp::simd_choice());
    for (const std::int64_t size : {128, 512, 1024}) {
        add_eigen(size);
        add_soft("soft/hopper/fp16_fp32/" + std::to_string(size), best, model, size);
    }
    for (const ulp::Simd simd : ulp::supported_simd()) {
        if (simd == ulp::Simd::avx512_vnni || simd == ulp::Simd::avx512_fp16) continue;  // no kernels of its own
        const ulp::gemm_kernels::Kernels* set = &ulp::kernels_of<ulp::gemm_kernels::Kernels>(simd);
        add_soft(std::string("soft/") + set->name + "/hopper/fp16_fp32/512", set, model, 512);
    }
    add_soft("soft/plain/hopper/fp16_fp32/128", nullptr, model, 128);
    add_floating(best);
    add_other_kinds();
    add_eigen(512, 2);
    add_soft("soft/hopper/fp16_fp32/512/threads:2", best, model, 512, 2);
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
