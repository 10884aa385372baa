#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "experiments/course/course_files.hpp"
#include "experiments/course/grader.hpp"
#include "softfloat/lab/recordings.hpp"

namespace ulp::course {
namespace {

void ask(Asked& asked, const std::string& name, int points, const std::vector<PublicTest>& tests, int tolerance = 0) {
    for (const PublicTest& test : tests) {
        asked.questions.push_back(test.question);
        asked.expected.push_back(test.expected);
        asked.group_of.push_back(asked.groups.size());
    }
    asked.groups.push_back({name, points, tolerance, 0, tests.size()});
}

}  // namespace

Asked questions_for(const Exercise& exercise, const GradeOptions& options) {
    Asked asked;
    ask(asked, "public tests", 0, parse_public_tests(exercise, course_file(exercise, "public.txt")));
    if (options.public_only) return asked;
    for (const Group& group : exercise.hidden(options.seed)) {
        std::vector<PublicTest> tests;
        for (const Words& question : group.questions) tests.push_back({question, exercise.solve(question, ""), 0});
        ask(asked, group.name, group.points, tests, group.tolerance);
        asked.groups.back().catches = group.catches;
        asked.groups.back().forgives = group.forgives;
    }
    if (!options.recordings.empty()) {
        const std::vector<PublicTest> tests = recorded_tests(exercise, options.recordings);
        if (!tests.empty()) ask(asked, "recordings of GPUs", 0, tests);
    }
    return asked;
}

namespace {

/// A wrong answer in decimals with names, and the whole case as a public test.
std::string failure_text(const Exercise& exercise, const Words& question, const Words& expected, const Words* answer) {
    const auto wrong_word = [&]() -> std::string {
        if (answer == nullptr) return "no answer";
        if (answer->size() != expected.size()) {
            return fmt::format("{} words were answered, not {}", answer->size(), expected.size());
        }
        std::size_t i = 0;
        while (i + 1 < expected.size() && same_word(letter_at(exercise.answer, i), (*answer)[i], expected[i])) ++i;
        const char letter = letter_at(exercise.answer, i);
        const std::string ulps = ulps_text(letter, (*answer)[i], expected[i]);
        return fmt::format("{}: expected {}, got {}{}", result_name(exercise, question, expected.size(), i),
                           word_text(letter, expected[i]), word_text(letter, (*answer)[i]),
                           ulps.empty() ? "" : ", " + ulps);
    };
    return fmt::format("for {}\n  {}\n  for public.txt: {}", question_text(exercise, question), wrong_word(),
                       public_test_line(exercise, question, expected));
}

/// Of each group the diagnosis that accounts for most of its wrong answers.
void diagnose_groups(const Exercise& exercise, const Asked& asked, const std::vector<Words>& answers,
                     ExerciseResult& result) {
    // What was not answered is no sign of a misconception.
    const auto first = [count = answers.size()](const auto& list) {
        return std::vector(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count));
    };
    std::vector<int> tolerances;
    for (std::size_t i = 0; i < answers.size(); ++i) tolerances.push_back(asked.tolerance_of(i));
    std::size_t unexplained = 0;
    result.diagnoses =
        diagnose(exercise, first(asked.questions), first(asked.expected), answers, unexplained, tolerances);
    result.unexplained = unexplained;
    // Of a program that is wrong in many more ways, what looks like a known mistake is chance.
    if (2 * unexplained > result.wrong) result.diagnoses.clear();
    for (std::size_t d = 0; d < result.diagnoses.size(); ++d) {
        std::vector<std::size_t> explained(asked.groups.size());
        for (const std::size_t question : result.diagnoses[d].questions) ++explained[asked.group_of[question]];
        for (std::size_t g = 0; g < explained.size(); ++g) {
            GroupResult& group = result.groups[g];
            if (explained[g] <= group.explained) continue;
            group.explained = explained[g];
            group.diagnosis = d;
        }
    }
}

/// Answers that a mistake made which another group has charged are no further loss where a group forgives it.
void forgive(const Exercise& exercise, const Asked& asked, const std::vector<Words>& answers, ExerciseResult& result,
             std::vector<std::vector<std::size_t>>& wrong) {
    for (std::size_t d = 0; d < result.diagnoses.size(); ++d) {
        const std::string& id = result.diagnoses[d].id;
        if (std::none_of(result.groups.begin(), result.groups.end(), [&](const GroupResult& g) {
                return g.diagnosis == d && contains(g.catches, id) && g.explained == g.questions - g.right;
            })) {
            continue;
        }
        for (std::size_t g = 0; g < wrong.size(); ++g) {
            if (!contains(result.groups[g].forgives, id)) continue;
            result.groups[g].right += std::erase_if(wrong[g], [&](std::size_t i) {
                return i < answers.size() && same_answer(exercise, answers[i], exercise.solve(asked.questions[i], id));
            });
            if (wrong[g].empty()) result.groups[g].diagnosis.reset();
        }
    }
}

}  // namespace

void judge(const Exercise& exercise, const Asked& asked, std::vector<Words> answers, ExerciseResult& result,
           const AnswerAgain& again) {
    result.groups = asked.groups;
    result.wrong = 0;
    if (answers.size() > asked.questions.size()) answers.resize(asked.questions.size());
    std::vector<std::vector<std::size_t>> wrong(asked.groups.size());
    for (std::size_t i = 0; i < asked.questions.size(); ++i) {
        const std::size_t at = asked.group_of[i];
        const bool right = i < answers.size() &&
                           is_right(exercise, asked.questions[i], asked.expected[i], answers[i], asked.tolerance_of(i));
        if (right) {
            ++result.groups[at].right;
        } else {
            ++result.wrong;
            wrong[at].push_back(i);
        }
    }
    diagnose_groups(exercise, asked, answers, result);
    forgive(exercise, asked, answers, result, wrong);
    std::vector<WrongCase> cases;
    for (std::size_t g = 0; g < wrong.size(); ++g) {
        if (wrong[g].empty()) continue;
        const auto& diagnosis = result.groups[g].diagnosis;
        const std::vector<std::size_t> none;
        const auto& explained = diagnosis ? result.diagnoses[*diagnosis].questions : none;
        // One that shows the diagnosed mistake, and of those the easiest.
        const auto key = [&](std::size_t i) {
            return std::pair(diagnosis && !std::binary_search(explained.begin(), explained.end(), i),
                             effort_of(exercise, asked.questions[i]));
        };
        const std::size_t i = *std::min_element(wrong[g].begin(), wrong[g].end(),
                                                [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
        if (i >= answers.size()) {
            result.groups[g].failure = failure_text(exercise, asked.questions[i], asked.expected[i], nullptr);
            continue;
        }
        const bool shows = diagnosis && !key(i).first;
        cases.push_back({g, asked.questions[i], answers[i], asked.tolerance_of(i),
                         shows ? std::string_view(result.diagnoses[*diagnosis].id) : ""});
    }
    if (again) shrink(exercise, cases, again);
    for (const WrongCase& c : cases) {
        result.groups[c.group].failure = failure_text(exercise, c.question, exercise.solve(c.question, ""), &c.answer);
    }
}

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

// Which known mistakes account for wrong answers: those of the mistaken programs that give the same wrong bits.

namespace {

/// The wrong answers that a mistake explains, and how many answers it would make wrong.
struct Candidate {
    const Mistake* mistake;
    std::vector<std::size_t> explained;
    std::size_t would_be_wrong;
};

}  // namespace

std::vector<Diagnosis> diagnose(const Exercise& exercise, const std::vector<Words>& questions,
                                const std::vector<Words>& expected, const std::vector<Words>& answers,
                                std::size_t& unexplained, const std::vector<int>& tolerances) {
    const auto right = [&](std::size_t i, const Words& answer) {
        return is_right(exercise, questions[i], expected[i], answer, tolerances.empty() ? 0 : tolerances[i]);
    };
    std::vector<std::size_t> wrong;
    for (std::size_t i = 0; i < questions.size(); ++i) {
        if (!right(i, answers[i])) wrong.push_back(i);
    }
    unexplained = wrong.size();
    if (wrong.empty()) return {};

    std::vector<Candidate> candidates;
    for (const Mistake& mistake : exercise.mistakes) {
        Candidate candidate{&mistake, {}, 0};
        for (std::size_t i = 0; i < questions.size(); ++i) {
            const Words mistaken = exercise.solve(questions[i], mistake.id);
            if (right(i, mistaken)) continue;
            ++candidate.would_be_wrong;
            if (same_answer(exercise, mistaken, answers[i])) candidate.explained.push_back(i);
        }
        // A program with this mistake would give most of its wrong answers; a few agree by chance.
        if (2 * candidate.explained.size() >= candidate.would_be_wrong) candidates.push_back(std::move(candidate));
    }

    std::vector<Diagnosis> found;
    while (!wrong.empty()) {
        const auto still_wrong = [&wrong](const Candidate& candidate) {
            std::vector<std::size_t> both;
            std::set_intersection(wrong.begin(), wrong.end(), candidate.explained.begin(), candidate.explained.end(),
                                  std::back_inserter(both));
            return both;
        };
        const Candidate* best = nullptr;
        std::vector<std::size_t> most;
        for (const Candidate& candidate : candidates) {
            std::vector<std::size_t> both = still_wrong(candidate);
            const bool better =
                both.size() > most.size() || (best != nullptr && !both.empty() && both.size() == most.size() &&
                                              candidate.would_be_wrong < best->would_be_wrong);
            if (!better) continue;
            best = &candidate;
            most = std::move(both);
        }
        if (best == nullptr) break;
        found.push_back({std::string(best->mistake->id), std::string(best->mistake->says), most.size(), most});
        std::vector<std::size_t> rest;
        std::set_difference(wrong.begin(), wrong.end(), most.begin(), most.end(), std::back_inserter(rest));
        wrong = std::move(rest);
    }
    unexplained = wrong.size();
    return found;
}

// Rows of the recordings in the published layout (softfloat/lab/recordings.hpp) as questions to students.

std::vector<PublicTest> recorded_tests(const Exercise& exercise, const std::filesystem::path& recordings) {
    if (exercise.name != "tensor_core_block") return {};
    std::vector<PublicTest> tests;
    for (const RecordedFiles& files : find_recordings(recordings)) {
        if (files.input != "fp16" || files.output != "fp32") continue;
        const RecordedSet set = read_recording(files);
        const auto row = model_of(set);
        // Rows that are one block: a k16 instruction of eight products is a second, empty block.
        if (!row || set.products != row->model.group_size) continue;
        for (std::size_t i = 0; i < static_cast<std::size_t>(set.rows); ++i) {
            const auto n = static_cast<std::size_t>(set.products);
            Words question{static_cast<Word>(n), static_cast<Word>(row->model.fraction_bits), set.c[i]};
            const auto first = static_cast<std::ptrdiff_t>(i * n);
            const auto last = static_cast<std::ptrdiff_t>(i * n + n);
            question.insert(question.end(), set.a.begin() + first, set.a.begin() + last);
            question.insert(question.end(), set.b.begin() + first, set.b.begin() + last);
            tests.push_back({question, {set.d[i]}, static_cast<int>(i)});
        }
    }
    return tests;
}

}  // namespace ulp::course
