// ulplab inspect as a user calls it: tables, JSON, pages, steps, and what is refused.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/files/npy.hpp"
#include "engine/files/safetensors.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/machine.hpp"
#include "tests/experiments/temporary_folder.hpp"
#include "tests/experiments/ulplab_program.hpp"

namespace {

using namespace ulp;
using Json = nlohmann::json;

Finished inspect(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {ULPLAB_PROGRAM, "inspect"});
    return run_program(arguments);
}
bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void write_gradients(const std::filesystem::path& file, const std::vector<float>& weights) {
    Safetensors contents;
    contents.tensors.emplace("layer.<weight>", Tensor({static_cast<Index>(weights.size())}, weights, formats::fp32));
    contents.tensors.emplace("layer.bias", Tensor({2}, {0x1p-26F, 0x1p-3F}, formats::fp32));
    write_safetensors(file, contents);
}

}  // namespace

TEST_CASE("inspect: the page holds the losses, the ranges and the loss scale, loads nothing, and escapes names") {
    const test::TemporaryFolder folder;
    write_gradients(folder / "grads_5.safetensors", {0x1p-30F, 0.25F, -3});
    const std::string page_file = folder / "page.html";
    const Finished finished =
        inspect({folder / "grads_5.safetensors", "--format", "fp16,e4m3", "--format=nvfp4", "--page", page_file});
    CHECK(finished.exit_code == 0);
    const std::string page = read_file(page_file);
    for (const char* part :
         {"layer.&lt;weight&gt;", "<svg class=\"chart\"", "2^-30: 1 numbers", "fp16: subnormal from 2^-24",
          "e4m3: normal from 2^-6 to 2^8", "nvfp4", "recommended", "step 5", "color-scheme"}) {
        CAPTURE(part);
        CHECK(holds(page, part));
    }
    for (const char* part : {"http://", "https://", "src=", "<weight>", "@import", "url("}) {
        CAPTURE(part);
        CHECK_FALSE(holds(page, part));
    }
}

TEST_CASE("inspect: counts in JSON are those of numbers written out here") {
    const test::TemporaryFolder folder;
    write_gradients(folder / "g.safetensors", {0, 0x1p-30F, 0.25F, -70000, 1.0625F});
    const Finished finished = inspect({folder / "g.safetensors", "--format", "fp16,e4m3", "--json"});
    CHECK(finished.exit_code == 0);
    const Json json = Json::parse(finished.output);
    const Json& weight = json.at("tensors").at(0);
    CHECK(weight.at("name") == "layer.<weight>");
    CHECK(weight.at("zeros") == 1);
    CHECK(weight.at("absmax") == 70000);
    CHECK(weight.at("histogram").at("-30") == 1);
    CHECK(weight.at("formats").at("fp16").at("lost") == 1);
    CHECK(weight.at("formats").at("fp16").at("overflow") == 1);
    CHECK(weight.at("formats").at("e4m3").at("overflow") == 1);
    // Judged in E4M3: 2^-30 (lost), 0.25 (exact) and 1.0625, halfway between 1 and 1.125, which becomes 1.
    const double signal = 0x1p-60 + 0.0625 + 1.0625 * 1.0625;
    const double noise = 0x1p-60 + 0.0625 * 0.0625;
    CHECK(weight.at("formats").at("e4m3").at("snr_db").get<double>() ==
          doctest::Approx(10 * std::log10(signal / noise)).epsilon(1e-12));
    const Json& scale = json.at("loss_scale");
    CHECK(scale.at("largest") == -1);
    CHECK(scale.at("smallest") == 6);  // at 2^5, 2^-30 becomes 2^-25, which is a tie and rounds to zero
    CHECK(scale.at("recommended").is_null());
    CHECK(scale.at("limited_by").at("largest").at(0) == "layer.<weight>");
}

TEST_CASE("compare: of two dumps the first step and tensor that differ, and how the difference grows") {
    const test::TemporaryFolder folder;
    std::filesystem::create_directories(folder / "a");
    std::filesystem::create_directories(folder / "b");
    const float next = std::nextafter(0.5F, 1.0F);
    write_gradients(folder / "a/g_1.safetensors", {0.5F, 1});
    write_gradients(folder / "b/g_1.safetensors", {0.5F, 1});
    write_gradients(folder / "a/g_2.safetensors", {0.5F, 1});
    write_gradients(folder / "b/g_2.safetensors", {next, 1});
    write_gradients(folder / "a/g_10.safetensors", {0.5F, 1});
    write_gradients(folder / "b/g_10.safetensors", {0.75F, 3});
    const Finished console = test::ulplab({"compare", folder / "a", folder / "b", "--page", folder / "drift.html"});
    CHECK(console.exit_code == 4);
    CHECK(holds(console.output, "The dumps differ from step 2 on, first in g_2.safetensors:layer.<weight>"));
    CHECK(holds(console.output, "in step 10, the last, by at most 2"));
    CHECK(holds(read_file(folder / "drift.html"), "The dumps differ from step 2 on"));
    test::ulplab({"compare", folder / "a/g_2.safetensors", folder / "b/g_2.safetensors", "--page", folder / "p.html"});
    CHECK(holds(read_file(folder / "p.html"), "<strong>The first tensor that differs is "));
    const Finished same = test::ulplab({"compare", folder / "a", folder / "a"});
    CHECK(same.exit_code == 0);
    CHECK(holds(same.output, "The dumps are equal in all 3 steps."));
    const Json json = Json::parse(test::ulplab({"compare", folder / "a", folder / "b", "--json"}).output);
    CHECK(json.at("steps").size() == 3);
    CHECK(json.at("steps").at(1).at("largest_ulps") == 1);
    CHECK(json.at("steps").at(2).at("largest_difference") == 2);
    CHECK(json.at("steps").at(0).at("first").is_null());
    // Two of one kind, each that is there.
    struct Case {
        std::vector<std::string> arguments;
        int exit_code;
        std::string sentence;
    };
    write_file(folder / "a.csv", "step,loss,loss_bits,loss_scale,skipped,w\n");
    npy::write(folder / "x.npy", npy::matrix("<f4", 1, 3, std::vector<float>{1, 2, 3}));
    npy::write(folder / "codes.npy", npy::matrix("|u1", 1, 3, std::vector<std::uint8_t>{1, 2, 3}));
    const std::vector<Case> cases = {
        {{folder / "x.npy", folder / "codes.npy"}, 3, "compare dumps of the same net"},
        {{folder / "x.npy", folder / "none.npy"}, 3, "none.npy"},
        {{folder / "x.npy", "soft:h100"}, 2, "is tensors, and soft:h100 is a unit; give two traces, two dumps"},
        {{folder / "a.csv", folder / "x.npy"}, 2, "is a trace, and"},
        {{folder / "a.csv", folder / "a.csv"}, 3, "the trace has no step"},
        {{"soft:h100", "soft:a100", "--page", folder / "p.html"}, 2, "--page is for two dumps"},
    };
    for (const Case& each : cases) {
        CAPTURE(each.sentence);
        std::vector<std::string> command = {"compare"};
        command.insert(command.end(), each.arguments.begin(), each.arguments.end());
        const Finished finished = test::ulplab(command);
        CHECK(finished.exit_code == each.exit_code);
        CHECK(holds(finished.output, each.sentence));
    }
}

TEST_CASE("inspect: wrong options end with 2, bad files with 3, each with a sentence") {
    const test::TemporaryFolder folder;
    npy::write(folder / "x.npy", npy::matrix("<f4", 1, 3, std::vector<float>{1, 2, 3}));
    npy::write(folder / "codes.npy", npy::matrix("|u1", 1, 3, std::vector<std::uint8_t>{1, 2, 3}));
    write_file(folder / "cut.npy", read_file(folder / "x.npy").substr(0, 133));
    write_file(folder / "model.pt", "PK\x03\x04");
    struct Case {
        std::vector<std::string> arguments;
        int exit_code;
        std::string sentence;
    };
    const std::string x = folder / "x.npy";
    const std::vector<Case> cases = {
        {{}, 2, "FILES"},
        {{x, "--format", "fp17"}, 2, "no format 'fp17' for tensors; there are"},
        {{x, "--target", "mxfp8"}, 2, "scales its blocks itself"},
        {{x, "--target", "posit8"}, 2, "numbers up to a power of two become zero, and posit8 is not one"},
        {{x, "--target", "hif8"}, 0, "Loss scale for hif8\n  smallest    2^-22 "},
        {{x, "--output", "xml"}, 2, "ulplab inspect has no option --output; did you mean"},
        {{folder / "none.npy"}, 3, "none.npy"},
        {{folder / "*.npz"}, 3, "no .npy, .npz or .safetensors file there"},
        {{folder / "cut.npy"}, 3, "the file is truncated"},
        {{folder / "codes.npy"}, 3, "no tensor of floating-point numbers"},
        {{folder / "model.pt"}, 3, "pickles are not read"},
        {{x, "--page", folder / "missing/page.html"}, 3, "missing/page.html"},
    };
    for (const Case& each : cases) {
        CAPTURE(each.sentence);
        const Finished finished = inspect(each.arguments);
        CHECK(finished.exit_code == each.exit_code);
        CHECK(holds(finished.output, each.sentence));
    }
}
