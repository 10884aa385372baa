#include "experiments/course/gradescope.hpp"

#include <fmt/format.h>

#include "engine/files/zip.hpp"
#include "experiments/framework/files.hpp"
#include "softfloat/errors.hpp"

namespace ulp::course {
namespace {

constexpr const char* setup = R"(#!/usr/bin/env bash
# Run once when the image is made. The grader is linked statically; it needs a C++20 compiler for students' files, and
# Python for those in Python.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends g++ libc6-dev python3-minimal
rm -rf /var/lib/apt/lists/*
)";

constexpr const char* run_autograder = R"(#!/usr/bin/env bash
# Grades /autograder/submission and writes /autograder/results/results.json. A submission that earns nothing is no failure
# of the autograder.
set -uo pipefail
root=${{AUTOGRADER_ROOT:-/autograder}}
mkdir -p "$root/results"
"$root/source/ulplab-grade"{} --student "$root/submission" --seed {} --out "$root/results" --limit wall=120
code=$?
[ "$code" -le 1 ] && exit 0
echo "ulplab-grade ended with exit code $code" >&2
exit "$code"
)";

constexpr const char* dockerfile =
    R"(# An image of the autograder: unzip autograder.zip into source/ beside this file, then
#   docker build -t ulplab-course . && docker run --rm -v "$PWD/submission:/autograder/submission:ro" \
#     -v "$PWD/results:/autograder/results" ulplab-course
FROM gradescope/autograder-base:ubuntu-22.04
COPY source /autograder/source
RUN bash /autograder/source/setup.sh && cp /autograder/source/run_autograder /autograder/run_autograder && \
    chmod +x /autograder/run_autograder /autograder/source/ulplab-grade
CMD ["/autograder/run_autograder"]
)";

std::string zipped(const std::vector<CourseFile>& files) {
    std::vector<ZippedFile> members;
    for (const CourseFile& file : files) members.push_back({file.name, file.content, file.executable});
    return zip_archive(members);
}

}  // namespace

std::vector<CourseFile> autograder_files(const AutograderOptions& options) {
    std::string names;
    for (const std::string& name : options.names) names += " " + std::string(exercise_by_name(name).name);
    std::error_code error;
    if (!std::filesystem::is_regular_file(options.program, error)) {
        throw DataError(fmt::format("there is no grader {}; build the target ulplab-grade, or name it with --grader",
                                    options.program.string()));
    }
    return {{"setup.sh", setup, true},
            {"run_autograder", fmt::format(fmt::runtime(run_autograder), names, options.seed), true},
            {"ulplab-grade", read_file(options.program), true}};
}

std::vector<CourseFile> gradescope_files(const AutograderOptions& options) {
    return {{"students.zip", zipped(students_files())},
            {"autograder.zip", zipped(autograder_files(options))},
            {"Dockerfile", dockerfile}};
}

}  // namespace ulp::course
