// The operators go through fp64; the plain definitions do not. They agree bit for bit.
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

/// How many of the operators' results on these operands differ from the plain definition's.
template <class Type>
int differences(Type a, Type b, Type c) {
    Context context;
    const auto differ = [](Type x, Type y) { return x.bits() == y.bits() ? 0 : 1; };
    return differ(a + b, add(a, b, context)) + differ(a - b, subtract(a, b, context)) +
           differ(a * b, multiply(a, b, context)) + differ(a / b, divide(a, b, context)) +
           differ(sqrt(a), sqrt(a, context)) + differ(fma(a, b, c), fma(a, b, c, context));
}

template <class Type>
int differences_on_random(int count) {
    RandomWords random(7);
    int found = 0;
    for (int i = 0; i < count; ++i) {
        const auto a = plain<Type>(random_code(Type::format, random, random.next()));
        const auto b = plain<Type>(random_code(Type::format, random, a.bits()));
        const auto c = plain<Type>(random_code(Type::format, random, (a * b).bits()));
        found += differences(a, b, c);
    }
    return found;
}

}  // namespace

TEST_CASE_TEMPLATE("the operators equal the plain definitions on random operands", Type, fp32, tf32, bf16, fp16, e5m2,
                   e4m3, e5m2fnuz, e4m3fnuz, e3m2, e2m3, e2m1) {
    CHECK(quick::covers(Type::format));
    CHECK(differences_on_random<Type>(300'000) == 0);
}

TEST_CASE_TEMPLATE("the operators equal the plain definitions on all pairs", Type, e5m2, e4m3, e5m2fnuz, e4m3fnuz, e3m2,
                   e2m3, e2m1) {
    int found = 0;
    const auto codes = all_codes(Type::format);
    for (const std::uint64_t a : codes) {
        for (const std::uint64_t b : codes) found += differences(plain<Type>(a), plain<Type>(b), plain<Type>(b ^ 1));
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
            found += differences(x, y, plain<Type>(edges[a % edges.size()])) + differences(y, x, x);
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
        }
    }
    CHECK(found == 0);
}

}  // namespace ulp::test
