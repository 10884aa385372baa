// A temporary folder of the grader's own, which goes when the grader ends, however it ends.
#pragma once

#include <sys/types.h>

#include <filesystem>

namespace ulp::course {

/// A folder that only this user may enter. A small process of its own waits for this one to end and removes the folder:
/// that happens after SIGKILL, too.
class WorkFolder {
  public:
    /// Throws DataError where it cannot be made in the folder for temporary files.
    WorkFolder();
    ~WorkFolder();
    WorkFolder(const WorkFolder&) = delete;
    WorkFolder& operator=(const WorkFolder&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
    pid_t remover_ = -1;
    int lifeline_ = -1;  // the remover reads its other end until it is closed
};

}  // namespace ulp::course
