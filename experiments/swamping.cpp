// What happens to a small number that is added to a large one, in each format and inside each matrix unit.
#include <fmt/core.h>

#include "engine/tensor/random.hpp"
#include "experiments/shared/matrix_units.hpp"
#include "softfloat/functions/cr.hpp"
#include "softfloat/text.hpp"

namespace ulp::swamping_experiment {
namespace {

constexpr double tenth_of_thousandth = 1e-4;

template <class Half, class Brain>
void claim_additions(Result& result) {
    const std::string slide = cite(sources::amp_slides, "1 + 0.0001 = ??");
    result.arithmetic("one_plus_small_fp16", slide, "1 + 0.0001 is 1 in fp16.", equal(1, Half(1) + Half(1e-4)));
    result.arithmetic("one_plus_small_bf16", slide, "1 + 0.0001 is 1 in bf16.", equal(1, Brain(1) + Brain(1e-4)));
    result.arithmetic("one_plus_small_fp32", slide, "1 + 0.0001 is 1.0001 in fp32.",
                      equal(1.0001, fp32(1) + fp32(1e-4)));
    result.arithmetic("one_plus_larger_fp16", cite(sources::arithmetic, "5.4.1 addition"),
                      "1 + 0.0005 is 1.0009765625 in fp16: more than half an ulp, so a whole one.",
                      equal(1.0009765625, Half(1) + Half(5e-4)));
    result.arithmetic("one_plus_smallest_fp16", cite(sources::notebook, "torch.cuda.HalfTensor([2**-24]) + 1."),
                      "1 plus the smallest fp16 number, 2^-24, is 1.", equal(1, Half(1) + Half(0x1p-24)));
}

void claim_decimals(Result& result) {
    const std::string place = cite(sources::round_table, "FP32, TF32, FP16, BF16");
    const auto claim = [&]<class T>(const char* name, T, double decimal, double expected) {
        result.arithmetic(fmt::format("{}_{}", name, decimal), place,
                          fmt::format("{} in {} is {}.", decimal, name, expected), equal(expected, T(decimal)));
    };
    claim("fp16", fp16{}, 1.1, 1.099609375);
    claim("bf16", bf16{}, 1.1, 1.1015625);
    claim("tf32", tf32{}, 1.1, 1.099609375);
    claim("fp16", fp16{}, 1.01, 1.009765625);
    claim("fp16", fp16{}, 1.001, 1.0009765625);
    claim("bf16", bf16{}, 1.01, 1.0078125);
    claim("bf16", bf16{}, 1.001, 1);
}

/// Whether parameter + update, rounded to T, is the parameter again.
template <class T>
bool is_lost(T parameter, T update) {
    return (parameter + update).bits() == parameter.bits();
}

/// Over all normal fp16 parameters: how many are changed, up or down, by the largest update within ratio * parameter.
/// Rounding is monotonic, so if that one has no effect no smaller one has.
template <class Half>
int parameters_changed_within(double ratio) {
    int changed = 0;
    Context down{.rounding = Rounding::down};
    for (std::uint16_t code = 0x0400; code <= 0x7BFF; ++code) {
        const Half parameter(static_cast<double>(fp16::from_bits(code)));
        const Half update(ratio * static_cast<double>(parameter), down);
        if (!is_lost(parameter, update) || !is_lost(parameter, -update)) ++changed;
    }
    return changed;
}

template <class Half>
void claim_rule(Result& result) {
    const std::string slide = cite(sources::amp_slides, "In FP16, when update/param < 2^-11, update has no effect");
    const std::string statement = "Update/parameter below 2^-11 has no effect in fp16: ";
    result.arithmetic("rule_1.9", slide, statement + "1.9 + 0.0006 (ratio 2^-11.6) changes.",
                      equal(1.9013671875, Half(1.9) + Half(0.0006)), Verdict::refuted);
    result.arithmetic("rule_minus", slide, statement + "1 - 0.0003 (ratio 2^-11.7) changes, to 1 - 2^-11.",
                      equal(1 - 0x1p-11, Half(1) - Half(0.0003)), Verdict::refuted);
    result.arithmetic("rule_plus", slide, statement + "so it is with 1 + 0.0003, the same ratio.",
                      equal(1, Half(1) + Half(0.0003)));
    const Half odd = Half(1) + std::numeric_limits<Half>::epsilon();
    result.arithmetic("rule_odd", slide,
                      "At exactly 2^-11 of the binade a tie decides: an odd significand, 1 + 2^-10, is rounded up.",
                      equal(1 + 0x1p-9, odd + Half(0x1p-11)), Verdict::refuted);
    result.arithmetic("rule_safe", slide,
                      "The bound that holds for every normal fp16 parameter and both signs is 2^-12.",
                      equal(0, parameters_changed_within<Half>(0x1p-12), "parameters change"));
    result.arithmetic(
        "rule_counted", slide,
        "Counted over all 30720 normal fp16 parameters, some updates up to a ratio of 2^-11 do have an effect.",
        above(0, parameters_changed_within<Half>(0x1p-11), {"", "parameters change", 1, 0}), Verdict::refuted);
    result.arithmetic(
        "ratio_2^11", cite(sources::volta_talk, "Weight update"),
        "The sum of fp16 values whose ratio exceeds 2^11 is the larger value: 1 - 0.0003 (ratio 3333) is not.",
        equal(1 - 0x1p-11, Half(1) + Half(-0.0003)), Verdict::refuted);
}

void claim_learning_rates(Result& result) {
    const std::string slide = cite(sources::volta_talk, "Weight update: 0.01 leads to 2^7 ratio, 0.001 leads to 2^10");
    const auto claim = [&](const char* id, const char* statement, double factor, int power) {
        const double exact = cr::log2(static_cast<float>(1 / factor));
        result.arithmetic(id, slide, statement,
                          equal(fmt::format("2^{}", power), fmt::format("2^{:.0f}", exact))
                              .because(fmt::format("2^{:.2f} rounded to a power of two", exact)));
    };
    claim("ratio_0.01", "A factor of 0.01 is, rounded to a power of two, the talk's ratio of 2^7.", 0.01, 7);
    claim("ratio_0.001", "A factor of 0.001 is, rounded to a power of two, the talk's ratio of 2^10.", 0.001, 10);
}

/// The parameter after each of `count` updates.
template <class T>
std::vector<T> after_updates(double start, double update, int count) {
    std::vector<T> values;
    T parameter(start);
    for (int i = 0; i < count; ++i) values.push_back(parameter += T(update));
    return values;
}

template <class Half, class Brain>
void claim_updates(Result& result) {
    const std::string slide = cite(sources::amp_slides, "Weight updates are an accumulation");
    const auto last = []<class T>(T, double start) {
        return after_updates<T>(start, tenth_of_thousandth, 10000).back();
    };
    result.arithmetic("updates_onto_1_fp16", slide, "10,000 updates of 0.0001 onto 1 leave 1 in fp16.",
                      equal(1, last(Half{}, 1)));
    result.arithmetic("updates_onto_1_bf16", slide, "10,000 updates of 0.0001 onto 1 leave 1 in bf16.",
                      equal(1, last(Brain{}, 1)));
    result.arithmetic("updates_onto_1_fp32", slide, "10,000 updates of 0.0001 onto 1 give 2.0001657 in fp32.",
                      equal(2.00016570, last(fp32{}, 1)));
    result.arithmetic("updates_from_0_fp16", slide, "10,000 updates of 0.0001 from 0 stop at 0.25 in fp16.",
                      equal(0.25, last(Half{}, 0)));
    result.arithmetic("updates_from_0_bf16", slide, "10,000 updates of 0.0001 from 0 stop at 0.03125 in bf16.",
                      equal(0.03125, last(Brain{}, 0)));
    const std::string place = cite(sources::arithmetic, "4.3.1 rounding to nearest");
    result.arithmetic("ones_fp16", place, "Adding ones stops at 2048 in fp16.",
                      equal(2048, after_updates<Half>(0, 1, 4096).back()));
    result.arithmetic("ones_bf16", place, "Adding ones stops at 256 in bf16.",
                      equal(256, after_updates<Brain>(0, 1, 4096).back()));
}

/// The share of random parameters in [1, 2) that an update of the given ratio and a random sign leaves unchanged.
template <class T>
double share_lost(double ratio, std::int64_t samples, Random random) {
    std::int64_t lost = 0;
    for (std::int64_t i = 0; i < samples; ++i) {
        const T parameter(1 + random.uniform());
        const double size = ratio * static_cast<double>(parameter);
        lost += is_lost(parameter, T(random.next() % 2 == 0 ? size : -size)) ? 1 : 0;
    }
    return static_cast<double>(lost) / static_cast<double>(samples);
}

double power_of_two(double exponent) { return cr::exp2(static_cast<float>(exponent)); }

void figure_updates_lost(const RunContext& context, Result& result) {
    Figure figure{
        "updates_lost", "How many updates are lost, by their size relative to the parameter",
        "Random parameters in [1, 2), updates of either sign; additions rounded to nearest even.",
        "The published rule says that fp16 loses every update below 2^-11. The significand decides how large half an "
        "ulp is relative to the parameter, so the share falls over a whole octave. Of the sizes drawn:",
        ""};
    const std::int64_t samples = context.settings.integer("samples");
    Series half{"fp16"};
    Series brain{"bf16"};
    for (int step = -14 * 8; step <= -6 * 8; ++step) {
        const double exponent = step / 8.0;
        const Random random(context.seed, static_cast<std::uint64_t>(step + 14 * 8));
        half.points.push_back({exponent, share_lost<fp16>(power_of_two(exponent), samples, random)});
        brain.points.push_back({exponent, share_lost<bf16>(power_of_two(exponent), samples, random)});
        context.progress(0.6 * (step + 14 * 8) / 64.0);
    }
    for (const Series* series : {&half, &brain}) {
        const auto some = std::ranges::find_if(series->points, [](const Point& p) { return p.y < 1; });
        const auto none = std::ranges::find(series->points, 0.0, &Point::y);
        if (some == series->points.begin() || none == series->points.end()) continue;
        figure.meaning += fmt::format(" {} loses all up to 2^{:g}, none from 2^{:g} on{}", series->name, (some - 1)->x,
                                      none->x, series == &half ? ";" : ".");
    }
    const Point& below = half.points.at(3 * 8 - 1);
    figure.headline = fmt::format(
        "Updates of 2^{:g} of their parameter, less than the published bound of 2^-11: fp16 loses {:.0f} % of them.",
        below.x, 100 * below.y);
    figure.series = {std::move(half), std::move(brain)};
    figure.axes = {{.label = "size of the update relative to the parameter",
                    .numbers = Numbers::powers,
                    .from = -14.0,
                    .to = -6.0,
                    .step = 1.0},
                   percent_axis("share of updates that change nothing")};
    figure.looks = {{.mark = Mark::linespoints}};
    figure.guides = {upright(-11, "the published rule: lost left of this line")};
    result.figure(std::move(figure));
}

template <class T>
void add_updates_series(const char* name, double start, std::int64_t count, Figure& figure) {
    Series series{name, T::format, {{0, start}}};
    const auto values = after_updates<T>(start, tenth_of_thousandth, static_cast<int>(count));
    for (std::size_t i = 49; i < values.size(); i += 50) {
        series.points.push_back({static_cast<double>(i + 1), static_cast<double>(values[i])});
    }
    figure.series.push_back(std::move(series));
}

void figure_small_updates(const RunContext& context, Result& result) {
    const std::int64_t count = context.settings.integer("updates");
    Figure figure{"small_updates", fmt::format("{} updates of 0.0001", count),
                  "The parameter after each update, rounded to the format each time; starting from 1 and from 0.", "",
                  ""};
    add_updates_series<fp32>("fp32 from 1", 1, count, figure);
    add_updates_series<fp16>("fp16 from 1", 1, count, figure);
    add_updates_series<bf16>("bf16 from 1", 1, count, figure);
    add_updates_series<fp32>("fp32 from 0", 0, count, figure);
    add_updates_series<fp16>("fp16 from 0", 0, count, figure);
    add_updates_series<bf16>("bf16 from 0", 0, count, figure);
    const double sum = tenth_of_thousandth * static_cast<double>(count);
    figure.meaning = fmt::format("Exactly {:g} from 1 and {:g} from 0 at last. Here:", 1 + sum, sum);
    for (const Series& series : figure.series) {
        figure.meaning += fmt::format(" {} {:.8g},", series.name, series.points.back().y);
    }
    figure.axes = {{.label = "updates", .from = 0.0}, {.label = "parameter", .from = 0.0, .to = 2.1}};
    for (const int dash : {1, 2}) {
        for (const int colour : {8, 2, 1}) {  // fp32, fp16, bf16
            figure.looks.push_back({.colour = colour, .width = colour == 2 ? 6.0 : 3.0, .dash = dash});
        }
    }
    result.figure(std::move(figure));
}

constexpr std::size_t products_of_block = 16;

/// c = 1 plus sixteen products 1.5 * 2^exponent: the share of the products' exact sum that the result holds.
double share_kept(const MatmulBackend& backend, const ProductTypes& types, int exponent) {
    const int half = exponent / 2;  // both factors stay normal fp16 numbers
    const std::vector<float> a(products_of_block, static_cast<float>(quick_phase::power_of_two(half)));
    const std::vector<float> b(products_of_block, static_cast<float>(1.5 * quick_phase::power_of_two(exponent - half)));
    const double sum = dot(backend, types, a, b, 1.0F);
    return (sum - 1) / (static_cast<double>(products_of_block) * 1.5 * quick_phase::power_of_two(exponent));
}

void figure_block(const std::vector<MatrixUnit>& units, Result& result) {
    Figure figure{
        "block", "Sixteen small products beside c = 1 in a matrix unit",
        "Products 1.5 · 2ˣ. Share of their exact sum that reaches the result. Left: fp32 accumulator, right: fp16.",
        "A matrix unit aligns its products with the largest term and cuts what lies below its last kept bit; soft:ieee "
        "rounds after each addition, as scalar code does. Smallest products 1.5 · 2ˣ of which anything is left:",
        evidence_of(units, {fp16_to_fp32, fp16_to_fp16}, result)};
    for (const ProductTypes& types : {fp16_to_fp32, fp16_to_fp16}) {
        const bool wide = types.accumulator == formats::fp32;
        for (const MatrixUnit& unit : units) {
            Series series{fmt::format("{} {}", unit.name, wide ? "fp32" : "fp16")};
            for (int exponent = wide ? -28 : -18; exponent <= (wide ? -16 : -6); ++exponent) {
                series.points.push_back({static_cast<double>(exponent), share_kept(*unit.backend, types, exponent)});
            }
            figure.meaning += fmt::format(" {} {},", series.name,
                                          first_x(
                                              series, [](double y) { return y > 0; }, "x = "));
            figure.series.push_back(std::move(series));
        }
    }
    figure.axes = {{.label = "exponent of the products, c = 1", .numbers = Numbers::powers, .step = 2.0},
                   {.label = "share of their sum that is kept",
                    .numbers = Numbers::percent,
                    .from = 0.0,
                    .to = 145.0,
                    .step = 20.0}};
    for (std::size_t i = 0; i < figure.series.size(); ++i) {
        const std::size_t unit = i % units.size();
        figure.looks.push_back({.mark = Mark::linespoints,
                                .width = std::max(1.0, 6.4 - 1.6 * static_cast<double>(unit)),
                                .title = units[unit].name,
                                .panel = i < units.size() ? 0 : 1});
    }
    figure.panels = {{"fp32 accumulator", -28.5, -15.5}, {"fp16 accumulator", -18.5, -5.5}};
    figure.key = Key::bottom_right;
    result.figure(std::move(figure));
}

void run(const RunContext& context, Result& result) {
    std::vector<MatrixUnit> units = matrix_units(context);
    if (context.backend != "soft:ieee") units.push_back({"IEEE", "soft:ieee", make_backend("soft:ieee")});
    with_16_bit_formats(context, [&]<class Half, class Brain>() {
        claim_additions<Half, Brain>(result);
        claim_decimals(result);
        claim_rule<Half>(result);
        claim_learning_rates(result);
        claim_updates<Half, Brain>(result);
    });
    figure_updates_lost(context, result);
    figure_small_updates(context, result);
    figure_block(units, result);
}

}  // namespace

Experiment experiment() {
    return {"swamping",
            "Swamping: small numbers added to large ones",
            "When does an update change a parameter, and when does a product change a sum?",
            {Chapter::swamping, 1},
            {integer_setting("samples", "random additions for each ratio", 20000, 1000000, 100, 100000000).smoke(100),
             integer_setting("updates", "updates of 0.0001 in the figure", 10000, 10000, 100, 1000000), wide_control()},
            run,
            {Control("control=wide",
                     "one_plus_small_fp16 one_plus_small_bf16 one_plus_larger_fp16 rule_1.9 rule_minus rule_plus "
                     "rule_odd rule_safe ratio_2^11 updates_onto_1_fp16 updates_onto_1_bf16 updates_from_0_fp16 "
                     "updates_from_0_bf16 ones_fp16 ones_bf16")},
            Effect{"updates_onto_1_fp16",
                   "numbers chosen so that what is added is half a unit in the last place or less",
                   {"batch_statistics", "weight_averages", "decayed_rate"}}};
}

}  // namespace ulp::swamping_experiment
