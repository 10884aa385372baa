#include "engine/training/trace.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <filesystem>
#include <map>
#include <sstream>
#include <string_view>

#include "engine/files/whole_file.hpp"
#include "softfloat/errors.hpp"

namespace ulp::inline ULPLAB_MODE {

Sha256 Trace::taken() const {
    Sha256 sha = before;
    for (const TraceStep& step : steps) {
        std::string text = fmt::format("{} {:x} {} {}", step.step, step.loss_bits, step.loss_scale, step.skipped);
        for (const std::string& digest : step.digests) text += " " + digest;
        text += "\n";
        sha.add(std::as_bytes(std::span(text)));
    }
    return sha;
}

std::vector<std::string> digests_of(const Model& model) {
    std::vector<std::string> digests;
    for (const Parameter& parameter : model.parameters()) {
        digests.push_back(Sha256().add(parameter.updated().values()).hex());
    }
    return digests;
}

std::optional<std::string> first_difference(const Trace& a, const Trace& b) {
    if (a.parameters != b.parameters) return "the parameters differ";
    if (a.steps_before != b.steps_before) {
        return fmt::format("one begins at step {}, the other at step {}", a.steps_before, b.steps_before);
    }
    if (a.before.state() != b.before.state()) return fmt::format("they differ before step {}", a.steps_before);
    for (std::size_t i = 0; i < a.steps.size() && i < b.steps.size(); ++i) {
        const TraceStep& x = a.steps[i];
        const TraceStep& y = b.steps[i];
        if (x == y) continue;
        if (x.loss_bits != y.loss_bits) {
            return fmt::format("step {}: the loss differs, {:#x} and {:#x}", x.step, x.loss_bits, y.loss_bits);
        }
        for (std::size_t p = 0; p < x.digests.size() && p < y.digests.size(); ++p) {
            if (x.digests[p] != y.digests[p]) return fmt::format("step {}: {} differs", x.step, a.parameters[p]);
        }
        return fmt::format("step {}: the loss scale or the skipping differs", x.step);
    }
    if (a.steps.size() != b.steps.size()) {
        return fmt::format("one has {} steps, the other {}", a.steps.size(), b.steps.size());
    }
    return std::nullopt;
}

namespace {

constexpr std::string_view head = "# ulplab trace";
constexpr std::string_view old_head = "ulplab trace 1";  // of `gpu train`
constexpr std::string_view step_columns = "step,loss,loss_bits,loss_scale,skipped,";
constexpr std::size_t digest_digits = 16;  // of a SHA-256 in hexadecimal

std::vector<std::string> cells_of(const std::string& line) {
    std::vector<std::string> cells;
    std::istringstream text(line);
    for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
    return cells;
}

template <class Number>
bool reads(std::string_view text, Number& value, int base) {
    const char* const end = text.data() + text.size();
    return std::from_chars(text.data(), end, value, base).ptr == end && !text.empty();
}
bool reads(std::string_view text, double& value) {
    const char* const end = text.data() + text.size();
    return std::from_chars(text.data(), end, value).ptr == end && !text.empty();
}

/// Throws DataError: the file is of another program's format.
[[noreturn]] void refuse_old(const std::string& path, std::istringstream& text) {
    std::map<std::string, std::string> said;
    for (std::string word, value; text >> word && word != "parameters" && std::getline(text, value);) {
        said[word] = value.empty() ? value : value.substr(1);
    }
    throw DataError(fmt::format(
        "{}: a trace of `ulplab gpu train` of ulplab 0.2, which is not read; make it anew: ulplab train --unit {} "
        "--recipe {} --learning-rate 0.1 --steps {} --batch {} --images {} --seed {} --trace FILE{}",
        path, said["backend"], said["recipe"], said["steps"], said["batch"], said["images"], said["seed"],
        said["hidden"] == "128" ? "" : fmt::format(" --net NET.json, mlp with {} in its middle", said["hidden"])));
}

/// "# device ...", "# --recipe bf16".
void read_head(std::string_view line, TraceFile& file) {
    constexpr std::string_view device = "# device ";
    if (line.starts_with(device)) file.device = line.substr(device.size());
    if (!line.starts_with("# --")) return;
    const std::string_view option = line.substr(2);
    const std::size_t space = std::min(option.find(' '), option.size());
    file.options.emplace_back(option.substr(0, space), option.substr(std::min(space + 1, option.size())));
}

std::optional<TraceStep> step_of(const std::string& line, std::size_t parameters) {
    const std::vector<std::string> cells = cells_of(line);
    TraceStep step;
    int skipped = 0;
    const bool good = cells.size() == 5 + parameters && reads(cells[0], step.step, 10) && cells[2].starts_with("0x") &&
                      reads(std::string_view(cells[2]).substr(2), step.loss_bits, 16) &&
                      reads(cells[3], step.loss_scale) && reads(cells[4], skipped, 10);
    if (!good) return std::nullopt;
    step.skipped = skipped != 0;
    for (std::size_t p = 5; p < cells.size(); ++p) {
        if (cells[p].size() < digest_digits) return std::nullopt;
        step.digests.push_back(cells[p].substr(0, digest_digits));
    }
    return step;
}

}  // namespace

void shorten_digests(Trace& trace) {
    for (TraceStep& step : trace.steps) {
        for (std::string& digest : step.digests) digest = digest.substr(0, digest_digits);
    }
}

void write_trace(const std::string& path, const TraceFile& file) {
    std::string text = fmt::format("{}\n# device {}\n", head, file.device);
    for (const auto& [name, value] : file.options) text += fmt::format("# {} {}\n", name, value);
    text += fmt::format("{}{}\n", step_columns, fmt::join(file.trace.parameters, ","));
    for (const TraceStep& step : file.trace.steps) {
        const float loss = std::bit_cast<float>(static_cast<std::uint32_t>(step.loss_bits));
        text += fmt::format("{},{},0x{:08x},{},{:d}", step.step, loss, step.loss_bits, step.loss_scale, step.skipped);
        for (const std::string& digest : step.digests) text += "," + digest.substr(0, digest_digits);
        text += "\n";
    }
    replace_whole_file(path, text);
}

bool is_trace(const std::string& path) {
    if (!std::filesystem::is_regular_file(path)) return false;
    const std::string text(MappedFile(path).bytes().substr(0, step_columns.size()));
    return text.starts_with(head) || text.starts_with(step_columns) || text.starts_with(old_head);
}

TraceFile read_trace(const std::string& path) {
    std::istringstream text(read_whole_file(path));
    std::string line;
    std::getline(text, line);
    if (line == old_head) refuse_old(path, text);
    TraceFile file;
    int number = 1;
    for (; line.starts_with("#"); ++number) {
        read_head(line, file);
        if (!std::getline(text, line)) line.clear();
    }
    Trace& trace = file.trace;
    if (!line.starts_with(step_columns)) {
        throw DataError(fmt::format("{}:{}: this is no trace; write one with `ulplab train --trace`", path, number));
    }
    trace.parameters = cells_of(line.substr(step_columns.size()));
    while (std::getline(text, line)) {
        ++number;
        const std::optional<TraceStep> step = step_of(line, trace.parameters.size());
        if (!step) {
            throw DataError(
                fmt::format("{}:{}: this is no step of a trace of {} parameters; write it with `ulplab train --trace`",
                            path, number, trace.parameters.size()));
        }
        trace.steps.push_back(*step);
    }
    if (trace.steps.empty()) throw DataError(path + ": the trace has no step");
    return file;
}

}  // namespace ulp::inline ULPLAB_MODE
