// The files of docs/exercises that students see, inside the program.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/course/exercise.hpp"

namespace ulp::course {

/// docs/exercises/<exercise>/<file>. Throws std::logic_error for one that there is not.
std::string_view course_file(const Exercise& exercise, std::string_view file);
/// docs/exercises/support/<file>, or "../../lessons/teaching.md".
std::string_view shared_course_file(std::string_view file);

struct CourseFile {
    std::string name;  // with folders: "find_nan/find_nan.cpp"
    std::string content;
    bool executable = false;
};

/// The students' tree: for each exercise its folder with statement, interface, starter and public tests, and how to
/// begin.
std::vector<CourseFile> students_files();

/// The teacher's archive: solutions, mistaken programs, the rubric, examples of class.json and roster.csv. The
/// solutions are read from the project's sources, as no package holds them; throws DataError where this program lies
/// elsewhere.
std::vector<CourseFile> teachers_files();

/// All files below a folder, with `name` for the folder.
std::vector<CourseFile> files_below(const std::filesystem::path& folder, const std::string& name);

/// Writes files below a new folder. Throws UsageError where `folder` exists and is not empty; DataError where it cannot
/// be written, and then leaves nothing.
void write_course_files(const std::filesystem::path& folder, const std::vector<CourseFile>& files);

// A temporary folder of the grader's own, which goes when the grader ends, however it ends.

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
