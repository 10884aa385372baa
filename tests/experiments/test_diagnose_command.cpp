// ulplab diagnose and search format as a user calls them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/files/safetensors.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/machine.hpp"
#include "tests/experiments/temporary_folder.hpp"
#include "tests/experiments/ulplab_program.hpp"

namespace {

using namespace ulp;
using Json = nlohmann::json;

constexpr float fp32_infinity = std::numeric_limits<float>::infinity();

using test::says;
using test::ulplab;

void dump(const std::filesystem::path& file, const std::vector<float>& numbers,
          const FloatFormat& format = formats::fp32) {
    Safetensors contents;
    contents.tensors.emplace("w", Tensor({static_cast<Index>(numbers.size())}, numbers, format));
    write_safetensors(file, contents);
}

}  // namespace

TEST_CASE("diagnose: each way to go wrong is told with its remedy, and healthy gradients with none") {
    const test::TemporaryFolder folder;
    struct Case {
        std::string name;
        std::vector<float> numbers;
        std::string loss_scale;
        std::vector<std::string> sentences;
    };
    const std::vector<Case> cases = {
        {"small",
         {0x1p-30F, 0x1p-28F},
         "1",
         {"more than 0.1 % of the numbers become zero", "Use a loss scale of 2^41"}},
        {"large", {1e6F, 1}, "1", {"numbers overflow in w", "Lower the loss scale to 2^-6"}},
        {"wide", {0x1p-60F, 0x1p60F}, "1", {"No loss scale fits fp16", "Use bf16"}},
        {"fits", {0.5F, 0.25F}, "1024", {"In fp16, loss scales from 2^-12 to 2^26 fit", "2^10, is among them"}},
        {"infinite", {fp32_infinity, 4}, "4096", {"w: 1 infinite and 0 NaN", "Lower the loss scale to 2^9"}},
        {"nan", {std::nanf(""), 4}, "1", {"0 infinite and 1 NaN", "comes from inside the net"}},
        {"zeros", {0, 0}, "1", {"Every finite number in the files is zero"}},
        {"empty", {}, "1", {"The files hold no numbers"}},
    };
    for (const Case& each : cases) {
        CAPTURE(each.name);
        dump(folder / (each.name + ".safetensors"), each.numbers);
        const Finished finished =
            ulplab({"diagnose", folder / (each.name + ".safetensors"), "--loss-scale", each.loss_scale});
        CHECK(finished.exit_code == 0);
        for (const std::string& sentence : each.sentences) {
            CAPTURE(sentence);
            CAPTURE(finished.output);
            CHECK(says(finished, sentence));
        }
        CHECK(says(finished, "Try: ") == (each.name != "fits"));
    }
    dump(folder / "half.safetensors", std::vector<float>(10, 0x1p-20F), formats::fp16);
    CHECK(says(ulplab({"diagnose", folder / "half.safetensors"}), "100 % of the nonzero fp16 numbers"));
}

TEST_CASE("diagnose: NaNs without an infinity get a loss scale from the finite steps before, with what it rests on") {
    const test::TemporaryFolder folder;
    const auto at_step = [&](int step) { return (folder / fmt::format("grads_{}.safetensors", step)).string(); };
    const float nan = std::nanf("");
    // fp16 ends below 2^16: 64 leaves 9 binades and grew by 7, so the present scale bounds the next one.
    dump(at_step(0), {0.5F, 0.375F}, formats::fp16);
    dump(at_step(8), {64, 0.5F}, formats::fp16);
    dump(at_step(45), {nan, 2, nan}, formats::fp16);
    dump(at_step(46), {nan, nan}, formats::fp16);
    const auto diagnosed = [&](const std::string& loss_scale) {
        Finished finished = ulplab({"diagnose", folder.path().string(), "--loss-scale", loss_scale});
        CHECK(finished.exit_code == 0);
        return finished;
    };
    const Finished bounded = diagnosed("262144");
    CAPTURE(bounded.output);
    CHECK(says(bounded,
               "1. The first tensor that is not finite is grads_45.safetensors:w (step 45): 0 infinite and 2 NaN"));
    CHECK(
        says(bounded, "Over the 2 finite steps before, 0 to 8, the largest magnitude grew from 0.5 to 64 (7 binades"));
    CHECK(says(bounded, "9 binades are left to the largest number of fp16"));
    CHECK(says(bounded, "Lower the loss scale to 2^15, or"));
    CHECK(says(bounded, "At most 2^17 is below the present 2^18 and leaves room for the same growth again."));
    CHECK(says(bounded, "is among them") == false);
    // Without the scale that the files carry, 9 - 7 binades are what it may have.
    CHECK(says(diagnosed("1"), "If a loss scale was used, keep it at 2^2 or below"));
    // 5000 leaves 3 binades and grew by 14: 11 more are taken from the scale.
    dump(at_step(16), {5000, 0.5F}, formats::fp16);
    const Finished grown = diagnosed("262144");
    CAPTURE(grown.output);
    CHECK(says(grown,
               "Over the 3 finite steps before, 0 to 16, the largest magnitude grew from 0.5 to 5000 (14 binades"));
    CHECK(says(grown, "Lower the loss scale to 2^5, or"));
    CHECK(says(grown, "At most 2^7 is"));
    // One infinity, and the rule for infinities holds.
    dump(at_step(47), {fp32_infinity}, formats::fp16);
    CHECK(says(diagnosed("262144"), "With the present loss scale of 2^18 numbers became infinite"));
    // One finite step shows no growth.
    const test::TemporaryFolder one;
    dump(one / "grads_1.safetensors", {1000, 0.5F}, formats::fp16);
    dump(one / "grads_2.safetensors", {nan, 2}, formats::fp16);
    const Finished single = ulplab({"diagnose", one.path().string(), "--loss-scale", "1024"});
    CAPTURE(single.output);
    CHECK(says(single, "In step 1, the only finite one before, the largest magnitude is 1000; 6 binades are left"));
    CHECK(
        says(single, "Lower the loss scale to 2^7, or use a dynamic one. At most 2^9 is below the present 2^10. This"));
    // No finite step before: nothing is named.
    const test::TemporaryFolder alone;
    dump(alone / "grads_45.safetensors", {nan, 2}, formats::fp16);
    const Finished nothing = ulplab({"diagnose", alone / "grads_45.safetensors", "--loss-scale", "262144"});
    CHECK(says(nothing, "they say nothing of the loss scale"));
    CHECK(says(nothing, "Lower the loss scale") == false);
}

TEST_CASE("diagnose: growth over steps, the net beside its dump, and the page") {
    const test::TemporaryFolder folder;
    dump(folder / "g_1.safetensors", {0.01F, 0.5F});
    dump(folder / "g_2.safetensors", {1, 2});
    dump(folder / "g_3.safetensors", {100, 900});
    const Finished finished =
        ulplab({"diagnose", folder.path().string(), "--net", "mlp", "--recipe", "mixed_fp16@2^40", "--steps", "3",
                "--images", "64", "--out", folder / "runs", "--json", "--page", folder / "page.html"});
    CHECK(finished.exit_code == 0);
    const Json json = Json::parse(
        finished.output.substr(finished.output.find('{'), finished.output.rfind('}') + 1 - finished.output.find('{')));
    CHECK(json.at("findings")
              .at(0)
              .at("what")
              .get<std::string>()
              .find("grew 1.8e+03 times, from 0.5 in step 1 to 900 in step 3") != std::string::npos);
    CHECK(json.at("first_nonfinite").get<std::string>().find("step 0") == 0);
    CHECK(json.at("verdict").get<std::string>().find("above fp32's (5 paired seeds, 95 %)") != std::string::npos);
    for (const Json& tried : json.at("recipes")) {
        if (tried.at("recipe") == "mixed_fp16@2^40") CHECK(tried.at("verdict") == "too high");
    }
    CHECK(json.at("recipes").size() == 4);
    const std::string page = read_file(folder / "page.html");
    CHECK(page.find("What to try first") != std::string::npos);
    CHECK(page.find("http://") == std::string::npos);
}

TEST_CASE("diagnose: its page begins with the verdict, and its table and its text name one loss scale") {
    const test::TemporaryFolder folder;
    dump(folder / "grad.safetensors", {0.5F, 900, std::numeric_limits<float>::infinity()});
    const Finished finished =
        ulplab({"diagnose", folder / "grad.safetensors", "--loss-scale", "1024", "--page", folder / "page.html"});
    CHECK(finished.exit_code == 0);
    const std::size_t at = finished.output.find("Lower the loss scale to 2^") + 26;
    const std::string exponent = finished.output.substr(at, finished.output.find(',', at) - at);
    const std::string page = read_file(folder / "page.html");
    CHECK(page.find("<strong>With the present loss scale of 2<sup>10</sup> numbers became infinite.") <
          page.find("<h2>"));
    CHECK(page.find("recommended</th><td>2<sup>" + exponent + "</sup></td>") != std::string::npos);
    CHECK(page.find("NaN</text>") != std::string::npos);
    CHECK(page.find('`') == std::string::npos);

    Safetensors contents;
    contents.tensors.emplace("fc.weight", Tensor(Shape{2}, std::vector<float>{0.5F, 900}));
    write_safetensors(folder / "net.safetensors", contents);
    const Finished weights = ulplab({"inspect", folder / "net.safetensors", "--json"});
    INFO(weights.output);
    CHECK(Json::parse(weights.output).at("loss_scale").at("recommended").is_null());
    std::filesystem::rename(folder / "net.safetensors", folder / "net_grad.safetensors");
    const Finished gradients = ulplab({"inspect", folder / "net_grad.safetensors", "--json"});
    CHECK(Json::parse(gradients.output).at("loss_scale").at("recommended") == 4);
}

TEST_CASE("diagnose: where no loss scale suffices for the recipe, the operations that must stay in fp32 are searched") {
    const test::TemporaryFolder folder;
    dump(folder / "g.safetensors", {0.5F, 0.25F});
    // The product with 2^20 overflows in fp16, whatever the loss scale.
    write_file(folder / "hot.json", R"({"name": "hot", "task": "images", "input": {"shape": [1, 14, 14]}, "outputs": 10,
        "layers": [{"layer": "flatten"}, {"layer": "linear", "name": "fc1", "outputs": 32},
                   {"layer": "scale", "factor": 1048576}, {"layer": "relu"},
                   {"layer": "scale", "factor": 9.5367431640625e-07}, {"layer": "linear", "name": "fc2"}]})");
    const Finished finished = ulplab({"diagnose", folder / "g.safetensors", "--net", folder / "hot.json", "--steps",
                                      "12", "--images", "128", "--out", folder / "trainings"});
    CAPTURE(finished.output);
    CHECK(finished.exit_code == 0);
    CHECK(says(finished, "step 0, scale, forward"));
    CHECK(says(finished, "No loss scale suffices for mixed_fp16."));
    CHECK(says(finished, "fp32 must stay: scale, relu"));
}

TEST_CASE("diagnose and search format: wrong options end with 2, bad files with 3, each with a sentence") {
    const test::TemporaryFolder folder;
    dump(folder / "g.safetensors", {1, 2});
    write_file(folder / "net.json", "{\"layers\": 1}");
    const std::string g = folder / "g.safetensors";
    struct Case {
        std::vector<std::string> arguments;
        int exit_code;
        std::string sentence;
    };
    const std::vector<Case> cases = {
        {{"diagnose"}, 2, "FILES"},
        {{"diagnose", g, "--loss-scale", "1000"}, 2, "--loss-scale is 1000; give the power of two"},
        {{"diagnose", g, "--target", "nvfp4"}, 2, "scales its blocks itself"},
        {{"diagnose", folder / "none.npz"}, 3, "none.npz"},
        {{"diagnose", g, "--net", folder / "net.json"}, 3, "net.json"},
        {{"recipes", "compare"}, 2, "recipes"},
        {{"search", "format", "--recipe", "fp32"}, 2, "names fp32 alone, which is the reference; name one more"},
        {{"search", "format", "--recipe", "fp32,fp17"}, 2, "fp17"},
        {{"search", "format", "--recipe", "fp32,bf16@12"}, 2, "write RECIPE@2^N"},
        {{"search", "format", "--margin", "2"}, 2, "--margin is 2; give a share"},
        {{"search", "format", "--seeds", "0"}, 2, "--seeds is 0; give 1 to 1000"},
        {{"search", "format", "--images", "3"}, 2, "--images (3) is less than --batch (64)"},
        {{"search", "format", "--net", folder / "net.json"}, 3, "net.json"},
        {{"search", "format", "--net", "nothing"}, 2, "nothing"},
    };
    for (const Case& each : cases) {
        CAPTURE(each.sentence);
        const Finished finished = ulplab(each.arguments);
        CAPTURE(finished.output);
        CHECK(finished.exit_code == each.exit_code);
        CHECK(says(finished, each.sentence));
    }
}
