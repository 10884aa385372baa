// The numbers of the source documents that are arithmetic alone: recomputed; and those that need what is not here.
#include "experiments/shared/published_numbers.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/tape/engine.hpp"
#include "experiments/framework/control.hpp"
#include "experiments/shared/matrix_units.hpp"
#include "experiments/shared/roofline_model.hpp"
#include "experiments/shared/sources.hpp"
#include "softfloat/matrix_units/table/units.hpp"
#include "softfloat/quantization/block_scaled.hpp"
#include "softfloat/text.hpp"

namespace ulp {
namespace {

using sources::cite;

// ---- Words for the fields of a format ----

template <class Half, class Brain>
void claim_words(Result& result) {
    const std::string article = cite(sources::paperspace, "TF32 also uses the same 8-bit multiplier as FP32");
    result.arithmetic(
        "tf32_exponent", article, "The 8 bits that TF32 shares with FP32 are the exponent's, here called multiplier.",
        equal("8 exponent bits, 8 in fp32",
              fmt::format("{} exponent bits, {} in fp32", formats::tf32.exponent_bits, formats::fp32.exponent_bits)));
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
        equal("10 and 10", fmt::format("{} and {}", formats::tf32.fraction_bits, Half::format.fraction_bits)));
    const std::string scope = cite(sources::paperspace, "The amount of bits in the modulus affects its scope");
    int wider = 0;
    for (int bits = 4; bits <= 8; ++bits) {
        wider += ieee_format(bits, 10).emax() > ieee_format(bits - 1, 10).emax() ? 1 : 0;
    }
    result.arithmetic(
        "modulus", scope,
        "Read modulus as exponent: each further exponent bit widens the range, 3 to 8 bits with 10 fraction "
        "bits.",
        equal("5 of 5 wider", fmt::format("{} of 5 wider", wider)));
    int unmoved = 0;
    for (int bits = 8; bits <= 12; ++bits) {
        unmoved += ieee_format(8, bits).emax() == ieee_format(8, bits - 1).emax() ? 1 : 0;
    }
    result.arithmetic("modulus_is_not_fraction", scope, "Further fraction bits do not: 7 to 12 with 8 exponent bits.",
                      equal("5 of 5 alike", fmt::format("{} of 5 alike", unmoved)));
}

/// 1 and 2^-20 side by side: bfloat16 gives each its own exponent, a block format one to all.
void claim_bfp16(Result& result) {
    const std::string slide = cite(sources::round_table, "Quantization (TF32, FP32, FP16, BFP16)");
    result.arithmetic("bfp16_is_bf16", slide,
                      "BFP16 there is bfloat16: every number has an exponent of its own, so 2^-20 beside 1 stays.",
                      equal(0x1p-20, bf16(0x1p-20)));
    std::array<float, mx_block_size> values{1, 0x1p-20F};
    std::array<std::uint8_t, 1> scale{};
    std::array<std::uint8_t, mx_block_size> elements{};
    quantize_mx(formats::e4m3, values, scale, elements);
    dequantize_mx(formats::e4m3, scale, elements, values);
    result.arithmetic("bfp16_is_no_block", slide,
                      "In a block floating-point format, which BFP means elsewhere, it is lost beside 1: MXFP8.",
                      equal(0, fp32(values[1])), Verdict::refuted);
}

// ---- Arithmetic of the documents ----

void claim_scaler(Result& result) {
    const std::string slide = cite(sources::volta_talk, "N = 2,000: skipping at most 0.05% of updates in steady state");
    result.arithmetic("skipped_share", slide, "One skip after 2000 good steps is one of 2001: 0.04998%.",
                      equal("0.04998 %", fmt::format("{:.5f} %", 100.0 / 2001)), Verdict::refuted);
    result.claim_if(100.0 / 2001 <= 0.05, "skipped_bound", slide, "As a bound (at most 0.05%) it holds.",
                    "at most 0.05 %", fmt::format("{:.5f} %", 100.0 / 2001));
    result.arithmetic("skipped_margin", slide, "It leaves a margin of 2 to the 0.1% that did no harm.",
                      equal("2.0 times", fmt::format("{:.1f} times", 0.1 / (100.0 / 2001))));
}

std::string told(const std::string& refusal) { return refusal.empty() ? "nothing refuses it" : refusal; }

template <class Half>
void claim_chip(Result& result) {
    const std::string slide = cite(sources::volta_talk, "GV100: 80 SM, 5120 CUDA cores, 640 Tensor Cores");
    const Gpu gpu;
    result.arithmetic("cuda_cores", slide, "80 multiprocessors with 64 fp32 units are 5120 CUDA cores.",
                      equal("5120", fmt::format("{}", gpu.multiprocessors * gpu.fp32_products)));
    constexpr int tile = 4 * 4 * 4;
    result.arithmetic("tensor_cores", slide,
                      "512 products a clock and multiprocessor, 64 to a 4 x 4 x 4 Tensor Core: 8 each, 640 in all.",
                      equal("640", fmt::format("{}", gpu.multiprocessors * gpu.tensor_core_products / tile)));
    const UnitRow& v100 = find_unit("v100", "fp16", "fp32");
    result.arithmetic("kernel_884", cite(sources::amp_slides, "look for 884 kernels"),
                      "884 in a kernel's name is the shape 8 x 8 x 4: V100's instruction sums 4 products.",
                      equal("k = 4", fmt::format("k = {}", v100.as<TensorCoreModel>()->instruction_k)));
    evidence_of_row(v100.key(), result);
    result.arithmetic("linear_256", cite(sources::amp_slides, "How can I make sure Tensor Cores were used?"),
                      "The layer 256 x 1024 to 2048 in fp16 runs on Tensor Cores.",
                      equal("nothing refuses it", told(refusal({Half::format, formats::fp32}, 256, 2048, 1024))));
    result.arithmetic("linear_256_fp32", cite(sources::amp_slides, "FP16 input enables Volta/Turing Tensor Cores"),
                      "In fp32 it does not.",
                      equal("the operands are fp32, a V100's Tensor Cores take fp16",
                            refusal({formats::fp32, formats::fp32}, 256, 2048, 1024)));
    result.arithmetic(
        "bytes", cite(sources::paperspace, "Notations"), "FP16 takes 2 bytes, FP32 takes 4.",
        equal("2 and 4", fmt::format("{} and {}", Half::format.storage_bits() / 8, formats::fp32.storage_bits() / 8)));
}

void claim_speeds(Result& result) {
    result.arithmetic("time_saved", cite(sources::paperspace, "save time by 50 to 60%; speed up training by up to 60%"),
                      "50 to 60% less time is 2.0 to 2.5 times as fast; up to 60% faster is 1.6 times as fast.",
                      equal("2.0x to 2.5x, and 1.6x",
                            fmt::format("{:.1f}x to {:.1f}x, and {:.1f}x", 1 / (1 - 0.5), 1 / (1 - 0.6), 1 + 0.6)),
                      Verdict::inconsistent);
    result.arithmetic(
        "half_time", cite(sources::paperspace, "half the precision, half the training time"),
        "Half the bytes halve the time only of what memory limits; products become up to 8 times as fast, so "
        "with 73% of them the time falls to less than a quarter, at the roofline.",
        equal("0.23 of the time", fmt::format("{:.2f} of the time", 1 / amdahl(0.73, 8, 2))), Verdict::refuted);
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
                      equal("2049", fmt::format("{}", first)));
}

// ---- The accuracy tables ----

constexpr double images = 50000;  // of ILSVRC12's validation set

/// The standard deviation of the difference of two accuracies in per cent, by the choice of images alone.
double noise(const PublishedAccuracy& row) {
    const auto variance = [](double percent) { return percent / 100 * (1 - percent / 100) / images; };
    return 100 * std::sqrt(variance(row.fp32) + variance(row.mixed));
}

void claim_accuracies(Result& result) {
    const std::string slide = cite(sources::amp_slides, "Same accuracy as FP32, with no hyperparameter changes");
    int within = 0;
    int rounded_alike = 0;
    for (const PublishedAccuracy& row : published_accuracies()) {
        within += std::fabs(row.mixed - row.fp32) <= 2 * noise(row) ? 1 : 0;
        const auto fits = [](double exact, double rounded) { return std::fabs(exact - rounded) < 0.0501; };
        rounded_alike += (fits(row.fp32, row.fp32_rounded) ? 1 : 0) + (fits(row.mixed, row.mixed_rounded) ? 1 : 0);
        result.quoted(
            fmt::format("ilsvrc_{}", row.net), slide,
            fmt::format("{}: top-1 {:.2f}% in fp32, {:.2f}% in mixed precision.", row.net, row.fp32, row.mixed),
            fmt::format("{:.2f} %, {:.2f} %", row.fp32, row.mixed), "needs ILSVRC12 and weeks of GPU time");
    }
    result.arithmetic("ilsvrc_same", slide,
                      "The six differences are no larger than twice what another choice of 50,000 images would change.",
                      equal("6 of 6", fmt::format("{} of 6", within)));
    result.arithmetic("ilsvrc_rounded", cite(sources::volta_talk, "ILSVRC12 classification networks, top-1 accuracy"),
                      "The other talk prints the same twelve numbers, rounded to one decimal.",
                      equal("12 of 12", fmt::format("{} of 12", rounded_alike)));
    result.quoted("ilsvrc_ResNeXt-50", cite(sources::volta_talk, "ILSVRC12 classification networks, top-1 accuracy"),
                  "ResNeXt-50: 77.3% in fp32, 77.5% in mixed precision.", "77.3 %, 77.5 %",
                  "needs ILSVRC12 and weeks of GPU time");
}

void figure_accuracies(Result& result) {
    Figure figure{
        "accuracies", "Published accuracies: mixed precision minus fp32",
        "Quoted, not measured here: top-1 on ILSVRC12. Bars: two standard deviations of the difference by the "
        "choice of the 50,000 images alone.",
        "All six published differences lie within what chance in the test images alone would make of two nets "
        "that are equally good: the table shows parity, and no gain.",
        ""};
    Series differences{"mixed minus fp32", formats::fp64, {}};
    Series bounds{"two standard deviations", formats::fp64, {}};
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
        claim_speeds(result);
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

Experiment published_numbers_experiment() {
    return {"published_numbers",
            "Published numbers: what arithmetic alone can check",
            "Which numbers of the sources follow from arithmetic, and which can only be quoted here?",
            Chapter::hardware,
            {wide_control()},
            run,
            {{{},
              {"control=wide"},
              {"eight_bit_multiplier", "tf32_mantissa", "linear_256", "bytes", "token_ids", "first_lost_integer"}}}};
}

}  // namespace ulp
