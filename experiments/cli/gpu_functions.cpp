// `ulplab gpu functions`: a GPU's functions of single numbers, asked for whole ranges of operands.
#include <charconv>
#include <sstream>

#include "engine/files/npy.hpp"
#include "engine/files/whole_file.hpp"
#include "experiments/cli/gpu_commands.hpp"
#include "gpu/untried/fma_classes.hpp"
#include "gpu/untried/functions.hpp"

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

// `ulplab gpu fma`: fp16's fused multiply-add for all 2^45 classes of operands, range by range.

namespace {

struct FmaOptions {
    std::string device = "cuda";
    std::string out;
    std::uint64_t first = 0;
    std::uint64_t pairs = gpu::fma_classes::pairs;
    std::uint64_t range = std::uint64_t{1} << 17;
    double seconds = 1e9;
};

constexpr std::string_view fma_columns = "first_pair,pairs,digest,differ,first_differing";

/// What a file of an earlier run holds: the pair after its last range, and what differed until then.
struct Progress {
    std::string text;
    std::uint64_t next = 0, classes = 0, differ = 0;
};

std::vector<std::uint64_t> numbers_of(const std::string& line) {
    std::vector<std::uint64_t> numbers;
    std::istringstream text(line);
    for (std::string cell; std::getline(text, cell, ',');) {
        const bool hexadecimal = numbers.size() == 2 || numbers.size() == 4;
        std::uint64_t value = 0;
        const char* const end = cell.data() + cell.size();
        const auto read = std::from_chars(cell.data(), end, value, hexadecimal ? 16 : 10);
        if (cell.empty() ? numbers.size() != 4 : read.ec != std::errc{} || read.ptr != end) return {};
        numbers.push_back(value);
    }
    if (numbers.size() == 4) numbers.push_back(0);
    return numbers;
}

Progress progress_of(const FmaOptions& options, const gpu::DeviceInfo& info) {
    Progress progress{provenance(info) + std::string(fma_columns) + "\n", options.first, 0, 0};
    if (options.out.empty() || !std::filesystem::exists(options.out)) return progress;
    const std::string known = read_whole_file(options.out);
    const std::string start =
        fmt::format("# source {}\n# gpu {}\n", info.hardware ? "hardware" : "software", info.name);
    if (!known.starts_with(start)) {
        throw DataError(
            fmt::format("{} is a run on another device than {}; give another --out", options.out, info.name));
    }
    std::istringstream text(known);
    int number = 0;
    for (std::string line; std::getline(text, line);) {
        ++number;
        if (line.starts_with("#") || line == fma_columns) continue;
        const auto cells = numbers_of(line);
        if (cells.size() != 5 || cells[0] != progress.next || cells[1] == 0) {
            throw DataError(fmt::format(
                "{}:{}: this is not the range that begins at pair {}; give another --out or the --from of that run",
                options.out, number, progress.next));
        }
        progress.next += cells[1];
        progress.classes += cells[1] << 16;
        progress.differ += cells[3];
    }
    progress.text = known;
    return progress;
}

ExitCode fma(const FmaOptions& options) {
    constexpr std::uint64_t all = gpu::fma_classes::pairs;
    if (options.first >= all || options.range == 0 || options.pairs == 0) {
        throw UsageError(fmt::format("--from lies below {}, and --count and --every are at least 1", all));
    }
    const TimeLimit limit(options.seconds);
    const auto device = gpu::open_device(options.device);
    Progress progress = progress_of(options, device->info());
    const std::uint64_t end = options.first + std::min(options.pairs, all - options.first);
    if (progress.next > options.first) fmt::print("taken up at pair {} of {}\n", progress.next, all);
    while (progress.next < end && !limit.over()) {
        const std::uint64_t count = std::min(options.range, end - progress.next);
        const gpu::FmaAnswers found = gpu::ask_fma(*device, progress.next, count);
        progress.text += fmt::format("{},{},{:016X},{},{}\n", progress.next, count, found.digest, found.differ,
                                     found.differ == 0 ? "" : fmt::format("{:012X}", found.first));
        if (progress.differ == 0 && found.differ != 0) {
            const auto pair = gpu::fma_classes::pair_of(found.first >> 16);
            const auto c = static_cast<std::uint32_t>(found.first & 0xFFFF) ^ pair.c_sign;
            fmt::print("first difference: {:04X} * {:04X} + {:04X} is {:04X} by the definition\n", pair.a, pair.b, c,
                       gpu::fma_by_definition(pair.a, pair.b, c));
        }
        progress.next += count;
        progress.classes += count << 16;
        progress.differ += found.differ;
        if (!options.out.empty()) write_text(options.out, progress.text);
    }
    fmt::print(
        "fma.rn.f16: {} of {} classes, {} differ{}\n", progress.classes, gpu::fma_classes::classes, progress.differ,
        progress.next < end ? fmt::format("; the rest from pair {} on is left to another call", progress.next) : "");
    if (!device->info().hardware) fmt::print("the definition answered: nothing here is evidence\n");
    require_compared(progress.classes > 0, "--seconds ended before the first range");
    return progress.differ == 0 ? ExitCode::good : ExitCode::bits_differ;
}

}  // namespace

Action declare_gpu_fma(OptionParser& app) {
    const auto options = std::make_shared<FmaOptions>();
    add_device_option(app, options->device);
    app.add_option("--from", options->first, "first pair of magnitudes").capture_default_str();
    app.add_option("--count", options->pairs, "number of pairs, each with all 65,536 c").capture_default_str();
    app.add_option("--every", options->range, "pairs per line of the file").capture_default_str();
    app.add_option("--seconds", options->seconds, "stop after this time; what was found until then is kept");
    app.add_option("--out", options->out,
                   "CSV file, a digest per range; a run takes up there what an earlier one left");
    app.footer("Exit code 4 when an answer differs from the function in integers.");
    return [options] { return fma(*options); };
}

}  // namespace ulp
