// What the experiment on inpainting is built from: partial convolutions, Gram matrices, sheets of pictures.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/data/generated.hpp"
#include "engine/nets/blocks.hpp"
#include "engine/tensor/random.hpp"
#include "engine/training/images.hpp"
#include "experiments/training/figures.hpp"
#include "experiments/training/gram_matrix.hpp"
#include "experiments/training/partial_convolution.hpp"

namespace {

using namespace ulp;

Matrix hole_in_the_middle(Index side) {
    Matrix mask = Matrix::Ones(side, side);
    mask.block(side / 4, side / 4, side / 2, side / 2).setZero();
    return mask;
}

Matrix random_images(Index count, Index pixels, std::uint64_t seed) {
    Random random(seed);
    Matrix images(count, 3 * pixels);
    for (Index i = 0; i < images.size(); ++i) images.data()[i] = static_cast<float>(random.uniform(-1, 1));
    return images;
}

TEST_CASE("windows grow by what they miss, and see anything where one pixel is there") {
    const Windows whole = windows_of(Matrix::Ones(4, 4), 1);
    CHECK(whole.growth(1, 1) == 1);
    CHECK(whole.growth(0, 1) == 1.5F);   // six of nine
    CHECK(whole.growth(3, 3) == 2.25F);  // four of nine
    CHECK(whole.there == Matrix::Ones(4, 4));
    Matrix one = Matrix::Zero(6, 6);
    one(0, 0) = 1;
    const Windows seen = windows_of(one, 1);
    for (Index i = 0; i < 6; ++i) {
        for (Index j = 0; j < 6; ++j) {
            CHECK(seen.growth(i, j) == (i < 2 && j < 2 ? 9 : 0));
            CHECK(seen.there(i, j) == (i < 2 && j < 2 ? 1 : 0));
        }
    }
    const Windows half = windows_of(one, 2);
    CHECK(half.there.rows() == 3);
    CHECK(half.there.sum() == 1);
}

TEST_CASE("with equal weights a partial convolution makes an even picture even, holes or not") {
    Engine engine("fp32", "soft:ieee");
    Model model(engine.recipe, 1);
    const PartialConv layer(model, "layer", 3, 2, 1, true);
    for (float& w : layer.weight->value.values()) w = 0.5F;
    Tape tape(engine);
    const Var ones = reshape(images_on(tape, Matrix::Ones(1, 3 * 64)), {1, 3, 8, 8});
    const Matrix mask = hole_in_the_middle(8);
    const Holed made = layer({masked(ones, mask), mask});
    int inside = 0;
    for (Index i = 0; i < made.x.value().size(); ++i) {
        const bool seen = made.there.data()[i % 64] == 1;
        CHECK(made.x.value()[i] == (seen ? 13.5F : 0.0F));  // 27 weights
        inside += seen ? 0 : 1;
    }
    CHECK(inside == 2 * 4);  // of 4 x 4 missing pixels 2 x 2 are left
}

TEST_CASE("what is in a hole does not matter, what stands beside it does") {
    for (const char* recipe : {"fp32", "mixed_fp16"}) {
        Engine engine(recipe, "soft:ieee");
        Model model(engine.recipe, 1);
        const InpaintingNet net(model, 4);
        for (float& w : net.up.back().weight->value.values()) w = 0.125F;  // 0 at first
        const Matrix mask = hole_in_the_middle(16);
        const auto filled = [&](const Matrix& images) {
            Tape tape(engine);
            const Tensor result = net(reshape(images_on(tape, images), {2, 3, 16, 16}), mask).value();
            return std::vector<float>(result.values().begin(), result.values().end());
        };
        Matrix images = random_images(2, 256, 1);
        const std::vector<float> before = filled(images);
        CHECK(before.size() == 2 * 3 * 256);
        images(0, 8 * 16 + 8) = 0.75F;  // in the hole
        CHECK(filled(images) == before);
        images(0, 2 * 16 + 2) = 0.75F;  // seen by the net alone: no border of the hole
        const std::vector<float> after = filled(images);
        int changed = 0;
        for (Index i = 0; i < 256; ++i) {
            const auto place = static_cast<std::size_t>(i);
            changed += mask.data()[i] == 0 && after[place] != before[place] ? 1 : 0;
        }
        CHECK(changed > 10);
    }
}

TEST_CASE("a skin over a hole's border is flat over a flat one and tilted over a tilted one") {
    const Matrix mask = hole_in_the_middle(16);
    Tensor images({2, 1, 16, 16});
    for (Index i = 0; i < images.size(); ++i) {
        images[i] = i < 256 ? 0.5F : static_cast<float>(i % 16 + 2 * (i / 16 % 16)) / 64;
    }
    Tensor holed = images;
    for (Index i = 0; i < holed.size(); ++i) {
        if (mask.data()[i % 256] == 0) holed[i] = 1000;
    }
    const Tensor filled = from_borders(holed, mask);
    for (Index i = 0; i < images.size(); ++i) CHECK(filled[i] == doctest::Approx(images[i]).epsilon(1e-3));
    CHECK(from_borders(images, Matrix::Ones(16, 16))[17] == images[17]);
}

TEST_CASE("a net learns which way waves run, and each layer's maps together are as large as the pixels") {
    const Dataset all = generated_textures({.count = 240, .seed = 3, .periods = 2});
    const Dataset test = all.slice(200, 40);
    const TextureFeatures untrained = trained_texture_features(all.slice(0, 200), test, 1, 1);
    const TextureFeatures features = trained_texture_features(all.slice(0, 200), test, 150, 1);
    CHECK(features.accuracy > 0.6);
    CHECK(features.accuracy > untrained.accuracy + 0.2);
    const Engine engine("fp32", "soft:ieee");
    Tape tape(engine);
    const Var images = centred_on(tape, test, index_range(0, 40), 1);
    const auto mean_square = [](const Tensor& x, Index map, Index maps) {
        double sum = 0;
        const Index pixels = x.dim(2) * x.dim(3);
        for (Index i = 0; i < x.size(); ++i) {
            if (i / pixels % maps == map) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
        }
        return sum * static_cast<double>(maps) / static_cast<double>(x.size());
    };
    const double pixels = mean_square(images.value(), 0, 1);
    const Var first = texture_maps(images, tape.input(features.first));
    const Var second = texture_maps(first, tape.input(features.second));
    CHECK(mean_square(first.value(), 0, 1) == doctest::Approx(pixels).epsilon(1e-3));
    CHECK(mean_square(second.value(), 0, 1) == doctest::Approx(pixels).epsilon(1e-3));
    double least = pixels;
    for (Index map = 0; map < 8; ++map) least = std::min(least, mean_square(first.value(), map, 8));
    CHECK(least < 0.9 * pixels);  // maps keep their relative sizes: one that is nearly dead does not become loud
    CHECK(features.difference(images, images).value()[0] == 0);
    CHECK(features.difference(scaled(images, 0.5), images).value()[0] > 0);
}

TEST_CASE("dividing a Gram matrix before or after the product is the same to the bit, but for fp16's range") {
    const auto largest = [](const char* recipe, double range, Division division) {
        const Engine engine(recipe, "soft:ieee");
        Tape tape(engine);
        const Var images = reshape(images_on(tape, random_images(2, 1024, 2)), {2, 3, 32, 32});
        Random random(1, "kernel");
        Tensor kernel({8, 3, 3, 3});
        for (float& w : kernel.values()) w = static_cast<float>(random.normal() * std::sqrt(2.0 / 27));
        const Tensor gram = gram_of(style_maps_of(images, kernel, range), division).value();
        REQUIRE(gram.shape() == Shape{2, 8, 8});
        return std::vector<float>(gram.values().begin(), gram.values().end());
    };
    // 256 pixels: the root is a power of two.
    CHECK(largest("fp32", 127.5, Division::before_product) == largest("fp32", 127.5, Division::after_product));
    const auto infinite = [&](Division division) {
        int count = 0;
        for (const float g : largest("mixed_fp16", 127.5, division)) count += std::isinf(g) ? 1 : 0;
        return count;
    };
    CHECK(infinite(Division::before_product) == 0);
    CHECK(infinite(Division::after_product) > 0);
}

TEST_CASE("an entry of sixteens is infinite in fp16 from the 4095th on") {
    const std::vector<float> fours(5000, 4.0F);
    const auto unit = make_backend("soft:h100");
    const GramEntry entry{fours, unit.get(), formats::fp16};
    CHECK(entry.exact(4095) == 65520);
    CHECK(entry.in_storage(4094) == 65504);
    CHECK(entry.first_infinite() == 4095);
    CHECK(entry.first([](std::size_t n) { return n >= 17; }) == 17);
    CHECK(GramEntry{fours, unit.get(), formats::fp32}.first_infinite() == 5001);
    // Sixteen ones at a time are half the distance of fp16's numbers from 32768 on: a tie, which goes to the even one.
    const std::vector<float> ones(60000, 1.0F);
    CHECK(GramEntry{ones, unit.get(), formats::fp16}.summed(60000, fp16_to_fp16) == 32768);
}

TEST_CASE("the largest map is the one whose squares add up to most, picture after picture") {
    const Tensor first({1, 2, 2}, {1, 1, 2, 0});
    const Tensor second({1, 2, 2}, {1, -5, 3, 3});
    CHECK(largest_map({first, second}) == std::vector<float>{1, 1, 1, -5});
    CHECK(largest_map({first}) == std::vector<float>{2, 0});
}

TEST_CASE("a sheet counts the pixels of pictures side by side") {
    std::vector<std::uint8_t> pictures(2 * 3 * 4);
    pictures[0 * 4 + 3] = 1;          // first picture, red, below right
    pictures[3 * 4 + 1 * 4] = 2;      // second picture, green, above left
    pictures[3 * 4 + 2 * 4 + 2] = 3;  // second picture, blue, below left
    const Series sheet = colour_sheet("sheet", pictures, 2);
    REQUIRE(sheet.points.size() == 8);
    const std::vector<double> expected = {0, 0, 512, 0, 0, 65536, 3, 0};
    for (std::size_t i = 0; i < 8; ++i) {
        CHECK(sheet.points[i].x == static_cast<double>(i));
        CHECK(sheet.points[i].y == expected[i]);
    }
}

}  // namespace
