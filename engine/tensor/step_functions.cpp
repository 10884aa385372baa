#include <bit>
#include <type_traits>

#include "engine/tensor/steps.hpp"
#include "softfloat/array/functions.hpp"
#include "softfloat/functions/cr.hpp"

namespace ulp::step {
namespace {

/// The quick phase in double where every number within its error bound rounds to the same value, else the exact way.
template <class Function>
float narrow(const Target& target, float x) {
    constexpr bool falls_to_zero =
        std::is_same_v<Function, functions::Exp> || std::is_same_v<Function, functions::Sigmoid>;
    if (falls_to_zero && x < -105) return 0;  // e^-105 is less than half of fp32's smallest number
    const double y = Function::fp32_domain().contains(x) ? Function::quick(static_cast<double>(x)) : 0;
    if (y != 0) {
        const double error = y * 0x1p-40;
        const double low = target.round(y - error);
        const double high = target.round(y + error);
        if (std::bit_cast<std::uint64_t>(low) == std::bit_cast<std::uint64_t>(high)) return static_cast<float>(low);
    }
    Context exact;
    const std::uint64_t word = convert_bits(target.format, formats::fp32, std::bit_cast<std::uint32_t>(x), exact);
    Context context = target.options;
    const std::uint64_t result = evaluate_bits<Function>(target.format, word, context);
    const std::uint64_t bits = convert_bits(formats::fp32, target.format, result, exact);
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

template <class Function>
double in_fp64(double x) {
    if (x != x) return x;
    const auto operand = decode<std::uint64_t>(formats::fp64, std::bit_cast<std::uint64_t>(x));
    const Special special = Function::special(operand);
    if (special.rule == Special::Rule::compute) return Function::quick(x);
    Context context;
    return std::bit_cast<double>(special_bits(formats::fp64, special, context));
}

}  // namespace

#define ULPLAB_FUNCTION(name, Function)                                                          \
    float name(float x) { return cr::name(x); }                                                  \
    float name(const Target& target, float x) { return narrow<functions::Function>(target, x); } \
    double name(double x) { return in_fp64<functions::Function>(x); }                            \
    void name(std::span<const float> x, std::span<float> out) { name##_array<float>(x, out); }   \
    void name(std::span<const double> x, std::span<double> out) {                                \
        for (std::size_t i = 0; i < x.size(); ++i) out[i] = name(x[i]);                          \
    }
ULPLAB_FUNCTIONS(ULPLAB_FUNCTION)
#undef ULPLAB_FUNCTION

}  // namespace ulp::step
