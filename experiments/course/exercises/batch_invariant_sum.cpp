// Exercise: sums of rows whose bits do not depend on how many rows are in the batch.
#include "experiments/course/exercises/common.hpp"
#include "softfloat/matrix_units/product.hpp"

namespace ulp::course {
namespace {

constexpr std::string_view name = "batch_invariant_sum";
constexpr std::size_t head = 3;  // rows, columns, workers; then the numbers
constexpr int chunk_columns = 8;

/// The product of the row with ones, pieces of k summed for themselves and added in pairs.
float right_sum(const std::vector<float>& row) {
    const TensorCoreModel unit{.a_format = formats::fp32,
                               .b_format = formats::fp32,
                               .summation = Summation::fma_chain,
                               .instruction_k = 1,
                               .group_size = 1,
                               .rounding = Rounding::nearest_even};
    const auto n = static_cast<std::int64_t>(row.size());
    const std::vector<float> ones(row.size(), 1);
    float sum = 0;
    soft_product(unit, {.piece_k = chunk_columns, .reduction = SumOrder::pairwise},
                 {{row.data(), 1, n}, {ones.data(), n, 1}, {}, {&sum, 1, 1}});
    return sum;
}

float own_sum(const std::vector<float>& row, std::size_t chunk, std::string_view mistake) {
    if (mistake == "in_double") {
        double sum = 0;
        for (const float x : row) sum += static_cast<double>(x);
        return static_cast<float>(sum);
    }
    const std::size_t chunks = (row.size() + chunk - 1) / chunk;
    std::vector<float> parts(chunks, 0.F);
    for (std::size_t i = 0; i < row.size(); ++i) parts[mistake == "strided" ? i % chunks : i / chunk] += row[i];
    if (mistake == "tail_dropped" && row.size() % chunk != 0) parts.pop_back();
    if (parts.empty()) return 0;
    while (parts.size() > 1) {
        if (mistake == "chunks_in_order") {
            parts[0] += parts[1];
            parts.erase(parts.begin() + 1);
            continue;
        }
        std::vector<float> pairs;
        for (std::size_t i = 0; i + 1 < parts.size(); i += 2) pairs.push_back(parts[i] + parts[i + 1]);
        if (parts.size() % 2 == 1) pairs.push_back(parts.back());
        parts = pairs;
    }
    return parts[0];
}

Words solve(const Words& question, std::string_view mistake) {
    const std::size_t rows = question[0];
    const std::size_t columns = question[1];
    const std::size_t workers = question[2];
    std::size_t chunk = chunk_columns;
    const std::size_t pieces = rows < workers ? workers / rows : 1;
    if (mistake == "split_by_batch") chunk = (columns + pieces - 1) / pieces;
    if (mistake == "one_by_one") chunk = columns;
    float kept = 0;
    Words answer;
    for (std::size_t r = 0; r < rows; ++r) {
        std::vector<float> row;
        for (std::size_t i = 0; i < columns; ++i) row.push_back(single(question[head + r * columns + i]));
        const float sum = mistake.empty() ? right_sum(row) : own_sum(row, chunk, mistake);
        kept += sum;
        answer.push_back(bits(mistake == "accumulator_kept" ? kept : sum));
    }
    return answer;
}

Words question_of(Random& random, Word rows, Word columns, Word workers, bool whole) {
    Words question{rows, columns, workers};
    for (Word i = 0; i < rows * columns; ++i) {
        const Word word = random_single(random, -6, 3);
        question.push_back(whole ? bits(static_cast<float>(random.between(-40, 40))) : word);
    }
    return question;
}

std::vector<Group> hidden(std::uint64_t seed) {
    const Ideas ideas(name, seed);
    const auto between = [](Random& r, int low, int high) { return static_cast<Word>(r.between(low, high)); };
    return {ideas.group("numbers that add exactly", 1, {}, 30,
                        [&](Random& r) { return question_of(r, 1, 8 * between(r, 1, 5), between(r, 1, 16), true); }),
            ideas.group("rows apart, and the last chunk", 1, {"accumulator_kept", "tail_dropped"}, 30,
                        [&](Random& r) {
                            return question_of(r, between(r, 2, 4), between(r, 9, 40), between(r, 1, 16), true);
                        }),
            ideas.group("one order in every batch", 2,
                        {"split_by_batch", "one_by_one", "strided", "in_double", "accumulator_kept"}, 60,
                        [&](Random& r) { return question_of(r, between(r, 1, 4), 16, between(r, 1, 16), false); }),
            ideas.group("chunks in a tree", 1, {"chunks_in_order", "one_by_one", "strided", "in_double"}, 40,
                        [&](Random& r) {
                            const Word chunks = between(r, 4, 7);
                            return question_of(r, 1, 8 * chunks, chunks, false);
                        })};
}

}  // namespace

Exercise batch_invariant_sum_exercise() {
    return {name,
            "A batch-invariant sum",
            "iiis",
            "s",
            {{"split_by_batch", "splits a row by the number of rows and workers: its bits depend on the batch"},
             {"one_by_one", "adds a whole row one by one; it is cut into chunks of 8"},
             {"strided", "gives a chunk every n-th column instead of neighbours"},
             {"in_double", "adds in double and rounds once: independent of the batch, but not the order asked for"},
             {"chunks_in_order", "adds the chunks' sums one after the other; they are added in pairs"},
             {"accumulator_kept", "does not begin each row at zero"},
             {"tail_dropped", "leaves out the last chunk where it is not full"}},
            solve,
            hidden,
            "rows! columns! workers! x[1000000]",
            "sums[rows]",
            {},
            true};
}

}  // namespace ulp::course
