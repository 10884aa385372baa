#include "tests/softfloat/check.hpp"

#include <cstdio>

namespace ulp::test {

namespace {
std::string hex(std::uint64_t word, int bits) {
    std::array<char, 17> text{};
    std::snprintf(text.data(), text.size(), "%0*llX", (bits + 3) / 4, static_cast<unsigned long long>(word));
    return text.data();
}
}  // namespace

std::string describe(const Oracle& oracle, std::initializer_list<std::uint64_t> operands, const Context& context,
                     const Answer& expected, const Answer& got) {
    const int bits = oracle.format().storage_bits();
    std::string text = "operands";
    for (const std::uint64_t operand : operands) text += " " + hex(operand, bits);
    text += ", " + std::string(name_of(context.rounding));
    if (context.tininess == Tininess::before_rounding) text += ", tininess before rounding";
    if (context.rounding == Rounding::stochastic) text += ", random " + std::to_string(context.random);
    text += ": expected " + hex(expected.bits, bits) + " flags " + std::to_string(expected.flags);
    return text + ", got " + hex(got.bits, bits) + " flags " + std::to_string(got.flags);
}

}  // namespace ulp::test
