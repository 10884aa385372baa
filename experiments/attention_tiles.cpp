// Attention as fused kernels compute it: what the tile, the splits, lazy rescaling and the format of P make of its bits
// and of its error.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/analysis/tiled_attention.hpp"
#include "engine/tensor/random.hpp"
#include "engine/tensor/steps.hpp"
#include "experiments/framework/experiment.hpp"
#include "experiments/shared/matrix_units.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/round.hpp"

namespace ulp::attention_tiles_experiment {
namespace {

const std::string batch_invariance = "He and Thinking Machines, Defeating nondeterminism in LLM inference (2025)";
const std::string flash_attention_4 = "Dao-AILab/flash-attention, pull request 2067: rescale threshold";

/// How a kernel computes.
struct Way {
    std::string name;
    int tile = 64;
    int splits = 1;
    float threshold = 0;
    std::optional<FloatFormat> weights{};
    FloatFormat format = formats::bf16;
};

struct Head {
    Matrix q, k, v;
};

/// Normal numbers, the queries times a factor: the standard deviation of the scores.
std::vector<Head> heads_of(const RunContext& context, const FloatFormat& format) {
    const Settings& settings = context.settings;
    std::vector<Head> heads;
    for (std::int64_t h = 0; h < settings.integer("heads"); ++h) {
        const auto matrix = [&](const char* name, Index rows, double factor) {
            Random random(context.seed, fmt::format("{} {}", name, h));
            Matrix m(rows, settings.integer("width"));
            for (Index i = 0; i < m.size(); ++i) {
                m.data()[i] = round_to(format, static_cast<float>(factor * random.normal()));
            }
            return m;
        };
        heads.push_back({matrix("q", settings.integer("queries"), settings.real("scores")),
                         matrix("k", settings.integer("keys"), 1), matrix("v", settings.integer("keys"), 1)});
    }
    return heads;
}

const std::string unit_bf16 = "sm_90:wgmma.bf16.fp32", unit_fp16 = "sm_90:wgmma.fp16.fp32";

/// O of all heads, and how often rows were rescaled; `first` queries from the first on, or all.
struct Output {
    std::vector<float> out;
    std::int64_t rescaled = 0;
};
Output computed(const std::vector<Head>& heads, const Way& way, Index first = 0) {
    const auto& model = unit_model<TensorCoreModel>(way.format == formats::bf16 ? unit_bf16 : unit_fp16);
    Output output;
    for (const Head& head : heads) {
        const Index queries = first == 0 ? head.q.rows() : first;
        const AttentionProblem problem{.q = MatrixView(head.q).part(0, 0, queries, head.q.cols()),
                                       .k = head.k,
                                       .v = head.v,
                                       .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(head.q.cols()))),
                                       .tile_keys = way.tile,
                                       .format = way.format,
                                       .weights = way.weights,
                                       .splits = way.splits,
                                       .rescale_threshold = way.threshold};
        const AttentionResult result = tiled_attention(model, problem);
        output.out.insert(output.out.end(), result.out.begin(), result.out.end());
        output.rescaled += result.rescaled;
    }
    return output;
}

/// The same in fp64.
std::vector<double> exact_of(const std::vector<Head>& heads) {
    std::vector<double> out;
    for (const auto& [q, k, v] : heads) {
        const double scale = 1 / std::sqrt(static_cast<double>(q.cols()));
        for (Index i = 0; i < q.rows(); ++i) {
            std::vector<double> weights;
            for (Index j = 0; j < k.rows(); ++j) {
                double dot = 0;
                for (Index c = 0; c < q.cols(); ++c) dot += static_cast<double>(q(i, c)) * static_cast<double>(k(j, c));
                weights.push_back(scale * dot);
            }
            const double top = *std::ranges::max_element(weights);
            double sum = 0;
            for (double& each : weights) sum += each = step::exp(each - top);
            std::vector<double> row(static_cast<std::size_t>(v.cols()));
            for (Index j = 0; j < k.rows(); ++j) {
                const double weight = weights[static_cast<std::size_t>(j)] / sum;
                for (Index c = 0; c < v.cols(); ++c)
                    row[static_cast<std::size_t>(c)] += weight * static_cast<double>(v(j, c));
            }
            out.insert(out.end(), row.begin(), row.end());
        }
    }
    return out;
}

double rms_error(const std::vector<float>& out, const std::vector<double>& exact) {
    double squares = 0;
    for (std::size_t i = 0; i < out.size(); ++i) squares += std::pow(static_cast<double>(out[i]) - exact[i], 2);
    return std::sqrt(squares / static_cast<double>(out.size()));
}

double share_of(std::int64_t count, const std::vector<float>& of) {
    return static_cast<double>(count) / static_cast<double>(of.size());
}

enum WayName : std::uint8_t { tiles_64, tiles_128, lazy, split, p_e4m3, in_fp16 };
std::vector<Way> ways_of(const RunContext& context) {
    const auto is = [&](const char* control) { return has_control(context, control); };
    const bool one = is("one_tile");
    return {{"tiles of 64"},
            {"tiles of 128", one ? 64 : 128},
            {"threshold 8", 64, 1, is("eager") ? 0.0F : 8.0F},
            {"4 splits", 64, one ? 1 : 4},
            {"P in e4m3", 64, 1, 0, is("wide_p") ? std::nullopt : std::optional(formats::e4m3)},
            {"fp16", 64, 1, 0, std::nullopt, is("bf16") ? formats::bf16 : formats::fp16}};
}

struct Measured {
    Way way;
    Output output;
    double rms;
};

void claim_bits(const RunContext& context, const std::vector<Head>& heads, const std::vector<Measured>& all,
                Result& result) {
    const auto differ = [&](WayName way) {
        return share_of(different_bits(all[way].output.out, all[tiles_64].output.out), all[way].output.out);
    };
    const Quantity elements{"of the elements", "%", 100, 1};
    result.measured("tile_bits", batch_invariance,
                    "Tiles of 128 keys give at least half of the elements of O other bits than tiles of 64.",
                    at_least(0.5, differ(tiles_128), elements));
    result.measured("split_bits", batch_invariance,
                    "Four splits of the keys give at least nine tenths of the elements of O other bits than one.",
                    at_least(0.9, differ(split), elements));
    // One query, as in decoding, and all queries.
    Way decoding = all[tiles_64].way;
    if (has_control(context, "split_by_shape")) decoding.splits = 4;
    const std::vector<float> one = computed(heads, decoding, 1).out;
    std::vector<float> first;
    const auto width = static_cast<std::size_t>(context.settings.integer("width"));
    const std::size_t step = all[tiles_64].output.out.size() / heads.size();
    for (std::size_t h = 0; h < heads.size(); ++h) {
        const auto from = all[tiles_64].output.out.begin() + static_cast<std::ptrdiff_t>(h * step);
        first.insert(first.end(), from, from + static_cast<std::ptrdiff_t>(width));
    }
    result.measured(
        "decoding", batch_invariance,
        "With one tile and one number of splits for all shapes, a query that is computed alone gets the bits "
        "that it gets among others.",
        equal(0, different_bits(one, first), "elements differ"));
}

void claim_errors(const std::vector<Measured>& all, Result& result) {
    const auto ratio = [&](WayName above, WayName below) { return all[above].rms / all[below].rms; };
    const Quantity times{"", "times", 1, 2};
    result.measured("lazy_error", flash_attention_4,
                    "Lazy rescaling by a threshold of 8 makes O's error at least 1.3 times as large: a row's largest "
                    "weight is then not 1, and is rounded to bf16.",
                    at_least(1.3, ratio(lazy, tiles_64), times));
    result.measured(
        "lazy_rescalings", flash_attention_4, "With a threshold of 8 at most a tenth of the rescalings are left.",
        at_most(0.1,
                static_cast<double>(all[lazy].output.rescaled) / static_cast<double>(all[tiles_64].output.rescaled),
                {"of the rescalings", "%", 100, 1}));
    result.measured("fp16", "Qi et al., Defeating the training-inference mismatch via FP16 (2025), arXiv 2510.26788",
                    "Operands and weights P in fp16 give O an error at least 6 times smaller than in bf16.",
                    at_least(6, ratio(tiles_64, in_fp16), times));
    result.measured("p_e4m3", cite("Shah et al., FlashAttention-3 (2024), arXiv 2407.08608", "3.3, FP8"),
                    "Weights P in e4m3 make O's error at least 8 times as large as those in bf16.",
                    at_least(8, ratio(p_e4m3, tiles_64), times));
    result.quoted("biased_rounding",
                  "Qiu and Yao, Why low-precision transformer training fails (2025), arXiv 2510.04212",
                  "Biased roundings of unnormalised P times V in bf16 let the training of a GPT-2 with flash attention "
                  "diverge.",
                  "loss explosion", "it needs a training of many GPU hours");
}

void figure_errors(const std::vector<Measured>& all, const std::string& evidence, Result& result) {
    Figure figure{
        "errors", "Attention by tiles: error of O",
        "Root mean square against fp64, of heads of normal numbers, in multiples of that with eager tiles of 64.",
        fmt::format("Tiles of 64 have an error of {:.3g}.", all[tiles_64].rms), evidence};
    std::vector<std::string> names;
    figure.series.push_back({"error"});
    for (const Measured& each : all) {
        figure.series[0].points.push_back({static_cast<double>(names.size()), each.rms / all[tiles_64].rms});
        names.push_back(each.way.name);
    }
    figure.axes = {named_axis(names), {.label = "error", .log_base = 2, .room = 0.1}};
    figure.looks = {{.mark = Mark::stems}};
    figure.key = Key::none;
    result.figure(std::move(figure));
}

void figure_tiles(const std::vector<Head>& heads, const std::vector<Measured>& all, const std::string& evidence,
                  Result& result) {
    Figure figure{"tiles", "Attention by tiles: elements that change with the tile",
                  "Share of the elements of O whose bits differ from those with tiles of 64 keys.", "", evidence};
    figure.series = {{"bf16"}};
    const std::vector<double> exact = exact_of(heads);
    int others = 0;
    for (int tile = 16; tile <= heads.front().k.rows(); tile *= 2) {
        const std::vector<float> out = computed(heads, {"", tile}).out;
        const double differ = share_of(different_bits(out, all[tiles_64].output.out), out);
        figure.series[0].points.push_back({static_cast<double>(tile), differ});
        figure.meaning += fmt::format(" {:.2f} ({}),", rms_error(out, exact) / all[tiles_64].rms, tile);
        others += differ > 0 ? 1 : 0;
    }
    figure.meaning = fmt::format("{} of {} tile sizes give other bits than 64; errors relative to those of 64 are{}",
                                 others, figure.series[0].points.size() - 1, figure.meaning);
    figure.axes = {{.label = "keys of a tile", .log_base = 2}, percent_axis("elements that differ")};
    figure.looks = {{.mark = Mark::linespoints}};
    figure.key = Key::none;
    result.figure(std::move(figure));
}

void run(const RunContext& context, Result& result) {
    const std::vector<Head> heads = heads_of(context, formats::bf16);
    std::vector<Measured> all;
    for (const Way& way : ways_of(context)) {
        const std::vector<Head> own = heads_of(context, way.format);
        Output output = computed(own, way);
        const double rms = rms_error(output.out, exact_of(own));
        all.push_back({way, std::move(output), rms});
        context.progress(static_cast<double>(all.size()) / 8);
    }
    const std::string evidence = evidence_of_row(unit_bf16, result) + ". " + evidence_of_row(unit_fp16, result) +
                                 ". Exponentials are correctly rounded, those of GPUs are approximate.";
    claim_bits(context, heads, all, result);
    claim_errors(all, result);
    figure_errors(all, evidence, result);
    figure_tiles(heads, all, evidence, result);
}

}  // namespace

Experiment experiment() {
    return {
        "attention_tiles",
        "Attention by tiles: bits and errors of the online softmax",
        "What do tiles, splits, lazy rescaling and P's format change in fused attention?",
        {Chapter::agreement, 2},
        {integer_setting("heads", "of attention", 4, 16, 1, 256).smoke(1),
         integer_setting("queries", "of each head", 64, 256, 1, 4096).smoke(16),
         integer_setting("keys", "of each head", 256, 512, 256, 65536),
         integer_setting("width", "of a head", 64, 64, 16, 256),
         real_setting("scores", "standard deviation of the scores", 2.25, 2.25, 0.01, 100),
         control_setting("one_tile takes tiles of 64 and one split throughout; eager rescales at each larger score; "
                         "bf16 computes in it instead of fp16; wide_p leaves P in bf16; split_by_shape splits the keys "
                         "of a query that is alone",
                         {"one_tile", "eager", "bf16", "wide_p", "split_by_shape"})},
        run,
        {Control("control=one_tile", "tile_bits split_bits"), Control("control=eager", "lazy_error lazy_rescalings"),
         Control("control=bf16", "fp16"), Control("control=wide_p", "p_e4m3"),
         Control("control=split_by_shape", "decoding")},
        {},
        "its products are those of a fused kernel's tiles, on the unit's model itself"};
}

}  // namespace ulp::attention_tiles_experiment
