// An independent reference of quantisation: exact rational numbers, and each rule written out from its source.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <optional>
#include <vector>

namespace ulp::test {

using Rational = boost::multiprecision::cpp_rational;

/// A grid of numbers to round to: that many significant bits, the exponent of the smallest normal number, the largest.
struct Grid {
    int precision;
    int emin;
    Rational largest;
};
namespace grids {
inline const Rational fp32_largest =
    Rational((std::uint64_t{1} << 24) - 1) * Rational(boost::multiprecision::cpp_int(1) << 104);
inline const Grid fp32{24, -126, fp32_largest};
inline const Grid e4m3{4, -6, 448};
inline const Grid e5m2{3, -14, 57344};
inline const Grid e3m2{3, -2, 28};
inline const Grid e2m3{4, 0, Rational(15, 2)};
inline const Grid e2m1{2, 0, 6};
inline const Grid e1m2{3, 0, Rational(7, 4)};
}  // namespace grids

enum class Mode { nearest_even, ties_to_zero, toward_zero };

Rational exact(float x);
Rational power_of_two(int exponent);
/// The largest e with 2^e <= x, of a positive number.
int floor_log2(const Rational& x);
/// Rounded to the grid, beyond its largest number: that.
Rational rounded(const Rational& x, const Grid& grid, Mode mode = Mode::nearest_even);
/// Rounded to fp32, to nearest even.
Rational fp32(const Rational& x);

/// What a rule makes of a block of finite numbers: the decoding scale and the elements.
struct Block {
    Rational scale;
    std::vector<Rational> elements;
};
using Numbers = std::vector<Rational>;
Rational largest_of(const Numbers& numbers);

// Each rule from its formula. `tensor` is the largest magnitude of the whole operand.
Block ocp_floor(const Numbers& x, const Grid& grid, int emax);
Block ocp_ceil(const Numbers& x, const Grid& grid, int emax);
Block ocp_even(const Numbers& x, const Grid& grid, int emax);
Block rounded_up(const Numbers& x, const Grid& grid);
Block te_fp32(const Numbers& x, const Grid& grid);
Block te_power_of_two(const Numbers& x, const Grid& grid);
Block deepseek(const Numbers& x);
Block torchao(const Numbers& x, const Grid& grid, bool power);
Block nvfp4_paper(const Numbers& x, const Rational& tensor);
Block nvfp4_te(const Numbers& x, const Rational& tensor);
Block four_over_six(const Numbers& x, const Rational& tensor, bool squares);
Block quartet(const Numbers& x);

/// 1 / S in fp32, S = maximum / tensor.
Rational tensor_scale(const Rational& maximum, const Rational& tensor);
/// A group of numbers times diag(signs) Sylvester's matrix, not yet divided by the root of their number; exact.
Numbers hadamard(const Numbers& x, const char* signs);

}  // namespace ulp::test
