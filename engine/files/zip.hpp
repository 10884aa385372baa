// Zip archives, written (APPNOTE.TXT 6.3.10, sections 4.3 and 4.4), without the extension to 64 bits: less than 4 GiB
// and at most 65,534 files. The same files give the same bytes: every file is of the first day that the format knows.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace ulp
