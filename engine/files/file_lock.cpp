#include "engine/files/file_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

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

}  // namespace ulp
