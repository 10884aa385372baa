// Files read and written whole: every file of the project that takes the place of an earlier one goes through
// WholeFile.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace ulp {

/// The bytes of a file, or of a pipe until its writers close it. Throws DataError that names it, also where a signal
/// that the program catches comes while it waits for a pipe.
std::string read_whole_file(const std::filesystem::path& path);

/// A file that appears at its place when it is complete: a reader sees the old file or the new one, never a part. It is
/// written under a new name in the same folder ("run.safetensors.4711.0.tmp"), which no other writer and no symbolic
/// link has, and holds a lock (flock) on it. What a writer that was killed left under such a name is removed by the
/// next one: its lock is free.
class WholeFile {
  public:
    /// Throws DataError that names the file, here and below, where the disk refuses, and where the place is taken by a
    /// folder, a pipe or a device: a rename as root would replace /dev/null by a file.
    explicit WholeFile(std::filesystem::path path);
    /// Without publish() nothing is left behind, and an earlier file stays as it was.
    ~WholeFile();
    WholeFile(const WholeFile&) = delete;
    WholeFile& operator=(const WholeFile&) = delete;

    void write(std::string_view bytes);
    /// Puts the bytes on the disk and the file in its place.
    void publish();

  private:
    void flush();

    std::filesystem::path path_;
    std::filesystem::path temporary_;
    int descriptor_ = -1;
    std::string buffer_;
};

/// Where a path leads: what its last part, a symbolic link, names in the end. A WholeFile takes the place of a link.
std::filesystem::path behind_links(std::filesystem::path path);

/// A WholeFile of these bytes.
void replace_whole_file(const std::filesystem::path& path, std::string_view bytes);

// Locks on files (flock): who writes holds one, and the system frees it when the process ends, however it ends.

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

// A file's bytes as memory: the system reads what is looked at, and forgets it where memory is short.

class MappedFile {
  public:
    /// Throws DataError that names the file: missing, not readable, not a regular file.
    explicit MappedFile(const std::filesystem::path& path);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    /// As the file was when it was mapped; nobody may cut it short meanwhile.
    [[nodiscard]] std::string_view bytes() const { return {static_cast<const char*>(place_), size_}; }
    /// Lets the system take back the memory of bytes that were read; they can be read again.
    void forget(std::string_view bytes) const;

  private:
    void* place_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace ulp
