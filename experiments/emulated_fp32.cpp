// fp32 and fp64 products made of bf16, TF32, FP8 and int8 ones: the error that is left after each number of products.
#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "engine/tensor/random.hpp"
#include "experiments/framework/experiment.hpp"
#include "experiments/framework/values.hpp"
#include "experiments/shared/matrix_units.hpp"
#include "softfloat/matrix_units/schemes.hpp"
#include "softfloat/round.hpp"

namespace ulp::emulated_fp32_experiment {
namespace {

const std::string derivation = "Bounds of this laboratory (softfloat/matrix_units/schemes.hpp)";

constexpr std::string_view bf16_row = "sm_90:wgmma.bf16.fp32", tf32_row = "sm_90:wgmma.tf32.fp32",
                           fp8_row = "sm_90:wgmma.e4m3.fp32", int8_row = "sm_90:wgmma.s8.s32";

/// A line of the figures: schemes on one unit, from few products to many.
struct Family {
    std::string name;
    std::string_view unit;
    std::vector<std::string> schemes;
};

std::vector<std::string> counted(const std::string& scheme, int first, int last) {
    std::vector<std::string> names;
    for (int n = first; n <= last; ++n) names.push_back(fmt::format("{}:{}", scheme, n));
    return names;
}

const std::vector<Family>& families(const FloatFormat& format) {
    static const std::vector<Family> of_fp32 = {{"bf16 parts", bf16_row, {"bf16x3", "bf16x6", "bf16x9"}},
                                                {"TF32 parts", tf32_row, {"3xtf32"}},
                                                {"bf16 slices", bf16_row, counted("ozaki1", 1, 4)},
                                                {"E4M3 slices", fp8_row, counted("ozaki1", 2, 6)},
                                                {"int8 slices", int8_row, counted("ozaki1", 1, 5)},
                                                {"int8 remainders", int8_row, counted("ozaki2", 3, 10)}};
    static const std::vector<Family> of_fp64 = {{"int8 slices", int8_row, counted("ozaki1", 1, 9)},
                                                {"int8 remainders", int8_row, counted("ozaki2", 3, 16)}};
    return format == formats::fp32 ? of_fp32 : of_fp64;
}

/// A square product's operands.
struct Operands {
    FloatFormat format;
    std::int64_t size, k;
    std::vector<double> a, b;

    [[nodiscard]] Fp64Problem problem(std::vector<double>& d) const {
        d.assign(static_cast<std::size_t>(size * size), 0.0);
        return {{a.data(), size, k}, {b.data(), k, size}, {}, {d.data(), size, size}};
    }
};

/// number() rounded to `grid`.
Operands operands_of(const FloatFormat& format, const FloatFormat& grid, std::int64_t size, std::int64_t k,
                     const std::function<double()>& number) {
    Operands operands{format, size, k, {}, {}};
    for (std::int64_t i = 0; i < size * k; ++i) {
        operands.a.push_back(round_to(grid, number()));
        operands.b.push_back(round_to(grid, number()));
    }
    return operands;
}

/// A scheme's product: errors and bounds relative to the sum of the magnitudes.
struct Point {
    double products, error, bound;
    std::int64_t elements, outside;
};

SchemePlan plan(const std::string& scheme, std::string_view unit, const Operands& operands) {
    return plan_of(scheme_by_name(scheme), find_unit(unit), {}, operands.k, operands.format);
}

/// `finer`: judged by the bound with a part more, or with all products of bf16.
Point measure(const std::string& scheme, std::string_view unit, const Operands& operands, bool finer) {
    const SchemePlan used = plan(scheme, unit, operands);
    std::string judge = scheme;
    if (finer && used.of_integers()) {
        judge = name_of(Scheme{used.scheme.kind, std::min(used.scheme.parts + 1, 16)});
    } else if (finer && unit == bf16_row) {
        judge = "bf16x9";
    }
    std::vector<double> d, bounds;
    const Fp64Problem product = operands.problem(d);
    scheme_product(used, product);
    scheme_bounds(plan(judge, unit, operands), operands.problem(bounds));
    Point point{static_cast<double>(used.products), largest_error(product), 0, operands.size * operands.size, 0};
    for (std::int64_t i = 0; i < operands.size; ++i) {
        for (std::int64_t j = 0; j < operands.size; ++j) {
            const double bound = bounds[static_cast<std::size_t>(i * operands.size + j)];
            point.outside += std::abs(error_of(product, i, j)) <= bound ? 0 : 1;
            point.bound = larger(point.bound, bound / magnitude_of(product, i, j));
        }
    }
    return point;
}

double error_of_scheme(const std::string& scheme, std::string_view unit, const Operands& operands) {
    return measure(scheme, unit, operands, false).error;
}

struct Count {
    std::int64_t elements = 0, outside = 0;
};

void figure_of(const Operands& operands, const RunContext& context, Count& count, Result& result) {
    const bool narrow = operands.format == formats::fp32;
    const std::string name = narrow ? "fp32" : "fp64";
    Figure figure{name, fmt::format("{} from narrow units of an H100: error against products", name),
                  fmt::format("Uniform numbers, k = {}. Marks: largest error, over the sum of the magnitudes. Dashes: "
                              "the bound.",
                              operands.k),
                  "", ""};
    std::vector<std::string> names;
    for (const Family& family : families(operands.format)) names.push_back(family.name);
    for (const Family& family : families(operands.format)) {
        const int colour = colours_of(names).at(figure.series.size() / 2);
        Series errors{family.name}, bounds{family.name + " bound"};
        std::vector<double> unused;
        if (family.name.ends_with("parts")) {
            errors.points.push_back({1, *largest_error_of(find_unit(family.unit), operands.problem(unused))});
        }
        for (const std::string& scheme : family.schemes) {
            const Point point = measure(scheme, family.unit, operands, has_control(context, "finer"));
            count.elements += point.elements;
            count.outside += point.outside;
            errors.points.push_back({point.products, point.error});
            bounds.points.push_back({point.products, point.bound});
        }
        const auto& [products, least] = errors.points.back();
        figure.meaning += fmt::format("{}{}: {:.2g} with {:.0f} products.", figure.meaning.empty() ? "" : " ",
                                      family.name, least, products);
        figure.looks.insert(figure.looks.end(), {{.mark = Mark::linespoints, .colour = colour},
                                                 {.colour = colour, .dash = 2, .title = ""}});
        figure.series.push_back(std::move(errors));
        figure.series.push_back(std::move(bounds));
        if (figure.evidence.find(family.unit) == std::string::npos) {
            figure.evidence += (figure.evidence.empty() ? "" : " ") + evidence_of_row(std::string(family.unit), result);
        }
    }
    std::vector<double> d;
    const double chain = largest_error_of_chain(operands.format, operands.problem(d));
    figure.guides = {level(chain, "fma after fma")};
    figure.axes = {{.label = "products of the unit", .from = 0.0, .to = narrow ? 29.0 : 60.0},
                   power_axis("error over the sum of the magnitudes", 10)};
    figure.key = Key::beside;
    result.figure(std::move(figure));
}

void claim_left_out(const RunContext& context, Result& result) {
    // The first part of each is 1 and the second 2^-8, so that bf16x3 leaves out 2^-16 of each product.
    constexpr std::int64_t k = 64;
    Random random(context.seed, "gentle");
    const double chosen = 1 + 0x1p-8 - 0x1p-23;
    const auto number = [&] { return has_control(context, "gentle") ? random.uniform() : chosen; };
    const Operands operands = operands_of(formats::fp32, formats::fp32, 4, k, number);
    const double worst = error_of_scheme("bf16x3", bf16_row, operands);
    result.measured("left_out", derivation,
                    "bf16x3 leaves out up to 2^-16 of the sum of the magnitudes: operands chosen for it lose nine "
                    "tenths of that.",
                    at_least(0.9, worst * 0x1p16, {"error", "times 2^-16", 1, 3}));
    const Operands ordinary = operands_of(formats::fp32, formats::fp32, 4, k, [&] { return random.uniform(); });
    double others = 0;
    for (const auto& [scheme, unit] : {std::pair<std::string, std::string_view>{"bf16x6", bf16_row},
                                       {"bf16x9", bf16_row},
                                       {"3xtf32", tf32_row},
                                       {"ozaki1", int8_row},
                                       {"ozaki2", int8_row}}) {
        for (const Operands* each : {&operands, &ordinary}) {
            others = larger(others, error_of_scheme(scheme, unit, *each));
        }
    }
    const Quantity share{"error", "of the bound of fp32 sums, k 2^-24", 1, 3};
    result.measured(
        "fp32_grade", derivation,
        fmt::format("At k = {} bf16x6, bf16x9, 3xTF32, int8 slices and int8 remainders stay within the bound "
                    "of fp32 sums, k 2^-24, with operands that take bf16x3 beyond it and with positive ones.",
                    k),
        at_most(1, others * 0x1p24 / k, share) && above(1, worst * 0x1p24 / k, share));
}

void claim_slices(const Operands& operands, Result& result) {
    double least = 1e300, most = 0;
    double before = error_of_scheme("ozaki1:2", int8_row, operands);
    for (int slices = 3; slices <= 7; ++slices) {
        const double now = error_of_scheme(fmt::format("ozaki1:{}", slices), int8_row, operands);
        least = smaller(least, before / now);
        most = larger(most, before / now);
        before = now;
    }
    const Quantity factor{"the error falls", "times", 1, 0};
    result.measured("slices", derivation,
                    "Each further slice of seven bits takes seven binades off the error, give or take two, up to seven "
                    "slices.",
                    at_least(32, least, factor) && at_most(512, most, factor));
    const auto products = [&](const char* scheme) { return plan(scheme, int8_row, operands).products; };
    result.arithmetic(
        "moduli", derivation,
        fmt::format("At k = {} remainders take 16 int8 products for fp64's precision, where slices take 45.",
                    operands.k),
        equal(16, products("ozaki2"), "products") && equal(45, products("ozaki1"), "products"));
}

void claim_spread(const RunContext& context, std::int64_t size, std::int64_t k, Result& result) {
    Random random(context.seed, "spread");
    const Operands even = operands_of(formats::fp32, formats::fp32, size, k, [&] { return random.uniform(0.5, 1); });
    Operands spread = even;
    for (std::int64_t i = 0; i < size && !has_control(context, "even"); ++i) {
        spread.a[static_cast<std::size_t>(i * k)] *= 0x1p16;  // meets zeros alone
        spread.b[static_cast<std::size_t>(i)] = 0;
    }
    const auto ratio = [&](const char* scheme, std::string_view unit) {
        return error_of_scheme(scheme, unit, spread) / error_of_scheme(scheme, unit, even);
    };
    const Quantity times{"the error grows", "times", 1, 1};
    result.measured("spread", derivation,
                    "A number 2^16 times the others of its row that meets a zero costs int8 slices eight bits or more; "
                    "bf16x9 loses at most two.",
                    at_least(256, ratio("ozaki1", int8_row), times) && at_most(4, ratio("bf16x9", bf16_row), times));
}

void run(const RunContext& context, Result& result) {
    const std::int64_t size = context.settings.integer("size"), k = context.settings.integer("k");
    Random random(context.seed, "uniform");
    const auto uniform = [&] { return random.uniform(-1, 1); };
    const Operands narrow = operands_of(formats::fp32, formats::fp32, size, k, uniform);
    const bool is_short = has_control(context, "short");
    const Operands wide = operands_of(formats::fp64, is_short ? formats::bf16 : formats::fp64, size, k, uniform);
    Count count;
    figure_of(narrow, context, count, result);
    context.progress(0.4);
    figure_of(wide, context, count, result);
    context.progress(0.8);
    result.measured("inside", derivation, "No element leaves the bound of its scheme.",
                    equal(0, count.outside, fmt::format("of {} elements", count.elements)));
    claim_spread(context, size, k, result);
    claim_slices(wide, result);
    claim_left_out(context, result);
}

}  // namespace

Experiment experiment() {
    return {
        "emulated_fp32",
        "fp32 and fp64 from narrow units",
        "How many products of a narrow unit make one of fp32 or fp64, and what error do they leave?",
        {Chapter::hardware, 7},
        {integer_setting("size", "rows and columns of the products", 8, 24, 2, 256).smoke(4),
         integer_setting("k", "the length of the sums", 512, 4096, 16, 65536).smoke(64),
         control_setting("finer takes bounds of a part more; gentle has random operands instead of chosen ones; short "
                         "has fp64 operands of eight bits; even has no large number in a row",
                         {"finer", "gentle", "short", "even"})},
        run,
        {Control("control=finer", "inside"), Control("control=gentle", "left_out fp32_grade"),
         Control("control=short", "slices"), Control("control=even", "spread")},
        {},
        "a scheme is arithmetic around a unit's model, which it asks for products of parts"};
}

}  // namespace ulp::emulated_fp32_experiment
