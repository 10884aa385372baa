// The parts of `ulplab gpu`: one file each, declared as a subcommand is.
#pragma once

#include <chrono>

#include "experiments/cli/command.hpp"
#include "gpu/devices/executor.hpp"

namespace ulp {

Action declare_gpu_info(OptionParser& app);
Action declare_gpu_bulk(OptionParser& app);
Action declare_gpu_record(OptionParser& app);
Action declare_gpu_throughput(OptionParser& app);
Action declare_gpu_cublas_study(OptionParser& app);
Action declare_gpu_shapes(OptionParser& app);
Action declare_gpu_answers(OptionParser& app);
Action declare_gpu_predict(OptionParser& app);
Action declare_gpu_judge(OptionParser& app);
Action declare_gpu_fma(OptionParser& app);
Action declare_gpu_functions(OptionParser& app);
Action declare_gpu_attention(OptionParser& app);
Action declare_gpu_invariance(OptionParser& app);
Action declare_gpu_transformer(OptionParser& app);
Action declare_gpu_experiments(OptionParser& app);

/// --seconds of a command, from now on.
class TimeLimit {
  public:
    /// Throws UsageError unless they are finite and above 0.
    explicit TimeLimit(double seconds);
    [[nodiscard]] bool over() const;

  private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    double seconds_;
};
/// Throws DataError where a command that compares ends without a comparison: such an end must not look like a success.
/// `why` is a whole sentence.
void require_compared(bool compared, const std::string& why);

/// Adds --device to the parser.
DeclaredOption add_device_option(OptionParser& app, std::string& device);
/// The instructions that `choice` names: "all" that the device has, "main" (floating-point formats of training,
/// unmixed), a family, or one by name.
std::vector<const gpu::Instruction*> chosen_instructions(const gpu::Executor& executor, const std::string& choice);
/// Lines that say where a result was made: "# source hardware", "# gpu NVIDIA H200", ...; and the date.
std::string provenance(const gpu::DeviceInfo& info);
/// "2026-11-20", in UTC.
std::string today();
/// Writes text under a temporary name and renames. Throws DataError.
void write_text(const std::filesystem::path& path, const std::string& text);

/// What a command finds, line by line under a head, and the file for it, if any: an earlier file stays until there is a
/// line, and what was found until then is kept where something throws (a GPU's memory is full, a kernel hangs).
class KeptTable {
  public:
    KeptTable(std::string head, std::filesystem::path out) : text_(std::move(head)), out_(std::move(out)) {}

    void add(const std::string& line) {
        text_ += line;
        lines_ = true;
    }
    /// Prints the line, too, and writes the file.
    void tell(const std::string& line) {
        fmt::print("{}", line);
        std::fflush(stdout);
        add(line);
        write();
    }
    void write() const {
        if (lines_ && !out_.empty()) write_text(out_, text_);
    }
    /// f(), after whose exception the table is written.
    template <class F>
    auto keeping(F&& f) const {
        try {
            return f();
        } catch (...) {
            write();
            throw;
        }
    }

  private:
    std::string text_;
    bool lines_ = false;
    std::filesystem::path out_;
};

}  // namespace ulp
