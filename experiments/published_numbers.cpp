// The numbers of the source documents that are arithmetic alone: recomputed; and those that need what is not here.
#include "experiments/shared/published_numbers.hpp"

#include <fmt/core.h>

#include <limits>

#include "engine/recipes/loss_scale.hpp"
#include "experiments/shared/matrix_units.hpp"
#include "experiments/shared/roofline_model.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/quantization/block_scaled.hpp"
#include "softfloat/text.hpp"

namespace ulp::published_numbers_experiment {
namespace {

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
        "Read modulus as exponent: each further exponent bit widens the range, 3 to 8 bits with 10 fraction bits.",
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

// ---- Errors of the documents that arithmetic shows ----

/// A row of the profiler's table that the slides print, in microseconds.
struct KernelTimes {
    double average, least, most;
    std::string_view name;
};
constexpr std::array<KernelTimes, 6> kernel_table = {
    {{1.898, 27.456, 3744.6, "volta_fp16_s884gemm_fp16_128x64_ldg8_f2f_nn"},
     {3.74, 58.335, 6233.0, "volta_fp16_s884gemm_fp16_256x128_ldg8_f2f_nn"},
     {1619e3, 152.83, 5549.7, "volta_fp16_s884gemm_fp16_256x128_ldg8_f2f_nt"},
     {1.079, 41.760, 1091.3, "volta_fp16_s884gemm_fp16_256x64_ldg8_f2f_nn"},
     {1.27, 36.767, 1403.8, "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nt"},
     {3465e3, 42.560, 4184.3, "volta_fp16_sgemm_fp16_128x64_nt"}}};

void claim_profile(Result& result) {
    const std::string slide = cite(sources::round_table, "nvprof: Avg Min Max Name");
    const auto inside = std::ranges::count_if(
        kernel_table, [](const KernelTimes& row) { return row.least <= row.average && row.average <= row.most; });
    result.arithmetic(
        "kernel_averages", slide,
        "The table gives average, minimum and maximum time of six kernels. No average lies between its two.",
        equal(0, inside, "of 6"), Verdict::inconsistent);
    const auto tensor_core = std::ranges::count_if(
        kernel_table, [](const KernelTimes& row) { return row.name.find("884") != std::string_view::npos; });
    result.arithmetic("kernel_names", slide,
                      "Five of the six kernels use Tensor Cores, by the other talk's rule of the 884 in the name.",
                      equal(5, tensor_core, "of 6"));
    const double rate = 2.0 * 256 * 1024 * 2048 / 37.024e-6;
    result.arithmetic("linear_rate", cite(sources::amp_slides, "37.024us for the layer 256 x 1024 to 2048"),
                      "The time that is printed for the layer is 29 TFLOPS: 23 % of the V100's 125.",
                      near(0.232, 0.001, rate / 125e12, {"", "% of 125 TFLOPS", 100, 1}));
}

/// How many of the table's rows of an architecture take numbers of the format.
std::int64_t rows_with(std::string_view architecture, std::string_view input) {
    return std::ranges::count_if(unit_table(), [&](const UnitRow& row) {
        return row.architecture == architecture && row.input.starts_with(input);
    });
}

template <class Half>
void claim_errors(Result& result) {
    const std::string ampere =
        cite(sources::round_table, "Ampere GPU architecture (A100, RTX 30 series, RTX 40 series)");
    result.arithmetic("rtx_40", ampere,
                      "The RTX 40 series is of the architecture Ampere, sm_80 and sm_86. It is Ada, sm_89: its Tensor "
                      "Cores multiply E4M3, which those of sm_80 do not.",
                      is(architecture_of("Ada") == "sm_89", "sm_89", architecture_of("Ada")) &&
                          above(0, static_cast<double>(rows_with("sm_89", "e4m3")), {"", "rows of E4M3", 1, 0}) &&
                          equal(0, rows_with("sm_80", "e4m3"), "rows of E4M3 on sm_80"),
                      Verdict::refuted);
    result.arithmetic("range_sufficient", cite(sources::notebook, "fp16's dynamic range is sufficient"),
                      "fp16's dynamic range is sufficient, and gradients alone need care. The square of 256 is "
                      "infinite, in a forward pass.",
                      equal(std::numeric_limits<double>::infinity(), Half(256.0 * 256.0)), Verdict::refuted);
    constexpr std::array<std::string_view, 35> keywords = {
        "False",   "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
        "class",   "continue", "def",   "del",    "elif", "else",   "except", "for",      "from",
        "finally", "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
        "or",      "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
    const auto reserved = [&](std::string_view name) { return std::ranges::count(keywords, name); };
    result.arithmetic("variable_in", cite(sources::amp_slides, "bsz, in, out = 256, 1024, 2048"),
                      "The test of Tensor Cores runs as printed. One of its three variables is a keyword of Python.",
                      equal(1, reserved("bsz") + reserved("in") + reserved("out"), "keyword"), Verdict::inconsistent);
    constexpr std::array<std::string_view, 2> defined = {"func_with_fp16_cast", "func_with_fp32_cast"};
    result.arithmetic("patched_function", cite(sources::amp_slides, "Conceptual operation of patching"),
                      "Both loops return func_with_cast. Neither defines a function of that name.",
                      equal(0, std::ranges::count(defined, "func_with_cast"), "definitions"), Verdict::inconsistent);
    constexpr std::string_view wheel = "torch==1.7.1+cpu";
    result.arithmetic("cpu_wheel", cite(sources::paperspace, "pip install torch==1.7.1+cpu"),
                      "The example scales losses by torch.cuda.amp. The wheel that is installed for it is PyTorch's "
                      "without CUDA, where autocast and the scaler are switched off: it trains in fp32.",
                      is(wheel.ends_with("+cpu"), "a wheel without CUDA", std::string(wheel)), Verdict::inconsistent);
}

/// What the talk says of operations that widen the range or keep it, for all numbers of the format.
template <class Half>
void claim_pointwise(Result& result) {
    const std::string safe = cite(sources::volta_talk, "FP16 is safe for most of these: ReLU, Sigmoid, Tanh");
    std::int64_t wide = 0;
    std::int64_t logs = 0;
    for (double x = 0x1p-24; x <= 65504; x = static_cast<double>(next_up(fp16(x)))) {
        wide += std::fabs(std::tanh(x)) <= 1 && 1 / (1 + std::exp(-x)) <= 1 ? 0 : 1;
        logs += x < 1 && std::fabs(std::log(x)) > x ? 1 : 0;
    }
    result.arithmetic("sigmoid_tanh", safe, "Sigmoid and tanh of every positive fp16 number lie in [0, 1].",
                      equal(0, wide, "outside"));
    const std::string widening = cite(sources::volta_talk, "FP32 is recommended where |f(x)| >> |x|: Exp, Square, Log");
    result.arithmetic("log_widens", widening,
                      "Log is of that kind for numbers below 0.567, of which fp16 has thousands.",
                      above(1000, static_cast<double>(logs), {"", "numbers below 1", 1, 0}));
    Half sum(0.0);
    for (int i = 0; i < 4096; ++i) sum = Half(static_cast<double>(sum) + 4);
    result.arithmetic("l1_norm", cite(sources::volta_talk, "Large sums of values: L1 norm, L2 norm, Softmax"),
                      "The L1 norm of 4096 fours, added one by one in fp16, stops at 8192, half of it.",
                      equal(8192, sum));
}

// ---- The accuracy tables ----

constexpr double images = 50000;  // of ILSVRC12's validation set

/// The standard deviation of the difference of two accuracies in per cent, by the choice of images alone. Both nets saw
/// the same images: it follows from how many they judge differently. They may err independently, or differ as rarely as
/// their accuracies allow.
double noise(const PublishedAccuracy& row, bool independent) {
    const double fp32 = row.fp32 / 100;
    const double mixed = row.mixed / 100;
    const double apart = std::fabs(mixed - fp32);
    const double differing = independent ? fp32 * (1 - mixed) + mixed * (1 - fp32) : apart;
    return 100 * std::sqrt((differing - apart * apart) / images);
}

/// How many of the published differences chance in the test images alone would make of nets that are equally good.
std::int64_t within_noise(bool independent) {
    return std::ranges::count_if(published_accuracies(), [&](const PublishedAccuracy& row) {
        return std::fabs(row.mixed - row.fp32) <= 2 * noise(row, independent);
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
    result.arithmetic(
        "ilsvrc_same", slide,
        "Whether the six differences are chance cannot be told from the accuracies: the nets saw the same "
        "50,000 images, and on how many they differ is not published. Did they err independently, another "
        "choice of images would change each as much; did they differ as rarely as they can, fewer.",
        equal(6, within_noise(true), "of 6 if independent") &&
            below(6, static_cast<double>(within_noise(false)), {"", "of 6 at least", 1, 0}));

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
                    within_noise(true), std::size(published_accuracies())),
        ""};
    Series differences{"mixed minus fp32"};
    Series bounds{"two standard deviations"};
    double place = 0;
    for (const PublishedAccuracy& row : published_accuracies()) {
        differences.points.push_back({place, row.mixed - row.fp32});
        bounds.points.push_back({place, 2 * noise(row, true)});
        place += 1;
    }
    figure.series = {std::move(differences), std::move(bounds)};
    figure.axes = {named_axis({"AlexNet", "VGG-D", "GoogLeNet", "Inception v2", "Inception v3", "ResNet-50"}),
                   {.label = "points of top-1 accuracy", .from = -0.8, .to = 1.1}};
    figure.looks = {{.mark = Mark::points, .colour = black, .point = 7, .size = 2},
                    {.mark = Mark::spans,
                     .colour = pale,
                     .width = 12,
                     .title = "two standard deviations of the difference, by the test images alone"}};
    figure.guides = {level(0)};
    result.figure(std::move(figure));
}

void run(const RunContext& context, Result& result) {
    with_16_bit_formats(context, [&]<class Half, class Brain>() {
        claim_words<Half, Brain>(result);
        claim_bfp16(result);
        claim_scaler(result);
        claim_chip<Half>(result);
        claim_token_ids<Half>(result);
        claim_errors<Half>(result);
        claim_pointwise<Half>(result);
    });
    claim_profile(result);
    claim_accuracies(result);
    for (const PublishedNumber& number : published_numbers()) {
        result.quoted(number.id, cite(number.document, number.place), number.statement, std::string(number.value),
                      number.reason);
    }
    context.progress(0.9);
    figure_accuracies(result);
}

}  // namespace

Experiment experiment() {
    return {"published_numbers",
            "Published numbers: what arithmetic alone can check",
            "Which numbers of the sources follow from arithmetic, and which can only be quoted here?",
            {Chapter::hardware, 6},
            {wide_control()},
            run,
            {Control("control=wide",
                     "eight_bit_multiplier tf32_mantissa linear_256 bytes token_ids first_lost_integer "
                     "range_sufficient l1_norm")},
            {},
            no_product};
}

}  // namespace ulp::published_numbers_experiment
