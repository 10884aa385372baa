#include <doctest/doctest.h>

#include "experiments/framework/files.hpp"
#include "experiments/framework/machine.hpp"
#include "softfloat/errors.hpp"
#include "tests/experiments/temporary_folder.hpp"

namespace {

using namespace ulp;
namespace fs = std::filesystem;

std::size_t entries(const fs::path& folder) {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("a staged folder replaces the earlier one only when it is published") {
    const test::TemporaryFolder parent;
    fs::create_directory(parent / "result");
    write_file(parent / "result/data", "old");
    {
        const StagedFolder staged(parent.path(), "result");
        write_file(staged.path() / "data", "half");
        CHECK(read_file(parent / "result/data") == "old");
    }  // given up
    CHECK(read_file(parent / "result/data") == "old");
    CHECK(entries(parent.path()) == 1);
    {
        StagedFolder staged(parent.path(), "result");
        write_file(staged.path() / "data", "new");
        staged.publish();
    }
    CHECK(read_file(parent / "result/data") == "new");
    CHECK(entries(parent.path()) == 1);
}

TEST_CASE("a staged folder that nothing stood at is put in place") {
    const test::TemporaryFolder parent;
    StagedFolder staged(parent.path(), "result");
    write_file(staged.path() / "data", "new");
    staged.publish();
    CHECK(read_file(parent / "result/data") == "new");
}

TEST_CASE("what a killed process left is removed, what a living one writes and what is not ours is not") {
    const test::TemporaryFolder parent;
    fs::create_directory(parent / ".result.partial-1.0");  // process 1 lives, but holds no lock on it
    fs::create_directory(parent / ".result.partial-mine");
    const StagedFolder living(parent.path(), "result");
    const StagedFolder staged(parent.path(), "result");
    CHECK_FALSE(fs::exists(parent / ".result.partial-1.0"));
    CHECK(fs::exists(living.path()));
    CHECK(fs::exists(staged.path()));
    CHECK(entries(parent.path()) == 3);
}

TEST_CASE("a folder that cannot be written is named") {
    const test::TemporaryFolder folder;
    write_file(folder / "file", "");
    CHECK_THROWS_WITH_AS(make_writable_folder(folder / "file"), doctest::Contains("cannot write into the folder"),
                         DataError);
    CHECK_THROWS_AS(make_writable_folder("/proc/nothing"), DataError);
    CHECK_THROWS_AS((void)read_file(folder / "missing"), DataError);
    CHECK_THROWS_AS((void)read_file(folder.path()), DataError);
}

TEST_CASE("a program's output and exit code come back") {
    const Finished finished = run_program({"sh", "-c", "echo out; echo err >&2; exit 7"});
    CHECK(finished.exit_code == 7);
    CHECK(finished.output == "out\nerr\n");
    CHECK(run_program({"sh", "-c", "kill -TERM $$"}).exit_code == 128 + 15);
    CHECK(run_program({"pwd"}, "/").output == "/\n");
    CHECK_THROWS_AS((void)run_program({"no-such-program-here"}), DataError);
}
