#include "experiments/training/tasks.hpp"

#include <numeric>

#include "engine/data/dataset.hpp"
#include "engine/data/generated.hpp"
#include "engine/files/sha256.hpp"
#include "engine/layers/attention.hpp"
#include "engine/tensor/random.hpp"
#include "engine/training/images.hpp"
#include "experiments/framework/files.hpp"

namespace ulp {

double last_tenth(const std::vector<double>& losses) {
    const auto count = std::max<std::ptrdiff_t>(1, static_cast<std::ptrdiff_t>(losses.size() / 10));
    return std::accumulate(losses.end() - count, losses.end(), 0.0) / static_cast<double>(count);
}

TaskBuilder images_task(const NetBuilder& net, const DataSplit& data, Index batch, double loss_weight) {
    return [net, &data, batch, loss_weight](Model& model, std::uint64_t seed) -> Task {
        const ImageNet f = net(model);
        const auto order = batches(data.train.size(), batch, seed);
        const auto loss = [=, &data](Tape& tape, std::int64_t step) {
            const Batch b = batch_of(data.train, order(step));
            const Var mean = cross_entropy(f(images_on(tape, b.images)), b.labels);
            return loss_weight == 1 ? mean : scaled(mean, loss_weight);
        };
        return {.loss = loss, .measure = [=, &data](Evaluation& evaluation, Learned& learned) {
                    learned.scores = {accuracy(evaluation, f, data.test), last_tenth(learned.losses)};
                    learned.examples = data.test.size();
                }};
    };
}

TaskBuilder images_task(const Layers& net, const DataSplit& data, Index batch, double loss_weight) {
    const NetBuilder builder = [net, &data](Model& model) {
        return Net(model, net, shape_of(data.train), data.train.classes);
    };
    return images_task(builder, data, batch, loss_weight);
}

TaskBuilder watching_largest_gradients(const TaskBuilder& task) {
    return watching<std::vector<double>>(task, [](Task& watched, const auto& largest) {
        watched.tap = [largest](std::int64_t step, const TapEvent& event) {
            if (!is_gradient(event.role) || event.values.size() == 1) return;
            largest->resize(static_cast<std::size_t>(step) + 1);
            for (const float g : event.values) {
                const double size = static_cast<double>(std::fabs(g)) / event.loss_scale;
                if (std::isfinite(size)) largest->back() = std::max(largest->back(), size);
            }
        };
    });
}

namespace {

struct Reverser {
    ReversalOptions options;
    Embedding words;
    Embedding places;
    MultiHeadAttention attention;
    LayerNorm norm;
    Linear hidden;
    Linear out;

    Reverser(Model& model, const ReversalOptions& how)
        : options(how),
          words(model, "words", how.words, how.width),
          places(model, "places", how.length, how.width),
          attention(model, "attention", how.width, 2),
          norm(model, "norm", how.width),
          hidden(model, "hidden", how.width, how.width),
          out(model, "out", how.width, how.words) {}

    /// Logits (batch * length, words).
    Var operator()(Tape& tape, const std::vector<int>& ids) const {
        const Index rows = static_cast<Index>(ids.size());
        std::vector<int> order(static_cast<std::size_t>(options.length));
        std::iota(order.begin(), order.end(), 0);
        const Var word = words(tape, ids, {rows / options.length, options.length});
        const Var place = places(tape, order, {options.length});
        const Var x = residual(add(word, place), [&](Var y) { return attention(y, false); });
        return out(relu(hidden(reshape(norm(x), {rows, options.width}))));
    }

    /// The sequences of a step, one after the other.
    [[nodiscard]] std::vector<int> draw(std::uint64_t seed, std::string_view stream, std::int64_t step) const {
        const auto count = static_cast<std::size_t>(options.batch * options.length);
        Random random(seed, hash_of(stream) + static_cast<std::uint64_t>(step));
        std::vector<int> ids(count);
        for (int& id : ids) id = static_cast<int>(random.below(static_cast<std::uint64_t>(options.words)));
        return ids;
    }
    [[nodiscard]] std::vector<int> reversed(std::vector<int> ids) const {
        for (auto at = ids.begin(); at != ids.end(); at += options.length) std::reverse(at, at + options.length);
        return ids;
    }
};

constexpr std::int64_t unseen_batches = 16;
/// The share of words that the largest logit (the first of equals) names.
double accuracy_of(Evaluation& evaluation, const Reverser& net, std::uint64_t seed) {
    Index right = 0;
    Index count = 0;
    for (std::int64_t batch = 0; batch < unseen_batches; ++batch) {
        const std::vector<int> ids = net.draw(seed, "unseen sequences", batch);
        const std::vector<int> labels = net.reversed(ids);
        Tape tape(evaluation);
        const Tensor& logits = net(tape, ids).value();
        for (std::size_t i = 0; i < labels.size(); ++i) {
            const float* row = logits.data() + static_cast<Index>(i) * net.options.words;
            right += std::max_element(row, row + net.options.words) - row == labels[i] ? 1 : 0;
            ++count;
        }
    }
    return static_cast<double>(right) / static_cast<double>(count);
}

}  // namespace

TaskBuilder reversal_task(const ReversalOptions& options) {
    return [options](Model& model, std::uint64_t seed) -> Task {
        const Reverser net(model, options);
        const auto loss = [net, seed](Tape& tape, std::int64_t step) {
            const std::vector<int> ids = net.draw(seed, "sequences", step);
            return cross_entropy(net(tape, ids), net.reversed(ids));
        };
        return {.loss = loss, .measure = [net, seed](Evaluation& evaluation, Learned& learned) {
                    learned.scores = {accuracy_of(evaluation, net, seed)};
                    learned.examples = unseen_batches * net.options.batch * net.options.length;
                }};
    };
}

namespace {

DataSplit entered(DataSplit data, const std::string& what, Result& result) {
    result.input({what + " for training", data.train.digest()});
    result.input({what + " for testing", data.test.digest()});
    return data;
}

}  // namespace

DataSplit generated_digits(const RunContext& context, Result& result, const DigitCounts& counts) {
    return entered(generated_digit_split(counts.train, counts.test, counts.side, context.seed), "generated digits",
                   result);
}

DataSplit digits_of(const RunContext& context, Result& result, const DigitCounts& generated) {
    const std::string& folder = context.settings.text("mnist");
    return folder.empty() ? generated_digits(context, result, generated)
                          : entered(read_mnist(folder), "MNIST images", result);
}

DataSplit digits_of(const RunContext& context, Result& result) {
    const auto number = [&](const char* key) { return context.settings.integer(key); };
    return digits_of(context, result, {number("train_images"), number("test_images"), number("side")});
}

InputText text_of(const RunContext& context, Result& result) {
    const std::string& file = context.settings.text("text");
    InputText input{
        file.empty() ? generated_text(context.settings.integer("characters"), context.seed) : read_file(file),
        file.empty() ? "the generated text" : file};
    result.input({file.empty() ? "generated text" : "text", sha256_of(input.text)});
    return input;
}

}  // namespace ulp
