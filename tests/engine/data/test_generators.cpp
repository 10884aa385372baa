#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <stdexcept>

#include "engine/data/fixed_point.hpp"
#include "engine/data/generated.hpp"
#include "engine/files/sha256.hpp"
#include "engine/tensor/steps.hpp"

namespace {

using namespace ulp;

TEST_CASE("what the generators make is the same on every machine") {
    // The published digests: they change only when a generator is changed on purpose.
    CHECK(generated_shape_split(200, 0, 32, 1).train.digest() ==
          "c94ca60126bf3e68b8e1f31270f3f25b024ced7065b18795c92a3a1f9c3a32fb");
    CHECK(generated_shape_split(200, 0, 16, 1).train.digest() ==
          "1b2255ec25d28f904b5e809b19187fc15195a09b370625fe09e7f8771e1b78c9");
    CHECK(generated_textures({.count = 20, .side = 32, .seed = 1}).digest() ==
          "95801ac2a490eba7f60574e41a860ad509c918a168911fa89901c68595133172");
    CHECK(generated_scenes({.count = 50, .side = 32, .seed = 1}).images.digest() ==
          "dc3cf03d092010cdfe7c3be1a68629f8d46fc299d45b63a1625323734965c3f8");
    CHECK(generated_scenes({.count = 50, .side = 16, .seed = 1, .lighter = 45}).images.digest() ==
          "55321e4479c9206c83676dd0269fed7da7325fe98b31bc8ace30b50904c82165");
    CHECK(generated_faces({.count = 50, .side = 8, .seed = 1}).digest() ==
          "c026cc3a8fc1fff62e37fe29982e2cad348edac44d3e06759a833e669cc0d09b");
    CHECK(generated_faces({.count = 50, .side = 16, .seed = 1}).digest() ==
          "9e3c27d6c42c962367b4d02660c1e13fd26123dbd7d609c18ca63f7e0dcf064c");
    CHECK(generated_faces({.count = 50, .side = 32, .seed = 1}).digest() ==
          "db3836d1a2b76cb58a883968125873f6880ccf1ec38ceab4d5a22558cb34e10f");
    const auto translation = [](TranslationTask task) {
        return generated_translation({.task = task, .count = 200, .max_length = 6}).digest();
    };
    CHECK(translation(TranslationTask::copy) == "49d9486bfe6f2a467be18183e39d4c8321a72bd117f3c1f8e7bc5c772e84aa67");
    CHECK(translation(TranslationTask::reverse) == "47ed71eb9332bc0a3ca8fc3a2678be0cd0464fedc2f8c7c465d189749afec412");
    CHECK(translation(TranslationTask::words) == "bdc46d340497558f99d5dcff39ed3352567f71d6fb6ab07f197fe8441cfd72de");
    CHECK(translation(TranslationTask::grammar) == "8ef110938fbf34bad2bee2de30fe86b3f23f6c81f39acf16b0503fafb30c31f6");
    CHECK(sha256_of(generated_text(20000, 1)) == "c52f6df97cc6fc462e26931a2407006deb93156f281854edea3b025bbf8f161b");
    std::string pairs;
    for (const auto& p : generated_sentence_pairs(200, 1)) {
        pairs += p.first + "\t" + p.second + "\t" + std::to_string(p.label) + "\n";
    }
    CHECK(sha256_of(pairs) == "d9f401436ac11508669236cfb9d67b954d271b46845df79625810131428f068e");
    CHECK(generated_speech({.count = 100, .seed = 1}).digest() ==
          "430333265f0cace2c11c920eac949f0dd039e91c8e13cd04f540d1c851846d34");
    CHECK(generated_tones({.count = 20, .seed = 1}).digest() ==
          "1a1614c93cc157d6745279eea6b01f114f0f44f1377fcd78cc34ca67346d31a3");
    CHECK(generated_sales({.shops = 10, .days = 100, .seed = 1}).digest() ==
          "9498da8df8aa8962a5eb9e5562a990caf1097c5669bf84fc0b1746b010c5962b");
}

TEST_CASE("a longer set begins with the shorter one, and seeds and streams differ") {
    CHECK(generated_shape_split(20, 0, 16, 1).train.slice(0, 10).digest() ==
          generated_shape_split(10, 0, 16, 1).train.digest());
    CHECK(generated_shape_split(10, 0, 16, 2).train.digest() != generated_shape_split(10, 0, 16, 1).train.digest());
    const DataSplit split = generated_shape_split(10, 10, 16, 1);
    CHECK(split.train.digest() != split.test.digest());
    CHECK(generated_translation({.count = 10}).pairs.at(9).source ==
          generated_translation({.count = 20}).pairs.at(9).source);
    CHECK(generated_translation({.count = 10}).digest() != generated_translation({.count = 10}, "test").digest());
    CHECK(generated_text(500, 1) == generated_text(900, 1).substr(0, 500));
    CHECK(generated_speech({.count = 5}).digest() != generated_speech({.count = 5, .seed = 2}).digest());
}

TEST_CASE("figures that are lighter than their ground are so in each colour, by as much as asked") {
    constexpr Index side = 16;
    constexpr Index plane = side * side;
    const Scenes scenes = generated_scenes({.count = 50, .side = side, .noise = 0, .lighter = 45});
    for (Index i = 0; i < 50; ++i) {
        const std::uint8_t* pixel = scenes.images.pixels.data() + i * 3 * plane;
        const auto inked = scenes.inked.begin() + i * plane;
        const auto ink = std::find(inked, inked + plane, 1) - inked;
        const auto ground = std::find(inked, inked + plane, 0) - inked;
        for (Index c = 0; c < 3; ++c) CHECK(pixel[c * plane + ink] >= pixel[c * plane + ground] + 45);
    }
    CHECK_THROWS_AS(generated_scenes({.lighter = 256}), std::invalid_argument);
    CHECK_THROWS_AS(generated_scenes({.lighter = -1}), std::invalid_argument);
}

TEST_CASE("every kind of shape occurs, and is inked inside its box only") {
    std::array<int, shape_classes> counts{};
    for (const std::uint8_t label : generated_shape_split(1000, 0, 8, 1).train.labels) ++counts.at(label);
    for (const int count : counts) CHECK(std::abs(count - 100) < 40);
    const Scenes scenes = generated_scenes({.count = 50, .side = 32, .seed = 1, .noise = 0});
    for (Index i = 0; i < 50; ++i) {
        const Box& box = scenes.boxes.at(static_cast<std::size_t>(i));
        const std::uint8_t* pixel = scenes.images.pixels.data() + i * scenes.images.features();
        CHECK((box.left < box.right && box.top < box.bottom && box.right <= 32 && box.bottom <= 32));
        int ink_outside = 0;
        Box covered{32, 32, 0, 0};
        for (int y = 0; y < 32; ++y) {
            for (int x = 0; x < 32; ++x) {
                const bool inside = x >= box.left && x < box.right && y >= box.top && y < box.bottom;
                const std::uint8_t ground = box.left > 0 || box.top > 0 ? pixel[0] : pixel[32 * 32 - 1];
                ink_outside += !inside && pixel[y * 32 + x] != ground ? 1 : 0;
                if (scenes.inked.at(static_cast<std::size_t>((i * 32 + y) * 32 + x)) == 0) continue;
                covered = {std::min(covered.left, x), std::min(covered.top, y), std::max(covered.right, x + 1),
                           std::max(covered.bottom, y + 1)};
            }
        }
        CHECK(ink_outside == 0);
        CHECK(covered == box);
    }
    const Scenes part = scenes.slice(7, 3);
    CHECK(part.images.labels == scenes.images.slice(7, 3).labels);
    CHECK(part.boxes == std::vector<Box>(scenes.boxes.begin() + 7, scenes.boxes.begin() + 10));
    CHECK(part.inked == std::vector<std::uint8_t>(scenes.inked.begin() + 7 * 1024, scenes.inked.begin() + 10 * 1024));
}

TEST_CASE("translations are right") {
    const TranslationData reversed = generated_translation({.task = TranslationTask::reverse, .count = 20});
    for (const TranslationPair& pair : reversed.pairs) {
        CHECK(std::equal(pair.source.begin(), pair.source.end(), pair.target.rbegin(), pair.target.rend()));
    }
    const TranslationData words =
        generated_translation({.task = TranslationTask::words, .count = 3000, .min_length = 1, .max_length = 6});
    const auto say = [&](const std::string& digits) {
        for (std::size_t i = 0; i < words.pairs.size(); ++i) {
            if (words.source_text(i) == digits) return words.target_text(i);
        }
        return std::string("not drawn");
    };
    CHECK(say("0") == "zero");
    CHECK(say("7") == "seven");
    CHECK(say("4 0") == "forty");
    CHECK(say("1 3") == "thirteen");
    bool thousands = false;
    for (std::size_t i = 0; i < words.pairs.size() && !thousands; ++i) {
        thousands = words.source_text(i).size() == 11 && words.target_text(i).find("thousand") != std::string::npos;
    }
    CHECK(thousands);
    const TranslationData grammar = generated_translation({.task = TranslationTask::grammar, .count = 300});
    for (std::size_t i = 0; i < grammar.pairs.size(); ++i) {
        // The English verb's subject and the other language's agree in number, and the verb comes last there.
        const std::string source = grammar.source_text(i);
        const std::string target = grammar.target_text(i);
        const bool plural = source.find(" see ") != std::string::npos || source.find(" find ") != std::string::npos ||
                            source.find(" want ") != std::string::npos;
        CHECK(target.substr(target.size() - 2) == (plural ? "an" : "as"));
    }
}

TEST_CASE("a document keeps to its topic") {
    const std::vector<std::string> words = topic_vocabulary();
    const auto has = [](const std::string& sentence, const char* word) {
        return (sentence + " ").find(std::string(" ") + word + " ") != std::string::npos;
    };
    const auto is_mixed = [&](const std::string& text) {
        const bool weather = has(text, "storm") || has(text, "cloud") || has(text, "rain");
        return weather && (has(text, "circuit") || has(text, "meter") || has(text, "laser"));
    };
    int different = 0;
    int mixed = 0;
    for (const SentencePair& pair : generated_sentence_pairs(1000, 1)) {
        different += pair.label;
        mixed += is_mixed(pair.first + " " + pair.second) ? 1 : 0;
        CHECK_FALSE((pair.label == 0 && is_mixed(pair.first + " " + pair.second)));
        std::istringstream stream(pair.first);
        for (std::string word; stream >> word;) CHECK(std::binary_search(words.begin(), words.end(), word));
    }
    CHECK(mixed > 50);
    CHECK(std::abs(different - 500) < 80);
    CHECK(generated_text(1000, 1).find(" .") == std::string::npos);
}

TEST_CASE("speech glides between phonemes and never repeats one") {
    const SpeechData data = generated_speech({.count = 200, .phonemes = 3, .max_length = 6});
    for (const Utterance& u : data.utterances) {
        CHECK(u.spectrum.size() % static_cast<std::size_t>(data.bins) == 0);
        CHECK(u.spectrum.size() >= 4 * u.phonemes.size() * static_cast<std::size_t>(data.bins));
        CHECK(std::adjacent_find(u.phonemes.begin(), u.phonemes.end()) == u.phonemes.end());
        CHECK(std::all_of(u.phonemes.begin(), u.phonemes.end(), [](int p) { return p >= 1 && p <= 3; }));
    }
}

TEST_CASE("mu-law: codes rise with the samples, and leave none out") {
    int before = 0;
    for (int sample = -32768; sample <= 32767; ++sample) {
        const int code = mu_law_code(static_cast<std::int16_t>(sample));
        if (code < before || code > before + 1) FAIL("the code falls or jumps at ", sample);
        before = code;
    }
    CHECK(before == 255);
    CHECK(mu_law_code(0) == 128);
    CHECK(mu_law_code(-1) == 127);
}

TEST_CASE("sales follow weekday, promotion and holiday") {
    const SalesData data = generated_sales({.shops = 20, .days = 360});
    std::array<double, 2> promoted{}, holiday{}, promoted_days{}, holidays{};
    double sundays = 0, saturdays = 0;
    for (const SalesRow& row : data.rows) {
        promoted.at(static_cast<std::size_t>(row.promoted)) += row.sales;
        promoted_days.at(static_cast<std::size_t>(row.promoted)) += 1;
        holiday.at(static_cast<std::size_t>(row.holiday)) += row.sales;
        holidays.at(static_cast<std::size_t>(row.holiday)) += 1;
        if (row.weekday == 6) sundays += row.sales;
        if (row.weekday == 5) saturdays += row.sales;
    }
    CHECK(promoted[1] / promoted_days[1] > 1.1 * promoted[0] / promoted_days[0]);
    CHECK(holiday[1] / holidays[1] < 0.5 * holiday[0] / holidays[0]);
    CHECK(sundays < 0.6 * saturdays);
}

TEST_CASE("the integer sine and bell are near the functions that they stand for") {
    double worst_sine = 0;
    for (int phase = 0; phase < 65536; phase += 7) {
        // sin x by its series around 0 in double, 25 terms: enough up to 2 pi.
        const double x = phase * 2 * 3.14159265358979323846 / 65536;
        double term = x;
        double sum = x;
        for (int n = 1; n < 25; ++n) {
            term *= -x * x / (2 * n * (2 * n + 1));
            sum += term;
        }
        worst_sine = std::max(worst_sine, std::abs(static_cast<double>(fixed::sine(phase)) / 65536 - sum));
    }
    CHECK(worst_sine < 0.0003);
    double worst_bell = 0;
    for (int i = 0; i < 1000; ++i) {
        const double d2 = i * 0.01;
        const auto bell = fixed::bell(static_cast<fixed::Fixed>(d2 * 65536), fixed::one);
        worst_bell = std::max(worst_bell, std::abs(static_cast<double>(bell) / 65536 - step::exp(-d2 / 2)));
    }
    CHECK(worst_bell < 0.08);
}

TEST_CASE("impossible data is refused") {
    CHECK_THROWS_AS(generated_shape_split(1, 0, 7, 1), std::invalid_argument);
    CHECK_THROWS_AS(generated_shape_split(-1, 0, 16, 1), std::invalid_argument);
    CHECK_THROWS_AS(generated_textures({.count = 1, .noise = 256}), std::invalid_argument);
    CHECK_THROWS_AS(generated_textures({.count = 1, .periods = 0}), std::invalid_argument);
    CHECK_THROWS_AS(generated_faces({.count = 1, .side = 3}), std::invalid_argument);
    CHECK_THROWS_AS(generated_faces({.count = -1}), std::invalid_argument);
    CHECK_THROWS_AS(generated_translation({.count = -1}), std::invalid_argument);
    CHECK_THROWS_AS(generated_translation({.count = 1, .letters = 27}), std::invalid_argument);
    CHECK_THROWS_AS(generated_translation({.count = 1, .min_length = 5, .max_length = 4}), std::invalid_argument);
    CHECK_THROWS_AS(generated_translation({.task = TranslationTask::words, .count = 1, .max_length = 7}),
                    std::invalid_argument);
    CHECK_THROWS_AS(translation_task("sort"), std::invalid_argument);
    CHECK_THROWS_AS(generated_sentence_pairs(-1, 1), std::invalid_argument);
    CHECK_THROWS_AS(generated_text(-1, 1), std::invalid_argument);
    CHECK_THROWS_AS(generated_speech({.count = 1, .phonemes = 13}), std::invalid_argument);
    CHECK_THROWS_AS(generated_speech({.count = 1, .bins = 8}), std::invalid_argument);
    CHECK_THROWS_AS(generated_speech({.count = 1, .min_length = 0}), std::invalid_argument);
    CHECK_THROWS_AS(generated_tones({.count = 1, .samples = 3}), std::invalid_argument);
    CHECK_THROWS_AS(generated_tones({.count = 1, .rate = 100}), std::invalid_argument);
    CHECK_THROWS_AS(generated_sales({.shops = 0}), std::invalid_argument);
    CHECK_THROWS_AS(generated_sales({.days = -1}), std::invalid_argument);
}

}  // namespace
