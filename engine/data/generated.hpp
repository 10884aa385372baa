// Data made by programs, with integer arithmetic and counter-based random numbers only, so that every machine makes the
// same bytes. Item i of a set depends on (seed, i) alone, so a longer set begins with the shorter one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/data/dataset.hpp"
#include "engine/tensor/matrix.hpp"

namespace ulp {

// Digits: seven-segment figures with diagonal strokes, bent by an affine map, blurred, with noise.

struct DigitOptions {
    Index count = 2000;
    Index side = 28;  // 14 or 28 as in the experiments; any from 8 up
    std::uint64_t seed = 1;
    int noise = 24;  // amplitude of the noise, of 255
};

/// Labels are drawn at random. Throws std::invalid_argument for a side below 8, a negative count or a noise outside
/// 0..255.
Dataset generated_digits(const DigitOptions& options);

/// A training and a test set from different streams of the same seed.
DataSplit generated_digit_split(Index train, Index test, Index side, std::uint64_t seed);

// Pictures: five coloured shapes and five textures on coloured grounds, placed, sized and turned at random, with noise.

/// disc, square, triangle, cross, ring; horizontal, vertical and diagonal stripes, checks, dots.
inline constexpr Index shape_classes = 10;

struct ShapeOptions {
    Index count = 2000;
    Index side = 32;  // 16 or 32 as in the experiments; any from 8 up
    std::uint64_t seed = 1;
    int noise = 40;   // amplitude of the noise, of 255
    int lighter = 0;  // by this or more a figure is lighter than its ground in each colour; 0: by 90 in one
};

/// A training and a test set from different streams of the same seed. 3 x side x side bytes an image: red, green, blue
/// planes. Throws std::invalid_argument for a side below 8, a negative count, or a noise outside 0..255.
DataSplit generated_shape_split(Index train, Index test, Index side, std::uint64_t seed, int noise = 40);

struct TextureOptions {
    Index count = 2000;
    Index side = 32;
    std::uint64_t seed = 1;
    int noise = 10;   // amplitude, of 255
    int periods = 3;  // of a wave across the image, at most
};
/// A textured image: sums of two waves in three colours. The label, 0 to 3, tells which way the main waves of all
/// colours run. For filling in what is missing.
/// Throws std::invalid_argument as generated_shape_split, and for fewer than one period.
Dataset generated_textures(const TextureOptions& options);

/// Scenes for detectors and segmenters: one shape (of the first five classes) for each image, its box in pixels, and
/// which pixels it covers.
struct Box {
    int left, top, right, bottom;  // right and bottom are the first pixels outside
    bool operator==(const Box&) const = default;
};
struct Scenes {
    Dataset images;                   // the label is the shape's class
    std::vector<Box> boxes;           // one an image
    std::vector<std::uint8_t> inked;  // side x side an image: 1 where the shape is, else 0

    /// Scenes first, first + 1, ... first + count - 1.
    [[nodiscard]] Scenes slice(Index first, Index count) const;
};
/// Throws std::invalid_argument as generated_shape_split, and for a `lighter` outside 0..255.
Scenes generated_scenes(const ShapeOptions& options);

// Faces: Gaussian blobs (head, hair, eyes, nose, mouth) in grey. The same face at every resolution.

struct FaceOptions {
    Index count = 1000;
    Index side = 32;  // 8, 16 or 32 as in the experiments; any from 4 up
    std::uint64_t seed = 1;
};

/// One channel. Face i shows the same person at every side; the label is 0.
/// Throws std::invalid_argument for a side below 4 or a negative count.
Dataset generated_faces(const FaceOptions& options);

// Sounds made by a program: spoken words as spectra whose formants move from sound to sound, and harmonic tones as
// samples with their mu-law codes. Integer arithmetic and counter-based random numbers only.

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

// English made by a grammar about two topics, the weather and the laboratory: sentences of a document keep to theirs,
// so that a reader can tell whether one sentence may follow another.

/// Every word that occurs in the sentences, sorted.
std::vector<std::string> topic_vocabulary();

/// A pair for next-sentence prediction: half of them of one topic (label 0: the second follows the first), half of two
/// (label 1), as the labels are numbered in BERT.
struct SentencePair {
    std::string first;  // lower case, words and a full stop apart by blanks
    std::string second;
    int label;
};
/// Pair i depends on (seed, i) alone. `stream` tells sets apart. Throws std::invalid_argument for a negative count.
std::vector<SentencePair> generated_sentence_pairs(Index count, std::uint64_t seed, std::string_view stream = "");

/// Running text for character models: paragraphs of three to six sentences of one topic, at least `characters` long,
/// cut there. Throws std::invalid_argument for a negative length.
std::string generated_text(Index characters, std::uint64_t seed);

// Pairs of sequences made by a program: something to translate, and its only right translation.

enum class TranslationTask : std::uint8_t {
    copy,     // letters -> the same
    reverse,  // letters -> backwards
    words,    // digits of a number below a million -> English number words: 3 0 4 -> three hundred and four
    grammar   // English sentences of a small synchronous grammar -> an invented language (verb last, adjective after
              // its noun, endings for the plural)
};
/// Throws std::invalid_argument that lists the names.
TranslationTask translation_task(std::string_view name);
const std::vector<std::string>& translation_task_names();

struct TranslationOptions {
    TranslationTask task = TranslationTask::reverse;
    Index count = 1000;
    int letters = 16;     // copy and reverse: how many different ones, 2..26
    int min_length = 4;   // copy and reverse: of the source
    int max_length = 10;  // likewise; words: of the number, up to 6 digits
    std::uint64_t seed = 1;
};

struct TranslationPair {
    std::vector<int> source;
    std::vector<int> target;
};

/// Tokens 0 to 2 stand for padding, start and end; sentences hold none of them.
inline constexpr int padding_token = 0;
inline constexpr int start_token = 1;
inline constexpr int end_token = 2;

struct TranslationData {
    std::vector<std::string> source_words;  // token -> text
    std::vector<std::string> target_words;
    std::vector<TranslationPair> pairs;

    [[nodiscard]] std::string source_text(std::size_t i) const;
    [[nodiscard]] std::string target_text(std::size_t i) const;
    /// SHA-256 of "source\ttarget\n" over all pairs.
    [[nodiscard]] std::string digest() const;
};

/// Pair i depends on (seed, i) alone. `stream` tells sets apart ("" for training). Throws std::invalid_argument for a
/// negative count, letters outside 2..26, or lengths that are below 1, above 64 (6 for words) or the wrong way round.
TranslationData generated_translation(const TranslationOptions& options, std::string_view stream = "");

// A table of daily sales: shops of several kinds, with weekdays, seasons, holidays and promotions.

/// One shop on one day. All but distance, promotion and holiday are categories.
struct SalesRow {
    int shop;      // 0 .. shops - 1
    int kind;      // of shop, 0..3
    int weekday;   // 0 Monday .. 6 Sunday
    int month;     // 0..11, of 30 days
    int promoted;  // 0 or 1
    int holiday;   // 0 or 1
    int distance;  // to the next competitor, 10..10000 metres
    int sales;     // 100 or more
};

struct SalesOptions {
    Index shops = 20;
    Index days = 360;
    std::uint64_t seed = 1;
};

struct SalesData {
    Index shops;
    std::vector<SalesRow> rows;  // day by day, shop by shop
    /// A CSV text with a header.
    [[nodiscard]] std::string csv() const;
    /// SHA-256 of csv().
    [[nodiscard]] std::string digest() const;
};

/// sales = a shop's level x weekday x season of its kind x promotion x holiday x distance x (1 + noise of up to 8%),
/// all in per cent. Throws std::invalid_argument for fewer than 1 or more than 1000 shops or a negative number of days.
SalesData generated_sales(const SalesOptions& options);

}  // namespace ulp
