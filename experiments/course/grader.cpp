#include "experiments/course/grader.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <sstream>
#include <system_error>

#include "experiments/course/course_files.hpp"
#include "experiments/program/files.hpp"
#include "softfloat/errors.hpp"

namespace ulp::course {
namespace fs = std::filesystem;
namespace {

constexpr std::uintmax_t most_source_bytes = 1 << 20;
constexpr std::size_t shown_failures = 3;
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
    try {
        if (read_file(file).find("incbin") != std::string::npos) return "it embeds files (incbin)";
    } catch (const DataError&) {
        return "it cannot be read";
    }
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

/// Headers of a dependency file that lie outside the folder and outside the compiler's own.
std::string foreign_header(const std::string& dependencies, const fs::path& folder) {
    std::istringstream words(dependencies);
    std::string word;
    words >> word;  // "student.o:"
    while (words >> word) {
        if (word == "\\") continue;
        const fs::path path = (folder / word).lexically_normal();
        const std::string text = path.string();
        const bool own = text.starts_with(folder.string() + "/");
        bool system = false;
        for (const char* prefix : {"/usr/include/", "/usr/lib/", "/usr/local/include/", "/usr/local/lib/"}) {
            system = system || text.starts_with(prefix);
        }
        if (!own && !system) return text;
    }
    return "";
}

// --- The questions.

struct Asked {
    std::vector<Words> questions, expected;
    std::vector<std::size_t> group_of;
    std::vector<GroupResult> groups;
};

void ask(Asked& asked, const std::string& name, int points, const std::vector<PublicTest>& tests) {
    for (const PublicTest& test : tests) {
        asked.questions.push_back(test.question);
        asked.expected.push_back(test.expected);
        asked.group_of.push_back(asked.groups.size());
    }
    asked.groups.push_back({name, points, 0, tests.size()});
}

Asked questions_for(const Exercise& exercise, const GradeOptions& options) {
    Asked asked;
    ask(asked, "public tests", 0, parse_public_tests(exercise, course_file(exercise, "public.txt")));
    if (options.public_only) return asked;
    for (const Group& group : exercise.hidden(options.seed)) {
        std::vector<PublicTest> tests;
        for (const Words& question : group.questions) tests.push_back({question, exercise.solve(question, ""), 0});
        ask(asked, group.name, group.points, tests);
    }
    if (!options.recordings.empty()) {
        const std::vector<PublicTest> tests = recorded_tests(exercise, options.recordings);
        if (!tests.empty()) ask(asked, "recordings of GPUs", 0, tests);
    }
    return asked;
}

// --- The conversation: a record is a count and as many words, in the machine's byte order.

void append(std::string& text, Word word) {
    char bytes[sizeof word];
    std::memcpy(bytes, &word, sizeof word);
    text.append(bytes, sizeof word);
}

std::string as_input(const std::vector<Words>& questions) {
    std::string text;
    for (const Words& question : questions) {
        append(text, static_cast<Word>(question.size()));
        for (const Word word : question) append(text, word);
    }
    return text;
}

/// The driver's last record tells how the program ended (docs/exercises/support/driver.hpp).
constexpr Word last_record = 0xFFFFFFFF;
enum LastRecord : Word { ended_well = 1, caught_signal = 2, threw = 3 };

struct Answers {
    std::vector<Words> list;
    std::optional<LastRecord> end;
    Word signal = 0;
    Word system_call = 0;
    std::string exception;
};

Answers parse_answers(const std::string& text) {
    Answers answers;
    std::size_t at = 0;
    const auto next = [&]() -> std::optional<Word> {
        if (text.size() - at < sizeof(Word)) return std::nullopt;
        Word word = 0;
        std::memcpy(&word, text.data() + at, sizeof word);
        at += sizeof word;
        return word;
    };
    while (const auto count = next()) {
        if (*count == last_record) {
            const Word kind = next().value_or(0);
            if (kind < ended_well || kind > threw) break;
            answers.end = static_cast<LastRecord>(kind);
            answers.signal = next().value_or(0);
            answers.system_call = next().value_or(0);
            if (kind == threw) answers.exception = text.substr(at, 200);
            break;
        }
        if (*count > (text.size() - at) / sizeof(Word)) break;
        Words words;
        for (Word i = 0; i < *count; ++i) words.push_back(*next());
        answers.list.push_back(std::move(words));
    }
    return answers;
}

std::string first_lines(const std::string& text) {
    std::istringstream lines(text);
    std::string shown;
    int count = 0;
    for (std::string line; std::getline(lines, line) && count < 5; ++count) {
        for (char& c : line) {
            if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126) c = '?';
        }
        shown += "\n  | " + line.substr(0, 160);
    }
    return shown;
}

std::string signal_text(int signal, const Limits& limits) {
    if (signal == SIGXCPU || signal == SIGKILL) {
        return fmt::format("used more than {} s of processor time: does it loop forever?", limits.cpu_seconds);
    }
    if (signal == SIGXFSZ) return "wrote a file; it must not";
    if (signal == SIGSYS) return "tried what it must not (a file, a process or the network)";
    const char* name = sigdescr_np(signal);
    return fmt::format("crashed: {}", name != nullptr ? name : "unknown signal");
}

/// Why the program did not answer to the end; empty if it did.
std::string trouble(const ConfinedRun& run, const Answers& answers, const Limits& limits) {
    const auto mib = limits.memory_bytes >> 20;
    switch (run.ending) {
        case Ending::took_too_long:
            return fmt::format("took more than {} s: does it wait or loop?", limits.wall_seconds);
        case Ending::printed_too_much: return fmt::format("printed more than {} KiB", limits.printed_bytes >> 10);
        default: break;
    }
    if (answers.end == ended_well) return "";
    if (answers.end == threw) {
        const bool memory = answers.exception == "std::bad_alloc";
        return memory ? fmt::format("wanted more than {} MiB of memory", mib) : "threw " + answers.exception;
    }
    const bool memory = run.printed.find("std::bad_alloc") != std::string::npos;
    if (memory) return fmt::format("wanted more than {} MiB of memory", mib);
    if (answers.end == caught_signal) {
        if (answers.signal == SIGSYS) return "tried to " + system_call_name(answers.system_call) + "; it must not";
        return signal_text(static_cast<int>(answers.signal), limits);
    }
    if (run.ending == Ending::signalled) return signal_text(run.code, limits);
    return fmt::format("ended by itself (exit code {})", run.code);
}

/// A wrong answer in words: the question, and the first word that is wrong.
std::string failure_text(const Exercise& exercise, const Words& question, const Words& expected, const Words& answer) {
    std::string text = "for " + words_text(exercise.question, question);
    if (answer.size() != expected.size()) {
        return text + fmt::format("\n  {} words were answered, not {}", answer.size(), expected.size());
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const char letter = letter_at(exercise.answer, i);
        if (same_word(letter, answer[i], expected[i])) continue;
        const std::string where = exercise.label != nullptr ? exercise.label(question, i) + ": " : "";
        const std::string ulps = ulps_text(letter, answer[i], expected[i]);
        return text + fmt::format("\n  {}expected {}, got {}{}", where, word_text(letter, expected[i]),
                                  word_text(letter, answer[i]), ulps.empty() ? "" : ", " + ulps);
    }
    return text;
}

void judge(const Exercise& exercise, const Asked& asked, std::vector<Words> answers, ExerciseResult& result) {
    result.groups = asked.groups;
    result.wrong = 0;
    const std::size_t answered = std::min(answers.size(), asked.questions.size());
    answers.resize(asked.questions.size());
    for (std::size_t i = 0; i < asked.questions.size(); ++i) {
        GroupResult& group = result.groups[asked.group_of[i]];
        if (i < answered && same_answer(exercise, answers[i], asked.expected[i])) {
            ++group.right;
            continue;
        }
        ++result.wrong;
        if (group.failures.size() == shown_failures) continue;
        group.failures.push_back(i < answered
                                     ? failure_text(exercise, asked.questions[i], asked.expected[i], answers[i])
                                     : "for " + words_text(exercise.question, asked.questions[i]) + "\n  no answer");
    }
    // What was not answered is no sign of a misconception.
    const auto first = [answered](const std::vector<Words>& list) {
        return std::vector<Words>(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(answered));
    };
    std::size_t unexplained = 0;
    result.diagnoses = diagnose(exercise, first(asked.questions), first(asked.expected), first(answers), unexplained);
    result.unexplained = unexplained;
    // Of a program that is wrong in many more ways, what looks like a known mistake is chance.
    if (2 * unexplained > result.wrong) result.diagnoses.clear();
}

}  // namespace

int ExerciseResult::score() const {
    int sum = 0;
    for (const GroupResult& group : groups) sum += outcome == Outcome::judged && group.passed() ? group.points : 0;
    return sum;
}
int ExerciseResult::points() const {
    int sum = 0;
    for (const GroupResult& group : groups) sum += group.points;
    return sum;
}
bool ExerciseResult::full() const {
    return outcome == Outcome::judged &&
           std::all_of(groups.begin(), groups.end(), [](const GroupResult& group) { return group.passed(); });
}

std::vector<std::string> compiler_from_environment() {
    const char* variable = std::getenv("CXX");
    std::istringstream text(variable != nullptr ? variable : "");
    std::vector<std::string> words;
    for (std::string word; text >> word;) words.push_back(word);
    return words.empty() ? std::vector<std::string>{"g++"} : words;
}

Grader::Grader(GradeOptions options) : options_(std::move(options)) {
    if (!options_.without_filter && !filter_available()) {
        throw UsageError(
            "this system has no filter of system calls (seccomp): students' programs could do what you "
            "can; grade on another system, or say --without-filter to accept that");
    }
    std::string name = (fs::temp_directory_path() / "ulplab-grade-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
        throw DataError("cannot make a work folder in " + fs::temp_directory_path().string() + "; set TMPDIR");
    }
    work_ = fs::canonical(name);
}

Grader::~Grader() {
    std::error_code ignored;
    fs::remove_all(work_, ignored);
}

fs::path Grader::adapter_object(const Exercise& exercise) {
    const auto known = adapters_.find(exercise.name);
    if (known != adapters_.end()) return known->second;
    const fs::path folder = work_ / ("adapter-" + std::string(exercise.name));
    fs::create_directory(folder);
    write_file(folder / "driver.hpp", shared_course_file("driver.hpp"));
    write_file(folder / "exercise.hpp", course_file(exercise, "exercise.hpp"));
    write_file(folder / "adapter.cpp", course_file(exercise, "adapter.cpp"));
    std::vector<std::string> command = options_.compiler;
    command.insert(command.end(), {"-std=c++20", "-O1", "-ffp-contract=off", "-c", "adapter.cpp", "-o", "adapter.o"});
    const ConfinedRun run = run_confined(command, folder, "", compiler_limits, Confinement::limits);
    if (run.ending != Ending::exited || run.code != 0) {
        throw DataError(fmt::format("{} cannot compile the exercises' own files; set CXX to a C++20 compiler:{}",
                                    fmt::join(options_.compiler, " "), first_lines(run.printed)));
    }
    return adapters_[std::string(exercise.name)] = folder / "adapter.o";
}

Grader::Compiled Grader::compile(const Exercise& exercise, const fs::path& folder) {
    const std::string source = std::string(exercise.name) + ".cpp";
    std::vector<std::string> command = options_.compiler;
    command.insert(command.end(), {"-std=c++20", "-O1", "-ffp-contract=off", "-fdiagnostics-color=never", "-MD", "-MF",
                                   "student.d", "-c", source, "-o", "student.o"});
    const ConfinedRun run = run_confined(command, folder, "", compiler_limits, Confinement::limits);
    if (run.ending == Ending::took_too_long || run.ending == Ending::printed_too_much) {
        return {false, "the compiler did not come to an end with it"};
    }
    if (run.ending != Ending::exited || run.code != 0) {
        std::string messages = messages_about(run.printed, source, 5);
        return {false,
                messages.empty() ? "the compiler failed on it, with nothing to say about the file itself" : messages};
    }
    const std::string foreign = foreign_header(read_file(folder / "student.d"), folder);
    if (!foreign.empty()) return {false, "it includes " + foreign + ", which does not belong to the exercise"};
    return {true, ""};
}

Grader::Compiled Grader::link(const fs::path& adapter, const fs::path& folder) {
    std::vector<std::string> command = options_.compiler;
    command.insert(command.end(), {"-static", "student.o", adapter.string(), "-o", "student"});
    const ConfinedRun run = run_confined(command, folder, "", compiler_limits, Confinement::limits);
    if (run.ending == Ending::exited && run.code == 0) return {true, ""};
    // The line of the linker that names what is missing or there twice.
    std::istringstream lines(run.printed);
    for (std::string line; std::getline(lines, line);) {
        for (const char* sign : {"undefined reference to", "multiple definition of"}) {
            const auto at = line.find(sign);
            if (at != std::string::npos) return {false, line.substr(at, 200)};
        }
    }
    return {false, "the linker failed:" + first_lines(run.printed)};
}

ExerciseResult Grader::grade(const Exercise& exercise, const fs::path& student) {
    const std::string file = std::string(exercise.name) + ".cpp";
    std::error_code error;
    const fs::path flat = student / file;
    if (fs::symlink_status(flat, error).type() != fs::file_type::not_found) return grade_file(exercise, flat);
    return grade_file(exercise, student / exercise.name / file);
}

ExerciseResult Grader::grade_file(const Exercise& exercise, const fs::path& file) {
    const Asked asked = questions_for(exercise, options_);
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

    const fs::path adapter = adapter_object(exercise);
    const fs::path folder = work_ / fmt::format("run-{}-{}", ++runs_, exercise.name);
    fs::create_directory(folder);
    write_file(folder / "exercise.hpp", course_file(exercise, "exercise.hpp"));
    write_file(folder / (std::string(exercise.name) + ".cpp"), read_file(file));
    if (const Compiled compiled = compile(exercise, folder); !compiled.good) {
        return give_up(Outcome::does_not_compile, compiled.message);
    }
    if (const Compiled linked = link(adapter, folder); !linked.good) {
        return give_up(Outcome::does_not_link, linked.message);
    }
    const ConfinedRun run =
        run_confined({(folder / "student").string()}, folder, as_input(asked.questions), options_.limits,
                     options_.without_filter ? Confinement::limits : Confinement::filter);
    fs::remove_all(folder, error);

    const Answers told = parse_answers(run.answers);
    const std::string reason = trouble(run, told, options_.limits);
    if (!reason.empty()) {
        result.outcome = Outcome::stopped;
        result.message = fmt::format("the program {} (question {} of {})", reason,
                                     std::min(told.list.size() + 1, asked.questions.size()), asked.questions.size());
        if (!run.printed.empty()) result.message += "; it printed:" + first_lines(run.printed);
        return result;
    }
    judge(exercise, asked, told.list, result);
    return result;
}

}  // namespace ulp::course
