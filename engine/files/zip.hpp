// Zip archives. They are written (APPNOTE.TXT 6.3.10, sections 4.3 and 4.4) without the extension to 64 bits: less than
// 4 GiB and at most 65,534 files. The same files give the same bytes: every file is of the first day that the format
// knows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/files/whole_file.hpp"

namespace ulp {

/// Writes an archive file by file, stored as they are, to whatever takes the bytes.
class ZipWriter {
  public:
    explicit ZipWriter(std::function<void(std::string_view)> write) : write_(std::move(write)) {}

    /// The file of these pieces, one after the other. Throws std::length_error where the archive would grow too large.
    void add_stored(const std::string& name, const std::vector<std::string_view>& pieces);
    /// The file deflated, with the permissions 755 or 644 of Unix. Throws std::length_error as above.
    void add_deflated(const std::string& name, std::string_view content, bool executable);
    /// Writes the directory, once, after the last file. Throws std::length_error as above.
    void finish();

  private:
    struct Entry {
        std::string name;
        std::uint64_t method, crc, packed_size, size, at;
        std::uint64_t unix_mode;  // 0: made on no particular system
    };
    static std::string shared_fields(const Entry& entry);
    void begin(Entry entry);
    void put(std::string_view bytes);

    std::function<void(std::string_view)> write_;
    std::uint64_t at_ = 0;
    std::vector<Entry> entries_;
};

struct ZippedFile {
    std::string name;  // with folders, separated by '/'
    std::string_view content;
    bool executable = false;
};

/// An archive of these files, deflated. Throws DataError that names the file with which it would grow too large.
std::string zip_archive(const std::vector<ZippedFile>& files);

/// Throws the DataError that names the file, says why, and calls it incomplete.
[[noreturn]] void refuse_zip(const std::filesystem::path& file, const std::string& why);

/// An archive that others wrote, also with the extension to 64 bits: its members are stored or deflated, not encrypted,
/// and do not overlap, else a small file could stand for a huge one. Throws DataError that names the file.
class ZipArchive {
  public:
    static constexpr std::uint64_t stored = 0, deflated = 8;
    /// A few bytes can stand for a thousand times as many: files that unfold to more than this many times the
    /// archive's size, and more than 64 MiB, are refused by those who read whole archives. --max-expansion sets it.
    static inline std::uint64_t most_times = 100;
    static constexpr std::uint64_t always_good = std::uint64_t{1} << 26;
    struct Member {
        std::string name;
        std::uint64_t method, crc, compressed, size, header_at;
        std::uint64_t data_at = 0;
    };

    explicit ZipArchive(const std::filesystem::path& file) : file_(file), mapped_(file), bytes_(mapped_.bytes()) {}

    /// Of the central directory.
    [[nodiscard]] std::vector<Member> members() const;
    /// The first bytes of a member, at most `most`.
    [[nodiscard]] std::string contents(const Member& member, std::uint64_t most) const;
    /// All of it, as its checksum says.
    [[nodiscard]] std::string contents(const Member& member) const;
    /// Bytes of the file, and a little-endian number in it. Beyond its end it is refused.
    [[nodiscard]] std::string_view part(std::uint64_t at, std::uint64_t size) const;
    [[nodiscard]] std::uint64_t number(std::uint64_t at, std::size_t count) const;
    [[nodiscard]] std::size_t size() const { return bytes_.size(); }
    [[nodiscard]] const std::filesystem::path& file() const { return file_; }

  private:
    std::filesystem::path file_;
    MappedFile mapped_;
    std::string_view bytes_;
};

}  // namespace ulp
