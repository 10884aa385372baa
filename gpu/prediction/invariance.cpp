#include "gpu/prediction/invariance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gpu/prediction/answers.hpp"
#include "softfloat/matrix_units/product.hpp"

namespace ulp::gpu {
namespace {

double value_of_code(Element element, std::uint32_t code) {
    return static_cast<double>(in_fp32_container(format_of(element), code));
}

/// The largest |d - exact| / sum |a b| of a sample of one column; "exact" is a sum in double.
double error_of(const LibraryProblem& p, const ProblemSample& sample, const std::vector<std::uint32_t>& words) {
    double worst = 0;
    const auto k = static_cast<std::size_t>(p.k);
    for (std::size_t row = 0; row < sample.rows.size(); ++row) {
        double exact = 0;
        double magnitude = 0;
        for (std::size_t i = 0; i < k; ++i) {
            const double product =
                value_of_code(p.type->a, sample.a[row * k + i]) * value_of_code(p.type->b, sample.b[i]);
            exact += product;
            magnitude += std::abs(product);
        }
        if (magnitude > 0) worst = std::max(worst, std::abs(value_of_code(p.type->d, words[row]) - exact) / magnitude);
    }
    return worst;
}

/// One algorithm, the same order everywhere? `change` is applied to each answer before it is planned.
template <class Change>
Remedy remedy_of(const std::string& name, const std::vector<std::pair<LibraryProblem, HeuristicAnswer>>& answers,
                 const LibraryInfo& info, const ProblemSample& sample, const Change& change) {
    Remedy remedy;
    remedy.name = name;
    remedy.holds = true;
    std::optional<KernelOrder> first;
    for (auto [problem, answer] : answers) {
        change(answer);
        const KernelPlan plan = plan_of(answer, problem, info);
        const auto* order = std::get_if<KernelOrder>(&plan);
        if (order == nullptr) continue;
        remedy.applies = true;
        if (!first) {
            first = *order;
            remedy.error = error_of(problem, sample, ordered_product(*order, problem, sample));
        }
        remedy.holds = remedy.holds && *first == *order;
    }
    remedy.holds = remedy.holds && remedy.applies;
    return remedy;
}

void note_change(Invariance& found, const ProblemSample& sample, std::int64_t fewer, std::int64_t more,
                 const std::vector<std::uint32_t>& before, const std::vector<std::uint32_t>& after) {
    if (found.first) return;
    const auto [x, y] = std::mismatch(before.begin(), before.end(), after.begin());
    found.first = CounterExample{fewer, more, sample.rows[static_cast<std::size_t>(x - before.begin())], *x, *y};
}

}  // namespace

int Invariance::wrong() const {
    return static_cast<int>(std::count_if(steps.begin(), steps.end(), [](const InvarianceStep& step) {
        // Another order may give the same bits by chance; the same order may not give others.
        return step.declined.empty() && step.change && !step.predicted_change;
    }));
}

int Invariance::changes() const {
    return static_cast<int>(
        std::count_if(steps.begin(), steps.end(), [](const InvarianceStep& step) { return step.change; }));
}

Invariance invariance_of(Library& library, const ProblemType& type, std::int64_t features, std::int64_t k,
                         const std::vector<std::int64_t>& tokens) {
    Invariance found;
    found.type = &type;
    found.features = features;
    found.k = k;
    const LibraryProblem one{&type, "TN", features, 1, k};
    const ProblemSample sample = sample_of(one, InputSet::spread);
    std::vector<std::pair<LibraryProblem, HeuristicAnswer>> answers;
    std::optional<KernelOrder> last_order;
    bool gap = false;  // since last_order something was declined
    std::vector<std::uint32_t> last_words;
    std::int64_t last_tokens = 0;
    for (const std::int64_t count : tokens) {
        LibraryProblem p = one;
        p.n = count;
        InvarianceStep step;
        step.tokens = count;
        const auto answer = library.ask(p);
        if (!answer) {
            step.declined = no_such_product;
            found.steps.push_back(step);
            continue;
        }
        const KernelPlan plan = plan_of(*answer, p, library.info());
        const std::vector<std::uint32_t> words = library.run(p, sample);
        if (const auto* order = std::get_if<KernelOrder>(&plan)) {
            step.order = order->text();
            step.predicted_change = gap || (last_order && *last_order != *order);
            last_order = *order;
            gap = false;
            answers.emplace_back(p, *answer);
            found.error = std::max(found.error, error_of(p, sample, ordered_product(*order, p, sample)));
        } else {
            step.declined = std::get<Declined>(plan).reason;
            gap = true;
        }
        step.change = !last_words.empty() && words != last_words;
        if (step.change) note_change(found, sample, last_tokens, count, last_words, words);
        last_words = words;
        last_tokens = count;
        found.steps.push_back(step);
    }
    if (answers.empty()) return found;
    const HeuristicAnswer largest = answers.back().second;
    found.remedies.push_back(remedy_of("the algorithm of the most tokens, pinned", answers, library.info(), sample,
                                       [&](HeuristicAnswer& answer) { answer = largest; }));
    found.remedies.push_back(remedy_of("split 1, else as chosen", answers, library.info(), sample,
                                       [](HeuristicAnswer& answer) { answer.split = 1; }));
    found.remedies.push_back(remedy_of("one tile and one chain (a kernel of one's own)", answers, library.info(),
                                       sample, [&](HeuristicAnswer& answer) {
                                           answer = largest;
                                           answer.split = 1;
                                       }));
    return found;
}

}  // namespace ulp::gpu
