// What experiments train on, from their settings: generated, or files that the user names. Each is entered into the
// result as an input, with its digest.
#pragma once

#include <string>

#include "engine/data/dataset.hpp"
#include "experiments/framework/experiment.hpp"

namespace ulp {

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
