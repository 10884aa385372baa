// Which small gradients survive in each format, where the threshold lies, and what a loss scale recovers.
#include <fmt/core.h>

#include <algorithm>

#include "engine/tensor/random.hpp"
#include "experiments/framework/experiment.hpp"
#include "softfloat/functions/cr.hpp"
#include "softfloat/names.hpp"

namespace ulp::underflow_experiment {
namespace {

/// How gradients are stored: a format, and whether subnormal results become zero.
struct Storage {
    std::string name;
    FloatFormat format;
    bool flush = false;
};

template <class Half>
const Storage gradual{"fp16", Half::format};
template <class Half>
const Storage flushing{"fp16 flushed", Half::format, true};

float stored(const Storage& storage, float value) {
    Context context{.flush_outputs = storage.flush};
    return round_to(storage.format, value, context);
}

enum class Fate { normal, subnormal, lost, infinite };

Fate fate_of(const Storage& storage, float value) {
    const float result = std::fabs(stored(storage, value));
    if (result == 0) return Fate::lost;
    if (!(result <= std::numeric_limits<float>::max())) return Fate::infinite;
    return result < static_cast<float>(quick_phase::power_of_two(storage.format.emin())) ? Fate::subnormal
                                                                                         : Fate::normal;
}

/// Shares of the four fates, in that order.
std::array<double, 4> shares(const Storage& storage, const std::vector<float>& gradients, float scale) {
    std::array<std::int64_t, 4> counts{};
    for (const float g : gradients) ++counts[static_cast<std::size_t>(fate_of(storage, g * scale))];
    std::array<double, 4> result{};
    for (std::size_t i = 0; i < 4; ++i) {
        result[i] = static_cast<double>(counts[i]) / static_cast<double>(gradients.size());
    }
    return result;
}

/// Random gradients whose exponents are normally distributed around the median's.
std::vector<float> log_normal_gradients(const RunContext& context) {
    const double median = context.settings.real("median_exponent");
    const double spread = context.settings.real("spread");
    Random random(context.seed, "gradients");
    std::vector<float> gradients(static_cast<std::size_t>(context.settings.integer("samples")));
    for (float& g : gradients) {
        const bool negative = random.next() % 2 == 0;
        const float magnitude = cr::exp2(static_cast<float>(median + spread * random.normal()));
        g = negative ? -magnitude : magnitude;
    }
    return gradients;
}

/// The smallest positive fp32 number that does not become zero.
fp32 smallest_survivor(const Storage& storage) {
    std::uint32_t lost = 0;  // survives: not; the next: yes
    std::uint32_t kept = std::bit_cast<std::uint32_t>(1.0F);
    while (kept - lost > 1) {
        const std::uint32_t middle = lost + (kept - lost) / 2;
        (stored(storage, std::bit_cast<float>(middle)) == 0 ? lost : kept) = middle;
    }
    return fp32::from_bits(kept);
}

template <class Half>
void claim_thresholds(Result& result) {
    const std::string cell = cite(sources::notebook, "amp: in FP16, values smaller than 2^(-24) are set to 0");
    const std::string place = cite(sources::arithmetic, "4.3.1 rounding to nearest");
    result.arithmetic("tie", place, "2^-25 lies half way between 0 and the smallest fp16 number and becomes 0.",
                      equal(0, Half(0x1p-25)));
    result.arithmetic("above_tie", place, "Anything above 2^-25 becomes 2^-24.", equal(0x1p-24, Half(0x1.000002p-25F)));
    result.arithmetic("below_2^-24", cell, "Values below 2^-24 become zero: 1.5 * 2^-25 does not.",
                      equal(0x1p-24, Half(0x1.8p-25)), Verdict::refuted);
    result.arithmetic("threshold", cell,
                      "The smallest fp32 number that survives in fp16 is the one after 2^-25, not 2^-24.",
                      equal(static_cast<double>(0x1.000002p-25F), smallest_survivor(gradual<Half>)), Verdict::refuted);
    const auto least = stored(flushing<Half>, static_cast<float>(smallest_survivor(flushing<Half>)));
    result.arithmetic("threshold_flushed", cite(sources::arithmetic, "3.3 sets of floating-point data: emin"),
                      "Where subnormal results are flushed to zero the smallest one left is 2^-14, and 2^-15 is lost.",
                      equal(0x1p-14, Half(least)) && equal(0, Half(stored(flushing<Half>, 0x1p-15F))));
}

template <class Half>
void claim_largest_gradient(Result& result) {
    const std::string slide =
        cite(sources::volta_talk, "Smallest scaling factor = 2^20 -> max dw magnitude didn't exceed 2^-5");
    const double bound = static_cast<double>(std::numeric_limits<Half>::max()) / 0x1p20;
    result.arithmetic("scale_2^20", slide, "A gradient that does not overflow at scale 2^20 is at most 65504 / 2^20.",
                      equal("2^-4.0007", fmt::format("2^{:.4f}", quick_phase::log2(bound))), Verdict::refuted);
    const Half example(0.06 * 0x1p20);
    result.arithmetic("scale_2^20_example", slide, "A gradient of 0.06 exceeds 2^-5 and is finite at scale 2^20.",
                      at_most(65504, static_cast<double>(example), {"loss gradient", "", 1, 0}), Verdict::refuted);
}

/// Over all scales 2^0 to 2^24: gradients whose loss at that scale is not what the threshold 2^-25 / scale predicts.
template <class Half>
int wrong_predictions(const std::vector<float>& gradients) {
    int wrong = 0;
    for (int n = 0; n <= 24; ++n) {
        const auto scale = static_cast<float>(quick_phase::power_of_two(n));
        const auto threshold = static_cast<float>(quick_phase::power_of_two(-25 - n));
        for (const float g : gradients) {
            const bool lost = fate_of(gradual<Half>, g * scale) == Fate::lost;
            if (lost != (std::fabs(g) <= threshold)) ++wrong;
        }
    }
    return wrong;
}

template <class Half>
void claim_scaling(const FloatFormat& brain, const std::vector<float>& gradients, Result& result) {
    result.measured(
        "threshold_moves", cite(sources::amp_slides, "Loss scaling brings gradients into the FP16 dynamic range"),
        "A loss scale of 2^n moves the threshold to 2^(-25-n), exactly: counted over all gradients and n = 0 to 24.",
        equal(0, wrong_predictions<Half>(gradients), "wrong predictions"));
    const Quantity share{"lost", "% lost", 100, 4};
    const auto lost = [&](const Storage& storage, float scale) {
        return shares(storage, gradients, scale)[static_cast<std::size_t>(Fate::lost)];
    };
    result.measured("bf16", cite(sources::round_table, "BFP16: no need for scaling loss"),
                    "bf16 (called BFP16 there) needs no loss scale: none of the gradients is lost.",
                    at_most(0, lost({"bf16", brain}, 1), {"lost", "% lost", 100, 0}));
    result.measured("scale_1024", cite(sources::volta_talk, "Loss scaling"),
                    "A loss scale preserves small gradients: 2^10 recovers more than nine tenths of the lost ones.",
                    given(above(0, lost(gradual<Half>, 1), share),
                          below(lost(gradual<Half>, 1) / 10, lost(gradual<Half>, 0x1p10F), share)));
}

void figure_threshold(Result& result) {
    Figure figure{
        "threshold", "What becomes of small numbers in fp16",
        "fp32 numbers rounded to fp16, with gradual underflow (IEEE 754) and with results below 2⁻¹⁴ flushed to zero.",
        "", ""};
    for (const Storage& storage : {gradual<fp16>, flushing<fp16>}) {
        Series series{storage.name, formats::fp16, {}};
        for (int step = -27 * 64; step <= -12 * 64; ++step) {
            const auto x = cr::exp2(static_cast<float>(step / 64.0));
            series.points.push_back({static_cast<double>(x), static_cast<double>(stored(storage, x))});
        }
        figure.series.push_back(std::move(series));
    }
    const auto first_kept = [&](std::size_t i) {
        const auto& points = figure.series[i].points;
        return quick_phase::log2(std::ranges::find_if(points, [](const Point& p) { return p.y > 0; })->x);
    };
    figure.meaning = fmt::format(
        "Below 2^-14 fp16's numbers are multiples of 2^-24. Of the numbers drawn the smallest that is kept is 2^{:.2f} "
        "with gradual underflow, 2^{:.2f} where subnormals are flushed.",
        first_kept(0), first_kept(1));
    const auto largest_lost = [](const Storage& storage) {
        const std::uint32_t before = smallest_survivor(storage).bits() - 1;
        return quick_phase::log2(static_cast<double>(std::bit_cast<float>(before)));
    };
    figure.headline = fmt::format(
        "fp16 keeps what is more than 2^{:.4g}, not only what is 2^-24 or more; flushing subnormals, what is more than "
        "2^{:.4g}.",
        largest_lost(gradual<fp16>), largest_lost(flushing<fp16>));
    figure.axes = {power_axis("number", 2), power_axis("stored in fp16", 2)};
    figure.axes.x.from = 0x1p-26 / 1.4;
    figure.axes.y.from = 0x1p-26;
    figure.axes.x.to = figure.axes.y.to = 0x1p-12;
    figure.axes.y.step = 4;
    figure.looks = {
        {.mark = Mark::points, .point = 7, .size = 0.7, .title = "gradual underflow", .beyond = 0x1p-26 * 1.4},
        {.mark = Mark::points, .point = 7, .size = 0.4, .title = "flushed to zero", .beyond = 0x1p-26 * 1.2}};
    figure.guides = {upright(0x1p-25, "half of the smallest"), upright(0x1p-14, "smallest normal")};
    figure.guides.back().opposite = true;
    figure.notes = {{0x1p-22, 0x1p-26 * 1.2, "stored as 0"}};
    result.figure(std::move(figure));
}

void figure_survival(const RunContext& context, const std::vector<float>& gradients, Result& result) {
    Figure figure{
        "survival", "What survives of small gradients in each format",
        fmt::format("{} random gradients, exponents normal around {} with deviation {}; no loss scale.",
                    gradients.size(), context.settings.real("median_exponent"), context.settings.real("spread")),
        "Subnormal, and lost:", ""};
    const std::vector<Storage> storages = {{"fp32", formats::fp32}, {"bf16", formats::bf16}, {"tf32", formats::tf32},
                                           gradual<fp16>,           flushing<fp16>,          {"e5m2", formats::e5m2},
                                           {"e4m3", formats::e4m3}};
    for (const Storage& storage : storages) {
        const auto share = shares(storage, gradients, 1);
        figure.series.push_back({storage.name, formats::fp64, {{0, share[0]}, {1, share[1]}, {2, share[2]}}});
        figure.meaning += fmt::format(" {} {:.1f} % and {:.1f} %,", storage.name, 100 * share[1], 100 * share[2]);
    }
    figure.axes = {named_axis({"normal", "subnormal", "lost: zero"}), percent_axis("share of the gradients")};
    figure.axes.y.to = 107;
    draw_bars(figure);
    result.figure(std::move(figure));
}

void figure_loss_scale(const RunContext& context, const std::vector<float>& gradients, Result& result) {
    Figure figure{"loss_scale", "What each power of two of loss scale recovers",
                  "The same gradients times the scale, stored in fp16.",
                  "Each factor of two moves all exponents up by one.", ""};
    Series lost{"lost"};
    Series subnormal{"subnormal"};
    Series infinite{"infinite"};
    Series flushed{"lost when flushed"};
    for (int n = 0; n <= 32; ++n) {
        const auto scale = static_cast<float>(quick_phase::power_of_two(n));
        const auto share = shares(gradual<fp16>, gradients, scale);
        lost.points.push_back({static_cast<double>(n), share[2]});
        subnormal.points.push_back({static_cast<double>(n), share[1]});
        infinite.points.push_back({static_cast<double>(n), share[3]});
        flushed.points.push_back({static_cast<double>(n), shares(flushing<fp16>, gradients, scale)[2]});
        context.progress(n / 32.0);
    }
    const auto first = [](const Series& series, const auto& is) { return first_x(series, is, "2^", "none shown"); };
    const auto few = [](double share) { return share < 0.001; };
    figure.meaning += fmt::format(
        " Less than 0.1 % is lost from {} on, where subnormals are flushed from {} on; the first scale with an "
        "infinity is {}.",
        first(lost, few), first(flushed, few), first(infinite, [](double share) { return share > 0; }));
    figure.series = {std::move(lost), std::move(subnormal), std::move(infinite), std::move(flushed)};
    figure.axes = {{.label = "loss scale", .numbers = Numbers::powers, .from = -0.5, .to = 32.5, .step = 4.0},
                   percent_axis("share of the gradients")};
    figure.looks = {{.mark = Mark::linespoints}};
    result.figure(std::move(figure));
}

void run(const RunContext& context, Result& result) {
    const std::vector<float> gradients = log_normal_gradients(context);
    with_16_bit_formats(context, [&]<class Half, class>() {
        claim_thresholds<Half>(result);
        claim_largest_gradient<Half>(result);
        claim_scaling<Half>(has_control(context, "bf16_as_fp16") ? formats::fp16 : formats::bf16, gradients, result);
    });
    figure_threshold(result);
    figure_survival(context, gradients, result);
    figure_loss_scale(context, gradients, result);
}

}  // namespace

Experiment experiment() {
    return {"underflow",
            "Underflow: gradients too small for the format",
            "Which gradients are lost in each format, and which does a loss scale recover?",
            {Chapter::underflow, 1},
            {integer_setting("samples", "random gradients", 100000, 1000000, 1000, 100000000).smoke(1000),
             real_setting("median_exponent", "exponent of the median gradient", -20, -20, -60, 0),
             real_setting("spread", "standard deviation of the exponents", 4, 4, 0.1, 20),
             control_setting("wide uses fp32 instead of fp16; bf16_as_fp16 takes fp16 for what is called BFP16",
                             {"wide", "bf16_as_fp16"})},
            run,
            {Control("control=wide",
                     "tie above_tie below_2^-24 threshold threshold_flushed scale_2^20 threshold_moves scale_1024",
                     RunSize::smoke, "samples=2000"),
             Control("control=bf16_as_fp16", "bf16", RunSize::smoke, "samples=2000")},
            Effect{"scale_1024",
                   "gradients whose exponents are drawn at random around 2^-20",
                   {"coordinate_net", "big_lstm", "wide_softmax"}},
            no_product};
}

}  // namespace ulp::underflow_experiment
