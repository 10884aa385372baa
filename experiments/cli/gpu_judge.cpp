// `ulplab gpu judge`: products of cuBLAS held against what was predicted of them.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>

#include "engine/files/sha256.hpp"
#include "engine/files/whole_file.hpp"
#include "experiments/cli/gpu_commands.hpp"
#include "gpu/untried/judgement.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

struct JudgeOptions {
    std::string device = "cuda";
    std::string predictions, out;
    double seconds = 1e9;
};

std::string counts_text(const gpu::VerdictCounts& counts) {
    std::string text;
    for (const gpu::PredictionVerdict verdict : gpu::verdicts) {
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts.of(verdict), gpu::name_of(verdict));
    }
    return text + fmt::format("; of the equal {} told from a mutant, {} from all three", counts.told_from_one,
                              counts.told_from_all);
}

void print_judgement(const gpu::PredictionFile& file, const gpu::Judgement& j) {
    for (const auto& [group, counts] : j.groups) fmt::print("{:<15} {}\n", group, counts_text(counts));
    fmt::print("{:<15} {}\n", "all", counts_text(j.all));
    const int predicted = j.all.compared();
    const int offered = predicted + j.all.of(gpu::PredictionVerdict::declined);
    if (predicted > 0) {
        fmt::print("predicted {:.2f} % of what the library offers, of these equal {:.3f} %\n",
                   100.0 * predicted / offered, 100.0 * j.all.of(gpu::PredictionVerdict::equal) / predicted);
    }
    for (std::size_t i = 0; i < j.verdicts.size(); ++i) {
        if (j.verdicts[i] != gpu::PredictionVerdict::different && j.verdicts[i] != gpu::PredictionVerdict::moved)
            continue;
        fmt::print("first: {} is {}; predicted {} from {}\n", file.rows[i].problem.text(), gpu::name_of(j.verdicts[i]),
                   file.rows[i].order.empty() ? file.rows[i].declined : file.rows[i].order, file.rows[i].answer);
        break;
    }
    if (j.stopped) {
        fmt::print("stopped by --seconds after {} of {} rows; the rest is left to another call\n", j.verdicts.size(),
                   file.rows.size());
    }
}

ExitCode judge(const JudgeOptions& options) {
    const TimeLimit limit(options.seconds);
    const gpu::PredictionFile file = gpu::read_predictions(options.predictions);
    const std::string digest = sha256_of(read_whole_file(options.predictions));
    gpu::Judgement judgement;
    judgement.date = today();
    if (!options.out.empty() && std::filesystem::exists(options.out)) {
        judgement = gpu::read_judgement(options.out, file, digest);
        const int failed = judgement.all.of(gpu::PredictionVerdict::failed);
        fmt::print("taken up after {} of {} rows{}\n", judgement.verdicts.size(), file.rows.size(),
                   failed == 0 ? "" : fmt::format(", of which {} failed and are tried again at the end", failed));
    }
    const auto library = gpu::open_library(options.device);
    std::chrono::steady_clock::time_point written;
    // A kernel that hangs, or a GPU that fails, must not take the verdicts with it.
    const auto write = [&] {
        written = std::chrono::steady_clock::now();
        if (!options.out.empty()) write_text(options.out, gpu::judgement_text(file, digest, judgement));
    };
    try {
        gpu::judge(*library, file, judgement, [&] {
            if (std::chrono::steady_clock::now() - written > std::chrono::seconds(5)) write();
            return !limit.over();
        });
    } catch (const std::exception&) {
        if (!judgement.verdicts.empty()) write();
        throw;
    }
    print_judgement(file, judgement);
    write();
    require_compared(judgement.all.compared() > 0, "no row up to here is predicted and offered by the library");
    if (const int failed = judgement.all.of(gpu::PredictionVerdict::failed); failed > 0) {
        throw DataError(fmt::format("the library or the GPU failed at {} of {} rows; another call tries them again",
                                    failed, file.rows.size()));
    }
    return judgement.holds() ? ExitCode::good : ExitCode::bits_differ;
}

}  // namespace

Action declare_gpu_judge(OptionParser& app) {
    const auto options = std::make_shared<JudgeOptions>();
    add_device_option(app, options->device);
    app.add_option("PREDICTIONS", options->predictions, "file from `ulplab gpu predict`").required();
    app.add_option("--seconds", options->seconds, "stop after that time and keep what was judged");
    app.add_option("--out", options->out,
                   "file for the verdicts, a line per shape; a call takes up there what an earlier one left");
    app.footer("Exit code 4 when a product differs from its prediction or the library answers otherwise than then.");
    return [options] { return judge(*options); };
}

}  // namespace ulp
