#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "engine/files/sha256.hpp"
#include "engine/files/whole_file.hpp"
#include "experiments/course/grade_report.hpp"
#include "experiments/course/grader.hpp"
#include "experiments/framework/files.hpp"
#include "softfloat/errors.hpp"

namespace ulp::course {
namespace fs = std::filesystem;
namespace {

/// What judges: this program, the compiler, the interpreter, and the questions with their answers, those of recordings
/// among them.
std::string digest_of_judges(const ClassOptions& options) {
    std::string text = fmt::format("{}\n", fmt::join(options.grading.compiler, " "));
    for (const std::string& program :
         {std::string("/proc/self/exe"), options.grading.compiler.front(), options.grading.python}) {
        const fs::path file = found_along_path(program);
        text += fmt::format("{} {}\n", program, fs::is_regular_file(file) ? sha256_of(read_file(file)) : "not there");
    }
    for (const Exercise* exercise : options.exercises) {
        const Asked asked = questions_for(*exercise, options.grading);
        text += sha256_of(as_input(asked.questions) + as_input(asked.expected));
    }
    return sha256_of(text);
}

/// The files to be graded, with their contents, and all that the result depends on.
std::string digest_of(const ClassOptions& options, const std::string& judges, const Class& all,
                      const Submission& submission, std::uint64_t seed) {
    std::string text = fmt::format("3 {} {} {} {} {} {} {}\n", judges, seed, options.grading.public_only,
                                   options.grading.limits.cpu_seconds, options.grading.limits.wall_seconds,
                                   options.grading.limits.memory_bytes, static_cast<int>(all.rules.visible));
    for (const auto& [exercise, file] : submission.files) {
        std::error_code error;
        const fs::file_type type = fs::symlink_status(file, error).type();
        const bool readable = type == fs::file_type::regular && fs::file_size(file, error) < (1 << 21);
        text += fmt::format("{}{} {} {}\n", exercise, file.extension().string(), static_cast<int>(type),
                            readable ? sha256_of(read_file(file)) : "not read");
    }
    for (const Exercise* exercise : options.exercises) text += fmt::format("{}\n", exercise->name);
    return sha256_of(text + fmt::format("{}", fmt::join(submission.notes, "\n")));
}

/// The scores and misconceptions of an earlier run of this digest; false where they are not whole, or not those of
/// these exercises.
bool read_kept(const ClassOptions& options, const fs::path& folder, const std::string& digest, StudentGrade& grade) {
    std::error_code error;
    for (const char* name : {"grade.json", "results.json", "junit.xml", "grade.txt"}) {
        if (!fs::is_regular_file(folder / name, error)) return false;
    }
    const auto kept = nlohmann::json::parse(read_file(folder / "grade.json"), nullptr, false);
    if (!kept.is_object() || kept.value("digest", nlohmann::json()) != digest) return false;
    const nlohmann::json list = kept.value("scores", nlohmann::json());
    if (!list.is_array() || list.size() != options.exercises.size()) return false;
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (!list[i].is_number_unsigned() || list[i] > options.exercises[i]->points()) return false;
    }
    try {
        for (const auto& each : kept.at("misconceptions")) {
            grade.misconceptions.push_back(
                {each.at("exercise"), each.at("id"), each.at("says"), each.at("example"), each.at("explained")});
        }
    } catch (const nlohmann::json::exception&) {
        grade.misconceptions.clear();
        return false;
    }
    grade.scores = list.get<std::vector<int>>();
    return grade.resumed = true;
}

std::vector<Misconception> misconceptions_of(const ExerciseResult& result) {
    std::vector<Misconception> list;
    for (std::size_t d = 0; d < result.diagnoses.size(); ++d) {
        const auto& [id, says, explained, questions] = result.diagnoses[d];
        const auto shows = std::ranges::find(result.groups, std::optional(d), &GroupResult::diagnosis);
        list.push_back({result.name, id, says, shows == result.groups.end() ? "" : shows->failure, explained});
    }
    return list;
}

StudentGrade grade_submission(const ClassOptions& options, const std::string& judges, const Class& all,
                              const Submission& submission, Grader& grader) {
    StudentGrade grade{.student = submission.name, .notes = submission.notes};
    for (const Exercise* exercise : options.exercises) grade.points += exercise->points();
    if (submission.files.empty() && submission.on_roster && !fs::exists(options.submissions / submission.name)) {
        grade.scores.resize(options.exercises.size());  // of the roster, and handed in nothing
        return grade;
    }
    const Student& student = submission.student;
    const std::uint64_t seed = all.rules.secret.empty()
                                   ? options.grading.seed
                                   : seed_of(all.rules.secret, student.id.empty() ? submission.name : student.id);
    const fs::path folder = options.out / submission.name;
    const std::string digest = digest_of(options, judges, all, submission, seed);
    if (!read_kept(options, folder, digest, grade)) {
        grader.set_seed(seed);
        std::vector<ExerciseResult> results;
        std::string text;
        for (const std::string& note : submission.notes) text += "note: " + note + "\n";
        auto mistakes = nlohmann::ordered_json::array();
        for (const Exercise* exercise : options.exercises) {
            const auto file = submission.files.find(exercise->name);
            const ExerciseResult result = file != submission.files.end()
                                              ? grader.grade_file(*exercise, file->second)
                                              : grader.grade(*exercise, grader.work_folder() / "nothing");
            const std::string console = console_text(result);
            text += all.rules.visible == Visibility::none ? console.substr(0, console.find('\n') + 1) : console;
            grade.scores.push_back(result.score());
            for (const Misconception& each : misconceptions_of(result)) {
                mistakes.push_back({{"exercise", each.exercise},
                                    {"id", each.id},
                                    {"says", each.says},
                                    {"example", each.example},
                                    {"explained", each.explained}});
                grade.misconceptions.push_back(each);
            }
            results.push_back(result);
        }
        make_writable_folder(folder);
        replace_whole_file(folder / "results.json", gradescope_json(results, all.rules.visible, submission.notes));
        replace_whole_file(folder / "junit.xml", junit_xml(results));
        replace_whole_file(folder / "grade.txt", text);
        // Last: what says that the others are complete.
        const nlohmann::ordered_json kept{
            {"digest", digest}, {"seed", seed}, {"scores", grade.scores}, {"misconceptions", mistakes}};
        replace_whole_file(folder / "grade.json",
                           kept.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
    }
    for (const int score : grade.scores) grade.total += score;
    return grade;
}

std::string table_of(const GradedClass& graded) {
    std::string text = "student";
    for (const Exercise* exercise : graded.exercises) text += fmt::format(",{}", exercise->name);
    text += ",total\n";
    for (const StudentGrade& grade : graded.grades) {
        text += fmt::format("{},{},{}\n", csv_field(grade.student), fmt::join(grade.scores, ","), grade.total);
    }
    return text;
}

}  // namespace

std::string csv_field(const std::string& text) {
    std::string field =
        !text.empty() && std::string_view("=+-@\t\r\n").find(text[0]) != std::string_view::npos ? "'" : "";
    bool quote = false;
    for (const char c : text) {
        quote = quote || c == ',' || c == '"' || c == '\n' || c == '\r';
        field += c == '"' ? std::string("\"\"") : std::string(1, c);
    }
    return quote ? '"' + field + '"' : field;
}

GradedClass grade_class(const ClassOptions& asked, const std::function<void(const StudentGrade&)>& told) {
    ClassOptions options = asked;
    const WorkFolder unpacked;
    GradedClass graded{.handed_in = read_class(options.submissions, unpacked.path() / "files")};
    const std::vector<Submission>& list = graded.handed_in.submissions;
    if (options.exercises.empty()) {
        for (const std::string& name : graded.handed_in.rules.exercises)
            options.exercises.push_back(&exercise_by_name(name));
    }
    if (options.exercises.empty()) {
        for (const Exercise& exercise : exercises()) options.exercises.push_back(&exercise);
    }
    make_writable_folder(options.out);
    const FileLock alone(options.out / "grades.csv");
    const std::string judges = digest_of_judges(options);
    graded.exercises = options.exercises;
    graded.grades.resize(list.size());
    std::atomic<std::size_t> next{0};
    std::mutex telling;
    std::exception_ptr failure;
    const auto work = [&] {
        try {
            Grader grader(options.grading);  // of this thread: its work folder, its compiled adapters
            for (std::size_t i = next++; i < list.size(); i = next++) {
                graded.grades[i] = grade_submission(options, judges, graded.handed_in, list[i], grader);
                const std::lock_guard lock(telling);
                told(graded.grades[i]);
            }
        } catch (...) {
            next = list.size();
            const std::lock_guard lock(telling);
            failure = std::current_exception();
        }
    };
    {
        std::vector<std::jthread> threads;
        const auto count = std::min(static_cast<std::size_t>(std::max(options.jobs, 1)), list.size());
        for (std::size_t i = 0; i < count; ++i) threads.emplace_back(work);
    }
    if (failure) std::rethrow_exception(failure);
    replace_whole_file(options.out / "grades.csv", table_of(graded));
    write_class_report(graded, options.out);
    return graded;
}

}  // namespace ulp::course
