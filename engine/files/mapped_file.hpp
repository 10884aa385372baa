// A file's bytes as memory: the system reads what is looked at, and forgets it where memory is short.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace ulp {

class MappedFile {
  public:
    /// Throws DataError that names the file: missing, not readable, not a regular file.
    explicit MappedFile(const std::filesystem::path& path);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    /// As the file was when it was mapped; nobody may cut it short meanwhile.
    [[nodiscard]] std::string_view bytes() const { return {static_cast<const char*>(place_), size_}; }

  private:
    void* place_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace ulp
