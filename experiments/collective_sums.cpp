// Sums over ranks as collective libraries form them: what rings and trees lose in 16 bits, and what decides their bits.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/analysis/collective_sum.hpp"
#include "engine/tensor/random.hpp"
#include "experiments/framework/experiment.hpp"
#include "softfloat/round.hpp"

namespace ulp::collective_sums_experiment {
namespace {

using Parts = std::vector<std::vector<float>>;

const std::string nccl = "NVIDIA, NCCL 2.18, src/device/all_reduce.h and src/graph/trees.cc";

CollectiveSum sum_of(const Collective& how, const Parts& parts, std::size_t first = 0,
                     std::size_t count = std::dynamic_extent) {
    std::vector<std::span<const float>> rows;
    for (const auto& part : parts) rows.push_back(std::span(part).subspan(first, count));
    return collective_sum(how, rows);
}

/// Normal numbers of each rank, on the format's grid.
Parts parts_of(const RunContext& context, std::int64_t ranks, const FloatFormat& format) {
    Parts parts;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
        Random random(context.seed, fmt::format("rank {}", rank));
        auto& part = parts.emplace_back();
        for (std::int64_t i = 0; i < context.settings.integer("numbers"); ++i) {
            part.push_back(round_to(format, static_cast<float>(random.normal())));
        }
    }
    return parts;
}

/// Root mean square of the error relative to that of the sum; and the largest error by its bound.
struct Loss {
    double rms = 0, of_bound = 0;
};
Loss loss_of(const CollectiveSum& sum) {
    double errors = 0, sums = 0;
    Loss loss;
    for (std::size_t i = 0; i < sum.sum.size(); ++i) {
        const double error = static_cast<double>(sum.sum[i]) - sum.exact[i];
        errors += error * error;
        sums += sum.exact[i] * sum.exact[i];
        if (error != 0) loss.of_bound = larger(loss.of_bound, std::abs(error) / sum.bound[i]);
    }
    loss.rms = std::sqrt(errors / sums);
    return loss;
}

/// One way to add, over numbers of ranks that double.
struct Way {
    std::string name;
    Collective how;
    std::vector<std::pair<std::int64_t, Loss>> losses{};

    [[nodiscard]] double last() const { return losses.back().second.rms; }
    /// e of error ~ ranks^e, least squares.
    [[nodiscard]] double exponent() const {
        double x = 0, y = 0, xx = 0, xy = 0;
        for (const auto& [ranks, loss] : losses) {
            const double at = std::ilogb(static_cast<double>(ranks));
            const double size = std::log2(loss.rms);
            x += at;
            y += size;
            xx += at * at;
            xy += at * size;
        }
        const auto n = static_cast<double>(losses.size());
        return (n * xy - x * y) / (n * xx - x * x);
    }
};

enum WayName : std::uint8_t { ring, tree, two_level, ring_fp16, ring_fp32 };
std::vector<Way> measured(const RunContext& context) {
    using enum CollectiveKind;
    const CollectiveKind first = has_control(context, "tree") ? CollectiveKind::tree : CollectiveKind::ring;
    const auto wide = [&](const FloatFormat& format) {
        return has_control(context, "bf16_sums") ? formats::bf16 : format;
    };
    std::vector<Way> ways = {{"ring bf16", {first, formats::bf16}},
                             {"tree bf16", {CollectiveKind::tree, formats::bf16}},
                             {"two-level bf16", {CollectiveKind::two_level, formats::bf16}},
                             {"ring fp16", {first, wide(formats::fp16)}},
                             {"ring fp32", {first, wide(formats::fp32)}}};
    for (std::int64_t ranks = 8; ranks <= context.settings.integer("ranks"); ranks *= 2) {
        for (Way& way : ways) {
            way.losses.emplace_back(ranks, loss_of(sum_of(way.how, parts_of(context, ranks, way.how.format))));
        }
        context.progress(static_cast<double>(ranks) / static_cast<double>(context.settings.integer("ranks")));
    }
    return ways;
}

void claim_growth(const std::vector<Way>& ways, Result& result) {
    const std::int64_t ranks = ways[ring].losses.back().first;
    const std::string issue = "NVIDIA/Megatron-LM, issue 6199: gradients reduced in bf16 over a ring";
    result.measured("ring_grows", issue, "The error of a ring in bf16 grows as the square root of the number of ranks.",
                    between(0.35, 0.65, ways[ring].exponent(), {"exponent", "", 1, 2}));
    const Quantity part{"of the ring's error", "%", 100, 0};
    result.measured(
        "tree", nccl,
        fmt::format("Over {} ranks the double binary tree loses at most half of what the ring loses in bf16.", ranks),
        at_most(0.5, ways[tree].last() / ways[ring].last(), part));
    result.measured(
        "two_level", nccl,
        fmt::format("Over {} ranks, rings in nodes of 8 and then over the nodes lose at most three quarters of "
                    "what one ring loses in bf16.",
                    ranks),
        at_most(0.75, ways[two_level].last() / ways[ring].last(), part));
    result.measured("fp16", issue,
                    "A ring in fp16 loses at most a quarter of what it loses in bf16, as long as no sum is "
                    "infinite.",
                    at_most(0.25, ways[ring_fp16].last() / ways[ring].last(), part));
    result.measured("fp32", issue, "A ring in fp32 loses at most a thousandth of what it loses in bf16.",
                    at_most(0.001, ways[ring_fp32].last() / ways[ring].last(), {"of the ring's error", "%", 100, 4}));
    double largest = 0;
    for (const Way& way : ways) {
        for (const auto& [count, loss] : way.losses) largest = larger(largest, loss.of_bound);
    }
    result.arithmetic("bound", "Bounds of this laboratory (engine/analysis/collective_sum.hpp)",
                      "No error of a sum over ranks exceeds the bound of its order.",
                      never_above(1, largest, {"of the bound", "%", 100, 0}));
}

/// Rings of ones: 256 + 1 is 256 in bf16.
void claim_ones(Result& result) {
    const Parts ones(512, std::vector<float>(4, 1));
    const auto first = [&](CollectiveKind kind) { return bf16(sum_of({kind, formats::bf16}, ones).sum[0]); };
    result.arithmetic("ones_ring", cite(sources::arithmetic, "4.3.1"),
                      "Over 512 ranks a ring in bf16 adds ones up to 256, where it stops.",
                      equal(256, first(CollectiveKind::ring)));
    result.arithmetic("ones_tree", nccl, "Over 512 ranks the double binary tree in bf16 adds ones up to 512.",
                      equal(512, first(CollectiveKind::tree)));
}

/// The same numbers in one buffer, and in two: their chunks, and so their orders, are others.
void claim_buckets(const RunContext& context, Result& result) {
    const Parts parts = parts_of(context, 64, formats::bf16);
    const Collective how{CollectiveKind::ring, formats::bf16};
    const std::size_t n = parts.front().size();
    const std::size_t cut = has_control(context, "one_bucket") ? n : n / 2;
    std::vector<float> pieces = sum_of(how, parts, 0, cut).sum;
    if (cut < n) std::ranges::copy(sum_of(how, parts, cut).sum, std::back_inserter(pieces));
    const auto differ = different_bits(pieces, sum_of(how, parts).sum);
    result.measured(
        "buckets", "PyTorch manual, DistributedDataParallel, bucket_cap_mb",
        "Buckets of half the size change at least a tenth of the sums of a ring over 64 ranks in bf16, as an "
        "element's order depends on its chunk.",
        at_least(0.1, static_cast<double>(differ) / static_cast<double>(n), {"of the sums", "%", 100, 1}));
}

void figure_growth(const std::vector<Way>& ways, Result& result) {
    Figure figure{"growth", "Sums over ranks: what rounding each partial sum loses",
                  "Root mean square of the error relative to that of the sum; normal numbers, two-level: nodes of 8.",
                  "Exponents e of error ~ ranks^e:", ""};
    for (const Way& way : ways) {
        figure.series.push_back({way.name});
        for (const auto& [ranks, loss] : way.losses) {
            figure.series.back().points.push_back({static_cast<double>(ranks), loss.rms});
        }
        figure.meaning += fmt::format(" {} {:.2f},", way.name, way.exponent());
    }
    figure.axes = {power_axis("ranks", 2), power_axis("relative error", 2, 0.1)};
    figure.looks = {{.mark = Mark::linespoints}};
    result.figure(std::move(figure));
}

void run(const RunContext& context, Result& result) {
    const std::vector<Way> ways = measured(context);
    claim_growth(ways, result);
    claim_ones(result);
    claim_buckets(context, result);
    figure_growth(ways, result);
}

}  // namespace

Experiment experiment() {
    return {"collective_sums",
            "Sums over ranks: rings, trees and their orders",
            "What does a sum of gradients over many ranks lose in 16 bits, and on what do its bits depend?",
            {Chapter::agreement, 3},
            {integer_setting("ranks", "the largest number of them, doubled from 8 on", 512, 4096, 16, 4096).smoke(64),
             integer_setting("numbers", "of each rank", 512, 2048, 64, 1000000).smoke(128),
             control_setting("tree takes trees instead of rings; bf16_sums adds in bf16 instead of fp16 and fp32; "
                             "one_bucket leaves the numbers in one buffer",
                             {"tree", "bf16_sums", "one_bucket"})},
            run,
            {Control("control=tree", "ring_grows tree two_level", RunSize::quick),
             Control("control=bf16_sums", "fp16 fp32"), Control("control=one_bucket", "buckets")},
            {},
            no_product};
}

}  // namespace ulp::collective_sums_experiment
