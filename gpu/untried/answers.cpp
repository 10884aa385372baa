#include "gpu/untried/answers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "engine/files/whole_file.hpp"
#include "gpu/instructions/instruction.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/support/read_number.hpp"

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
std::string order_class(const LibraryKernel& kernel) {
    return fmt::format("{} {} {} {}", kernel.unit, kernel.order.tile_k, kernel.order.promote_every,
                       static_cast<int>(kernel.merge));
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
    std::optional<LibraryKernel> first;
    bool point = true;
    for (const std::size_t i : {m->first, m->second}) {
        for (const std::size_t j : {n->first, n->second}) {
            for (const std::size_t l : {k->first, k->second}) {
                const std::size_t at = (i * grid_.outputs.size() + j) * grid_.depths.size() + l;
                KernelPlan plan = plan_of_offer(tuples_[static_cast<std::size_t>(answers[at])], p);
                if (std::holds_alternative<Declined>(plan)) return plan;
                const auto& kernel = std::get<LibraryKernel>(plan);
                if (first && order_class(*first) != order_class(kernel)) {
                    return Declined{"the neighbours in the stored grid add in different orders"};
                }
                point = point && (!first || *first == kernel);
                first = kernel;
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

// Stored answers as text, both ways.

namespace {

/// "0*9 1*18"
std::string run_lengths(const std::vector<int>& numbers) {
    std::string text;
    for (std::size_t first = 0; first < numbers.size();) {
        std::size_t last = first;
        while (last < numbers.size() && numbers[last] == numbers[first]) ++last;
        text += fmt::format(" {}*{}", numbers[first], last - first);
        first = last;
    }
    return text;
}

/// Lines of a file of answers, with its faults told by place.
class AnswerLines {
  public:
    explicit AnswerLines(const std::filesystem::path& path) : path_(path), text_(read_whole_file(path)) {}

    [[noreturn]] void fail(const std::string& what) const { throw DataError(where() + what); }
    [[nodiscard]] std::string where() const { return fmt::format("{}:{}: ", path_.string(), number_); }

    std::string line() {
        std::string line;
        ++number_;
        if (!std::getline(text_, line)) fail("the file ends here; it is cut off");
        return line;
    }
    /// What follows "keyword " in the next line.
    std::string after(const std::string& keyword) {
        const std::string text = line();
        if (text.starts_with(keyword + " ")) return text.substr(keyword.size() + 1);
        fail(fmt::format("'{}' stands where '{}' belongs", text.substr(0, 40), keyword));
    }
    template <class Number>
    Number number(std::string_view text, Number least, Number most) const {
        const std::optional<Number> value = read_number<Number>(text);
        if (value && *value >= least && *value <= most) return *value;
        fail(fmt::format("'{}' is not a number from {} to {}", text.substr(0, 40), least, most));
    }

  private:
    std::filesystem::path path_;
    std::istringstream text_;
    int number_ = 0;
};

constexpr std::size_t most_rows = 20'000'000;

std::vector<std::int64_t> sizes_of(const AnswerLines& in, std::istringstream& text) {
    std::vector<std::int64_t> sizes;
    for (std::string word; text >> word && word != ";";) {
        sizes.push_back(in.number<std::int64_t>(word, 1, largest_extent));
        if (sizes.size() > 1 && sizes.back() <= sizes[sizes.size() - 2]) in.fail("the grid's sizes do not ascend");
    }
    return sizes;
}

std::vector<int> numbers_of(const AnswerLines& in, std::istringstream& text, std::size_t expected, int tuples) {
    std::vector<int> numbers;
    for (std::string run; text >> run;) {
        const std::size_t star = run.find('*');
        if (star == std::string::npos) in.fail(fmt::format("'{}' is not NUMBER*COUNT", run));
        const int number = in.number<int>(std::string_view(run).substr(0, star), 0, tuples - 1);
        const auto count = in.number<std::size_t>(std::string_view(run).substr(star + 1), 1, expected);
        if (numbers.size() + count > expected) in.fail(fmt::format("the class has more than {} answers", expected));
        numbers.insert(numbers.end(), count, number);
    }
    if (numbers.size() != expected)
        in.fail(fmt::format("the class has {} answers instead of {}", numbers.size(), expected));
    return numbers;
}

}  // namespace

std::string StoredAnswers::text() const {
    std::string text =
        fmt::format("ulplab cublas answers 1\nsource {}\ngpu {}\narchitecture {}\ncublas {}\nworkspace {}\ntuples {}\n",
                    info.hardware ? "hardware" : "software", info.gpu, architecture_name(info.architecture),
                    info.version, library_workspace, tuples_.size());
    for (const Offer& offer : tuples_) text += (offer ? offer->text() : "-") + "\n";
    text += fmt::format("shapes {}\n", shapes_.size());
    for (const auto& [problem, number] : shapes_) text += fmt::format("{} {}\n", problem, number);
    text += fmt::format("grid {} ; {}\n", fmt::join(grid_.outputs, " "), fmt::join(grid_.depths, " "));
    for (const auto& [key, numbers] : classes_) text += "class " + key + run_lengths(numbers) + "\n";
    return text + "end\n";
}

StoredAnswers StoredAnswers::read(const std::filesystem::path& path) {
    AnswerLines in(path);
    StoredAnswers stored;
    if (in.line() != "ulplab cublas answers 1") in.fail("this is no 'ulplab cublas answers 1'");
    const std::string source = in.after("source");
    if (source != "hardware" && source != "software") in.fail("the source is neither hardware nor software");
    stored.info.hardware = source == "hardware";
    stored.info.gpu = in.after("gpu");
    const std::string architecture = in.after("architecture");
    if (!architecture.starts_with("sm_")) in.fail("the architecture does not look like sm_90");
    stored.info.architecture = in.number<int>(std::string_view(architecture).substr(3), 1, 10'000);
    stored.info.version = in.after("cublas");
    if (in.after("workspace") != std::to_string(library_workspace)) {
        in.fail(fmt::format("the answers are for another workspace than {} bytes; ask again", library_workspace));
    }
    const auto tuples = in.number<std::size_t>(in.after("tuples"), 0, most_rows);
    for (std::size_t i = 0; i < tuples; ++i) {
        const std::string line = in.line();
        const Offer offer = line == "-" ? Offer{} : Offer{heuristic_answer_of(line, in.where())};
        if (stored.number_of(offer) != static_cast<int>(i)) in.fail("the answer stands twice");
    }
    const auto shapes = in.number<std::size_t>(in.after("shapes"), 0, most_rows);
    for (std::size_t i = 0; i < shapes; ++i) {
        const std::string line = in.line();
        const std::size_t space = line.rfind(' ');
        if (space == std::string::npos) in.fail("no number of an answer follows the shape");
        const LibraryProblem p = problem_of(std::string_view(line).substr(0, space), in.where());
        stored.shapes_[p.text()] =
            in.number<int>(std::string_view(line).substr(space + 1), 0, static_cast<int>(tuples) - 1);
    }
    std::istringstream grid(in.after("grid"));
    stored.grid_.outputs = sizes_of(in, grid);
    stored.grid_.depths = sizes_of(in, grid);
    const std::size_t points = stored.grid_.outputs.size() * stored.grid_.outputs.size() * stored.grid_.depths.size();
    for (std::string line = in.line(); line != "end"; line = in.line()) {
        std::istringstream words(line);
        std::string keyword, type, layout, m, n, k;
        if (!(words >> keyword >> type >> layout >> m >> n >> k) || keyword != "class") {
            in.fail("neither a class (type, layout, three alignments, answers) nor 'end' stands here");
        }
        stored.classes_[fmt::format("{} {} {} {} {}", type, layout, m, n, k)] =
            numbers_of(in, words, points, static_cast<int>(tuples));
    }
    return stored;
}

}  // namespace ulp::gpu
