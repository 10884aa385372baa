#include "gpu/untried/invariance.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "gpu/devices/reference.hpp"
#include "gpu/untried/answers.hpp"
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

struct Answered {
    LibraryProblem problem;
    HeuristicAnswer answer;
};

/// A remedy at all numbers of tokens that have an answer: `kernel_of` plans it, `run` gives token 0's words, and
/// nothing where it cannot run.
template <class KernelOf, class Run>
Remedy remedy_of(const std::string& name, const std::vector<Answered>& answers, const ProblemSample& sample,
                 const KernelOf& kernel_of, const Run& run) {
    Remedy remedy;
    remedy.name = name;
    remedy.holds = true;
    remedy.run_holds = true;
    std::optional<LibraryKernel> first;
    std::optional<std::vector<std::uint32_t>> first_words, first_expected;
    for (const Answered& each : answers) {
        ++remedy.asked;
        const std::optional<LibraryKernel> kernel = kernel_of(each);
        std::optional<std::vector<std::uint32_t>> expected;
        if (kernel) {
            expected = kernel == first ? first_expected : ordered_product(*kernel, each.problem, sample);
            if (!first) {
                first = kernel;
                first_expected = expected;
                remedy.error = error_of(each.problem, sample, *expected);
            }
            remedy.applies = true;
            remedy.holds = remedy.holds && *first == *kernel;
        }
        const std::optional<std::vector<std::uint32_t>> words = run(each);
        if (!words) continue;
        ++remedy.runs;
        if (!first_words) first_words = words;
        remedy.run_error = std::max(remedy.run_error, error_of(each.problem, sample, *words));
        remedy.run_holds = remedy.run_holds && *first_words == *words;
        remedy.unlike += expected && *expected != *words ? 1 : 0;
    }
    remedy.holds = remedy.holds && remedy.applies;
    remedy.run_holds = remedy.run_holds && remedy.runs > 1;
    return remedy;
}

/// The library's algorithm, each answer changed before it is planned and run.
template <class Change>
Remedy library_remedy(const std::string& name, Library& library, const std::vector<Answered>& answers,
                      const ProblemSample& sample, const Change& change) {
    const auto changed = [&](const Answered& each) {
        HeuristicAnswer answer = each.answer;
        change(answer);
        return answer;
    };
    return remedy_of(
        name, answers, sample,
        [&](const Answered& each) -> std::optional<LibraryKernel> {
            const KernelPlan plan = plan_of(changed(each), each.problem, library.info());
            const auto* kernel = std::get_if<LibraryKernel>(&plan);
            return kernel == nullptr ? std::nullopt : std::optional(*kernel);
        },
        [&](const Answered& each) { return library.run_as(changed(each), each.problem, sample); });
}

/// The mma.sync of a type on the device; null where there is none.
const Instruction* own_instruction(const ProblemType& type, const Executor& device) {
    try {
        return &choose_instruction(Family::mma, type.a, type.b, type.accumulator, device.info().architecture);
    } catch (const std::invalid_argument&) {
        return nullptr;
    }
}

/// Token 0's words by a kernel of our own: one chain of instructions over ascending k, among `tokens` columns of which
/// the others hold the first one's numbers turned round.
std::vector<std::uint32_t> own_product(const Executor& device, const Instruction& row, const LibraryProblem& p,
                                       const ProblemSample& sample, std::int64_t tokens) {
    const auto tiles = [](std::uint64_t extent, int tile) {
        const auto unit = static_cast<std::uint64_t>(tile);
        return static_cast<std::uint32_t>((extent + unit - 1) / unit);
    };
    const auto k = static_cast<std::uint64_t>(p.k);
    const std::uint64_t features = sample.rows.size();
    const auto columns = static_cast<std::uint64_t>(tokens);
    HostProduct product(row,
                        {.tiles_m = tiles(features, row.shape.m),
                         .tiles_n = tiles(columns, row.shape.n),
                         .steps_k = tiles(k, row.shape.k)},
                        false);
    for (std::uint64_t i = 0; i < features; ++i) {
        for (std::uint64_t l = 0; l < k; ++l) product.a.set(i, l, sample.a[i * k + l]);
    }
    for (std::uint64_t j = 0; j < columns; ++j) {
        for (std::uint64_t l = 0; l < k; ++l) product.b.set(j, l, sample.b[(l + j) % k]);
    }
    device.run(product);
    std::vector<std::uint32_t> words;
    for (std::uint64_t i = 0; i < features; ++i) {
        const auto sum = static_cast<std::uint32_t>(product.d.get(i, 0));
        words.push_back(
            ulp::operand_code(format_of(p.type->d), in_fp32_container(format_of(p.type->accumulator), sum)));
    }
    return words;
}

Remedy own_kernel(const Executor& device, const std::vector<Answered>& answers, const ProblemSample& sample) {
    constexpr std::int64_t most_tokens = 64;  // of the kernel's columns, which do not know of each other
    const ProblemType& type = *answers.front().problem.type;
    const Instruction* row = own_instruction(type, device);
    const auto promised = row == nullptr ? std::nullopt : promised_model(*row, device.info().architecture);
    return remedy_of(
        "one tile and one chain (a kernel of one's own)", answers, sample,
        [&](const Answered&) -> std::optional<LibraryKernel> {
            if (!promised || !promised->whole_row) return std::nullopt;
            return LibraryKernel{.unit = promised->key};
        },
        [&](const Answered& each) -> std::optional<std::vector<std::uint32_t>> {
            if (row == nullptr) return std::nullopt;
            return own_product(device, *row, each.problem, sample, std::min(each.problem.n, most_tokens));
        });
}

void note_change(Invariance& found, const ProblemSample& sample, std::int64_t fewer, std::int64_t more,
                 const std::vector<std::uint32_t>& before, const std::vector<std::uint32_t>& after) {
    if (found.first) return;
    const auto [x, y] = std::mismatch(before.begin(), before.end(), after.begin());
    found.first = CounterExample{fewer, more, sample.rows[static_cast<std::size_t>(x - before.begin())], {*x, *y}};
}

BitChange change_between(const std::optional<std::vector<std::uint32_t>>& before,
                         const std::vector<std::uint32_t>& after) {
    if (!before) return BitChange::first;
    return *before == after ? BitChange::same : BitChange::change;
}

template <class Test>
int steps_where(const std::vector<InvarianceStep>& steps, const Test& test) {
    return static_cast<int>(std::count_if(steps.begin(), steps.end(), test));
}

}  // namespace

std::string_view name_of(BitChange change) {
    switch (change) {
        case BitChange::first: return "first";
        case BitChange::same: return "same";
        case BitChange::change: return "change";
        case BitChange::unknown: return "unknown";
    }
    return "";
}

int Invariance::changes() const {
    return steps_where(steps, [](const InvarianceStep& step) { return step.run == BitChange::change; });
}
int Invariance::changes_unpredicted() const {
    return steps_where(steps, [](const InvarianceStep& step) {
        return step.run == BitChange::change && step.predicted == BitChange::unknown;
    });
}
int Invariance::changes_wrong() const {
    return steps_where(steps, [](const InvarianceStep& step) {
        return step.predicted != BitChange::unknown && step.run != step.predicted;
    });
}
int Invariance::unlike() const {
    return steps_where(steps, [](const InvarianceStep& step) { return step.unlike; });
}
int Invariance::remedies_unlike() const {
    int runs = 0;
    for (const Remedy& remedy : remedies) runs += remedy.unlike;
    return runs;
}

Invariance invariance_of(Library& library, const Executor& device, const ProblemType& type, std::int64_t features,
                         std::int64_t k, const std::vector<std::int64_t>& tokens) {
    Invariance found;
    found.type = &type;
    found.features = features;
    found.k = k;
    const LibraryProblem one{&type, "TN", features, 1, k};
    const ProblemSample sample = sample_of(one, InputSet::spread);
    std::vector<Answered> answers;
    // Of the last number of tokens that ran.
    std::optional<std::vector<std::uint32_t>> last_words, last_expected;
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
        std::optional<std::vector<std::uint32_t>> expected;
        if (const auto* kernel = std::get_if<LibraryKernel>(&plan)) {
            step.order = kernel->text();
            answers.push_back({p, *answer});
            expected = ordered_product(*kernel, p, sample);
            step.unlike = *expected != words;
            found.error = std::max(found.error, error_of(p, sample, *expected));
        } else {
            step.declined = std::get<Declined>(plan).reason;
        }
        found.run_error = std::max(found.run_error, error_of(p, sample, words));
        step.run = change_between(last_words, words);
        if (!last_words) {
            step.predicted = expected ? BitChange::first : BitChange::unknown;
        } else if (expected && last_expected) {
            step.predicted = change_between(last_expected, *expected);
        }
        if (step.run == BitChange::change) note_change(found, sample, last_tokens, count, *last_words, words);
        last_words = words;
        last_expected = expected;
        last_tokens = count;
        found.steps.push_back(step);
    }
    if (answers.empty()) return found;
    const HeuristicAnswer largest = answers.back().answer;
    found.remedies.push_back(library_remedy("the algorithm of the most tokens, pinned", library, answers, sample,
                                            [&](HeuristicAnswer& answer) { answer = largest; }));
    found.remedies.push_back(
        library_remedy("split 1, else as chosen", library, answers, sample, [](HeuristicAnswer& answer) {
            answer.split = 1;
            answer.reduction = 0;
        }));
    found.remedies.push_back(own_kernel(device, answers, sample));
    return found;
}

std::optional<SmallestChange> smallest_change(Library& library, const Invariance& found) {
    if (!found.first) return std::nullopt;
    SmallestChange smallest{found.features, found.k, *found.first, 0};
    // Token 0's first output that differs, or nothing.
    const auto change_of = [&](std::int64_t features, std::int64_t k, std::int64_t fewer, std::int64_t more) {
        LibraryProblem p{found.type, "TN", features, fewer, k};
        const LibraryProblem q{found.type, "TN", features, more, k};
        std::optional<CounterExample> change;
        if (fewer >= more || !library.ask(p) || !library.ask(q)) return change;
        LibraryProblem one = p;
        one.n = 1;
        const ProblemSample sample = sample_of(one, InputSet::spread);
        const auto before = library.run(p, sample);
        const auto after = library.run(q, sample);
        smallest.runs += 2;
        const auto [x, y] = std::mismatch(before.begin(), before.end(), after.begin());
        if (x == before.end()) return change;
        change = CounterExample{fewer, more, sample.rows[static_cast<std::size_t>(x - before.begin())], {*x, *y}};
        return change;
    };
    constexpr int most_runs = 400;
    for (bool smaller = true; smaller && smallest.runs < most_runs;) {
        smaller = false;
        const auto [features, k, change, runs] = smallest;
        const std::int64_t middle = change.shape + (change.against - change.shape) / 2;
        const struct {
            std::int64_t features, k, fewer, more;
        } trials[] = {{features / 2, k, change.shape, change.against},
                      {features, k / 2, change.shape, change.against},
                      {features, k, change.shape, middle},
                      {features, k, middle, change.against},
                      {features, k, change.shape / 2, change.against / 2},
                      {features, k, change.shape, change.against - 1},
                      {features, k, change.shape - 1, change.against - 1}};
        for (const auto& trial : trials) {
            const bool less = trial.features * trial.k * trial.more < features * k * change.against;
            if (smaller || !less || trial.features < 1 || trial.k < 1 || trial.fewer < 1) continue;
            if (const auto still = change_of(trial.features, trial.k, trial.fewer, trial.more)) {
                smallest.features = trial.features;
                smallest.k = trial.k;
                smallest.change = *still;
                smaller = true;
            }
        }
    }
    return smallest;
}

}  // namespace ulp::gpu
