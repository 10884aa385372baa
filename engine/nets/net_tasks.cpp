#include "engine/nets/net_tasks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "engine/data/dataset.hpp"
#include "engine/data/generated.hpp"
#include "engine/files/npy.hpp"
#include "engine/files/sha256.hpp"
#include "engine/files/whole_file.hpp"
#include "engine/tensor/random.hpp"
#include "engine/training/images.hpp"
#include "engine/training/schedule.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/functions/cr.hpp"

namespace ulp {
namespace {

/// Examples in rows, and their answers: one each, or one for each place; -1 where none is asked for.
struct Examples {
    Matrix inputs;
    std::vector<int> answers;
    [[nodiscard]] std::size_t answers_each() const { return answers.size() / static_cast<std::size_t>(inputs.rows()); }
};

/// Where an answer is asked for, and the answers.
struct Places {
    std::vector<int> places, answers;
    explicit Places(const std::vector<int>& all) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (all[i] < 0) continue;
            places.push_back(static_cast<int>(i));
            answers.push_back(all[i]);
        }
    }
};

Examples rows_of(const Examples& all, const std::vector<Index>& which) {
    Examples some{Matrix(static_cast<Index>(which.size()), all.inputs.cols()), {}};
    const std::size_t each = all.answers_each();
    for (std::size_t i = 0; i < which.size(); ++i) {
        some.inputs.row(static_cast<Index>(i)) = all.inputs.row(which[i]);
        const auto* first = all.answers.data() + static_cast<std::size_t>(which[i]) * each;
        some.answers.insert(some.answers.end(), first, first + each);
    }
    return some;
}

/// Examples on the tape, as the net takes them, and the scores in rows.
Var scores_of(Tape& tape, const Net& net, const Matrix& inputs, bool tokens) {
    const Var x = tokens ? tape.constant(tensor_of(inputs)) : images_on(tape, inputs);
    const Var scores = net(x);
    const Index outputs = scores.dim(-1);
    return scores.value().rank() == 2 ? scores : reshape(scores, {scores.value().size() / outputs, outputs});
}

Asked asked_of(Tape& tape, const Net& net, const Examples& batch, bool tokens) {
    const Var scores = scores_of(tape, net, batch.inputs, tokens);
    const Places asked(batch.answers);
    if (asked.answers.size() == batch.answers.size()) return {scores, batch.answers};
    return {embedding(scores, asked.places, {static_cast<Index>(asked.places.size())}), asked.answers};
}

double right_of(Evaluation evaluation, const Net& net, const Examples& test, bool tokens) {
    constexpr Index at_once = 256;
    std::size_t right = 0;
    std::size_t count = 0;
    for (Index first = 0; first < test.inputs.rows(); first += at_once) {
        const Examples some = rows_of(test, index_range(first, std::min(first + at_once, test.inputs.rows())));
        Tape tape(evaluation);
        const Tensor& scores = scores_of(tape, net, some.inputs, tokens).value();
        const Places asked(some.answers);
        for (std::size_t i = 0; i < asked.places.size(); ++i) {
            const float* row = scores.data() + asked.places[i] * scores.dim(1);
            right += std::max_element(row, row + scores.dim(1)) - row == asked.answers[i] ? 1 : 0;
        }
        count += asked.places.size();
    }
    return count == 0 ? 0 : static_cast<double>(right) / static_cast<double>(count);
}

void require_answers(const NetDescription& net, const Examples& examples, const std::string& whose) {
    for (const int answer : examples.answers) {
        if (answer < net.outputs) continue;
        throw DataError(
            fmt::format("{}: a class is {}, the net \"{}\" has {} outputs", whose, answer, net.name, net.outputs));
    }
    if (examples.inputs.cols() == volume(net.input.shape)) return;
    throw DataError(fmt::format("{}: an example has {} numbers, the net \"{}\" takes {}", whose, examples.inputs.cols(),
                                net.name, text_of(net.input.shape)));
}

/// Minibatches of examples that lie in memory.
NetTask task_over(const NetDescription& net, const TaskData& data, const std::string& whose, Examples train,
                  Examples test, const std::string& digest) {
    require_answers(net, train, whose);
    if (train.inputs.rows() < data.batch) {
        throw DataError(
            fmt::format("{}: {} examples are less than --batch {}", whose, train.inputs.rows(), data.batch));
    }
    const bool tokens = net.input.tokens > 0;
    const auto order = std::make_shared<BatchSchedule>(train.inputs.rows(), data.batch, data.seed);
    const auto learned = std::make_shared<const Examples>(std::move(train));
    const auto unseen = std::make_shared<const Examples>(std::move(test));
    return {fmt::format("of SHA-256 {}, {} examples", digest, learned->inputs.rows()),
            [=](Tape& tape, const Net& f, std::int64_t step) {
                return asked_of(tape, f, rows_of(*learned, order->at(step)), tokens);
            },
            data.reduction,
            [=](const Evaluation& evaluation, const Net& f) { return right_of(evaluation, f, *unseen, tokens); }};
}

std::string digest_of(const Examples& examples) {
    const std::span<const float> inputs(examples.inputs.data(), static_cast<std::size_t>(examples.inputs.size()));
    return Sha256().add(inputs).add(std::as_bytes(std::span(examples.answers))).hex();
}

Examples examples_of(const Dataset& data) {
    Batch all = batch_of(data, index_range(0, data.size()));
    return {std::move(all.images), std::move(all.labels)};
}

/// The labels of a file. Throws DataError that names it and the first that is no class of the net.
std::vector<int> classes_of(const NetDescription& net, const std::string& file, const npy::Numbers& labels) {
    for (std::size_t i = 0; i < labels.values.size(); ++i) {
        const double label = labels.values[i];
        if (label >= 0 && label < static_cast<double>(net.outputs) && label == std::floor(label)) continue;
        throw DataError(fmt::format("{}: the class of example {} is {}; the net \"{}\" has the classes 0 to {}", file,
                                    i, label, net.name, net.outputs - 1));
    }
    return labels.integers();
}

/// Of a user's file: the last tenth is for testing.
NetTask of_files(const NetDescription& net, const TaskData& data) {
    const npy::Numbers inputs = npy::read_numbers(data.data);
    const npy::Numbers labels = npy::read_numbers(data.labels);
    const Index count = inputs.shape.empty() ? 0 : inputs.shape.front();
    if (count == 0 || labels.shape != std::vector<std::int64_t>{count}) {
        throw DataError(fmt::format("{} has {} examples of --data {}; give a class for each", data.labels,
                                    labels.values.size(), count));
    }
    Examples all{Matrix(count, static_cast<Index>(inputs.values.size()) / count), classes_of(net, data.labels, labels)};
    std::ranges::transform(inputs.values, all.inputs.data(), [](double x) { return static_cast<float>(x); });
    const Index tests = std::max<Index>(1, count / 10);
    return task_over(net, data, data.data, rows_of(all, index_range(0, count - tests)),
                     rows_of(all, index_range(count - tests, count)), digest_of(all));
}

NetTask images(const NetDescription& net, const TaskData& data) {
    if (data.data.empty() != data.labels.empty()) throw UsageError("--data and --labels go together");
    if (!data.data.empty()) return of_files(net, data);
    const Index side = net.input.shape.back();
    const DataSplit digits =
        data.mnist.empty() ? generated_digit_split(data.examples, 500, side, data.seed) : read_mnist(data.mnist);
    return task_over(net, data, data.mnist.empty() ? "the generated digits" : data.mnist, examples_of(digits.train),
                     examples_of(digits.test), digits.train.digest());
}

void require_generated(const NetDescription& net, const TaskData& data) {
    if (data.mnist.empty() && data.data.empty() && data.labels.empty()) return;
    throw UsageError(
        fmt::format("the task \"{}\" makes its own examples; leave --mnist, --data and --labels out", net.task));
}

/// Pieces of a sequence of tokens and, for each place, what comes next.
Examples pieces_of(std::span<const int> tokens, Index length) {
    const Index count = tokens.empty() ? 0 : (static_cast<Index>(tokens.size()) - 1) / length;
    Examples pieces{Matrix(count, length), {}};
    for (Index i = 0; i < count * length; ++i) {
        pieces.inputs.data()[i] = static_cast<float>(tokens[static_cast<std::size_t>(i)]);
        pieces.answers.push_back(tokens[static_cast<std::size_t>(i) + 1]);
    }
    return pieces;
}

/// The bytes of a text, or the whole numbers of a .npy file.
std::vector<int> tokens_of(const std::string& file) {
    std::vector<int> tokens;
    if (file.ends_with(".npy")) {
        const npy::Numbers numbers = npy::read_numbers(file);
        if (numbers.shape.size() != 1) {
            throw DataError(fmt::format("{}: has {} dimensions; give the tokens in one row, as numpy.ravel(tokens)",
                                        file, numbers.shape.size()));
        }
        try {
            return numbers.integers();
        } catch (const DataError& error) {
            throw DataError(fmt::format("{}: {}", file, error.what()));
        }
    }
    for (const char c : read_whole_file(file)) tokens.push_back(static_cast<unsigned char>(c));
    return tokens;
}

void require_tokens(const NetDescription& net, const std::vector<int>& tokens, const std::string& file) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (tokens[i] >= 0 && tokens[i] < net.input.tokens) continue;
        throw DataError(fmt::format("{}: token {} is {}, the net \"{}\" knows 0 to {}; raise its /input/tokens", file,
                                    i, tokens[i], net.name, net.input.tokens - 1));
    }
}

/// Of a user's file: the last tenth is for testing.
NetTask of_text(const NetDescription& net, const TaskData& data) {
    const std::vector<int> tokens = tokens_of(data.data);
    require_tokens(net, tokens, data.data);
    const Index length = net.input.shape[0];
    const Index pieces = (static_cast<Index>(tokens.size()) - 1) / length;
    const auto cut = static_cast<std::size_t>(std::max<Index>(0, pieces - std::max<Index>(1, pieces / 10)) * length);
    if (cut == 0) {
        throw DataError(
            fmt::format("{}: {} tokens are less than two pieces of {} and one more", data.data, tokens.size(), length));
    }
    const std::span<const int> all(tokens);
    Examples train = pieces_of(all.first(cut + 1), length);
    const std::string digest = digest_of(train);
    return task_over(net, data, data.data, std::move(train), pieces_of(all.subspan(cut), length), digest);
}

NetTask text(const NetDescription& net, const TaskData& data) {
    if (!data.mnist.empty() || !data.labels.empty()) {
        throw UsageError("the task \"text\" takes --data alone; leave --mnist and --labels out");
    }
    if (!data.data.empty()) return of_text(net, data);
    const Index length = net.input.shape[0];
    const std::string generated = generated_text((data.examples + 200) * length + 1, data.seed);
    const std::vector<int> tokens(generated.begin(), generated.end());
    const std::span<const int> all(tokens);
    const auto cut = static_cast<std::size_t>(data.examples * length);
    Examples train = pieces_of(all.first(cut + 1), length);
    const std::string digest = digest_of(train);
    return task_over(net, data, "the generated text", std::move(train), pieces_of(all.subspan(cut), length), digest);
}

/// "source start target end": of the target and its end each token is asked for. For a net with an encoder the source
/// is filled up with padding to what that reads, and only the places behind it have answers.
Examples sequences_of(const TranslationData& data, Index length, Index source) {
    Examples all{Matrix::Zero(static_cast<Index>(data.pairs.size()), length), {}};
    for (std::size_t i = 0; i < data.pairs.size(); ++i) {
        std::vector<int> tokens = data.pairs[i].source;
        if (source > 0) tokens.resize(static_cast<std::size_t>(source), padding_token);
        const std::size_t start = tokens.size();
        tokens.push_back(start_token);
        tokens.insert(tokens.end(), data.pairs[i].target.begin(), data.pairs[i].target.end());
        tokens.push_back(end_token);
        for (std::size_t at = 0; at < static_cast<std::size_t>(length); ++at) {
            const bool inside = at + 1 < tokens.size();
            if (inside) all.inputs(static_cast<Index>(i), static_cast<Index>(at)) = static_cast<float>(tokens[at]);
            if (at < static_cast<std::size_t>(source)) continue;
            all.answers.push_back(inside && at >= start ? tokens[at + 1] : -1);
        }
    }
    return all;
}

NetTask translation(const NetDescription& net, const TaskData& data) {
    require_generated(net, data);
    const Index length = net.input.shape[0];
    constexpr Index shortest = 9;  // four letters, twice, and a mark between
    if (length < shortest)
        throw DataError(fmt::format("/input/shape is ({}); translation takes {} or more", length, shortest));
    const Index source = source_of(net.layers);
    const Index target = length - source - 1;  // behind the start token
    constexpr Index shortest_source = 4;
    if (source > 0 && (source < shortest_source || target < shortest_source)) {
        throw DataError(fmt::format("/layers/0/source is {} of {} tokens; translation takes {} or more, and leaves {}",
                                    source, length, shortest_source, shortest_source + 1));
    }
    TranslationOptions options{.count = data.examples, .seed = data.seed};
    const Index longest = source > 0 ? std::min(source, target) : (length - 1) / 2;
    options.max_length = static_cast<int>(std::min<Index>(longest, 64));
    Examples train = sequences_of(generated_translation(options), length, source);
    options.count = 200;
    Examples test = sequences_of(generated_translation(options, "test"), length, source);
    const std::string digest = digest_of(train);
    return task_over(net, data, "the generated sequences", std::move(train), std::move(test), digest);
}

const TaskKind kinds[] = {
    {"images", "tell images apart: generated digits, --mnist, or --data and --labels", {{1, 28, 28}}, 10, images},
    {"text",
     "say the next character of a generated text or of --data, at each place",
     {{32}, ascii_tokens},
     ascii_tokens,
     text},
    {"translation", "say a sequence of letters backwards", {{21}, translation_tokens}, translation_tokens, translation},
};

const TaskKind& kind_of(std::string_view name) {
    const auto* kind = std::ranges::find(kinds, name, &TaskKind::name);
    if (kind != std::end(kinds)) return *kind;
    std::string names;
    for (const TaskKind& each : kinds) names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
    throw DataError(fmt::format("/task is \"{}\"; there are {}", name, names));
}

}  // namespace

std::span<const TaskKind> task_kinds() { return kinds; }

NetTask task_of(const NetDescription& net, const TaskData& data) {
    const TaskKind& kind = kind_of(net.task);
    if (net.input.tokens < kind.input.tokens || (kind.input.tokens == 0) != (net.input.tokens == 0)) {
        throw DataError(
            fmt::format("/input/tokens is {}; the task \"{}\" has {}", net.input.tokens, net.task, kind.input.tokens));
    }
    if (net.input.tokens > 0 && net.outputs < net.input.tokens) {
        throw DataError(fmt::format("/outputs is {}, less than the {} tokens", net.outputs, net.input.tokens));
    }
    return kind.make(net, data);
}

std::vector<int> drawn_answers(const Tensor& scores, Random random) {
    const Index classes = scores.dim(-1);
    std::vector<int> answers;
    for (Index row = 0; row < scores.size() / classes; ++row) {
        const float* x = scores.data() + row * classes;
        const float top = *std::max_element(x, x + classes);
        double sum = 0;
        for (Index j = 0; j < classes; ++j) sum += static_cast<double>(cr::exp(x[j] - top));
        double left = random.uniform() * sum;
        int answer = 0;
        while (answer + 1 < classes && (left -= static_cast<double>(cr::exp(x[answer] - top))) > 0) ++answer;
        answers.push_back(answer);
    }
    return answers;
}

StepResult train_step(Trainer& trainer, const NetTask& task, const Net& net) {
    const StepResult done = trainer.step([&](Tape& tape) { return task.loss(tape, net, trainer.steps()); });
    follow_step(trainer, task, net, done);
    return done;
}

void follow_step(Trainer& trainer, const NetTask& task, const Net& net, const StepResult& done) {
    constexpr std::int64_t steps_between = 10;
    if (trainer.optimizer().options().kind != OptimizerKind::sophia || done.step % steps_between != 0) return;
    trainer.estimate_curvature([&](Tape& tape) -> Trainer::MeanLoss {
        const Asked batch = task.asked(tape, net, done.step);
        const Random random(trainer.run().seed, hash_of("labels") + static_cast<std::uint64_t>(done.step));
        const std::vector<int> drawn = drawn_answers(batch.scores.value(), random);
        return {cross_entropy(batch.scores, drawn), static_cast<double>(drawn.size())};
    });
}

NetDescription description_of(const NamedNet& named) {
    const TaskKind& kind = kind_of(named.task);
    return {std::string(named.name), std::string(named.task), kind.input, kind.outputs, named.layers(named.width)};
}

}  // namespace ulp
