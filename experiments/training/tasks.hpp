// What several experiments let nets learn: to tell images apart, and to reverse sequences.
#pragma once

#include "engine/data/dataset.hpp"
#include "engine/nets/nets.hpp"
#include "experiments/training/parity.hpp"
#include "experiments/training/training.hpp"

namespace ulp {

/// Mean of the last tenth of the losses, at least one.
double last_tenth(const std::vector<double>& losses);

/// The net tells images apart; the loss is the mean cross entropy times `loss_weight`. Scores: accuracy on the test
/// set; mean loss of the last tenth of the steps.
TaskBuilder images_task(const NetBuilder& net, const DataSplit& data, Index batch, double loss_weight = 1);
TaskBuilder images_task(const Layers& net, const DataSplit& data, Index batch, double loss_weight = 1);
inline constexpr std::size_t test_accuracy = 0;
inline const Quantity accuracy_text{"right on the test set", "%", 100, 1};

/// The task; keeps the largest finite magnitude of each step among the gradients that lie in 16 bits when the net
/// trains in fp16, which are all but the loss's own; without the loss scale: std::vector<double>.
TaskBuilder watching_largest_gradients(const TaskBuilder& task);

/// Score: the share of words that come out right. The net says a random sequence of `length` words out of `words`
/// backwards: embeddings of words and places, attention, a hidden layer. A translation net in small; sequences are
/// drawn for each step anew.
struct ReversalOptions {
    Index words = 12;
    Index length = 8;
    Index width = 32;
    Index batch = 16;
};
TaskBuilder reversal_task(const ReversalOptions& options);

// What experiments train on, from their settings: generated, or files that the user names. Each is entered into the
// result as an input, with its digest.

struct DigitCounts {
    Index train;  // images
    Index test;
    Index side;  // pixels
};

DataSplit generated_digits(const RunContext& context, Result& result, const DigitCounts& counts = {2000, 500, 14});
/// Generated digits by these counts, or MNIST where the setting "mnist" names its folder.
DataSplit digits_of(const RunContext& context, Result& result, const DigitCounts& generated);
/// By the settings "train_images", "test_images" and "side".
DataSplit digits_of(const RunContext& context, Result& result);

struct InputText {
    std::string text;
    std::string name;  // for messages: the file's, or "the generated text"
};

/// Generated text of the setting "characters", or the file that the setting "text" names. Throws DataError.
InputText text_of(const RunContext& context, Result& result);

}  // namespace ulp
