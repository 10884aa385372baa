#include <doctest/doctest.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/data/generated.hpp"
#include "engine/tape/operation.hpp"
#include "engine/tensor/random.hpp"
#include "engine/training/images.hpp"
#include "engine/training/trainer.hpp"
#include "engine/watching/histogram.hpp"
#include "softfloat/round.hpp"

namespace {

using namespace ulp;

TEST_CASE("a histogram counts by the exponent of the leading bit, specials apart") {
    std::vector<float> numbers = {1.0F,
                                  -1.5F,
                                  2.0F,
                                  0x1p-149F,
                                  0x1.8p-140F,
                                  0.0F,
                                  -0.0F,
                                  0x1.fffffep127F,
                                  std::numeric_limits<float>::infinity(),
                                  -std::numeric_limits<float>::infinity(),
                                  std::numeric_limits<float>::quiet_NaN()};
    ExponentHistogram h;
    h.add(numbers);
    CHECK(h.at(0) == 2);
    CHECK(h.at(1) == 1);
    CHECK(h.at(-149) == 1);
    CHECK(h.at(-140) == 1);
    CHECK(h.at(127) == 1);
    CHECK(h.zeros() == 2);
    CHECK(h.infinities() == 2);
    CHECK(h.nans() == 1);
    CHECK(h.total() == static_cast<std::int64_t>(numbers.size()));
    CHECK(h.above(formats::fp16) == 1);
    CHECK(h.below(formats::fp16) == 2);
    ExponentHistogram twice = h;
    twice.add(h);
    CHECK(twice.total() == 2 * h.total());
}

TEST_CASE("a histogram equals a count by ilogb, and a power of two moves it by whole places") {
    Random random(1);
    std::vector<float> numbers;
    for (int i = 0; i < 10000; ++i)
        numbers.push_back(static_cast<float>(std::ldexp(random.normal(), static_cast<int>(random.below(60)) - 50)));
    std::vector<float> scaled = numbers;
    for (float& x : scaled) x *= 1024.0F;
    ExponentHistogram h;
    h.add(numbers);
    ExponentHistogram moved;
    moved.add(scaled);
    std::map<int, int> counts;
    for (const float x : numbers) ++counts[std::ilogb(x)];
    CHECK(h.largest_exponent() == counts.rbegin()->first);
    CHECK_FALSE(ExponentHistogram().largest_exponent());
    CHECK(h.below(-14) == std::ranges::count_if(numbers, [](float x) { return x != 0 && std::abs(x) < 0x1p-14F; }));
    for (int e = -140; e < 100; ++e) {
        CHECK(h.at(e) == counts[e]);
        CHECK(moved.at(e + 10) == h.at(e));
    }
}

/// Numbers by their exponent field; zeros, and all that the kernels leave out, in field 0 and 255.
using Fields = std::array<std::int64_t, 256>;
Fields fields_of(std::span<const float> numbers, Simd simd) {
    Fields fields{};
    fields[255] = add_exponents(numbers, fields.data(), fields[0], simd);
    return fields;
}
Fields plain_fields_of(std::span<const float> numbers) {
    Fields fields{};
    for (const float x : numbers) {
        const std::uint32_t field = std::bit_cast<std::uint32_t>(x) >> 23 & 0xFF;
        ++fields.at(x == 0 ? 0 : field == 0 ? 255 : field);
    }
    return fields;
}

TEST_CASE("exponents are counted alike by every set of instructions, wherever they lie and however many there are") {
    Random random(2);
    const auto number_between = [&](int lowest, int highest) {
        const auto field = static_cast<std::uint32_t>(
            lowest + static_cast<int>(random.below(static_cast<std::uint64_t>(highest - lowest + 1))));
        const auto rest = static_cast<std::uint32_t>(random.below(std::uint64_t{1} << 23));
        return std::bit_cast<float>(field << 23 | rest) * (rest % 2 == 0 ? 1.0F : -1.0F);
    };
    struct Range {
        int lowest, highest, special_in, zero_in;  // one number in that many; 0 for none
    };
    // Beside ordinary tensors: infinities in half of the places (a mask), many zeros, fields far apart.
    for (const Range& range : {Range{0, 255, 100, 3},
                               {100, 130, 100, 3},
                               {80, 130, 100, 3},
                               {70, 130, 100, 3},
                               {120, 124, 100, 3},
                               {5, 12, 100, 3},
                               {1, 8, 100, 3},
                               {240, 254, 100, 3},
                               {0, 3, 100, 3},
                               {0, 0, 100, 3},
                               {110, 125, 0, 0},
                               {110, 125, 0, 2},
                               {223, 254, 0, 0},
                               {1, 32, 0, 0},
                               {1, 254, 0, 0},
                               {30, 70, 2, 0},
                               {110, 125, 0, 1},
                               {110, 125, 1, 0},
                               {90, 200, 0, 500}}) {
        for (const int count : {0, 1, 31, 32, 64, 100, 127, 128, 1023, 1024, 3968, 8160, 8193, 40000}) {
            std::vector<float> numbers;
            for (int i = 0; i < count; ++i) {
                const auto one_in = [&](int n) { return n > 0 && random.below(static_cast<std::uint64_t>(n)) == 0; };
                const bool zero = one_in(range.zero_in);
                numbers.push_back(zero ? 0.0F
                                       : number_between(range.lowest, one_in(range.special_in) ? 255 : range.highest));
            }
            Tally expected;
            std::uint32_t largest = 0;
            for (const float x : numbers) {
                largest = std::max(largest, std::bit_cast<std::uint32_t>(x) & 0x7FFFFFFFU);
                expected.zeros += x == 0 ? 1 : 0;
                expected.finite += std::isfinite(x) ? 1 : 0;
            }
            for (const Simd simd : supported_simd()) {
                CAPTURE(name_of(simd));
                CAPTURE(range.lowest);
                CAPTURE(count);
                CHECK(fields_of(numbers, simd) == plain_fields_of(numbers));
                CHECK(tally_of(numbers, simd) == expected);
                CHECK(std::bit_cast<std::uint32_t>(largest_magnitude(numbers, simd)) == largest);
            }
        }
    }
}

TEST_CASE("counts belong to their place, in whatever order the places are met") {
    CountsByPlace counts;
    std::map<std::string, std::int64_t> expected;
    Random random(4);
    for (int i = 0; i < 2000; ++i) {
        // For the most part one after the other, as a training meets them.
        const std::uint64_t at = random.below(10) == 0 ? random.below(20) : static_cast<std::uint64_t>(i % 13);
        const std::string place = "place " + std::to_string(at);
        ++counts[place].elements;
        ++expected[place];
    }
    CHECK(std::distance(counts.begin(), counts.end()) == static_cast<std::ptrdiff_t>(expected.size()));
    for (const auto& [place, found] : counts) CHECK(found.elements == expected.at(place));
    const CountsByPlace copy = counts;
    CHECK(copy.at("place 3").elements == expected.at("place 3"));
    counts.clear();
    CHECK_FALSE(counts.contains("place 3"));
    CHECK_THROWS_AS((void)counts.at("place 3"), std::out_of_range);
    CHECK(++counts["place 3"].elements == 1);
}

TEST_CASE("large numbers in few places are counted") {
    std::vector<float> numbers(20000, 1.0F);
    for (std::size_t i = 7; i < numbers.size(); i += 997) numbers[i] = 0x1p100F;
    for (const std::size_t more : {std::size_t{0}, std::size_t{61}}) {  // few enough to be counted one by one; not so
        for (std::size_t i = 3; more > 0 && i < numbers.size(); i += more) numbers[i] = -0x1p90F;
        for (const Simd simd : supported_simd()) {
            CAPTURE(name_of(simd));
            CHECK(fields_of(numbers, simd) == plain_fields_of(numbers));
        }
    }
}

TEST_CASE("one infinity or NaN anywhere is found") {
    for (const std::size_t size : {1U, 15U, 16U, 40U, 100U}) {
        std::vector<float> numbers(size, std::numeric_limits<float>::max());
        for (std::size_t i = 0; i < size; ++i) {
            for (const float bad : {-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
                const float before = std::exchange(numbers[i], bad);
                for (const Simd simd : supported_simd()) CHECK_FALSE(all_finite(numbers, simd));
                numbers[i] = before;
            }
        }
        for (const Simd simd : supported_simd()) CHECK(all_finite(numbers, simd));
    }
}

TEST_CASE("long tensors are counted and rounded to the same bits by any number of threads") {
    Random random(3);
    std::vector<float> numbers(600001);
    for (float& x : numbers) {
        x = static_cast<float>(std::ldexp(random.normal(), static_cast<int>(random.below(60)) - 35));
    }
    ExponentHistogram expected;
    for (std::size_t i = 0; i < numbers.size(); i += 1000) {
        expected.add(std::span(numbers).subspan(i, std::min<std::size_t>(1000, numbers.size() - i)));
    }
    std::vector<float> rounded = numbers;
    RoundingCounts counts;
    for (float& x : rounded) {
        const float before = x;
        x = round_to(formats::fp16, x);
        counts.overflows += std::isfinite(before) && !std::isfinite(x) ? 1 : 0;
        counts.underflows += before != 0 && x == 0 ? 1 : 0;
    }
    CHECK(counts.overflows > 0);
    CHECK(counts.underflows > 0);
    const int threads = omp_get_max_threads();
    for (const int count : {1, 2, 3}) {
        omp_set_num_threads(count);
        ExponentHistogram h;
        h.add(numbers);
        for (int e = ExponentHistogram::lowest; e <= ExponentHistogram::highest; ++e) CHECK(h.at(e) == expected.at(e));
        CHECK(h.total() == static_cast<std::int64_t>(numbers.size()));
        Watch watch;
        watch.histograms = true;
        Tensor exact({static_cast<Index>(numbers.size())}, numbers);
        CHECK(watch.store("op", {"exact"}, exact, ComputeFormat{}));
        Tensor tensor({static_cast<Index>(numbers.size())}, numbers);
        CHECK_FALSE(watch.store("op", {"forward"}, tensor, ComputeFormat{formats::fp16}));
        CHECK(std::equal(rounded.begin(), rounded.end(), tensor.data()));
        ExponentHistogram of_rounded;
        of_rounded.add(rounded);
        for (int e = ExponentHistogram::lowest; e <= ExponentHistogram::highest; ++e) {
            CHECK(watch.rounding.at("op exact").exponents.at(e) == expected.at(e));
            CHECK(watch.rounding.at("op forward").exponents.at(e) == of_rounded.at(e));
        }
        CHECK(watch.rounding.at("op forward").exponents.total() == h.total());
        CHECK(watch.rounding.at("op forward").zeros == of_rounded.zeros());
        CHECK(watch.rounding.at("op forward").overflows == counts.overflows);
        CHECK(watch.rounding.at("op forward").underflows == counts.underflows);
    }
    omp_set_num_threads(threads);
}

/// A tape under watch in a recipe that keeps everything as it is stored.
struct Watched {
    Watch watch;
    const Engine engine;
    Run run;
    explicit Watched(std::string_view recipe) : engine(recipe, "soft:ieee") { run.observers.watch = &watch; }
};

Tensor fp16_tensor(Shape shape, std::vector<float> values) {
    return {std::move(shape), std::move(values), formats::fp16};
}

TEST_CASE("overflows and underflows are counted where they happen") {
    Watched w("mixed_fp16");
    Tape tape(w.engine, w.run);
    const Var x = tape.leaf(fp16_tensor({4}, {60000.0F, 0x1p-20F, 1.0F, 0.0F}));
    const Var y = tape.leaf(fp16_tensor({4}, {60000.0F, 0x1p-20F, 1.0F, -1.0F}));
    (void)multiply(x, y);
    const RoundingCounts& counts = w.watch.rounding.at("multiply forward");
    CHECK(counts.elements == 4);
    CHECK(counts.overflows == 1);
    CHECK(counts.underflows == 1);
    CHECK(counts.zeros == 2);  // the product that underflowed, and -0
}

TEST_CASE("why-nan names the first operation that made an infinity, its element and its operands") {
    Watched w("mixed_fp16");
    w.run.step = 17;
    Tape tape(w.engine, w.run);
    const Tape::Scope scope(tape, "block");
    const Var x = tape.leaf(fp16_tensor({3}, {1.0F, 300.0F, 2.0F}));
    const Var y = multiply(x, x);
    CHECK(w.watch.first_nonfinite->label == "block/multiply");
    const Var z = subtract(y, y);  // infinity - infinity comes later and is not the cause
    CHECK(std::isnan(z.value()[1]));
    REQUIRE(w.watch.first_nonfinite);
    CHECK(w.watch.first_nonfinite->text() ==
          "step 17, block/multiply, forward: element 1 became inf (0x7f800000) in fp16\n"
          "  block/leaf (3): largest magnitude 300 (0x43960000), at this place 300 (0x43960000)\n"
          "  block/leaf (3): largest magnitude 300 (0x43960000), at this place 300 (0x43960000)\n");
}

TEST_CASE("why-nan finds a gradient that overflows in the backward pass") {
    Watched w("mixed_fp16");
    Tape tape(w.engine, w.run);
    const Var x = tape.leaf(fp16_tensor({1}, {2.0F}));
    const Var y = scaled(x, 0x1p10);
    tape.backward(scaled(cast(y, formats::fp32), 0x1p8));
    REQUIRE(w.watch.first_nonfinite);
    CHECK(w.watch.first_nonfinite->label == "scale");
    CHECK(w.watch.first_nonfinite->pass == "backward, gradient of leaf");
    CHECK(w.watch.first_nonfinite->operands.at(0).largest == 256.0F);
}

TEST_CASE("nothing is reported while all is finite") {
    Watched w("mixed_fp16");
    Tape tape(w.engine, w.run);
    const Var x = tape.leaf(fp16_tensor({2}, {2.0F, -3.0F}));
    tape.backward(reshape(slice(multiply(x, x), 0, 0, 1), {}));
    CHECK(!w.watch.first_nonfinite);
    CHECK(x.gradient()[0] == 4.0F);
}

TEST_CASE("a gradient that an operation hands on as it is, is not counted again") {
    Watched w("mixed_fp16");
    Tape tape(w.engine, w.run);
    const Var x = tape.leaf(fp16_tensor({2, 2}, {1.0F, 2.0F, 3.0F, 4.0F}));
    const Var y = add(x, permute(x, {1, 0}));
    const Var z = concat(std::vector<Var>{slice(y, 0, 1, 1), slice(y, 0, 0, 1)}, 0);
    const Var last = reshape(slice(reshape(z, {4}), 0, 1, 1), {});
    tape.backward(multiply(last, last));  // (x11 + x11) squared
    CHECK(x.gradient()[3] == 32.0F);
    for (const auto& [name, counts] : w.watch.rounding) {
        const std::string place = name;
        CAPTURE(place);
        CHECK((place.find("backward") == std::string::npos || place.starts_with("multiply")));
    }
    CHECK(w.watch.rounding.at("multiply backward, gradient of reshape_2").elements == 2);  // the factor stands twice
}

TEST_CASE("a gradient handed on into a narrower format is rounded, counted and searched") {
    Watched w("mixed_fp16+fused");  // the sum is held, and its gradient handed on, in the steps' fp32
    Tape tape(w.engine, w.run);
    const Var x = tape.leaf(fp16_tensor({}, {1.0F}));
    tape.backward(scaled(add(x, x), 0x1p20));
    CHECK(std::isinf(x.gradient()[0]));
    CHECK(w.watch.rounding.at("add backward, gradient of leaf").overflows == 2);
    CHECK(w.watch.first_nonfinite->label == "add");
}

TEST_CASE("bytes are counted by role and format") {
    Trainer trainer(Engine("mixed_fp16", "soft:ieee"), 1);
    const Mlp net(trainer.model(), {196, 16, 10});
    trainer.optimize({.kind = OptimizerKind::adam, .learning_rate = 0.001});
    const std::int64_t weights = 196 * 16 + 16 + 16 * 10 + 10;
    CHECK(trainer.bytes().weights.stored == 2 * weights);
    CHECK(trainer.bytes().weights.held == 4 * weights);
    CHECK(trainer.bytes().masters.stored == 4 * weights);
    CHECK(trainer.bytes().optimizer.stored == 8 * weights);  // two fp32 numbers a weight, from the first step on
    CHECK(trainer.bytes().activations.stored == 0);
    const Dataset data = generated_digits({.count = 8, .side = 14, .seed = 1});
    const Batch batch = batch_of(data, {0, 1, 2, 3, 4, 5, 6, 7});
    trainer.step([&](Tape& tape) { return cross_entropy(net(images_on(tape, batch.images)), batch.labels); });
    CHECK(trainer.bytes().optimizer.stored == 8 * weights);
    // fp16 images, two layers of activations and relu; logits again in fp32, the loss and its scaled self.
    CHECK(trainer.bytes().activations.stored == 2 * 8 * (196 + 16 + 16 + 10) + 4 * 8 * 10 + 8);
}

TEST_CASE("updates that change nothing and gradients of zero are counted") {
    Model model(recipe_by_name("fp16"), 1);
    Parameter& w = model.add("w", {4}, Init::constant(1));
    Optimizer optimizer(model, {.learning_rate = 1});
    w.gradient = fp16_tensor({4}, {0x1p-12F, 0x1p-9F, -0.0F, 0.0F});
    optimizer.step();
    CHECK(optimizer.counts().weights == 4);
    CHECK(optimizer.counts().swamped == 1);
    CHECK(optimizer.counts().zero_gradients == 2);
}

}  // namespace
