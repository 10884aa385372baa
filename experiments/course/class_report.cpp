// What a teacher reads of a graded class: its misconceptions, pairs that are alike, notes, and the gradebook.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <sstream>

#include "engine/files/whole_file.hpp"
#include "experiments/course/course_files.hpp"
#include "experiments/course/grade_report.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/html.hpp"

namespace ulp::course {
namespace fs = std::filesystem;
namespace {

/// The tokens of C++ or Python: names that are no keywords as "n", texts as "s", no comments.
std::vector<std::string_view> tokens_of(std::string_view text) {
    static const std::set<std::string_view> keywords = {
        "if",  "else", "for",    "while",  "do",     "switch",  "case",   "break",    "continue", "return", "const",
        "int", "bool", "float",  "double", "auto",   "struct",  "static", "unsigned", "def",      "in",     "and",
        "or",  "not",  "lambda", "elif",   "import", "include", "true",   "false",    "True",     "False",  "None"};
    std::vector<std::string_view> tokens;
    const auto is_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    for (std::size_t i = 0; i < text.size();) {
        const char c = text[i];
        const std::string_view rest = text.substr(i);
        const bool is_comment = rest.starts_with("//") || (c == '#' && rest.size() > 1 && rest[1] == ' ');
        std::size_t length = 1;
        if (is_comment || rest.starts_with("/*")) {
            const std::size_t end = is_comment ? rest.find('\n') : rest.find("*/", 2);
            length = end == std::string_view::npos ? rest.size() : end + (is_comment ? 0 : 2);
        } else if (c == '"' || c == '\'') {
            while (length < rest.size() && rest[length] != c && rest[length] != '\n')
                length += rest[length] == '\\' ? 2 : 1;
            length = std::min(length + 1, rest.size());
            tokens.emplace_back("s");
        } else if (is_name(c)) {
            while (length < rest.size() && is_name(rest[length])) ++length;
            const std::string_view word = rest.substr(0, length);
            tokens.push_back(std::isdigit(static_cast<unsigned char>(c)) != 0 || keywords.contains(word) ? word : "n");
        } else if (std::isspace(static_cast<unsigned char>(c)) == 0) {
            tokens.push_back(rest.substr(0, 1));
        }
        i += length;
    }
    return tokens;
}

using Runs = std::vector<std::size_t>;  // digests, sorted, each once

Runs runs_of(std::string_view text) {
    constexpr std::size_t length = 12;
    const auto tokens = tokens_of(text);
    Runs runs;
    for (std::size_t i = 0; i + length <= tokens.size(); ++i) {
        runs.push_back(std::hash<std::string>()(
            fmt::format("{}", fmt::join(tokens.begin() + static_cast<std::ptrdiff_t>(i),
                                        tokens.begin() + static_cast<std::ptrdiff_t>(i + length), " "))));
    }
    std::ranges::sort(runs);
    runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
    return runs;
}

/// Those of all the texts.
Runs runs_of(const std::vector<std::string_view>& texts) {
    Runs all;
    for (const std::string_view text : texts) std::ranges::copy(runs_of(text), std::back_inserter(all));
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

Runs without(const Runs& runs, const Runs& given) {
    Runs rest;
    std::ranges::set_difference(runs, given, std::back_inserter(rest));
    return rest;
}

double shared_part(const Runs& a, const Runs& b) {
    constexpr std::size_t least = 30;
    if (a.size() < least || b.size() < least) return 0;
    Runs both;
    std::ranges::set_intersection(a, b, std::back_inserter(both));
    return static_cast<double>(both.size()) / static_cast<double>(a.size() + b.size() - both.size());
}

/// "lesson 4, Addition and swamping", of the table of docs/lessons/teaching.md.
std::string lesson_of(std::string_view exercise) {
    std::istringstream lines{std::string(shared_course_file("../../lessons/teaching.md"))};
    for (std::string line; std::getline(lines, line);) {
        std::vector<std::string> cells;
        std::istringstream text(line);
        for (std::string cell; std::getline(text, cell, '|');)
            cells.push_back(cell.substr(std::min(cell.find_first_not_of(' '), cell.size())));
        if (cells.size() < 6) continue;
        std::istringstream due(cells[5]);
        for (std::string name; std::getline(due, name, ',');) {
            name.erase(0, std::min(name.find_first_not_of(' '), name.size()));
            name.erase(std::min(name.find(' '), name.size()));
            if (name != exercise || cells[2].find(']') == std::string::npos) continue;
            return fmt::format("lesson {}, {}", cells[1].substr(0, cells[1].find(' ')),
                               cells[2].substr(1, cells[2].find(']') - 1));
        }
    }
    return "";
}

struct Misconceived {
    const Misconception* example;
    std::vector<std::string> students;
    std::size_t explained = 0;
};

std::vector<Misconceived> misconceptions_of(const GradedClass& graded) {
    std::map<std::pair<std::string, std::string>, Misconceived> found;
    for (std::size_t i = 0; i < graded.grades.size(); ++i) {
        if (!graded.handed_in.submissions[i].counts) continue;
        for (const Misconception& each : graded.grades[i].misconceptions) {
            Misconceived& all = found.try_emplace({each.exercise, each.id}, Misconceived{&each, {}}).first->second;
            if (each.example.size() < all.example->example.size()) all.example = &each;
            all.students.push_back(graded.grades[i].student);
            all.explained += each.explained;
        }
    }
    std::vector<Misconceived> list;
    for (const auto& [key, each] : found) list.push_back(each);
    std::ranges::stable_sort(list, std::greater(), [](const Misconceived& each) { return each.students.size(); });
    return list;
}

struct Pair {
    std::string_view exercise;
    std::string first, second;
    double part;
};

std::vector<Pair> similar_pairs(const GradedClass& graded) {
    std::vector<Pair> pairs;
    const std::vector<Submission>& submissions = graded.handed_in.submissions;
    for (const Exercise* exercise : graded.exercises) {
        std::vector<std::string_view> given = {course_file(*exercise, "starter.cpp"),
                                               course_file(*exercise, "exercise.hpp")};
        if (exercise->in_python)
            given.insert(given.end(), {course_file(*exercise, "starter.py"), course_file(*exercise, "exercise.py")});
        const Runs known = runs_of(given);
        std::vector<std::pair<const Submission*, Runs>> programs;
        for (const Submission& submission : submissions) {
            const auto file = submission.files.find(exercise->name);
            constexpr std::uintmax_t most = 1 << 20;
            if (file == submission.files.end() || !fs::is_regular_file(fs::symlink_status(file->second)) ||
                fs::file_size(file->second) > most)
                continue;
            programs.emplace_back(&submission, without(runs_of(read_file(file->second)), known));
        }
        for (std::size_t i = 0; i < programs.size(); ++i) {
            for (std::size_t j = i + 1; j < programs.size(); ++j) {
                const bool same_student =
                    programs[i].first->on_roster && programs[i].first->student.id == programs[j].first->student.id;
                const bool same_team = programs[i].first->files.find(exercise->name)->second ==
                                       programs[j].first->files.find(exercise->name)->second;
                const double part = same_student || same_team ? 0 : shared_part(programs[i].second, programs[j].second);
                if (part >= graded.handed_in.rules.similar)
                    pairs.push_back({exercise->name, programs[i].first->name, programs[j].first->name, part});
            }
        }
    }
    std::ranges::stable_sort(pairs, std::greater(), &Pair::part);
    return pairs;
}

/// Points after the rule for late ones.
double after_late(const ClassRules& rules, const Submission& submission, int total) {
    if (rules.days > 0 && submission.days_late > rules.days) return 0;
    return total * std::max(0.0, 1 - rules.percent_a_day / 100 * submission.days_late);
}

/// What Canvas imports: the students of the roster, or all where there is none.
std::string gradebook(const GradedClass& graded) {
    int points = 0;
    for (const Exercise* exercise : graded.exercises) points += exercise->points();
    const std::string assignment = csv_field(graded.handed_in.rules.assignment);
    std::string text =
        fmt::format("Student,ID,SIS User ID,SIS Login ID,Section,{}\n    Points Possible,,,,,{}\n", assignment, points);
    for (std::size_t i = 0; i < graded.grades.size(); ++i) {
        const Submission& one = graded.handed_in.submissions[i];
        if (!one.counts || (graded.handed_in.has_roster && !one.on_roster)) continue;
        const Student& who = one.student;
        const std::string login = who.sis_login_id.empty() ? who.email : who.sis_login_id;
        text += fmt::format("{},{},{},{},{},{:.6g}\n", csv_field(who.name), csv_field(who.id),
                            csv_field(who.sis_user_id), csv_field(login), csv_field(who.section),
                            after_late(graded.handed_in.rules, one, graded.grades[i].total));
    }
    return text;
}

std::string scores_html(const GradedClass& graded) {
    std::vector<std::vector<std::string>> rows = {{"exercise", "points", "mean", "all points", "none"}};
    for (std::size_t e = 0; e < graded.exercises.size(); ++e) {
        int sum = 0, full = 0, none = 0, students = 0;
        for (std::size_t i = 0; i < graded.grades.size(); ++i) {
            if (!graded.handed_in.submissions[i].counts) continue;
            const int score = graded.grades[i].scores[e];
            ++students;
            sum += score;
            full += score == graded.exercises[e]->points() ? 1 : 0;
            none += score == 0 ? 1 : 0;
        }
        rows.push_back({std::string(graded.exercises[e]->name), fmt::format("{}", graded.exercises[e]->points()),
                        fmt::format("{:.1f}", students == 0 ? 0.0 : static_cast<double>(sum) / students),
                        fmt::format("{}", full), fmt::format("{}", none)});
    }
    return table_html(rows);
}

std::string names_html(const std::vector<std::string>& names) {
    return fmt::format("<details><summary>who</summary>{}</details>",
                       escaped(fmt::format("{}", fmt::join(names, "; "))));
}

std::string class_page(const GradedClass& graded, const std::vector<Misconceived>& misconceptions,
                       const std::vector<Pair>& pairs) {
    const auto submissions = std::ranges::count(graded.handed_in.submissions, true, &Submission::counts);
    std::string body = fmt::format("<p>{} students.</p>\n<h2>Points</h2>\n{}<h2>Misconceptions</h2>\n", submissions,
                                   scores_html(graded));
    body += misconceptions.empty() ? "<p>None that the grader knows.</p>\n" : "<ol>\n";
    for (const Misconceived& each : misconceptions) {
        const std::string lesson = lesson_of(each.example->exercise);
        body += fmt::format(
            "<li><strong>{}</strong>: the program {} (<code>{}</code>, {} student{}){}.\n<pre>{}</pre>{}</li>\n",
            escaped(each.example->exercise), prose_html(each.example->says), escaped(each.example->id),
            each.students.size(), each.students.size() == 1 ? "" : "s",
            lesson.empty() ? "" : "; repeat " + escaped(lesson), escaped(each.example->example),
            names_html(each.students));
    }
    body += misconceptions.empty() ? "" : "</ol>\n";
    body += fmt::format(
        "<h2>Programs that are alike</h2>\n<p>Pairs that share at least {:.0f} % of their runs of 12 tokens, after all "
        "names became one and what the starter gives was taken out. "
        "Short exercises have few right programs: read both before you conclude.</p>\n",
        100 * graded.handed_in.rules.similar);
    std::vector<std::vector<std::string>> rows = {{"exercise", "first", "second", "shared"}};
    constexpr std::size_t most_rows = 200;
    for (const Pair& pair : pairs) {
        if (rows.size() <= most_rows)
            rows.push_back(
                {std::string(pair.exercise), pair.first, pair.second, fmt::format("{:.0f} %", 100 * pair.part)});
    }
    body += pairs.empty() ? "<p>None.</p>\n" : table_html(rows);
    if (pairs.size() > most_rows) body += fmt::format("<p>{} more are in similar.csv.</p>\n", pairs.size() - most_rows);
    body += "<h2>Notes</h2>\n<ul>\n";
    for (const std::string& note : graded.handed_in.notes) body += fmt::format("<li>{}</li>\n", escaped(note));
    for (const StudentGrade& grade : graded.grades) {
        for (const std::string& note : grade.notes)
            body += fmt::format("<li>{}: {}</li>\n", escaped(grade.student), escaped(note));
    }
    return single_page("ulplab grade", "A class: " + graded.handed_in.rules.assignment, body + "</ul>\n");
}

}  // namespace

double similarity(const std::string& a, const std::string& b, const std::vector<std::string_view>& given) {
    const Runs known = runs_of(given);
    return shared_part(without(runs_of(a), known), without(runs_of(b), known));
}

void write_class_report(const GradedClass& graded, const fs::path& out) {
    const std::vector<Misconceived> misconceptions = misconceptions_of(graded);
    std::string text = "exercise,misconception,students,wrong answers,lesson,the program\n";
    for (const Misconceived& each : misconceptions) {
        text +=
            fmt::format("{},{},{},{},{},{}\n", each.example->exercise, each.example->id, each.students.size(),
                        each.explained, csv_field(lesson_of(each.example->exercise)), csv_field(each.example->says));
    }
    replace_whole_file(out / "misconceptions.csv", text);
    const std::vector<Pair> pairs = similar_pairs(graded);
    text = "exercise,first,second,shared\n";
    for (const Pair& pair : pairs)
        text +=
            fmt::format("{},{},{},{:.2f}\n", pair.exercise, csv_field(pair.first), csv_field(pair.second), pair.part);
    replace_whole_file(out / "similar.csv", text);
    text = "student,note\n";
    for (const std::string& note : graded.handed_in.notes) text += fmt::format(",{}\n", csv_field(note));
    for (const StudentGrade& grade : graded.grades) {
        for (const std::string& note : grade.notes)
            text += fmt::format("{},{}\n", csv_field(grade.student), csv_field(note));
    }
    replace_whole_file(out / "notes.csv", text);
    replace_whole_file(out / "gradebook.csv", gradebook(graded));
    if (has_shared_file("plots/report.html"))
        replace_whole_file(out / "class.html", class_page(graded, misconceptions, pairs));
}

}  // namespace ulp::course
