#include "experiments/training/input_data.hpp"

#include "engine/data/digits.hpp"
#include "engine/data/idx.hpp"
#include "engine/data/topic_text.hpp"
#include "engine/files/sha256.hpp"
#include "experiments/framework/files.hpp"

namespace ulp {

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
