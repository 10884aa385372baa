// `ulplab gpu functions`: a GPU's functions of single numbers, asked for whole ranges of operands.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>

#include "engine/files/npy.hpp"
#include "experiments/cli/gpu_commands.hpp"
#include "gpu/untried/functions.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

constexpr std::uint64_t operands_of_range = std::uint64_t{1} << 24;
constexpr int most_ranges = 256;

struct FunctionsOptions {
    std::string device = "cuda";
    std::vector<std::string> only;
    int ranges = most_ranges;
    std::string results;
    std::string out;
};

/// Those that the device can be asked: without a GPU, those that have a model.
std::vector<const gpu::HardwareFunction*> chosen_functions(const gpu::Executor& device,
                                                           const std::vector<std::string>& only) {
    std::vector<const gpu::HardwareFunction*> chosen;
    for (const std::string& name : only) chosen.push_back(&gpu::hardware_function_by_name(name));
    if (!only.empty()) return chosen;
    for (const gpu::HardwareFunction& each : gpu::hardware_functions()) {
        const bool answers = device.info().hardware || each.model != nullptr;
        if (answers && each.availability.on(device.info().architecture)) chosen.push_back(&each);
    }
    return chosen;
}

/// The ranges of 2^24 operands that are asked, spread over all there are.
std::vector<std::uint64_t> first_operands(const gpu::HardwareFunction& function, int ranges) {
    const std::uint64_t all = std::max<std::uint64_t>(1, function.operands() / operands_of_range);
    const std::uint64_t asked = std::min(all, static_cast<std::uint64_t>(ranges));
    std::vector<std::uint64_t> first;
    for (std::uint64_t i = 0; i < asked; ++i) first.push_back(i * all / asked * operands_of_range);
    return first;
}

/// A function's answers to all of its operands, in their order.
void write_results(const std::string& folder, const gpu::HardwareFunction& function,
                   const std::vector<std::uint32_t>& results) {
    npy::Array array{"<u4", {static_cast<std::int64_t>(results.size())}, false, {}};
    const auto append = [&](const auto& elements) {
        const auto bytes = std::as_bytes(std::span(elements));
        array.data.assign(bytes.begin(), bytes.end());
    };
    if (*std::max_element(results.begin(), results.end()) < 65536) {
        array.dtype = "<u2";
        append(std::vector<std::uint16_t>(results.begin(), results.end()));
    } else {
        append(results);
    }
    std::filesystem::create_directories(folder);
    npy::write(std::filesystem::path(folder) / fmt::format("{}.npy", function.name), array);
}

std::string text_of(const gpu::HardwareFunction& function, std::uint64_t operands, const gpu::FunctionAnswers& sum) {
    if (function.model == nullptr) return fmt::format("{:<34} {} operands, recorded", function.name, operands);
    std::string text =
        fmt::format("{:<34} {} operands, {} differ from {}, and {} of its NaNs", function.name, operands, sum.differ,
                    function.stated ? "the model" : "a guess that nobody promises", sum.differ_nan);
    if (sum.differ + sum.differ_nan != 0) text += fmt::format("; first {:08X}", sum.first);
    return text;
}

ExitCode functions(const FunctionsOptions& options) {
    if (options.ranges < 1 || options.ranges > most_ranges) {
        throw UsageError(fmt::format("--count {} does not lie from 1 to {}", options.ranges, most_ranges));
    }
    const auto device = gpu::open_device(options.device);
    KeptTable table(
        provenance(device->info()) + "function,first,operands,digest,model,differ,differ_nan,first_differing\n",
        options.out);
    std::uint64_t wrong = 0;
    for (const gpu::HardwareFunction* function : chosen_functions(*device, options.only)) {
        const std::uint64_t count = std::min(function->operands(), operands_of_range);
        gpu::FunctionAnswers sum;
        std::uint64_t operands = 0;
        for (const std::uint64_t first : first_operands(*function, options.ranges)) {
            const bool keep = !options.results.empty() && function->operand_bits <= 16;
            const auto found = table.keeping([&] {
                auto answers = gpu::ask_function(*device, *function, static_cast<std::uint32_t>(first), count, keep);
                if (keep) write_results(options.results, *function, answers.results);
                return answers;
            });
            const bool differs = found.differ + found.differ_nan != 0;
            table.add(fmt::format("{},{:08X},{},{:016X},{},{},{},{}\n", function->name, first, count, found.digest,
                                  function->model == nullptr ? "none"
                                  : function->stated         ? "stated"
                                                             : "guess",
                                  found.differ, found.differ_nan, differs ? fmt::format("{:08X}", found.first) : ""));
            sum.differ += found.differ;
            sum.differ_nan += found.differ_nan;
            sum.first = std::min(sum.first, found.first);
            operands += count;
        }
        if (function->stated) wrong += sum.differ + sum.differ_nan;
        fmt::print("{}\n", text_of(*function, operands, sum));
        table.write();
    }
    if (!device->info().hardware) fmt::print("the models answered: nothing here is evidence\n");
    return wrong == 0 ? ExitCode::good : ExitCode::bits_differ;
}

}  // namespace

Action declare_gpu_functions(OptionParser& app) {
    const auto options = std::make_shared<FunctionsOptions>();
    add_device_option(app, options->device);
    app.add_option("NAME", options->only, "functions by name, such as ex2.approx.f32; all by default");
    app.add_option("--count", options->ranges, "how many of the 256 ranges of 2^24 operands are asked")
        .capture_default_str();
    app.add_option("--answers", options->results,
                   "folder for the answers themselves, NAME.npy, of functions with at most 16 bits of operands: all of "
                   "them, in order");
    app.add_option("--out", options->out, "CSV file for the digest of each range");
    app.footer("Exit code 4 when a result differs from a stated model.");
    return [options] { return functions(*options); };
}

}  // namespace ulp
