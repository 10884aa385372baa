// std::numeric_limits of the formats, from their numbers and against the built-in types.
#include <limits>

#include "tests/softfloat/cases.hpp"
#include "tests/softfloat/oracle.hpp"
#include "tests/softfloat/type_names.hpp"

namespace ulp::test {
namespace {

template <class Type>
Number number(Type x) {
    return Oracle(Type::format).number(x.bits());
}

/// The sign of 10^exponent - x, x > 0.
int compare_power_of_ten(int exponent, const Number& x) {
    Unlimited left = 1;
    Unlimited right = x.significand;
    for (int i = 0; i < std::abs(exponent); ++i) (exponent > 0 ? left : right) *= 10;
    if (x.exponent > 0) right <<= x.exponent;
    if (x.exponent < 0) left <<= -x.exponent;
    return left == right ? 0 : left < right ? -1 : 1;
}

template <class Type, class Hardware>
void check_same_as_hardware() {
    using Ours = std::numeric_limits<Type>;
    using Theirs = std::numeric_limits<Hardware>;
    CHECK(Ours::digits == Theirs::digits);
    CHECK(Ours::digits10 == Theirs::digits10);
    CHECK(Ours::max_digits10 == Theirs::max_digits10);
    CHECK(Ours::min_exponent == Theirs::min_exponent);
    CHECK(Ours::max_exponent == Theirs::max_exponent);
    CHECK(Ours::min_exponent10 == Theirs::min_exponent10);
    CHECK(Ours::max_exponent10 == Theirs::max_exponent10);
    CHECK(Ours::is_iec559 == Theirs::is_iec559);
    CHECK(Ours::has_infinity == Theirs::has_infinity);
    CHECK(Ours::has_quiet_NaN == Theirs::has_quiet_NaN);
    CHECK(Ours::has_signaling_NaN == Theirs::has_signaling_NaN);
    const auto same = [](Type ours, Hardware theirs) { return ours.bits() == Type(theirs).bits(); };
    CHECK(same(Ours::min(), Theirs::min()));
    CHECK(same(Ours::max(), Theirs::max()));
    CHECK(same(Ours::lowest(), Theirs::lowest()));
    CHECK(same(Ours::epsilon(), Theirs::epsilon()));
    CHECK(same(Ours::denorm_min(), Theirs::denorm_min()));
    CHECK(same(Ours::infinity(), Theirs::infinity()));
    CHECK(same(Ours::round_error(), Theirs::round_error()));
}

}  // namespace

TEST_CASE("the limits of fp32 and fp64 are those of float and double") {
    check_same_as_hardware<fp32, float>();
    check_same_as_hardware<fp64, double>();
}

TEST_CASE_TEMPLATE("the limits are the ends of the format's numbers", Type, fp64, fp32, tf32, bf16, fp16, e5m2, e4m3,
                   e5m2fnuz, e4m3fnuz, e3m2, e2m3, e2m1, e8m0) {
    using Limits = std::numeric_limits<Type>;
    constexpr FloatFormat format = Type::format;
    const Oracle oracle(format);
    CHECK(Limits::max().bits() == oracle.last_finite() << format.padding_bits);
    const std::uint64_t first_normal = format.has_subnormals ? std::uint64_t{1} << format.fraction_bits : 0;
    CHECK(Limits::min().bits() == first_normal << format.padding_bits);
    CHECK(Limits::denorm_min().bits() == (format.has_subnormals ? std::uint64_t{1} << format.padding_bits : 0));
    CHECK((format.has_sign ? -Limits::lowest() : Limits::min()).bits() ==
          (format.has_sign ? Limits::max() : Limits::lowest()).bits());
    // 1 + epsilon is the next number after 1.
    CHECK((next_up(Type{1}) - Type{1}).bits() == Limits::epsilon().bits());
    CHECK(static_cast<double>(Limits::round_error()) == 0.5);
    if (Limits::has_infinity) CHECK(number(Limits::infinity()).kind == Number::Kind::infinity);
    if (Limits::has_quiet_NaN) CHECK(number(Limits::quiet_NaN()).kind == Number::Kind::nan);
    if (Limits::has_signaling_NaN) CHECK(number(Limits::signaling_NaN()).kind == Number::Kind::signaling_nan);
    // C's definitions: the powers of ten between the smallest normal and the largest number.
    CHECK(compare_power_of_ten(Limits::max_exponent10, number(Limits::max())) <= 0);
    CHECK(compare_power_of_ten(Limits::max_exponent10 + 1, number(Limits::max())) > 0);
    CHECK(compare_power_of_ten(Limits::min_exponent10, number(Limits::min())) >= 0);
    CHECK(compare_power_of_ten(Limits::min_exponent10 - 1, number(Limits::min())) < 0);
}

TEST_CASE("the ends of the formats as their standards give them") {
    CHECK(static_cast<double>(std::numeric_limits<fp16>::max()) == 65504);
    CHECK(static_cast<double>(std::numeric_limits<bf16>::max()) == 0x1.FEp127);
    CHECK(static_cast<double>(std::numeric_limits<tf32>::max()) == 0x1.FFCp127);
    CHECK(static_cast<double>(std::numeric_limits<e4m3>::max()) == 448);
    CHECK(static_cast<double>(std::numeric_limits<e5m2>::max()) == 57344);
    CHECK(static_cast<double>(std::numeric_limits<e4m3fnuz>::max()) == 240);
    CHECK(static_cast<double>(std::numeric_limits<e5m2fnuz>::max()) == 57344);
    CHECK(static_cast<double>(std::numeric_limits<e3m2>::max()) == 28);
    CHECK(static_cast<double>(std::numeric_limits<e2m3>::max()) == 7.5);
    CHECK(static_cast<double>(std::numeric_limits<e2m1>::max()) == 6);
    CHECK(static_cast<double>(std::numeric_limits<e8m0>::max()) == 0x1p127);
    CHECK(static_cast<double>(std::numeric_limits<e4m3>::denorm_min()) == 0x1p-9);
    CHECK(static_cast<double>(std::numeric_limits<e5m2>::denorm_min()) == 0x1p-16);
    CHECK(static_cast<double>(std::numeric_limits<e4m3fnuz>::denorm_min()) == 0x1p-10);
    CHECK(static_cast<double>(std::numeric_limits<e3m2>::denorm_min()) == 0.0625);
    CHECK(static_cast<double>(std::numeric_limits<e2m3>::denorm_min()) == 0.125);
    CHECK(static_cast<double>(std::numeric_limits<e2m1>::denorm_min()) == 0.5);
    CHECK(static_cast<double>(std::numeric_limits<e8m0>::min()) == 0x1p-127);
}

}  // namespace ulp::test
