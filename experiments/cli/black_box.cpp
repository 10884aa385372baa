#include "experiments/cli/black_box.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <memory>

#include "experiments/cli/product_options.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/lab/ulplab_unit.h"
#include "softfloat/names.hpp"

extern char** environ;

namespace ulp {
namespace {

using WordSpan = std::span<const std::uint64_t>;

constexpr std::string_view library_prefix = "library:";
constexpr std::string_view program_prefix = "program:";

bool fits(const BoxAnswer& answer, std::uint64_t word) { return answer.bits >= 64 || word >> answer.bits == 0; }

/// A shared library, closed when the last unit that uses it is gone.
class Library {
  public:
    explicit Library(const std::string& path) : path_(path) {
        // Without a slash the dynamic linker would search its own folders.
        const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
        handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle_ == nullptr) throw DataError(fmt::format("{} cannot be loaded: {}", path, dlerror()));
        dot_ = reinterpret_cast<Dot>(dlsym(handle_, "ulplab_unit_dot"));
        if (dot_ != nullptr) return;
        dlclose(handle_);
        throw DataError(path + " has no function ulplab_unit_dot; softfloat/lab/ulplab_unit.h declares it");
    }
    ~Library() { dlclose(handle_); }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    [[nodiscard]] std::uint64_t dot(const BoxAnswer& accumulator, WordSpan a, WordSpan b, std::uint64_t c) const {
        std::uint64_t d = 0;
        const int version = dot_(static_cast<int>(a.size()), a.data(), b.data(), c, &d);
        if (version == 0) throw DataError(fmt::format("{} has no instruction of {} products (-k)", path_, a.size()));
        if (version != ULPLAB_UNIT_INTERFACE) {
            throw DataError(fmt::format(
                "{} has version {} of the interface; this program has {}: compile it with this program's ulplab_unit.h",
                path_, version, ULPLAB_UNIT_INTERFACE));
        }
        if (fits(accumulator, d)) return d;
        throw DataError(fmt::format("{} answered {:X}, which is not a storage word of {}", path_, d, accumulator.name));
    }

  private:
    using Dot = decltype(&ulplab_unit_dot);
    std::string path_;
    void* handle_ = nullptr;
    Dot dot_ = nullptr;
};

/// A child process that reads questions and writes answers, ended when the last unit that uses it is gone.
class Program {
  public:
    Program(const std::string& command, int limit_seconds) : command_(command), limit_seconds_(limit_seconds) {
        std::array<int, 2> in{}, out{};
        // A socket takes MSG_NOSIGNAL: a program that has ended is an error here, not a signal.
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in.data()) != 0 || pipe2(out.data(), O_CLOEXEC) != 0) {
            throw DataError("no pipe to " + command + " can be made");
        }
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, in[1], STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
        posix_spawnattr_t attributes;
        posix_spawnattr_init(&attributes);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // ended together with what it has started
        std::array<std::string, 3> words{"sh", "-c", command};
        std::array<char*, 4> arguments{words[0].data(), words[1].data(), words[2].data(), nullptr};
        const int error = posix_spawn(&process_, "/bin/sh", &actions, &attributes, arguments.data(), environ);
        posix_spawnattr_destroy(&attributes);
        posix_spawn_file_actions_destroy(&actions);
        close(in[1]);
        close(out[1]);
        to_ = in[0];
        from_ = out[0];
        if (error == 0) return;
        close(to_);
        close(from_);
        throw DataError("cannot start " + command);
    }
    ~Program() {
        close(to_);
        close(from_);
        kill(-process_, SIGKILL);
        waitpid(process_, nullptr, 0);
    }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    [[nodiscard]] std::uint64_t dot(const BoxAnswer& accumulator, WordSpan a, WordSpan b, std::uint64_t c) {
        std::string line;
        for (const WordSpan words : {a, b}) {
            for (const std::uint64_t word : words) fmt::format_to(std::back_inserter(line), "{:X} ", word);
        }
        send_all(line + fmt::format("{:X}\n", c));
        const std::string answer = next_line();
        std::uint64_t d = 0;
        const auto [end, error] = std::from_chars(answer.data(), answer.data() + answer.size(), d, 16);
        if (error == std::errc() && end == answer.data() + answer.size() && fits(accumulator, d)) return d;
        throw DataError(fmt::format("{} answered '{}', which is not a storage word of {} in hexadecimal", command_,
                                    answer, accumulator.name));
    }

  private:
    void send_all(const std::string& text) {
        std::string_view rest = text;
        while (!rest.empty()) {
            const ssize_t sent = send(to_, rest.data(), rest.size(), MSG_NOSIGNAL);
            if (sent <= 0) ended();
            rest.remove_prefix(static_cast<std::size_t>(sent));
        }
    }

    std::string next_line() {
        const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(limit_seconds_);
        std::size_t end = 0;
        while ((end = received_.find('\n')) == std::string::npos) {
            const auto left =
                std::chrono::duration_cast<std::chrono::milliseconds>(limit - std::chrono::steady_clock::now());
            pollfd waiting{from_, POLLIN, 0};
            if (left.count() <= 0 || poll(&waiting, 1, static_cast<int>(left.count())) == 0) {
                throw DataError(
                    fmt::format("{} gave no answer in {} seconds after {} answers; it must write one line for each "
                                "line that it reads, and flush its output after it",
                                command_, limit_seconds_, answers_));
            }
            std::array<char, 4096> buffer{};
            const ssize_t size = read(from_, buffer.data(), buffer.size());
            if (size <= 0) ended();
            received_.append(buffer.data(), static_cast<std::size_t>(size));
        }
        std::string line = received_.substr(0, end);
        received_.erase(0, end + 1);
        while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
        ++answers_;
        return line;
    }

    [[noreturn]] void ended() const {
        siginfo_t status{};
        // It is left to be waited for; and it may have closed its output and still run.
        for (int i = 0; i < 100 && status.si_pid == 0; ++i) {
            waitid(P_PID, static_cast<id_t>(process_), &status, WEXITED | WNOHANG | WNOWAIT);
            if (status.si_pid == 0) usleep(1000);
        }
        const std::string how = status.si_pid == 0             ? "it closed its output"
                                : status.si_code == CLD_EXITED ? fmt::format("exit code {}", status.si_status)
                                                               : fmt::format("signal {}", status.si_status);
        throw DataError(fmt::format("{} ended after {} answers ({}); it must answer each line until its input ends",
                                    command_, answers_, how));
    }

    std::string command_;
    int limit_seconds_;
    pid_t process_ = 0;
    int to_ = -1;
    int from_ = -1;
    std::string received_;
    std::int64_t answers_ = 0;
};

}  // namespace

bool is_black_box(std::string_view spec) {
    return spec.starts_with(library_prefix) || spec.starts_with(program_prefix);
}

BoxDot open_box(const std::string& spec, const BoxAnswer& answer, int limit_seconds) {
    if (spec.starts_with(library_prefix)) {
        const auto library = std::make_shared<Library>(spec.substr(library_prefix.size()));
        return [=](WordSpan x, WordSpan y, std::uint64_t c) { return library->dot(answer, x, y, c); };
    }
    const auto program = std::make_shared<Program>(spec.substr(program_prefix.size()), limit_seconds);
    return [=](WordSpan x, WordSpan y, std::uint64_t c) { return program->dot(answer, x, y, c); };
}

DotUnit open_black_box(const std::string& spec, const FloatFormat& a, const FloatFormat& b,
                       const FloatFormat& accumulator, int k, int limit_seconds) {
    return {a, b, accumulator, k, open_box(spec, {name_of(accumulator), accumulator.storage_bits()}, limit_seconds)};
}

DotUnit open_unit(const std::string& spec, const FloatFormat& a, const FloatFormat& b, const FloatFormat& accumulator,
                  int k) {
    if (is_black_box(spec)) return open_black_box(spec, a, b, accumulator, k);
    const UnitRow row = unit_named(spec);
    const auto* model = row.as<TensorCoreModel>();
    if (model == nullptr || model->a_format != a || model->b_format != b || model->accumulator != accumulator) {
        throw UsageError(fmt::format("{} is {} -> {}; asked for are {} x {} -> {}", row.key(), row.input, row.output,
                                     name_of(a), name_of(b), name_of(accumulator)));
    }
    DotUnit unit = unit_of(*model);
    unit.k = k;  // chained instructions, the last filled up with zeros
    return unit;
}

IntegerUnit open_integer_box(const std::string& spec, int k) {
    const BoxDot dot = open_box(spec, {"s32", 32});
    return {k, [dot](std::span<const std::uint8_t> a, std::span<const std::uint8_t> b, std::int32_t c) {
                const std::vector<std::uint64_t> x(a.begin(), a.end()), y(b.begin(), b.end());
                return static_cast<std::int32_t>(dot(x, y, static_cast<std::uint32_t>(c)));
            }};
}

IntegerUnit open_integer_unit(const std::string& spec, int k) {
    if (is_black_box(spec)) return open_integer_box(spec, k);
    const UnitRow row = unit_named(spec);
    const auto* model = row.as<IntegerModel>();
    if (model == nullptr) {
        throw UsageError(
            fmt::format("{} is {} -> {}; asked for is an integer unit with s32", row.key(), row.input, row.output));
    }
    IntegerUnit unit = unit_of(*model);
    unit.k = k;  // chained instructions
    return unit;
}

}  // namespace ulp
