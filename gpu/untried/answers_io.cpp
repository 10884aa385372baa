// Stored answers as text, both ways.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <sstream>

#include "engine/files/whole_file.hpp"
#include "gpu/instructions/instruction.hpp"
#include "gpu/untried/answers.hpp"
#include "softfloat/errors.hpp"

namespace ulp::gpu {
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
        Number value{};
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error == std::errc{} && end == text.data() + text.size() && value >= least && value <= most) return value;
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
