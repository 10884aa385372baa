// Fused attention: the model against its definition and against double, and what the size of a tile may change.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "engine/tensor/random.hpp"
#include "gpu/untried/transformer_pass.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/functions/online_softmax.hpp"
#include "softfloat/round.hpp"

namespace {

using namespace ulp;
using gpu::AttentionProblem;

struct Heads {
    std::vector<float> q, k, v;
    AttentionProblem problem;

    Heads(const FloatFormat& format, std::int64_t queries, std::int64_t keys, std::int64_t head) {
        Random random(7, "attention");
        const auto fill = [&](std::vector<float>& numbers, std::int64_t rows) {
            for (std::int64_t i = 0; i < rows * head; ++i) {
                numbers.push_back(static_cast<float>(round_to(format, random.normal())));
            }
            return MatrixView(numbers.data(), rows, head);
        };
        problem.q = fill(q, queries);
        problem.k = fill(k, keys);
        problem.v = fill(v, keys);
        problem.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(head)));
        problem.format = format;
    }
};

bool same_bits(const std::vector<float>& x, const std::vector<float>& y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
}

/// The definition in double, without tiles.
double exact_element(const AttentionProblem& p, std::int64_t i, std::int64_t column) {
    std::vector<double> scores;
    const std::int64_t keys = p.causal ? std::min(p.k.rows, i + 1) : p.k.rows;
    for (std::int64_t j = 0; j < keys; ++j) {
        double score = 0;
        for (std::int64_t d = 0; d < p.q.cols; ++d) score += double{p.q(i, d)} * double{p.k(j, d)};
        scores.push_back(score * double{p.scale});
    }
    const double largest = *std::ranges::max_element(scores);
    double weights = 0;
    double sum = 0;
    for (std::int64_t j = 0; j < keys; ++j) {
        const double weight = std::exp(scores[static_cast<std::size_t>(j)] - largest);
        weights += weight;
        sum += weight * double{p.v(j, column)};
    }
    return sum / weights;
}

}  // namespace

TEST_CASE("attention by fast products is attention by their definition, in tiles of any size") {
    for (const FloatFormat& format : {formats::fp16, formats::bf16}) {
        const auto device = gpu::open_device("software:sm_90");
        const TensorCoreModel model = gpu::attention_model(*device, format);
        Heads heads(format, 37, 75, 32);
        for (const bool causal : {false, true}) {
            heads.problem.causal = causal;
            for (const int tile : {16, 32, 80}) {
                heads.problem.tile_keys = tile;
                CHECK(same_bits(gpu::attend(model, heads.problem), gpu::attend_on(*device, heads.problem)));
            }
        }
    }
}

TEST_CASE("attention is within the errors of its roundings of double") {
    for (const FloatFormat& format : {formats::fp16, formats::bf16}) {
        const TensorCoreModel model = gpu::attention_model(*gpu::open_device("software:sm_90"), format);
        Heads heads(format, 40, 100, 64);
        heads.problem.causal = true;
        heads.problem.tile_keys = 32;
        const std::vector<float> found = gpu::attend(model, heads.problem);
        double largest_v = 0;
        for (const float x : heads.v) largest_v = std::max(largest_v, std::abs(double{x}));
        // A weight is off by half an ulp of the operands' format. 2^-11 is for the rest: scores below 2^6, whose 64
        // products are each cut at 2^-25 of the largest, are off by 2^-13, of which the scale leaves 2^-16; sums of
        // weights and values are no worse.
        const double bound = largest_v * (std::ldexp(1.0, -format.precision()) + 0x1p-11);
        double worst = 0;
        for (std::int64_t i = 0; i < 40; ++i) {
            for (std::int64_t j = 0; j < 64; ++j) {
                const double error =
                    std::abs(double{found[static_cast<std::size_t>(i * 64 + j)]} - exact_element(heads.problem, i, j));
                worst = std::max(worst, error);
            }
        }
        CHECK(worst <= bound);
        CHECK(worst > 0);
    }
}

TEST_CASE("tiles of two sizes give the same bits where one tile has all keys, and others where not") {
    const TensorCoreModel model = gpu::attention_model(*gpu::open_device("software:sm_90"), formats::fp16);
    const auto with_tiles = [&](Heads& heads, int tile) {
        heads.problem.tile_keys = tile;
        return gpu::attend(model, heads.problem);
    };
    Heads few(formats::fp16, 33, 64, 32);
    CHECK(same_bits(with_tiles(few, 64), with_tiles(few, 128)));
    CHECK_FALSE(same_bits(with_tiles(few, 32), with_tiles(few, 64)));
}

TEST_CASE("a masked tile changes nothing, and a row that is masked throughout has no weights") {
    SoftmaxRow row;
    const float masked = -std::numeric_limits<float>::infinity();
    std::vector<float> scores = {masked, masked};
    CHECK(next_tile(row, scores.data(), 2) == 1.0F);
    CHECK(scores == std::vector<float>{0, 0});
    CHECK(row.sum == 0);
    scores = {1, masked};
    CHECK(next_tile(row, scores.data(), 2) == 0.0F);
    CHECK(scores == std::vector<float>{1, 0});
    scores = {masked, masked};
    CHECK(next_tile(row, scores.data(), 2) == 1.0F);
    CHECK((row.sum == 1 && row.largest == 1));
    scores = {3, 1};
    CHECK(next_tile(row, scores.data(), 2) == static_cast<float>(std::exp(-2.0)));
    CHECK(row.largest == 3);
}

TEST_CASE("attention names what does not fit") {
    const auto refused = [](const AttentionProblem& problem, const char* sentence) {
        CHECK_THROWS_WITH_AS(gpu::require_attention(problem), doctest::Contains(sentence), UsageError);
    };
    Heads heads(formats::fp16, 16, 16, 32);
    AttentionProblem wrong = heads.problem;
    wrong.tile_keys = 24;
    refused(wrong, "a tile of 24 keys is not a multiple of 16 from 16 to 256");
    wrong = heads.problem;
    wrong.splits = 2;
    refused(wrong, "the attention kernel takes one split, no threshold and P in the operands' format");
    wrong = heads.problem;
    wrong.format = formats::e4m3;
    refused(wrong, "attention takes fp16 or bf16");
    wrong = heads.problem;
    wrong.v.rows = 8;
    refused(wrong, "K as many rows as V");
    wrong = Heads(formats::fp16, 16, 16, 24).problem;
    refused(wrong, "a head of 24 is not a multiple of 16");
    CHECK_THROWS_WITH_AS(gpu::attention_model(*gpu::open_device("software:sm_70"), formats::fp16),
                         doctest::Contains("which the attention kernel needs"), UsageError);
}

TEST_CASE("a Transformer's pass by the stand-in gives the model's bits, and a wrong bit is found where it arises") {
    const auto device = gpu::open_device("software:sm_90");
    const gpu::TransformerShape shape{
        .layers = 2, .heads = 2, .width = 32, .vocabulary = 80, .tokens = 96, .tile_keys = 32};
    const auto library = gpu::open_software_library(90);
    const auto expected = gpu::transformer_pass(shape, 3, gpu::predicted_products(*library, *device));
    const auto found = gpu::transformer_pass(shape, 3, gpu::products_on(*library, *device));
    CHECK(found.logits == expected.logits);
    CHECK(found.products == expected.products);
    CHECK(found.products.size() == 13);  // four and two heads a layer, and the logits
    CHECK(std::ranges::all_of(found.logits, [](float x) { return std::isfinite(x); }));
    CHECK(found.logits != gpu::transformer_pass(shape, 4, gpu::predicted_products(*library, *device)).logits);

    const auto faulty = gpu::open_software_library(90, gpu::StandInFault::one_bit);
    const auto wrong = gpu::transformer_pass(shape, 3, gpu::products_on(*faulty, *device));
    const auto differs = std::ranges::mismatch(wrong.products, expected.products).in1;
    REQUIRE(differs != wrong.products.end());
    CHECK(differs->first == "layer 0 QKV");
    CHECK_THROWS_WITH_AS(gpu::require_shape({.heads = 12, .width = 100}), doctest::Contains("is not divided by"),
                         UsageError);
    CHECK_THROWS_WITH_AS(gpu::require_shape({.heads = 2, .width = 48}), doctest::Contains("a head is 24 wide"),
                         UsageError);
}
