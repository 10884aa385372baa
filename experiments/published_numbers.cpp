// The numbers of the source documents that are arithmetic alone: recomputed; and those that need what is not here.
#include "experiments/shared/published_numbers.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/recipes/loss_scale.hpp"
#include "experiments/framework/control.hpp"
#include "experiments/framework/sources.hpp"
#include "experiments/shared/matrix_units.hpp"
#include "experiments/shared/roofline_model.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/quantization/block_scaled.hpp"
#include "softfloat/text.hpp"

namespace ulp {
namespace published_numbers_parts {
namespace {

using sources::cite;

// ---- Words for the fields of a format ----

template <class Half, class Brain>
void claim_words(Result& result) {
    const std::string article = cite(sources::paperspace, "TF32 also uses the same 8-bit multiplier as FP32");
    result.arithmetic("tf32_exponent", article,
                      "The 8 bits that TF32 shares with FP32 are the exponent's, here called multiplier.",
                      equal(formats::fp32.exponent_bits, formats::tf32.exponent_bits, "exponent bits"));
    // An 8-bit multiplier takes 8-bit significands, as bf16 has them. This product needs eleven bits on each side.
    const double factor = 1 + 0x1p-10;
    result.arithmetic("tf32_multiplier", article,
                      "A TF32 multiplier takes 11-bit significands: 1 + 2^-10 is a TF32 number; with 8 bits it is 1.",
                      equal(factor, tf32(factor)), Verdict::refuted);
    result.arithmetic("eight_bit_multiplier", article, "With an 8-bit significand that factor is lost.",
                      equal(1, Brain(factor)));
    result.arithmetic(
        "tf32_mantissa", cite(sources::paperspace, "TF32 employs the same 10-bit mantissa as FP16"),
        "TF32 and FP16 have fractions of 10 bits.",
        equal(10, formats::tf32.fraction_bits, "fraction bits") && equal(10, Half::format.fraction_bits, "in FP16"));
    const std::string scope = cite(sources::paperspace, "The amount of bits in the modulus affects its scope");
    int wider = 0;
    for (int bits = 4; bits <= 8; ++bits) {
        wider += ieee_format(bits, 10).emax() > ieee_format(bits - 1, 10).emax() ? 1 : 0;
    }
    result.arithmetic(
        "modulus", scope,
        "Read modulus as exponent: each further exponent bit widens the range, 3 to 8 bits with 10 fraction "
        "bits.",
        equal(5, wider, "of 5 wider"));
    int unmoved = 0;
    for (int bits = 8; bits <= 12; ++bits) {
        unmoved += ieee_format(8, bits).emax() == ieee_format(8, bits - 1).emax() ? 1 : 0;
    }
    result.arithmetic("modulus_is_not_fraction", scope, "Further fraction bits do not: 7 to 12 with 8 exponent bits.",
                      equal(5, unmoved, "of 5 alike"));
}

/// 1 and 2^-20 side by side: bfloat16 gives each its own exponent, a block format one to all.
void claim_bfp16(Result& result) {
    std::array<float, mx_block_size> values{1, 0x1p-20F};
    std::array<std::uint8_t, 1> scale{};
    std::array<std::uint8_t, mx_block_size> elements{};
    quantize_mx(formats::e4m3, values, scale, elements);
    dequantize_mx(formats::e4m3, scale, elements, values);
    result.arithmetic("bfp16_is_bf16", cite(sources::round_table, "Quantization (TF32, FP32, FP16, BFP16)"),
                      "BFP16 there is bfloat16: every number has an exponent of its own, so 2^-20 beside 1 stays. In a "
                      "block floating-point format, which BFP means elsewhere, it is lost: MXFP8.",
                      equal(0x1p-20, bf16(0x1p-20)) && equal(0, fp32(values[1])));
}

// ---- Arithmetic of the documents ----

/// Updates in steady state: gradients that are finite up to a scale of 2^16, and PyTorch's scaler.
void claim_scaler(Result& result) {
    LossScale scale(loss_scale_dialect("pytorch"));
    std::int64_t steps = 0;
    std::int64_t skipped = 0;
    while (skipped < 10) {
        const bool overflow = scale.value() > 0x1p16;
        scale.update(overflow);
        ++steps;
        skipped += overflow ? 1 : 0;
    }
    result.arithmetic(
        "skipped_bound", cite(sources::volta_talk, "N = 2,000: skipping at most 0.05% of updates in steady state"),
        "A scale that grows after 2000 clean steps skips one update of 2001: 0.04998 %.",
        at_most(0.0005, static_cast<double>(skipped) / static_cast<double>(steps), {"", "% skipped", 100, 5}));
}

template <class Half>
void claim_chip(Result& result) {
    const std::string slide = cite(sources::volta_talk, "GV100: 80 SM, 5120 CUDA cores, 640 Tensor Cores");
    const Gpu gpu;
    result.arithmetic("cuda_cores", slide, "80 multiprocessors with 64 fp32 units are 5120 CUDA cores.",
                      equal(5120, static_cast<std::int64_t>(gpu.multiprocessors * gpu.fp32_products), "cores"));
    constexpr int tile = 4 * 4 * 4;
    result.arithmetic(
        "tensor_cores", slide,
        "512 products a clock and multiprocessor, 64 to a 4 x 4 x 4 Tensor Core: 8 each, 640 in all.",
        equal(640, static_cast<std::int64_t>(gpu.multiprocessors * gpu.tensor_core_products / tile), "cores"));
    const UnitRow& v100 = find_unit("v100", "fp16", "fp32");
    result.arithmetic("kernel_884", cite(sources::amp_slides, "look for 884 kernels"),
                      "884 in a kernel's name is the shape 8 x 8 x 4: V100's instruction sums 4 products.",
                      equal(4, v100.as<TensorCoreModel>()->instruction_k, "products"));
    evidence_of_row(v100.key(), result);
    const std::string in_half = refusal({Half::format, formats::fp32}, 256, 2048, 1024);
    const std::string in_fp32 = refusal({formats::fp32, formats::fp32}, 256, 2048, 1024);
    result.arithmetic("linear_256", cite(sources::amp_slides, "How can I make sure Tensor Cores were used?"),
                      "The layer 256 x 1024 to 2048 runs on a V100's Tensor Cores in fp16, and does not in fp32.",
                      is(in_half.empty(), "no reason against it in fp16",
                         in_half.empty() ? "no reason against it in fp16" : in_half) &&
                          is(!in_fp32.empty(), "a reason against it in fp32", in_fp32));
    result.arithmetic("bytes", cite(sources::paperspace, "Notations"), "FP16 takes 2 bytes, FP32 takes 4.",
                      equal(2, Half::format.storage_bits() / 8, "bytes") &&
                          equal(4, formats::fp32.storage_bits() / 8, "bytes in FP32"));
}

/// Integers that fp16 cannot hold.
template <class Half>
void claim_token_ids(Result& result) {
    const std::string slide =
        cite(sources::round_table, "NLP: input tensors are integer; not possible to convert to fp16");
    constexpr std::array ids = {101, 9932, 2461, 10880, 2003, 10392, 1012, 102};
    std::string changed;
    for (const int id : ids) {
        const Half stored(static_cast<double>(id));
        if (static_cast<double>(stored) == id) continue;
        changed += fmt::format("{}{} to {}", changed.empty() ? "" : ", ", id, static_cast<double>(stored));
    }
    result.arithmetic("token_ids", slide, "Token ids stay integers: of the slide's eight, fp16 would change two.",
                      equal("9932 to 9936, 2461 to 2460", changed));
    int first = 0;
    while (first < 4096 && static_cast<double>(Half(static_cast<double>(first))) == first) ++first;
    result.arithmetic("first_lost_integer", slide, "The first integer that fp16 does not hold is 2049.",
                      equal(2049, first));
}

// ---- The accuracy tables ----

constexpr double images = 50000;  // of ILSVRC12's validation set

/// The standard deviation of the difference of two accuracies in per cent, by the choice of images alone.
double noise(const PublishedAccuracy& row) {
    const auto variance = [](double percent) { return percent / 100 * (1 - percent / 100) / images; };
    return 100 * std::sqrt(variance(row.fp32) + variance(row.mixed));
}

/// How many of the published differences chance in the test images alone would make of nets that are equally good.
std::int64_t within_noise() {
    return std::ranges::count_if(published_accuracies(), [](const PublishedAccuracy& row) {
        return std::fabs(row.mixed - row.fp32) <= 2 * noise(row);
    });
}

void claim_accuracies(Result& result) {
    const std::string slide = cite(sources::amp_slides, "Same accuracy as FP32, with no hyperparameter changes");
    int rounded_alike = 0;
    for (const PublishedAccuracy& row : published_accuracies()) {
        const auto fits = [](double exact, double rounded) { return std::fabs(exact - rounded) < 0.0501; };
        rounded_alike += (fits(row.fp32, row.fp32_rounded) ? 1 : 0) + (fits(row.mixed, row.mixed_rounded) ? 1 : 0);
        result.quoted(
            fmt::format("ilsvrc_{}", row.net), slide,
            fmt::format("{}: top-1 {:.2f}% in fp32, {:.2f}% in mixed precision.", row.net, row.fp32, row.mixed),
            fmt::format("{:.2f} %, {:.2f} %", row.fp32, row.mixed), "needs ILSVRC12 and weeks of GPU time");
    }
    result.arithmetic("ilsvrc_same", slide,
                      "The six differences are no larger than twice what another choice of 50,000 images would change.",
                      equal(6, within_noise(), "of 6"));
    result.arithmetic("ilsvrc_rounded", cite(sources::volta_talk, "ILSVRC12 classification networks, top-1 accuracy"),
                      "The other talk prints the same twelve numbers, rounded to one decimal.",
                      equal(12, rounded_alike, "of 12"));
    result.quoted("ilsvrc_ResNeXt-50", cite(sources::volta_talk, "ILSVRC12 classification networks, top-1 accuracy"),
                  "ResNeXt-50: 77.3% in fp32, 77.5% in mixed precision.", "77.3 %, 77.5 %",
                  "needs ILSVRC12 and weeks of GPU time");
}

void figure_accuracies(Result& result) {
    Figure figure{
        "accuracies", "Published accuracies: mixed precision minus fp32",
        "Quoted, not measured here: top-1 on ILSVRC12. Bars: two standard deviations of the difference by the "
        "choice of the 50,000 images alone.",
        fmt::format("{} of {} published differences lie within what chance in the test images alone would make of two "
                    "nets that are equally good.",
                    within_noise(), std::size(published_accuracies())),
        ""};
    Series differences{"mixed minus fp32"};
    Series bounds{"two standard deviations"};
    double place = 0;
    for (const PublishedAccuracy& row : published_accuracies()) {
        differences.points.push_back({place, row.mixed - row.fp32});
        bounds.points.push_back({place, 2 * noise(row)});
        place += 1;
    }
    figure.series = {std::move(differences), std::move(bounds)};
    result.figure(std::move(figure));
}

void run(const RunContext& context, Result& result) {
    with_16_bit_formats(context, [&]<class Half, class Brain>() {
        claim_words<Half, Brain>(result);
        claim_bfp16(result);
        claim_scaler(result);
        claim_chip<Half>(result);
        claim_token_ids<Half>(result);
    });
    claim_accuracies(result);
    for (const PublishedNumber& number : published_numbers()) {
        result.quoted(number.id, cite(number.document, number.place), number.statement, std::string(number.value),
                      number.reason);
    }
    context.progress(0.9);
    figure_accuracies(result);
}

}  // namespace
}  // namespace published_numbers_parts

Experiment published_numbers_experiment() {
    using namespace published_numbers_parts;
    return {"published_numbers",
            "Published numbers: what arithmetic alone can check",
            "Which numbers of the sources follow from arithmetic, and which can only be quoted here?",
            Chapter::hardware,
            {wide_control()},
            run,
            {{{},
              {"control=wide"},
              {"eight_bit_multiplier", "tf32_mantissa", "linear_256", "bytes", "token_ids", "first_lost_integer"}}},
            {},
            no_product};
}

}  // namespace ulp
