#include "experiments/course/grade_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/files/zip.hpp"
#include "experiments/framework/exit_codes.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/html.hpp"
#include "softfloat/errors.hpp"

namespace ulp::course {
namespace {

std::string outcome_text(const ExerciseResult& result) {
    switch (result.outcome) {
        case Outcome::judged: return "";
        case Outcome::no_file: return result.message;
        case Outcome::refused: return "not graded: " + result.message;
        case Outcome::does_not_compile: return "does not compile: " + result.message;
        case Outcome::does_not_link: return "does not link: " + result.message;
        case Outcome::stopped: return result.message;
    }
    return "";
}

/// Every line after the first moved in, too.
std::string indented(const std::string& text, const std::string& by) {
    std::string result = by;
    for (const char c : text) {
        result += c;
        if (c == '\n') result += by;
    }
    return result;
}

/// Whether the group's wrong case is shown: one case for each mistake, and as many as leave an exercise `most_lines`.
bool shows_case(const ExerciseResult& result, const GroupResult& group) {
    constexpr std::size_t most_lines = 15, lines_of_case = 4;
    const auto failed = static_cast<std::size_t>(std::count_if(result.groups.begin(), result.groups.end(),
                                                               [](const GroupResult& each) { return !each.passed(); }));
    const std::size_t used = 1 + failed + (result.unexplained > 0 ? 1 : 0);
    const std::size_t most = std::max<std::size_t>(1, (most_lines - std::min(used, most_lines)) / lines_of_case);
    std::vector<const GroupResult*> shown;
    for (const GroupResult& each : result.groups) {
        if (each.passed() || shown.size() == most) continue;
        const bool again = each.diagnosis && std::any_of(shown.begin(), shown.end(), [&](const GroupResult* before) {
                               return before->diagnosis == each.diagnosis;
                           });
        if (!again) shown.push_back(&each);
    }
    return std::find(shown.begin(), shown.end(), &group) != shown.end();
}

std::string group_text(const ExerciseResult& result, const GroupResult& group) {
    std::string text = fmt::format("{} of {} right", group.right, group.questions);
    if (!group.diagnosis) return shows_case(result, group) ? text + "\n" + group.failure : text;
    const Diagnosis& diagnosis = result.diagnoses[*group.diagnosis];
    if (!shows_case(result, group)) return text + fmt::format(" ({})", diagnosis.id);
    return text + fmt::format("\n{}\nIt looks as if the program {} ({}: {} of {} wrong answers here are just that).",
                              group.failure, diagnosis.says, diagnosis.id, group.explained,
                              group.questions - group.right);
}

std::string unexplained_text(const ExerciseResult& result) {
    if (result.outcome != Outcome::judged || result.unexplained == 0) return "";
    return fmt::format("{} of {} wrong answers fit no mistake that is known here.", result.unexplained, result.wrong);
}

/// What the test of a group says, where it failed.
std::string test_output(const ExerciseResult& result, const GroupResult& group) {
    if (result.outcome != Outcome::judged) {  // said once
        return &group == result.groups.data() ? outcome_text(result) : "as for: " + result.groups[0].name;
    }
    if (group.passed()) return "";
    return group_text(result, group);
}

bool passed(const ExerciseResult& result, const GroupResult& group) {
    return result.outcome == Outcome::judged && group.passed();
}

/// For XML 1.0: entities, and nothing but printable ASCII (a student's file may hold any bytes).
std::string in_xml(std::string text) {
    std::ranges::replace_if(text, [](char c) { return (c < 32 || c > 126) && c != '\n' && c != '\t'; }, '?');
    return escaped(text);
}

}  // namespace

std::string console_text(const ExerciseResult& result) {
    std::string text = fmt::format("{:<22} {:>3} of {}\n", result.name, result.score(), result.points());
    constexpr std::size_t most_shown = 100000;  // a submission's words are cut where they are taken
    if (result.outcome != Outcome::judged) return shown(text + indented(outcome_text(result), "  ") + "\n", most_shown);
    for (const GroupResult& group : result.groups) {
        if (!group.passed())
            text += indented(fmt::format("{}: {}", group.name, group_text(result, group)), "  ") + "\n";
    }
    const std::string unexplained = unexplained_text(result);
    if (!unexplained.empty()) text += "  " + unexplained + "\n";
    return shown(std::move(text), most_shown);
}

std::string gradescope_json(const std::vector<ExerciseResult>& results, Visibility visible,
                            const std::vector<std::string>& notes) {
    auto tests = nlohmann::ordered_json::array();
    for (const ExerciseResult& result : results) {
        for (const GroupResult& group : result.groups) {
            const bool good = passed(result, group);
            tests.push_back(
                {{"name", result.name + ": " + group.name},
                 {"score", good ? group.points : 0},
                 {"max_score", group.points},
                 {"status", good ? "passed" : "failed"},
                 {"output", test_output(result, group)},
                 {"visibility",
                  visible == Visibility::none || (visible == Visibility::failed && good) ? "hidden" : "visible"}});
        }
    }
    nlohmann::ordered_json root = {{"tests", tests}, {"stdout_visibility", "hidden"}};
    if (!notes.empty()) root["output"] = fmt::format("{}", fmt::join(notes, "\n"));
    return root.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string junit_xml(const std::vector<ExerciseResult>& results) {
    std::string suites;
    std::size_t all_tests = 0;
    std::size_t all_failures = 0;
    for (const ExerciseResult& result : results) {
        std::string cases;
        std::size_t failures = 0;
        for (const GroupResult& group : result.groups) {
            cases +=
                fmt::format("    <testcase classname=\"{}\" name=\"{}\"", in_xml(result.name), in_xml(group.name));
            if (passed(result, group)) {
                cases += "/>\n";
                continue;
            }
            ++failures;
            cases += fmt::format(">\n      <failure message=\"{} of {} points lost\">{}</failure>\n    </testcase>\n",
                                 group.points, group.points, in_xml(test_output(result, group)));
        }
        suites += fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\">\n{}  </testsuite>\n",
                              in_xml(result.name), result.groups.size(), failures, cases);
        all_tests += result.groups.size();
        all_failures += failures;
    }
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"{}\" failures=\"{}\">\n{}</testsuites>\n",
        all_tests, all_failures, suites);
}

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

std::vector<CourseFile> gradescope_files(const std::vector<CourseFile>& students, const AutograderOptions& options) {
    return {{"students.zip", zipped(students)},
            {"autograder.zip", zipped(autograder_files(options))},
            {"Dockerfile", dockerfile}};
}

}  // namespace ulp::course
