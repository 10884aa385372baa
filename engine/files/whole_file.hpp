// Files read and written whole: every file of the project that takes the place of an earlier one goes through
// WholeFile.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace ulp {

/// The bytes of a file. Throws DataError that names it.
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

/// A WholeFile of these bytes.
void replace_whole_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace ulp
