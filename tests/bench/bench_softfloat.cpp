// How fast the array operations are, beside memcpy of the same arrays in the same run.
//
//     build/release/bench/bench_softfloat --benchmark_repetitions=5 --benchmark_report_aggregates_only=true
//
// Names: round/FORMAT/ROUNDING/SIMD. The counter ns is nanoseconds an element.
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>
#include <vector>

#include "softfloat/array/array.hpp"
#include "softfloat/format_names.hpp"

namespace {

using ulp::ArrayContext;
using ulp::FloatFormat;
using ulp::Rounding;
using ulp::Simd;

struct NamedRounding {
    const char* name;
    Rounding rounding;
};
constexpr NamedRounding roundings[] = {
    {"nearest_even", Rounding::nearest_even},
    {"nearest_away", Rounding::nearest_away},
    {"toward_zero", Rounding::toward_zero},
    {"down", Rounding::down},
    {"up", Rounding::up},
    {"odd", Rounding::odd},
    {"stochastic", Rounding::stochastic},
};

constexpr std::size_t rounded_count = std::size_t{1} << 24;

/// Values of both signs around 1, over some 16 binades: some overflow E4M3, some are subnormal in fp16.
std::vector<float> ordinary_values(std::size_t count) {
    std::vector<float> values(count);
    std::uint32_t state = 1;
    for (float& x : values) {
        state = state * 1664525 + 1013904223;
        const std::uint32_t word = (state & 0x807FFFFF) | (118 + (state >> 24) % 18) << 23;
        std::memcpy(&x, &word, sizeof x);
    }
    return values;
}

void report(benchmark::State& state, std::size_t count) {
    state.counters["ns"] = benchmark::Counter(
        static_cast<double>(count) * 1e-9, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void memcpy_fp32(benchmark::State& state) {
    const auto from = ordinary_values(rounded_count);
    std::vector<float> to(from.size());
    for (auto _ : state) {
        std::memcpy(to.data(), from.data(), 4 * from.size());
        benchmark::ClobberMemory();
    }
    report(state, rounded_count);
}

void round_in_place(benchmark::State& state, const FloatFormat& format, Rounding rounding, Simd simd) {
    auto values = ordinary_values(rounded_count);
    for (auto _ : state) {
        round_array(format, values, {.rounding = rounding}, simd);
        benchmark::ClobberMemory();
    }
    report(state, rounded_count);
}

void round_to_other(benchmark::State& state, const FloatFormat& format, Rounding rounding, Simd simd) {
    const auto from = ordinary_values(rounded_count);
    std::vector<float> to(from.size());
    for (auto _ : state) {
        round_array(format, from, to, {.rounding = rounding}, simd);
        benchmark::ClobberMemory();
    }
    report(state, rounded_count);
}

void register_rounding() {
    benchmark::RegisterBenchmark("memcpy/fp32/16M", memcpy_fp32);
    for (const Simd simd : ulp::supported_simd()) {
        if (simd == Simd::avx512_fp16) continue;  // has no rounding of its own
        for (const char* name : {"fp16", "bf16", "tf32", "e4m3", "e5m2"}) {
            for (const auto& [rounding_name, rounding] : roundings) {
                const std::string where = std::string(name) + "/" + rounding_name + "/" + std::string(name_of(simd));
                const FloatFormat format = ulp::format_by_name(name);
                benchmark::RegisterBenchmark(("round/" + where).c_str(), round_to_other, format, rounding, simd);
                benchmark::RegisterBenchmark(("round_in_place/" + where).c_str(), round_in_place, format, rounding,
                                             simd);
            }
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    register_rounding();
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
}
