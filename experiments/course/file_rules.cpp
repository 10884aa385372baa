// Linux's userspace API guide, "Landlock: unprivileged access control". The numbers are written out: Debian 12's header
// has those of the first two versions only.
#include "experiments/course/file_rules.hpp"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <system_error>

namespace ulp::course {
namespace {

constexpr std::uint64_t may_execute = 1 << 0;
constexpr std::uint64_t may_write_file = 1 << 1;
constexpr std::uint64_t may_read_file = 1 << 2;
constexpr std::uint64_t may_read_folder = 1 << 3;
constexpr std::uint64_t may_truncate = 1 << 14;
constexpr std::uint64_t of_files = may_execute | may_write_file | may_read_file | may_truncate;

long landlock_version() {
    return syscall(SYS_landlock_create_ruleset, nullptr, std::size_t{0}, LANDLOCK_CREATE_RULESET_VERSION);
}
/// All rights that this version knows, up to `truncate`.
std::uint64_t known_rights(long version) {
    return version >= 3 ? (1U << 15) - 1 : version == 2 ? (1U << 14) - 1 : (1U << 13) - 1;
}

void allow_path(int rules, const std::string& path, std::uint64_t rights) {
    const int file = open(path.c_str(), O_PATH | O_CLOEXEC);
    if (file < 0) return;
    struct stat status {};
    if (fstat(file, &status) == 0) {
        landlock_path_beneath_attr rule{S_ISDIR(status.st_mode) ? rights : rights & of_files, file};
        syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0U);
    }
    close(file);
}

/// A program that was installed outside of /usr, /opt/gcc/bin/g++, may read what was installed with it.
void allow_installation(int rules, const std::string& program, std::uint64_t rights) {
    std::error_code error;
    for (const std::filesystem::path& file :
         {std::filesystem::absolute(program, error), std::filesystem::canonical(program, error)}) {
        const std::filesystem::path folder = file.parent_path();
        if (folder.empty()) continue;
        allow_path(rules, folder.string(), rights);
        for (const char* beside : {"lib", "lib64", "libexec", "include", "share"}) {
            allow_path(rules, (folder.parent_path() / beside).string(), rights);
        }
    }
}

}  // namespace

bool file_rules_available() { return landlock_version() >= 1; }

int rules_for(Confinement confinement, const std::string& program, const std::string& folder) {
    const long version = landlock_version();
    if (version < 1 || (confinement != Confinement::compiler && confinement != Confinement::interpreter)) return -1;
    const std::uint64_t rights = known_rights(version);
    landlock_ruleset_attr known{rights};
    const auto rules =
        static_cast<int>(syscall(SYS_landlock_create_ruleset, &known, sizeof known.handled_access_fs, 0U));
    if (rules < 0) return -1;
    const std::uint64_t reads = may_execute | may_read_file | may_read_folder;
    for (const char* path : {"/usr", "/lib", "/lib32", "/lib64", "/bin", "/etc/alternatives", "/etc/ld.so.cache",
                             "/etc/ld.so.preload", "/dev/urandom"}) {
        allow_path(rules, path, reads);
    }
    allow_installation(rules, program, reads);
    allow_path(rules, "/dev/null", (may_read_file | may_write_file | may_truncate) & rights);
    allow_path(rules, folder, confinement == Confinement::compiler ? rights : reads);
    return rules;
}

}  // namespace ulp::course
