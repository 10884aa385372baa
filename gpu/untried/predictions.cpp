#include <fmt/format.h>

#include <sstream>

#include "engine/files/sha256.hpp"
#include "engine/files/whole_file.hpp"
#include "gpu/instructions/input_classes.hpp"
#include "gpu/instructions/instruction.hpp"
#include "gpu/untried/judgement.hpp"
#include "softfloat/errors.hpp"

namespace ulp::gpu {
namespace {

constexpr std::string_view prediction_title = "# ulplab predictions 2";
constexpr std::string_view prediction_columns =
    "type,layout,m,n,k,alpha,beta;answer;order;flat;spread;mutants;declined";

/// SHA-256 of the rows' problems, a line each.
std::string digest_of_problems(const std::vector<Prediction>& rows) {
    std::string text;
    for (const Prediction& row : rows) text += row.problem.text() + "\n";
    return sha256_of(text);
}

std::vector<std::string> parts_of(const std::string& line) {
    std::vector<std::string> parts;
    std::istringstream text(line);
    for (std::string part; std::getline(text, part, ';');) parts.push_back(part);
    if (!line.empty() && line.back() == ';') parts.emplace_back();
    return parts;
}

std::string field(std::istringstream& text, const std::string& key, const std::filesystem::path& path) {
    std::string line;
    const std::string start = "# " + key + " ";
    if (std::getline(text, line) && line.starts_with(start)) return line.substr(start.size());
    throw DataError(
        fmt::format("{}: '{}' stands where '{}...' belongs; predict again", path.string(), line.substr(0, 40), start));
}

std::uint64_t digest_of_text(const std::string& text, const std::string& where) {
    std::size_t used = 0;
    std::uint64_t value = 0;
    try {
        value = std::stoull(text, &used, 16);
    } catch (const std::exception&) {
        used = 0;
    }
    if (used != text.size() || text.size() != 16) {
        throw DataError(fmt::format("{}'{}' is not a digest of 16 hexadecimal digits", where, text));
    }
    return value;
}

Prediction row_of(const std::string& line, const std::string& where) {
    const auto parts = parts_of(line);
    if (parts.size() != 7) {
        throw DataError(
            fmt::format("{}{} parts between semicolons instead of 7: {}", where, parts.size(), prediction_columns));
    }
    Prediction row;
    row.problem = problem_of(parts[0], where);
    row.answer = parts[1];
    row.order = parts[2];
    row.declined = parts[6];
    if (row.answer != "-") heuristic_answer_of(row.answer, where);
    if (row.order.empty() == row.declined.empty()) {
        throw DataError(where + "a row has an order or a reason why there is none, not both or neither");
    }
    if (!row.declined.empty()) return row;
    for (std::size_t i = 0; i < row.digests.size(); ++i) row.digests[i] = digest_of_text(parts[3 + i], where);
    if (parts[5].size() != 1 || parts[5][0] < '0' || parts[5][0] > '3') {
        throw DataError(fmt::format("{}'{}' is no count of mutants from 0 to 3", where, parts[5]));
    }
    row.mutants_found = parts[5][0] - '0';
    return row;
}

}  // namespace

Prediction predicted(const LibraryProblem& problem, const KernelPlan& plan, const std::string& answer) {
    Prediction row;
    row.problem = problem;
    row.answer = answer;
    if (const auto* declined = std::get_if<Declined>(&plan)) {
        row.declined = declined->reason;
        return row;
    }
    const auto& kernel = std::get<LibraryKernel>(plan);
    row.order = kernel.text();
    ProblemSample sample;
    for (std::size_t i = 0; i < row.digests.size(); ++i) {
        sample = sample_of(problem, input_sets[i]);
        row.digests[i] = digest(ordered_product(kernel, problem, sample));
    }
    for (const LibraryKernel& mutant : mutants_of(kernel, problem)) {
        row.mutants_found += digest(ordered_product(mutant, problem, sample)) != row.digests.back() ? 1 : 0;
    }
    return row;
}

std::string predictions_text(const PredictionFile& file) {
    std::string text = fmt::format(
        "{}\n# source {}\n# gpu {}\n# architecture {}\n# cublas {}\n# program {}\n# shapes {}\n# answers {}\n"
        "# rows {}\n{}\n",
        prediction_title, file.info.hardware ? "hardware" : "software", file.info.gpu,
        architecture_name(file.info.architecture), file.info.version, file.program, file.shapes_digest,
        file.answers_digest, digest_of_problems(file.rows), prediction_columns);
    for (const Prediction& row : file.rows) {
        text += fmt::format("{};{};{};", row.problem.text(), row.answer, row.order);
        text += row.declined.empty()
                    ? fmt::format("{:016X};{:016X};{};", row.digests[0], row.digests[1], row.mutants_found)
                    : ";;;" + row.declined;
        text += '\n';
    }
    return text;
}

PredictionFile read_predictions(const std::filesystem::path& path) {
    std::istringstream text(read_whole_file(path));
    PredictionFile file;
    std::string line;
    if (!std::getline(text, line) || line != prediction_title) {
        throw DataError(fmt::format("{}:1: this is no '{}'; write it with `ulplab gpu predict`", path.string(),
                                    prediction_title.substr(2)));
    }
    file.info.hardware = field(text, "source", path) == "hardware";
    file.info.gpu = field(text, "gpu", path);
    const std::string architecture = field(text, "architecture", path);
    file.info.version = field(text, "cublas", path);
    file.program = field(text, "program", path);
    file.shapes_digest = field(text, "shapes", path);
    file.answers_digest = field(text, "answers", path);
    const std::string rows_digest = field(text, "rows", path);
    std::getline(text, line);
    int number = 10;
    if (line != prediction_columns)
        throw DataError(fmt::format("{}:{}: the columns are not {}", path.string(), number, prediction_columns));
    while (std::getline(text, line)) {
        file.rows.push_back(row_of(line, fmt::format("{}:{}: ", path.string(), ++number)));
    }
    if (digest_of_problems(file.rows) != rows_digest) {
        throw DataError(path.string() +
                        ": its shapes are not those that were predicted (their digest differs); predict again");
    }
    if (architecture.starts_with("sm_")) file.info.architecture = std::atoi(architecture.c_str() + 3);
    return file;
}

}  // namespace ulp::gpu
