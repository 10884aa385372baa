// Every operation against the oracle: bits and flags, in every rounding mode.
#include "softfloat/float.hpp"
#include "tests/softfloat/cases.hpp"
#include "tests/softfloat/check.hpp"
#include "tests/softfloat/type_names.hpp"

namespace ulp::test {
namespace {

/// The integer that holds the exact sums of a format's numbers and products.
template <FloatFormat F>
using SumOf =
    std::conditional_t<F.exponent_bits <= 5, Narrow, std::conditional_t<F.exponent_bits <= 8, Wide, Unlimited>>;

template <FloatFormat F>
void check_pair(Mismatches& found, const Oracle& oracle, std::uint64_t a, std::uint64_t b) {
    using Sum = SumOf<F>;
    using Word = WordFor<F>;
    check_modes(found, oracle, oracle.sum<Sum>(a, b), {a, b},
                [&](Context& context) { return add_bits<Word>(F, a, b, context); });
    check_modes(found, oracle, oracle.difference<Sum>(a, b), {a, b},
                [&](Context& context) { return subtract_bits<Word>(F, a, b, context); });
    check_modes(found, oracle, oracle.product(a, b), {a, b},
                [&](Context& context) { return multiply_bits<Word>(F, a, b, context); });
    check_modes(found, oracle, oracle.quotient(a, b), {a, b},
                [&](Context& context) { return divide_bits<Word>(F, a, b, context); });
}

template <FloatFormat F>
void check_triple(Mismatches& found, const Oracle& oracle, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    check_modes(found, oracle, oracle.fused<SumOf<F>>(a, b, c), {a, b, c},
                [&](Context& context) { return fma_bits<WordFor<F>>(F, a, b, c, context); });
}

template <FloatFormat F>
void check_square_root(Mismatches& found, const Oracle& oracle, std::uint64_t a) {
    check_modes(found, oracle, oracle.square_root(a), {a},
                [&](Context& context) { return sqrt_bits<WordFor<F>>(F, a, context); });
}

/// Random operands of which the second and third lie near the first and the product.
template <FloatFormat F>
Mismatches check_random(std::uint64_t seed, int count) {
    const Oracle oracle(F);
    RandomWords random(seed);
    Mismatches found;
    for (int i = 0; i < count; ++i) {
        const std::uint64_t a = random_code(F, random, random.next());
        const std::uint64_t b = random_code(F, random, a);
        check_pair<F>(found, oracle, a, b);
        Context context;
        const std::uint64_t c = random_code(F, random, multiply_bits<WordFor<F>>(F, a, b, context));
        check_triple<F>(found, oracle, a, b, c);
        check_square_root<F>(found, oracle, a);
    }
    return found;
}

/// Each of `codes` as one operand and each of `others` as the second; division in both orders.
template <FloatFormat F>
Mismatches check_pairs(const std::vector<std::uint64_t>& codes, const std::vector<std::uint64_t>& others) {
    const Oracle oracle(F);
    Mismatches found;
    for (const std::uint64_t a : codes) {
        check_square_root<F>(found, oracle, a);
        for (const std::uint64_t b : others) {
            check_pair<F>(found, oracle, a, b);
            check_modes(found, oracle, oracle.quotient(b, a), {b, a},
                        [&](Context& context) { return divide_bits<WordFor<F>>(F, b, a, context); });
        }
    }
    return found;
}

}  // namespace

TEST_CASE_TEMPLATE("arithmetic on random operands equals the oracle", Type, fp16, bf16, tf32, fp32, fp64, e4m3, e5m2) {
    const Mismatches found = check_random<Type::format>(1, Type::format.storage_bits() == 64 ? 20'000 : 300'000);
    INFO(found.checks << " checks; first mismatch: " << found.first);
    CHECK(found.count == 0);
}

TEST_CASE_TEMPLATE("arithmetic of every code with the edge codes equals the oracle", Type, fp16, bf16) {
    const Mismatches found = check_pairs<Type::format>(all_codes(Type::format), edge_codes(Type::format));
    INFO(found.checks << " checks; first mismatch: " << found.first);
    CHECK(found.count == 0);
}

TEST_CASE_TEMPLATE("arithmetic of the interesting codes equals the oracle", Type, fp16, bf16, tf32, fp32, fp64) {
    const auto codes = interesting_codes(Type::format);
    const Mismatches found = check_pairs<Type::format>(codes, codes);
    INFO(found.checks << " checks; first mismatch: " << found.first);
    CHECK(found.count == 0);
}

TEST_CASE_TEMPLATE("arithmetic of all pairs of a format of at most 8 bits equals the oracle", Type, e4m3, e5m2,
                   e4m3fnuz, e5m2fnuz, e3m2, e2m3, e2m1, e8m0) {
    const auto codes = all_codes(Type::format);
    const Mismatches found = check_pairs<Type::format>(codes, codes);
    INFO(found.checks << " checks; first mismatch: " << found.first);
    CHECK(found.count == 0);
}

}  // namespace ulp::test
