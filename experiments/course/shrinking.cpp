// A wrong case made smaller: elements and repeated parts are left out and numbers become simpler while the program, run
// on the smaller questions, stays wrong in the same way.
#include <algorithm>
#include <utility>

#include "experiments/course/grader.hpp"

namespace ulp::course {
namespace {

class Shrinker {
  public:
    Shrinker(const Exercise& exercise, const AnswerAgain& answers) : exercise_(exercise), answers_(answers) {}

    /// Each round runs the program once or twice, on the smaller questions of all cases.
    void shrink(std::vector<WrongCase>& cases) {
        for (int round = 0; round < most_rounds && !cases.empty(); ++round) {
            bool better = false;
            const auto shorter = still_wrong(cases, [&](const WrongCase& c) { return shorter_questions(c.question); });
            std::vector<std::vector<Words>> simpler(cases.size());
            for (std::size_t i = 0; i < cases.size(); ++i) {
                if (take_smallest(cases[i], shorter[i])) better = true;
            }
            const auto single = still_wrong(cases, [&](const WrongCase& c) { return simpler_questions(c.question); });
            for (std::size_t i = 0; i < cases.size(); ++i) simpler[i] = combined(cases[i].question, single[i]);
            std::size_t at = 0;
            const auto together = still_wrong(cases, [&](const WrongCase&) { return simpler[at++]; });
            for (std::size_t i = 0; i < cases.size(); ++i) {
                if (take_smallest(cases[i], together[i]) || take_smallest(cases[i], single[i])) better = true;
            }
            if (!better) return;
        }
    }

  private:
    static constexpr int most_rounds = 6;
    static constexpr std::size_t most_questions = 300;  // of a case in a run
    struct Smaller {
        Words question, answer;
    };

    template <class Candidates>
    std::vector<std::vector<Smaller>> still_wrong(const std::vector<WrongCase>& cases, const Candidates& candidates) {
        std::vector<Words> questions;
        std::vector<std::size_t> case_of;
        for (std::size_t i = 0; i < cases.size(); ++i) {
            std::vector<Words> own = candidates(cases[i]);
            own.resize(std::min(own.size(), most_questions));
            questions.insert(questions.end(), own.begin(), own.end());
            case_of.insert(case_of.end(), own.size(), i);
        }
        std::vector<std::vector<Smaller>> wrong(cases.size());
        if (questions.empty()) return wrong;
        std::vector<Words> answers = answers_(questions);
        for (std::size_t q = 0; q < std::min(answers.size(), questions.size()); ++q) {
            const WrongCase& c = cases[case_of[q]];
            const Words expected = exercise_.solve(questions[q], "");
            if (is_right(exercise_, questions[q], expected, answers[q], c.tolerance)) continue;
            const bool same =
                c.mistake.empty() || same_answer(exercise_, answers[q], exercise_.solve(questions[q], c.mistake));
            if (same) wrong[case_of[q]].push_back({std::move(questions[q]), std::move(answers[q])});
        }
        return wrong;
    }

    bool take_smallest(WrongCase& c, const std::vector<Smaller>& smaller) const {
        bool taken = false;
        for (const Smaller& s : smaller) {
            if (effort_of(exercise_, s.question) >= effort_of(exercise_, c.question)) continue;
            c.question = s.question;
            c.answer = s.answer;
            taken = true;
        }
        return taken;
    }

    [[nodiscard]] std::vector<Field> fields(const Words& question) const {
        return fields_of(exercise_.arguments, question.size(), exercise_.arguments, question);
    }

    /// Without some repeated parts, or without some elements of all lists of one length: halves of them, quarters, ...
    [[nodiscard]] std::vector<Words> shorter_questions(const Words& question) const {
        const std::vector<Field> all = fields(question);
        std::vector<Words> shorter;
        const auto leave_out = [&](std::size_t count, const auto& without) {
            for (std::size_t length = (count + 1) / 2; length > 0 && count > 1 && length > count / 65; length /= 2) {
                for (std::size_t from = count; from > 0; from -= std::min(from, length)) {
                    shorter.push_back(without(from - std::min(from, length), from));
                }
            }
        };
        leave_out(all.empty() ? 0 : all.back().round, [&](std::size_t from, std::size_t to) {
            Words rest;
            for (const Field& f : all) {
                const bool out = f.round > from && f.round <= to;
                for (std::size_t i = 0; i < f.count && !out; ++i) rest.push_back(question[f.first + i]);
            }
            return rest;
        });
        std::vector<std::string> lengths;
        for (const Field& list : all) {
            if (list.length.empty() || std::find(lengths.begin(), lengths.end(), list.length) != lengths.end())
                continue;
            lengths.push_back(list.length);
            leave_out(list.count, [&](std::size_t from, std::size_t to) {
                Words rest;
                for (const Field& f : all) {
                    const bool shortened = f.length == list.length;
                    for (std::size_t i = 0; i < f.count; ++i) {
                        if (!shortened || i < from || i >= to) rest.push_back(question[f.first + i]);
                    }
                    if (f.name == list.length) rest.back() -= static_cast<Word>(to - from);
                }
                return rest;
            });
        }
        return shorter;
    }

    /// With one number simpler: zero, one, positive, of fewer bits.
    [[nodiscard]] std::vector<Words> simpler_questions(const Words& question) const {
        std::vector<Words> simpler;
        for (const Field& f : fields(question)) {
            for (std::size_t i = f.first; i < f.first + f.count && !f.fixed; ++i) {
                const char letter = letter_at(exercise_.question, i);
                if (letter != 'h' && letter != 's') continue;
                const int fraction = letter == 'h' ? 10 : 23;
                const Word sign = Word{1} << (letter == 'h' ? 15 : 31);
                std::vector<Word> words{0, letter == 'h' ? 0x3C00U : 0x3F800000U, question[i] & ~sign};
                for (const int cut : {fraction, fraction - 1, fraction * 3 / 4, fraction / 2, 2}) {
                    words.push_back(question[i] >> cut << cut);
                }
                for (const Word word : words) {
                    Words other = question;
                    other[i] = word;
                    if (effort_of(exercise_, other) < effort_of(exercise_, question)) simpler.push_back(other);
                }
            }
        }
        return simpler;
    }

    /// The best change of each number, made together: all of them, the first half, ...
    [[nodiscard]] std::vector<Words> combined(const Words& question, const std::vector<Smaller>& singles) const {
        Words best = question;
        std::vector<std::size_t> changed;
        for (const Smaller& s : singles) {
            std::size_t at = 0;
            while (at < question.size() && s.question[at] == question[at]) ++at;
            Words now = question;
            now[at] = best[at];
            if (effort_of(exercise_, s.question) >= effort_of(exercise_, now)) continue;
            if (best[at] == question[at]) changed.push_back(at);
            best[at] = s.question[at];
        }
        std::vector<Words> questions;
        for (std::size_t length = changed.size(); length > 1; length = (length + 1) / 2) {
            for (std::size_t from = 0; from < changed.size(); from += length) {
                Words some = question;
                for (std::size_t i = from; i < std::min(from + length, changed.size()); ++i) {
                    some[changed[i]] = best[changed[i]];
                }
                questions.push_back(some);
            }
            if (length == 2) break;
        }
        return questions;
    }

    const Exercise& exercise_;
    const AnswerAgain& answers_;
};

}  // namespace

void shrink(const Exercise& exercise, std::vector<WrongCase>& cases, const AnswerAgain& again) {
    Shrinker(exercise, again).shrink(cases);
}

}  // namespace ulp::course
