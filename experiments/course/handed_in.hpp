// The files that were handed in, those inside of archives among them, and which of them is which exercise's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/files/zip.hpp"
#include "experiments/course/submissions.hpp"

namespace ulp::course {

struct HandedIn {
    std::vector<std::string> path;  // folders, archives without ".zip", and the file's name
    std::filesystem::path place;    // empty: only its name is known, or it could not be read
    std::string problem{};          // with an archive
};

/// In lower case (ASCII), for names of files.
std::string lower(std::string text);
std::string extension_of(const std::string& name);
bool is_source(const std::string& name);

/// Collects files, and unpacks archives into a folder.
class Unpacker {
  public:
    explicit Unpacker(std::filesystem::path work);

    /// A file, or all files of an archive. One that cannot be read becomes a file with a problem.
    void add(const std::filesystem::path& place, std::vector<std::string> path, int depth = 0);
    /// All files below a folder.
    void add_folder(const std::filesystem::path& folder, const std::vector<std::string>& path);
    /// A new file of this content.
    std::filesystem::path keep(const std::string& extension, std::string_view content);

    std::vector<HandedIn> files{};

  private:
    void unpack(const std::filesystem::path& place, const std::vector<std::string>& above, int depth);
    /// A new file of a member's first bytes, at most `most`; their checksum counts where they are all.
    std::filesystem::path unpacked(const ZipArchive& archive, const ZipArchive::Member& member, std::uint64_t most,
                                   const std::string& extension);

    static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 28;
    std::filesystem::path work_;
    std::uint64_t left_ = 0;  // bytes that what is in the present file may still unfold to, archives inside and all
    int count_ = 0;
};

/// A file of a student, and where it lies in what was handed in.
struct Own {
    const HandedIn* file;
    std::vector<std::string> path;
    int rank = 9;  // 0: where the exercise's page says; the higher, the less like its name
    int copy = 0;  // "(2)", "-2"
    [[nodiscard]] std::string text() const;
};

/// Names the files to be graded, and says what is odd about all of them.
void choose_files(Submission& submission, const std::vector<Own>& files, Unpacker& unpacked);

}  // namespace ulp::course
