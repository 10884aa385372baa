// No result depends on the processor's control register: everything is computed under each rounding and flushing that
// it can be set to, and compared with what the default gives.
#include <doctest/doctest.h>

#include <bit>
#include <cfenv>
#include <cstring>
#include <string>
#include <vector>

#include "softfloat/array/array.hpp"
#include "softfloat/array/functions.hpp"
#include "softfloat/functions/cr.hpp"
#include "softfloat/functions/functions.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/quantization/block_scaled.hpp"
#include "softfloat/support/philox.hpp"
#include "softfloat/text.hpp"
#include "tests/softfloat/control_register.hpp"

namespace {

using namespace ulp;

/// A setting of the control register, for the life of the object.
class Environment {
  public:
    Environment(int rounding, bool flush) {
        std::fegetenv(&saved_);
        std::fesetround(rounding);
#if defined(ULPLAB_HAS_CONTROL_REGISTER)
        if (flush) test::set_control_register(test::control_register() | test::flushing);
#else
        (void)flush;
#endif
    }
    ~Environment() { std::fesetenv(&saved_); }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

  private:
    std::fenv_t saved_{};
};

struct Setting {
    std::string name;
    int rounding;
    bool flush;
};
const std::vector<Setting> settings{
    {"up", FE_UPWARD, false},         {"down", FE_DOWNWARD, false},      {"toward zero", FE_TOWARDZERO, false},
    {"flushing", FE_TONEAREST, true}, {"up, flushing", FE_UPWARD, true}, {"down, flushing", FE_DOWNWARD, true}};

/// Storage words with all exponents alike, and the edges.
std::vector<std::uint64_t> operands(const FloatFormat& format, std::size_t count) {
    std::vector<std::uint64_t> words;
    const auto add = [&](std::uint64_t magnitude) {
        words.push_back(pack(format, false, magnitude));
        words.push_back(pack(format, true, magnitude));
    };
    const std::uint64_t largest = format.max_finite_magnitude();
    const std::uint64_t hidden = format.fraction_mask() + 1;
    for (const std::uint64_t m : {std::uint64_t{0}, std::uint64_t{1}, hidden - 1, hidden, hidden + 1, largest}) add(m);
    words.push_back(infinity_bits(format, false));
    words.push_back(nan_bits(format));
    const std::uint64_t one = static_cast<std::uint64_t>(format.bias) << format.fraction_bits;
    for (std::uint32_t i = 0; words.size() < count; ++i) {
        const auto random = philox::generate({i, 0, 0, 0}, {1, 2});
        add(random[0] % (largest + 1));
        // Near one, where sums of two are inexact in fp64 too.
        add(one - hidden * (random[1] % 8) + random[2] % (hidden * 16));
    }
    words.resize(count);
    return words;
}

using Results = std::vector<std::uint64_t>;

template <class T>
void scalar_results(Results& out) {
    constexpr FloatFormat format = T::format;
    const auto words = operands(format, 160);
    const auto put = [&](auto x) { out.push_back(std::bit_cast<typename decltype(x)::Bits>(x)); };
    const Context contexts[] = {{}, {.rounding = Rounding::up}, {.rounding = Rounding::odd, .saturate = true}};
    for (std::size_t i = 0; i < words.size(); ++i) {
        const T a = T::from_bits(static_cast<typename T::Bits>(words[i]));
        const T c = T::from_bits(static_cast<typename T::Bits>(words[(i * 7 + 3) % words.size()]));
        out.push_back(std::bit_cast<std::uint64_t>(static_cast<double>(a)));
        out.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(a)));
        put(T(std::bit_cast<float>(static_cast<std::uint32_t>(words[i] * 0x9E3779B9))));
        put(T(std::bit_cast<float>(static_cast<std::uint32_t>(i * 40503))));  // fp32's subnormal numbers
        put(T(std::bit_cast<double>(words[i] * 0x9E3779B97F4A7C15)));
        put(fp16(fp32(a)));
        put(sqrt(a));
        put(round_to_integral(a));
        for (std::size_t j = 0; j < words.size(); j += 3) {
            const T b = T::from_bits(static_cast<typename T::Bits>(words[j]));
            put(a + b);
            put(a - b);
            put(a * b);
            put(a / b);
            put(fma(a, b, c));
            for (Context context : contexts) {
                put(add(a, b, context));
                put(subtract(a, b, context));
                put(multiply(a, b, context));
                put(divide(a, b, context));
                put(fma(a, b, c, context));
                put(sqrt(a, context));
                put(convert<e4m3>(a, context));
                out.push_back(context.flags);
            }
        }
    }
}

#define ULPLAB_CALL(name, Function) name(x),
#define ULPLAB_CALL_CR(name, Function) cr::name(x),

template <class T>
void function_results(Results& out) {
    for (const std::uint64_t word : operands(T::format, 100)) {
        const T x = T::from_bits(static_cast<typename T::Bits>(word));
        for (const T y : {ULPLAB_FUNCTIONS(ULPLAB_CALL) pow(x, T(0.7)), hypot(x, T(0.3))}) {
            out.push_back(y.bits());
        }
    }
}

void cr_results(Results& out) {
    for (const std::uint64_t word : operands(formats::fp32, 100)) {
        const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(word));
        for (const float y : {ULPLAB_FUNCTIONS(ULPLAB_CALL_CR) cr::pow(x, 0.7F), cr::hypot(x, 0x1p-140F)}) {
            out.push_back(std::bit_cast<std::uint32_t>(y));
        }
    }
}

template <class T>
std::vector<T> array_of(std::size_t count) {
    std::vector<T> array;
    for (const std::uint64_t word : operands(T::format, count)) {
        array.push_back(T::from_bits(static_cast<typename T::Bits>(word)));
    }
    return array;
}

template <class T>
void append(Results& out, const std::vector<T>& values) {
    for (const T& x : values) {
        std::uint64_t word = 0;
        std::memcpy(&word, &x, sizeof(T));
        out.push_back(word);
    }
}

template <class T>
void array_results(Results& out) {
    const auto a = array_of<T>(500);
    std::vector<T> b(a.rbegin(), a.rend());
    std::vector<T> y(a.size());
    for (const Context& context :
         {Context{}, Context{.rounding = Rounding::up}, Context{.saturate = true}, Context{.flush_outputs = true},
          Context{.rounding = Rounding::stochastic, .random_bits = 16, .seed = 3}}) {
        for (const Simd simd : supported_simd()) {
            add_array<T>(a, b, y, context, simd), append(out, y);
            multiply_array<T>(a, b, y, context, simd), append(out, y);
            divide_array<T>(a, b, y, context, simd), append(out, y);
            sqrt_array<T>(a, y, context, simd), append(out, y);
            fma_array<T>(a, b, a, y, context, simd), append(out, y);
            std::vector<float> floats(a.size());
            convert_array<T, float>(a, floats, context, simd), append(out, floats);
            round_array(formats::e4m3, floats, context, simd), append(out, floats);
        }
        tanh_array<T>(a, y, context), append(out, y);
    }
}

void matrix_results(Results& out) {
    constexpr std::int64_t size = 24;
    for (const auto& [row, model] : rows_of<TensorCoreModel>()) {
        if (model.a_format == formats::fp64) continue;  // not in an fp32 container
        std::vector<float> a(size * size);
        std::vector<float> b(size * size);
        std::vector<float> c(size * size);
        std::vector<float> d(size * size);
        const auto words = operands(formats::fp32, 3 * size * size);
        for (std::size_t i = 0; i < a.size(); ++i) {
            const auto number = [&](std::size_t j) {
                return std::bit_cast<float>(static_cast<std::uint32_t>(words[20 + j] & 0xBFFFFFFF) | 0x30000000U);
            };
            a[i] = round_to(model.a_format, number(i), {.saturate = true});
            b[i] = round_to(model.b_format, number(i + a.size()), {.saturate = true});
            c[i] = number(i * 2);
        }
        gemm(model, {{a.data(), size, size}, {b.data(), size, size}, {c.data(), size, size}, {d.data(), size, size}});
        append(out, d);
    }
}

void quantised_results(Results& out) {
    std::vector<float> values(64);
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] =
            std::bit_cast<float>(static_cast<std::uint32_t>(operands(formats::fp32, 200)[i + 100] & 0xBFFFFFFF));
    }
    std::vector<std::uint8_t> scales(2);
    std::vector<std::uint8_t> codes(64);
    quantize_mx(formats::e4m3, values, scales, codes), append(out, scales), append(out, codes);
    dequantize_mx(formats::e4m3, scales, codes, values), append(out, values);
    scales.resize(4);
    out.push_back(std::bit_cast<std::uint32_t>(quantize_nvfp4(values, scales, codes)));
    append(out, scales), append(out, codes);
    Context exact;
    for (const char* text : {"0.1", "1e-40", "0x1.8p-149", "65519.99"}) {
        out.push_back(parse_bits(formats::fp32, text, exact));
        out.push_back(static_cast<std::uint64_t>(to_decimal(formats::fp16, parse_bits(formats::fp16, text, exact))[0]));
    }
}

using Group = void (*)(Results&);
Results results_of_group(Group group) {
    Results out;
    group(out);
    return out;
}

/// How many of a group's results differ under some setting.
void check(const char* name, Group group) {
    const Results expected = results_of_group(group);
    REQUIRE(!expected.empty());
    for (const Setting& setting : settings) {
        const auto made = [&] {
            const Environment environment(setting.rounding, setting.flush);
            return results_of_group(group);
        }();
        REQUIRE(made.size() == expected.size());
        std::size_t wrong = 0;
        std::size_t first = 0;
        for (std::size_t i = 0; i < made.size(); ++i) {
            if (made[i] == expected[i]) continue;
            if (wrong++ == 0) first = i;
        }
        CHECK_MESSAGE(wrong == 0, name << ", " << setting.name << ": " << wrong << " of " << made.size()
                                       << " differ, the first at " << first);
    }
}

}  // namespace

TEST_CASE("each setting of the control register changes the processor's own sums") {
    volatile float one = 1;
    volatile float third = 0x1p-24F / 3;
    volatile float subnormal = 0x1p-140F;
    const auto results = [&] { return std::vector<float>{one + third, -one - third, one - third, subnormal * one}; };
    const auto expected = results();
    for (const Setting& setting : settings) {
        const auto made = [&] {
            const Environment environment(setting.rounding, setting.flush);
            return results();
        }();
        CHECK_MESSAGE(std::memcmp(made.data(), expected.data(), 4 * sizeof(float)) != 0, setting.name);
    }
}

TEST_CASE("1 + 2^-12 is 1 in fp16, whatever the processor is set to") {
    for (const Setting& setting : settings) {
        const Environment environment(setting.rounding, setting.flush);
        CHECK((fp16{1} + fp16{0x1p-12}).bits() == fp16{1}.bits());
    }
}

TEST_CASE("scalar operations and conversions do not depend on the control register") {
    check("fp16", scalar_results<fp16>);
    check("bf16", scalar_results<bf16>);
    check("tf32", scalar_results<tf32>);
    check("fp32", scalar_results<fp32>);
    check("e4m3", scalar_results<e4m3>);
    check("e5m2", scalar_results<e5m2>);
    check("fp64", scalar_results<fp64>);
}

TEST_CASE("functions do not depend on the control register") {
    check("fp16", function_results<fp16>);
    check("bf16", function_results<bf16>);
    check("fp32", function_results<fp32>);
    check("correctly rounded, on float", cr_results);
}

TEST_CASE("operations on arrays do not depend on the control register") {
    check("fp16", array_results<fp16>);
    check("bf16", array_results<bf16>);
    check("fp32", array_results<fp32>);
    check("e4m3", array_results<e4m3>);
    check("block-scaled formats and text", quantised_results);
}

TEST_CASE("products of matrix units do not depend on the control register") { check("gemm", matrix_results); }
