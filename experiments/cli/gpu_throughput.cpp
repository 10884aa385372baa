// `ulplab gpu throughput`
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <set>

#include "experiments/cli/gpu_commands.hpp"
#include "gpu/library/cublas.hpp"
#include "gpu/library/kernel_names.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

struct GpuThroughputOptions {
    std::uint64_t size = 4096;
    int repeats = 11;
    std::string out;
};

struct ThroughputShape {
    std::uint64_t m, n, k;
    const char* question;
};

/// What the rule "use multiples of 8" is about: k, then every extent, a little off; and k from short to long.
std::vector<ThroughputShape> shapes(std::uint64_t size) {
    return {
        {size, size, size, "square"},
        {size, size, size + 1, "k odd"},
        {size, size, size + 2, "k even"},
        {size, size, size + 4, "k a multiple of 4"},
        {size, size, size + 8, "k a multiple of 8"},
        {size + 1, size, size, "m odd"},
        {size, size + 1, size, "n odd"},
        {size + 1, size + 1, size + 1, "all odd"},
        {size, size, 64, "k = 64"},
        {size, size, 256, "k = 256"},
        {size, size, 1024, "k = 1024"},
    };
}

std::string row_of(gpu::Cublas& library, const gpu::NamedLibraryProduct& named, bool fixed_algorithm,
                   const ThroughputShape& s, int repeats) {
    gpu::LibraryProduct product = named.product;
    product.fixed_algorithm = fixed_algorithm;
    const std::string head = fmt::format("{},{},{},{},{},{}", named.name, fixed_algorithm ? "cublasLt" : "cublas", s.m,
                                         s.n, s.k, s.question);
    try {
        const gpu::LibraryTiming timing = library.time(product, s.m, s.n, s.k, repeats);
        const double operations = 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
        std::set<std::string> used;
        for (const std::string& kernel : timing.kernels) used.insert(gpu::instructions_by_name(kernel));
        return fmt::format("{},{:.6e},{:.2f},{},{}\n", head, timing.seconds, operations / timing.seconds * 1e-12,
                           fmt::join(used, " + "), fmt::join(timing.kernels, " + "));
    } catch (const UsageError&) {
        return fmt::format("{},,,not offered,\n", head);
    } catch (const DataError& error) {
        std::string why = error.what();
        std::replace(why.begin(), why.end(), ',', ';');
        return fmt::format("{},,,{},\n", head, why);
    }
}

ExitCode throughput(const GpuThroughputOptions& options) {
    if (options.size < 64 || options.size > 32768) throw UsageError("--size is between 64 and 32768");
    if (options.repeats < 1) throw UsageError("--count is at least 1");
    const auto device = gpu::open_cuda_device();
    gpu::Cublas library;
    std::string table = provenance(device->info()) + fmt::format("# cublas {}\n", library.version()) +
                        "product,library,m,n,k,shape,seconds,teraoperations_per_second,instructions,kernels\n";
    fmt::print("{}", table);
    for (const gpu::NamedLibraryProduct& named : gpu::library_products()) {
        for (const bool fixed_algorithm : {false, true}) {
            if (!fixed_algorithm && gpu::bits_of(named.product.a) == 8) continue;  // FP8 and int8 through cublasLt
            for (const ThroughputShape& shape : shapes(options.size)) {
                const std::string line = row_of(library, named, fixed_algorithm, shape, options.repeats);
                fmt::print("{}", line);
                std::fflush(stdout);
                table += line;
                if (!options.out.empty()) write_text(options.out, table);
            }
        }
    }
    return ExitCode::good;
}

}  // namespace

Action declare_gpu_throughput(OptionParser& app) {
    const auto options = std::make_shared<GpuThroughputOptions>();
    app.add_option("--size", options->size, "of the square product").capture_default_str();
    app.add_option("--count", options->repeats, "products timed; the median is given").capture_default_str();
    app.add_option("--out", options->out, "CSV file for the table");
    app.footer("Random data, CUDA events, the median. The kernels' names come from CUPTI.");
    return [options] { return throughput(*options); };
}

}  // namespace ulp
