// Files that appear whole, and the locks of those who write.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "engine/files/whole_file.hpp"
#include "softfloat/errors.hpp"

namespace {

using namespace ulp;
namespace fs = std::filesystem;

struct Folder {
    fs::path path = fs::temp_directory_path() / ("ulplab_whole_file_" + std::to_string(::getpid()));
    Folder() { fs::create_directories(path); }
    ~Folder() { fs::remove_all(path); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    [[nodiscard]] std::set<std::string> names() const {
        std::set<std::string> names;
        for (const auto& entry : fs::directory_iterator(path)) names.insert(entry.path().filename().string());
        return names;
    }
};

TEST_CASE("a file is replaced whole, and nothing is left beside it") {
    const Folder folder;
    const fs::path file = folder.path / "f";
    replace_whole_file(file, "one");
    replace_whole_file(file, "two");
    CHECK(read_whole_file(file) == "two");
    {
        WholeFile given_up(file);
        given_up.write("three");
        CHECK(folder.names().size() == 2);
    }
    CHECK(read_whole_file(file) == "two");
    CHECK(folder.names() == std::set<std::string>{"f"});
    CHECK_THROWS_WITH_AS(replace_whole_file(folder.path / "no/such/folder", "x"), doctest::Contains("no/such/folder"),
                         DataError);
    fs::create_directory(folder.path / "d");
    CHECK_THROWS_AS(replace_whole_file(folder.path / "d", "x"), DataError);
    CHECK(folder.names() == std::set<std::string>{"d", "f"});
}

TEST_CASE("a device, which may never end, and a folder are not read") {
    CHECK_THROWS_WITH_AS(read_whole_file("/tmp"), "/tmp: is a folder; give a file", DataError);
    CHECK_THROWS_WITH_AS(read_whole_file("/dev/zero"), "/dev/zero: is a device; give a file", DataError);
    const Folder folder;
    std::ofstream(folder.path / "f") << "text";
    CHECK(read_whole_file(folder.path / "f") == "text");
}

TEST_CASE("a pipe or a device is not replaced by a file") {
    const Folder folder;
    const fs::path pipe = folder.path / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK_THROWS_WITH_AS(replace_whole_file(pipe, "x"), doctest::Contains("no regular file"), DataError);
    CHECK(fs::is_fifo(pipe));
    CHECK(folder.names() == std::set<std::string>{"pipe"});
}

TEST_CASE("what a file is written through is no symbolic link") {
    const Folder folder;
    std::ofstream(folder.path / "precious") << "kept";
    const std::string next = "f." + std::to_string(::getpid()) + ".0.tmp";
    fs::create_symlink("precious", folder.path / next);
    fs::create_symlink("precious", folder.path / "f");
    replace_whole_file(folder.path / "f", "new");
    CHECK(read_whole_file(folder.path / "precious") == "kept");
    CHECK(read_whole_file(folder.path / "f") == "new");
    CHECK_FALSE(fs::is_symlink(folder.path / "f"));
}

TEST_CASE("what a killed writer left is removed, what another writes, and what has another name, is not") {
    const Folder folder;
    const fs::path file = folder.path / "f";
    for (const char* name : {"f.1.0.tmp", "f.backup.tmp", "f.12.tmp.old"}) std::ofstream(folder.path / name) << "?";
    const WholeFile living(file);
    CHECK(folder.names().size() == 3);
    CHECK_FALSE(fs::exists(folder.path / "f.1.0.tmp"));
    replace_whole_file(file, "x");
    CHECK(folder.names().size() == 4);
}

TEST_CASE("a full disk leaves the old file and nothing temporary") {
    const Folder folder;
    const fs::path file = folder.path / "f";
    replace_whole_file(file, "old");
    const pid_t child = ::fork();
    if (child == 0) {
        ::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{4096, 4096};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        int refused = 0;
        try {
            replace_whole_file(file, std::string(100000, 'x'));
        } catch (const DataError&) {
            refused = 1;
        }
        ::_exit(refused);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WEXITSTATUS(status) == 1);
    CHECK(read_whole_file(file) == "old");
    CHECK(folder.names() == std::set<std::string>{"f"});
}

TEST_CASE("many writers of one file leave one of their files whole") {
    const Folder folder;
    const fs::path file = folder.path / "f";
    std::vector<std::thread> writers;
    for (char letter = 'a'; letter < 'i'; ++letter) {
        writers.emplace_back([&file, letter] {
            for (int i = 0; i < 40; ++i) replace_whole_file(file, std::string(10000, letter));
        });
    }
    for (std::thread& writer : writers) writer.join();
    const std::string found = read_whole_file(file);
    CHECK(found == std::string(10000, found.at(0)));
    CHECK(folder.names() == std::set<std::string>{"f"});
}

TEST_CASE("a lock is held once, freed at the end, and not kept by who was killed") {
    const Folder folder;
    const fs::path file = folder.path / "f";
    {
        const FileLock lock(file);
        CHECK_THROWS_WITH_AS(FileLock{file}, doctest::Contains("another process is working on it"), DataError);
    }
    CHECK(folder.names().empty());
    const pid_t child = ::fork();
    if (child == 0) {
        const FileLock lock(file);
        ::raise(SIGKILL);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status));
    CHECK(folder.names() == std::set<std::string>{"f.lock"});
    { const FileLock lock(file); }
    CHECK(folder.names().empty());
}

}  // namespace
