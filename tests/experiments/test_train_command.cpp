// Training from the command line: the same bits under every vector width and number of threads, and what is watched.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <set>
#include <sstream>

#include "engine/files/safetensors.hpp"
#include "engine/files/whole_file.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/machine.hpp"
#include "softfloat/vector/simd_choice.hpp"
#include "tests/experiments/temporary_folder.hpp"

namespace {

using namespace ulp;

std::string digests(const std::string& simd, int threads) {
    const Finished finished = run_program({"env", "ULPLAB_SIMD=" + simd, "OMP_NUM_THREADS=" + std::to_string(threads),
                                           "OMP_WAIT_POLICY=passive", ULPLAB_PROGRAM, "dev", "digests"});
    REQUIRE(finished.exit_code == 0);
    return finished.output;
}

/// Runs a training until it has told of a step, sends the signal, and waits for its end.
Finished signalled_after_a_step(std::vector<std::string> command, int signal, const std::filesystem::path& output) {
    std::vector<char*> arguments;
    for (std::string& argument : command) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    std::filesystem::remove(output);
    const pid_t child = fork();
    if (child == 0) {
        for (const int each : {SIGINT, SIGTERM}) std::signal(each, SIG_DFL);  // a shell may have had them ignored
        const int file = open(output.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
        dup2(file, STDOUT_FILENO);
        dup2(file, STDERR_FILENO);
        execv(arguments.front(), arguments.data());
        _exit(127);
    }
    int status = 0;
    const auto printed = [&] { return std::filesystem::exists(output) ? read_file(output) : std::string(); };
    while (printed().find("step ") == std::string::npos && waitpid(child, &status, WNOHANG) == 0) usleep(10000);
    kill(child, signal);
    waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), printed()};
}

}  // namespace

TEST_CASE("a short training leaves the same bits with every recipe, vector width and number of threads") {
    const std::string expected = digests("portable", 1);
    std::istringstream lines(expected);
    std::string line;
    int rows = 0;
    while (std::getline(lines, line)) ++rows;
    CHECK(rows >= 30);
    for (const Simd simd : supported_simd()) {
        for (const int threads : {1, 2}) {
            if (simd == Simd::portable && threads == 1) continue;
            CAPTURE(name_of(simd));
            CAPTURE(threads);
            CHECK(digests(std::string(name_of(simd)), threads) == expected);
        }
    }
}

TEST_CASE("recipes that differ leave different bits, and those that are the same leave the same") {
    std::istringstream lines(digests("", 2));
    std::string name;
    std::string backend;
    std::string digest;
    std::map<std::string, std::string> of;
    while (lines >> name >> backend >> digest) of.emplace(name, digest);  // of mixed_fp16, the first: on soft:h100
    const std::vector<std::string> different = {"fp32",       "tf32", "bf16",      "mixed_fp16", "mixed_fp16_fp16_loss",
                                                "fp16",       "fp8",  "pure_bf16", "mxfp8",      "mixed_fp16+fused",
                                                "bf16+fused", "O1",   "fp16+ftz",  "O3"};
    std::set<std::string> seen;
    for (const std::string& each : different) {
        CAPTURE(each);
        REQUIRE(of.contains(each));
        CHECK(seen.insert(of[each]).second);
    }
    CHECK(of["O0"] == of["fp32"]);
    CHECK(of["O2"] == of["mixed_fp16"]);
    CHECK(of["fp32+fused"] == of["fp32"]);
    CHECK(of["pure_bf16+fused"] == of["pure_bf16"]);  // there, steps round to the storage format anyway
}

namespace {

Finished train(const std::vector<std::string>& arguments, int steps = 3) {
    std::vector<std::string> command = {ULPLAB_PROGRAM, "train", "--images=64", "--batch=8",
                                        "--steps=" + std::to_string(steps)};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_program(command);
}
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("ulplab train tells bytes, counts and every product") {
    const test::TemporaryFolder folder;
    const std::string log = (folder.path() / "products.tsv").string();
    const Finished done = train({"--net=cnn", "--bytes", "--counts", "--products=" + log});
    INFO(done.output);
    REQUIRE(done.exit_code == 0);
    CHECK(contains(done.output, "bytes planned"));
    CHECK(contains(done.output, "bytes used"));
    CHECK(contains(done.output, "conv1/conv2d forward"));
    const std::string text = read_file(log);
    CHECK(contains(text, "0\tconv1/conv2d\tforward\tfp16->fp32\t6272\t8\t9\tsoft:h100\tsm_90:"));
    CHECK(contains(text, "the last filled up with zeros"));
    // Two convolutions and a linear layer: forward, weight gradient, and input gradient but of the first; three steps;
    // and the products of the accuracy are not the training's.
    CHECK(std::count(text.begin(), text.end(), '\n') == 1 + 3 * 8);
}

TEST_CASE("ulplab train keeps averages and statistics, starts and reduces as told, and refuses what makes no sense") {
    const Finished done = train({"--net=residual", "--recipe=bf16_sr", "--ema=0.9:bf16:stochastic", "--statistics=bf16",
                                 "--init=kaiming_normal", "--loss-reduction=sum", "--evaluate-fp32"});
    INFO(done.output);
    CHECK(done.exit_code == 0);
    CHECK(contains(done.output, "% with the averages"));
    for (const auto& [given, message] :
         {std::pair{"--ema=2", "the decay of averages is 2"},
          {"--ema=x", "--ema takes DECAY"},
          {"--ema=0.9:fp64", "within fp32, no one_nan_infinity, since the trainer computes by fields; fp64 is not"},
          {"--statistics=hif8", "since the trainer computes by fields; hif8 is not"},
          {"--ema=0.9::stochastic", "fp32 are not rounded"},
          {"--statistics=e8m0", "--statistics is a format with a sign, subnormals and fraction bits"},
          {"--init=he", "there are default, kaiming_uniform"},
          {"--loss-reduction=none", "not in {mean,sum}"},
          {"--eps=-1", "eps is -1"}}) {
        const std::string option = given;
        CAPTURE(option);
        const Finished refused = train({option, "--net=residual", "--optimizer=adam"});
        CHECK(refused.exit_code == 2);
        CHECK(contains(refused.output, message));
    }
}

TEST_CASE("ulplab train --why-nan names the operation, the element and the operands' bits") {
    const Finished found = train({"--why-nan", "--loss-scale=1e9"});
    INFO(found.output);
    REQUIRE(found.exit_code == 1);
    CHECK(contains(found.output, "step 0, "));
    CHECK(contains(found.output, "backward, gradient of "));
    CHECK(contains(found.output, "f800000) in fp16"));
    CHECK(contains(found.output, "largest magnitude "));
    CHECK(contains(found.output, "remedy: a loss scale of at most "));
    CHECK(contains(train({"--why-nan", "--recipe=fp32", "--unit=soft:ieee"}).output, "every number was finite"));
    const Finished skips = train({"--why-nan", "--recipe=mixed_fp16_fp16_loss"});
    CHECK(contains(skips.output, "steps skipped by the loss scale passed over"));
    CHECK(contains(skips.output, "every number was finite"));
    const std::vector<std::string> adam = {"--why-nan", "--recipe=fp16", "--optimizer=adam", "--learning-rate=1e-3"};
    const Finished update = train(adam);
    CHECK(contains(update.output, "step 0, fc1.weight, update: element "));
    CHECK(contains(update.output, "remedy: eps of at least "));
    CHECK(contains(update.output, "stopped after 1 of "));
    CHECK(update.exit_code == 1);
    const Finished wide = train({"--why-nan", "--recipe=fp16", "--learning-rate=1e6"});
    CHECK(contains(wide.output, "remedy: a learning rate of at most "));
}

TEST_CASE("ulplab train estimates Sophia's curvature: its updates are not all clipped to the sign of the momentum") {
    const test::TemporaryFolder folder;
    const std::string checkpoint = (folder / "sophia.safetensors").string();
    CHECK(train({"--optimizer=sophia", "--learning-rate=1e-3", "--recipe=fp32", "--checkpoint=" + checkpoint})
              .exit_code == 0);
    float largest = 0;
    for (const auto& [name, tensor] : read_safetensors(checkpoint).tensors) {
        if (name.find("curvature") == std::string::npos) continue;
        for (const float x : tensor.values()) largest = std::max(largest, x);
    }
    CHECK(largest > 0);
}

TEST_CASE("ulplab train --why-nan says nothing of steps that it did not see") {
    const test::TemporaryFolder folder;
    const std::string checkpoint = "--checkpoint=" + (folder / "nan.safetensors").string();
    const std::vector<std::string> nan = {"--recipe=fp16", "--learning-rate=1e6", checkpoint};
    CHECK(train(nan).exit_code == 1);
    const Finished again = train({"--recipe=fp16", "--learning-rate=1e6", checkpoint, "--why-nan"});
    CHECK(again.exit_code == 1);
    CHECK(contains(again.output, "no step was watched"));
    CHECK(!contains(again.output, "every number was finite"));
}

TEST_CASE("ulplab train --fp32 computes operations in fp32, and traces and histograms hold every step") {
    const test::TemporaryFolder folder;
    const auto train = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {ULPLAB_PROGRAM, "train", "--net", "transformer", "--steps", "3",
                                             "--images", "64", "--batch", "8"});
        return run_program(arguments);
    };
    const std::string log = (folder / "products").string();
    const Finished plain = train({"--products", log});
    const std::string products = read_file(folder / "products");
    const Finished wide = train({"--fp32", "softmax,matmul", "--products", log});
    REQUIRE(wide.exit_code == 0);
    CHECK(wide.output != plain.output);
    // Attention's products are in fp32, those of the linear layers are not.
    std::istringstream rows(read_file(folder / "products"));
    std::string row;
    int matmuls = 0;
    int others = 0;
    while (std::getline(rows, row)) {
        if (row.starts_with("step")) continue;
        const bool fp32 = row.find("\tfp32") != std::string::npos;
        (row.find("/matmul\t") != std::string::npos ? matmuls : others) += fp32 ? 1 : -1000;
    }
    CHECK(matmuls > 0);
    CHECK(others < 0);
    CHECK(products.find("\tfp32") == std::string::npos);
    const Finished unknown = train({"--fp32", "sofmax"});
    CHECK(unknown.exit_code == 2);
    CHECK(unknown.output.find("no such operation; it has embedding, add, linear") != std::string::npos);

    const Finished logged = train({"--trace", (folder / "trace").string(), "--histograms", (folder / "h").string()});
    CHECK(logged.output == plain.output);  // who looks on changes nothing
    std::istringstream trace(read_file(folder / "trace"));
    std::getline(trace, row);
    CHECK(row == "# ulplab trace");
    while (row.starts_with("#")) std::getline(trace, row);
    CHECK(row.starts_with("step,loss,loss_bits,loss_scale,skipped,words.weight,places.weight,"));
    for (int step = 0; step < 3; ++step) {
        std::getline(trace, row);
        CHECK(row.starts_with(std::to_string(step) + ","));
    }
    CHECK(!std::getline(trace, row));
    std::istringstream histograms(read_file(folder / "h"));
    std::int64_t of_weight = 0;
    std::set<std::string> roles;
    while (std::getline(histograms, row)) {
        roles.insert(row.substr(0, row.find(',')));
        if (row.starts_with("weight,words.weight,")) of_weight += std::stoll(row.substr(row.rfind(',') + 1));
    }
    CHECK(of_weight == 3 * 128 * 32);  // each step's table of 128 words
    CHECK(roles.size() == 5);          // with the header
}

TEST_CASE("ulplab train takes a level with overrides, prints its table, and refuses senseless ones") {
    const Finished done = train({"--level=O2", "--set", "loss_scale=128"});
    INFO(done.output);
    REQUIRE(done.exit_code == 0);
    CHECK(contains(done.output, "128  (override)"));
    CHECK(contains(done.output, "scale 128"));
    const Finished refused = train({"--level=O1", "--set", "master_weights=true"});
    CHECK(refused.exit_code == 2);
    CHECK(contains(refused.output, "master_weights has no meaning"));
    CHECK(train({"--set", "loss_scale=128"}).exit_code == 2);
    CHECK(train({"--recipe=fp16+fuzzed"}).exit_code == 2);
    CHECK(train({}, 0).exit_code == 2);
}

TEST_CASE("ulplab train resumes from its checkpoint to the same numbers and digest, and refuses another run's") {
    const test::TemporaryFolder folder;
    const std::string path = (folder.path() / "run.safetensors").string();
    const std::string file = "--checkpoint=" + path;
    REQUIRE(train({file}, 2).exit_code == 0);
    const Finished resumed = train({file}, 4);
    CHECK(contains(resumed.output, "resumed at step 2"));
    const Finished straight = train({}, 4);
    const auto last_line = [](const std::string& text) { return text.substr(text.find("step     3  loss")); };
    const auto digest = [](const std::string& text) { return text.substr(text.find("trace "), 70); };
    CHECK(last_line(resumed.output).substr(0, 40) == last_line(straight.output).substr(0, 40));
    CHECK(digest(resumed.output) == digest(straight.output));
    CHECK(contains(resumed.output, "skipped since step 2"));
    const Finished again = train({file}, 4);
    CHECK(again.exit_code == 0);
    CHECK(contains(again.output, "this run is finished, 4 steps of 4"));
    CHECK(digest(again.output) == digest(straight.output));
    struct Case {
        const char* option;
        const char* difference;
    };
    for (const Case& c : {Case{"--net=cnn", "--net mlp, this run has --net cnn"},
                          {"--batch=16", "--batch 8, this run has --batch 16"},
                          {"--learning-rate=0.1", "--learning-rate 0.05, this run has --learning-rate 0.1"},
                          {"--unit=soft:ieee", "--unit soft:h100, this run has --unit soft:ieee"},
                          {"--recipe=bf16", "--recipe mixed_fp16, this run has --recipe bf16"},
                          {"--loss-scale=8", "--loss-scale pytorch, this run has --loss-scale constant"},
                          {"--optimizer=adam", "--optimizer sgd, this run has --optimizer adam"},
                          {"--seed=2", "--seed 1, this run has --seed 2"},
                          {"--images=65", "data of SHA-256 "}}) {
        CAPTURE(c.option);
        std::vector<std::string> command = {ULPLAB_PROGRAM, "train", "--images=64", "--batch=8", "--steps=4", file};
        const std::string option = c.option;
        const auto same = [&](const std::string& given) {
            return given.starts_with(option.substr(0, option.find('=')));
        };
        std::erase_if(command, same);
        command.push_back(option);
        const Finished other = run_program(command);
        CHECK(other.exit_code == 3);
        CHECK(contains(other.output, std::string("the checkpoint was made with ") + c.difference));
    }
}

TEST_CASE("two training runs on one checkpoint: the second is refused") {
    const test::TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "c";
    const FileLock first(file);
    const Finished second = train({"--checkpoint=" + file.string()});
    CHECK(second.exit_code == 3);
    CHECK(contains(second.output, "another process is working on it"));
}

TEST_CASE("Ctrl-C ends a training after its step, with a checkpoint and the command that resumes") {
    const test::TemporaryFolder folder;
    const std::string file = "--checkpoint=" + (folder.path() / "c").string();
    const auto ended_by = [&](int signal, const std::vector<std::string>& more) {
        std::vector<std::string> command = {ULPLAB_PROGRAM, "train", "--images=64", "--batch=8", "--steps=1000000"};
        command.insert(command.end(), more.begin(), more.end());
        return signalled_after_a_step(command, signal, folder / "printed");
    };
    const Finished saved = ended_by(SIGINT, {file});
    INFO(saved.output);
    CHECK(saved.exit_code == 130);
    CHECK(contains(saved.output, "of 1000000 steps, saved in "));
    CHECK(contains(saved.output, "train --images=64 --batch=8 --steps=1000000 " + file));
    const Finished resumed = ended_by(SIGTERM, {file});
    CHECK(resumed.exit_code == 143);
    CHECK(contains(resumed.output, "resumed at step "));
    const Finished lost = ended_by(SIGINT, {});
    CHECK(lost.exit_code == 130);
    CHECK(contains(lost.output, "which are lost; --checkpoint FILE keeps them"));
}

TEST_CASE("train starts from weights and saves them, a file of weights is no checkpoint") {
    const test::TemporaryFolder folder;
    const std::string weights = (folder.path() / "w.safetensors").string();
    const Finished first = train({"--out=" + weights});
    REQUIRE(first.exit_code == 0);
    const std::string again = (folder.path() / "again.safetensors").string();
    const Finished second = train({"--weights=" + weights, "--out=" + again});
    CHECK(second.exit_code == 0);
    CHECK(read_file(weights) != read_file(again));
    const Finished other = train({"--weights=" + weights, "--net=cnn"});
    CHECK(other.exit_code == 3);
    CHECK(contains(other.output, "missing: conv1.weight"));
    CHECK(contains(other.output, "unexpected: fc1.bias"));
    const Finished checkpoint = train({"--checkpoint=" + weights});
    CHECK(checkpoint.exit_code == 3);
    CHECK(contains(checkpoint.output, "holds weights, not a training run"));
    CHECK(contains(checkpoint.output, "--weights FILE"));
    CHECK(train({"--weights=/no/such/file"}).exit_code == 3);
}

TEST_CASE("train prints a net as JSON, and the file trains to the same bits") {
    const test::TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "net.json";
    const Finished printed = run_program({ULPLAB_PROGRAM, "train", "--net=cnn", "--print-net"});
    REQUIRE(printed.exit_code == 0);
    write_file(file, printed.output);
    const auto digest = [](const Finished& run) { return run.output.substr(run.output.find("trace ")); };
    CHECK(digest(train({"--net=" + file.string()})) == digest(train({"--net=cnn"})));
    write_file(file, "{\"name\": 3}");
    const Finished refused = train({"--net=" + file.string()});
    CHECK(refused.exit_code == 3);
    CHECK(contains(refused.output, file.string() + ": /name is 3; give a name of letters"));
    const Finished unknown = train({"--net=lenet"});
    CHECK(unknown.exit_code == 2);
    CHECK(contains(unknown.output, "there are mlp, cnn,"));
}
