#include <fmt/format.h>

#include <algorithm>
#include <bit>

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
    }
    if (!options.recordings.empty()) {
        const std::vector<PublicTest> tests = recorded_tests(exercise, options.recordings);
        if (!tests.empty()) ask(asked, "recordings of GPUs", 0, tests);
    }
    return asked;
}

namespace {

/// A wrong answer in words: the question, the first word that is wrong, and the whole case as a public test.
std::string failure_text(const Exercise& exercise, const Words& question, const Words& expected, const Words* answer) {
    std::string text = "for " + words_text(exercise.question, question);
    const auto wrong_word = [&]() -> std::string {
        if (answer == nullptr) return "no answer";
        if (answer->size() != expected.size()) {
            return fmt::format("{} words were answered, not {}", answer->size(), expected.size());
        }
        std::size_t i = 0;
        while (i + 1 < expected.size() && same_word(letter_at(exercise.answer, i), (*answer)[i], expected[i])) ++i;
        const char letter = letter_at(exercise.answer, i);
        const std::string where = exercise.label != nullptr ? exercise.label(question, i) + ": " : "";
        const std::string ulps = ulps_text(letter, (*answer)[i], expected[i]);
        return fmt::format("{}expected {}, got {}{}", where, word_text(letter, expected[i]),
                           word_text(letter, (*answer)[i]), ulps.empty() ? "" : ", " + ulps);
    };
    return fmt::format("{}\n  {}\n  for public.txt: {}", text, wrong_word(),
                       public_test_line(exercise, question, expected));
}

/// Fewer words first, then numbers with fewer ones: those are the easiest to follow by hand.
bool is_smaller(const Words& a, const Words& b) {
    const auto ones = [](const Words& words) {
        int count = 0;
        for (const Word word : words) count += std::popcount(word);
        return count;
    };
    return a.size() != b.size() ? a.size() < b.size() : ones(a) < ones(b);
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

}  // namespace

void judge(const Exercise& exercise, const Asked& asked, std::vector<Words> answers, ExerciseResult& result) {
    result.groups = asked.groups;
    result.wrong = 0;
    if (answers.size() > asked.questions.size()) answers.resize(asked.questions.size());
    std::vector<std::optional<std::size_t>> smallest(asked.groups.size());
    for (std::size_t i = 0; i < asked.questions.size(); ++i) {
        const std::size_t at = asked.group_of[i];
        if (i < answers.size() &&
            is_right(exercise, asked.questions[i], asked.expected[i], answers[i], asked.tolerance_of(i))) {
            ++result.groups[at].right;
            continue;
        }
        ++result.wrong;
        if (!smallest[at] || is_smaller(asked.questions[i], asked.questions[*smallest[at]])) smallest[at] = i;
    }
    for (std::size_t g = 0; g < smallest.size(); ++g) {
        if (!smallest[g]) continue;
        const std::size_t i = *smallest[g];
        result.groups[g].failure =
            failure_text(exercise, asked.questions[i], asked.expected[i], i < answers.size() ? &answers[i] : nullptr);
    }
    diagnose_groups(exercise, asked, answers, result);
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
