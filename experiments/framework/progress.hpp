// A progress line on stderr, only where stderr is a terminal.
#pragma once

#include <string>

namespace ulp {

class Progress {
  public:
    /// `label` stands before the bar.
    explicit Progress(std::string label);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// From 0 to 1; draws when the whole percentage has changed.
    void update(double fraction);

  private:
    std::string label_;
    bool terminal_;
    int drawn_percent_ = -1;
};

}  // namespace ulp
