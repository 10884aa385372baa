#include "tests/softfloat/quantization/reference.hpp"

#include <cmath>

namespace ulp::test {

using boost::multiprecision::cpp_int;

Rational power_of_two(int exponent) {
    return exponent >= 0 ? Rational(cpp_int(1) << exponent) : Rational(cpp_int(1), cpp_int(1) << -exponent);
}

Rational exact(float x) {
    int exponent = 0;
    const float fraction = std::frexp(x, &exponent);
    return Rational(static_cast<std::int64_t>(std::ldexp(fraction, 24))) * power_of_two(exponent - 24);
}

int floor_log2(const Rational& x) {
    int e = static_cast<int>(msb(numerator(x))) - static_cast<int>(msb(denominator(x)));
    while (power_of_two(e) > x) --e;
    while (power_of_two(e + 1) <= x) ++e;
    return e;
}

Rational rounded(const Rational& x, const Grid& grid, Mode mode) {
    if (x == 0) return 0;
    const Rational magnitude = abs(x);
    const Rational step = power_of_two(std::max(floor_log2(magnitude), grid.emin) - grid.precision + 1);
    const Rational quotient = magnitude / step;
    cpp_int steps = numerator(quotient) / denominator(quotient);
    const Rational twice_rest = (quotient - steps) * 2;
    if (mode == Mode::nearest_even && (twice_rest > 1 || (twice_rest == 1 && steps % 2 != 0))) ++steps;
    if (mode == Mode::ties_to_zero && twice_rest > 1) ++steps;
    Rational result = steps * step;
    if (result > grid.largest) result = grid.largest;
    return x < 0 ? -result : result;
}

Rational fp32(const Rational& x) { return rounded(x, grids::fp32); }

Rational largest_of(const Numbers& numbers) {
    Rational largest = 0;
    for (const Rational& x : numbers) {
        if (abs(x) > largest) largest = abs(x);
    }
    return largest;
}

namespace {

Block with_exponent(const Numbers& x, const Grid& grid, int e) {
    e = std::min(std::max(e, -127), 127);
    Block block{power_of_two(e), {}};
    for (const Rational& number : x) block.elements.push_back(rounded(number / block.scale, grid));
    return block;
}
Block with_encode(const Numbers& x, const Grid& grid, const Rational& encode, const Rational& decode) {
    Block block{decode, {}};
    for (const Rational& number : x) block.elements.push_back(rounded(fp32(number * encode), grid));
    return block;
}
int ceil_log2(const Rational& x) { return floor_log2(x) + (power_of_two(floor_log2(x)) == x ? 0 : 1); }

Block nvfp4(const Numbers& x, const Rational& base, const Rational& inverse_factor, bool saturates) {
    const Rational scale = rounded(base, grids::e4m3);
    if (scale == 0 && !saturates) return {0, Numbers(x.size(), 0)};
    const Rational full = fp32(scale * inverse_factor);
    return with_encode(x, grids::e2m1, full == 0 ? grids::fp32_largest : fp32(1 / full), scale);
}
Rational factor(const Rational& maximum, const Rational& tensor) { return tensor == 0 ? 1 : fp32(maximum / tensor); }

}  // namespace

Rational tensor_scale(const Rational& maximum, const Rational& tensor) { return fp32(1 / factor(maximum, tensor)); }

Block ocp_floor(const Numbers& x, const Grid& grid, int emax) {
    return with_exponent(x, grid, floor_log2(largest_of(x)) - emax);
}
Block ocp_ceil(const Numbers& x, const Grid& grid, int emax) {
    return with_exponent(x, grid, ceil_log2(largest_of(x)) - emax);
}
Block ocp_even(const Numbers& x, const Grid& grid, int emax) {
    const Rational largest = largest_of(x);
    const Rational half_step = power_of_two(floor_log2(largest) - grid.precision);
    return with_exponent(x, grid, floor_log2(largest + half_step) - emax);
}
Block rounded_up(const Numbers& x, const Grid& grid) {
    const Rational quotient = fp32(largest_of(x) * fp32(1 / grid.largest));
    return with_exponent(x, grid, quotient == 0 ? -127 : ceil_log2(quotient));
}
Block te_fp32(const Numbers& x, const Grid& grid) {
    const Rational encode = fp32(grid.largest / largest_of(x));
    return with_encode(x, grid, encode, fp32(1 / encode));
}
Block te_power_of_two(const Numbers& x, const Grid& grid) {
    const int e = floor_log2(fp32(grid.largest / largest_of(x)));
    return with_encode(x, grid, power_of_two(e), power_of_two(-e));
}
Block deepseek(const Numbers& x) {
    const Rational least = exact(1e-4F);
    const Rational largest = largest_of(x);
    Block block{fp32((largest > least ? largest : least) / 448), {}};
    for (const Rational& number : x) block.elements.push_back(rounded(fp32(number / block.scale), grids::e4m3));
    return block;
}
Block torchao(const Numbers& x, const Grid& grid, bool power) {
    const Grid fp64{53, -1022, power_of_two(1023)};
    const Rational least = rounded(Rational(1, 1000000000000), fp64);
    const Rational largest = largest_of(x);
    Rational encode = fp32(rounded(grid.largest / (largest > least ? largest : least), fp64));
    if (power) encode = power_of_two(floor_log2(encode));
    return with_encode(x, grid, encode, fp32(1 / encode));
}
Block nvfp4_paper(const Numbers& x, const Rational& tensor) {
    const Rational base = fp32(fp32(largest_of(x) / 6) * factor(2688, tensor));
    return nvfp4(x, base, tensor_scale(2688, tensor), false);
}
Block nvfp4_te(const Numbers& x, const Rational& tensor) {
    const Rational base = fp32(largest_of(x) * fp32(factor(2688, tensor) * fp32(Rational(1, 6))));
    return nvfp4(x, base, tensor_scale(2688, tensor), true);
}
Block four_over_six(const Numbers& x, const Rational& tensor, bool squares) {
    const Rational inverse = tensor_scale(1536, tensor);
    const Rational base = fp32(fp32(largest_of(x) / 6) * factor(1536, tensor));
    const auto error = [&](const Block& block) {
        Rational sum = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const Rational missed = fp32(fp32(block.elements[i] * fp32(block.scale * inverse)) - x[i]);
            sum = fp32(sum + (squares ? fp32(missed * missed) : abs(missed)));
        }
        return sum;
    };
    const Block to_six = nvfp4(x, base, inverse, false);
    const Block to_four = nvfp4(x, fp32(base * Rational(3, 2)), inverse, false);
    return error(to_four) < error(to_six) ? to_four : to_six;
}
Block quartet(const Numbers& x) {
    Rational sum = 0;
    Rational squares = 0;
    for (const Rational& number : x) {
        sum = fp32(sum + number);
        squares = fp32(squares + fp32(number * number));
    }
    const auto count = static_cast<int>(x.size());
    const Rational mean = fp32(sum / count);
    const Rational variance = fp32(fp32(squares / count) - fp32(mean * mean));
    // The root to 60 bits is enough to round to 24: it is no tie, and is exact where it is short.
    const Rational shifted = variance * power_of_two(200);
    const cpp_int wide = numerator(shifted) / denominator(shifted);
    const Rational deviation = fp32(Rational(sqrt(wide)) * power_of_two(-100));
    const Rational raw = fp32(fp32(deviation * exact(static_cast<float>(2.92247856 / 6.0))) + exact(1e-8F));
    Block block{power_of_two(floor_log2(raw)), {}};
    for (const Rational& number : x) {
        block.elements.push_back(rounded(number / block.scale, grids::e2m1, Mode::ties_to_zero));
    }
    return block;
}

Numbers hadamard(const Numbers& x, const char* signs) {
    Numbers y(x.size(), 0);
    for (std::size_t j = 0; j < x.size(); ++j) {
        for (std::size_t i = 0; i < x.size(); ++i) {
            const bool minus = (__builtin_popcountll(i & j) % 2 != 0) != (signs[i] == '-');
            y[j] += minus ? -x[i] : x[i];
        }
    }
    return y;
}

}  // namespace ulp::test
