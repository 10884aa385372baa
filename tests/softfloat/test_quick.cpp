// The operators and most operations with a Context go through fp64; the plain definitions do not. They agree bit for
// bit, flags included.
#include <array>
#include <bit>

#include "softfloat/float.hpp"
#include "tests/softfloat/cases.hpp"
#include "tests/softfloat/type_names.hpp"

namespace ulp::test {
namespace {

template <class Type>
Type plain(std::uint64_t bits) {
    return Type::from_bits(static_cast<typename Type::Bits>(bits));
}

constexpr std::array roundings{Rounding::nearest_even, Rounding::nearest_away, Rounding::toward_zero, Rounding::down,
                               Rounding::up,           Rounding::odd,          Rounding::stochastic};

/// Every mode in turn, with options in turn.
Context context_of(int turn) {
    const int option = turn / static_cast<int>(roundings.size()) % 4;
    Context context{.rounding = roundings[static_cast<std::size_t>(turn) % roundings.size()],
                    .tininess = option == 3 ? Tininess::before_rounding : Tininess::after_rounding,
                    .flush_inputs = option == 2,
                    .flush_outputs = option == 1,
                    .saturate = option == 1,
                    .random = 5};
    if (context.rounding == Rounding::stochastic) context.random_bits = 3;
    return context;
}

/// Whether bits or flags differ: fast(context) gives a number of the type, definition(context) bits.
template <class Fast, class Definition>
int differ_in_context(int turn, Fast fast, Definition definition) {
    Context context = context_of(turn);
    Context expected = context;
    return fast(context).bits() == definition(expected) && context.flags == expected.flags ? 0 : 1;
}

/// How many results of the operators, and of the operations with a Context, differ from the plain definition's.
template <class Type>
int differences(Type a, Type b, Type c, int turn) {
    constexpr FloatFormat f = Type::format;
    using Word = WordFor<f>;
    const auto differ = [](Type x, std::uint64_t bits) { return x.bits() == bits ? 0 : 1; };
    const std::uint64_t x = a.bits();
    const std::uint64_t y = b.bits();
    const std::uint64_t z = c.bits();
    Context plain_context;
    const int of_operators = differ(a + b, add_bits<Word>(f, x, y, plain_context)) +
                             differ(a - b, subtract_bits<Word>(f, x, y, plain_context)) +
                             differ(a * b, multiply_bits<Word>(f, x, y, plain_context)) +
                             differ(a / b, divide_bits<Word>(f, x, y, plain_context)) +
                             differ(sqrt(a), sqrt_bits<Word>(f, x, plain_context)) +
                             differ(fma(a, b, c), fma_bits<Word>(f, x, y, z, plain_context));
    using C = Context&;
    return of_operators +
           differ_in_context(
               turn, [&](C k) { return add(a, b, k); }, [&](C k) { return add_bits<Word>(f, x, y, k); }) +
           differ_in_context(
               turn, [&](C k) { return subtract(a, b, k); }, [&](C k) { return subtract_bits<Word>(f, x, y, k); }) +
           differ_in_context(
               turn, [&](C k) { return multiply(a, b, k); }, [&](C k) { return multiply_bits<Word>(f, x, y, k); }) +
           differ_in_context(
               turn, [&](C k) { return divide(a, b, k); }, [&](C k) { return divide_bits<Word>(f, x, y, k); }) +
           differ_in_context(
               turn, [&](C k) { return sqrt(a, k); }, [&](C k) { return sqrt_bits<Word>(f, x, k); }) +
           differ_in_context(
               turn, [&](C k) { return fma(a, b, c, k); }, [&](C k) { return fma_bits<Word>(f, x, y, z, k); });
}

template <class Type>
int differences_on_random(int count) {
    RandomWords random(7);
    int found = 0;
    for (int i = 0; i < count; ++i) {
        const auto a = plain<Type>(random_code(Type::format, random, random.next()));
        const auto b = plain<Type>(random_code(Type::format, random, a.bits()));
        const auto c = plain<Type>(random_code(Type::format, random, (a * b).bits()));
        found += differences(a, b, c, i);
    }
    return found;
}

}  // namespace

TEST_CASE_TEMPLATE("the operators equal the plain definitions on random operands", Type, fp32, tf32, bf16, fp16, e5m2,
                   e4m3, e5m2fnuz, e4m3fnuz, e3m2, e2m3, e2m1) {
    CHECK(quick::covers(Type::format));
    CHECK(differences_on_random<Type>(100'000) == 0);
}

TEST_CASE_TEMPLATE("the operators equal the plain definitions on all pairs", Type, e5m2, e4m3, e5m2fnuz, e4m3fnuz, e3m2,
                   e2m3, e2m1) {
    int found = 0;
    const auto codes = all_codes(Type::format);
    for (const std::uint64_t a : codes) {
        for (const std::uint64_t b : codes) {
            const int option = static_cast<int>(a + b) % 4 * 7;
            for (int mode = 0; mode < 7; ++mode) {
                found += differences(plain<Type>(a), plain<Type>(b), plain<Type>(b ^ 1), option + mode);
            }
        }
    }
    CHECK(found == 0);
}

TEST_CASE_TEMPLATE("the operators equal the plain definitions on every code with the edge codes", Type, fp16, bf16) {
    int found = 0;
    const auto edges = edge_codes(Type::format);
    for (const std::uint64_t a : all_codes(Type::format)) {
        for (const std::uint64_t b : edges) {
            const auto x = plain<Type>(a);
            const auto y = plain<Type>(b);
            const int turn = static_cast<int>(a % 28);
            found += differences(x, y, plain<Type>(edges[a % edges.size()]), turn) + differences(y, x, x, turn + 1);
        }
    }
    CHECK(found == 0);
}

TEST_CASE_TEMPLATE("conversions from and to fp64 and fp32 equal the plain definition", Type, fp32, tf32, bf16, fp16,
                   e5m2, e4m3, e5m2fnuz, e4m3fnuz, e3m2, e2m3, e2m1) {
    RandomWords random(11);
    int found = 0;
    for (int i = 0; i < 200'000; ++i) {
        // A number of the format or a midpoint, one fp64 step off or on it, or anything.
        const std::uint64_t code = random_code(Type::format, random, random.next());
        Context context;
        std::uint64_t wide = convert_bits(formats::fp64, Type::format, code, context);
        wide += (random.below(3) << (51 - Type::format.fraction_bits)) + random.below(3) - 1;
        if (i % 4 == 0) wide = random.next();
        const auto x = std::bit_cast<double>(wide);
        if (Type(x).bits() != Type(x, Context{}).bits()) ++found;
        const auto y = static_cast<float>(x);
        if (Type(y).bits() != Type(y, Context{}).bits()) ++found;

        const auto number = plain<Type>(code);
        const auto as_double = std::bit_cast<std::uint64_t>(static_cast<double>(number));
        if (as_double != convert_bits(formats::fp64, Type::format, number.bits(), context)) ++found;
        const auto as_float = std::bit_cast<std::uint32_t>(static_cast<float>(number));
        if (as_float != convert_bits(formats::fp32, Type::format, number.bits(), context)) ++found;
        if constexpr (!std::is_same_v<Type, bf16>) {
            if (bf16(number).bits() != convert_bits(formats::bf16, Type::format, number.bits(), context)) ++found;
            const auto source = plain<fp32>(std::bit_cast<std::uint32_t>(y));
            found += differ_in_context(
                i, [&](Context& k) { return convert<Type>(source, k); },
                [&](Context& k) { return convert_bits(Type::format, formats::fp32, source.bits(), k); });
        }
    }
    CHECK(found == 0);
}

}  // namespace ulp::test
