// `ulplab dev bench`: the speed of soft products beside Eigen's fp32 product of the same run, as a table.
#include <unistd.h>

#include <map>
#include <nlohmann/json.hpp>

#include "engine/files/whole_file.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/machine.hpp"

namespace ulp {
namespace {

namespace fs = std::filesystem;

struct BenchOptions {
    std::string report, program, out;
    std::string minimum_time = "0.5";
};

struct Measurement {
    std::string name;     // "soft/hopper/fp16_fp32/512"
    std::string against;  // "eigen/fp32/512": what it is a share of
    double products = 0;  // a second
};

/// "soft/avx2/hopper/fp16_fp32/512/threads:2/real_time" is compared with "eigen/fp32/512/threads:2".
std::string eigen_of(const std::string& name) {
    std::string rest = name;
    std::string threads;
    if (const auto at = rest.find("/threads:"); at != std::string::npos) {
        threads = rest.substr(at, rest.find('/', at + 1) - at);
        rest.resize(at);
    }
    return "eigen/fp32" + rest.substr(rest.rfind('/')) + threads;
}

std::string without_suffix(std::string name) {
    const std::string suffix = "/real_time";
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
    return name;
}

std::vector<Measurement> measurements_in(const nlohmann::json& report) {
    std::vector<Measurement> found;
    for (const auto& each : report.at("benchmarks")) {
        if (each.value("run_type", "iteration") == "aggregate" && each.value("aggregate_name", "") != "median")
            continue;
        std::string name = each.value("run_name", each.at("name").get<std::string>());
        name = without_suffix(name);
        found.push_back({name, eigen_of(name), each.at("items_per_second").get<double>()});
    }
    return found;
}

/// The benchmark program of this build: bench_gemm beside `ulplab`.
fs::path benchmark_program(const BenchOptions& options) {
    const fs::path program = options.program.empty() ? fs::canonical("/proc/self/exe").parent_path() / "bench_gemm"
                                                     : fs::path(options.program);
    if (!fs::exists(program)) {
        throw DataError(program.string() +
                        ": there is no such program; build it: cmake --build build/release --target bench_gemm (needs "
                        "libbenchmark-dev)");
    }
    return program;
}

nlohmann::json run_benchmarks(const BenchOptions& options) {
    const fs::path program = benchmark_program(options);
    const fs::path out = fs::temp_directory_path() / fmt::format("ulplab_bench_{}.json", getpid());
    fmt::print(stderr, "running {}\n", program.string());
    const Finished finished = run_program({program.string(), "--benchmark_min_time=" + options.minimum_time,
                                           "--benchmark_repetitions=3", "--benchmark_report_aggregates_only=true",
                                           "--benchmark_out_format=json", "--benchmark_out=" + out.string()});
    if (finished.exit_code != 0) throw DataError(program.string() + " failed: " + finished.output);
    nlohmann::json report = nlohmann::json::parse(read_file(out));
    fs::remove(out);
    return report;
}

nlohmann::json report_of(const BenchOptions& options) {
    if (options.report.empty()) return run_benchmarks(options);
    nlohmann::json report = nlohmann::json::parse(read_file(options.report), nullptr, false);
    if (report.is_discarded() || !report.contains("benchmarks")) {
        throw DataError(options.report + ": is no JSON report of a Google Benchmark program");
    }
    return report;
}

std::string share(const std::map<std::string, double>& speeds, const Measurement& each) {
    const auto eigen = speeds.find(each.against);
    if (eigen == speeds.end() || each.name == each.against) return "";
    return fmt::format("{:.3f}", each.products / eigen->second);
}

std::string table_of(const std::vector<Measurement>& measurements, bool markdown) {
    std::map<std::string, double> speeds;
    for (const Measurement& each : measurements) speeds[each.name] = each.products;
    const char* const row = markdown ? "| {:<44} | {:>12} | {:>14} |\n" : "{:<44} {:>12} {:>14}\n";
    std::string table = fmt::format(fmt::runtime(row), "product", "10^9 per second", "of Eigen fp32");
    if (markdown) table += "|---|---:|---:|\n";
    for (const Measurement& each : measurements) {
        table +=
            fmt::format(fmt::runtime(row), each.name, fmt::format("{:.2f}", each.products * 1e-9), share(speeds, each));
    }
    return table;
}

std::string machine_line(const nlohmann::json& report) {
    const auto& context = report.at("context");
    const auto loads = context.value("load_avg", std::vector<double>{});
    return fmt::format("{} processors at {} MHz, {}, load average {:.1f} before", context.value("num_cpus", 0),
                       context.value("mhz_per_cpu", 0), context.value("date", ""), loads.empty() ? 0.0 : loads.front());
}

ExitCode bench(const BenchOptions& options) {
    require_writable(options.out);
    const nlohmann::json report = report_of(options);
    const auto measurements = measurements_in(report);
    fmt::print("{}", table_of(measurements, false));
    if (options.out.empty()) return ExitCode::good;
    replace_whole_file(
        options.out,
        fmt::format(
            "# Speed of soft matrix products\n\n"
            "Written by `ulplab dev bench --out`; do not edit. Products (m * n * k) per second of one "
            "core unless threads are named, with the share of Eigen's fp32 product of the same size in "
            "the same run. `soft/<generation>/<input>_<output>/<size>` is the fast path with the widest "
            "vector instructions, `soft/portable`, `soft/avx2`, `soft/avx512` those named, `soft/plain` "
            "the definition; rows without a name of their own stand under their key.\n\n"
            "What the ports of a processor allow, for 64 products of each of 16 columns: Eigen takes 64 fused "
            "multiply-adds of 512 bits. An FP4 instruction takes 16 sums of byte products (MXFP4, AVX512-VNNI), 8 of "
            "16-bit products beside them (NVFP4, VNNI) or 64 multiplications and additions (without VNNI), and 13 "
            "operations that scale the sum and add it to c: at most 2.2, 1.7 and 0.8 of Eigen. Fused groups take two "
            "multiplications, a conversion and an addition per product: at most 0.5 where multiplications have two "
            "pipes of their own, 0.25 where all share two ports. With exponents, alignment and result the machine "
            "code has 5.1 operations per product of a group of 16, and 5.5 of an MXFP8 block: where four pipes of "
            "256 bits do all of them (Zen 4), at most 0.39 and 0.37 of an Eigen at its peak. Integer rows take 32 "
            "(VNNI) or 64: at most 2 and 1.\n\nMachine: {}.\n\n{}",
            machine_line(report), table_of(measurements, true)));
    return ExitCode::good;
}

Action declare_bench(OptionParser& app) {
    const auto options = std::make_shared<BenchOptions>();
    app.add_option("JSON", options->report, "report of bench_gemm (--benchmark_out); without one the program is run");
    app.add_option("--program", options->program, "the benchmark program, where it is not beside this one");
    app.add_option("--seconds", options->minimum_time, "seconds for each benchmark").capture_default_str();
    app.add_option("--out", options->out, "file for the table as Markdown (docs/benchmarks.md)");
    return [options] { return bench(*options); };
}

}  // namespace

Command bench_command() { return {"bench", "speed of soft products beside Eigen's", declare_bench}; }

}  // namespace ulp
