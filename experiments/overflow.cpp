// Where sums, norms and exponentials leave a format's range, in each format and through each matrix unit.
#include "experiments/framework/experiment.hpp"
#include "experiments/shared/matrix_units.hpp"
#include "experiments/shared/sums.hpp"
#include "softfloat/functions/functions.hpp"
#include "softfloat/text.hpp"

namespace ulp::overflow_experiment {
namespace {

// Norms, exponentials and softmax, with every step rounded to a format.

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
    Figure figure{"norms", "The L2 norm of N fours, stored in fp16",
                  "Squares summed in fp32, in fp16 pairwise, in fp16 one by one. Exact: 4 times the root of N. "
                  "Crosses: infinity.",
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
    Figure figure{"softmax", "Softmax of ten equal logits: do the probabilities add up to 1?",
                  "Every step rounded to the format. Crosses: NaN (infinity divided by infinity).",
                  "Where the sum of the exponentials is infinite the probabilities are 0, where an exponential is they "
                  "are NaN. Of the logits shown the first ones:",
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
    figure.looks.back().title = "fp16, maximum subtracted first";
    figure.notes = {{30, -0.17, "NaN"}};
    result.figure(std::move(figure));
}

/// Adds the claims and figures of norms and exponentials.
void norms_and_softmax(const RunContext& context, Result& result) {
    with_16_bit_formats(context, [&]<class Half, class>() {
        claim_norms<Half>(result);
        claim_exponentials<Half>(result);
    });
    figure_norms(result);
    figure_softmax(result);
}

std::string fields_text(const FloatFormat& format) {
    return fmt::format("{}/{}", format.exponent_bits, format.fraction_bits);
}

template <class T>
std::string range_text() {
    using Limits = std::numeric_limits<T>;
    return fmt::format("{:.1e} .. {:.1e}", static_cast<double>(Limits::denorm_min()),
                       static_cast<double>(Limits::max()));
}

void claim_formats(Result& result) {
    const std::string slide = cite(sources::amp_slides, "FP32 and FP16");
    const std::string table = cite(sources::round_table, "FP32, TF32, FP16, BF16");
    result.arithmetic("fields_fp32", slide, "fp32 has 8 exponent and 23 fraction bits.",
                      equal("8/23", fields_text(formats::fp32)));
    result.arithmetic("fields_fp16", slide, "fp16 has 5 exponent and 10 fraction bits.",
                      equal("5/10", fields_text(formats::fp16)));
    result.arithmetic("fields_tf32", table, "tf32 has fp32's 8 exponent and fp16's 10 fraction bits.",
                      equal("8/10", fields_text(formats::tf32)));
    result.arithmetic("fields_bf16", table, "bf16 has 8 exponent and 7 fraction bits.",
                      equal("8/7", fields_text(formats::bf16)));
    result.arithmetic("range_fp32", slide, "fp32 reaches from 1.4e-45 to 3.4e38.",
                      equal("1.4e-45 .. 3.4e+38", range_text<fp32>()));
    result.arithmetic("smallest_fp16", slide, "The smallest positive fp16 number is 5.96e-8, that is 2^-24.",
                      equal(0x1p-24, std::numeric_limits<fp16>::denorm_min()));
    result.arithmetic("largest_fp16", slide, "The largest fp16 number is 65504.",
                      equal(65504, std::numeric_limits<fp16>::max()));
    result.arithmetic("binades_fp16", cite(sources::volta_talk, "Loss scaling"), "fp16 spans about 40 powers of two.",
                      equal(40, formats::fp16.emax() - formats::fp16.smallest_exponent() + 1, "powers of two"));
}

template <class T>
T sixteens_one_by_one(std::size_t count) {
    return sum_one_by_one<T>(copies<T>(count, 16));
}
template <class T>
T sixteens_pairwise(std::size_t count) {
    return sum_pairwise<T>(copies<T>(count, 16));
}

template <class Half, class Brain>
void claim_sums(Result& result) {
    const std::string slide = cite(sources::amp_slides, "Certain ops require FP32 dynamic range");
    const std::string cell = cite(sources::notebook, "a = torch.cuda.HalfTensor(4096); a.sum()");
    const auto fp32_sum = sixteens_one_by_one<fp32>(4096);
    result.arithmetic("sum_fp32", slide, "4096 sixteens summed in fp32 give 65536.", equal(65536, fp32_sum));
    result.arithmetic("sum_fp32_stored_fp16", slide, "The same sum accumulated in fp32 and stored in fp16 is infinite.",
                      equal(INFINITY, Half(fp32_sum)));
    result.arithmetic("sum_fp16_pairwise", cell, "4096 sixteens summed pairwise in fp16 give infinity.",
                      equal(INFINITY, sixteens_pairwise<Half>(4096)));
    result.arithmetic("sum_fp16_one_by_one", cite(sources::arithmetic, "4.3.1 rounding to nearest"),
                      "Summed one by one in fp16 they do not overflow: from 32768 on 16 is half an ulp and is lost.",
                      equal(32768, sixteens_one_by_one<Half>(4096)));
    result.arithmetic("sum_fp16_swamps_at", cite(sources::arithmetic, "4.3.1 rounding to nearest"),
                      "That sum stops at element 2048: the first element that changes nothing is the next one.",
                      equal(
                          2048,
                          [] {
                              std::int64_t count = 1;
                              const auto sum = [](std::int64_t n) {
                                  return sixteens_one_by_one<Half>(static_cast<std::size_t>(n)).bits();
                              };
                              while (count < 4096 && sum(count) != sum(count + 1)) ++count;
                              return count;
                          }(),
                          "elements count"));
    result.arithmetic("sum_bf16_one_by_one", cite(sources::arithmetic, "4.3.1 rounding to nearest"),
                      "One by one in bf16 the sum stops at 4096.", equal(4096, sixteens_one_by_one<Brain>(4096)));
    result.arithmetic("sum_bf16_pairwise", cite(sources::arithmetic, "4.3.1 rounding to nearest"),
                      "Pairwise in bf16 the sum is exact.", equal(65536, sixteens_pairwise<Brain>(4096)));
    result.arithmetic("sum_tf32_one_by_one", cite(sources::arithmetic, "4.3.1 rounding to nearest"),
                      "One by one, rounded to tf32, the sum stops at 32768 as fp16's does: the precision is the same.",
                      equal(32768, sixteens_one_by_one<tf32>(4096)));
}

template <class Half>
void claim_boundary(Result& result) {
    const std::string place = cite(sources::arithmetic, "4.3.1 rounding to nearest");
    result.arithmetic("boundary_4094", place, "4094 sixteens are 65504, the largest fp16 number.",
                      equal(65504, Half(sixteens_one_by_one<fp32>(4094))));
    result.arithmetic("boundary_4095", place,
                      "4095 sixteens are 65520, half way to 65536: the tie goes to the even neighbour, infinity.",
                      equal(INFINITY, Half(sixteens_one_by_one<fp32>(4095))));
}

/// `count` sixteens as a dot product with ones.
float unit_sum(const MatrixUnit& unit, const ProductTypes& types, std::size_t count) {
    const std::vector<float> sixteens(count, 16.0F);
    const std::vector<float> ones(count, 1.0F);
    return dot(*unit.backend, types, sixteens, ones);
}

template <class Half>
void claim_units(const RunContext& context, const std::vector<MatrixUnit>& units, Result& result) {
    const std::string slide = cite(sources::volta_talk, "Convolution, matrix multiply");
    const ProductTypes narrow{formats::fp16, Half::format};
    const ProductTypes wide = has_control(context, "narrow_sums") ? fp16_to_fp16 : fp16_to_fp32;
    for (MatrixUnit unit : units) {
        if (!is_matrix_unit(unit)) continue;
        if (has_control(context, "one_by_one")) unit.backend = make_backend("soft:ieee");
        const auto in_fp16 = [&](std::size_t count) { return Half(unit_sum(unit, narrow, count)); };
        const fp32 sum(unit_sum(unit, wide, 4096));
        result.measured(
            "unit_fp32_" + id_of(unit), slide,
            unit.name + " with an fp32 accumulator sums 4096 sixteens exactly. Stored in fp16 that sum is infinite.",
            equal(65536, sum) && equal(INFINITY, Half(sum)));
        result.measured(
            "unit_fp16_" + id_of(unit), slide,
            unit.name +
                " with an fp16 accumulator adds a group exactly: it holds 4094 sixteens, and overflows at 4095.",
            equal(65504, in_fp16(4094)) && equal(INFINITY, in_fp16(4095)));
    }
}

/// Eight lengths an octave from 64 to the longest.
std::vector<std::size_t> lengths(std::int64_t longest) {
    std::vector<std::size_t> result;
    for (std::size_t octave = 64; octave <= static_cast<std::size_t>(longest); octave *= 2) {
        for (std::size_t i = 0; i < 8; ++i) result.push_back(octave + i * octave / 8);
    }
    std::erase_if(result, [&](std::size_t n) { return n > static_cast<std::size_t>(longest); });
    return result;
}

template <class Sum>
Series sum_series(std::string name, const FloatFormat& format, const std::vector<std::size_t>& at, Sum sum) {
    Series series{std::move(name), format, {}};
    for (const std::size_t n : at) series.points.push_back({static_cast<double>(n), static_cast<double>(sum(n))});
    return series;
}

/// How far each way of summing is exact, and what it gives at the end; the first series is the exact one.
std::string text_of_ends(const std::vector<Series>& series) {
    std::vector<std::string> exact, ended;
    for (std::size_t i = 1; i < series.size(); ++i) {
        const std::vector<Point>& sums = series[i].points;
        const auto wrong = std::ranges::mismatch(sums, series[0].points, {}, &Point::y, &Point::y).in1 - sums.begin();
        if (wrong == std::ssize(sums)) {
            exact.push_back(series[i].name);
        } else {
            const double before = wrong == 0 ? 0 : sums[static_cast<std::size_t>(wrong - 1)].y;
            ended.push_back(fmt::format("{} to {:g}, at last {:g}", series[i].name, before, sums.back().y));
        }
    }
    return fmt::format(" Exact to the end: {}. Of the sums shown exact: {}.", fmt::join(exact, ", "),
                       fmt::join(ended, "; "));
}

void figure_partial_sums(const RunContext& context, const std::vector<MatrixUnit>& units, Result& result) {
    Figure figure{"partial_sums", "Adding sixteens: how far each way of summing gets",
                  "Left: each sum rounded to the format. Right: dot products with ones on matrix units. Discs: exact. "
                  "Crosses: infinite. Squares: anything else.",
                  "The exact sum is the diagonal.", evidence_of(units, {fp16_to_fp32, fp16_to_fp16}, result)};
    const auto at = lengths(context.settings.integer("length"));
    auto& series = figure.series;
    series.push_back(
        sum_series("exact", formats::fp64, at, [](std::size_t n) { return 16.0 * static_cast<double>(n); }));
    series.push_back(sum_series("fp32 one by one", formats::fp32, at, sixteens_one_by_one<fp32>));
    series.push_back(sum_series("bf16 one by one", formats::bf16, at, sixteens_one_by_one<bf16>));
    series.push_back(sum_series("fp16 one by one", formats::fp16, at, sixteens_one_by_one<fp16>));
    series.push_back(sum_series("tf32 one by one", formats::tf32, at, sixteens_one_by_one<tf32>));
    series.push_back(sum_series("bf16 pairwise", formats::bf16, at, sixteens_pairwise<bf16>));
    series.push_back(sum_series("fp16 pairwise", formats::fp16, at, sixteens_pairwise<fp16>));
    const auto last = [&](std::size_t i) { return series[i].points.back().y; };
    figure.headline = fmt::format(
        "{} sixteens, added one by one, give {:g} in bf16 and {:g} in fp16; pairwise in fp16 {}; exactly {:g}.",
        at.back(), last(2), last(3), std::isinf(last(6)) ? "infinity" : fmt::format("{:g}", last(6)), last(0));
    context.progress(0.3);
    for (const MatrixUnit& unit : units) {
        for (const ProductTypes& types : {fp16_to_fp32, fp16_to_fp16}) {
            const std::string name =
                fmt::format("{} {} accumulator", unit.name, types.accumulator == formats::fp16 ? "fp16" : "fp32");
            series.push_back(
                sum_series(name, types.accumulator, at, [&](std::size_t n) { return unit_sum(unit, types, n); }));
        }
    }
    figure.meaning += text_of_ends(series);
    figure.plot = "partial_sums";
    result.figure(std::move(figure));
}

void figure_boundary(Result& result) {
    Figure figure{"boundary", "The last finite sum of sixteens in fp16",
                  "Exact sum of N sixteens, and the same sum rounded once to fp16 (nearest, ties to even).",
                  "4094 sixteens are 65504, the largest fp16 number. 4095 are 65520, exactly half way to the next "
                  "number that fp16 would have, 65536; the tie goes to the even neighbour, which is infinity.",
                  ""};
    std::vector<std::size_t> at;
    for (std::size_t n = 4086; n <= 4100; ++n) at.push_back(n);
    figure.series.push_back(
        sum_series("exact", formats::fp64, at, [](std::size_t n) { return 16.0 * static_cast<double>(n); }));
    figure.series.push_back(sum_series("rounded to fp16", formats::fp16, at,
                                       [](std::size_t n) { return fp16(sixteens_one_by_one<fp32>(n)); }));
    figure.axes = {{.label = "N, number of sixteens", .from = 4085.0, .to = 4101.0},
                   {.label = "sum", .from = 65360.0, .to = 65620.0, .step = 32.0}};
    figure.looks = {{.colour = grey, .width = 1.5, .title = "exact sum"},
                    {.mark = Mark::points, .colour = 2, .size = 1.3, .beyond = 65604.0}};
    figure.guides = {level(65504, "65504, largest"), level(65520, "65520, half way")};
    figure.notes = {{4085.2, 65556, "infinite"}};
    result.figure(std::move(figure));
}

void run(const RunContext& context, Result& result) {
    const std::vector<MatrixUnit> units = matrix_units(context);
    claim_formats(result);
    with_16_bit_formats(context, [&]<class Half, class Brain>() {
        claim_sums<Half, Brain>(result);
        claim_boundary<Half>(result);
        claim_units<Half>(context, units, result);
    });
    figure_partial_sums(context, units, result);
    figure_boundary(result);
    norms_and_softmax(context, result);
}

}  // namespace

Experiment experiment() {
    return {
        "overflow",
        "Overflow: sums, norms and exponentials that leave the range",
        "Which ways of adding up, squaring and exponentiating leave fp16's range, and which do not?",
        {Chapter::overflow, 1},
        {integer_setting("length", "longest sum of the figure of partial sums", 16384, 65536, 64, 1 << 20).smoke(512),
         control_setting("wide uses fp32 instead of the 16-bit formats; narrow_sums gives units fp16 accumulators, "
                         "one_by_one rounds after each addition",
                         {"wide", "narrow_sums", "one_by_one"})},
        run,
        {Control("control=wide",
                 "sum_fp32_stored_fp16 sum_fp16_pairwise sum_fp16_one_by_one sum_fp16_swamps_at sum_bf16_one_by_one "
                 "boundary_4095 unit_fp32_v100 unit_fp16_v100 unit_fp32_a100 unit_fp16_a100 unit_fp32_h100 "
                 "unit_fp16_h100 norm_fp32_4094 norm_fp32_4095 norm_fp32_4097 norm_fp16_overflow exp_fp16 "
                 "softmax_fp16_zero softmax_fp16_nan"),
         Control("control=narrow_sums", "unit_fp32_v100 unit_fp32_a100 unit_fp32_h100"),
         Control("control=one_by_one", "unit_fp16_v100 unit_fp16_a100 unit_fp16_h100")},
        Effect{"norm_fp16_overflow",
               "numbers chosen so that their sums, norms and exponentials leave fp16",
               {"summed_loss", "norm_squares", "clip_norm", "attention"}}};
}

}  // namespace ulp::overflow_experiment
