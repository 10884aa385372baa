#include "experiments/course/grader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <system_error>

#include "experiments/course/course_files.hpp"
#include "experiments/course/exercise.hpp"
#include "experiments/course/run_confined.hpp"
#include "experiments/framework/files.hpp"
#include "softfloat/errors.hpp"

namespace ulp::course {
namespace fs = std::filesystem;
namespace {

constexpr std::uintmax_t most_source_bytes = 1 << 20;
constexpr std::uintmax_t most_assembly_bytes = 16 << 20;
constexpr Limits compiler_limits{.cpu_seconds = 20,
                                 .wall_seconds = 300,
                                 .memory_bytes = std::uint64_t{2} << 30,
                                 .file_bytes = 64 << 20,
                                 .printed_bytes = 16 << 20};

// --- The student's file.

/// Why a path is not a source file to be graded; nothing if it is.
std::optional<std::string> refusal(const fs::path& file) {
    std::error_code error;
    const fs::file_status status = fs::symlink_status(file, error);
    if (fs::is_symlink(status)) return "it is a symbolic link; hand in the file itself";
    if (!fs::is_regular_file(status)) return "it is not a regular file";
    if (fs::file_size(file, error) > most_source_bytes) return "it is larger than 1 MiB";
    return std::nullopt;
}

/// The compiler's messages about the student's file; lines of other files are not shown.
std::string messages_about(const std::string& printed, const std::string& file, std::size_t most_lines) {
    std::istringstream lines(printed);
    std::string text;
    std::size_t shown = 0;
    for (std::string line; std::getline(lines, line) && shown < most_lines;) {
        const auto at = line.find(file + ":");
        const bool names_a_line = at != std::string::npos && at + file.size() + 1 < line.size() &&
                                  std::isdigit(static_cast<unsigned char>(line[at + file.size() + 1])) != 0;
        const bool says = line.find("error:") != std::string::npos;
        if (!names_a_line || !says) continue;
        text += (text.empty() ? "" : "\n") + line.substr(at);
        ++shown;
    }
    return text;
}

/// The files of a dependency file ("student.o: a.hpp \"), without "." and ".." and links.
std::vector<fs::path> dependencies(const fs::path& file) {
    std::istringstream words(read_file(file));
    std::string word;
    words >> word;
    std::vector<fs::path> files;
    std::error_code error;
    while (words >> word) {
        if (word != "\\") files.push_back(fs::weakly_canonical(file.parent_path() / word, error));
    }
    return files;
}

/// What the standard library is: all that its headers read is the compiler's own.
constexpr const char* standard_library = R"(#if __has_include(<bits/stdc++.h>)
#include <bits/stdc++.h>
#endif
#include <algorithm>
#include <cassert>
#include <cfenv>
#include <cfloat>
#include <chrono>
#include <cinttypes>
#include <climits>
#include <clocale>
#include <cmath>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwctype>
#include <fstream>
#include <iostream>
#include <random>
#include <regex>
#include <thread>
#include <vector>
#include <stddef.h>
#include <unistd.h>
)";

}  // namespace

std::vector<std::string> compiler_from_environment() {
    const char* variable = std::getenv("CXX");
    std::istringstream text(variable != nullptr ? variable : "");
    std::vector<std::string> words;
    for (std::string word; text >> word;) words.push_back(word);
    return words.empty() ? std::vector<std::string>{"g++"} : words;
}

std::string python_from_environment() {
    const char* variable = std::getenv("PYTHON");
    if (variable != nullptr && *variable != '\0') return variable;
    std::error_code error;
    return fs::exists("/usr/bin/python3", error) ? "/usr/bin/python3" : "python3";
}

Grader::Grader(GradeOptions options) : options_(std::move(options)) {
    if (!options_.without_filter && !filter_available()) {
        throw UsageError(
            "this system has no filter of system calls (seccomp): students' programs could do what you can; grade on "
            "another system, or say --without-filter to accept that");
    }
}

fs::path Grader::adapter_object(const Exercise& exercise) {
    const auto known = adapters_.find(exercise.name);
    if (known != adapters_.end()) return known->second;
    const fs::path folder = work_.path() / ("adapter-" + std::string(exercise.name));
    fs::create_directory(folder);
    write_file(folder / "driver.hpp", shared_course_file("driver.hpp"));
    write_file(folder / "exercise.hpp", course_file(exercise, "exercise.hpp"));
    write_file(folder / "adapter.cpp", course_file(exercise, "adapter.cpp"));
    std::vector<std::string> command = options_.compiler;
    command.insert(command.end(), {"-std=c++20", "-O1", "-ffp-contract=off", "-c", "adapter.cpp", "-o", "adapter.o"});
    const ConfinedRun run = run_confined(command, folder, "", compiler_limits, compiler_confinement());
    if (run.ending != Ending::exited || run.code != 0) {
        throw DataError(fmt::format("{} cannot compile the exercises' own files; set CXX to a C++20 compiler:{}",
                                    fmt::join(options_.compiler, " "), first_lines(run.printed)));
    }
    return adapters_[std::string(exercise.name)] = folder / "adapter.o";
}

/// Nothing where the student's file reads only its own folder's files and the compiler's.
std::string Grader::foreign_header(const fs::path& folder) {
    if (own_headers_.empty()) {
        write_file(work_.path() / "standard.cpp", standard_library);
        std::vector<std::string> command = options_.compiler;
        command.insert(command.end(), {"-std=c++20", "-M", "-MF", "standard.d", "standard.cpp"});
        run_confined(command, work_.path(), "", compiler_limits, compiler_confinement());
        for (const fs::path& file : dependencies(work_.path() / "standard.d")) {
            own_headers_.insert(file);
            // Its folders as a whole: .../include/c++/12/, that of the compiler's own <stddef.h>, the C library's
            // bits/.
            const auto library = file.string().find("/c++/");
            if (library != std::string::npos) {
                own_headers_.insert(file.string().substr(0, file.string().find('/', library + 5)));
            } else if (file.filename() == "stddef.h" || file.parent_path().filename() == "bits") {
                own_headers_.insert(file.parent_path());
            }
        }
    }
    for (const fs::path& file : dependencies(folder / "student.d")) {
        bool own = own_headers_.contains(file);
        for (fs::path above = file.parent_path(); !own && above != above.root_path(); above = above.parent_path()) {
            own = above == folder || (own_headers_.contains(above) && fs::is_directory(above));
        }
        if (!own) return file.string();
    }
    return "";
}

Grader::Compiled Grader::compile(const Exercise& exercise, const fs::path& folder) {
    const std::string source = std::string(exercise.name) + ".cpp";
    std::vector<std::string> command = options_.compiler;
    command.insert(command.end(), {"-std=c++20", "-O1", "-ffp-contract=off", "-fdiagnostics-color=never", "-MD", "-MF",
                                   "student.d", "-S", source, "-o", "student.s"});
    const ConfinedRun run = run_confined(command, folder, "", compiler_limits, compiler_confinement());
    if (run.ending == Ending::took_too_long || run.ending == Ending::printed_too_much) {
        return {Outcome::does_not_compile, "the compiler did not come to an end with it"};
    }
    if (run.ending != Ending::exited || run.code != 0) {
        const std::string messages = messages_about(run.printed, source, 5);
        return {Outcome::does_not_compile,
                messages.empty() ? "the compiler failed on it, with nothing to say about the file itself" : messages};
    }
    if (const std::string foreign = foreign_header(folder); !foreign.empty()) {
        return {Outcome::refused, "it includes " + foreign + "; exercise.hpp and the standard library are allowed"};
    }
    if (fs::file_size(folder / "student.s") > most_assembly_bytes) {
        return {Outcome::does_not_compile, "its program is too large"};
    }
    if (const auto why = refused_in_assembly(read_file(folder / "student.s"), exercise.arithmetic)) {
        return {Outcome::refused, "it " + *why};
    }
    return {Outcome::judged, ""};
}

/// Assembles, and links.
Grader::Compiled Grader::link(const fs::path& adapter, const fs::path& folder) {
    std::vector<std::string> command = options_.compiler;
    command.insert(command.end(), {"-static", "student.s", "adapter.o", "-o", "student"});
    fs::copy_file(adapter, folder / "adapter.o");  // the only folder that the linker may read
    const ConfinedRun run = run_confined(command, folder, "", compiler_limits, compiler_confinement());
    if (run.ending == Ending::exited && run.code == 0) return {Outcome::judged, ""};
    // The line of the linker that names what is missing or there twice.
    std::istringstream lines(run.printed);
    for (std::string line; std::getline(lines, line);) {
        for (const char* sign : {"undefined reference to", "multiple definition of"}) {
            const auto at = line.find(sign);
            if (at != std::string::npos) return {Outcome::does_not_link, line.substr(at, 200)};
        }
    }
    return {Outcome::does_not_link, "the linker failed:" + first_lines(run.printed)};
}

Confinement Grader::compiler_confinement() const {
    return options_.without_filter ? Confinement::limits : Confinement::compiler;
}

/// The command that runs the student's program in `folder`.
Grader::Compiled Grader::build(const Exercise& exercise, const fs::path& file, const fs::path& folder) {
    const std::string name(exercise.name);
    if (file.extension() == ".py") {
        for (const char* shared : {"driver.py", "words.py"}) write_file(folder / shared, shared_course_file(shared));
        for (const char* own : {"adapter.py", "exercise.py"}) write_file(folder / own, course_file(exercise, own));
        write_file(folder / (name + ".py"), read_file(file));
        return {Outcome::judged, "", {options_.python, "-I", "-S", "-B", "driver.py"}, Confinement::interpreter};
    }
    const fs::path adapter = adapter_object(exercise);
    write_file(folder / "exercise.hpp", course_file(exercise, "exercise.hpp"));
    write_file(folder / (name + ".cpp"), read_file(file));
    if (const Compiled compiled = compile(exercise, folder); compiled.outcome != Outcome::judged) return compiled;
    if (const Compiled linked = link(adapter, folder); linked.outcome != Outcome::judged) return linked;
    return {Outcome::judged, "", {(folder / "student").string()}, Confinement::filter};
}

ExerciseResult Grader::grade(const Exercise& exercise, const fs::path& student) {
    std::error_code error;
    const std::string name(exercise.name);
    for (const std::string& file :
         {name + ".cpp", name + "/" + name + ".cpp", name + ".py", name + "/" + name + ".py"}) {
        if (file.ends_with(".py") && !exercise.in_python) continue;
        if (fs::symlink_status(student / file, error).type() != fs::file_type::not_found) {
            return grade_file(exercise, student / file);
        }
    }
    return grade_file(exercise, student / (name + ".cpp"));
}

ExerciseResult Grader::grade_file(const Exercise& exercise, const fs::path& file) {
    if (!asked_.contains(exercise.name)) asked_[exercise.name] = questions_for(exercise, options_);
    const Asked& asked = asked_[exercise.name];
    ExerciseResult result{std::string(exercise.name), std::string(exercise.title), Outcome::judged, "", asked.groups};
    result.wrong = asked.questions.size();
    const auto give_up = [&result](Outcome outcome, const std::string& message) {
        result.outcome = outcome;
        result.message = message;
        return result;
    };
    std::error_code error;
    if (fs::symlink_status(file, error).type() == fs::file_type::not_found) {
        return give_up(Outcome::no_file, fmt::format("there is no {}", file.filename().string()));
    }
    if (const auto reason = refusal(file)) return give_up(Outcome::refused, *reason);

    const fs::path folder = work_.path() / fmt::format("run-{}-{}", ++runs_, exercise.name);
    fs::create_directory(folder);
    const Compiled built = build(exercise, file, folder);
    if (built.outcome != Outcome::judged) {
        fs::remove_all(folder, error);
        return give_up(built.outcome, built.message);
    }
    const auto run_on = [&](const std::vector<Words>& questions) {
        return run_confined(built.command, folder, as_input(questions), options_.limits,
                            options_.without_filter ? Confinement::limits : built.confinement);
    };
    const ConfinedRun run = run_on(asked.questions);
    const Answers told = parse_answers(run.answers);
    const std::string reason = trouble(run, told, options_.limits);
    if (!reason.empty()) {
        result.outcome = Outcome::stopped;
        result.message = fmt::format("the program {} (question {} of {})", reason,
                                     std::min(told.list.size() + 1, asked.questions.size()), asked.questions.size());
        if (!run.printed.empty()) result.message += "; it printed:" + first_lines(run.printed);
    } else {
        judge(exercise, asked, told.list, result,
              [&](const std::vector<Words>& questions) { return parse_answers(run_on(questions).answers).list; });
    }
    fs::remove_all(folder, error);
    return result;
}

}  // namespace ulp::course
