// What `ulplab train` refuses before it starts, and how it says so.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "engine/files/npy.hpp"
#include "engine/products/unit_file.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/machine.hpp"
#include "softfloat/vector/simd_choice.hpp"
#include "tests/experiments/temporary_folder.hpp"
#include "tests/experiments/ulplab_program.hpp"

namespace {

using namespace ulp;
using test::says;

Finished trained(std::vector<std::string> arguments, const std::vector<std::string>& environment = {}) {
    arguments.insert(arguments.begin(), {"train", "--batch=8"});
    return test::ulplab(arguments, environment);
}

/// Refused with this exit code and text, before a step.
void train_refuses(const std::vector<std::string>& arguments, int exit_code, const std::string& text) {
    const Finished refused = trained(arguments);
    INFO(refused.output);
    CHECK(refused.exit_code == exit_code);
    CHECK(says(refused, text));
    CHECK_FALSE(says(refused, "step "));
}

}  // namespace

TEST_CASE("train checks what it takes before it starts, picks a backend that has the products, and says NaN") {
    const auto train = [](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(),
                         {ULPLAB_PROGRAM, "train", "--steps", "3", "--images", "64", "--batch", "16"});
        return run_program(arguments);
    };
    const std::vector<std::vector<std::string>> wrong = {{"--learning-rate", "nan"}, {"--learning-rate", "inf"},
                                                         {"--learning-rate", "-1"},  {"--learning-rate", "0"},
                                                         {"--loss-scale", "0"},      {"--loss-scale", "-2"},
                                                         {"--seed", "-1"},           {"--seed", "99999999999999999999"},
                                                         {"--recipe", "fp64"},       {"--recipe", "fp64+ftz"},
                                                         {"--loss-scale", "1e300"},  {"--loss-scale", "1e-300"}};
    for (const auto& arguments : wrong) {
        CAPTURE(arguments[0] + " " + arguments[1]);
        const Finished finished = train(arguments);
        CHECK(finished.exit_code == 2);
        CHECK(finished.output.find(arguments[0] == "--recipe" ? "fp64" : arguments[0]) != std::string::npos);
    }
    CHECK(train({"--recipe", "fp32"}).exit_code == 0);
    CHECK(train({"--level", "O0"}).exit_code == 0);
    const Finished nan = train({"--recipe", "fp16", "--learning-rate", "1e6"});
    CHECK(nan.exit_code == 1);
    CHECK(nan.output.find("is NaN; --why-nan") != std::string::npos);
    // A finished run says so again.
    const test::TemporaryFolder folder;
    const std::string checkpoint = "--checkpoint=" + (folder / "nan.safetensors").string();
    CHECK(train({"--recipe", "fp16", "--learning-rate", "1e6", checkpoint}).exit_code == 1);
    const Finished finished = train({"--recipe", "fp16", "--learning-rate", "1e6", checkpoint});
    CHECK(finished.exit_code == 1);
    CHECK(finished.output.find("this run is finished") != std::string::npos);
    for (const char* recipe : {"mixed_fp16", "mxfp8", "fp8"}) {
        CHECK(run_program({ULPLAB_PROGRAM, "train", "--help"}).output.find(recipe) != std::string::npos);
    }
}

TEST_CASE("threads that cannot be are a sentence and exit code 2 or 3") {
    const std::vector<std::string> train = {ULPLAB_PROGRAM, "train", "--steps", "1", "--images", "64"};
    const auto under = [&](std::vector<std::string> before) {
        before.insert(before.end(), train.begin(), train.end());
        return run_program(before);
    };
    const Finished absurd = under({"env", "OMP_NUM_THREADS=99999999"});
    CHECK(absurd.exit_code == 2);
    CHECK(absurd.output.find("give 1 to 4096") != std::string::npos);
#ifdef __SANITIZE_ADDRESS__
    MESSAGE("skipped: no small address space, the sanitizer takes terabytes of it");
    return;
#endif
#ifdef __clang__
    MESSAGE("skipped: no code of ours where clang's OpenMP library ends the process, which it does with a sentence");
    return;
#endif
    // 600 MB of address space hold no 2000 stacks.
    const Finished none = under({"prlimit", "--as=600000000", "env", "OMP_NUM_THREADS=2000"});
    CHECK(none.exit_code == 3);
    CHECK(none.output.find("OMP_NUM_THREADS=1") != std::string::npos);
}

TEST_CASE("sizes that no machine has are a sentence with their gigabytes") {
    const Finished refused = run_program({ULPLAB_PROGRAM, "train", "--images=99999999999"});
    CHECK(refused.exit_code == 3);
    CHECK(says(refused, "out of memory: the digits of 78500.0 GB"));
}

TEST_CASE("train --help lists recipes, optimizers and loss scalers") {
    const Finished help = run_program({ULPLAB_PROGRAM, "train", "--help"});
    for (const char* name : {"mixed_fp16", "mxfp8", "adamw", "sophia", "megatron", "deepspeed", "keras; constant is"}) {
        CHECK(says(help, name));
    }
    CHECK(trained({"--images=64", "--steps=3", "--optimizer=adam", "--loss-scale=apex", "--learning-rate=0.001"})
              .exit_code == 0);
    CHECK(says(trained({"--optimizer=adan"}), "no optimizer 'adan'; there are sgd, adam"));
    CHECK(says(trained({"--loss-scale=apx"}), "no loss scaler 'apx'; there are "));
}

TEST_CASE("whole numbers that the option's type does not hold are refused, and 010 is ten") {
    for (const char* option : {"--steps", "--batch", "--images", "--seed"}) {
        for (const char* value : {"99999999999999999999", "-9223372036854775809", "1e3", "0x10", "3.5", "7 "}) {
            CAPTURE(option);
            train_refuses({option, value}, 2, std::string("'") + value + "' is not a whole number from ");
        }
    }
    const Finished ten = trained({"--steps=010", "--images=64", "--seed=010"});
    CHECK(says(ten, "step     9 "));
    CHECK(ten.output == trained({"--steps=10", "--images=64", "--seed=10"}).output);
    for (const std::vector<std::string>& list :  // of 32 and of 64 bits
         {std::vector<std::string>{"--tiles", "32", "2147483648"}, {"--size", "16", "99999999999999999999"}}) {
        std::vector<std::string> command = {"gpu", "attention", "--device", "software:sm_90"};
        command.insert(command.end(), list.begin(), list.end());
        const Finished refused = test::ulplab(command);
        CHECK(refused.exit_code == 2);
        CHECK(says(refused, "'" + list.back() + "' is not a whole number from -"));
    }
}

TEST_CASE("output files are checked before the data are made: places, collisions, the weights' name") {
    const test::TemporaryFolder folder;
    const std::string file = (folder / "same").string();
    const std::string no_memory = "--images=99999999999";  // what making the data says
    for (const std::string option : {"--trace=", "--products=", "--histograms=", "--checkpoint=", "--out="}) {
        CAPTURE(option);
        const std::string name = option == "--out=" ? "x.safetensors" : "x";
        const std::string nowhere = (folder / "no/folder" / name).string();
        train_refuses({option + nowhere, no_memory}, 3, nowhere);
        const std::filesystem::path taken = folder / ("folder" + name);
        std::filesystem::create_directories(taken);
        train_refuses({option + taken.string(), no_memory}, 3, taken.string() + ": cannot be written");
        if (option != "--out=") train_refuses({option + "/dev/full", no_memory}, 3, "/dev/full: cannot be wr");
    }
    train_refuses({"--trace=" + file, "--products=" + file}, 2, "--products and --trace are both " + file);
    train_refuses({"--checkpoint=" + file, "--histograms=" + (folder / "./no/../same").string()}, 2,
                  "--checkpoint and --histograms are both");
    train_refuses({"--checkpoint=" + file, "--trace=" + file + ".lock"}, 2, "the lock of --checkpoint and --trace");
    const std::string weights = file + ".safetensors";
    train_refuses({"--checkpoint=" + weights, "--out=" + weights}, 2, "--checkpoint and --out are");
    train_refuses({"--weights=" + weights, "--out=" + weights}, 2, "--weights and --out are both");
    for (const char* name : {"w.npz", "w.pt", "w"}) {
        train_refuses({std::string("--out=") + name}, 2, "give a name that ends in .safetensors");
    }
    // Nothing was left, and files that can be written are.
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) CHECK(entry.is_directory());
    CHECK(trained({"--images=64", "--steps=1", "--trace=" + file, "--out=" + weights}).exit_code == 0);
    CHECK(std::filesystem::exists(file));
    CHECK(std::filesystem::exists(weights));
}

TEST_CASE("a loss scale without masters names the option and the recipes that have them") {
    const std::string fp16 = "choose a recipe with masters (mixed_fp16, mixed_fp16_fp16_loss)";
    train_refuses({"--recipe=fp16", "--loss-scale=8"}, 2, "--loss-scale 8: recipe fp16 updates in fp16 without");
    train_refuses({"--recipe=fp16", "--loss-scale=8"}, 2, fp16);
    train_refuses({"--recipe=pure_bf16", "--loss-scale=pytorch"}, 2,
                  "--loss-scale pytorch: recipe pure_bf16 updates in bf16");
    train_refuses({"--recipe=pure_bf16", "--loss-scale=pytorch"}, 2, "choose a recipe with masters (bf16,");
    const std::vector<std::string> level = {"--level=O3", "--set", "loss_scale=dynamic"};
    train_refuses(level, 2, "--level O3 with --set loss_scale=dynamic: recipe O3 updates in fp16 without");
    train_refuses(level, 2, fp16);
    train_refuses({"--level=O2", "--set", "loss_scale=1e300"}, 2, "give a scale from 2^-126 to 2^127");
    CHECK(trained({"--recipe=fp16", "--loss-scale=constant", "--images=64", "--steps=1"}).exit_code == 0);
    const std::string largest = "--loss-scale=170141183460469231731687303715884105728";
    CHECK_FALSE(says(trained({"--recipe=fp32", largest, "--images=64", "--steps=1"}), "give a scale"));
    const Finished compared = test::ulplab({"search", "format", "--recipe", "fp16@2^3", "--steps", "2"});
    CHECK(compared.exit_code == 2);
    CHECK(says(compared, "fp16@2^3: recipe fp16 updates in fp16 without fp32 masters"));
}

TEST_CASE("options that would have no effect are refused") {
    train_refuses({"--data=x", "--labels=y", "--mnist=m"}, 2, "--mnist");
    train_refuses({"--data=x", "--labels=y", "--images=64"}, 2, "--images");
    train_refuses({"--mnist=m", "--images=64"}, 2, "--images");
    train_refuses({"--statistics=bf16", "--images=64"}, 2, "--statistics bf16 has no effect: the net mlp has no batch");
    train_refuses({"--eps=1e-3", "--images=64"}, 2, "--eps has no effect on --optimizer sgd");
}

TEST_CASE("data that do not fit name their own file") {
    const test::TemporaryFolder folder;
    const std::string data = (folder / "x.npy").string();
    const std::string labels = (folder / "y.npy").string();
    constexpr int count = 40;
    npy::write(data, npy::matrix<float>("<f4", count, 784, std::vector<float>(count * 784)));
    for (const double wrong : {44.0, 10.0, -1.0, 0.66}) {
        for (const int at : {3, count - 1}) {  // trained on, and tested on
            std::vector<double> classes(count, 1);
            classes[static_cast<std::size_t>(at)] = wrong;
            npy::Array file = npy::matrix("<f8", count, 1, classes);
            file.shape = {count};
            npy::write(labels, file);
            train_refuses({"--data=" + data, "--labels=" + labels}, 3,
                          labels + ": the class of example " + std::to_string(at) + " is ");
        }
    }
    npy::Array tokens = npy::matrix<double>("<f8", 1, 3, {1, 0.66, 2});
    tokens.shape = {3};
    npy::write(data, tokens);
    train_refuses({"--net=transformer", "--data=" + data}, 3, data + ": 0.66 is not an index");
    const std::string place = folder.path().string();
    train_refuses({"--weights=" + place, "--images=64"}, 3, place + ": is a folder; give a file");
    train_refuses({"--checkpoint=" + place, "--images=64"}, 3, place + ": cannot be written: it is no regular file");
}

TEST_CASE("a checkpoint is refused where a unit's file or eigen's kernel is another") {
    const test::TemporaryFolder folder;
    const auto run = [&](std::vector<std::string> arguments, const std::string& simd = "portable") {
        arguments.insert(arguments.end(), {"--images=64", "--checkpoint=" + (folder / "c").string()});
        return trained(arguments, {"ULPLAB_SIMD=" + simd});
    };
    const std::string unit = (folder / "unit.json").string();
    const std::string text = unit_json({"test", find_unit("sm_90:wgmma.fp16.fp32").model});
    const std::string bits = "\"fraction_bits\": 25";
    std::string narrower = text;
    REQUIRE(narrower.find(bits) != std::string::npos);
    narrower.replace(narrower.find(bits), bits.size(), "\"fraction_bits\": 15");
    std::string renamed = text;
    renamed.replace(renamed.find("\"test\""), 6, "\"another name\"");
    write_file(unit, text);
    CHECK(run({"--unit=soft:" + unit, "--steps=2"}).exit_code == 0);
    write_file(unit, narrower);
    const Finished other = run({"--unit=soft:" + unit, "--steps=4"});
    CHECK(other.exit_code == 3);
    CHECK(says(other, "made with backend soft:" + unit + " of SHA-256 "));
    write_file(unit, renamed);  // the same arithmetic
    CHECK(run({"--unit=soft:" + unit, "--steps=4"}).exit_code == 0);

    std::filesystem::remove(folder / "c");
    CHECK(run({"--recipe=fp32", "--steps=2"}).exit_code == 0);
    CHECK(run({"--recipe=fp32", "--steps=3"}).exit_code == 0);
    for (const Simd simd : supported_simd()) {
        if (simd == Simd::portable) continue;
        const Finished wider = run({"--recipe=fp32", "--steps=4"}, std::string(name_of(simd)));
        CAPTURE(name_of(simd));
        CHECK(wider.exit_code == 3);
        CHECK(says(wider, ", portable kernel, caches of "));
        CHECK(says(wider, simd == Simd::avx2 ? ", AVX2 kernel, caches of " : ", AVX-512 kernel, caches of "));
    }
}

TEST_CASE("a refused checkpoint names the options that were given") {
    const test::TemporaryFolder folder;
    const std::string file = "--checkpoint=" + (folder / "c").string();
    const auto refusal = [&](std::vector<std::string> arguments, const std::vector<std::string>& now) {
        std::filesystem::remove(folder / "c");
        arguments.insert(arguments.end(), {file, "--images=64", "--steps=1"});
        REQUIRE(trained(arguments).exit_code == 0);
        arguments.erase(arguments.begin(), arguments.end() - 3);
        arguments.insert(arguments.end(), now.begin(), now.end());
        const Finished refused = trained(arguments);
        CHECK(refused.exit_code == 3);
        return refused.output;
    };
    const auto has = [](const std::string& output, const std::string& part) {
        INFO(output);
        CHECK(output.find("the checkpoint was made " + part) != std::string::npos);
    };
    has(refusal({"--level=O1"}, {"--level=O2"}), "with --level O1, this run has --level O2");
    has(refusal({"--recipe=bf16"}, {"--level=O2"}), "without --level, this run has --level O2");
    has(refusal({"--loss-scale=apex"}, {"--loss-scale=keras"}),
        "with --loss-scale apex, this run has --loss-scale keras");
    has(refusal({}, {"--loss-scale=apex"}), "with --loss-scale pytorch, this run has --loss-scale apex");
    has(refusal({"--loss-scale=8"}, {"--loss-scale=4"}), "with --loss-scale 8, this run has --loss-scale 4");
}
