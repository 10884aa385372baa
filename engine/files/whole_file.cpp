#include "engine/files/whole_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "softfloat/errors.hpp"

namespace ulp {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse(const fs::path& path, int error) {
    throw DataError(fmt::format("{}: cannot be written: {}", path.string(), std::strerror(error)));
}

/// Until a writer of the pipe has written or closed it. Without a writer yet, poll waits as well.
void wait_for_pipe(int file, const fs::path& path) {
    pollfd waiting{file, POLLIN, 0};
    if (::poll(&waiting, 1, -1) < 0) throw DataError(path.string() + ": interrupted while waiting for this pipe");
}

std::string bytes_of(int file, const fs::path& path) {
    struct stat about {};
    ::fstat(file, &about);
    std::string all;
    if (S_ISREG(about.st_mode)) all.reserve(static_cast<std::size_t>(about.st_size));
    std::array<char, std::size_t{1} << 16> buffer;
    for (;;) {
        if (S_ISFIFO(about.st_mode)) wait_for_pipe(file, path);
        const ssize_t count = ::read(file, buffer.data(), buffer.size());
        if (count == 0) return all;
        if (count > 0) all.append(buffer.data(), static_cast<std::size_t>(count));
        if (count < 0 && errno != EINTR && errno != EAGAIN) {
            throw DataError(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
        }
    }
}

}  // namespace

std::string read_whole_file(const fs::path& path) {
    if (fs::is_character_file(path) || fs::is_block_file(path)) {  // some never end
        throw DataError(path.string() + ": is a device; give a file");
    }
    if (fs::is_directory(path)) throw DataError(path.string() + ": is a folder; give a file");
    const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);  // of a pipe: without waiting here
    if (file < 0) throw DataError(path.string() + ": cannot be opened");
    struct Closing {
        int file;
        ~Closing() { ::close(file); }
    } const closing{file};
    return bytes_of(file, path);
}

WholeFile::WholeFile(fs::path path) : path_(std::move(path)) {
    std::error_code unknown;
    const fs::file_status status = fs::symlink_status(path_, unknown);
    if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_symlink(status)) {
        throw DataError(
            fmt::format("{}: cannot be written: it is no regular file, and would be replaced by one", path_.string()));
    }
    remove_leftovers(path_.parent_path(), path_.filename().string() + ".", ".tmp");
    LockedFile file = new_locked_file(path_);
    temporary_ = std::move(file.path);
    descriptor_ = file.descriptor;
}

WholeFile::~WholeFile() {
    if (descriptor_ < 0) return;
    ::unlink(temporary_.c_str());  // before the lock is free
    ::close(descriptor_);
}

void WholeFile::write(std::string_view bytes) {
    constexpr std::size_t enough = std::size_t{1} << 20;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), enough))) {
        buffer_ += bytes.substr(0, enough);
        if (buffer_.size() >= enough) flush();
    }
}

void WholeFile::flush() {
    for (std::string_view left = buffer_; !left.empty();) {
        const ssize_t count = ::write(descriptor_, left.data(), left.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) refuse(path_, count == 0 ? ENOSPC : errno);
        left.remove_prefix(static_cast<std::size_t>(count));
    }
    buffer_.clear();
}

void WholeFile::publish() {
    flush();
    if (::fsync(descriptor_) != 0 || std::rename(temporary_.c_str(), path_.c_str()) != 0) refuse(path_, errno);
    ::close(descriptor_);
    descriptor_ = -1;
}

fs::path behind_links(fs::path path) {
    constexpr int most_links = 40;  // as Linux has it
    std::error_code error;
    for (int links = 0; links < most_links && fs::is_symlink(path, error); ++links) {
        path = path.parent_path() / fs::read_symlink(path, error);
    }
    return path;
}

void replace_whole_file(const fs::path& path, std::string_view bytes) {
    WholeFile file(path);
    file.write(bytes);
    file.publish();
}

namespace fs = std::filesystem;

namespace {

/// Whether the open file is still the one of that name.
bool is_at(int descriptor, const fs::path& path) {
    struct stat open {};
    struct stat named {};
    return ::fstat(descriptor, &open) == 0 && ::lstat(path.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
           open.st_dev == named.st_dev;
}

/// Where the file system has no locks there is nothing to hold, and nobody removes what seems to be left over.
bool lock_own(int descriptor) { return try_lock(descriptor) || errno != EWOULDBLOCK; }

/// The first of the names "<start><count><end>" that `make` can make, is opened so, and locks before anybody else does.
template <class Make>
LockedFile first_new(const std::string& start, const std::string& end, const fs::path& named, const Make& make) {
    for (int count = 0;; ++count) {
        const fs::path name = fmt::format("{}{}.{}{}", start, ::getpid(), count, end);
        const int descriptor = make(name);
        constexpr int most = 1000;  // a folder just made may be gone (ENOENT) before it is opened, but not so often
        if (descriptor < 0 && ((errno != EEXIST && errno != ENOENT) || count > most)) refuse(named, errno);
        if (descriptor < 0) continue;
        if (lock_own(descriptor) && is_at(descriptor, name)) return {name, descriptor};
        ::close(descriptor);  // taken for a left-over between its making and its locking
    }
}

/// "<prefix><process>.<count><suffix>"
bool is_of_a_writer(std::string_view name, const std::string& prefix, const std::string& suffix) {
    if (name.size() < prefix.size() + suffix.size() || !name.starts_with(prefix) || !name.ends_with(suffix))
        return false;
    const std::string_view numbers = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
    return numbers.find('.') != std::string_view::npos &&
           numbers.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

bool try_lock(int descriptor) { return ::flock(descriptor, LOCK_EX | LOCK_NB) == 0; }

LockedFile new_locked_file(const fs::path& path) {
    return first_new(path.string() + ".", ".tmp", path, [](const fs::path& name) {
        return ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    });
}

LockedFile new_locked_folder(const fs::path& parent, const std::string& prefix) {
    return first_new((parent / prefix).string(), "", parent / prefix, [](const fs::path& name) {
        if (::mkdir(name.c_str(), 0777) != 0) return -1;
        return ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    });
}

void remove_leftovers(const fs::path& folder, const std::string& prefix, const std::string& suffix) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, ignored)) {
        if (!is_of_a_writer(entry.path().filename().string(), prefix, suffix)) continue;
        const int descriptor = ::open(entry.path().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (descriptor < 0) continue;
        // A writer that published meanwhile freed its lock, and its name may be another's by now.
        if (try_lock(descriptor) && is_at(descriptor, entry.path())) fs::remove_all(entry.path(), ignored);
        ::close(descriptor);
    }
}

FileLock::FileLock(const fs::path& path) : file_{path.string() + ".lock", -1} {
    for (;;) {
        file_.descriptor = ::open(file_.path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (file_.descriptor < 0) refuse(file_.path, errno);
        const bool own = lock_own(file_.descriptor);
        if (own && is_at(file_.descriptor, file_.path)) return;
        ::close(file_.descriptor);  // or its owner removed it just now: once more
        if (own) continue;
        throw DataError(
            fmt::format("{}: another process is working on it and holds {}; wait for its end, or name another file",
                        path.string(), file_.path.string()));
    }
}

FileLock::~FileLock() {
    ::unlink(file_.path.c_str());
    ::close(file_.descriptor);
}

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
    if (S_ISDIR(about.st_mode)) refuse(path, "is a folder; give a file");
    if (!regular) refuse(path, "is not a regular file; save it as one");
    if (place == MAP_FAILED) refuse(path, std::string("cannot be mapped (") + std::strerror(error) + ")");
    place_ = place;
    if (size_ > 0) madvise(place_, size_, MADV_SEQUENTIAL);
}

void MappedFile::forget(std::string_view bytes) const {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const auto offset = static_cast<std::size_t>(bytes.data() - static_cast<const char*>(place_));
    const std::size_t first = (offset + page - 1) / page * page;  // the pages of these bytes alone
    const std::size_t last = (offset + bytes.size()) / page * page;
    if (first < last) madvise(static_cast<char*>(place_) + first, last - first, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
    if (place_ != nullptr) munmap(place_, size_);
}

}  // namespace ulp
