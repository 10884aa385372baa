// How fast the array operations are, beside memcpy of the same arrays in the same run.
//
//     build/release/bench/bench_softfloat --benchmark_repetitions=5 --benchmark_report_aggregates_only=true
//
// Names: round/FORMAT/ROUNDING/SIMD for 16M fp32 values, OPERATION/FORMAT/SIMD for 1M values of random bits. The
// counter `each` is the processor time an element. On a machine with other work, let the repetitions take turns and
// read the medians: --benchmark_enable_random_interleaving=true.
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>
#include <vector>

#include "softfloat/array/array.hpp"
#include "softfloat/array/functions.hpp"
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

/// The counter `each`: processor time an element.
void report(benchmark::State& state, std::size_t count) {
    state.counters["each"] = benchmark::Counter(
        static_cast<double>(count), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
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

constexpr std::size_t operated_count = std::size_t{1} << 20;

template <class Real>
std::vector<Real> random_bits(std::size_t count, std::uint32_t state) {
    std::vector<Real> values;
    for (std::size_t i = 0; i < count; ++i) {
        state = state * 1664525 + 1013904223;
        values.push_back(Real::from_bits(static_cast<typename Real::Bits>(state >> 13)));
    }
    return values;
}

template <class Real>
void operate(benchmark::State& state, ulp::array::Operation operation, Simd simd) {
    const auto a = random_bits<Real>(operated_count, 1);
    const auto b = random_bits<Real>(operated_count, 2);
    const auto c = random_bits<Real>(operated_count, 3);
    std::vector<Real> out(operated_count);
    const bool one = operation == ulp::array::op_sqrt;
    const bool three = operation == ulp::array::op_fma;
    const ulp::array::Operands operands{a.data(), one ? nullptr : b.data(), three ? c.data() : nullptr};
    for (auto _ : state) {
        ulp::array::operate_words(Real::format, operation, operands, out.data(), operated_count, {}, simd);
        benchmark::ClobberMemory();
    }
    report(state, operated_count);
}

template <class From, class To>
void convert(benchmark::State& state, Simd simd) {
    const auto bits = random_bits<From>(operated_count, 1);
    std::vector<To> to(operated_count);
    for (auto _ : state) {
        ulp::convert_array<From, To>(bits, to, {}, simd);
        benchmark::ClobberMemory();
    }
    report(state, operated_count);
}

template <class Real>
void evaluate(benchmark::State& state, ulp::array::Function function) {
    const auto x = random_bits<Real>(operated_count, 1);
    std::vector<Real> y(operated_count);
    for (auto _ : state) {
        ulp::array::evaluate_words(Real::format, function, x.data(), y.data(), operated_count, {});
        benchmark::ClobberMemory();
    }
    report(state, operated_count);
}

template <class Real>
void register_functions(const std::string& name) {
    using ulp::array::Function;
    benchmark::RegisterBenchmark(("exp/" + name).c_str(), evaluate<Real>, Function::exp);
    benchmark::RegisterBenchmark(("tanh/" + name).c_str(), evaluate<Real>, Function::tanh);
    benchmark::RegisterBenchmark(("gelu/" + name).c_str(), evaluate<Real>, Function::gelu);
}

template <class Real>
void register_format(const std::string& name, Simd simd) {
    const std::string where = name + "/" + std::string(name_of(simd));
    const char* const operations[] = {"add", "subtract", "multiply", "divide", "sqrt", "fma"};
    for (int i = 0; i < ulp::array::operations; ++i) {
        benchmark::RegisterBenchmark((std::string(operations[i]) + "/" + where).c_str(), operate<Real>,
                                     static_cast<ulp::array::Operation>(i), simd);
    }
    benchmark::RegisterBenchmark(("from_fp32/" + where).c_str(), convert<ulp::fp32, Real>, simd);
    benchmark::RegisterBenchmark(("to_fp32/" + where).c_str(), convert<Real, ulp::fp32>, simd);
    benchmark::RegisterBenchmark(("from_fp64/" + where).c_str(), convert<ulp::fp64, Real>, simd);
    benchmark::RegisterBenchmark(("to_fp64/" + where).c_str(), convert<Real, ulp::fp64>, simd);
}

void register_operations() {
    for (const Simd simd : ulp::supported_simd()) {
        register_format<ulp::fp16>("fp16", simd);
        register_format<ulp::bf16>("bf16", simd);
        register_format<ulp::tf32>("tf32", simd);
        register_format<ulp::e4m3>("e4m3", simd);
        register_format<ulp::e5m2>("e5m2", simd);
    }
    register_functions<ulp::fp16>("fp16");
    register_functions<ulp::bf16>("bf16");
    register_functions<ulp::e4m3>("e4m3");
    register_functions<ulp::fp32>("fp32");
}

}  // namespace

int main(int argc, char** argv) {
    register_rounding();
    register_operations();
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
}
