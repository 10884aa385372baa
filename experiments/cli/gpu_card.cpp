
#include <set>

#include "experiments/cli/gpu_commands.hpp"
#include "gpu/devices/recording.hpp"
#include "gpu/devices/reference.hpp"
#include "gpu/library/cublas.hpp"

namespace ulp {

// `ulplab gpu info`

namespace {

ExitCode show(const std::string& spec) {
    const auto device = gpu::open_device(spec);
    const gpu::DeviceInfo& info = device->info();
    fmt::print("{}", provenance(info));
    if (info.hardware) {
        fmt::print("# multiprocessors {}\n# memory {:.1f} GiB\n", info.multiprocessors,
                   static_cast<double>(info.memory_bytes) / (1024.0 * 1024.0 * 1024.0));
    }
    for (const gpu::Instruction& row : gpu::instructions()) {
        if (!device->has(row)) continue;
        std::string model = gpu::claimed_key(row, info.architecture);
        if (model.empty()) model = gpu::has_reference(row, info.architecture) ? "exact" : "none";
        fmt::print("{:<38} model {}\n", row.name(), model);
    }
    return ExitCode::good;
}

}  // namespace

Action declare_gpu_info(OptionParser& app) {
    const auto device = std::make_shared<std::string>("cuda");
    add_device_option(app, *device);
    return [device] { return show(*device); };
}

// `ulplab gpu record`

namespace {

struct GpuRecordOptions {
    std::string device = "cuda";
    std::string instruction = "all";
    std::string out;
    gpu::RecordSettings settings;
};

void check(const gpu::RecordSettings& settings) {
    if (settings.sample_tiles < 1 || settings.bulk_digests < 1 || settings.bulk_digests > gpu::most_digests) {
        throw UsageError(fmt::format("a recording needs --tiles of 1 or more ({}) and --count of 1 to {} ({})",
                                     settings.sample_tiles, gpu::most_digests, settings.bulk_digests));
    }
}

ExitCode record(GpuRecordOptions options) {
    check(options.settings);
    const auto device = gpu::open_device(options.device);
    const auto rows = chosen_instructions(*device, options.instruction);
    const std::filesystem::path folder = std::filesystem::path(options.out) / gpu::card_name(device->info());
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw DataError(fmt::format("cannot make the folder {}: {}", folder.string(), error.message()));
    options.settings.date = today();
    std::uintmax_t bytes = 0;
    std::size_t files = 0;
    for (const gpu::Instruction* row : rows) {
        if (!device->info().hardware && row->a == gpu::Element::fp64)
            continue;  // slow in software, and nothing to learn
        const auto path = folder / gpu::recording_file_name(*row);
        gpu::write_recording(path, gpu::make_recording(*device, *row, options.settings));
        bytes += std::filesystem::file_size(path);
        ++files;
    }
    fmt::print("{} recordings of {} in {}, {} bytes\n", files, device->info().name, folder.string(), bytes);
    return ExitCode::good;
}

}  // namespace

Action declare_gpu_record(OptionParser& app) {
    const auto options = std::make_shared<GpuRecordOptions>();
    add_device_option(app, options->device);
    app.add_option("--instruction", options->instruction, "all, main, mma, wmma, wgmma, tcgen05, or one by name")
        .capture_default_str();
    app.add_option("--out", options->out, "folder for the recordings, which go into OUT/CARD").required();
    app.add_option("--seed", options->settings.seed, "seed of the samples and of the bulk inputs")
        .capture_default_str();
    app.add_option("--tiles", options->settings.sample_tiles, "number of sample tiles per class").capture_default_str();
    app.add_option("--count", options->settings.bulk_digests,
                   "number of bulk digests per class, each of 4096 cases; at most 256")
        .capture_default_str();
    app.footer("Recordings made with --device software say 'source software' and are no evidence.");
    return [options] { return record(*options); };
}

// `ulplab gpu throughput`

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
    const std::string head = provenance(device->info()) + fmt::format("# cublas {}\n", library.version()) +
                             "product,library,m,n,k,shape,seconds,teraoperations_per_second,instructions,kernels\n";
    fmt::print("{}", head);
    KeptTable table(head, options.out);
    for (const gpu::NamedLibraryProduct& named : gpu::library_products()) {
        for (const bool fixed_algorithm : {false, true}) {
            if (!fixed_algorithm && gpu::bits_of(named.product.a) == 8) continue;  // FP8 and int8 through cublasLt
            for (const ThroughputShape& shape : shapes(options.size)) {
                table.tell(row_of(library, named, fixed_algorithm, shape, options.repeats));
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
