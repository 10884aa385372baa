#include "experiments/shared/product_errors.hpp"

#include <fmt/core.h>

#include "engine/tensor/random.hpp"
#include "engine/tensor/rounder.hpp"
#include "softfloat/matrix_units/product.hpp"
#include "softfloat/matrix_units/units.hpp"

namespace ulp {
namespace {

constexpr Index operand_rows = 32;  // of A, and columns of B: 1024 dot products of each length

/// How the entries of A and B are distributed.
enum class Entries : std::uint8_t {
    positive,  // uniform in (0, 1): all products add up
    centred    // standard normal: they cancel
};

/// A and B on a format's grid, and the exact dot products: sums of exact products in fp64, whose own error is 2^-53.
struct Operands {
    Matrix a, b;
    std::vector<double> exact;
    double scale = 0;  // root mean square of the exact results
};

Operands draw(const FloatFormat& format, Entries entries, Index k, std::uint64_t seed) {
    Random random(seed, fmt::format("products of {}", k));
    const Rounder<float> rounded(format);
    const auto number = [&] {
        return rounded(static_cast<float>(entries == Entries::positive ? random.uniform() : random.normal()));
    };
    Operands operands{Matrix(operand_rows, k), Matrix(k, operand_rows), {}};
    for (Index i = 0; i < operands.a.size(); ++i) operands.a.data()[i] = number();
    for (Index i = 0; i < operands.b.size(); ++i) operands.b.data()[i] = number();
    operands.exact.assign(static_cast<std::size_t>(operand_rows * operand_rows), 0);
    for (Index i = 0; i < operand_rows; ++i) {
        for (Index p = 0; p < k; ++p) {
            for (Index j = 0; j < operand_rows; ++j) {
                operands.exact[static_cast<std::size_t>(i * operand_rows + j)] +=
                    static_cast<double>(operands.a(i, p)) * static_cast<double>(operands.b(p, j));
            }
        }
    }
    for (const double x : operands.exact) operands.scale += x * x;
    operands.scale = std::sqrt(operands.scale / static_cast<double>(operands.exact.size()));
    return operands;
}

/// Of the errors relative to the exact results' root mean square.
struct Errors {
    double root_mean_square = 0;
    double mean = 0;  // with the sign of the exact result: negative where magnitudes come out too small
    double largest = 0;
};

Errors errors_of(const Matrix& result, const Operands& operands) {
    Errors errors;
    const auto count = static_cast<double>(operands.exact.size());
    for (std::size_t i = 0; i < operands.exact.size(); ++i) {
        const double exact = operands.exact[i];
        const double error = (static_cast<double>(result.data()[i]) - exact) / operands.scale;
        errors.root_mean_square += error * error;
        errors.mean += (exact < 0 ? -error : error) / count;
        errors.largest = std::max(errors.largest, std::fabs(error));
    }
    errors.root_mean_square = std::sqrt(errors.root_mean_square / count);
    return errors;
}

/// Anything that multiplies, by name.
struct Multiplier {
    std::string name;
    std::function<Matrix(const Operands&)> matmul;
};

Multiplier through(const MatrixUnit& unit, const ProductTypes& types) {
    return {fmt::format("{} {}", unit.name, types.accumulator == formats::fp16 ? "fp16" : "fp32"),
            [&unit, types](const Operands& o) { return matmul(*unit.backend, types, o.a, o.b); }};
}

Multiplier through(const std::string& name, const std::string& key, std::int64_t promote_every) {
    return {name, [&model = unit_model<TensorCoreModel>(key), promote_every](const Operands& o) {
                Matrix d(operand_rows, operand_rows);
                soft_product(model, {.promote_every = promote_every}, {o.a, o.b, {}, d});
                return d;
            }};
}

/// Lengths from 16, and the errors of each multiplier at each length.
std::vector<std::vector<Errors>> measure(const std::vector<Multiplier>& multipliers, const FloatFormat& format,
                                         Entries entries, std::span<const Index> lengths, std::uint64_t seed) {
    std::vector<std::vector<Errors>> table(multipliers.size());
    for (const Index k : lengths) {
        const Operands operands = draw(format, entries, k, seed);
        for (std::size_t i = 0; i < multipliers.size(); ++i) {
            table[i].push_back(errors_of(multipliers[i].matmul(operands), operands));
        }
    }
    return table;
}

/// Powers of two from `first` to the setting.
std::vector<Index> lengths_from(Index first, const RunContext& context) {
    std::vector<Index> lengths;
    for (Index k = first; k <= static_cast<Index>(context.settings.integer("longest_k")); k *= 2) lengths.push_back(k);
    return lengths;
}

void add_series(const std::vector<Multiplier>& multipliers, const std::vector<std::vector<Errors>>& table,
                std::span<const Index> lengths, const std::string& suffix, Figure& figure) {
    for (std::size_t i = 0; i < multipliers.size(); ++i) {
        Series series{multipliers[i].name + suffix, formats::fp64, {}};
        for (std::size_t j = 0; j < lengths.size(); ++j) {
            series.points.push_back({static_cast<double>(lengths[j]), table[i][j].root_mean_square});
        }
        figure.series.push_back(std::move(series));
    }
}

std::string percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

/// The errors of the longest products: " V100 fp32 0.1 %, ...."
std::string text_of_longest(const Figure& figure) {
    std::string text;
    for (const Series& series : figure.series) {
        text += fmt::format(" {} {},", series.name, percent(series.points.back().y));
    }
    text.back() = '.';
    return text;
}

void accumulators(const RunContext& context, const std::vector<MatrixUnit>& units, Result& result) {
    const std::vector<Index> lengths = lengths_from(16, context);
    Figure figure{"accumulators", "The error of long products, by accumulator",
                  "A·B with entries uniform in (0, 1), fp16. Root mean square error of 1024 results, relative to them.",
                  "All products are positive, so a unit that cuts makes every sum too small. Dashed: fp16 "
                  "accumulators. At the longest k:",
                  evidence_of(units, {fp16_to_fp32, fp16_to_fp16}, result)};
    std::vector<Multiplier> wide;
    std::vector<Multiplier> narrow;
    for (const MatrixUnit& unit : units) {
        wide.push_back(through(unit, fp16_to_fp32));
        narrow.push_back(through(unit, has_control(context, "wide_sums") ? fp16_to_fp32 : fp16_to_fp16));
    }
    const auto wide_errors = measure(wide, formats::fp16, Entries::positive, lengths, context.seed);
    const auto narrow_errors = measure(narrow, formats::fp16, Entries::positive, lengths, context.seed);
    add_series(wide, wide_errors, lengths, "", figure);
    add_series(narrow, narrow_errors, lengths, "", figure);
    figure.meaning += text_of_longest(figure);
    figure.axes = {power_axis("k, products in a sum", 2), power_axis("relative error of the result", 10)};
    figure.axes.y.from = 1e-9;
    figure.axes.y.to = 1;
    for (std::size_t i = 0; i < 2 * units.size(); ++i) {
        const bool is_wide = i < units.size();
        figure.looks.push_back({.mark = Mark::linespoints,
                                .colour = formatless_colour(i % units.size()),
                                .width = figure.series[i].name.starts_with("H100") ? 6.0 : 0.0,
                                .dash = is_wide ? 1 : 2,
                                .size = 0.8,
                                .title = figure.series[i].name + " accumulator"});
    }
    figure.key_rows = 3;
    result.figure(std::move(figure));

    const std::string slide =
        cite(sources::volta_talk, "Convolution, matrix multiply: training: use FP32 accumulation");
    const std::string paper = cite(sources::numerical_behavior, "rounding mode of additions");
    const double nearest = wide_errors.back().back().root_mean_square;  // the last unit's: IEEE arithmetic
    const Quantity error{"error", "%", 100, 4};
    for (std::size_t i = 0; i + 1 < units.size(); ++i) {
        const double with_fp32 = wide_errors[i].back().root_mean_square;
        result.measured("accumulate_fp32_" + id_of(units[i]), slide,
                        fmt::format("{}: at k = {} an fp16 accumulator is more than 20 times as wrong as an fp32 one.",
                                    units[i].name, lengths.back()),
                        above(20 * with_fp32, narrow_errors[i].back().root_mean_square, error));
        result.measured("truncates_" + id_of(units[i]), paper,
                        fmt::format("{} cuts its sums toward zero, so that errors of one sign pile up: at k = {} it is "
                                    "more than twice as wrong as sums that are rounded to nearest.",
                                    units[i].name, lengths.back()),
                        above(2 * nearest, with_fp32, error));
    }
}

constexpr const char* wgmma_fp8 = "sm_90:wgmma.e4m3.fp32";
constexpr const char* tcgen05_fp8 = "sm_100:tcgen05.e4m3.fp32";

void claim_fp8(const RunContext& context, const Multiplier& plain, const Multiplier& promoted, Result& result) {
    const std::string place = cite(sources::deepseek_v3, "Increasing accumulation precision");
    const Operands centred = draw(formats::e4m3, Entries::centred, 4096, context.seed);
    const Operands positive = draw(formats::e4m3, Entries::positive, 4096, context.seed);
    const Errors of_positive = errors_of(plain.matmul(positive), positive);
    result.quoted(
        "fp8_error_4096", place, "At k = 4096 the largest relative error of FP8 products on H100 is nearly 2 %.",
        "nearly 2 %",
        fmt::format("the source states neither the entries nor what the error is relative to; relative to the results' "
                    "root mean square it is {} with normal entries and {} with positive ones",
                    percent(errors_of(plain.matmul(centred), centred).largest), percent(of_positive.largest)));
    result.measured(
        "fp8_promotion", place,
        fmt::format(
            "Promotion to fp32 every {} products corrects it: at k = 4096 less than a fifth of the error is left.",
            context.settings.integer("promote_every")),
        below(of_positive.root_mean_square / 5, errors_of(promoted.matmul(positive), positive).root_mean_square,
              {"error", "%", 100, 4}));
}

void fp8(const RunContext& context, Result& result) {
    const std::vector<Index> lengths = lengths_from(128, context);
    const std::int64_t every = context.settings.integer("promote_every");
    std::string evidence = evidence_of_row(wgmma_fp8, result);  // one after the other: each notes itself
    evidence += ". " + evidence_of_row(tcgen05_fp8, result) +
                ". Promotion is an fp32 addition to nearest even, as a kernel makes it. fp32: IEEE 754 arithmetic, no "
                "hardware.";
    Figure figure{
        "fp8", "FP8 products on H100, and the remedy of promotion",
        fmt::format("A·B with E4M3 entries. Root mean square error of 1024 results, relative to them. Promotion every "
                    "{} products.",
                    every),
        fmt::format(
            "H100's unit keeps {} fraction bits of a running FP8 sum, the model of B200's {}. At the longest k:",
            unit_model<TensorCoreModel>(wgmma_fp8).output_fraction_bits,
            unit_model<TensorCoreModel>(tcgen05_fp8).output_fraction_bits),
        evidence};
    const auto ieee =
        std::make_shared<MatrixUnit>(MatrixUnit{"fp32 to nearest", "soft:ieee", make_backend("soft:ieee")});
    std::vector<Multiplier> multipliers = {through("H100", wgmma_fp8, 0), through("H100 promoted", wgmma_fp8, every),
                                           through("B200 tcgen05", tcgen05_fp8, 0)};
    multipliers.push_back({ieee->name, [ieee](const Operands& o) {
                               return matmul(*ieee->backend, {formats::e4m3, formats::fp32}, o.a, o.b);
                           }});
    const auto positive = measure(multipliers, formats::e4m3, Entries::positive, lengths, context.seed);
    const auto centred = measure(multipliers, formats::e4m3, Entries::centred, lengths, context.seed);
    add_series(multipliers, positive, lengths, " positive", figure);
    add_series(multipliers, centred, lengths, " centred", figure);
    figure.meaning += text_of_longest(figure);
    figure.axes = {power_axis("k, products in a sum", 2), power_axis("relative error of the result", 10)};
    figure.axes.y.from = 1e-9;
    figure.axes.y.to = 100;  // the key above the curves
    for (std::size_t i = 0; i < figure.series.size(); ++i) {
        const int panel = i < multipliers.size() ? 0 : 1;
        const std::string& name = multipliers[i % multipliers.size()].name;
        figure.looks.push_back({.mark = Mark::linespoints, .size = 0.9, .title = name, .panel = panel});
    }
    figure.panels = {{"entries uniform in (0, 1)"}, {"standard normal entries"}};
    figure.key = Key::top_left;
    result.figure(std::move(figure));

    claim_fp8(context, multipliers[0], multipliers[1], result);
}

}  // namespace

void product_errors(const RunContext& context, const std::vector<MatrixUnit>& units, Result& result) {
    accumulators(context, units, result);
    fp8(context, result);
}

}  // namespace ulp
