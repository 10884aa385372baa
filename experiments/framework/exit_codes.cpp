#include "experiments/framework/exit_codes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <omp.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>

#include "softfloat/errors.hpp"

namespace ulp {
namespace {

ExitCode report(ExitCode code, const std::exception& error) {
    std::fflush(stdout);
    fmt::print(stderr, "ulplab: {}\n", shown(error.what()));
    return code;
}

/// OpenMP's library ends the process with exit(1) where it cannot make a thread, and 1 is the code of a failed claim.
bool inside = false;  // of an action, so that nothing here has called exit
void change_code_of_libraries(int code, void*) {
    if (!inside || code != static_cast<int>(ExitCode::claim_failed)) return;
    std::fflush(stdout);
    fmt::print(stderr, "ulplab: the line above ended the program; fewer threads need less: OMP_NUM_THREADS=1\n");
    _exit(static_cast<int>(ExitCode::data));
}

/// OpenMP's libraries crash when they make very many; that of clang when it is asked how many it would make.
void require_sensible_threads() {
    constexpr int most = 4096;
    const char* const asked = std::getenv("OMP_NUM_THREADS");
    const bool is_absurd = asked != nullptr && std::strtoll(asked, nullptr, 10) > most;
    if (!is_absurd && omp_get_max_threads() <= most) return;
    throw UsageError(fmt::format("OMP_NUM_THREADS asks for {} threads; give 1 to {}",
                                 is_absurd ? asked : fmt::to_string(omp_get_max_threads()), most));
}

/// Throws DataError where what was printed is lost: the device is full, or the output was closed.
void require_printed() {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
    throw DataError("the results could not be written to the standard output");
}

std::terminate_handler terminate_before = nullptr;
thread_local bool memory_lacked = false;

/// Called by operator new before it throws.
[[noreturn]] void note_that_memory_lacks() {
    memory_lacked = true;
    throw std::bad_alloc();
}

/// Memory that lacks where nothing may be thrown: a sentence and an exit code instead of a signal. Files under final
/// names are whole at any moment.
[[noreturn]] void end_without_memory() {
    try {
        if (const std::exception_ptr now = std::current_exception()) std::rethrow_exception(now);
        // g++ 12 ends a noexcept function, also of its library, while the exception is thrown and not yet current.
        if (memory_lacked && std::uncaught_exceptions() > 0) throw std::bad_alloc();
    } catch (const std::bad_alloc&) {
        constexpr std::string_view sentence =
            "ulplab: out of memory; use smaller sizes, or fewer threads: OMP_NUM_THREADS=1\n";
        [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, sentence.data(), sentence.size());
        _exit(static_cast<int>(ExitCode::data));
    } catch (...) {  // a fault of the program
    }
    terminate_before();
    std::abort();
}

/// One action, with what happens before and behind it.
ExitCode watched(const std::function<ExitCode()>& action) {
    [[maybe_unused]] static const int installed = on_exit(change_code_of_libraries, nullptr);
    require_sensible_threads();
    struct Inside {
        Inside() { inside = true; }
        ~Inside() { inside = false; }
    } const now;
    const ExitCode code = action();
    require_printed();
    return code;
}

}  // namespace

std::string shown(std::string text, std::size_t most) {
    const std::size_t all = text.size();
    if (all > most) text = text.substr(0, most) + fmt::format("... ({} bytes more)", all - most);
    for (char& c : text) {
        if ((static_cast<unsigned char>(c) < ' ' && c != '\n') || c == 0x7F) c = '?';
    }
    return text;
}

void begin_program() {
    std::set_new_handler(note_that_memory_lacks);
    terminate_before = std::set_terminate(end_without_memory);
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
        if (fcntl(stream, F_GETFD) < 0) (void)open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
    const auto write_or_lose = [](void*, const char* text, std::size_t size) {
        [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, size);
        return static_cast<ssize_t>(size);
    };
    FILE* const lenient = fopencookie(nullptr, "w", {nullptr, write_or_lose, nullptr, nullptr});
    if (lenient == nullptr) return;
    setvbuf(lenient, nullptr, _IONBF, 0);
    stderr = lenient;
}

ExitCode guarded(const std::function<ExitCode()>& action) {
    try {
        return watched(action);
    } catch (const BitsDiffer& error) {
        return report(ExitCode::bits_differ, error);
    } catch (const std::invalid_argument& error) {
        return report(ExitCode::usage, error);
    } catch (const std::system_error& error) {
        if (std::ferror(stdout) == 0) return report(ExitCode::data, error);
        return report(ExitCode::data, DataError("the results could not be written to the standard output"));
    } catch (const std::bad_alloc& error) {
        const bool says_more = std::string_view(error.what()) != std::bad_alloc().what();
        if (says_more) return report(ExitCode::data, error);
        return report(ExitCode::data,
                      DataError("out of memory; use smaller sizes (--help lists the options that set them)"));
    } catch (const std::exception& error) {
        return report(ExitCode::data, error);
    }
}

}  // namespace ulp
