// sweep_pairs: every pair of fp16 and of bf16 through add, multiply, divide and remainder, in one command
// (tests/softfloat/sweep/program.hpp tells the options).
#include "softfloat/names.hpp"
#include "tests/softfloat/sweep/pairs.hpp"
#include "tests/softfloat/sweep/program.hpp"

namespace ulp::sweep {
namespace {

constexpr int rows_in_chunk = 16;  // 2^20 pairs
static_assert(rows_in_chunk * row_length == cases_in_chunk);

Difference check_chunk(const FloatFormat& format, Operation operation, int chunk) {
    Difference total;
#pragma omp parallel for schedule(dynamic)
    for (int row = 0; row < rows_in_chunk; ++row) {
        const auto a = static_cast<std::uint16_t>(chunk * rows_in_chunk + row);
        Row got, expected;
        Difference found;
        reference_row(format, operation, a, expected);
        plain_row(format, operation, a, got);
        compare_rows(format, a, got, expected, found);
        check_sample(format, operation, a, got, found);
        if (operator_row(format, operation, a, got)) compare_rows(format, a, got, expected, found);
        if (context_row(format, operation, a, got)) compare_rows(format, a, got, expected, found);
#pragma omp critical
        {
            if (total.count == 0) total.first = found.first;
            total.count += found.count;
        }
    }
    return total;
}

std::vector<Task> tasks() {
    std::vector<Task> list;
    for (const char* name : {"fp16", "bf16"}) {
        const FloatFormat format = format_by_name(name);
        for (const Operation operation : operations) {
            list.push_back({name + std::string(" ") + std::string(name_of(operation)), "pairs",
                            "the " + reference_name(format, operation),
                            [=](int chunk) { return check_chunk(format, operation, chunk); }});
        }
    }
    return list;
}

}  // namespace
}  // namespace ulp::sweep

int main(int argc, char** argv) {
    return ulp::sweep::run_program("sweep_pairs",
                                   "all 2^32 pairs of fp16 and of bf16 through the plain definitions, the operators "
                                   "and the operations with a Context",
                                   ulp::sweep::tasks(), argc, argv);
}
