// Exercise: the operation that made the first infinity or NaN, and why.
#include <cmath>

#include "experiments/course/exercises/common.hpp"

namespace ulp::course {
namespace {

constexpr std::string_view name = "find_nan";
constexpr std::size_t words_an_operation = 4;  // operation, a, b, result

enum Operation : Word { add, subtract, multiply, divide, square_root };
enum Cause : Word { none, bad_operand, overflow, division_by_zero, invalid };

struct Computed {
    Word result;
    unsigned flags;
};
Computed compute(Word operation, Word a, Word b) {
    Context context;
    const auto& half = formats::fp16;
    std::uint64_t result = 0;
    switch (operation) {
        case add: result = add_bits<std::uint64_t>(half, a, b, context); break;
        case subtract: result = subtract_bits<std::uint64_t>(half, a, b, context); break;
        case multiply: result = multiply_bits<std::uint64_t>(half, a, b, context); break;
        case divide: result = divide_bits<std::uint64_t>(half, a, b, context); break;
        default: result = sqrt_bits<std::uint64_t>(half, a, context); break;
    }
    return {static_cast<Word>(result), context.flags};
}

bool finite(Word value) { return std::isfinite(single(value)); }

Word cause_of(const Words& question, std::size_t at, std::string_view mistake) {
    const Word operation = question[at];
    const Word a = question[at + 1];
    const Word b = question[at + 2];
    if (!finite(a) || (operation != square_root && !finite(b))) return bad_operand;
    const unsigned flags = compute(operation, half_of(a), half_of(b)).flags;
    const bool by_zero = operation == divide && single(b) == 0;
    if (mistake == "zero_by_zero" && by_zero) return division_by_zero;
    if (mistake == "overflow_always") return overflow;
    if ((flags & flag::invalid) != 0) return invalid;
    return (flags & flag::divide_by_zero) != 0 ? division_by_zero : overflow;
}

Words solve(const Words& question, std::string_view mistake) {
    const Word no_index = 0xFFFFFFFF;
    Words answer{no_index, none};
    for (std::size_t at = 0; at + words_an_operation <= question.size(); at += words_an_operation) {
        const float result = single(question[at + 3]);
        bool bad = !std::isfinite(result);
        if (mistake == "nan_only") bad = std::isnan(result);
        if (mistake == "infinity_only") bad = std::isinf(result);
        if (!bad) continue;
        answer = {static_cast<Word>(at / words_an_operation), cause_of(question, at, mistake)};
        if (mistake != "last") break;
    }
    return answer;
}

/// Operations on earlier results, with one that goes wrong at the end, or in the middle.
Words trace(Random& random, Word cause, bool continues = false) {
    Words pool{0x3C00, 0x4000, random_half(random, 12, 17), random_half(random, 12, 17)};
    Words question;
    const auto record = [&](Word operation, Word a, Word b) {
        const Word result = compute(operation, a, b).result;
        for (const Word word : {Word{operation}, widened(a), widened(b), widened(result)}) question.push_back(word);
        pool.push_back(result);
    };
    const auto pick = [&] { return pool[pool.size() - 1 - random.below(std::min<std::size_t>(pool.size(), 6))]; };
    /// Harmless operations only: sums of halves of the pool's first numbers.
    for (auto count = random.between(2, 6); count > 0; --count) {
        record(random.below(2) == 0 ? add : subtract, pool[random.below(4)], pool[random.below(4)]);
    }
    switch (cause) {
        case overflow: record(multiply, random_half(random, 25, 30), random_half(random, 25, 30)); break;
        case division_by_zero: record(divide, pool[random.below(4)], random.below(2) == 0 ? 0 : 0x8000); break;
        case invalid:
            if (random.below(2) == 0) {
                record(divide, 0, random.below(2) == 0 ? 0 : 0x8000);
            } else {
                record(square_root, random_half(random, 10, 20) | 0x8000, 0);
            }
            break;
        case bad_operand: record(add, pool[random.below(4)], random.below(2) == 0 ? 0x7C00 : 0x7E00); break;
        default: return question;
    }
    for (auto count = continues ? random.between(2, 8) : 0; count > 0; --count) {
        record(static_cast<Word>(random.below(3)), pick(), pick());
    }
    return question;
}

std::vector<Group> hidden(std::uint64_t seed) {
    const Ideas ideas(name, seed);
    const auto group = [&](const char* title, std::vector<std::string_view> catches, Word cause) {
        return ideas.group(title, 1, std::move(catches), 60, [&](Random& r) { return trace(r, cause); });
    };
    return {group("overflows", {"nan_only"}, overflow),
            group("divisions by zero", {"nan_only", "overflow_always"}, division_by_zero),
            group("invalid operations", {"infinity_only", "overflow_always", "zero_by_zero"}, invalid),
            group("bad operands", {"nan_only", "infinity_only"}, bad_operand),
            ideas.group("the first of several, or none", 1, {"last", "nan_only"}, 100,
                        [](Random& r) { return trace(r, r.below(3) == 0 ? Word{none} : Word{overflow}, true); })};
}

}  // namespace

Exercise find_nan_exercise() {
    return {name,
            "Find the NaN",
            "(isss)",
            "i",
            {{"nan_only", "looks for NaN only: the infinity that it was made from came earlier"},
             {"infinity_only", "looks for infinities only: a NaN can come first"},
             {"last", "reports the last bad operation; the first one is the cause"},
             {"zero_by_zero", "calls 0/0 a division by zero; it is an invalid operation"},
             {"overflow_always", "calls every cause an overflow"}},
            solve,
            hidden,
            "operation(kind! a! b! result!)",
            "index cause",
            {},
            true};
}

}  // namespace ulp::course
