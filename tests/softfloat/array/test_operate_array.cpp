// Arithmetic on arrays: every set of instructions against the scalar operations, bit for bit.
#include <doctest/doctest.h>

#include <bit>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "operands.hpp"
#include "softfloat/arithmetic.hpp"
#include "softfloat/array/array.hpp"
#include "softfloat/array/stages.hpp"
#include "tests/softfloat/control_register.hpp"

namespace {

using ulp::Context;
using ulp::FloatFormat;
using ulp::Rounding;
using ulp::Simd;
using ulp::array::bytes_of;
using ulp::array::Operation;
using Words = std::vector<std::uint64_t>;

constexpr const char* operation_names[] = {"add", "subtract", "multiply", "divide", "sqrt", "fma"};

struct Operands {
    Words a, b, c;
};

/// All pairs of 8-bit codes and of the special codes of longer formats, with a random third; then random triples.
Operands operands_for(const FloatFormat& format) {
    Operands operands;
    const Words codes = ulp::test::codes(format, 0);
    const Words random_codes = ulp::test::codes(format, 10000);
    ulp::test::Words random(11);
    const auto draw = [&](const Words& from) { return from[random.next() % from.size()]; };
    const auto add = [&](std::uint64_t a, std::uint64_t b, std::uint64_t c) {
        operands.a.push_back(a);
        operands.b.push_back(b);
        operands.c.push_back(c);
    };
    for (const std::uint64_t a : codes) {
        for (const std::uint64_t b : codes) add(a, b, draw(codes));
    }
    for (int i = 0; i < 10000; ++i) add(draw(random_codes), draw(random_codes), draw(random_codes));
    // Sums and fused sums that cancel, and products near the addend.
    const auto sign = std::uint64_t{1} << (format.storage_bits() - 1);
    const auto one = ulp::pack(format, false, static_cast<std::uint64_t>(format.bias) << format.fraction_bits);
    for (int i = 0; i < 2500; ++i) {
        const std::uint64_t a = draw(random_codes);
        const std::uint64_t near_a = a + (random.next() % 3 << format.padding_bits);
        const std::uint64_t word = format.storage_bits() == 64 ? ~std::uint64_t{0} : sign * 2 - 1;
        add(a, (near_a ^ sign) & word, draw(random_codes));
        add(a, one, (near_a ^ (random.next() % 2 == 0 ? sign : 0)) & word);
    }
    return operands;
}

template <class Word>
std::uint64_t operate_bits(const FloatFormat& format, Operation op, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                           Context& context) {
    switch (op) {
        case ulp::array::op_add: return ulp::add_bits<Word>(format, a, b, context);
        case ulp::array::op_subtract: return ulp::subtract_bits<Word>(format, a, b, context);
        case ulp::array::op_multiply: return ulp::multiply_bits<Word>(format, a, b, context);
        case ulp::array::op_divide: return ulp::divide_bits<Word>(format, a, b, context);
        case ulp::array::op_sqrt: return ulp::sqrt_bits<Word>(format, a, context);
        case ulp::array::op_fma: return ulp::fma_bits<Word>(format, a, b, c, context);
        case ulp::array::operations: break;
    }
    return 0;
}

Words operate_each(const FloatFormat& format, Operation op, const Context& context, const Operands& operands) {
    const auto operate = format.precision() <= 24 ? operate_bits<std::uint64_t> : operate_bits<ulp::UInt128>;
    Words results;
    for (std::size_t i = 0; i < operands.a.size(); ++i) {
        Context scalar = scalar_context(context, i);
        results.push_back(operate(format, op, operands.a[i], operands.b[i], operands.c[i], scalar));
    }
    return results;
}

Words operate_array(const FloatFormat& format, Operation op, const Context& context, const Operands& operands,
                    Simd simd) {
    const std::size_t bytes = bytes_of(format);
    const auto a = ulp::test::to_bytes(operands.a, bytes);
    const auto b = ulp::test::to_bytes(operands.b, bytes);
    const auto c = ulp::test::to_bytes(operands.c, bytes);
    std::vector<unsigned char> out(a.size());
    const std::size_t count = operands.a.size();
    ulp::array::operate_words(
        format, op,
        {a.data(), op == ulp::array::op_sqrt ? nullptr : b.data(), op == ulp::array::op_fma ? c.data() : nullptr},
        out.data(), count, context, simd);
    Words results;
    for (std::size_t i = 0; i < count; ++i) results.push_back(ulp::test::word_at(out, bytes, i));
    return results;
}

std::size_t mismatches(const Words& expected, const Words& results, const Operands& operands, std::string& first) {
    std::size_t count = 0;
    for (std::size_t i = expected.size(); i-- > 0;) {
        if (expected[i] == results[i]) continue;
        ++count;
        std::array<char, 160> text{};
        const auto word = [](std::uint64_t x) { return static_cast<unsigned long long>(x); };
        std::snprintf(text.data(), text.size(), "[%zu] %llX %llX %llX gave %llX, expected %llX", i, word(operands.a[i]),
                      word(operands.b[i]), word(operands.c[i]), word(results[i]), word(expected[i]));
        first = text.data();
    }
    return count;
}

void check(const ulp::test::TestFormat& format, const Context& context, const Operands& operands) {
    for (int i = 0; i < ulp::array::operations; ++i) {
        const auto op = static_cast<Operation>(i);
        const Words expected = operate_each(format.format, op, context, operands);
        for (const Simd simd : ulp::supported_simd()) {
            std::string first;
            const Words results = operate_array(format.format, op, context, operands, simd);
            const std::size_t count = mismatches(expected, results, operands, first);
            CAPTURE(first);
            CAPTURE(name_of(simd));
            CAPTURE(ulp::test::name_of(context.rounding));
            const std::string what = format.name + " " + operation_names[i];
            CHECK_MESSAGE(count == 0, what);
        }
    }
}

Operands first_of(const Operands& operands, std::ptrdiff_t count) {
    const auto first = [&](const Words& words) { return Words(words.begin(), words.begin() + count); };
    return {first(operands.a), first(operands.b), first(operands.c)};
}

}  // namespace

TEST_CASE("array arithmetic equals the scalar operations in every format, rounding and set of instructions") {
    for (const auto& format : ulp::test::array_formats()) {
        Operands operands = operands_for(format.format);
        if (!ulp::array::make_plan(format.format, {})) operands = first_of(operands, 2001);  // the scalar operations
        for (const Rounding rounding : ulp::test::deterministic_roundings()) {
            check(format, {.rounding = rounding}, operands);
        }
    }
}

TEST_CASE("array arithmetic flushes, saturates and rounds stochastically as the scalar operations do") {
    const auto before = ulp::Tininess::before_rounding;
    for (const auto& format : ulp::test::array_formats()) {
        const Operands operands = first_of(operands_for(format.format), 3001);
        for (const Rounding rounding : ulp::test::deterministic_roundings()) {
            check(format, {.rounding = rounding, .flush_inputs = true}, operands);
            check(format, {.rounding = rounding, .flush_outputs = true, .saturate = true}, operands);
            check(format, {.rounding = rounding, .tininess = before, .flush_outputs = true}, operands);
        }
        if (format.format.precision() > 24) continue;
        for (const int bits : {1, 16, 32}) {
            Context context{.rounding = Rounding::stochastic, .random_bits = bits, .seed = 8, .first = 2};
            check(format, context, operands);
            context.saturate = context.flush_inputs = context.flush_outputs = true;
            check(format, context, operands);
        }
    }
}

TEST_CASE("results at the edge of the tiny ones are flushed as the scalar operations do") {
    for (const FloatFormat& format : {ulp::formats::fp32, ulp::formats::tf32, ulp::formats::bf16, ulp::formats::fp16}) {
        Operands operands;
        ulp::test::Words random(3);
        const std::uint64_t hidden = std::uint64_t{1} << format.fraction_bits;
        const auto below_two = [&](std::uint64_t field) {  // the exponent's field, a fraction near all ones or zeros
            const std::uint64_t low = random.next() % 8;
            return (field << format.fraction_bits | (random.next() % 2 == 0 ? low : hidden - 1 - low))
                   << format.padding_bits;
        };
        const auto bias = static_cast<std::uint64_t>(format.bias);
        for (int i = 0; i < 4000; ++i) {  // products, quotients and fused sums within some units of 2^emin
            operands.a.push_back(below_two(bias - 5));
            operands.b.push_back(below_two(random.next() % 2 == 0 ? 5 + random.next() % 2 : 2 * bias - 5));
            operands.c.push_back(below_two(0) & (std::uint64_t{7} << format.padding_bits));
        }
        for (const Rounding rounding : ulp::test::deterministic_roundings()) {
            for (const auto tininess : {ulp::Tininess::before_rounding, ulp::Tininess::after_rounding}) {
                check({"at the edge", format}, {.rounding = rounding, .tininess = tininess, .flush_outputs = true},
                      operands);
            }
        }
        for (const int bits : {1, 4, 32}) {
            Context context{.rounding = Rounding::stochastic, .flush_outputs = true, .random_bits = bits, .first = 5};
            check({"at the edge, by chance", format}, context, operands);
            context.flush_inputs = true;
            context.tininess = ulp::Tininess::before_rounding;
            check({"at the edge, by chance", format}, context, operands);
        }
    }
}

TEST_CASE("fp32 sums that two fp64 numbers do not decide are rounded stochastically as the scalar operations do") {
    // 1 + b, where b and the element's random number r together just carry, or just do not: b = (2^32 - r) * 2^-55.
    const Context context{.rounding = Rounding::stochastic, .random_bits = 32, .seed = 5};
    Operands operands;
    std::size_t undecided = 0;
    for (std::size_t i = 0; i < 5001; ++i) {
        const std::uint64_t missing = (std::uint64_t{1} << 32) - random_for(context, i) - i % 2;
        const bool representable = missing < 1 << 24;
        undecided += representable && missing % 4 != 0 ? 1 : 0;
        operands.a.push_back(0x3F800000);
        operands.b.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(missing) * 0x1p-55F));
        operands.c.push_back(0x3F800000);
    }
    CHECK(undecided > 5);
    check({"fp32", ulp::formats::fp32}, context, operands);
}

TEST_CASE("results that fp32 and fp64 do not decide are rounded stochastically as the scalar operations do") {
    // Each c is made so that a * b + c, or a + c, is just the next number with the element's fraction, or just is not.
    const Context context{.rounding = Rounding::stochastic, .random_bits = 32, .seed = 6};
    const auto half = [](double x) {
        Context exact;
        return ulp::convert_bits(ulp::formats::fp16, ulp::formats::fp64, std::bit_cast<std::uint64_t>(x), exact);
    };
    Operands halves;   // 1 + c + something small: sums beyond fp32's digits
    Operands singles;  // the same beyond fp64's, by a product
    for (std::size_t i = 0; i < 40001; ++i) {
        const double missing = 0x1p32 - static_cast<double>(random_for(context, i));
        halves.a.push_back(half(i % 3 == 0 ? 1 : 1 + 0x1p-10));
        halves.b.push_back(half(missing * 0x1p-42));
        halves.c.push_back(half(missing * 0x1p-42 - 0x1p-24 * static_cast<double>(i % 5)));
        const auto single = static_cast<float>(missing * 0x1p-55);
        singles.a.push_back(std::bit_cast<std::uint32_t>(single));
        singles.b.push_back(0x3F800000 - static_cast<std::uint32_t>(i % 3));
        singles.c.push_back(0x3F800000);
    }
    check({"fp16", ulp::formats::fp16}, context, halves);
    check({"fp32", ulp::formats::fp32}, context, singles);
}

TEST_CASE("fp32 products and quotients beside the next number with the fraction are rounded as the scalar ones") {
    // Numbers of 24 bits as integers. With odd m, m * n = missing modulo 2^23, and so is the remainder of the product
    // (2^23 + m) * (2^23 + n); quotients a / b = x and a remainder of b * missing.
    const std::uint32_t last_bits = (1U << 23) - 1;
    const auto inverse = [](std::uint32_t odd) {
        std::uint32_t x = odd;
        for (int i = 0; i < 4; ++i) x *= 2 - odd * x;
        return x;
    };
    const auto word = [](double x) { return std::bit_cast<std::uint32_t>(static_cast<float>(x)); };
    for (const int bits : {24, 25, 32}) {
        const Context context{.rounding = Rounding::stochastic, .random_bits = bits, .seed = 7};
        Operands products;
        Operands quotients;
        for (std::uint32_t i = 0; i < 20001; ++i) {
            const std::uint64_t missing = (std::uint64_t{1} << bits) - random_for(context, i);  // of 2^bits
            const std::uint32_t m = 2 * (i % 50) + 1;
            const auto low = static_cast<std::uint32_t>(missing >> (bits - 23)) + i % 3;
            const std::uint32_t n = low * inverse(m) & last_bits;
            products.a.push_back(word(0x1p23 + m));
            products.b.push_back(word(0x1p23 + n));
            products.c.push_back(0);
            const std::uint64_t b = (std::uint64_t{1} << 23) + m;
            const std::uint64_t rest = (b * missing >> bits) + i % 2;
            const std::uint64_t x = b - m + (-static_cast<std::uint32_t>(rest) * inverse(m) & last_bits);
            quotients.a.push_back(word(static_cast<double>((x * b + rest) >> 23)));
            quotients.b.push_back(word(static_cast<double>(b)));
            quotients.c.push_back(0);
        }
        check({"fp32", ulp::formats::fp32}, context, products);
        check({"fp32", ulp::formats::fp32}, context, quotients);
    }
}

TEST_CASE("the random numbers of arithmetic go on where the numbers of Philox blocks leave 32 bits") {
    for (const auto& format : {ulp::formats::fp16, ulp::formats::bf16, ulp::formats::fp32}) {
        const Operands operands = first_of(operands_for(format), 1500);
        for (const std::uint64_t before : {1U, 2U, 3U, 700U}) {
            const std::uint64_t first = (std::uint64_t{1} << 34) - before;
            check({"at block 2^32", format}, {.rounding = Rounding::stochastic, .random_bits = 32, .first = first},
                  operands);
        }
    }
}

TEST_CASE("typed arithmetic on spans, of every length, beside and onto its operands") {
    using ulp::bf16;
    using ulp::fp16;
    const Operands operands = operands_for(ulp::formats::fp16);
    const auto halves = [](const Words& words) {
        std::vector<fp16> values;
        for (std::size_t i = 0; i < 100; ++i)
            values.push_back(fp16::from_bits(static_cast<std::uint16_t>(words[3 * i])));
        return values;
    };
    const auto a = halves(operands.a);
    const auto b = halves(operands.b);
    const auto c = halves(operands.c);
    for (const Simd simd : ulp::supported_simd()) {
        std::size_t wrong = 0;
        for (std::size_t size = 0; size <= a.size(); ++size) {
            std::vector<fp16> out = c;
            const auto first = [&](const std::vector<fp16>& x) { return std::span<const fp16>(x).first(size); };
            ulp::fma_array(first(a), first(b), first(out), std::span<fp16>(out).first(size), {}, simd);
            for (std::size_t i = 0; i < out.size(); ++i) {
                const fp16 expected = i < size ? fma(a[i], b[i], c[i]) : c[i];
                wrong += expected.bits() != out[i].bits() ? 1 : 0;
            }
            out = a;
            ulp::subtract_array(first(out), first(b), std::span<fp16>(out).first(size), {}, simd);
            for (std::size_t i = 0; i < size; ++i) wrong += (a[i] - b[i]).bits() != out[i].bits() ? 1 : 0;
        }
        CHECK_MESSAGE(wrong == 0, name_of(simd));
    }
    std::vector<bf16> five(5, bf16{2});
    std::vector<bf16> roots(5);
    ulp::sqrt_array<bf16>(five, roots);
    CHECK(roots[4].bits() == sqrt(bf16{2}).bits());
    ulp::divide_array<bf16>(five, roots, roots);
    CHECK(roots[0].bits() == (bf16{2} / sqrt(bf16{2})).bits());
    std::vector<bf16> four(4);
    CHECK_THROWS_WITH_AS(ulp::add_array<bf16>(five, four, roots),
                         "add_array: arrays of 4 and 5 elements; give arrays of the same size", std::invalid_argument);
    CHECK_THROWS_AS(ulp::multiply_array<bf16>(five, roots, four), std::invalid_argument);
    CHECK_THROWS_AS(ulp::fma_array<bf16>(five, roots, four, roots), std::invalid_argument);
}

#if defined(ULPLAB_HAS_CONTROL_REGISTER)
TEST_CASE("the caller's rounding, flushing of subnormals and flags neither change array operations nor are changed") {
    const std::uint64_t saved = ulp::test::control_register();
    for (const auto& format : {ulp::formats::fp16, ulp::formats::bf16, ulp::formats::fp32, ulp::formats::tf32}) {
        const Operands operands = first_of(operands_for(format), 8001);
        for (int i = 0; i < ulp::array::operations; ++i) {
            const auto op = static_cast<Operation>(i);
            for (const Rounding rounding : {Rounding::nearest_even, Rounding::down, Rounding::nearest_away}) {
                const Words expected = operate_each(format, op, {.rounding = rounding}, operands);
                for (const Simd simd : ulp::supported_simd()) {
                    ulp::test::set_control_register(ulp::test::hostile);
                    const Words results = operate_array(format, op, {.rounding = rounding}, operands, simd);
                    const std::uint64_t after = ulp::test::control_register();
                    ulp::test::set_control_register(saved);
                    std::string first;
                    CHECK(mismatches(expected, results, operands, first) == 0);
                    CHECK(after == ulp::test::hostile);
                }
            }
        }
    }
}
#endif

TEST_CASE("the comparison finds the random numbers of another element, and one random bit too few") {
    for (const auto& format : {ulp::formats::fp16, ulp::formats::bf16, ulp::formats::tf32, ulp::formats::fp32}) {
        const Operands operands = operands_for(format);
        const Context claimed{.rounding = Rounding::stochastic, .random_bits = 8, .seed = 4};
        Context other_element = claimed;
        other_element.first = 1;
        Context too_few = claimed;
        too_few.random_bits = 7;
        for (int i = 0; i < ulp::array::operations; ++i) {
            const auto op = static_cast<Operation>(i);
            const Words expected = operate_each(format, op, claimed, operands);
            for (const Simd simd : ulp::supported_simd()) {
                for (const Context& made : {other_element, too_few}) {
                    std::string first;
                    CHECK(mismatches(expected, operate_array(format, op, made, operands, simd), operands, first) != 0);
                }
            }
        }
    }
}

TEST_CASE("the comparison finds wrong arithmetic on every path: one rounding made, another claimed") {
    for (const auto& format : {ulp::formats::fp16, ulp::formats::bf16, ulp::formats::tf32, ulp::formats::fp32,
                               ulp::formats::e4m3, ulp::formats::e5m2}) {
        const Operands operands = operands_for(format);
        for (int i = 0; i < ulp::array::operations; ++i) {
            const auto op = static_cast<Operation>(i);
            const Words expected = operate_each(format, op, {}, operands);
            for (const Simd simd : ulp::supported_simd()) {
                for (const Rounding made : ulp::test::deterministic_roundings()) {
                    if (made == Rounding::nearest_even) continue;
                    if (made == Rounding::nearest_away && (op == ulp::array::op_sqrt || op == ulp::array::op_divide)) {
                        continue;  // ties are rare or impossible
                    }
                    std::string first;
                    const Words results = operate_array(format, op, {.rounding = made}, operands, simd);
                    CHECK(mismatches(expected, results, operands, first) != 0);
                }
            }
        }
    }
}
