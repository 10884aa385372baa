#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <stdexcept>

#include "engine/data/fixed_point.hpp"
#include "engine/data/generated.hpp"
#include "engine/files/sha256.hpp"
#include "engine/tensor/random.hpp"

namespace ulp {
namespace {

using namespace fixed;

/// Where the formants lie, in thousandths of the spectrum.
using Formants = std::array<std::int64_t, 3>;
constexpr std::array<Formants, 12> formants = {{{100, 330, 700},
                                                {170, 300, 620},
                                                {230, 420, 760},
                                                {90, 560, 800},
                                                {150, 480, 640},
                                                {260, 340, 860},
                                                {120, 260, 540},
                                                {200, 600, 900},
                                                {80, 440, 560},
                                                {280, 520, 720},
                                                {140, 380, 900},
                                                {220, 280, 460}}};

/// One frame: a bell around each formant, with a random loudness and noise.
void add_frame(const Formants& where, const SpeechOptions& options, Random& random,
               std::vector<std::uint8_t>& spectrum) {
    const Fixed loudness = random.between(120, 200);
    const Fixed width = 25;  // thousandths
    for (int bin = 0; bin < options.bins; ++bin) {
        const Fixed x = (2 * bin + 1) * 500 / options.bins;
        Fixed light = 0;
        for (std::size_t f = 0; f < where.size(); ++f) {
            const Fixed distance = (x - where[f]) * one / width;
            light += loudness * (4 - static_cast<Fixed>(f)) / 4 * bell(times(distance, distance), one);
        }
        spectrum.push_back(to_byte(20 + light / one + random.between(-options.noise, options.noise)));
    }
}

void require_sensible(const SpeechOptions& options) {
    if (options.count < 0) throw std::invalid_argument("the number of utterances cannot be negative");
    if (options.phonemes < 2 || options.phonemes > static_cast<int>(formants.size())) {
        throw std::invalid_argument("speech has 2 to 12 different phonemes");
    }
    if (options.min_length < 1 || options.max_length < options.min_length || options.max_length > 40) {
        throw std::invalid_argument("utterances have 1 to 40 phonemes, the smallest number first");
    }
    if (options.bins < 16 || options.bins > 128) throw std::invalid_argument("a spectrum has 16 to 128 bins");
    if (options.noise < 0 || options.noise > 255) throw std::invalid_argument("the noise of speech lies in 0..255");
}

Utterance spoken(const SpeechOptions& options, Random& random) {
    Utterance utterance;
    const auto length = random.between(options.min_length, options.max_length);
    for (std::int64_t i = 0; i < length; ++i) {
        const int before = i == 0 ? 0 : utterance.phonemes.back();
        int phoneme = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(options.phonemes - (i > 0))));
        if (i > 0 && phoneme >= before) ++phoneme;  // any but the one before
        utterance.phonemes.push_back(phoneme);
        const auto frames = random.between(4, 8);
        for (std::int64_t t = 0; t < frames; ++t) {
            Formants where = formants.at(static_cast<std::size_t>(phoneme - 1));
            if (i > 0 && t < 2) {  // a glide of two frames
                const Formants& from = formants.at(static_cast<std::size_t>(before - 1));
                for (std::size_t f = 0; f < where.size(); ++f) where[f] = (where[f] * (t + 1) + from[f] * (2 - t)) / 3;
            }
            add_frame(where, options, random, utterance.spectrum);
        }
    }
    return utterance;
}

std::vector<std::int16_t> sounding(const ToneOptions& options, Random& random) {
    constexpr std::array<std::int64_t, 11> hertz = {110, 131, 147, 165, 196, 220, 262, 294, 330, 392, 440};
    std::vector<std::int16_t> clip;
    const Index note = std::max<Index>(1, options.samples / 4);
    std::array<Fixed, 5> strength{};
    std::int64_t pitch = 0;
    for (Index t = 0; t < options.samples; ++t) {
        const Index within = t % note;
        if (within == 0) {
            pitch = hertz.at(random.below(hertz.size()));
            for (std::size_t h = 0; h < strength.size(); ++h) {
                strength[h] = random.between(2000, 6000) / static_cast<Fixed>(h + 1);
            }
        }
        Fixed sum = 0;
        for (std::size_t h = 0; h < strength.size(); ++h) {
            const auto harmonic = static_cast<std::int64_t>(h + 1);
            sum += strength[h] * sine(t * pitch * harmonic * 65536 / options.rate);
        }
        const Fixed faded = sum / one * (note - within) / note;
        clip.push_back(static_cast<std::int16_t>(std::clamp<Fixed>(faded, -32767, 32767)));
    }
    return clip;
}

/// G.711 works on 14 bits: 0 to 8191 with a bias of 33.
constexpr int bias = 33;
constexpr int top = 8158;

}  // namespace

std::string SpeechData::digest() const {
    Sha256 sha;
    for (const Utterance& u : utterances) {
        sha.add(std::span<const std::uint8_t>(u.spectrum));
        const std::vector<std::uint8_t> labels(u.phonemes.begin(), u.phonemes.end());
        sha.add(std::span<const std::uint8_t>(labels));
    }
    return sha.hex();
}

SpeechData generated_speech(const SpeechOptions& options, std::string_view stream) {
    require_sensible(options);
    SpeechData data{options.bins, {}};
    for (Index i = 0; i < options.count; ++i) {
        Random random(options.seed, hash_of("speech " + std::string(stream)) + static_cast<std::uint64_t>(i));
        data.utterances.push_back(spoken(options, random));
    }
    return data;
}

std::string ToneData::digest() const {
    Sha256 sha;
    for (const auto& clip : clips) {
        std::vector<std::uint8_t> bytes;
        for (const std::int16_t sample : clip) {
            const auto word = static_cast<std::uint16_t>(sample);
            bytes.push_back(static_cast<std::uint8_t>(word & 0xFF));
            bytes.push_back(static_cast<std::uint8_t>(word >> 8));
        }
        sha.add(std::span<const std::uint8_t>(bytes));
    }
    return sha.hex();
}

ToneData generated_tones(const ToneOptions& options, std::string_view stream) {
    if (options.count < 0) throw std::invalid_argument("the number of clips cannot be negative");
    if (options.samples < 16) throw std::invalid_argument("a clip has at least 16 samples");
    if (options.rate < 4000 || options.rate > 48000) {
        throw std::invalid_argument("tones take 4000 to 48000 samples a second");
    }
    ToneData data;
    for (Index i = 0; i < options.count; ++i) {
        Random random(options.seed, hash_of("tones " + std::string(stream)) + static_cast<std::uint64_t>(i));
        data.clips.push_back(sounding(options, random));
    }
    return data;
}

int mu_law_code(std::int16_t sample) {
    const int wide = sample >> 2;  // to 14 bits
    const int magnitude = std::min(wide < 0 ? -wide - 1 : wide, top) + bias;
    const int segment = static_cast<int>(std::bit_width(static_cast<unsigned>(magnitude))) - 6;  // 0..7
    const int code = segment << 4 | ((magnitude >> (segment + 1)) & 0xF);
    return wide < 0 ? 127 - code : 128 + code;
}

}  // namespace ulp
