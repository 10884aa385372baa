// Sounds made by a program: spoken words as spectra whose formants move from sound to sound, and harmonic tones as
// samples with their mu-law codes. Integer arithmetic and counter-based random numbers only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tensor/matrix.hpp"

namespace ulp {

struct SpeechOptions {
    Index count = 500;
    int phonemes = 8;    // different ones, 2..12
    int min_length = 2;  // phonemes an utterance
    int max_length = 5;
    int bins = 24;  // of the spectrum, 16..128
    std::uint64_t seed = 1;
    int noise = 30;  // amplitude, of 255
};

struct Utterance {
    std::vector<std::uint8_t> spectrum;  // frames x bins
    std::vector<int> phonemes;           // 1 .. options.phonemes; 0 is left for CTC's blank
};

struct SpeechData {
    int bins;
    std::vector<Utterance> utterances;
    [[nodiscard]] std::string digest() const;
};

/// Each phoneme is three formants (peaks of the spectrum) for four to eight frames; between phonemes they glide. Two
/// equal phonemes never meet. Utterance i depends on (seed, i) alone. Throws std::invalid_argument for what is out of
/// the ranges above, or lengths outside 1..40 or the wrong way round.
SpeechData generated_speech(const SpeechOptions& options, std::string_view stream = "");

struct ToneOptions {
    Index count = 100;
    Index samples = 1024;  // a clip
    int rate = 8000;       // samples a second, 4000..48000
    std::uint64_t seed = 1;
};

struct ToneData {
    std::vector<std::vector<std::int16_t>> clips;
    [[nodiscard]] std::string digest() const;
};

/// Notes of 110 to 440 Hz on a scale of five, a fundamental and four harmonics of random strengths, each note fading
/// over a quarter of a clip. Clip i depends on (seed, i) alone. Throws std::invalid_argument for a negative count,
/// fewer than 16 samples or a rate outside 4000..48000.
ToneData generated_tones(const ToneOptions& options, std::string_view stream = "");

/// G.711 mu-law (ITU-T G.711, 1988): the sign and a logarithm of 7 bits, in the order of the values: 0 is the most
/// negative, 255 the most positive.
int mu_law_code(std::int16_t sample);

}  // namespace ulp
