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

std::vector<std::string> students_in(const fs::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (entry.is_directory() && !entry.is_symlink() && !name.starts_with('.')) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    if (names.empty()) throw DataError(fmt::format("{} holds no folders of students", folder.string()));
    return names;
}

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

/// The files that Grader::grade may choose, with their contents, and all that the result depends on.
std::string digest_of(const ClassOptions& options, const std::string& judges, const std::string& student) {
    std::string text = fmt::format("2 {} {} {} {} {} {}\n", judges, options.grading.seed, options.grading.public_only,
                                   options.grading.limits.cpu_seconds, options.grading.limits.wall_seconds,
                                   options.grading.limits.memory_bytes);
    for (const Exercise* exercise : options.exercises) {
        const std::string name(exercise->name);
        for (const std::string& file :
             {name + ".cpp", name + "/" + name + ".cpp", name + ".py", name + "/" + name + ".py"}) {
            const fs::path path = options.submissions / student / file;
            std::error_code error;
            const fs::file_type type = fs::symlink_status(path, error).type();
            if (type == fs::file_type::not_found) continue;
            const bool readable = type == fs::file_type::regular && fs::file_size(path, error) < (1 << 21);
            text += fmt::format("{} {} {}\n", file, static_cast<int>(type),
                                readable ? sha256_of(read_file(path)) : "not read");
        }
        text += name + "\n";
    }
    return sha256_of(text);
}

/// The scores of an earlier run of this digest; nothing where they are not whole, or not those of these exercises.
std::optional<std::vector<int>> kept_scores(const ClassOptions& options, const fs::path& folder,
                                            const std::string& digest) {
    std::error_code error;
    for (const char* name : {"grade.json", "results.json", "junit.xml", "grade.txt"}) {
        if (!fs::is_regular_file(folder / name, error)) return std::nullopt;
    }
    const auto kept = nlohmann::json::parse(read_file(folder / "grade.json"), nullptr, false);
    if (!kept.is_object() || kept.value("digest", nlohmann::json()) != digest) return std::nullopt;
    const nlohmann::json list = kept.value("scores", nlohmann::json());
    if (!list.is_array() || list.size() != options.exercises.size()) return std::nullopt;
    std::vector<int> scores;
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (!list[i].is_number_unsigned() || list[i] > options.exercises[i]->points()) return std::nullopt;
        scores.push_back(list[i].get<int>());
    }
    return scores;
}

StudentGrade grade_student(const ClassOptions& options, const std::string& judges, const std::string& student,
                           Grader& grader) {
    const fs::path folder = options.out / student;
    const std::string digest = digest_of(options, judges, student);
    StudentGrade grade{student, {}, 0, false};
    if (auto scores = kept_scores(options, folder, digest)) {
        grade.scores = std::move(*scores);
        for (const int score : grade.scores) grade.total += score;
        grade.resumed = true;
        return grade;
    }
    std::vector<ExerciseResult> results;
    std::string text;
    for (const Exercise* exercise : options.exercises) {
        results.push_back(grader.grade(*exercise, options.submissions / student));
        text += console_text(results.back());
        grade.scores.push_back(results.back().score());
        grade.total += results.back().score();
    }
    make_writable_folder(folder);
    replace_whole_file(folder / "results.json", gradescope_json(results));
    replace_whole_file(folder / "junit.xml", junit_xml(results));
    replace_whole_file(folder / "grade.txt", text);
    // Last: what says that the others are complete.
    replace_whole_file(folder / "grade.json",
                       nlohmann::ordered_json{{"digest", digest}, {"scores", grade.scores}}.dump() + "\n");
    return grade;
}

std::string table_of(const ClassOptions& options, const std::vector<StudentGrade>& grades) {
    std::string text = "student";
    for (const Exercise* exercise : options.exercises) text += fmt::format(",{}", exercise->name);
    text += ",total\n";
    for (const StudentGrade& grade : grades) {
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

std::vector<StudentGrade> grade_class(const ClassOptions& options,
                                      const std::function<void(const StudentGrade&)>& told) {
    const std::vector<std::string> students = students_in(options.submissions);
    make_writable_folder(options.out);
    const FileLock alone(options.out / "grades.csv");
    const std::string judges = digest_of_judges(options);
    std::vector<StudentGrade> grades(students.size());
    std::atomic<std::size_t> next{0};
    std::mutex telling;
    std::exception_ptr failure;
    const auto work = [&] {
        try {
            Grader grader(options.grading);  // of this thread: its work folder, its compiled adapters
            for (std::size_t i = next++; i < students.size(); i = next++) {
                grades[i] = grade_student(options, judges, students[i], grader);
                const std::lock_guard lock(telling);
                told(grades[i]);
            }
        } catch (...) {
            next = students.size();
            const std::lock_guard lock(telling);
            failure = std::current_exception();
        }
    };
    {
        std::vector<std::jthread> threads;
        const auto count = std::min(static_cast<std::size_t>(std::max(options.jobs, 1)), students.size());
        for (std::size_t i = 0; i < count; ++i) threads.emplace_back(work);
    }
    if (failure) std::rethrow_exception(failure);
    replace_whole_file(options.out / "grades.csv", table_of(options, grades));
    return grades;
}

}  // namespace ulp::course
