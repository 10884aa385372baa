// What speed the arithmetic allows: rooflines, time splits, and the advice about shapes, with the log of a training
// step's products.
#include <fmt/core.h>

#include <tuple>

#include "engine/nets/nets.hpp"
#include "engine/tensor/random.hpp"
#include "engine/tensor/rounder.hpp"
#include "engine/training/images.hpp"
#include "experiments/shared/matrix_units.hpp"
#include "experiments/shared/roofline_model.hpp"
#include "experiments/training/training.hpp"
#include "softfloat/functions/quick_exp_log.hpp"

namespace ulp::roofline_experiment {
namespace {

constexpr double fp16_bytes = 2;

Gpu gpu_of(const RunContext& context) {
    Gpu gpu;
    gpu.tensor_core_products = gpu.fp32_products * context.settings.real("tensor_core_factor");
    return gpu;
}

void claim_rates(const Gpu& gpu, Result& result) {
    const std::string slide = cite(sources::volta_talk, "GV100; Tensor Core throughputs");
    result.arithmetic("peak", slide, "80 x 512 fp16 multiply-adds a clock at 1.53 GHz are 125 TFLOPS: 125.3e12.",
                      near(125.3e12, 0.05e12, gpu.tensor_core_rate(), {"", "e12 operations a second", 1e-12, 1}));
    result.arithmetic(
        "factor", cite(sources::amp_slides, "125 TFlops throughput: 8X more than FP32 on Volta V100"),
        fmt::format("Tensor Cores have 8 times the fp32 throughput: of the V100's published peaks, 125 and "
                    "15.7 TFLOPS. An H100 reaches {:.1f} times (4096 x 4096 x 4096, cuBLAS).",
                    h100::fp16 / h100::fp32),
        near(8, 0.1, 125 / 15.7, {"", "times", 1, 2}));
    result.arithmetic("balance", cite(sources::volta_talk, "125 Tflops: 900 GB/s -> 138 flops/B"),
                      "125e12 operations a second against 900e9 bytes a second: 138 operations a byte keep both busy.",
                      between(138, 139, 125e12 / gpu.bandwidth, {"", "operations a byte", 1, 1}));
    const std::string table = cite(sources::volta_talk, "Tensor Core throughputs: Turing");
    const std::string clock = "the rate of a unit needs the GPU";
    const std::string h100 =
        clock + fmt::format("; of an H100 it is {:.2f} (4096 x 4096 x 4096, cublasLt)", h100::s8 / h100::fp16_lt);
    for (const auto& [name, rate, factor] : {std::tuple{"INT8", 1024, 2}, {"INT4", 2048, 4}, {"INT1", 8192, 16}}) {
        result.quoted(fmt::format("rate_{}", name), table,
                      fmt::format("Turing does {} {} multiply-adds a clock and multiprocessor, {} times its fp16 rate.",
                                  rate, name, factor),
                      fmt::format("{}", rate), factor == 2 ? h100 : clock);
    }
}

struct Split {
    std::string name;
    double share;  // of the time in fp32 that is spent in products
    double speed_up;
    std::string quoted;
};
const std::vector<Split> splits = {{"ResNet-50", 0.73, 2.77, "2.2x to 3x"}, {"DS2", 0.90, 4.71, "4.5x"}};

void claim_splits(const Gpu& gpu, Result& result) {
    const std::string slide = cite(sources::volta_talk, "Example layer time breakdowns for FP32-only training");
    const double factor = gpu.tensor_core_rate() / gpu.fp32_rate();
    const Quantity times{"speed-up", "x", 1, 2};
    for (const Split& split : splits) {
        result.arithmetic(
            "amdahl_" + split.name, slide,
            fmt::format("{}: {:.0f}% products, {:.0f}% other. If only the products become 8 times as fast the whole "
                        "becomes {} times as fast (quoted: {}).",
                        split.name, 100 * split.share, 100 * (1 - split.share), split.speed_up, split.quoted),
            near(split.speed_up, 0.005, amdahl(split.share, factor), times));
    }
    result.arithmetic("memory_limited_too", cite(sources::volta_talk, "Memory limited ops: should see ~2x speedup"),
                      "With the other operations twice as fast, as half the bytes allow, ResNet-50 could reach 4.4x. "
                      "The quoted 2.2x to 3x lie below.",
                      near(4.4, 0.05, amdahl(0.73, factor, 2), times));
    const GemmShape pointwise{1, 1, 1};  // one operation on two numbers, one number out: limited by memory
    const double ratio = gpu.fp32_seconds(pointwise) / gpu.fp32_seconds(pointwise, fp16_bytes);
    result.arithmetic("memory_limited", cite(sources::volta_talk, "Memory limited ops: should see ~2x speedup"),
                      "An operation that is limited by memory becomes twice as fast with half the bytes.",
                      equal(2, static_cast<std::int64_t>(ratio), "times"));
}

void figure_splits(const Gpu& gpu, Result& result) {
    Figure figure{"splits", "What speed-up the time split allows, beside what was published", "", "", ""};
    const double factor = gpu.tensor_core_rate() / gpu.fp32_rate();
    figure.caption = fmt::format(
        "Tensor Cores {:.0f} times as fast as fp32. Lines: the rest as fast as before, and twice as fast (half the "
        "bytes). Bars: published, V100.",
        factor);
    figure.meaning = "Where only the products become faster, and where the rest becomes twice as fast:";
    for (const Split& split : splits) {
        figure.meaning +=
            fmt::format(" {} ({:.0f} % products) {:.2f}x and {:.2f}x, published {};", split.name, 100 * split.share,
                        amdahl(split.share, factor), amdahl(split.share, factor, 2), split.quoted);
    }
    const auto speed_up = [&](const std::string& name, double other) {
        return curve(
            name, 0, 100, [&](int percent) { return amdahl(percent / 100.0, factor, other); }, 2);
    };
    figure.series = {speed_up("products alone", 1),
                     speed_up("products and memory", 2),
                     {"ResNet-50", formats::fp64, {{73, 2.2}, {73, 3.0}}},
                     {"Deep Speech 2", formats::fp64, {{90, 4.5}, {90, 4.5}}}};
    figure.axes = {{.label = "share of products in the time of fp32 training, %", .from = 0.0, .to = 100.0},
                   {.label = "speed-up of the whole", .from = 1.0, .to = 1.05 * factor}};
    figure.looks = {
        {.title = fmt::format("only products {:.0f} times as fast", factor)},
        {.title = "and the rest twice as fast"},
        {.mark = Mark::linespoints, .width = 6, .point = 7, .size = 1.2, .title = "published: ResNet-50, 2.2x to 3x"},
        {.mark = Mark::points, .point = 7, .size = 1.6, .title = "published: Deep Speech 2, 4.5x"}};
    figure.guides = {upright(73), upright(90)};
    result.figure(std::move(figure));
}

// ---- Arithmetic intensity ----

struct NamedShape {
    std::string name;
    GemmShape shape;
};
const std::vector<NamedShape> named_shapes = {
    {"linear 64 x 1024 to 512", {64, 512, 1024}},          {"linear 256 x 1024 to 2048", {256, 2048, 1024}},
    {"LSTM one gate 64 x 1024", {64, 1024, 1024}},         {"LSTM all gates at once", {64, 4096, 2048}},
    {"GPT-2 vocabulary 1024 x 50264", {1024, 50264, 768}}, {"square 4096", {4096, 4096, 4096}},
};

void figure_roofline(const Gpu& gpu, Result& result) {
    Figure figure{"roofline", "The roofline of a V100, and where products lie below it",
                  fmt::format("Attainable 10¹² operations a second: {:.0f} GB/s on the slope, {:.1f} (fp32) and {:.1f} "
                              "(fp16 Tensor Cores) on the flat. Points: fp16 products.",
                              gpu.bandwidth / 1e9, gpu.fp32_rate() / 1e12, gpu.tensor_core_rate() / 1e12),
                  "", ""};
    const double edge = gpu.tensor_core_rate() / gpu.bandwidth;
    figure.meaning = fmt::format(
        "Left of the edge a product waits for memory, right of it for arithmetic. Tensor Cores raise the roof but not "
        "the slope: their edge lies at {:.0f} operations a byte, that of fp32 at {:.0f}. Operations a byte:",
        edge, gpu.fp32_rate() / gpu.bandwidth);
    Series wide{"fp32"};
    Series low{"fp16 Tensor Cores"};
    for (int step = -4; step <= 96; ++step) {
        const double intensity = quick_phase::exp2(step / 8.0);
        wide.points.push_back({intensity, gpu.attainable(intensity, gpu.fp32_rate()) / 1e12});
        low.points.push_back({intensity, gpu.attainable(intensity, gpu.tensor_core_rate()) / 1e12});
    }
    figure.series = {std::move(wide), std::move(low)};
    for (const NamedShape& named : named_shapes) {
        const double intensity = named.shape.intensity(fp16_bytes);
        figure.meaning += fmt::format(" {} {:.0f},", named.name, intensity);
        figure.series.push_back(
            {named.name, formats::fp64, {{intensity, gpu.attainable(intensity, gpu.tensor_core_rate()) / 1e12}}});
    }
    figure.axes = {{.label = "operations for each byte moved", .log_base = 2, .from = 0.7, .to = 4096.0},
                   {.label = "10¹² operations a second", .log_base = 10, .from = 0.25, .to = 300.0}};
    figure.looks = {{.width = 4}, {.width = 4}};
    for (int i = 3; i <= static_cast<int>(figure.series.size()); ++i) {
        figure.looks.push_back({.mark = Mark::points, .point = i == 3 ? 7 : 2 * i - 1, .size = 1.8});
    }
    figure.key_rows = 4;
    result.figure(std::move(figure));
}

void claim_larger_k(const Gpu& gpu, Result& result) {
    const std::string slide = cite(sources::volta_talk, "Larger K sizes make multiplications more efficient");
    double last = 0;
    int rising = 0;
    int lengths = 0;
    for (std::int64_t k = 8; k <= 8192; k *= 2) {
        const double intensity = GemmShape{512, 512, k}.intensity(fp16_bytes);
        rising += intensity > last ? 1 : 0;
        last = intensity;
        ++lengths;
    }
    result.arithmetic("larger_k", slide, "The longer k, the more operations a byte: 512 x 512 results, k = 8 to 8192.",
                      equal(lengths, rising, "steps rise"));
    const auto efficiency = [&](std::int64_t k) {
        const GemmShape shape{512, 512, k};
        return shape.operations() / gpu.tensor_core_rate() / gpu.tensor_core_seconds(shape);
    };
    const Quantity share{"of the peak", "% of the peak", 100, 0};
    result.arithmetic(
        "amortised_write", slide,
        "Writing 512 x 512 results costs the same for every k: at k = 64 less than half of the peak is attainable, at "
        "1024 all of it.",
        below(0.5, efficiency(64), share).at("at k = 64") && at_least(1, efficiency(1024), share).at("at k = 1024"));
}

// ---- Shapes ----

void claim_padding(const Gpu& gpu, Result& result) {
    const std::string slide = cite(sources::volta_talk, "Pad input/output dictionaries to multiples of 8");
    result.arithmetic("vocabulary", slide, "GPT-2's vocabulary of 50257 is padded to 50264.",
                      equal(50264, padded(50257)));
    result.arithmetic("vocabulary_cost", slide, "The padding costs 0.014% more columns.",
                      near(0.00014, 0.000005, static_cast<double>(padded(50257)) / 50257 - 1, {"", "%", 100, 4}));
    const GemmShape as_it_is{1024, 50257, 768};
    const GemmShape as_padded{1024, 50264, 768};
    const double gain = gpu.fp32_seconds(as_it_is) / gpu.tensor_core_seconds(as_padded);
    result.arithmetic(
        "vocabulary_gain", slide,
        fmt::format("With it the projection can use a V100's Tensor Cores: at the roofline it becomes nearly 8 times "
                    "as fast. An H100 has kernels of mma.sync for odd sides too: there fp16 products with n odd take "
                    "{:.1f} times as long, with k odd {:.1f} times, with m odd {:.2f} times (4096, cuBLAS).",
                    h100::fp16 / h100::fp16_n_odd, h100::fp16 / h100::fp16_k_odd, h100::fp16 / h100::fp16_m_odd),
        above(7.9, gain, {"speed-up", "x", 1, 2}));
}

/// Entries on fp16's grid; under the control "integers" small whole numbers, whose sums are exact.
Matrix random_matrix(const RunContext& context, Index rows, Index cols, std::string_view stream) {
    Random random(context.seed, stream);
    const Rounder<float> rounded(formats::fp16);
    Matrix matrix(rows, cols);
    const bool integers = has_control(context, "integers");
    for (Index i = 0; i < matrix.size(); ++i) {
        matrix.data()[i] =
            integers ? static_cast<float>(random.between(-3, 3)) : rounded(static_cast<float>(random.normal()));
    }
    return matrix;
}

std::int64_t elements_that_differ(const Matrix& x, const Matrix& y) {
    const auto row = [](const Matrix& m) { return std::span(m.data(), static_cast<std::size_t>(m.size())); };
    return different_bits(row(x), row(y));
}

/// Padding and concatenation as matrices: do they change bits?
void claim_bits(const RunContext& context, const std::vector<MatrixUnit>& units, Result& result) {
    constexpr Index rows = 16;
    constexpr Index width = 100;  // no multiple of any instruction's k
    const Matrix x = random_matrix(context, rows, width, "x");
    const Matrix h = random_matrix(context, rows, width, "h");
    const Matrix w = random_matrix(context, width, 4 * width, "w");
    const Matrix u = random_matrix(context, width, 4 * width, "u");
    Matrix x_padded = Matrix::Constant(rows, 104, has_control(context, "padded_with_ones") ? 1 : 0);
    x_padded.leftCols(width) = x;
    Matrix w_padded = Matrix::Constant(104, 4 * width, has_control(context, "padded_with_ones") ? 1 : 0);
    w_padded.topRows(width) = w;
    Matrix both(rows, 2 * width);
    both << x, h;
    Matrix stacked(2 * width, 4 * width);
    stacked << w, u;
    const auto ieee = make_backend("soft:ieee");
    for (const MatrixUnit& unit : units) {
        if (!is_matrix_unit(unit)) continue;
        const std::string id = id_of(unit);
        const auto times = [&](const Matrix& a, const Matrix& b) { return matmul(*unit.backend, fp16_to_fp32, a, b); };
        const Matrix whole = times(x, w);
        result.measured(
            "padding_bits_" + id, cite(sources::volta_talk, "M, N, K sizes should be multiples of 8"),
            fmt::format("{}: padding k from 100 to 104 with zeros changes no bit of the product.", unit.name),
            equal(0, elements_that_differ(whole, times(x_padded, w_padded)), "of 6400 elements differ"));
        Matrix gates(rows, 4 * width);
        for (Index gate = 0; gate < 4; ++gate) {
            const Matrix part = w.middleCols(gate * width, width);
            gates.middleCols(gate * width, width) =
                has_control(context, "other_unit") ? matmul(*ieee, fp16_to_fp32, x, part) : times(x, part);
        }
        const std::string advice = cite(sources::volta_talk, "Concatenate cell matrix ops into a single call");
        result.measured(
            "gates_bits_" + id, advice,
            fmt::format("{}: the four gates' matrices side by side in one product: no bit changes.", unit.name),
            equal(0, elements_that_differ(whole, gates), "of 6400 elements differ"));
        Matrix sum = times(x, w);
        const Matrix second = times(h, u);
        for (Index i = 0; i < sum.size(); ++i) sum.data()[i] += second.data()[i];
        result.measured(
            "cell_bits_" + id, advice,
            fmt::format(
                "{}: input and state side by side, so that k doubles: the sum is rounded elsewhere, and bits change.",
                unit.name),
            above(0, static_cast<double>(elements_that_differ(times(both, stacked), sum)),
                  {"", "of 6400 elements differ", 1, 0}));
    }
}

void claim_concatenation(const Gpu& gpu, Result& result) {
    const double apart = 8 * gpu.tensor_core_seconds({64, 1024, 1024});
    const double together = gpu.tensor_core_seconds({64, 4096, 2048});
    result.arithmetic("concatenation", cite(sources::volta_talk, "Concatenate cell matrix ops into a single call"),
                      "At the roofline, one product for an LSTM cell (64 x 2048 to 4096) beats eight of 64 x 1024 to "
                      "1024: it reads the input once. What launches cost comes on top.",
                      above(1.02, apart / together, {"speed-up", "x", 1, 2}));
}

/// The products of one training step of a net with this hidden width, as the trainer dispatched them.
std::vector<ProductRecord> products_of_step(Index width, std::vector<std::string>& layers) {
    std::vector<ProductRecord> log;
    const TaskBuilder task = [&](Model& model, std::uint64_t) -> Task {
        const Net net(model, dense_net({width, 1000}), {784}, 16);
        const auto loss = [net](Tape& tape, std::int64_t) {
            return cross_entropy(net(images_on(tape, Matrix::Constant(64, 784, 0.5F))), std::vector<int>(64, 3));
        };
        return {.loss = loss, .product_tap = [&](const ProductRecord& record) {
                    log.push_back(record);
                    layers.emplace_back(fmt::format("{} {}", record.layer, record.pass));
                }};
    };
    TrainingRun({.arithmetic = {"fp16", recipe_by_name("mixed_fp16"), "soft:v100"}, .task = task}, 1).step();
    return log;
}

/// The rule of 2018 on the shapes that the trainer multiplied.
void claim_dispatch(Result& result) {
    for (const auto& [width, expected] : {std::pair{1023, 5}, {1024, 0}}) {
        std::vector<std::string> layers;
        const std::vector<ProductRecord> log = products_of_step(width, layers);
        std::int64_t refused = 0;
        std::string lines;
        for (std::size_t i = 0; i < log.size(); ++i) {
            const std::string reason = refusal(log[i].types, log[i].m, log[i].n, log[i].k);
            if (reason.empty()) continue;
            ++refused;
            lines += fmt::format("{}{} ({} x {} x {})", lines.empty() ? ": " : ", ", layers[i], log[i].m, log[i].n,
                                 log[i].k);
        }
        result.arithmetic(fmt::format("dispatch_{}", width),
                          cite(sources::amp_slides, "N, M, K should be multiples of 8"),
                          fmt::format("A hidden width of {} gives {} of the {} products of a training step a side that "
                                      "is not a multiple of 8{}.",
                                      width, refused, log.size(), lines),
                          equal(expected, refused, "products"));
    }
}

void figure_padding(const Gpu& gpu, Result& result) {
    Figure figure{"padding", "A width that is not a multiple of 8 costs more than the padding: a model",
                  "A model, not measured: least time of a 512 x n x 1024 product on a V100 by its roofline, relative "
                  "to n = 1024 on Tensor Cores: n as it is, "
                  "and n padded to the next multiple of 8.",
                  "", ""};
    const double unit = gpu.tensor_core_seconds({512, 1024, 1024});
    const Series plain = curve("as it is", 1000, 1048, [&](int n) {
        const GemmShape shape{512, n, 1024};
        const bool fits = refusal(fp16_to_fp32, shape.m, shape.n, shape.k).empty();
        return (fits ? gpu.tensor_core_seconds(shape) : gpu.fp32_seconds(shape, fp16_bytes)) / unit;
    });
    const Series filled = curve("padded", 1000, 1048, [&](int n) {
        return gpu.tensor_core_seconds({512, padded(n), 1024}) / unit;
    });
    const auto largest = [](const Series& series) { return std::ranges::max(series.points, {}, &Point::y).y; };
    const auto off = std::ranges::count_if(plain.points, [&](const Point& p) {
        return !refusal(fp16_to_fp32, 512, static_cast<std::int64_t>(p.x), 1024).empty();
    });
    figure.meaning = fmt::format(
        "{} of the {} widths keep the product off the Tensor Cores: as they are it takes up to {:.2f} times as long, "
        "padded up to {:.2f} times.",
        off, plain.points.size(), largest(plain), largest(filled));
    figure.series = {plain, filled};
    figure.axes = {{.label = "n", .from = 999.0, .to = 1049.0, .step = 8.0},
                   {.label = "relative time", .from = 0.0, .to = 9.5}};
    figure.looks = {{.mark = Mark::points, .size = 1.1},
                    {.mark = Mark::points, .point = 7, .size = 0.7, .title = "padded to a multiple of 8"}};
    result.figure(std::move(figure));
}

void run(const RunContext& context, Result& result) {
    const Gpu gpu = gpu_of(context);
    const std::vector<MatrixUnit> units = matrix_units(context);
    claim_rates(gpu, result);
    claim_splits(gpu, result);
    claim_larger_k(gpu, result);
    claim_padding(gpu, result);
    claim_concatenation(gpu, result);
    context.progress(0.3);
    claim_dispatch(result);
    claim_bits(context, units, result);
    evidence_of(units, {fp16_to_fp32}, result);
    figure_splits(gpu, result);
    figure_roofline(gpu, result);
    figure_padding(gpu, result);
}

}  // namespace

Experiment experiment() {
    return {
        "roofline",
        "Rooflines: what speed the arithmetic allows",
        "Which published speed-ups follow from the counts of operations and bytes, and which shapes get them?",
        {Chapter::hardware, 5},
        {real_setting("tensor_core_factor", "Tensor Cores' rate over fp32's; 1 switches the gain off", 8, 8, 1, 64),
         control_setting("padded_with_ones pads matrices with ones, other_unit computes gates in IEEE arithmetic, "
                         "integers multiplies small whole numbers",
                         {"padded_with_ones", "other_unit", "integers"})},
        run,
        {Control("tensor_core_factor=1",
                 "peak amdahl_ResNet-50 amdahl_DS2 memory_limited_too amortised_write vocabulary_gain concatenation"),
         Control("control=padded_with_ones", "padding_bits_v100 padding_bits_a100 padding_bits_h100"),
         Control("control=other_unit", "gates_bits_v100 gates_bits_a100 gates_bits_h100"),
         Control("control=integers", "cell_bits_v100 cell_bits_a100 cell_bits_h100")}};
}

}  // namespace ulp::roofline_experiment
