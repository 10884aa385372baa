#include "engine/files/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "softfloat/errors.hpp"

namespace ulp {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& why) {
    throw DataError(path.string() + ": " + why);
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) refuse(path, std::string("cannot be read (") + std::strerror(errno) + ")");
    struct stat about {};
    const bool regular = fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode);
    size_ = regular ? static_cast<std::size_t>(about.st_size) : 0;
    void* const place = size_ > 0 ? mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0) : nullptr;
    const int error = errno;
    close(descriptor);
    if (!regular) refuse(path, "is not a regular file; save it as one");
    if (place == MAP_FAILED) refuse(path, std::string("cannot be mapped (") + std::strerror(error) + ")");
    place_ = place;
    if (size_ > 0) madvise(place_, size_, MADV_SEQUENTIAL);
}

MappedFile::~MappedFile() {
    if (place_ != nullptr) munmap(place_, size_);
}

}  // namespace ulp
