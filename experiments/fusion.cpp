// Chains of pointwise operations, each result stored in 16 bits or only the last: how many results differ, and which
// are nearer to the truth.
#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "engine/tensor/random.hpp"
#include "engine/tensor/rounder.hpp"
#include "experiments/framework/experiment.hpp"
#include "softfloat/functions/cr.hpp"

namespace ulp::fusion_experiment {
namespace {

/// A chain written once: s(x) is where an operation's result is stored.
struct Chain {
    std::string name;
    std::string what;
    double (*f)(const double* x, double (*s)(double));
};

double identity(double x) { return x; }
double in_fp32(double x) {
    static const Rounder<double> round(formats::fp32);
    return round(x);
}
double in_fp16(double x) {
    static const Rounder<double> round(formats::fp16);
    return round(x);
}
double in_bf16(double x) {
    static const Rounder<double> round(formats::bf16);
    return round(x);
}

// fp32's functions: 13 bits finer than what is compared.
double sigmoid_of(double x) { return static_cast<double>(cr::sigmoid(static_cast<float>(x))); }
double tanh_of(double x) { return static_cast<double>(cr::tanh(static_cast<float>(x))); }

const std::vector<Chain> chains = {
    {"one addition", "a + b", [](const double* x, double (*s)(double)) { return s(x[0] + x[1]); }},
    {"multiply-add", "a b + c", [](const double* x, double (*s)(double)) { return s(s(x[0] * x[1]) + x[2]); }},
    {"residual sum", "a + b + c + d",
     [](const double* x, double (*s)(double)) { return s(s(s(x[0] + x[1]) + x[2]) + x[3]); }},
    {"end of a norm", "(a - b) c d + e, a normalisation with its scale and shift",
     [](const double* x, double (*s)(double)) { return s(s(s(s(x[0] - x[1]) * x[2]) * x[3]) + x[4]); }},
    {"LSTM cell", "sigmoid(a) b + sigmoid(c) tanh(d)",
     [](const double* x, double (*s)(double)) {
         const double kept = s(s(sigmoid_of(x[0])) * x[1]);
         return s(kept + s(s(sigmoid_of(x[2])) * s(tanh_of(x[3]))));
     }},
    {"gelu by tanh", "0.5 x (1 + tanh(0.798 (x + 0.0447 x^3)))",
     [](const double* x, double (*s)(double)) {
         const double cube = s(s(x[0] * x[0]) * x[0]);
         const double inner = s(s(0.7978845608028654) * s(x[0] + s(s(0.044715) * cube)));
         return s(s(0.5 * x[0]) * s(1 + s(tanh_of(inner))));
     }},
};

struct Comparison {
    double different = 0;    // share of the results
    double error_fused = 0;  // mean, in units in the last place of the result, which counts as 2^-8 at least
    double error_unfused = 0;
};

/// Fused: steps in fp32, one store. Unfused: each step stored.
Comparison compare(const Chain& chain, const FloatFormat& format, double (*store)(double), std::int64_t samples,
                   std::uint64_t seed) {
    Random random(seed, chain.name);
    Comparison c;
    for (std::int64_t i = 0; i < samples; ++i) {
        double x[5];
        for (double& v : x) v = store(random.normal());
        const double exact = chain.f(x, identity);
        const double fused = store(chain.f(x, in_fp32));
        const double unfused = chain.f(x, store);
        // A sum that cancels has no last place to measure in.
        const int exponent = exact == 0 ? -8 : std::max(std::ilogb(exact), -8);
        const double unit = quick_phase::power_of_two(exponent - format.fraction_bits);
        c.different += std::bit_cast<std::uint64_t>(fused) != std::bit_cast<std::uint64_t>(unfused) ? 1 : 0;
        c.error_fused += std::fabs(fused - exact) / unit;
        c.error_unfused += std::fabs(unfused - exact) / unit;
    }
    const auto n = static_cast<double>(samples);
    return {c.different / n, c.error_fused / n, c.error_unfused / n};
}

/// What the chains show in both formats, for the figures' sentences.
class Found {
  public:
    void add(std::size_t chain, const Comparison& c) {
        if (chain == 0) single_ = larger(single_, c.different);
        if (chain > 0) different_.push_back(c.different);
        fused_ = larger(fused_, c.error_fused);
        if (c.error_unfused > unfused_) worst_ = chains[chain].name;
        unfused_ = larger(unfused_, c.error_unfused);
    }
    [[nodiscard]] std::string shares_text() const {
        const auto [least, most] = std::ranges::minmax(different_);
        return fmt::format(
            "Of chains of two operations and more, fusing changes the bits of {:.1f} to {:.1f} % of the results: two "
            "correct programs, two answers. Of one operation, which rounds once in both, it changes {:.1f} %.",
            100 * least, 100 * most, 100 * single_);
    }
    [[nodiscard]] std::string errors_text() const {
        return fmt::format(
            "Fused chains stay within {:.3f} units. Unfused the largest mean error is {:.3f} units, that of the chain "
            "\"{}\".",
            fused_, unfused_, worst_);
    }

  private:
    double single_ = 0, fused_ = 0, unfused_ = 0;
    std::vector<double> different_;
    std::string worst_;
};

void run(const RunContext& context, Result& result) {
    const std::int64_t samples = context.settings.integer("samples");
    const std::string fuse = cite(sources::volta_talk, "Pointwise op fusion; ideally fused into a single op");
    Figure share{"different", "Fused and unfused chains: results that differ",
                 fmt::format("{} random inputs a chain. Unfused: each operation's result stored in 16 bits. Fused: "
                             "fp32 inside, one store.",
                             samples),
                 "", ""};
    Figure error{"error", "Fused and unfused chains: distance from the exact result",
                 "Mean error in units in the last place of the 16-bit result, taken as 2⁻⁸ at least. Evenly spread, "
                 "the error of one rounding is a quarter.",
                 "", ""};
    const bool wide = has_control(context, "wide");
    const struct {
        const char* name;
        FloatFormat format;
        double (*store)(double);
    } stores[] = {{"fp16", formats::fp16, wide ? in_fp32 : in_fp16}, {"bf16", formats::bf16, wide ? in_fp32 : in_bf16}};
    double done = 0;
    Found found;
    for (const auto& store : stores) {
        Series different{store.name};
        Series fused{fmt::format("{} fused", store.name)};
        Series unfused{fmt::format("{} unfused", store.name)};
        for (std::size_t i = 0; i < chains.size(); ++i) {
            const Chain& chain = chains[i];
            const Comparison c = compare(chain, store.format, store.store, samples, context.seed);
            found.add(i, c);
            const auto x = static_cast<double>(i);
            different.points.push_back({x, c.different});
            fused.points.push_back({x, c.error_fused});
            unfused.points.push_back({x, c.error_unfused});
            const std::string id = fmt::format("{}_{}", store.name, i);
            if (i > 0) {  // one operation alone leaves nothing to fuse
                result.measured("chain_" + id, fuse,
                                fmt::format("{} in {}: fused it gives other bits, nearer to the exact result.",
                                            chain.what, store.name),
                                above(0.05, c.different, {"", "% differ", 100, 2}) &&
                                    below(c.error_unfused, c.error_fused, {"", "units of mean error", 1, 3}));
            }
            context.progress(++done / static_cast<double>(2 * chains.size()));
        }
        share.series.push_back(std::move(different));
        error.series.push_back(std::move(fused));
        error.series.push_back(std::move(unfused));
    }
    share.meaning = found.shares_text();
    error.meaning = found.errors_text();
    std::vector<std::string> names;
    for (const Chain& chain : chains) names.push_back(chain.name);
    share.axes = {named_axis(names), percent_axis("results that differ")};
    draw_bars(share);
    error.axes = {named_axis(names), {.label = "mean error in units in the last place", .log_base = 10, .from = 0.1}};
    for (int i = 0; i < 4; ++i) {
        error.looks.push_back({.mark = Mark::points,
                               .colour = 2 - i / 2,  // fp16, bf16
                               .width = 3,
                               .point = i % 2 == 0 ? 7 : 6,
                               .size = 2.2,
                               .shift = 0.12 * i - 0.18});
    }
    error.guides = {level(0.25, "one rounding")};
    result.figure(std::move(share));
    result.figure(std::move(error));
}

}  // namespace

Experiment experiment() {
    return {"fusion",
            "Fusion: where a chain of operations rounds",
            "Which bits change when a compiler fuses pointwise operations, and are they better?",
            {Chapter::systems, 2},
            {integer_setting("samples", "random inputs a chain", 50000, 1000000, 1000, 100000000).smoke(2000),
             wide_control()},
            run,
            {Control("control=wide",
                     "chain_fp16_1 chain_fp16_2 chain_fp16_3 chain_fp16_4 chain_fp16_5 chain_bf16_1 chain_bf16_2 "
                     "chain_bf16_3 chain_bf16_4 chain_bf16_5")},
            {},
            no_product};
}

}  // namespace ulp::fusion_experiment
