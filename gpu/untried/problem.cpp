#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

#include "engine/files/whole_file.hpp"
#include "gpu/instructions/input_classes.hpp"
#include "gpu/untried/library.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/support/read_number.hpp"

namespace ulp::gpu {
namespace {

/// Numbers from a seed, the same on any machine.
class ProblemDraw {
  public:
    explicit ProblemDraw(std::uint64_t seed) : state_(mix(seed)) {}
    /// In [low, high].
    std::int64_t uniform(std::int64_t low, std::int64_t high) {
        state_ = mix(state_);
        return low + static_cast<std::int64_t>((state_ >> 20) % static_cast<std::uint64_t>(high - low + 1));
    }
    /// In [1, 2^bits], its binade uniform.
    std::int64_t log_uniform(int bits) {
        const std::int64_t least = std::int64_t{1} << uniform(0, bits - 1);
        return uniform(least, 2 * least);
    }

  private:
    std::uint64_t state_;
};

void draw_extents(ProblemDraw& draw, LibraryProblem& p) {
    const std::int64_t kind = draw.uniform(0, 9);
    if (kind < 6) {
        p.m = draw.uniform(1, 8192);
        p.n = draw.uniform(1, 8192);
        p.k = draw.uniform(1, 8192);
        return;
    }
    if (kind < 9) {
        p.m = draw.uniform(1, 256);
        p.n = draw.uniform(1, 256);
        p.k = draw.uniform(1, 400'000);
        return;
    }
    p.m = draw.log_uniform(13);
    p.n = draw.log_uniform(13);
    p.k = draw.log_uniform(17);
    const std::int64_t thin = draw.uniform(0, 5);
    if (thin == 0) p.m = 1;
    if (thin == 1) p.n = 1;
}

std::vector<std::string_view> fields_of(std::string_view line) {
    std::vector<std::string_view> fields;
    while (true) {
        const std::size_t comma = line.find(',');
        fields.push_back(line.substr(0, comma));
        if (comma == std::string_view::npos) return fields;
        line.remove_prefix(comma + 1);
    }
}

std::int64_t extent_of(std::string_view text, const char* name, const std::string& where,
                       std::int64_t most = largest_extent) {
    const auto value = read_number<std::int64_t>(text);
    if (value && *value >= 1 && *value <= most) return *value;
    throw DataError(fmt::format("{}{} is '{}'; give a whole number from 1 to {}", where, name, text, most));
}

float factor_of(std::string_view text, const char* name, const std::string& where) {
    const auto value = read_number<float>(text);
    if (value && std::isfinite(*value)) return *value;
    throw DataError(fmt::format("{}{} is '{}'; give a finite number", where, name, text));
}

/// `most` of 0 ... count - 1 or all: the first, the last and drawn ones between, ascending.
std::vector<std::int64_t> places(std::int64_t count, std::int64_t most, std::uint64_t seed) {
    std::vector<std::int64_t> chosen;
    if (count <= most) {
        for (std::int64_t i = 0; i < count; ++i) chosen.push_back(i);
        return chosen;
    }
    ProblemDraw draw(seed);
    chosen = {0, count - 1};
    while (static_cast<std::int64_t>(chosen.size()) < most) {
        const std::int64_t place = draw.uniform(0, count - 1);
        if (std::find(chosen.begin(), chosen.end(), place) == chosen.end()) chosen.push_back(place);
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen;
}

std::uint32_t sample_code(Element element, InputSet set, const InputPlace& place) {
    const FloatFormat format = format_of(element);
    const bool flat = set == InputSet::flat;
    const int low = std::max(format.emin(), flat ? -4 : -20) + format.bias;
    const int high = std::min(format.emax(), flat ? -1 : 6) + format.bias;
    return static_cast<std::uint32_t>(float_with_exponent(format, InputRandom(place.random()), low, high));
}

std::vector<std::uint32_t> sample_codes(Element element, InputSet set, OperandName name,
                                        const std::vector<std::int64_t>& lines, std::int64_t length) {
    std::vector<std::uint32_t> codes;
    codes.reserve(lines.size() * static_cast<std::size_t>(length));
    for (const std::int64_t line : lines) {
        for (std::int64_t i = 0; i < length; ++i) {
            codes.push_back(sample_code(element, set,
                                        {2026, name, static_cast<std::uint64_t>(line), static_cast<std::uint64_t>(i)}));
        }
    }
    return codes;
}

/// Of a sample's rows and of its columns.
std::int64_t most_lines(const LibraryProblem& p) {
    constexpr double all_below = 1 << 24;
    const double products = static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
    return products <= all_below ? largest_extent : 8;
}

}  // namespace

const std::vector<ProblemType>& problem_types() {
    using enum Element;
    static const std::vector<ProblemType> table{
        {"fp16", fp16, fp16, fp32, fp32},
        {"fp16_d16", fp16, fp16, fp32, fp16},
        {"bf16", bf16, bf16, fp32, fp32},
        {"bf16_d16", bf16, bf16, fp32, bf16},
        {"tf32", tf32, tf32, fp32, fp32},
        {"fp16_fp16", fp16, fp16, fp16, fp16},
        {"fp32", fp32, fp32, fp32, fp32},
        {"e4m3", e4m3, e4m3, fp32, fp32},
        {"e4m3_slow", e4m3, e4m3, fp32, fp32, false},
        {"e5m2", e5m2, e4m3, fp32, fp32},
    };
    return table;
}

const ProblemType& problem_type(std::string_view name) {
    std::string names;
    for (const ProblemType& row : problem_types()) {
        if (row.name == name) return row;
        names += (names.empty() ? "" : ", ") + std::string(row.name);
    }
    throw std::invalid_argument(fmt::format("there is no type of product '{}'; choose one of {}", name, names));
}

std::string LibraryProblem::text() const {
    return fmt::format("{},{},{},{},{},{},{}{}", type->name, layout, m, n, k, alpha, beta,
                       batch == 1 ? "" : fmt::format(",{}", batch));
}

std::vector<LibraryProblem> draw_problems(std::uint64_t seed, int count) {
    // Eight kinds of operands alike often; fp16 and bf16 with a narrow D as often as with fp32.
    static constexpr std::string_view kinds[] = {"fp16", "bf16", "tf32",      "fp16_fp16",
                                                 "fp32", "e4m3", "e4m3_slow", "e5m2"};
    ProblemDraw draw(seed);
    std::vector<LibraryProblem> problems;
    for (int i = 0; i < count; ++i) {
        LibraryProblem p;
        std::string kind(kinds[draw.uniform(0, 7)]);
        const bool narrow = draw.uniform(0, 1) == 1;
        if (narrow && (kind == "fp16" || kind == "bf16")) kind += "_d16";
        p.type = &problem_type(kind);
        p.layout = problem_layouts[draw.uniform(0, 3)];
        draw_extents(draw, p);
        if (draw.uniform(0, 9) == 0) p.alpha = 0.5F;
        if (draw.uniform(0, 9) == 0) p.beta = 1;
        if (bits_of(p.type->a) == 8) {
            p.layout = "TN";
            for (std::int64_t* extent : {&p.m, &p.n, &p.k}) *extent = (*extent + 15) / 16 * 16;
        }
        constexpr std::int64_t small = std::int64_t{1} << 22;
        const bool fits = p.m * p.n <= small && p.m * p.k <= small && p.n * p.k <= small;
        if (fits && draw.uniform(0, 1) == 0) p.batch = draw.uniform(2, 8);
        problems.push_back(p);
    }
    return problems;
}

LibraryProblem problem_of(std::string_view line, const std::string& where) {
    const auto fields = fields_of(line);
    if (fields.size() != 7 && fields.size() != 8) {
        throw DataError(
            fmt::format("{}{} fields stand in the line instead of 7 or 8: type,layout,m,n,k,alpha,beta and batch",
                        where, fields.size()));
    }
    LibraryProblem p;
    try {
        p.type = &problem_type(fields[0]);
    } catch (const std::invalid_argument& error) {
        throw DataError(where + error.what());
    }
    p.layout = std::string(fields[1]);
    if (std::find(std::begin(problem_layouts), std::end(problem_layouts), fields[1]) == std::end(problem_layouts)) {
        throw DataError(fmt::format("{}there is no layout '{}'; choose NN, NT, TN or TT", where, fields[1]));
    }
    p.m = extent_of(fields[2], "m", where);
    p.n = extent_of(fields[3], "n", where);
    p.k = extent_of(fields[4], "k", where);
    p.alpha = factor_of(fields[5], "alpha", where);
    p.beta = factor_of(fields[6], "beta", where);
    if (fields.size() == 8) p.batch = extent_of(fields[7], "batch", where, largest_batch);
    return p;
}

std::vector<LibraryProblem> read_problems(const std::filesystem::path& path) {
    std::istringstream text(read_whole_file(path));
    std::vector<LibraryProblem> problems;
    int number = 0;
    for (std::string line; std::getline(text, line);) {
        ++number;
        if (line.ends_with('\r')) line.pop_back();  // lines as some editors end them
        if (line.empty() || line[0] == '#' || line == "type,layout,m,n,k,alpha,beta") continue;
        problems.push_back(problem_of(line, fmt::format("{}:{}: ", path.string(), number)));
    }
    if (problems.empty()) throw DataError(path.string() + ": holds no shape; draw some with `ulplab gpu shapes`");
    return problems;
}

std::string problems_text(const std::vector<LibraryProblem>& problems, std::uint64_t seed) {
    std::string text = fmt::format("# {} shapes, seed {}\ntype,layout,m,n,k,alpha,beta\n", problems.size(), seed);
    for (const LibraryProblem& p : problems) text += p.text() + "\n";
    return text;
}

bool looks_at_all(const LibraryProblem& p) { return p.batch == 1 && std::max(p.m, p.n) <= most_lines(p); }

ProblemSample sample_of(const LibraryProblem& p, InputSet set) {
    const std::int64_t most = most_lines(p);
    ProblemSample sample;
    sample.rows = places(p.m, most, 1);
    sample.columns = places(p.n, most, 2);
    sample.a = sample_codes(p.type->a, set, OperandName::a, sample.rows, p.k);
    sample.b = sample_codes(p.type->b, set, OperandName::b, sample.columns, p.k);
    if (p.beta == 0) return sample;
    for (const std::int64_t row : sample.rows) {
        for (const std::int64_t column : sample.columns) {
            sample.c.push_back(sample_code(
                p.type->d, set,
                {2026, OperandName::c, static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(column)}));
        }
    }
    return sample;
}

}  // namespace ulp::gpu
