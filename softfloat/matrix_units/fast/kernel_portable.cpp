// The kernels in plain C++: vectors are small arrays, and the compiler makes of the loops what it can.
#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "softfloat/matrix_units/fast/panel.hpp"

namespace {

struct S {
    static constexpr int lanes = 8;
    struct Float {
        float lane[lanes];
    };
    struct Int {
        std::uint32_t lane[lanes];
    };

    template <class Result, class Function>
    static Result make(Function f) {
        Result r;
        for (int i = 0; i < lanes; ++i) r.lane[i] = f(i);
        return r;
    }
    static Int load(const std::uint32_t* p) {
        return make<Int>([&](int i) { return p[i]; });
    }
    static Float load_float(const float* p) {
        return make<Float>([&](int i) { return p[i]; });
    }
    static void store(float* p, Int x) {
        for (int i = 0; i < lanes; ++i) p[i] = std::bit_cast<float>(x.lane[i]);
    }
    static void store(std::uint32_t* p, Int x) {
        for (int i = 0; i < lanes; ++i) p[i] = x.lane[i];
    }
    static Int set(std::int32_t x) {
        return make<Int>([&](int) { return static_cast<std::uint32_t>(x); });
    }
    static Int broadcast(std::uint32_t x) {
        return make<Int>([&](int) { return x; });
    }
    static Float set_float(float x) {
        return make<Float>([&](int) { return x; });
    }
    static Float broadcast_float(float x) { return set_float(x); }
    static Int as_int(Float x) { return std::bit_cast<Int>(x); }
    static Float as_float(Int x) { return std::bit_cast<Float>(x); }

    static constexpr std::int32_t signed_of(std::uint32_t x) { return static_cast<std::int32_t>(x); }
    static Int add(Int x, Int y) {
        return make<Int>([&](int i) { return x.lane[i] + y.lane[i]; });
    }
    static Int sub(Int x, Int y) {
        return make<Int>([&](int i) { return x.lane[i] - y.lane[i]; });
    }
    static Int max(Int x, Int y) {
        return make<Int>([&](int i) { return signed_of(x.lane[i]) > signed_of(y.lane[i]) ? x.lane[i] : y.lane[i]; });
    }
    static Int bit_and(Int x, Int y) {
        return make<Int>([&](int i) { return x.lane[i] & y.lane[i]; });
    }
    static Int bit_or(Int x, Int y) {
        return make<Int>([&](int i) { return x.lane[i] | y.lane[i]; });
    }
    static Int bit_xor(Int x, Int y) {
        return make<Int>([&](int i) { return x.lane[i] ^ y.lane[i]; });
    }
    template <int n>
    static Int shift_left(Int x) {
        return make<Int>([&](int i) { return x.lane[i] << n; });
    }
    template <int n>
    static Int shift_right(Int x) {
        return make<Int>([&](int i) { return x.lane[i] >> n; });
    }

    template <class Element>
    struct Elements {
        static constexpr int count = lanes * 4 / static_cast<int>(sizeof(Element));
        Element of[count];
    };
    template <class Element, class Function>
    static Int each(Int x, Int y, Function f) {
        const auto a = std::bit_cast<Elements<Element>>(x);
        const auto b = std::bit_cast<Elements<Element>>(y);
        Elements<Element> r;
        for (int i = 0; i < r.count; ++i) r.of[i] = static_cast<Element>(f(a.of[i], b.of[i]));
        return std::bit_cast<Int>(r);
    }
    static Int add_bytes(Int x, Int y) {
        return each<std::uint8_t>(x, y, [](auto a, auto b) { return a + b; });
    }
    static Int max_bytes(Int x, Int y) {
        return each<std::uint8_t>(x, y, [](auto a, auto b) { return a > b ? a : b; });
    }
    static Int add_words(Int x, Int y) {
        return each<std::int16_t>(x, y, [](auto a, auto b) { return a + b; });
    }
    static Int sub_words(Int x, Int y) {
        return each<std::int16_t>(x, y, [](auto a, auto b) { return a - b; });
    }
    static Int max_words(Int x, Int y) {
        return each<std::int16_t>(x, y, [](auto a, auto b) { return a > b ? a : b; });
    }
    /// Bit i: 16-bit element i is at least `from` and less than `to`.
    static std::uint64_t words_between(Int x, int from, int to) {
        const auto a = std::bit_cast<Elements<std::int16_t>>(x);
        std::uint64_t bits = 0;
        for (int i = 0; i < a.count; ++i) bits |= std::uint64_t{a.of[i] >= from && a.of[i] < to} << i;
        return bits;
    }
    /// y where x is not 0, else 0.
    static Int zero_where_zero(Int x, Int y) {
        return make<Int>([&](int i) { return x.lane[i] != 0 ? y.lane[i] : 0; });
    }
    static Int select_by_sign(Int sign, Int negative, Int positive) {
        return make<Int>([&](int i) { return signed_of(sign.lane[i]) < 0 ? negative.lane[i] : positive.lane[i]; });
    }
    static std::uint64_t sign_bits(Int x) {
        std::uint64_t bits = 0;
        for (int i = 0; i < lanes; ++i) bits |= std::uint64_t{x.lane[i] >> 31} << i;
        return bits;
    }
    /// Sets the sign bit of `flags` where x + y = total overflowed.
    static Int or_overflow(Int flags, Int x, Int y, Int total) {
        return bit_or(flags, bit_and(bit_xor(x, total), bit_xor(y, total)));
    }

    static Float mul(Float x, Float y) {
        return make<Float>([&](int i) { return x.lane[i] * y.lane[i]; });
    }
    /// Out of range (only in lanes that are suspects already): 0.
    static Int truncate(Float x) {
        return make<Int>([&](int i) {
            const float inside = x.lane[i] > -0x1p31F && x.lane[i] < 0x1p31F ? x.lane[i] : 0.0F;
            return static_cast<std::uint32_t>(static_cast<std::int32_t>(inside));
        });
    }
    static Float to_float(Int x) {
        return make<Float>([&](int i) { return static_cast<float>(signed_of(x.lane[i])); });
    }

    // An int32 is exact in fp64; without the low 29 bits of its significand it is an fp32 number, cut toward zero.
    static constexpr std::uint64_t low_bits = (std::uint64_t{1} << 29) - 1;
    static Float to_float_toward_zero(Int x) {
        return make<Float>([&](int i) {
            const auto bits = std::bit_cast<std::uint64_t>(static_cast<double>(signed_of(x.lane[i])));
            return static_cast<float>(std::bit_cast<double>(bits & ~low_bits));
        });
    }
    /// Toward zero, with the last bit set if anything was cut: safe before a second rounding.
    static Float to_float_odd(Int x) {
        return make<Float>([&](int i) {
            const auto bits = std::bit_cast<std::uint64_t>(static_cast<double>(signed_of(x.lane[i])));
            const std::uint64_t last = (bits & low_bits) != 0 ? low_bits + 1 : 0;
            return static_cast<float>(std::bit_cast<double>((bits & ~low_bits) | last));
        });
    }
    /// To nearest even: normal numbers in integers, subnormals by an addition whose last place is 2^-24.
    static Float round_to_fp16(Float x) {
        return make<Float>([&](int i) {
            const auto bits = std::bit_cast<std::uint32_t>(x.lane[i]);
            const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
            const std::uint32_t nearest = (magnitude + 0xFFFU + ((magnitude >> 13) & 1U)) & ~0x1FFFU;
            const std::uint32_t normal = nearest >= 0x47800000U ? 0x7F800000U : nearest;  // from 2^16: infinity
            const float magic = 0.5F;
            const float subnormal = (std::bit_cast<float>(magnitude) + magic) - magic;
            const std::uint32_t rounded = magnitude < 0x38800000U ? std::bit_cast<std::uint32_t>(subnormal) : normal;
            return std::bit_cast<float>(rounded | (bits & 0x80000000U));
        });
    }

    struct FlushResults {
        FlushResults() {}
    };
};

#include "softfloat/matrix_units/fast/kernel.ipp"

}  // namespace

namespace ulp::fast {
constinit const Kernels Kernels::portable = make_kernels("portable");
}
