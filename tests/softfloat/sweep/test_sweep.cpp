// The sweep's own parts: a few rows of it, its two references, and that it sees a single wrong bit.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "softfloat/round.hpp"
#include "tests/softfloat/sweep/pairs.hpp"

namespace ulp::sweep {

TEST_CASE("a few rows of every format and operation equal the reference and the oracle") {
    for (const FloatFormat& format : {formats::fp16, formats::bf16}) {
        for (const Operation operation : operations) {
            Difference found;
            Row expected, got;
            for (const int code : {0x0000, 0x0001, 0x83FF, 0x3C01, 0x7BFF, 0xFC00, 0x7C01, 0x5A5A}) {
                const auto a = static_cast<std::uint16_t>(code);
                reference_row(format, operation, a, expected);
                plain_row(format, operation, a, got);
                compare_rows(format, a, got, expected, found);
                check_sample(format, operation, a, got, found);
                if (operator_row(format, operation, a, got)) compare_rows(format, a, got, expected, found);
                if (context_row(format, operation, a, got)) compare_rows(format, a, got, expected, found);
            }
            INFO(name_of(operation) << ": " << found.first);
            CHECK(found.count == 0);
        }
    }
}

TEST_CASE("one wrong bit in a row is found and named") {
    Row row, wrong;
    plain_row(formats::fp16, Operation::add, 0x3C00, row);
    wrong = row;
    wrong[0x4000] ^= 1;
    Difference found;
    compare_rows(formats::fp16, 0x3C00, wrong, row, found);
    CHECK(found.count == 1);
    CHECK(found.first == "3C00 4000: 4201, expected 4200");
}

TEST_CASE("the sample against the oracle finds an operation taken for another") {
    Row row;
    Difference found;
    plain_row(formats::bf16, Operation::add, 0x3F81, row);
    check_sample(formats::bf16, Operation::multiply, 0x3F81, row, found);
    CHECK(found.count > 8);
}

namespace {

/// A program of tasks: "good", "good too", and "bad" with a wrong bit in chunk 7. Counts the chunks that were run.
int run_tasks(std::vector<const char*> arguments, int& chunks_run) {
    const auto task = [&](const char* name, int wrong) {
        return Task{name, "cases", "nothing", [&chunks_run, wrong](int chunk) {
                        ++chunks_run;
                        return Difference{chunk == wrong ? std::uint64_t{1} : 0, "here"};
                    }};
    };
    arguments.insert(arguments.begin(), "tasks");
    return run_program("tasks", "a test", {task("good", -1), task("bad", 7), task("good too", -1)},
                       static_cast<int>(arguments.size()), arguments.data());
}

}  // namespace

TEST_CASE("a sweep runs its shard, resumes from its state, does wrong chunks again, and refuses bad options") {
    int runs = 0;
    CHECK(run_tasks({"--only", "good", "--shard", "1/1024"}, runs) == 0);
    CHECK(runs == 4);
    CHECK(run_tasks({"--only", "goo", "--shard", "1/1024"}, runs) == 0);
    CHECK(runs == 12);
    CHECK(run_tasks({"--shard", "8/4096"}, runs) == 4);
    CHECK(run_tasks({"--shard", "9/8"}, runs) == 2);
    CHECK(run_tasks({"--shard", "0/8"}, runs) == 2);
    CHECK(run_tasks({"--shard"}, runs) == 2);
    CHECK(run_tasks({"--only", "none"}, runs) == 2);
    CHECK(run_tasks({"--stat", "x"}, runs) == 2);
    CHECK(run_tasks({"--state", "/nowhere/file"}, runs) == 3);
    const std::filesystem::path state = std::filesystem::temp_directory_path() / "ulplab_sweep_test.state";
    std::filesystem::remove(state);
    const std::string file = state.string();
    runs = 0;
    CHECK(run_tasks({"--shard", "8/1024", "--state", file.c_str()}, runs) == 4);
    CHECK(runs == 12);
    CHECK(run_tasks({"--shard", "8/1024", "--state", file.c_str()}, runs) == 4);
    CHECK(runs == 13);
    std::filesystem::remove(state);
}

}  // namespace ulp::sweep
