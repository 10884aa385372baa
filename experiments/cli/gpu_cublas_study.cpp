// `ulplab gpu cublas-study`
#include <map>

#include "experiments/cli/gpu_commands.hpp"
#include "gpu/library/cublas.hpp"
#include "gpu/library/cublas_study.hpp"

namespace ulp {
namespace {

struct GpuCublasStudyOptions {
    bool quick = false;
    std::string type = "tensor_core";
    double seconds = 1e9;
    std::string out;
};

struct Share {
    int predicted = 0;
    int cases = 0;
};

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

/// Whether the time is over; the table then says so.
bool stopped(const TimeLimit& limit, KeptTable& table) {
    if (!limit.over()) return false;
    table.add("# stopped by --seconds: the cases below this line were not looked at\n");
    table.write();
    return true;
}

std::string case_text(const gpu::StudyCase& c) {
    return fmt::format("{},{},{},{},{}", c.product, c.fixed_algorithm ? "cublasLt" : "cublas", c.m, c.n, c.k);
}

ExitCode trace_simt(const GpuCublasStudyOptions& options, const TimeLimit& limit, const gpu::LibraryCall& call,
                    const std::string& head, const std::vector<std::string>& kernels) {
    const std::string columns = "product,library,m,n,k,survivors,words,kernels\n";
    fmt::print("{}{}", head, columns);
    KeptTable table(head + columns, options.out);
    for (const gpu::StudyCase& c : gpu::simt_cases()) {
        if (stopped(limit, table)) break;
        const gpu::SimtTraces traces = gpu::simt_traces(call, c);
        table.tell(fmt::format("{},{},{},{}\n", case_text(c),
                               quoted(traces.skipped.empty() ? traces.survivors : traces.skipped), traces.words,
                               quoted(fmt::format("{}", fmt::join(kernels, " + ")))));
    }
    return ExitCode::good;
}

ExitCode study_cublas(const GpuCublasStudyOptions& options) {
    const TimeLimit limit(options.seconds);
    const auto device = gpu::open_cuda_device();
    gpu::Cublas library;
    std::vector<std::string> kernels;  // of the last product
    const gpu::LibraryCall call = [&](const gpu::LibraryProduct& product, const gpu::PackedMatrix& a,
                                      const gpu::PackedMatrix& b, gpu::PackedMatrix& d) {
        kernels = gpu::kernels_run_by([&] { library.matmul(product, a, b, d); });
    };
    const std::string head = provenance(device->info()) + fmt::format("# cublas {}\n", library.version());
    if (options.type == "simt") return trace_simt(options, limit, call, head, kernels);
    const std::string columns = "product,library,m,n,k,predicted,equal,elements,prediction,survivors,kernels\n";
    fmt::print("{}{}", head, columns);
    KeptTable table(head + columns, options.out);
    std::map<std::string, Share> shares;
    for (const gpu::StudyCase& c : gpu::study_cases(options.quick)) {
        if (stopped(limit, table)) break;
        const gpu::StudyResult r = gpu::study(call, c, device->info().architecture);
        table.tell(fmt::format("{},{},{},{},{},{},{}\n", case_text(c),
                               r.skipped.empty() ? (r.predicted() ? "yes" : "no") : "skipped", r.equal, r.total,
                               quoted(r.skipped.empty() ? r.prediction : r.skipped), quoted(r.survivors),
                               quoted(fmt::format("{}", fmt::join(kernels, " + ")))));
        if (!r.skipped.empty()) continue;
        Share& share = shares[c.product];
        share.predicted += r.predicted() ? 1 : 0;
        ++share.cases;
    }
    for (const auto& [product, share] : shares) {
        table.tell(fmt::format("# {}: {} of {} shapes predicted bit for bit\n", product, share.predicted, share.cases));
    }
    return ExitCode::good;
}

}  // namespace

Action declare_gpu_cublas_study(OptionParser& app) {
    const auto options = std::make_shared<GpuCublasStudyOptions>();
    app.add_flag("--quick", options->quick, "fewer shapes");
    app.add_option("--type", options->type,
                   "type of products: tensor_core, or simt: fp32, and matrices times vectors, with survivors and words "
                   "of D, from which their orders can be sought")
        .one_of({"tensor_core", "simt"})
        .capture_default_str();
    app.add_option("--seconds", options->seconds, "stop after that time");
    app.add_option("--out", options->out, "CSV file for the table");
    return [options] { return study_cublas(*options); };
}

}  // namespace ulp
