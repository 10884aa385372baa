#include "gpu/untried/answers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

namespace ulp::gpu {
namespace {

std::int64_t largest_alignment(Element element) { return 128 / bits_of(element); }

std::int64_t grid_extent(std::int64_t size, std::int64_t alignment, std::int64_t largest) {
    return alignment == largest ? size : size + alignment;
}

std::string class_key(const LibraryProblem& p, const std::array<std::int64_t, 3>& alignments) {
    return fmt::format("{} {} {}", p.type->name, p.layout, fmt::join(alignments, " "));
}

/// The grid's two places around an extent: equal where it is a point. Nothing outside of the grid.
std::optional<std::pair<std::size_t, std::size_t>> around(const std::vector<std::int64_t>& sizes, std::int64_t extent,
                                                          std::int64_t alignment, std::int64_t largest) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::int64_t here = grid_extent(sizes[i], alignment, largest);
        if (here == extent) return std::pair{i, i};
        if (here > extent) break;
        if (i + 1 < sizes.size() && extent < grid_extent(sizes[i + 1], alignment, largest)) return std::pair{i, i + 1};
    }
    return std::nullopt;
}

/// What must agree among a shape's neighbours: the order but for numbers that follow from k.
std::string order_class(const KernelOrder& order) {
    return fmt::format("{} {} {} {}", order.unit, order.tile, order.promote, static_cast<int>(order.merge));
}

/// Every type, layout and three alignments, of FP8 the ones that it has.
std::vector<std::pair<LibraryProblem, std::array<std::int64_t, 3>>> classes_of(
    const std::vector<const ProblemType*>& types) {
    std::vector<std::pair<LibraryProblem, std::array<std::int64_t, 3>>> classes;
    for (const ProblemType* type : types) {
        const bool fp8 = bits_of(type->a) == 8;
        const std::int64_t largest = largest_alignment(type->a);
        std::vector<std::int64_t> alignments;
        for (std::int64_t a = fp8 ? largest : 1; a <= largest; a *= 2) alignments.push_back(a);
        LibraryProblem problem;
        problem.type = type;
        for (const std::string_view layout : problem_layouts) {
            if (fp8 && layout != "TN") continue;
            problem.layout = layout;
            for (const std::int64_t m : alignments) {
                for (const std::int64_t n : alignments) {
                    for (const std::int64_t k : alignments) classes.push_back({problem, {m, n, k}});
                }
            }
        }
    }
    return classes;
}

}  // namespace

std::int64_t alignment_of(std::int64_t extent, Element element) {
    return std::min(extent & -extent, largest_alignment(element));
}

AnswerGrid usual_grid(bool quick) {
    AnswerGrid grid;
    for (int e = 4; e <= 13; e += quick ? 3 : 1) grid.outputs.push_back(std::int64_t{1} << e);
    for (int e = 4; e <= 18; e += quick ? 3 : 1) grid.depths.push_back(std::int64_t{1} << e);
    return grid;
}

int StoredAnswers::number_of(const Offer& offer) {
    const auto [place, is_new] = numbers_.try_emplace(offer, static_cast<int>(tuples_.size()));
    if (is_new) tuples_.push_back(offer);
    return place->second;
}

std::vector<int> StoredAnswers::asked_class(Library& library, LibraryProblem p,
                                            const std::array<std::int64_t, 3>& alignments) {
    const std::int64_t largest = largest_alignment(p.type->a);
    std::vector<int> answers;
    for (const std::int64_t m : grid_.outputs) {
        for (const std::int64_t n : grid_.outputs) {
            for (const std::int64_t k : grid_.depths) {
                p.m = grid_extent(m, alignments[0], largest);
                p.n = grid_extent(n, alignments[1], largest);
                p.k = grid_extent(k, alignments[2], largest);
                answers.push_back(number_of(library.ask(p)));
            }
        }
    }
    return answers;
}

bool StoredAnswers::ask(Library& library, const std::vector<LibraryProblem>& shapes,
                        const std::vector<const ProblemType*>& types, const std::function<bool()>& go_on) {
    for (const LibraryProblem& p : shapes) {
        if (shapes_.contains(p.text())) continue;
        shapes_[p.text()] = number_of(library.ask(p));
        if (!go_on()) return false;
    }
    for (const auto& [problem, alignments] : classes_of(types)) {
        const std::string key = class_key(problem, alignments);
        if (classes_.contains(key)) continue;
        classes_[key] = asked_class(library, problem, alignments);
        if (!go_on()) return false;
    }
    return true;
}

KernelPlan StoredAnswers::plan_of_offer(const Offer& offer, const LibraryProblem& problem) const {
    if (!offer) return Declined{std::string(no_such_product)};
    return plan_of(*offer, problem, info);
}

std::variant<HeuristicAnswer, Declined> StoredAnswers::listed(const LibraryProblem& problem) const {
    const auto found = shapes_.find(problem.text());
    if (found == shapes_.end()) return Declined{"no answer is stored for this shape by itself"};
    const Offer& offer = tuples_[static_cast<std::size_t>(found->second)];
    if (!offer) return Declined{std::string(no_such_product)};
    return *offer;
}

KernelPlan StoredAnswers::plan_between(const std::vector<int>& answers, const std::array<std::int64_t, 3>& alignments,
                                       const LibraryProblem& p) const {
    const std::int64_t largest = largest_alignment(p.type->a);
    const auto m = around(grid_.outputs, p.m, alignments[0], largest);
    const auto n = around(grid_.outputs, p.n, alignments[1], largest);
    const auto k = around(grid_.depths, p.k, alignments[2], largest);
    if (!m || !n || !k) return Declined{"the shape lies outside of the stored grid"};
    std::optional<KernelOrder> first;
    bool point = true;
    for (const std::size_t i : {m->first, m->second}) {
        for (const std::size_t j : {n->first, n->second}) {
            for (const std::size_t l : {k->first, k->second}) {
                const std::size_t at = (i * grid_.outputs.size() + j) * grid_.depths.size() + l;
                KernelPlan plan = plan_of_offer(tuples_[static_cast<std::size_t>(answers[at])], p);
                if (std::holds_alternative<Declined>(plan)) return plan;
                const auto& order = std::get<KernelOrder>(plan);
                if (first && order_class(*first) != order_class(order)) {
                    return Declined{"the neighbours in the stored grid add in different orders"};
                }
                point = point && (!first || *first == order);
                first = order;
            }
        }
    }
    // Counts of pieces change quickly with k: between points they are not guessed.
    if (!point) return Declined{"the neighbours in the stored grid split k into different pieces"};
    return *first;
}

KernelPlan StoredAnswers::plan(const LibraryProblem& problem) const {
    if (const auto found = shapes_.find(problem.text()); found != shapes_.end()) {
        return plan_of_offer(tuples_[static_cast<std::size_t>(found->second)], problem);
    }
    // alpha does not enter the choice; the grid was asked with beta = 0.
    if (problem.beta != 0) return Declined{"the stored grid has no answers with beta"};
    if (problem.batch != 1) return Declined{"the stored grid has no answers of batches"};
    const std::array alignments{alignment_of(problem.m, problem.type->a), alignment_of(problem.n, problem.type->a),
                                alignment_of(problem.k, problem.type->a)};
    const auto found = classes_.find(class_key(problem, alignments));
    if (found == classes_.end()) return Declined{"no answers are stored for this type, layout and alignment"};
    return plan_between(found->second, alignments, problem);
}

}  // namespace ulp::gpu
