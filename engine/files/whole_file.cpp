#include "engine/files/whole_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

#include "softfloat/errors.hpp"

namespace ulp {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse(const fs::path& path, const std::string& what, int error) {
    throw DataError(fmt::format("{}: {}: {}", path.string(), what, std::strerror(error)));
}

/// A file of a name that no other process or thread takes.
struct NewFile {
    fs::path path;
    int descriptor;
};
NewFile new_file_beside(const fs::path& path) {
    for (int attempt = 0;; ++attempt) {
        const fs::path name = fmt::format("{}.{}.{}.tmp", path.string(), ::getpid(), attempt);
        const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor >= 0) return {name, descriptor};
        if (errno != EEXIST) refuse(path, "cannot be written", errno);
    }
}

/// 0, or the error's number.
int write_all(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return count == 0 ? ENOSPC : errno;
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return ::fsync(descriptor) == 0 ? 0 : errno;
}

}  // namespace

std::string read_whole_file(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    if (!stream) throw DataError(path.string() + ": cannot be opened");
    return {std::istreambuf_iterator<char>(stream), {}};
}

void replace_whole_file(const fs::path& path, std::string_view bytes) {
    const NewFile file = new_file_beside(path);
    int failure = write_all(file.descriptor, bytes);
    if (::close(file.descriptor) != 0 && failure == 0) failure = errno;
    if (failure == 0 && std::rename(file.path.c_str(), path.c_str()) != 0) failure = errno;
    if (failure == 0) return;
    ::unlink(file.path.c_str());
    refuse(path, "cannot be written", failure);
}

}  // namespace ulp
