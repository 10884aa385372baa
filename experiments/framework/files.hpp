// Files, and a folder that appears at its place only when it is complete.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "engine/files/file_lock.hpp"

namespace ulp {

/// Throw DataError that names the file.
std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, std::string_view content);

/// Before anything is computed: throws DataError that names a file for results that cannot be written. Leaves nothing
/// behind. An empty name is no file; a pipe or a device is left to the writer.
void require_writable(const std::filesystem::path& path);

/// The name, [a-z0-9_]+, that may be part of a file's name, a script and a page. Throws DataError for any other.
std::string plain_name(std::string name);

/// Creates the folder with its parents. Throws DataError where that fails or nothing can be written in it.
void make_writable_folder(const std::filesystem::path& folder);

/// A folder filled under a temporary name beside its place (".overflow.partial-4711.0") and then exchanged for what
/// stood there. Whatever fails before `publish`, the earlier folder stays as it was and the temporary one is removed.
/// It is locked (engine/files/file_lock.hpp): what a killed process left is removed by the next one.
class StagedFolder {
  public:
    /// `parent` must exist. Throws DataError.
    StagedFolder(const std::filesystem::path& parent, const std::string& name);
    ~StagedFolder();
    StagedFolder(const StagedFolder&) = delete;
    StagedFolder& operator=(const StagedFolder&) = delete;

    /// Where to write.
    [[nodiscard]] const std::filesystem::path& path() const { return staging_.path; }
    /// Puts the folder in its place. Throws DataError.
    void publish();

  private:
    std::filesystem::path place_;
    LockedFile staging_;
};

}  // namespace ulp
