// A progress line on stderr, only where stderr is a terminal: "[=====     ]  7/20  swamping  45 %  1:23".
#pragma once

#include <chrono>
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

}  // namespace ulp
