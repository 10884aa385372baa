// The check itself on trial: fp16 arithmetic with one rule broken at a time. The check that passes the library must
// find every one of these out.
#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "softfloat/float.hpp"
#include "tests/softfloat/cases.hpp"
#include "tests/softfloat/check.hpp"

namespace ulp::test {
namespace {

constexpr FloatFormat format = formats::fp16;
using Bits = std::uint64_t;
/// An implementation of an operation on up to three fp16 words.
using Implementation = std::function<Bits(Bits a, Bits b, Bits c, Context& context)>;

struct Operation {
    std::string name;
    Implementation under_test;
    std::function<Located(const Oracle&, Bits a, Bits b, Bits c, int fraction_bits)> place;
};

using Word = std::uint64_t;
const Operation add{"add", [](Bits a, Bits b, Bits, Context& c) { return add_bits<Word>(format, a, b, c); },
                    [](const Oracle& o, Bits a, Bits b, Bits, int f) { return o.sum<Narrow>(a, b, f); }};
const Operation multiply{"multiply",
                         [](Bits a, Bits b, Bits, Context& c) { return multiply_bits<Word>(format, a, b, c); },
                         [](const Oracle& o, Bits a, Bits b, Bits, int f) { return o.product(a, b, f); }};
const Operation divide{"divide", [](Bits a, Bits b, Bits, Context& c) { return divide_bits<Word>(format, a, b, c); },
                       [](const Oracle& o, Bits a, Bits b, Bits, int f) { return o.quotient(a, b, f); }};
const Operation square_root{"sqrt", [](Bits a, Bits, Bits, Context& c) { return sqrt_bits<Word>(format, a, c); },
                            [](const Oracle& o, Bits a, Bits, Bits, int f) { return o.square_root(a, f); }};
const Operation multiply_add{
    "fma", [](Bits a, Bits b, Bits z, Context& c) { return fma_bits<Word>(format, a, b, z, c); },
    [](const Oracle& o, Bits a, Bits b, Bits c, int f) { return o.fused<Narrow>(a, b, c, f); }};
const Operation remainder{"remainder",
                          [](Bits a, Bits b, Bits, Context& c) { return remainder_bits<Word>(format, a, b, c); },
                          [](const Oracle& o, Bits a, Bits b, Bits, int) { return o.remainder<Narrow>(a, b); }};

/// The check: all triples of edge codes, and random operands.
Mismatches check(const Operation& operation, const Implementation& implementation) {
    const Oracle oracle(format);
    Mismatches found;
    const auto compare = [&](Bits a, Bits b, Bits c) {
        check_modes(found, oracle, operation.place(oracle, a, b, c, 0), {a, b, c},
                    [&](Context& context) { return implementation(a, b, c, context); });
    };
    const auto edges = edge_codes(format);
    for (const Bits a : edges) {
        for (const Bits b : edges) {
            for (const Bits c : edges) compare(a, b, c);
        }
    }
    RandomWords random(51);
    for (int i = 0; i < 3000; ++i) {
        // Quotients lie halfway between two numbers only among the subnormals.
        const bool halve = i % 8 == 0;
        const Bits a = random_code(format, random, random.next()) & (halve ? 0x83FF : 0xFFFF);
        const Bits b = halve ? 0x4000 : random_code(format, random, a);
        Context context;
        compare(a, b, random_code(format, random, multiply_bits<Word>(format, a, b, context)));
    }
    return found;
}

/// The library's answer, changed where `applies` to the operands, the mode and the answer.
using Condition = std::function<bool(Bits a, Bits b, Bits c, const Context& before, const Answer& answer)>;
using Change = std::function<Answer(Bits a, Bits b, Bits c, const Context& before, const Answer& answer)>;
Implementation changed(const Operation& operation, const Condition& applies, const Change& change) {
    return [=](Bits a, Bits b, Bits c, Context& context) {
        const Context before = context;
        const Bits bits = operation.under_test(a, b, c, context);
        const Answer answer{bits, context.flags};
        if (!applies(a, b, c, before, answer)) return bits;
        const Answer wrong = change(a, b, c, before, answer);
        context.flags = wrong.flags;
        return wrong.bits;
    };
}

bool nan(Bits x) { return is_nan(format, x); }
bool infinite(Bits x) { return is_infinity(format, x); }
bool zero(Bits x) { return (x & 0x7FFF) == 0; }
bool subnormal(Bits x) { return !zero(x) && (x & 0x7C00) == 0; }
bool negative(Bits x) { return (x & 0x8000) != 0; }
bool exact(const Answer& answer) { return (answer.flags & flag::inexact) == 0; }

Change bits(Bits wrong) {
    return [=](Bits, Bits, Bits, const Context&, const Answer& answer) { return Answer{wrong, answer.flags}; };
}
Change without(unsigned flags) {
    return [=](Bits, Bits, Bits, const Context&, const Answer& answer) {
        return Answer{answer.bits, answer.flags & ~flags};
    };
}
Change with(unsigned flags) {
    return [=](Bits, Bits, Bits, const Context&, const Answer& answer) {
        return Answer{answer.bits, answer.flags | flags};
    };
}
const Change other_sign = [](Bits, Bits, Bits, const Context&, const Answer& answer) {
    return Answer{answer.bits ^ 0x8000, answer.flags};
};
const Change first_operand = [](Bits a, Bits, Bits, const Context&, const Answer& answer) {
    return Answer{a, answer.flags};
};

/// Rounded to fp32 in between, as implementations through float do.
Implementation twice_rounded_fma() {
    return [](Bits a, Bits b, Bits c, Context& context) {
        Context exact_context;
        const auto wide = [&](Bits x) { return convert_bits(formats::fp32, format, x, exact_context); };
        Context first = context;
        const Bits product = fma_bits<UInt128>(formats::fp32, wide(a), wide(b), wide(c), first);
        const Bits result = convert_bits(format, formats::fp32, product, context);
        context.flags |= first.flags;
        return result;
    };
}

struct Mutant {
    std::string broken_rule;
    const Operation& operation;
    Implementation implementation;
};

std::vector<Mutant> broken_special_values() {
    const auto rule = [](std::string name, const Operation& operation, const Condition& applies, const Change& change) {
        return Mutant{std::move(name), operation, changed(operation, applies, change)};
    };
    using C = const Context&;
    using A = const Answer&;
    return {
        rule(
            "infinity - infinity is invalid", add,
            [](Bits a, Bits b, Bits, C, A) { return infinite(a) && infinite(b) && a != b; }, bits(0x7C00)),
        rule(
            "infinity + infinity is infinity", add, [](Bits a, Bits b, Bits, C, A) { return infinite(a) && a == b; },
            bits(0x7E00)),
        rule(
            "infinity + number keeps its sign", add,
            [](Bits a, Bits b, Bits, C, A) { return infinite(a) && !infinite(b) && !nan(b); }, other_sign),
        rule(
            "0 * infinity is invalid", multiply,
            [](Bits a, Bits b, Bits, C, A) { return (zero(a) && infinite(b)) || (infinite(a) && zero(b)); }, bits(0)),
        rule(
            "0 * infinity raises invalid", multiply,
            [](Bits a, Bits b, Bits, C, A) { return (zero(a) && infinite(b)) || (infinite(a) && zero(b)); },
            without(flag::invalid)),
        rule(
            "the sign of a product of zeros", multiply,
            [](Bits a, Bits b, Bits, C, A) { return zero(a) && !nan(b) && !infinite(b); }, other_sign),
        rule(
            "0 / 0 is invalid", divide, [](Bits a, Bits b, Bits, C, A) { return zero(a) && zero(b); }, bits(0x7C00)),
        rule(
            "infinity / infinity is invalid", divide,
            [](Bits a, Bits b, Bits, C, A) { return infinite(a) && infinite(b); }, bits(0x3C00)),
        rule(
            "x / 0 is infinite", divide,
            [](Bits, Bits b, Bits, C, A answer) { return zero(b) && (answer.flags & flag::divide_by_zero) != 0; },
            bits(0x7BFF)),
        rule(
            "x / 0 raises divide by zero", divide, [](Bits, Bits b, Bits, C, A) { return zero(b); },
            without(flag::divide_by_zero)),
        rule(
            "x / -0 has the other sign", divide,
            [](Bits a, Bits b, Bits, C, A answer) { return zero(b) && negative(b) && !zero(a) && !nan(answer.bits); },
            other_sign),
        rule(
            "infinity / 0 raises nothing", divide, [](Bits a, Bits b, Bits, C, A) { return infinite(a) && zero(b); },
            with(flag::divide_by_zero)),
        rule(
            "x / infinity is zero", divide,
            [](Bits a, Bits b, Bits, C, A) { return infinite(b) && !infinite(a) && !nan(a); }, bits(1)),
        rule(
            "sqrt(-0) is -0", square_root, [](Bits a, Bits, Bits, C, A) { return a == 0x8000; }, bits(0)),
        rule(
            "sqrt of a negative number is invalid", square_root,
            [](Bits a, Bits, Bits, C, A) { return negative(a) && !zero(a) && !nan(a); }, bits(0)),
        rule(
            "sqrt(infinity) is infinity", square_root, [](Bits a, Bits, Bits, C, A) { return a == 0x7C00; },
            bits(0x7E00)),
        rule(
            "a NaN operand gives the one quiet NaN", add, [](Bits a, Bits, Bits, C, A) { return nan(a); },
            first_operand),
        rule(
            "a signalling NaN raises invalid", add,
            [](Bits a, Bits b, Bits, C, A) { return is_signaling(format, a) || is_signaling(format, b); },
            without(flag::invalid)),
        rule(
            "a quiet NaN raises nothing", multiply,
            [](Bits a, Bits b, Bits, C, A) { return (nan(a) || nan(b)) && !is_signaling(format, a); },
            with(flag::invalid)),
        rule(
            "infinity * 0 + NaN is invalid", multiply_add,
            [](Bits a, Bits b, Bits c, C, A) { return infinite(a) && zero(b) && nan(c); }, without(flag::invalid)),
        rule(
            "product infinity - infinity is invalid", multiply_add,
            [](Bits a, Bits b, Bits c, C, A answer) {
                return infinite(a) && !nan(b) && infinite(c) && nan(answer.bits);
            },
            bits(0x7C00)),
        rule(
            "x - x is +0", add,
            [](Bits a, Bits b, Bits, C c, A) {
                return a == (b ^ 0x8000) && !nan(a) && !infinite(a) && c.rounding != Rounding::down;
            },
            bits(0x8000)),
        rule(
            "x - x is -0 rounding down", add,
            [](Bits a, Bits b, Bits, C c, A) {
                return a == (b ^ 0x8000) && !nan(a) && !infinite(a) && c.rounding == Rounding::down;
            },
            bits(0)),
        rule(
            "-0 + -0 is -0", add, [](Bits a, Bits b, Bits, C, A) { return a == 0x8000 && b == 0x8000; }, bits(0)),
        rule(
            "the sign of an exact zero fma", multiply_add,
            [](Bits, Bits, Bits, C, A answer) { return zero(answer.bits) && exact(answer); }, other_sign),
        rule(
            "overflow is infinite to nearest", multiply,
            [](Bits, Bits, Bits, C c, A answer) {
                return (answer.flags & flag::overflow) != 0 && c.rounding == Rounding::nearest_even;
            },
            bits(0x7BFF)),
        rule(
            "overflow is the largest number toward zero", multiply,
            [](Bits, Bits, Bits, C c, A answer) {
                return (answer.flags & flag::overflow) != 0 && c.rounding == Rounding::toward_zero;
            },
            bits(0x7C00)),
        rule(
            "overflow up of a negative number is finite", multiply,
            [](Bits, Bits, Bits, C c, A answer) {
                return (answer.flags & flag::overflow) != 0 && c.rounding == Rounding::up && negative(answer.bits);
            },
            bits(0xFC00)),
        rule(
            "overflow raises overflow", add,
            [](Bits, Bits, Bits, C, A answer) { return (answer.flags & flag::overflow) != 0; },
            without(flag::overflow)),
        rule(
            "overflow raises inexact", add,
            [](Bits, Bits, Bits, C, A answer) { return (answer.flags & flag::overflow) != 0; }, without(flag::inexact)),
        rule(
            "subnormal results are kept", multiply,
            [](Bits, Bits, Bits, C, A answer) { return subnormal(answer.bits); }, bits(0)),
        rule(
            "subnormal operands count", add, [](Bits a, Bits b, Bits, C, A) { return subnormal(a) && zero(b); },
            bits(0)),
        rule(
            "underflow is raised", multiply,
            [](Bits, Bits, Bits, C, A answer) { return (answer.flags & flag::underflow) != 0; },
            without(flag::underflow)),
        rule(
            "an exact subnormal raises no underflow", add,
            [](Bits, Bits, Bits, C, A answer) { return subnormal(answer.bits); }, with(flag::underflow)),
        rule(
            "inexact is raised", divide, [](Bits, Bits, Bits, C, A answer) { return !exact(answer); },
            without(flag::inexact)),
        rule(
            "an exact result raises nothing", divide,
            [](Bits a, Bits, Bits, C, A answer) { return !zero(a) && exact(answer); }, with(flag::inexact)),
        rule(
            "remainder by zero is invalid", remainder, [](Bits a, Bits b, Bits, C, A) { return zero(b) && !nan(a); },
            first_operand),
        rule(
            "remainder by infinity is the operand", remainder,
            [](Bits a, Bits b, Bits, C, A) { return infinite(b) && !infinite(a) && !nan(a); }, bits(0)),
        rule(
            "a zero remainder has the operand's sign", remainder,
            [](Bits, Bits, Bits, C, A answer) { return zero(answer.bits); }, other_sign),
    };
}

/// Tininess taken before rounding where the context says after, and the other way round.
Implementation other_tininess(const Operation& operation) {
    return [&operation](Bits a, Bits b, Bits c, Context& context) {
        Context other = context;
        other.tininess =
            context.tininess == Tininess::after_rounding ? Tininess::before_rounding : Tininess::after_rounding;
        const Bits result = operation.under_test(a, b, c, other);
        context.flags = other.flags;
        return result;
    };
}

/// The operation in mode `to` wherever mode `from` was asked for.
Implementation other_mode(const Operation& operation, Rounding from, Rounding to) {
    return [&operation, from, to](Bits a, Bits b, Bits c, Context& context) {
        Context other = context;
        if (context.rounding == from) other.rounding = to;
        const Bits result = operation.under_test(a, b, c, other);
        context.flags = other.flags;
        return result;
    };
}

/// The truncated remainder of C's fmod.
Implementation truncated_remainder() {
    return [](Bits a, Bits b, Bits c, Context& context) {
        const Bits result = remainder.under_test(a, b, c, context);
        if (nan(result) || zero(result) || negative(result) == negative(a)) return result;
        Context exact_context;
        const Bits size = b & 0x7FFF;
        return add_bits<Word>(format, result, negative(a) ? size | 0x8000 : size, exact_context);
    };
}

/// The same check with options: the operands that the context flushes are zeros to the judge.
Mismatches check(const Operation& operation, const Implementation& implementation, const Context& options) {
    const Oracle oracle(format);
    Mismatches found;
    const auto seen = [&](Bits x) { return options.flush_inputs && subnormal(x) ? x & 0x8000 : x; };
    const int fraction_bits = options.rounding == Rounding::stochastic ? options.random_bits : 0;
    RandomWords random(53);
    const auto compare = [&](Bits a, Bits b, Bits c) {
        Context context = options;
        if (fraction_bits != 0) context.random = random.below(std::uint64_t{1} << fraction_bits);
        check_call(found, oracle, operation.place(oracle, seen(a), seen(b), seen(c), fraction_bits), context, {a, b, c},
                   [&](Context& c2) { return implementation(a, b, c, c2); });
    };
    const auto edges = edge_codes(format);
    for (const Bits a : edges) {
        for (const Bits b : edges) compare(a, b, edges[(a ^ b) % edges.size()]);
    }
    for (int i = 0; i < 4000; ++i) {
        const Bits a = random_code(format, random, random.next());
        const Bits b = random_code(format, random, a);
        Context context;
        compare(a, b, random_code(format, random, multiply_bits<Word>(format, a, b, context)));
    }
    return found;
}

/// The operation in a context changed by `change`; its flags are those raised there.
Implementation in_context(const Operation& operation, void (*change)(Context& context)) {
    return [&operation, change](Bits a, Bits b, Bits c, Context& context) {
        Context other = context;
        change(other);
        const Bits result = operation.under_test(a, b, c, other);
        context.flags = other.flags;
        return result;
    };
}
/// The operation on operands changed one by one.
Implementation on_operands(const Operation& operation, Bits (*first)(Bits), Bits (*others)(Bits)) {
    return [&operation, first, others](Bits a, Bits b, Bits c, Context& context) {
        Context other = context;
        other.flush_inputs = false;
        const Bits result = operation.under_test(first(a), others(b), others(c), other);
        context.flags = other.flags;
        return result;
    };
}

struct OptionMutant {
    std::string broken_rule;
    Context options;
    const Operation& operation;
    Implementation implementation;
};

std::vector<OptionMutant> broken_options() {
    using C = const Context&;
    using A = const Answer&;
    const auto raised = [](A answer, unsigned flags) { return (answer.flags & flags) != 0; };
    const auto kept = [](Bits x) { return x; };
    const auto flushed = [](Bits x) { return subnormal(x) ? x & 0x8000 : x; };
    const auto flushed_to_plus = [](Bits x) { return subnormal(x) ? Bits{0} : x; };
    const Context saturate{.saturate = true};
    const Context inputs{.flush_inputs = true};
    const Context outputs{.flush_outputs = true};
    const Context chance{.rounding = Rounding::stochastic, .tininess = Tininess::before_rounding, .random_bits = 4};
    return {
        {"saturation", saturate, multiply, in_context(multiply, [](Context& c) { c.saturate = false; })},
        {"an infinite operand saturates as well", saturate, add,
         changed(
             add, [](Bits a, Bits b, Bits, C, A) { return infinite(a) && !nan(b) && a != (b ^ 0x8000); },
             first_operand)},
        {"a division by zero saturates as well", saturate, divide,
         changed(
             divide, [=](Bits, Bits, Bits, C, A answer) { return raised(answer, flag::divide_by_zero); },
             bits(0x7C00))},
        {"a saturated result keeps its sign", saturate, multiply,
         changed(
             multiply, [](Bits, Bits, Bits, C, A answer) { return answer.bits == 0xFBFF; }, other_sign)},
        {"saturation is at the largest number", saturate, multiply,
         changed(
             multiply, [=](Bits, Bits, Bits, C, A answer) { return raised(answer, flag::overflow); }, bits(0x7BFE))},
        {"saturation still raises overflow", saturate, multiply,
         changed(
             multiply, [](Bits, Bits, Bits, C, A) { return true; }, without(flag::overflow))},
        {"saturation leaves NaN alone", saturate, add,
         changed(
             add, [](Bits, Bits, Bits, C, A answer) { return nan(answer.bits); }, bits(0x7BFF))},
        {"flushing of operands", inputs, add, in_context(add, [](Context& c) { c.flush_inputs = false; })},
        {"flushing of operands, not of results", inputs, multiply,
         in_context(multiply,
                    [](Context& c) {
                        c.flush_inputs = false;
                        c.flush_outputs = true;
                    })},
        {"flushing of every operand", inputs, add, on_operands(add, flushed, kept)},
        {"a flushed operand keeps its sign", inputs, divide, on_operands(divide, flushed_to_plus, flushed_to_plus)},
        {"flushing an operand raises nothing", inputs, add,
         changed(
             add, [](Bits a, Bits, Bits, C, A) { return subnormal(a); }, with(flag::inexact))},
        {"flushing of the third operand", inputs, multiply_add,
         changed(
             multiply_add, [](Bits, Bits, Bits c, C, A answer) { return subnormal(c) && zero(answer.bits); }, bits(1))},
        {"flushing of results", outputs, multiply, in_context(multiply, [](Context& c) { c.flush_outputs = false; })},
        {"flushing of results, not of operands", outputs, add,
         in_context(add,
                    [](Context& c) {
                        c.flush_outputs = false;
                        c.flush_inputs = true;
                    })},
        {"a flushed result keeps its sign", outputs, multiply,
         changed(
             multiply, [=](Bits, Bits, Bits, C, A answer) { return raised(answer, flag::underflow); }, other_sign)},
        {"a flushed result is inexact", outputs, add,
         changed(
             add, [=](Bits, Bits, Bits, C, A answer) { return raised(answer, flag::underflow); },
             without(flag::inexact))},
        {"a flushed result underflows", outputs, multiply,
         changed(
             multiply, [](Bits, Bits, Bits, C, A) { return true; }, without(flag::underflow))},
        {"what rounds up to a normal number is not flushed", outputs, multiply,
         in_context(multiply, [](Context& c) { c.tininess = Tininess::before_rounding; })},
        {"stochastic rounding", chance, add, in_context(add, [](Context& c) { c.rounding = Rounding::nearest_even; })},
        {"stochastic rounding, sometimes up", chance, divide,
         in_context(divide, [](Context& c) { c.rounding = Rounding::toward_zero; })},
        {"every random bit counts", chance, multiply, in_context(multiply, [](Context& c) { c.random &= ~1ULL; })},
        {"as many random bits as asked for", chance, square_root,
         in_context(square_root,
                    [](Context& c) {
                        --c.random_bits;
                        c.random >>= 1;
                    })},
        {"no bias of one random step", chance, multiply_add,
         in_context(multiply_add, [](Context& c) { c.random = (c.random + 1) & 15; })},
        {"chance moves the magnitude, not the number", chance, add,
         [](Bits a, Bits b, Bits c, Context& context) {
             const bool below = negative(add.under_test(a, b, c, context));
             if (below) context.random = 15 - context.random;
             return add.under_test(a, b, c, context);
         }},
    };
}

}  // namespace

TEST_CASE("the check passes the library") {
    for (const Operation* operation : {&add, &multiply, &divide, &square_root, &multiply_add, &remainder}) {
        const Mismatches found = check(*operation, operation->under_test);
        INFO(operation->name << ": " << found.first);
        CHECK(found.count == 0);
    }
}

TEST_CASE("every rounding mode taken for any other is found out, in every operation") {
    for (const Operation* operation : {&add, &multiply, &divide, &square_root, &multiply_add}) {
        for (const Rounding from : deterministic_roundings) {
            for (const Rounding to : deterministic_roundings) {
                // No square root lies halfway between two numbers: ties do not arise.
                const bool ties_only = (from == Rounding::nearest_even && to == Rounding::nearest_away) ||
                                       (from == Rounding::nearest_away && to == Rounding::nearest_even);
                // A root is positive: down is toward zero.
                const bool inward = (from == Rounding::down && to == Rounding::toward_zero) ||
                                    (from == Rounding::toward_zero && to == Rounding::down);
                if (from == to || (operation == &square_root && (ties_only || inward))) continue;
                INFO(operation->name << ": " << name_of(from) << " done as " << name_of(to));
                CHECK(check(*operation, other_mode(*operation, from, to)).count > 0);
            }
        }
    }
}

TEST_CASE("every broken rule of the special values and flags is found out") {
    for (const Mutant& mutant : broken_special_values()) {
        INFO("broken: " << mutant.broken_rule);
        CHECK(check(mutant.operation, mutant.implementation).count > 0);
    }
}

TEST_CASE("every broken rule of saturation, flushing and stochastic rounding is found out") {
    for (const OptionMutant& mutant : broken_options()) {
        INFO("broken: " << mutant.broken_rule);
        const Mismatches of_library = check(mutant.operation, mutant.operation.under_test, mutant.options);
        INFO("library: " << of_library.first);
        CHECK(of_library.count == 0);
        CHECK(check(mutant.operation, mutant.implementation, mutant.options).count > 0);
    }
}

TEST_CASE("a fused multiply-add that rounds twice, the wrong tininess, a truncated remainder are found out") {
    CHECK(check(multiply_add, twice_rounded_fma()).count > 0);
    CHECK(check(multiply, other_tininess(multiply)).count > 0);
    CHECK(check(remainder, truncated_remainder()).count > 0);
}

TEST_CASE("fast and wide integers of the oracle agree") {
    const Oracle oracle(format);
    RandomWords random(52);
    int wrong = 0;
    for (int i = 0; i < 20'000; ++i) {
        const Bits a = random_code(format, random, random.next());
        const Bits b = random_code(format, random, a);
        const Bits c = random_code(format, random, b);
        for (const Rounding rounding : deterministic_roundings) {
            const auto round = [&](const Located& place) { return oracle.round(place, rounding); };
            if (round(oracle.sum<Narrow>(a, b)) != round(oracle.sum<Unlimited>(a, b))) ++wrong;
            if (round(oracle.fused<Narrow>(a, b, c)) != round(oracle.fused<Wide>(a, b, c))) ++wrong;
            if (round(oracle.fused<Wide>(a, b, c)) != round(oracle.fused<Unlimited>(a, b, c))) ++wrong;
            if (round(oracle.remainder<Narrow>(a, b)) != round(oracle.remainder<Unlimited>(a, b))) ++wrong;
        }
    }
    CHECK(wrong == 0);
}

}  // namespace ulp::test
