// Norms, exponentials and softmax, with every step rounded to a format.
#include "experiments/shared/norms_and_softmax.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "experiments/framework/control.hpp"
#include "experiments/framework/sources.hpp"
#include "experiments/shared/sums.hpp"
#include "softfloat/functions/functions.hpp"

namespace ulp {
namespace {

using sources::cite;

/// The norm of N fours: squares and their sum in T, in order or pairwise, root in T, stored in Half.
template <class T, class Half>
Half norm_of_fours(std::size_t count, bool pairwise) {
    const std::vector<T> squares(count, T(4) * T(4));
    const T sum = pairwise ? sum_pairwise<T>(squares) : sum_one_by_one<T>(squares);
    return Half(static_cast<double>(sqrt(sum)));
}

template <class Half>
void claim_norms(Result& result) {
    const std::string slide = cite(sources::volta_talk, "Reductions: large sums of values: L1 norm, L2 norm, softmax");
    for (const auto& [count, norm] : {std::pair{4094, 255.875}, {4095, 256.0}, {4096, 256.0}, {4097, 256.0}}) {
        result.arithmetic(
            fmt::format("norm_fp32_{}", count), slide,
            fmt::format("The L2 norm of {} fours, accumulated in fp32 and stored in fp16, is {}.", count, norm),
            equal(norm, norm_of_fours<fp32, Half>(static_cast<std::size_t>(count), false)));
    }
    result.arithmetic(
        "norm_fp16_overflow", slide, "With the sum of squares in fp16 the norm is infinite from N = 4095 on.",
        equal(
            4095,
            [] {
                std::int64_t count = 4000;
                while (count < 5000 && !isinf(norm_of_fours<Half, Half>(static_cast<std::size_t>(count), true)))
                    ++count;
                return count;
            }(),
            "fours"));
}

void figure_norms(Result& result) {
    Figure figure{
        "norms", "The L2 norm of N fours, stored in fp16",
        "Squares summed in fp32, in fp16 pairwise, in fp16 one by one. Exact: 4 times the root of N. Crosses: "
        "infinity.",
        "", ""};
    constexpr std::size_t most = 6144;
    figure.meaning = fmt::format("The norm of {} fours is {:.1f}.", most, 4 * std::sqrt(static_cast<double>(most)));
    const auto add = [&](const char* name, fp16 (*norm)(std::size_t, bool), bool pairwise) {
        Series series{name, formats::fp16, {}};
        for (std::size_t n = 256; n <= most; n += 128) {
            series.points.push_back({static_cast<double>(n), static_cast<double>(norm(n, pairwise))});
        }
        const auto infinite = std::ranges::find_if(series.points, [](const Point& p) { return !std::isfinite(p.y); });
        figure.meaning += fmt::format(
            " {}: {:g}{}.", name, series.points.back().y,
            infinite == series.points.end() ? "" : fmt::format(" from N = {:g} on, of the N shown", infinite->x));
        figure.series.push_back(std::move(series));
    };
    add("fp32 sum of squares", norm_of_fours<fp32, fp16>, false);
    add("fp16 pairwise", norm_of_fours<fp16, fp16>, true);
    add("fp16 one by one", norm_of_fours<fp16, fp16>, false);
    figure.plot = "norms";
    result.figure(std::move(figure));
}

/// The sum of the softmax of `classes` equal logits, every step rounded to T: 1 where all is well.
template <class T>
T softmax_sum(double logit, int classes, bool subtract_maximum) {
    const T x = subtract_maximum ? T(logit) - T(logit) : T(logit);
    const std::vector<T> powers(static_cast<std::size_t>(classes), exp(x));
    const T sum = sum_one_by_one<T>(powers);
    const std::vector<T> shares(powers.size(), powers.front() / sum);
    return sum_one_by_one<T>(shares);
}

/// The smallest fp16 number whose exponential, rounded to T, is infinite.
template <class T>
fp16 exp_overflows_at() {
    std::uint16_t code = fp16(1).bits();
    while (!isinf(exp(T(static_cast<double>(fp16::from_bits(code)))))) ++code;
    return fp16::from_bits(code);
}

template <class Half>
void claim_exponentials(Result& result) {
    const std::string slide = cite(sources::volta_talk, "Pointwise operations: |f(x)| >> |x|: exp, square, log");
    // ln 65520 = 11.0899 lies between the fp16 neighbours 11.0859375 and 11.09375; ln 3.4e38 = 88.72 below 88.75.
    result.arithmetic("exp_fp16", slide,
                      "e^x overflows in fp16 from x = 11.09375 on, the first fp16 number above ln 65520.",
                      equal(11.09375, exp_overflows_at<Half>()));
    result.arithmetic("exp_fp32", slide,
                      "e^x overflows in fp32 from x = 88.75 on (x in fp16): a range wider by a factor 8 only.",
                      equal(88.75, exp_overflows_at<fp32>()));
    result.arithmetic("softmax_fp16_zero", cite(sources::volta_talk, "Loss, probability layers: FP32 math"),
                      "Ten equal logits of 10: e^x is finite in fp16 but the sum is not, and every probability is 0.",
                      equal(0, softmax_sum<Half>(10, 10, false)));
    result.arithmetic("softmax_fp16_nan", cite(sources::volta_talk, "Loss, probability layers: FP32 math"),
                      "Ten equal logits of 12: e^x is infinite in fp16, and every probability is NaN.",
                      is(isnan(softmax_sum<Half>(12, 10, false)), "NaN", value_text(softmax_sum<Half>(12, 10, false))));
    result.arithmetic(
        "softmax_fp16_shifted", cite(sources::volta_talk, "Loss, probability layers: FP32 math"),
        "With the maximum subtracted first, the same probabilities in fp16 add up to 1, within two ulps.",
        at_most(2, std::fabs(static_cast<double>(softmax_sum<Half>(12, 10, true)) - 1) * 0x1p10, {"", "ulps", 1, 1}));
}

void figure_softmax(Result& result) {
    Figure figure{
        "softmax", "Softmax of ten equal logits: do the probabilities add up to 1?",
        "Every step rounded to the format. Crosses: NaN (infinity divided by infinity).",
        "Where the sum of the exponentials is infinite the probabilities are 0, where an exponential is they are NaN. "
        "Of the logits shown the first ones:",
        ""};
    const auto series = [&](const char* name, const FloatFormat& format, auto softmax) {
        Series s{name, format, {}};
        for (double logit = 0.5; logit <= 96; logit += 0.5)
            s.points.push_back({logit, static_cast<double>(softmax(logit))});
        figure.meaning += fmt::format(" {} 0 {}, NaN {};", name, first_x(s, [](double y) { return y == 0; }),
                                      first_x(s, [](double y) { return std::isnan(y); }));
        figure.series.push_back(std::move(s));
    };
    series("fp32", formats::fp32, [](double x) { return softmax_sum<fp32>(x, 10, false); });
    series("bf16", formats::bf16, [](double x) { return softmax_sum<bf16>(x, 10, false); });
    series("fp16", formats::fp16, [](double x) { return softmax_sum<fp16>(x, 10, false); });
    series("fp16 minus the maximum", formats::fp16, [](double x) { return softmax_sum<fp16>(x, 10, true); });
    figure.meaning.back() = '.';
    figure.axes = {{.label = "logit of each of the ten classes", .from = 0.0, .to = 98.0},
                   {.label = "sum of the ten probabilities", .from = -0.45, .to = 1.1, .step = 0.5}};
    for (int i = 0; i < 4; ++i) figure.looks.push_back({.width = 8.0 - 2 * i, .beyond = -0.21 - 0.06 * i});
    figure.notes = {{0, -0.17, "NaN"}};
    result.figure(std::move(figure));
}

}  // namespace

void norms_and_softmax(const RunContext& context, Result& result) {
    with_16_bit_formats(context, [&]<class Half, class>() {
        claim_norms<Half>(result);
        claim_exponentials<Half>(result);
    });
    figure_norms(result);
    figure_softmax(result);
}

}  // namespace ulp
