// How fast the array operations are: rounding beside memcpy of the same arrays in the same run.
//
//     build/release/bin/bench_softfloat [--markdown docs/array_speed.md] [options of Google Benchmark]
//     build/release/bin/bench_softfloat --options         the table of options alone, to standard output
//
// Names: round/FORMAT/ROUNDING/SIMD for 16M fp32 values, OPERATION/FORMAT/SIMD for 1M values of random bits,
// FUNCTION/FORMAT for 1M values around 1. The counter `each` is the processor time an element. On a machine with other
// work, let repetitions take turns and read the least:
// --benchmark_repetitions=5 --benchmark_enable_random_interleaving=true --benchmark_min_time=0.05.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "array_options.hpp"
#include "engine/files/whole_file.hpp"
#include "softfloat/array/array.hpp"
#include "softfloat/array/functions.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/names.hpp"

namespace {

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
        round_array(format, values, {.rounding = rounding, .random_bits = 32}, simd);
        benchmark::ClobberMemory();
    }
    report(state, rounded_count);
}

void round_to_other(benchmark::State& state, const FloatFormat& format, Rounding rounding, Simd simd) {
    const auto from = ordinary_values(rounded_count);
    std::vector<float> to(from.size());
    for (auto _ : state) {
        round_array(format, from, to, {.rounding = rounding, .random_bits = 32}, simd);
        benchmark::ClobberMemory();
    }
    report(state, rounded_count);
}

void register_rounding() {
    benchmark::RegisterBenchmark("memcpy/fp32/16M", memcpy_fp32);
    for (const Simd simd : ulp::supported_simd()) {
        if (simd == Simd::avx512_vnni || simd == Simd::avx512_fp16) continue;  // has no rounding of its own
        for (const char* name : {"fp16", "bf16", "tf32", "e4m3", "e5m2"}) {
            for (const auto& [rounding_name, rounding] : roundings) {
                const std::string where = std::string(name) + "/" + rounding_name + "/" + std::string(name_of(simd));
                const FloatFormat format = ulp::format_by_name(name);
                benchmark::RegisterBenchmark(("round/" + where).c_str(), round_to_other, format, rounding, simd);
                if (rounding != Rounding::nearest_even) continue;
                benchmark::RegisterBenchmark(("round_in_place/" + where).c_str(), round_in_place, format, rounding,
                                             simd);
            }
        }
    }
}

constexpr std::size_t operated_count = std::size_t{1} << 20;

template <class Real>
std::vector<Real> random_bits(std::size_t count, std::uint64_t state) {
    using Bits = typename Real::Bits;
    std::vector<Real> values;
    for (std::size_t i = 0; i < count; ++i) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        values.push_back(Real::from_bits(static_cast<Bits>(state >> (64 - 8 * sizeof(Bits)))));
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

/// Values of both signs around 1: results are ordinary numbers.
template <class Real>
std::vector<Real> ordinary_numbers(std::size_t count) {
    std::vector<Real> numbers;
    for (const float x : ordinary_values(count)) numbers.push_back(Real(x));
    return numbers;
}

/// One call after the other on arrays that stay in the cache.
template <class Real, class Call>
void call_each(benchmark::State& state, Call call) {
    constexpr std::size_t count = 4096;
    const auto a = ordinary_numbers<Real>(count);
    const auto b = ordinary_numbers<Real>(count + 7);
    std::vector<Real> out(count);
    for (auto _ : state) {
        for (std::size_t i = 0; i < count; ++i) out[i] = call(a[i], b[i + 7]);
        benchmark::ClobberMemory();
    }
    report(state, count);
}

template <class Real>
void register_calls(const std::string& name) {
    const auto enter = [](const std::string& what, auto call) {
        benchmark::RegisterBenchmark(what.c_str(), [call](benchmark::State& state) { call_each<Real>(state, call); });
    };
    enter("call_add/" + name, [](Real x, Real y) { return x + y; });
    enter("call_multiply/" + name, [](Real x, Real y) { return x * y; });
    enter("call_divide/" + name, [](Real x, Real y) { return x / y; });
    // With flags, in a mode that the compiler does not know.
    for (const auto& [rounding_name, rounding] : roundings) {
        if (rounding != Rounding::nearest_even && rounding != Rounding::up) continue;
        ulp::Context context{.rounding = rounding};
        const std::string end = "_context_" + std::string(rounding_name) + "/" + name;
        enter("call_add" + end, [=](Real x, Real y) mutable { return add(x, y, context); });
        enter("call_multiply" + end, [=](Real x, Real y) mutable { return multiply(x, y, context); });
    }
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
void evaluate(benchmark::State& state, ulp::array::Function function, Rounding rounding, Simd simd) {
    auto x = ordinary_numbers<Real>(operated_count);
    using ulp::array::Function;
    if (function == Function::log || function == Function::log2 || function == Function::log1p ||
        function == Function::rsqrt) {
        for (Real& each : x) each = abs(each);
    }
    std::vector<Real> y(operated_count);
    const ulp::Context context{.rounding = rounding};
    ulp::array::evaluate_words(Real::format, function, x.data(), y.data(), 1, context, simd);  // makes the table
    for (auto _ : state) {
        ulp::array::evaluate_words(Real::format, function, x.data(), y.data(), operated_count, context, simd);
        benchmark::ClobberMemory();
    }
    report(state, operated_count);
}

template <class Real>
void register_functions(const std::string& name) {
    using ulp::array::Function;
    const auto enter = [&](const std::string& function, Function each) {
        benchmark::RegisterBenchmark((function + "/" + name).c_str(), evaluate<Real>, each, Rounding::nearest_even,
                                     ulp::simd_choice());
    };
    enter("exp", Function::exp);
    enter("tanh", Function::tanh);
    enter("erf", Function::erf);
    enter("gelu", Function::gelu);
}

/// Formats whose functions are computed in vectors.
template <class Real>
void register_vector_functions(const std::string& name, Simd simd) {
    const std::string where = "/" + name + "/" + std::string(name_of(simd));
    const auto enter = [&](const std::string& what, ulp::array::Function function, Rounding rounding) {
        benchmark::RegisterBenchmark((what + where).c_str(), evaluate<Real>, function, rounding, simd);
    };
#define ULPLAB_FUNCTION(name, Definition) enter(#name, ulp::array::Function::name, Rounding::nearest_even);
    ULPLAB_FUNCTIONS(ULPLAB_FUNCTION)
#undef ULPLAB_FUNCTION
    enter("exp_up", ulp::array::Function::exp, Rounding::up);
    enter("gelu_up", ulp::array::Function::gelu, Rounding::up);
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
        if (simd == Simd::avx512_vnni || simd == Simd::avx512_fp16) continue;  // has no functions of its own
        register_vector_functions<ulp::fp32>("fp32", simd);
    }
    register_functions<ulp::fp16>("fp16");
    register_functions<ulp::bf16>("bf16");
    register_functions<ulp::e4m3>("e4m3");
    register_calls<ulp::fp16>("fp16");
    register_calls<ulp::bf16>("bf16");
}

/// Prints as usual, and keeps the time an element of each benchmark: the minimum of the repetitions.
class Collector : public benchmark::ConsoleReporter {
  public:
    Collector() : ConsoleReporter(OO_Tabular) {}
    void ReportRuns(const std::vector<Run>& runs) override {
        for (const Run& run : runs) {
            const auto each = run.counters.find("each");
            if (each == run.counters.end()) continue;
            if (run.run_type == Run::RT_Aggregate) continue;
            const auto [entry, is_new] = nanoseconds_.try_emplace(run.run_name.str(), each->second.value * 1e9);
            if (!is_new) entry->second = std::min(entry->second, each->second.value * 1e9);
        }
        ConsoleReporter::ReportRuns(runs);
    }
    [[nodiscard]] const std::map<std::string, double>& nanoseconds() const { return nanoseconds_; }

  private:
    std::map<std::string, double> nanoseconds_;
};

/// A line for what comes before the last part of a name, a column for each set of instructions.
std::string table_of(const std::map<std::string, double>& nanoseconds) {
    const std::string memcpy_name = "memcpy/fp32/16M";
    const auto copy = nanoseconds.find(memcpy_name);
    std::map<std::string, std::map<std::string, std::string>> lines;
    for (const auto& [name, time] : nanoseconds) {
        const auto slash = name.rfind('/');
        std::array<char, 64> text{};
        const bool beside_memcpy = name.starts_with("round") && copy != nanoseconds.end();
        const double ratio = beside_memcpy ? time / copy->second : 0;
        std::snprintf(text.data(), text.size(), beside_memcpy ? "%.2f (%.2f)" : "%.2f", time, ratio);
        const bool has_column = name != memcpy_name && name.find('/') != slash;
        lines[has_column ? name.substr(0, slash) : name][has_column ? name.substr(slash + 1) : "portable"] =
            text.data();
    }
    std::string table = "| |";
    for (const Simd simd : ulp::supported_simd()) table += " " + std::string(name_of(simd)) + " |";
    table += "\n|---|";
    for (std::size_t i = 0; i < ulp::supported_simd().size(); ++i) table += "---:|";
    for (auto& [line, columns] : lines) {
        table += "\n| " + line + " |";
        for (const Simd simd : ulp::supported_simd()) table += " " + columns[std::string(name_of(simd))] + " |";
    }
    return table + "\n";
}

void write_markdown(const std::string& path, const std::map<std::string, double>& nanoseconds) {
    const std::string text =
        "# Speed of array operations\n\n"
        "Written by `bench_softfloat --markdown`; do not edit. Minimum nanoseconds of processor time per element on "
        "one "
        "core; "
        "in brackets, times of memcpy of the same 16M fp32 values in the same run. `round` goes from one array to "
        "another. Arithmetic and conversions are on 1M values of random bits, functions on as many of both signs "
        "around 1; those of formats of up to 16 bits look their results up in tables, the same for every set of "
        "instructions; log, log2, log1p and rsqrt of the absolute values.\n\n";
    ulp::replace_whole_file(path, text + table_of(nanoseconds) + "\n" + ulp::bench::option_table());
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::string(argv[1]) == "--options") {
        std::fputs(ulp::bench::option_table().c_str(), stdout);
        return 0;
    }
    std::string markdown;
    if (argc > 2 && std::string(argv[1]) == "--markdown") {
        markdown = argv[2];
        argv[2] = argv[0];
        argv += 2;
        argc -= 2;
    }
    register_rounding();
    register_operations();
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    Collector collector;
    benchmark::RunSpecifiedBenchmarks(&collector);
    benchmark::Shutdown();
    try {
        if (!markdown.empty()) write_markdown(markdown, collector.nanoseconds());
    } catch (const ulp::DataError& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 3;
    }
}
