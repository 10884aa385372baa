// Ctrl-C in the middle of long work: it is finished as far as it goes, and what is there is saved.
#pragma once

#include <string>

namespace ulp {

/// As long as it lives, a first SIGINT or SIGTERM is only remembered; a second one ends the program at once. Signals
/// that the program was started to ignore (nohup) stay ignored.
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

}  // namespace ulp
