// An independent judge of the functions. Where a result lies between two neighbours of a format is decided
//
//   by rule         at special operands, and where a result is a known number plus or minus next to nothing
//   in fp64         by the C library, for nearest_float only, unless the value lies within 2^16 of its last places of a
//                   boundary
//   in long double  by the C library, unless the value lies within 2^10 of its last places of a boundary
//   in 800 bits     by Boost.Multiprecision, for the rest
//
// It shares no code with softfloat/functions. Tests compare each step with the next.
#pragma once

#include <span>
#include <string_view>

#include "tests/softfloat/oracle.hpp"

namespace ulp::test {

struct FunctionRow;

/// (high * 2^64 + low) * 2^exponent.
struct Approximation {
    bool negative;
    std::uint64_t high;
    std::uint64_t low;
    int exponent;
};

/// One function of one operand.
class FunctionOracle {
  public:
    /// Throws std::invalid_argument for a name it does not know.
    explicit FunctionOracle(std::string_view name);

    /// Where f(operand) lies on the format's grid. Precision up to 24.
    [[nodiscard]] Located locate(const Oracle& format, std::uint64_t bits, int fraction_bits = 0) const;
    /// f(x) to nearest even in fp32.
    [[nodiscard]] float nearest_float(float x) const;
    /// Whether no computation is needed at x.
    [[nodiscard]] bool known_by_rule(double x) const;
    /// |long double's value / the 800-bit value - 1| in units of 2^-64, for an operand at which both are computed, else
    /// 0.
    [[nodiscard]] double quick_error(double x) const;
    /// |fp64's value / long double's value - 1| in units of 2^-53, where nearest_float may use the former, else 0.
    [[nodiscard]] double fp64_error(float x) const;
    static constexpr int fp64_error_bits = 16;  // it stays below 2^this
    /// y / f(x) - 1 against long double; 0 where f(x) is known by rule.
    [[nodiscard]] double quick_relative_error(double x, double y) const;
    /// The same against the 800-bit value.
    [[nodiscard]] double relative_error(double x, const Approximation& y) const;

  private:
    const FunctionRow* row_;
};

/// pow and hypot.
Located locate_pow(const Oracle& format, std::uint64_t a, std::uint64_t b);
Located locate_hypot(const Oracle& format, std::uint64_t a, std::uint64_t b);

}  // namespace ulp::test
