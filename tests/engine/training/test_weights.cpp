// Weights of others, by name and shape.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "engine/files/npy.hpp"
#include "engine/files/safetensors.hpp"
#include "engine/files/whole_file.hpp"
#include "engine/layers/attention.hpp"
#include "engine/layers/recurrent.hpp"
#include "engine/training/weights.hpp"
#include "softfloat/round.hpp"
#include "tests/engine/files/zip_writer.hpp"

namespace {

using namespace ulp;
namespace fs = std::filesystem;

struct File {
    fs::path path = fs::temp_directory_path() / ("ulplab_weights_" + std::to_string(::getpid()));
    File() = default;
    ~File() { fs::remove(path); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
};

/// One layer of each kind.
struct Layers {
    Model model;
    Linear fc;
    Conv2d conv;
    BatchNorm bn;
    MultiHeadAttention attention;
    Lstm cell;
    Embedding words;

    explicit Layers(std::uint64_t seed, const char* recipe = "mixed_fp16")
        : model(recipe_by_name(recipe), seed),
          fc(model, "fc", 3, 2),
          conv(model, "conv", 2, 3, 3),
          bn(model, "bn", 3),
          attention(model, "attention", 4, 2),
          cell(model, "cell", 3, 2),
          words(model, "words", 5, 4) {
        bn.running->mean[1] = 0.25F;
        bn.running->variance[2] = 3;
    }
};

std::vector<float> all_of(Model& model) {
    std::vector<float> all;
    const auto add = [&](const Tensor& tensor) {
        all.insert(all.end(), tensor.values().begin(), tensor.values().end());
    };
    for (const Parameter& p : model.parameters()) add(p.value), add(p.updated());
    for (const auto& [name, statistics] : model.statistics()) add(statistics.mean), add(statistics.variance);
    return all;
}

std::string message_of(const fs::path& file, Model& model) {
    try {
        load_weights(file, model);
    } catch (const DataError& error) {
        return error.what();
    }
    return "";
}

TEST_CASE("weights that were saved come back with the same bits, under PyTorch's names") {
    const File file;
    for (const char* recipe : {"mixed_fp16", "fp32", "fp16", "pure_bf16"}) {
        CAPTURE(std::string(recipe));
        Layers from(1, recipe);
        Layers to(2, recipe);
        to.bn.running->mean[1] = 0;
        CHECK(all_of(from.model) != all_of(to.model));
        save_weights(file.path, from.model);
        CHECK(load_weights(file.path, to.model).empty());
        CHECK(all_of(from.model) == all_of(to.model));
    }
    const Safetensors saved = read_safetensors(file.path);
    for (const char* name : {"fc.weight", "fc.bias", "conv.weight", "conv.bias", "bn.weight", "bn.bias",
                             "bn.running_mean", "bn.running_var", "attention.in_proj_weight", "attention.in_proj_bias",
                             "attention.out_proj.weight", "attention.out_proj.bias", "cell.weight_ih_l0",
                             "cell.weight_hh_l0", "cell.bias_ih_l0", "cell.bias_hh_l0", "words.weight"}) {
        CAPTURE(std::string(name));
        CHECK(saved.tensors.contains(name));
    }
    CHECK(saved.tensors.size() == 17);
}

TEST_CASE("doubles, transposed matrices, wrapped names and counters are taken, with a word") {
    const File file;
    Model model(recipe_by_name("mixed_fp16"), 1);
    const Linear fc(model, "fc", 3, 2);
    const auto npy_of = [&](const char* type, std::vector<std::int64_t> shape, const auto& values) {
        npy::Array array = npy::matrix(type, 1, static_cast<std::int64_t>(values.size()), values);
        array.shape = std::move(shape);
        npy::write(file.path, array);
        return read_whole_file(file.path);
    };
    const std::string weight = npy_of("<f8", {3, 2}, std::vector<double>{1, 4, 2, 5, 3, 0.1});
    const std::string bias = npy_of("<f4", {2}, std::vector<float>{7, 8});
    const std::string counter = npy_of("<i8", {}, std::vector<std::int64_t>{9});
    for (const bool deflate : {false, true}) {
        replace_whole_file(file.path, test::zip_of({{"module.fc.weight.npy", weight, deflate},
                                                    {"fc.bias.npy", bias, deflate},
                                                    {"module.bn.num_batches_tracked.npy", counter, deflate}}));
        const std::vector<std::string> remarks = load_weights(file.path, model);
        REQUIRE(remarks.size() == 3);
        CHECK(remarks[0] == "1 tensor was of type <f8, rounded to fp32 (fc.weight)");
        CHECK(remarks[1] == "1 tensor was transposed (fc.weight)");
        CHECK(remarks[2] == "num_batches_tracked was passed over");
        const std::vector<float> expected = {1, 2, 3, 4, 5, 0.1F};
        CHECK(std::equal(expected.begin(), expected.end(), fc.weight->master.data()));
        CHECK(fc.weight->value[5] == round_to(formats::fp16, 0.1F));
        CHECK(fc.bias->value[1] == 8);
    }
}

TEST_CASE("weights of another net are refused with the nearest names, and the model stays as it was") {
    const File file;
    Model other(recipe_by_name("fp32"), 1);
    const Linear a(other, "fc_1", 3, 2);
    const Linear b(other, "fc2", 3, 2);
    save_weights(file.path, other);
    Model model(recipe_by_name("fp32"), 2);
    const Linear fc1(model, "fc1", 3, 2);
    const Linear fc2(model, "fc2", 3, 2);
    const std::vector<float> before = all_of(model);
    const std::string named = message_of(file.path, model);
    INFO(named);
    CHECK(
        named.ends_with(": its weights are not those of this net; missing: fc1.weight (fc_1.weight?), fc1.bias "
                        "(fc_1.bias?); unexpected: "
                        "fc_1.bias (fc1.bias?), fc_1.weight (fc1.weight?)"));
    Model wide(recipe_by_name("fp32"), 2);
    const Linear w1(wide, "fc_1", 3, 2);
    const Linear w2(wide, "fc2", 3, 5);
    CHECK(message_of(file.path, wide).ends_with(": fc2.weight has the shape (2, 3) where this net has (5, 3)"));
    CHECK(all_of(model) == before);
    replace_whole_file(file.path, "");
    CHECK(message_of(file.path, model).find("shorter than a header") != std::string::npos);
}

TEST_CASE("a safetensors file may hold no tensor") {
    const fs::path file = fs::temp_directory_path() / ("ulplab_empty_" + std::to_string(::getpid()) + ".safetensors");
    replace_whole_file(file, std::string("\x02\0\0\0\0\0\0\0{}", 10));
    CHECK(read_safetensors(file).tensors.empty());
    fs::remove(file);
}

}  // namespace
