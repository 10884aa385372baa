#include "softfloat/matrix_units/schemes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <vector>

#include "softfloat/matrix_units/bound_operands.hpp"
#include "softfloat/matrix_units/exact_sum.hpp"
#include "softfloat/matrix_units/product.hpp"
#include "softfloat/matrix_units/rounded_up.hpp"
#include "softfloat/names.hpp"
#include "softfloat/round.hpp"
#include "softfloat/support/bits.hpp"
#include "softfloat/support/parallel.hpp"

namespace ulp {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double fp64_roundoff = 0x1p-53;

/// input, parts and last are of the schemes in fp32 alone.
struct SchemeRow {
    std::string_view name;
    FloatFormat input;
    int parts, last;
};
constexpr std::array scheme_rows = {SchemeRow{"bf16x3", formats::bf16, 2, 2},
                                    SchemeRow{"bf16x6", formats::bf16, 3, 3},
                                    SchemeRow{"bf16x9", formats::bf16, 3, 5},
                                    SchemeRow{"3xtf32", formats::tf32, 2, 2},
                                    SchemeRow{"ozaki1", {}, 0, 0},
                                    SchemeRow{"ozaki2", {}, 0, 0}};
constexpr int most_slices = 32;

// Coprime, the largest first, so that remainders fit 8 bits with a sign.
constexpr std::array<int, 16> moduli = {256, 255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217, 211, 199, 197, 193};

const SchemeRow& row_of(const Scheme& scheme) { return scheme_rows.at(static_cast<std::size_t>(scheme.kind)); }

/// Whole numbers of up to operand_bits bits and a sign are operands, and sums of up to 2^sum_bits are exact.
struct ExactIntegers {
    int operand_bits, sum_bits;
};

/// Units that align, cut and round terms do so at a bit that is not above the last one of numbers of sum_bits bits, for
/// no term and no partial sum is larger. Those of files may do anything, and are left out.
std::optional<ExactIntegers> exact_integers(const UnitModel& unit) {
    if (const auto* integers = std::get_if<IntegerModel>(&unit)) {
        const bool is_signed = integers->a_signed && integers->b_signed;
        if (integers->product != IntegerProduct::multiply || !is_signed) return std::nullopt;
        return ExactIntegers{integers->bits - 1, 31};
    }
    const auto* model = std::get_if<TensorCoreModel>(&unit);
    if (model == nullptr || is_varied(*model) || model->accumulator == formats::fp64) return std::nullopt;
    const int kept =
        is_fused(*model) ? std::min(model->fraction_bits, model->output_fraction_bits) : model->output_fraction_bits;
    const auto bits = [](const FloatFormat& format) { return std::min(format.precision(), format.emax() + 1); };
    return ExactIntegers{std::min(bits(model->a_format), bits(model->b_format)), kept + 1};
}

/// The root of half of the moduli's product, less one part in 2^40: row times column is at most its square.
double largest_integer(int count) {
    double product = 0.5 - 0x1p-40;
    for (int i = 0; i < count; ++i) product *= moduli[static_cast<std::size_t>(i)];
    return std::sqrt(product) * (1 - 0x1p-40);
}

[[noreturn]] void refuse(const UnitRow& unit, std::string_view scheme, const std::string& why) {
    throw std::invalid_argument(unit.key() + ": " + std::string(scheme) + " " + why);
}

SchemePlan plan_of_floats(const Scheme& scheme, const UnitRow& unit, const ProductOrder& order,
                          const FloatFormat& output) {
    const SchemeRow& row = row_of(scheme);
    const auto* model = unit.as<TensorCoreModel>();
    if (model == nullptr || model->a_format != row.input || model->b_format != row.input ||
        model->accumulator != formats::fp32) {
        const std::string input = name_of(row.input);
        refuse(unit, row.name,
               "multiplies " + input + " numbers into fp32 sums; take a row such as sm_90:wgmma." + input + ".fp32" +
                   (exact_integers(unit.model) ? ", or ozaki1 on this one" : ""));
    }
    if (output != formats::fp32) refuse(unit, row.name, "is for float32 operands; take ozaki1 or ozaki2 for float64");
    if (order.epilogue) refuse(unit, row.name, "has no --alpha and --beta; scale A or D");
    require_fitting(*model, order);
    SchemePlan plan{scheme, unit.model, order, output, row.last, row.input.precision()};
    plan.scheme.parts = row.parts;
    return plan;
}

SchemePlan plan_of_integers(const Scheme& scheme, const UnitRow& unit, const ProductOrder& order, std::int64_t k,
                            const FloatFormat& output) {
    const SchemeRow& row = row_of(scheme);
    if (order != ProductOrder{})
        refuse(unit, row.name, "adds without error in any order; leave --order, --alpha and --beta out");
    const auto exact = exact_integers(unit.model);
    constexpr int shortest = 6;  // log2 of k that is added at once; a shorter one would leave the unit little to do
    const bool by_slices = scheme.kind == SchemeKind::ozaki1;
    const int bits = !exact ? 0 : by_slices ? std::min(exact->operand_bits, (exact->sum_bits - shortest) / 2) : 7;
    if (!exact || bits < 2 || bits > exact->operand_bits || 2 * bits + shortest > exact->sum_bits) {
        refuse(unit, row.name,
               by_slices
                   ? "needs signed operands whose sums are exact; take a row such as sm_90:mma.s8.s32"
                   : "has remainders of 8 bits, whose sums must be exact; take sm_90:mma.s8.s32 or a bf16 row, or "
                     "ozaki1, whose slices are as narrow as the unit");
    }
    SchemePlan plan{scheme, unit.model, order, output};
    int& parts = plan.scheme.parts;
    const int p = output.precision();
    if (by_slices) {
        while (parts == 0 || (scheme.parts == 0 && (parts + 1) * std::ldexp(1.0, -parts * bits + p) > 1)) ++parts;
        plan.last = parts;
        plan.shift = bits;
    } else if (parts == 0) {
        const double needed = std::ldexp(std::sqrt(static_cast<double>(k)), p + 1);
        while (parts < 2 || (parts < static_cast<int>(moduli.size()) && largest_integer(parts) < needed)) ++parts;
    }
    plan.exact_k = std::int64_t{1} << std::min(exact->sum_bits - 2 * bits - (by_slices ? 0 : 1), 20);
    return plan;
}

/// The rows of A or the columns of B in parts. Row i, place h is element i * k + h.
struct Side {
    std::int64_t count, k;
    std::vector<int> exponent;               // of each row: 2^exponent is above its numbers; 0 for schemes in fp32
    std::vector<int> bits;                   // of ozaki2: the numbers are cut to 2^-bits of that
    std::vector<char> finite;                // whether all numbers of the row are
    std::vector<std::vector<float>> parts;   // slices or remainders
    std::vector<std::vector<double>> tails;  // |x - the first s parts| in units of 2^exponent; tails[0] are |x|

    [[nodiscard]] std::span<const double> tail(int s, std::int64_t row) const {
        return std::span(tails[static_cast<std::size_t>(s)])
            .subspan(static_cast<std::size_t>(row * k), static_cast<std::size_t>(k));
    }
    [[nodiscard]] std::vector<double> part(int s, std::int64_t row) const {
        const auto first = parts[static_cast<std::size_t>(s)].begin() + row * k;
        return {first, first + k};
    }
    [[nodiscard]] MatrixView view(int s) const { return {parts[static_cast<std::size_t>(s)].data(), count, k}; }
};

/// Parts of one number, largest first: `to_part` gives that of s from what is left.
template <class ToPart>
void split(Side& side, std::size_t at, double x, int count, int first_shift, int shift, const ToPart& to_part) {
    side.tails[0][at] = std::abs(x);
    for (int s = 0; s < count; ++s) {
        const int exponent = first_shift + s * shift;
        const double part = to_part(std::ldexp(x, exponent));
        side.parts[static_cast<std::size_t>(s)][at] = static_cast<float>(part);
        x -= std::ldexp(part, -exponent);
        side.tails[static_cast<std::size_t>(s) + 1][at] = std::abs(x);
    }
}

/// The remainder of least magnitude, below p / 2.
std::int64_t remainder_of(std::int64_t x, std::int64_t p) {
    const std::int64_t r = ((x % p) + p) % p;
    return 2 * r >= p ? r - p : r;
}

/// Two tails: the numbers, and what cutting them leaves out.
void take_remainders(Side& side, std::int64_t row, const SchemePlan& plan, const std::vector<double>& numbers) {
    double squares = 0;
    for (const double x : numbers) squares += x * x;
    const double norm = rounded_up(std::sqrt(squares), static_cast<double>(side.k) + 4);
    const int bits = norm == 0 ? 0 : std::ilogb(largest_integer(plan.scheme.parts) / norm);
    side.bits[static_cast<std::size_t>(row)] = bits;
    for (std::size_t h = 0; h < numbers.size(); ++h) {
        const auto at = static_cast<std::size_t>(row * side.k) + h;
        const double whole = std::trunc(std::ldexp(numbers[h], bits));
        side.tails[0][at] = std::abs(numbers[h]);
        side.tails[1][at] = std::abs(numbers[h] - std::ldexp(whole, -bits));
        for (int s = 0; s < plan.scheme.parts; ++s) {
            side.parts[static_cast<std::size_t>(s)][at] =
                static_cast<float>(remainder_of(static_cast<std::int64_t>(whole), moduli[static_cast<std::size_t>(s)]));
        }
    }
}

Side side_of(const SchemePlan& plan, const BasicMatrixView<const double>& rows) {
    const auto count = static_cast<std::size_t>(rows.rows);
    const std::size_t size = count * static_cast<std::size_t>(rows.cols);
    const auto parts = static_cast<std::size_t>(plan.scheme.parts);
    const bool remainders = plan.scheme.kind == SchemeKind::ozaki2;
    Side side{rows.rows,
              rows.cols,
              std::vector<int>(count),
              std::vector<int>(count),
              std::vector<char>(count, 1),
              {parts, std::vector<float>(size)},
              {remainders ? 2 : parts + 1, std::vector<double>(size)}};
    const FloatFormat input = row_of(plan.scheme).input;
    for_each_index(rows.rows, worth_threads(true), [&](std::int64_t i) {
        std::vector<double> x;
        double largest = 0;
        for (std::int64_t h = 0; h < rows.cols; ++h) {
            x.push_back(rows(i, h));
            if (!std::isfinite(x.back())) side.finite[static_cast<std::size_t>(i)] = 0;
            largest = std::max(largest, std::abs(x.back()));
        }
        if (side.finite[static_cast<std::size_t>(i)] == 0) return;  // its parts stay zeros
        int exponent = 0;
        if (plan.of_integers()) (void)std::frexp(largest, &exponent);
        side.exponent[static_cast<std::size_t>(i)] = exponent;
        for (double& each : x) each = std::ldexp(each, -exponent);
        if (remainders) return take_remainders(side, i, plan, x);
        for (std::size_t h = 0; h < x.size(); ++h) {
            const auto at = static_cast<std::size_t>(i * rows.cols) + h;
            if (plan.of_integers()) {
                split(side, at, x[h], plan.scheme.parts, plan.shift, plan.shift,
                      [](double v) { return std::trunc(v); });
            } else {
                // A number of nearly 2^128 stays finite, and what it loses is in the next part.
                split(side, at, x[h], plan.scheme.parts, 0, plan.shift,
                      [&](double v) { return round_to(input, v, Context{.saturate = true}); });
            }
        }
    });
    return side;
}

/// f(s, t) for the products of parts that are made, with one s + t after the other, the largest first; behind each of
/// them next(s + t).
template <class Pair, class Next>
void each_pair(const SchemePlan& plan, const Pair& pair, const Next& next) {
    for (int sum = std::min(plan.last, 2 * plan.scheme.parts - 1) - 1; sum >= 0; --sum) {
        for (int s = std::max(0, sum - plan.scheme.parts + 1); s <= std::min(sum, plan.scheme.parts - 1); ++s) {
            pair(s, sum - s);
        }
        next(sum);
    }
}

/// The sums of whole numbers, added over the stretches of k that the unit adds without error.
void add_exactly(const SchemePlan& plan, const MatrixView& a, const MatrixView& b, std::vector<std::int64_t>& total) {
    const auto* integers = std::get_if<IntegerModel>(&plan.unit);
    const std::int64_t m = a.rows, n = b.cols;
    std::vector<std::int32_t> whole_a, whole_b, whole_d(integers == nullptr ? 0 : total.size());
    std::vector<float> d(integers == nullptr ? total.size() : 0);
    for (std::int64_t first = 0; first < a.cols; first += plan.exact_k) {
        const std::int64_t count = std::min(plan.exact_k, a.cols - first);
        const MatrixView x = a.part(0, first, m, count), y = b.part(first, 0, count, n);
        if (integers == nullptr) {
            soft_product(std::get<TensorCoreModel>(plan.unit), {}, {x, y, {}, {d.data(), m, n}});
            for (std::size_t i = 0; i < total.size(); ++i) total[i] += static_cast<std::int64_t>(d[i]);
            continue;
        }
        whole_a.clear();
        whole_b.clear();
        for (std::int64_t i = 0; i < m; ++i) {
            for (std::int64_t h = 0; h < count; ++h) whole_a.push_back(static_cast<std::int32_t>(x(i, h)));
        }
        for (std::int64_t j = 0; j < n; ++j) {
            for (std::int64_t h = 0; h < count; ++h) whole_b.push_back(static_cast<std::int32_t>(y(h, j)));
        }
        const BasicMatrixView<const std::int32_t> columns(whole_b.data(), n, count);
        gemm(*integers, {{whole_a.data(), m, count}, columns.transposed(), {}, {whole_d.data(), m, n}});
        for (std::size_t i = 0; i < total.size(); ++i) total[i] += whole_d[i];
    }
}

/// Sums of A's and B's parts in fp32, without C.
std::vector<double> sums_of_floats(const SchemePlan& plan, const Side& a, const Side& b) {
    const auto size = static_cast<std::size_t>(a.count * b.count);
    std::vector<float> sum(size), step(size), d(size);
    const float scale = std::ldexp(1.0F, -plan.shift);
    bool first = true;
    each_pair(
        plan,
        [&](int s, int t) {
            soft_product(std::get<TensorCoreModel>(plan.unit), plan.order,
                         {a.view(s), b.view(t).transposed(), {}, {d.data(), a.count, b.count}});
            for (std::size_t i = 0; i < size; ++i) step[i] = first ? d[i] : step[i] + d[i];
            first = false;
        },
        [&](int) {
            for (std::size_t i = 0; i < size; ++i) sum[i] = std::fma(sum[i], scale, step[i]);
            first = true;
        });
    return {sum.begin(), sum.end()};
}

/// The same in fp64 for ozaki1: each s + t is a whole number.
std::vector<double> sums_of_slices(const SchemePlan& plan, const Side& a, const Side& b) {
    const auto size = static_cast<std::size_t>(a.count * b.count);
    std::vector<double> sum(size);
    std::vector<std::int64_t> step(size);
    each_pair(
        plan, [&](int s, int t) { add_exactly(plan, a.view(s), b.view(t).transposed(), step); },
        [&](int) {
            for (std::size_t i = 0; i < size; ++i) {
                sum[i] = std::ldexp(sum[i], -plan.shift) + static_cast<double>(step[i]);
                step[i] = 0;
            }
        });
    for (double& x : sum) x = std::ldexp(x, -2 * plan.shift);
    return sum;
}

/// x with x y = 1 modulo p.
int inverse(int y, int p) {
    int x = 1;
    while (x * (y % p) % p != 1) ++x;
    return x;
}

/// The whole number of least magnitude with these remainders, to fp64: its digits to the bases p[0], p[0] p[1], ...
/// (Garner) lie around zero, too.
double join_remainders(const std::vector<std::int64_t>& remainders) {
    static const auto inverses = [] {
        std::array<std::array<int, moduli.size()>, moduli.size()> table{};
        for (std::size_t i = 0; i < moduli.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) table[i][j] = inverse(moduli[j], moduli[i]);
        }
        return table;
    }();
    std::array<std::int64_t, moduli.size()> digits{};
    UInt128 value = 0;  // of two's complement: the moduli's product is below 2^126
    for (std::size_t i = 0; i < remainders.size(); ++i) {
        std::int64_t digit = remainders[i];
        for (std::size_t j = 0; j < i; ++j) digit = remainder_of((digit - digits[j]) * inverses[i][j], moduli[i]);
        digits[i] = remainder_of(digit, moduli[i]);
    }
    for (std::size_t i = remainders.size(); i-- > 0;) {
        value = value * static_cast<UInt128>(moduli[i]) + static_cast<UInt128>(digits[i]);
    }
    const bool negative = (value >> 127) != 0;
    const auto magnitude = static_cast<double>(negative ? -value : value);
    return negative ? -magnitude : magnitude;
}

std::vector<double> sums_of_remainders(const SchemePlan& plan, const Side& a, const Side& b) {
    const auto size = static_cast<std::size_t>(a.count * b.count);
    std::vector<std::vector<std::int64_t>> sums(static_cast<std::size_t>(plan.scheme.parts),
                                                std::vector<std::int64_t>(size));
    for (int s = 0; s < plan.scheme.parts; ++s) {
        add_exactly(plan, a.view(s), b.view(s).transposed(), sums[static_cast<std::size_t>(s)]);
    }
    std::vector<double> joined(size);
    for_each_index(a.count, worth_threads(true), [&](std::int64_t i) {
        std::vector<std::int64_t> remainders(sums.size());
        for (std::int64_t j = 0; j < b.count; ++j) {
            const auto at = static_cast<std::size_t>(i * b.count + j);
            for (std::size_t s = 0; s < sums.size(); ++s) remainders[s] = sums[s][at] % moduli[s];
            joined[at] = std::ldexp(join_remainders(remainders),
                                    -a.bits[static_cast<std::size_t>(i)] - b.bits[static_cast<std::size_t>(j)]);
        }
    });
    return joined;
}

/// (1 + u)^n - 1, rounded up.
double growth(double u, std::int64_t n) { return rounded_up(std::expm1(static_cast<double>(n) * std::log1p(u)), 4); }

/// What the products that are not made leave out of an element, and sum |a b|: both in units of the exponents.
struct LeftOut {
    double error = 0, magnitude = 0;
};
LeftOut left_out(const SchemePlan& plan, const Side& a, const Side& b, std::int64_t i, std::int64_t j) {
    LeftOut sum;
    const auto dot = [](std::span<const double> x, std::span<const double> y) {
        double total = 0;
        for (std::size_t h = 0; h < x.size(); ++h) total += x[h] * y[h];
        return total;
    };
    const int parts = plan.scheme.parts;
    sum.magnitude = dot(a.tail(0, i), b.tail(0, j));
    if (plan.scheme.kind == SchemeKind::ozaki2) {
        sum.error = dot(a.tail(1, i), b.tail(0, j)) + dot(a.tail(0, i), b.tail(1, j));
    } else {
        sum.error = dot(a.tail(parts, i), b.tail(0, j));
        for (int s = 0; s < parts; ++s) {
            std::vector<double> part = a.part(s, i);
            const int exponent = -plan.shift * (plan.of_integers() ? s + 1 : s);
            for (double& x : part) x = std::ldexp(std::abs(x), exponent);
            sum.error += dot(part, b.tail(std::clamp(plan.last - s, 0, parts), j));
        }
    }
    const auto operations = static_cast<double>((parts + 2) * (a.k + 2));
    // Products of numbers far below the largest of their row and column may underflow.
    const double lost = plan.of_integers() ? operations * 0x1p-1000 : operations * 0x1p-1070;
    return {rounded_up(sum.error, operations) + lost, rounded_up(sum.magnitude, operations) + lost};
}

double bound_of_floats(const SchemePlan& plan, const AprioriBound& unit_bound, const Side& a, const Side& b, double c,
                       std::int64_t i, std::int64_t j) {
    const auto& model = std::get<TensorCoreModel>(plan.unit);
    double error = 0, magnitude = 0;
    each_pair(
        plan,
        [&](int s, int t) {
            const Magnitude m = magnitude_of(model, a.part(s, i), b.part(t, j), 0);
            const double scale = std::ldexp(1.0, -plan.shift * (s + t));
            error += scale * bound_at(model, unit_bound, m);
            magnitude += scale * m.plain;
        },
        [](int) {});
    const std::int64_t additions = plan.products;  // one more than of products, for C's
    const double sum = magnitude + error + std::abs(c);
    const double u = growth(0x1p-24, additions);
    // The parts of one s + t are not scaled down before they are added: up to three products of about A's and B's size.
    if (!(4 * sum < 0x1p128)) return infinity;
    const double rounding = u * sum + static_cast<double>(additions + 1) * 0x1p-149;
    return rounded_up(error + rounding + left_out(plan, a, b, i, j).error, static_cast<double>(4 * additions));
}

double bound_of_integers(const SchemePlan& plan, const Side& a, const Side& b, double c, std::int64_t i,
                         std::int64_t j) {
    const LeftOut out = left_out(plan, a, b, i, j);
    const int exponent = a.exponent[static_cast<std::size_t>(i)] + b.exponent[static_cast<std::size_t>(j)];
    const bool narrow = plan.output == formats::fp32;
    const std::int64_t additions = plan.scheme.kind == SchemeKind::ozaki1 ? plan.scheme.parts : 1;
    double error =
        std::ldexp(rounded_up(out.error + growth(fp64_roundoff, additions) * out.magnitude, 4), exponent) + 0x1p-1073;
    const double sum = rounded_up(std::ldexp(out.magnitude, exponent) + error + std::abs(c), 4);
    error += fp64_roundoff * sum;  // C's addition
    if (narrow) error += 0x1p-24 * (1 + 0x1p-50) * sum + 0x1p-150;
    const double largest = narrow ? 0x1p128 * (1 - 0x1p-25) : std::numeric_limits<double>::max();
    return sum * (1 + 0x1p-50) < largest ? rounded_up(error, 8) : infinity;
}

}  // namespace

Scheme scheme_by_name(std::string_view name) {
    const std::string_view word = name.substr(0, name.find(':'));
    const auto row = std::ranges::find(scheme_rows, word, &SchemeRow::name);
    Scheme scheme;
    bool good = row != scheme_rows.end();
    if (good) scheme.kind = static_cast<SchemeKind>(row - scheme_rows.begin());
    if (good && word != name) {
        const std::string_view digits = name.substr(word.size() + 1);
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), scheme.parts);
        const int most = word == "ozaki1" ? most_slices : static_cast<int>(moduli.size());
        good = row->parts == 0 && error == std::errc() && end == digits.data() + digits.size() && scheme.parts >= 1 &&
               scheme.parts <= most;
    }
    if (good) return scheme;
    throw std::invalid_argument("there is no scheme '" + std::string(name) +
                                "'; choose bf16x3, bf16x6, bf16x9, 3xtf32, ozaki1, ozaki2, ozaki1:N (1 to " +
                                std::to_string(most_slices) + " slices) or ozaki2:N (1 to " +
                                std::to_string(moduli.size()) + " moduli)");
}

std::string name_of(const Scheme& scheme) {
    const SchemeRow& row = row_of(scheme);
    const bool counted = row.parts == 0 && scheme.parts > 0;
    return std::string(row.name) + (counted ? ":" + std::to_string(scheme.parts) : "");
}

SchemePlan plan_of(const Scheme& scheme, const UnitRow& unit, const ProductOrder& order, std::int64_t k,
                   const FloatFormat& output) {
    const bool in_floats = row_of(scheme).parts > 0;
    SchemePlan plan =
        in_floats ? plan_of_floats(scheme, unit, order, output) : plan_of_integers(scheme, unit, order, k, output);
    const int last = std::min(plan.last, 2 * plan.scheme.parts - 1);
    if (scheme.kind == SchemeKind::ozaki2) plan.products = plan.scheme.parts;
    for (int sum = 0; sum < last; ++sum) plan.products += std::min(sum + 1, 2 * plan.scheme.parts - 1 - sum);
    return plan;
}

void scheme_product(const SchemePlan& plan, const Fp64Problem& p) {
    require_shapes(p);
    const Side a = side_of(plan, p.a), b = side_of(plan, p.b.transposed());
    std::vector<double> sums = !plan.of_integers()                      ? sums_of_floats(plan, a, b)
                               : plan.scheme.kind == SchemeKind::ozaki1 ? sums_of_slices(plan, a, b)
                                                                        : sums_of_remainders(plan, a, b);
    for_each_index(p.m(), worth_threads(true), [&](std::int64_t i) {
        for (std::int64_t j = 0; j < p.n(); ++j) {
            const auto row = static_cast<std::size_t>(i), column = static_cast<std::size_t>(j);
            double d =
                std::ldexp(sums[row * static_cast<std::size_t>(p.n()) + column], a.exponent[row] + b.exponent[column]);
            if (a.finite[row] == 0 || b.finite[column] == 0) {
                d = 0;
                for (std::int64_t h = 0; h < p.k(); ++h) d += p.a(i, h) * p.b(h, j);
            }
            if (p.has_c()) d += p.c(i, j);
            p.d(i, j) = plan.output == formats::fp32 ? static_cast<double>(static_cast<float>(d)) : d;
        }
    });
}

void scheme_bounds(const SchemePlan& plan, const Fp64Problem& p) {
    require_shapes(p);
    const Side a = side_of(plan, p.a), b = side_of(plan, p.b.transposed());
    AprioriBound unit;
    if (!plan.of_integers()) unit = apriori_bound(std::get<TensorCoreModel>(plan.unit), p.k(), plan.order);
    for_each_index(p.m(), worth_threads(true), [&](std::int64_t i) {
        for (std::int64_t j = 0; j < p.n(); ++j) {
            const double c = p.has_c() ? p.c(i, j) : 0;
            const bool finite = a.finite[static_cast<std::size_t>(i)] != 0 &&
                                b.finite[static_cast<std::size_t>(j)] != 0 && std::isfinite(c);
            p.d(i, j) = !finite              ? infinity
                        : plan.of_integers() ? bound_of_integers(plan, a, b, c, i, j)
                                             : bound_of_floats(plan, unit, a, b, c, i, j);
        }
    });
}

AprioriBound scheme_bound(const SchemePlan& plan, std::int64_t k) {
    const int parts = plan.scheme.parts;
    const double out = plan.output == formats::fp32 ? 0x1p-24 : fp64_roundoff;
    AprioriBound bound;
    if (plan.of_integers()) {
        // Twice a row's largest number is not below 2^exponent, and 2^bits of ozaki2 not below half of the most.
        const bool slices = plan.scheme.kind == SchemeKind::ozaki1;
        bound.shares.products = slices ? 4 * (parts + 1) * std::ldexp(1.0, -parts * plan.shift)
                                       : 8 * std::sqrt(static_cast<double>(k)) / largest_integer(parts);
        bound.shares.rounding = growth(fp64_roundoff, slices ? parts : 1) + 2 * out * (1 + bound.shares.products);
        bound.eta = plan.output == formats::fp32 ? 0x1p-149 : 0x1p-1072;
    } else {
        // |x[s]| 2^(-shift s) is at most (1 + u) u^s |x|, and |x - the first s| at most u^s |x|, with |x| at least
        // emin.
        const double u = std::ldexp(1.0, -plan.shift);
        bound = apriori_bound(std::get<TensorCoreModel>(plan.unit), k, plan.order);
        double made = 0;
        each_pair(
            plan, [&](int s, int t) { made += (1 + u) * (1 + u) * std::pow(u, s + t); }, [](int) {});
        const double rounding = growth(0x1p-24, plan.products);
        const bool exact = row_of(plan.scheme).input.precision() * parts >= formats::fp32.precision();
        double missing = exact ? 0 : std::pow(u, parts);
        for (int s = 0; s < parts; ++s) {
            const int t = std::clamp(plan.last - s, 0, parts);
            if (t < parts || !exact) missing += (1 + u) * std::pow(u, s + t);
        }
        BoundShares& shares = bound.shares;
        for (double* share : {&shares.alignment, &shares.rounding, &shares.addend, &shares.pieces, &shares.products})
            *share *= made;
        shares.pieces += rounding * (made * (1 + bound.gamma) + 1);
        shares.products += missing;
        bound.eta = (static_cast<double>(plan.products) * bound.eta * (1 + rounding) +
                     static_cast<double>(plan.products + 1) * 0x1p-149);
    }
    const BoundShares& s = bound.shares;
    bound.gamma = rounded_up(s.alignment + s.rounding + s.addend + s.pieces + s.products, 64);
    return bound;
}

double error_of(const Fp64Problem& p, std::int64_t i, std::int64_t j) {
    ExactFp64Sum sum;
    for (std::int64_t h = 0; h < p.k(); ++h) sum.add_product(-p.a(i, h), p.b(h, j));
    if (p.has_c()) sum.add_product(-p.c(i, j), 1);
    sum.add_product(p.d(i, j), 1);
    return sum.value();
}

double magnitude_of(const Fp64Problem& p, std::int64_t i, std::int64_t j) {
    double sum = p.has_c() ? std::abs(p.c(i, j)) : 0;
    for (std::int64_t h = 0; h < p.k(); ++h) sum += std::abs(p.a(i, h) * p.b(h, j));
    return rounded_up(sum, static_cast<double>(2 * p.k()));
}

double largest_error(const Fp64Problem& p) {
    double largest = 0;
    for (std::int64_t i = 0; i < p.m(); ++i) {
        for (std::int64_t j = 0; j < p.n(); ++j) {
            const double magnitude = magnitude_of(p, i, j);
            if (!std::isfinite(magnitude) || magnitude == 0) continue;
            const double error = std::isfinite(p.d(i, j)) ? std::abs(error_of(p, i, j)) : infinity;
            largest = std::max(largest, error / magnitude);
        }
    }
    return largest;
}

namespace {

/// Of D's elements in place of the problem's.
template <class Real>
double largest_error_with(Fp64Problem p, const std::vector<Real>& d) {
    std::vector<double> wide(d.begin(), d.end());
    p.d = {wide.data(), p.m(), p.n()};
    return largest_error(p);
}

template <class Real>
double largest_error_of_fmas(const Fp64Problem& p) {
    std::vector<Real> d;
    for (std::int64_t i = 0; i < p.m(); ++i) {
        for (std::int64_t j = 0; j < p.n(); ++j) {
            d.push_back(p.has_c() ? static_cast<Real>(p.c(i, j)) : Real(0));
            for (std::int64_t h = 0; h < p.k(); ++h) {
                d.back() = std::fma(static_cast<Real>(p.a(i, h)), static_cast<Real>(p.b(h, j)), d.back());
            }
        }
    }
    return largest_error_with(p, d);
}

}  // namespace

std::optional<double> largest_error_of(const UnitRow& unit, const Fp64Problem& p) {
    const auto* model = unit.as<TensorCoreModel>();
    if (model == nullptr) return std::nullopt;
    const auto rounded = [](const BasicMatrixView<const double>& x, const FloatFormat& format) {
        std::vector<float> values;
        for (std::int64_t i = 0; i < x.rows; ++i) {
            for (std::int64_t j = 0; j < x.cols; ++j) {
                values.push_back(static_cast<float>(round_to(format, x(i, j), Context{.saturate = true})));
            }
        }
        return values;
    };
    const std::vector<float> a = rounded(p.a, model->a_format), b = rounded(p.b, model->b_format);
    const std::vector<float> c = p.has_c() ? rounded(p.c, model->accumulator) : std::vector<float>{};
    std::vector<float> d(static_cast<std::size_t>(p.m() * p.n()));
    const MatrixView addend = p.has_c() ? MatrixView(c.data(), p.m(), p.n()) : MatrixView();
    gemm(*model, GemmProblem{{a.data(), p.m(), p.k()}, {b.data(), p.k(), p.n()}, addend, {d.data(), p.m(), p.n()}});
    return largest_error_with(p, d);
}

double largest_error_of_chain(const FloatFormat& format, const Fp64Problem& p) {
    return format == formats::fp64 ? largest_error_of_fmas<double>(p) : largest_error_of_fmas<float>(p);
}

}  // namespace ulp
