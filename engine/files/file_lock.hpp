// Locks on files (flock): who writes holds one, and the system frees it when the process ends, however it ends.
#pragma once

#include <filesystem>

namespace ulp {

/// An open file or folder and its lock.
struct LockedFile {
    std::filesystem::path path;
    int descriptor;
};
/// Whether nobody else holds the lock of an open file or folder; then this descriptor does. Where the file system has
/// no locks, that counts as held.
bool try_lock(int descriptor);
/// A new file beside `path`, "<path>.<process>.<count>.tmp", open for writing and locked. Throws DataError naming
/// `path`.
LockedFile new_locked_file(const std::filesystem::path& path);
/// A new folder of the name "<prefix><process>.<count>" in `parent`, open and locked. Throws DataError naming it.
LockedFile new_locked_folder(const std::filesystem::path& parent, const std::string& prefix);
/// Removes the entries of a folder that have such names, "<prefix><process>.<count><suffix>", and whose lock nobody
/// holds.
void remove_leftovers(const std::filesystem::path& folder, const std::string& prefix, const std::string& suffix);

/// Keeps others from working on a file as long as it lives: holds the lock of "<path>.lock".
class FileLock {
  public:
    /// Throws DataError where another process, or another FileLock of this one, holds it, or it cannot be made.
    explicit FileLock(const std::filesystem::path& path);
    ~FileLock();
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

  private:
    LockedFile file_;
};

}  // namespace ulp
