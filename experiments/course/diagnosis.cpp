// Which known mistakes account for wrong answers: those of the mistaken programs that give the same wrong bits.
#include <algorithm>

#include "experiments/course/grader.hpp"

namespace ulp::course {
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

}  // namespace ulp::course
