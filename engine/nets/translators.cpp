#include "engine/nets/translators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "engine/nets/blocks.hpp"

namespace ulp {

SentenceBatch::SentenceBatch(const TranslationData& data, const std::vector<Index>& which)
    : count(static_cast<Index>(which.size())) {
    for (const Index i : which) {
        const TranslationPair& pair = data.pairs[static_cast<std::size_t>(i)];
        source_length = std::max(source_length, static_cast<Index>(pair.source.size()));
        target_length = std::max(target_length, static_cast<Index>(pair.target.size()) + 1);
    }
    const auto fill = [](std::vector<int>& rows, std::size_t row_end) { rows.resize(row_end, padding_token); };
    for (std::size_t row = 0; row < which.size(); ++row) {
        const TranslationPair& pair = data.pairs[static_cast<std::size_t>(which[row])];
        source.insert(source.end(), pair.source.begin(), pair.source.end());
        fill(source, (row + 1) * static_cast<std::size_t>(source_length));
        before.push_back(start_token);
        before.insert(before.end(), pair.target.begin(), pair.target.end());
        fill(before, (row + 1) * static_cast<std::size_t>(target_length));
        target.insert(target.end(), pair.target.begin(), pair.target.end());
        target.push_back(end_token);
        fill(target, (row + 1) * static_cast<std::size_t>(target_length));
    }
}

Tensor SentenceBatch::penalty() const {
    Tensor result({count, target_length, source_length});
    for (Index i = 0; i < result.size(); ++i) {
        const Index sentence = i / (target_length * source_length);
        const auto place = static_cast<std::size_t>(sentence * source_length + i % source_length);
        result[i] = source[place] == padding_token ? -10000.0F : 0.0F;
    }
    return result;
}

std::vector<Index> SentenceBatch::spoken() const {
    std::vector<Index> places;
    for (std::size_t i = 0; i < target.size(); ++i) {
        if (target[i] != padding_token) places.push_back(static_cast<Index>(i));
    }
    return places;
}

namespace {

/// As an LSTM layer, from a state that is given; the last state besides.
struct Sequence {
    Var outputs;
    LstmState last;
};
Sequence run_lstm(const Lstm& lstm, Var x, const std::optional<LstmState>& start) {
    const Tape::Scope scope(*x.tape, lstm.p.name);
    const Var inputs = lstm.p.from_input(x);
    LstmState state = start ? *start : LstmState{lstm.p.start(x), lstm.p.start(x)};
    std::vector<Var> outputs;
    for (Index t = 0; t < x.dim(0); ++t) {
        const Var own = time_step_of(inputs, t);
        state = lstm_update(add(own, lstm.p.from_state(state.h)), state.c, lstm.p.width);
        outputs.push_back(state.h);
    }
    return {sequence_of(outputs), state};
}

/// An encoder and a decoder of one LSTM each; every word of the decoder attends to the encoder's words.
struct RecurrentTranslator {
    Embedding source, target;
    Lstm encoder, decoder;
    CrossAttention attention;
    Linear mix, out;

    RecurrentTranslator(Model& model, const TranslatorSizes& sizes)
        : source(model, "source", sizes.source_words, sizes.width),
          target(model, "target", sizes.target_words, sizes.width),
          encoder(model, "encoder", sizes.width, sizes.width),
          decoder(model, "decoder", sizes.width, sizes.width),
          attention(model, "attention", sizes.width),
          mix(model, "mix", 2 * sizes.width, sizes.width),
          out(model, "out", sizes.width, sizes.target_words) {}

    Var operator()(Tape& tape, const SentenceBatch& batch) const {
        const Var words = source(tape, batch.source, {batch.count, batch.source_length});
        const Sequence read = run_lstm(encoder, permute(words, {1, 0, 2}), std::nullopt);
        const Var seen = target(tape, batch.before, {batch.count, batch.target_length});
        const Sequence said = run_lstm(decoder, permute(seen, {1, 0, 2}), read.last);
        const Var memory = permute(read.outputs, {1, 0, 2});
        const Var state = permute(said.outputs, {1, 0, 2});
        const Var context = attention(state, memory, tape.input(batch.penalty()));
        const Var both = tanh(mix(concat(std::vector<Var>{state, context}, 2)));
        return reshape(out(both), {batch.count * batch.target_length, out.weight->value.dim(0)});
    }
};

/// Words and, added, the places at which they stand.
struct PlacedWords {
    Embedding words, places;

    PlacedWords(Model& model, const std::string& name, Index count, Index width)
        : words(model, name, count, width), places(model, name + "_place", 66, width) {}
    /// sentences of equal length one behind the other -> (count, length, width).
    Var operator()(Tape& tape, const std::vector<int>& ids, Index count) const {
        const Index length = static_cast<Index>(ids.size()) / count;
        std::vector<int> at;
        for (Index i = 0; i < count * length; ++i) at.push_back(static_cast<int>(i % length));
        const Var word = words(tape, ids, {count, length});
        return add(word, places(tape, at, {count, length}));
    }
};

/// One encoder block and one decoder block with attention over the encoder; places are learned.
struct TransformerTranslator {
    PlacedWords source, target;
    TransformerBlock encoder, decoder;
    CrossAttention attention;
    LayerNorm norm;
    Linear out;

    TransformerTranslator(Model& model, const TranslatorSizes& sizes)
        : source(model, "source", sizes.source_words, sizes.width),
          target(model, "target", sizes.target_words, sizes.width),
          encoder(model, "encoder", sizes.width, 2),
          decoder(model, "decoder", sizes.width, 2),
          attention(model, "attention", sizes.width),
          norm(model, "norm", sizes.width),
          out(model, "out", sizes.width, sizes.target_words) {}

    Var operator()(Tape& tape, const SentenceBatch& batch) const {
        const Var memory = encoder(source(tape, batch.source, batch.count), false);
        Var x = decoder(target(tape, batch.before, batch.count), true);
        x = norm(add(x, attention(x, memory, tape.input(batch.penalty()))));
        return reshape(out(x), {batch.count * batch.target_length, out.weight->value.dim(0)});
    }
};

/// A convolution over three places whose one half gates the other. In a decoder no place looks at later ones.
struct GatedConv {
    std::string name;
    Conv1d conv;
    bool causal;

    GatedConv(Model& model, const std::string& layer_name, Index width, bool decodes)
        : name(layer_name),
          conv(model, name + ".conv", width, 2 * width, 3, {.padding = decodes ? 2 : 1}),
          causal(decodes) {}
    /// x (count, length, width) -> the same shape.
    Var operator()(Var x) const {
        const Tape::Scope scope(*x.tape, name);
        Var y = conv(permute(x, {0, 2, 1}));
        if (causal) y = slice(y, 2, 0, x.dim(1));  // what lies behind would see later places
        const Var open = sigmoid(slice(y, 1, x.dim(2), x.dim(2)));
        return permute(multiply(slice(y, 1, 0, x.dim(2)), open), {0, 2, 1});
    }
};

/// The sum of two numbers of one variance, at that variance.
Var sum_of_two(Var x, Var y) { return scaled(add(x, y), std::sqrt(0.5)); }

/// Two gated convolutions read, two write; each that writes attends to what was read. Ways lead around all of them.
struct ConvolutionalTranslator {
    PlacedWords source, target;
    std::vector<GatedConv> encoder, decoder;
    std::vector<CrossAttention> attention;
    Linear out;

    ConvolutionalTranslator(Model& model, const TranslatorSizes& sizes)
        : source(model, "source", sizes.source_words, sizes.width),
          target(model, "target", sizes.target_words, sizes.width),
          out(model, "out", sizes.width, sizes.target_words) {
        for (int i = 0; i < 2; ++i) {
            encoder.emplace_back(model, fmt::format("encoder{}", i), sizes.width, false);
            decoder.emplace_back(model, fmt::format("decoder{}", i), sizes.width, true);
            attention.emplace_back(model, fmt::format("attention{}", i), sizes.width);
        }
    }
    Var operator()(Tape& tape, const SentenceBatch& batch) const {
        Var memory = source(tape, batch.source, batch.count);
        for (const GatedConv& layer : encoder) memory = sum_of_two(memory, layer(memory));
        const Var penalty = tape.input(batch.penalty());
        Var x = target(tape, batch.before, batch.count);
        for (std::size_t i = 0; i < decoder.size(); ++i) {
            const Var made = decoder[i](x);
            x = sum_of_two(x, sum_of_two(made, attention[i](made, memory, penalty)));
        }
        return reshape(out(x), {batch.count * batch.target_length, out.weight->value.dim(0)});
    }
};

template <class Net>
Translator shared(Model& model, const TranslatorSizes& sizes) {
    auto net = std::make_shared<const Net>(model, sizes);
    return [net](Tape& tape, const SentenceBatch& batch) { return (*net)(tape, batch); };
}

struct Maker {
    std::string_view name;
    Translator (*make)(Model&, const TranslatorSizes&);
};
constexpr Maker makers[] = {{"lstm", shared<RecurrentTranslator>},
                            {"transformer", shared<TransformerTranslator>},
                            {"convolutional", shared<ConvolutionalTranslator>}};

}  // namespace

Translator make_translator(std::string_view name, Model& model, const TranslatorSizes& sizes) {
    const auto* maker = std::ranges::find(makers, name, &Maker::name);
    if (maker != std::end(makers)) return maker->make(model, sizes);
    throw std::invalid_argument(fmt::format("there is no translator \"{}\"", name));
}

}  // namespace ulp
