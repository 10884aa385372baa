// An independent, slow judge of the arithmetic. It shares no code with softfloat/: it knows what a format's codes mean
// (the definition), computes every result exactly with whole numbers, and rounds by *looking where the result lies*
// between two neighbouring numbers of the format, by exact comparisons with the neighbours and the midpoint. There are
// no guard or sticky bits in it.
//
// `Integer` holds the exact sums: Narrow where the range of the format allows (fp16), Wide up to fp32's range,
// Unlimited for everything. A test shows that they agree.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>

#include "softfloat/context.hpp"
#include "softfloat/format.hpp"

namespace ulp::test {

__extension__ typedef __int128 Narrow;
using Wide = boost::multiprecision::number<boost::multiprecision::cpp_int_backend<
    640, 640, boost::multiprecision::signed_magnitude, boost::multiprecision::unchecked, void>>;
using Unlimited = boost::multiprecision::cpp_int;

/// A result's storage word and the flags it raises.
struct Answer {
    std::uint64_t bits;
    unsigned flags;
    bool operator==(const Answer&) const = default;
};

/// A number by its definition: (-1)^negative * significand * 2^exponent; NaN and infinity apart.
struct Number {
    enum class Kind : std::uint8_t { finite, infinity, nan, signaling_nan } kind;
    bool negative;
    std::int64_t significand;
    int exponent;
    [[nodiscard]] bool is_zero() const { return kind == Kind::finite && significand == 0; }
    [[nodiscard]] bool is_nan() const { return kind == Kind::nan || kind == Kind::signaling_nan; }
};

/// Where an exact result lies on a format's grid: everything that the rounding modes need to know.
struct Located {
    enum class Kind : std::uint8_t { number, infinity, nan } kind = Kind::number;
    /// Position between two neighbours of a grid.
    enum class Part : std::uint8_t { exact, below_middle, middle, above_middle };
    bool negative = false;
    bool zero = false;        // exactly zero
    bool cancelled = false;   // an exact zero from terms of opposite sign: the rounding mode decides its sign
    bool below_grid = false;  // smaller than the smallest number of a format without zero
    unsigned flags = 0;       // what is raised whatever the rounding: invalid, divide by zero
    std::uint64_t floor = 0;  // the magnitude code of the largest number not above |x|; one beyond the last finite
                              // code for anything from there up
    Part part = Part::exact;
    bool tiny = false;                  // |x| < 2^emin
    bool last_half_step = false;        // within half a step below 2^emin, where tininess after rounding is decided ...
    Part half_step_part = Part::exact;  // ... by the position in that half step
    std::uint64_t fraction = 0;         // floor((|x| - floor) / step * 2^fraction_bits asked for)
};

class Oracle {
  public:
    explicit Oracle(const FloatFormat& format);

    [[nodiscard]] const FloatFormat& format() const { return format_; }
    /// The number that a storage word stands for.
    [[nodiscard]] Number number(std::uint64_t bits) const;
    /// The last finite magnitude code.
    [[nodiscard]] std::uint64_t last_finite() const { return last_finite_; }

    /// Results of the operations on storage words of this format, located on this format's grid. `fraction_bits` asks
    /// for Located::fraction.
    template <class Integer>
    [[nodiscard]] Located sum(std::uint64_t a, std::uint64_t b, int fraction_bits = 0) const;
    template <class Integer>
    [[nodiscard]] Located difference(std::uint64_t a, std::uint64_t b, int fraction_bits = 0) const;
    [[nodiscard]] Located product(std::uint64_t a, std::uint64_t b, int fraction_bits = 0) const;
    [[nodiscard]] Located quotient(std::uint64_t a, std::uint64_t b, int fraction_bits = 0) const;
    [[nodiscard]] Located square_root(std::uint64_t a, int fraction_bits = 0) const;
    template <class Integer>
    [[nodiscard]] Located fused(std::uint64_t a, std::uint64_t b, std::uint64_t c, int fraction_bits = 0) const;
    /// a - n * b with n the integer nearest to a / b, ties to even.
    template <class Integer>
    [[nodiscard]] Located remainder(std::uint64_t a, std::uint64_t b) const;
    /// A number (of another format, or an integer) located on this format's grid.
    [[nodiscard]] Located located(const Number& number, int fraction_bits = 0) const;

    /// The code of the neighbour that the mode chooses, and the flags. Stochastic rounding takes `random` in
    /// [0, 2^random_bits) and Located::fraction of as many bits; its flags count tininess before rounding.
    [[nodiscard]] Answer round(const Located& x, Rounding rounding, Tininess tininess = Tininess::after_rounding,
                               std::uint64_t random = 0, int random_bits = 0) const;
    /// Located, then rounded with the context's options: flushing of tiny results, saturation.
    [[nodiscard]] Answer round(const Located& x, const Context& context) const;

  private:
    template <class Integer>
    struct Exact;
    template <class Integer>
    [[nodiscard]] Located locate(const Exact<Integer>& x, int fraction_bits) const;
    template <class Integer>
    [[nodiscard]] Located located_sum(const Number& a, const Number& b, int fraction_bits) const;
    [[nodiscard]] Number magnitude(std::uint64_t code) const;
    [[nodiscard]] std::uint64_t guess(double x) const;
    [[nodiscard]] Located invalid(unsigned flags) const;
    [[nodiscard]] std::uint64_t word(bool negative, std::uint64_t code) const;
    [[nodiscard]] std::uint64_t quiet_nan() const;
    [[nodiscard]] std::uint64_t infinity(bool negative) const;
    [[nodiscard]] bool stays_tiny(const Located& x, Rounding rounding, Tininess tininess) const;

    FloatFormat format_;
    std::uint64_t last_finite_;
};

extern template Located Oracle::sum<Narrow>(std::uint64_t, std::uint64_t, int) const;
extern template Located Oracle::sum<Wide>(std::uint64_t, std::uint64_t, int) const;
extern template Located Oracle::sum<Unlimited>(std::uint64_t, std::uint64_t, int) const;
extern template Located Oracle::difference<Narrow>(std::uint64_t, std::uint64_t, int) const;
extern template Located Oracle::difference<Wide>(std::uint64_t, std::uint64_t, int) const;
extern template Located Oracle::difference<Unlimited>(std::uint64_t, std::uint64_t, int) const;
extern template Located Oracle::fused<Narrow>(std::uint64_t, std::uint64_t, std::uint64_t, int) const;
extern template Located Oracle::fused<Wide>(std::uint64_t, std::uint64_t, std::uint64_t, int) const;
extern template Located Oracle::fused<Unlimited>(std::uint64_t, std::uint64_t, std::uint64_t, int) const;
extern template Located Oracle::remainder<Narrow>(std::uint64_t, std::uint64_t) const;
extern template Located Oracle::remainder<Wide>(std::uint64_t, std::uint64_t) const;
extern template Located Oracle::remainder<Unlimited>(std::uint64_t, std::uint64_t) const;

/// A finite number times 2^power, which must be a whole number.
[[nodiscard]] Unlimited scaled(const Number& number, int power);

}  // namespace ulp::test
