#include "experiments/framework/long_work.hpp"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <exception>
#include <sstream>

#include "experiments/framework/files.hpp"

namespace ulp {

Progress::Progress(std::size_t tasks) : terminal_(isatty(STDERR_FILENO) != 0), tasks_(tasks) {}

Progress::~Progress() { clear(); }

void Progress::next(std::string label) {
    label_ = std::move(label);
    ++begun_;
    update(0);
}

void Progress::update(double fraction) {
    if (!terminal_) return;
    fraction = std::clamp(fraction, 0.0, 1.0);
    constexpr int width = 30;
    const double before = static_cast<double>(begun_ - std::min<std::size_t>(begun_, 1));
    const int filled = static_cast<int>(width * (before + fraction) / static_cast<double>(tasks_));
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start_).count();
    std::string line = fmt::format("[{:=<{}}{: <{}}] {:2d}/{}  {}  {:.0f} %  {}:{:02d}", "", filled, "", width - filled,
                                   begun_, tasks_, label_, 100 * fraction, seconds / 60, seconds % 60);
    if (line == drawn_) return;
    fmt::print(stderr, "\r\033[K{}", line);
    std::fflush(stderr);
    drawn_ = std::move(line);
}

void Progress::clear() {
    if (terminal_ && !drawn_.empty()) fmt::print(stderr, "\r\033[K");
    drawn_.clear();
}

namespace {

volatile sig_atomic_t received = 0;
void remember(int number) { received = number; }

constexpr std::array ending = {SIGINT, SIGTERM, SIGHUP};
std::array<struct sigaction, ending.size()> earlier{};

std::string in_quotes(const std::string& word) {
    const auto is_plain = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
               std::string_view("-_=+./:,@%").find(c) != std::string_view::npos;
    };
    if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
    std::string text = "'";
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

}  // namespace

Interruption::Interruption() {
    received = 0;
    for (std::size_t i = 0; i < ending.size(); ++i) {
        struct sigaction action {};
        action.sa_handler = remember;
        action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
        sigaction(ending[i], &action, &earlier[i]);
        if (earlier[i].sa_handler == SIG_IGN) sigaction(ending[i], &earlier[i], nullptr);
    }
}

Interruption::~Interruption() {
    for (std::size_t i = 0; i < ending.size(); ++i) sigaction(ending[i], &earlier[i], nullptr);
}

int Interruption::signal() { return received; }

std::string command_line() {
    std::istringstream words(read_file("/proc/self/cmdline"));
    std::string line;
    for (std::string word; std::getline(words, word, '\0');) line += (line.empty() ? "" : " ") + in_quotes(word);
    return line;
}

bool may_run_side_by_side(const std::string& backend) {
    constexpr std::string_view wrapper = "with_ieee(";
    if (backend.starts_with(wrapper))
        return may_run_side_by_side(backend.substr(wrapper.size(), backend.size() - wrapper.size() - 1));
    return backend.starts_with("soft:") || backend == "eigen";
}

void run_side_by_side(std::size_t count, bool parallel, const std::function<void(std::size_t)>& run,
                      const std::function<void(double)>& progress) {
    std::exception_ptr error;
    std::size_t done = 0;
#pragma omp parallel for schedule(dynamic, 1) if (parallel && count > 1)  // of one the products take the threads
    for (std::size_t i = 0; i < count; ++i) {
        try {
            run(count - 1 - i);
        } catch (...) {  // none may leave the threads' region
#pragma omp critical(side_by_side)
            if (!error) error = std::current_exception();
        }
#pragma omp critical(side_by_side)
        progress(static_cast<double>(++done) / static_cast<double>(count));
    }
    if (error) std::rethrow_exception(error);
}

}  // namespace ulp
