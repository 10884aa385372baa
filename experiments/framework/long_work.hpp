// A progress line on stderr, only where stderr is a terminal: "[=====     ]  7/20  swamping  45 %  1:23".
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace ulp {

/// The progress of several tasks in turn. The bar is over all of them, the percentage of the current one.
class Progress {
  public:
    explicit Progress(std::size_t tasks);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// The next task begins.
    void next(std::string label);
    /// Of the current task, from 0 to 1; draws when something of the line has changed.
    void update(double fraction);
    /// Takes the line away, so that something else can be printed.
    void clear();

  private:
    bool terminal_;
    std::size_t tasks_;
    std::size_t begun_ = 0;
    std::string label_;
    std::string drawn_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Ctrl-C in the middle of long work: it is finished as far as it goes, and what is there is saved.

/// As long as it lives, a first SIGINT, SIGTERM or SIGHUP is only remembered; a second one ends the program at once.
/// Signals that the program was started to ignore (nohup) stay ignored.
class Interruption {
  public:
    Interruption();
    ~Interruption();
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;

    /// The signal that came, or 0.
    [[nodiscard]] static int signal();
};

/// The command that started this program, so that a shell takes it again.
std::string command_line();

// Runs that have nothing to do with each other, on the machine's cores. The results do not depend on how many there
// are.

/// Whether runs whose products go through this backend may stand side by side: those of software ones.
bool may_run_side_by_side(const std::string& backend);

/// run(0) ... run(count - 1), side by side if `parallel`. The last is begun first: what is listed first, plain fp32, is
/// the quickest and fills the gap at the end. `progress` is told the share done; the first error is passed on.
void run_side_by_side(
    std::size_t count, bool parallel, const std::function<void(std::size_t)>& run,
    const std::function<void(double)>& progress = [](double) {});

}  // namespace ulp
