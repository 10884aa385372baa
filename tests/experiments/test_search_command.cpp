// ulplab search: what it finds, the same after an interruption and in shards, and what it says where nothing is found.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "experiments/framework/files.hpp"
#include "experiments/framework/machine.hpp"
#include "experiments/shared/delta_debugging.hpp"
#include "tests/experiments/temporary_folder.hpp"

namespace {

using namespace ulp;
using Names = std::vector<std::string>;

/// What fp16 does not hold is inside: 10^6 times a pixel, and at a loss scale of 2^16 the loss.
constexpr const char* large_inside = R"({"name": "large", "task": "images", "input": {"shape": [1, 8, 8]},
 "outputs": 10, "layers": [{"layer": "scale", "factor": 1e6}, {"layer": "scale", "factor": 1e-6},
   {"layer": "linear", "name": "fc1", "outputs": 8}, {"layer": "relu"}, {"layer": "linear", "name": "fc2"}]})";

Names search_command(const std::string& kind, const std::filesystem::path& net, const std::filesystem::path& out,
                     const Names& more) {
    Names command = {ULPLAB_PROGRAM, "search", kind,      "--net", net.string(), "--images",  "64",
                     "--batch",      "16",     "--steps", "5",     "--out",      out.string()};
    command.insert(command.end(), more.begin(), more.end());
    return command;
}

/// Lines on stdout: those about training runs are on stderr, and begin with "trained".
std::string result_of(const std::string& output) {
    std::string result;
    std::size_t at = 0;
    while (at < output.size()) {
        const std::size_t end = std::min(output.find('\n', at), output.size() - 1) + 1;
        const std::string line = output.substr(at, end - at);
        if (!line.starts_with("trained")) result += line;
        at = end;
    }
    return result;
}
std::int64_t trained_in(const std::string& output) {
    std::int64_t count = 0;
    for (std::size_t at = output.find("trained "); at != std::string::npos; at = output.find("trained ", at + 1))
        ++count;
    return count;
}

/// Starts a program whose output goes to a file.
pid_t started(Names command, const std::filesystem::path& output) {
    std::vector<char*> arguments;
    for (std::string& argument : command) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        for (const int each : {SIGINT, SIGTERM}) std::signal(each, SIG_DFL);
        const int file = open(output.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_APPEND, 0600);
        dup2(file, STDOUT_FILENO);
        dup2(file, STDERR_FILENO);
        execv(arguments.front(), arguments.data());
        _exit(127);
    }
    return child;
}
int exit_code_of(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct Folder : test::TemporaryFolder {
    Folder() { write_file(net(), large_inside); }
    [[nodiscard]] std::filesystem::path net() const { return *this / "net.json"; }
};

}  // namespace

TEST_CASE("delta debugging leaves a list that passes, and that fails without any one of its names") {
    const Names all = {"a", "b", "c", "d", "e", "f"};
    for (unsigned needed = 0; needed < 64; ++needed) {
        for (unsigned other = 0; other < 64; other += 7) {
            const auto has = [&](const Names& list, unsigned set) {
                for (std::size_t i = 0; i < all.size(); ++i) {
                    if ((set >> i & 1) != 0 && std::ranges::find(list, all[i]) == list.end()) return false;
                }
                return true;
            };
            const auto passes = [&](const Names& list) { return has(list, needed) || has(list, other); };
            const Names found = smallest_passing(all, passes);
            CHECK(passes(found));
            for (const std::string& name : found) CHECK(!passes(without(found, {name})));
        }
    }
}

TEST_CASE("search fp32 finds the operations that overflow, and what it prints trains") {
    const Folder folder;
    const Finished found = run_program(search_command("fp32", folder.net(), folder / "out",
                                                      {"--seeds", "1", "--loss-scale", "65536", "--margin", "0.1"}));
    INFO(found.output);
    CHECK(found.exit_code == 0);
    CHECK(found.output.find("fp32 must stay: scale, cross_entropy (2 of 4 operations)") != std::string::npos);
    CHECK(found.output.find("  scale                         NaN or infinite") != std::string::npos);
    const std::string line = found.output.substr(found.output.find("--fp32 "));
    const std::string fp32 = line.substr(7, line.find(" --low") - 7);
    const std::string low = line.substr(line.find("--low ") + 6, line.find('\n') - line.find("--low ") - 6);
    CHECK(fp32 == "scale,cross_entropy");
    CHECK(low == "linear,relu");
    const auto train = [&](const Names& more) {
        Names command = {ULPLAB_PROGRAM, "train",   "--net", folder.net().string(), "--images", "64", "--batch",
                         "16",           "--steps", "5",     "--loss-scale",        "65536"};
        command.insert(command.end(), more.begin(), more.end());
        return run_program(command).exit_code;
    };
    CHECK(train({"--fp32", fp32, "--low", low}) == 0);
    CHECK(train({"--fp32", "scale", "--low", low + ",cross_entropy"}) == 1);  // NaN
    CHECK(train({"--fp32", "scale", "--low", "scale"}) == 2);

    const Finished none = run_program(
        search_command("fp32", folder.net(), folder / "out", {"--recipe", "bf16", "--seeds", "1", "--margin", "0.1"}));
    CHECK(none.exit_code == 0);
    CHECK(none.output.find("no operation must stay in fp32") != std::string::npos);
}

TEST_CASE("search scale gives the same after an interruption, with shards, and without training anything twice") {
    const Folder folder;
    const Names more = {"--fp32", "scale", "--seeds", "2", "--from",   "0",
                        "--to",   "24",    "--every", "6", "--margin", "0.1"};
    const Finished whole = run_program(search_command("scale", folder.net(), folder / "whole", more));
    INFO(whole.output);
    CHECK(whole.exit_code == 0);
    CHECK(trained_in(whole.output) == 2 + 2 * 5);
    CHECK(whole.output.find("Loss scales from 2^0 to 2^1") != std::string::npos);
    CHECK(whole.output.find("2^24      NaN or infinite  fails") != std::string::npos);
    const Finished again = run_program(search_command("scale", folder.net(), folder / "whole", more));
    CHECK(again.output == result_of(whole.output));

    const std::filesystem::path printed = folder / "printed";
    const pid_t child = started(search_command("scale", folder.net(), folder / "cut", more), printed);
    while (!std::filesystem::exists(printed) || trained_in(read_file(printed)) < 3) usleep(2000);
    kill(child, SIGINT);
    const int code = exit_code_of(child);
    if (code == 130) CHECK(read_file(printed).find("to resume:") != std::string::npos);
    const Finished resumed = run_program(search_command("scale", folder.net(), folder / "cut", more));
    CHECK((trained_in(resumed.output) > 0) == (code != 0));
    CHECK(result_of(resumed.output) == result_of(whole.output));

    std::vector<pid_t> shards;
    for (const std::string part : {"1/3", "2/3", "3/3"}) {
        Names options = more;
        options.insert(options.end(), {"--shard", part});
        shards.push_back(started(search_command("scale", folder.net(), folder / "shards", options),
                                 folder / ("shard" + part.substr(0, 1))));
    }
    std::int64_t trained = 0;
    for (std::size_t i = 0; i < shards.size(); ++i) {
        CHECK(exit_code_of(shards[i]) == 0);
        const std::string output = read_file(folder / ("shard" + std::to_string(i + 1)));
        CHECK(result_of(output) == result_of(whole.output));
        trained += trained_in(output);
    }
    CHECK(trained == 12);
}

TEST_CASE("search format takes the cheapest that is as good, and says what is undecided") {
    const Folder folder;
    const auto search = [&](const Names& more) {
        return run_program(search_command("format", folder.net(), folder / "out", more));
    };
    const Finished found = search({"--recipe", "tf32,bf16,fp16", "--seeds", "3", "--margin", "0.5"});
    INFO(found.output);
    CHECK(found.exit_code == 0);
    CHECK(found.output.find("bf16 suffices: it is the cheapest whose loss is at most 50 % above fp32's") !=
          std::string::npos);
    CHECK(found.output.find("  tf32") == std::string::npos);
    CHECK(found.output.find("too high                loss not finite") != std::string::npos);  // fp16
    const Finished all = search({"--recipe", "tf32,bf16", "--seeds", "3", "--margin", "0.5", "--all"});
    CHECK(all.output.find("  tf32") != std::string::npos);
    // The same study, with another reference, as JSON and as a page: its training runs are not made twice.
    const Names against = {"--recipe", "bf16,tf32@2^3", "--against", "tf32", "--seeds",
                           "3",        "--margin",      "0.5",       "--all"};
    Names more = against;
    more.insert(more.end(), {"--page", folder / "study.html"});
    CHECK(search(more).exit_code == 0);
    more = against;
    more.emplace_back("--json");
    const Finished json = search(more);
    CHECK(trained_in(json.output) == 0);
    const auto study = nlohmann::json::parse(
        json.output.substr(json.output.find('{'), json.output.rfind('}') + 1 - json.output.find('{')));
    CHECK(study.at("recipes").size() == 3);
    CHECK(study.at("recipes").at(0).at("verdict") == "reference");
    CHECK(study.at("recipes").at(1).at("recipe") == "bf16");
    CHECK(study.at("recipes").at(1).at("losses").size() == 3);
    CHECK(study.at("recipes").at(1).at("losses").at(0).size() == 5);
    CHECK(study.at("recipes").at(1).at("divergence").at(0).at("distance").contains("fc1.weight"));
    CHECK(study.at("verdict").get<std::string>().starts_with("bf16 suffices"));
    CHECK(read_file(folder / "study.html").find("bf16 suffices") != std::string::npos);
    const Finished undecided = search({"--recipe", "bf16", "--seeds", "1", "--margin", "0.5"});
    CHECK(undecided.exit_code == 1);
    CHECK(undecided.output.find("undecided: bf16 (more seeds)") != std::string::npos);
}

TEST_CASE("a search that finds nothing says so, with exit code 1, and wrong options are refused before it starts") {
    const Folder folder;
    const auto search = [&](const std::string& kind, const Names& more) {
        return run_program(search_command(kind, folder.net(), folder / "out", more));
    };
    struct Case {
        const char* kind;
        Names options;
        int code;
        const char* said;
    };
    const std::vector<Case> cases = {
        {"fp32", {"--loss-scale", "1e38", "--seeds", "1"}, 1, "Nothing found: with all operations"},
        {"scale", {"--seeds", "1", "--from", "0", "--to", "1"}, 1, "Nothing found: no loss scale from 2^0 to 2^1"},
        {"format",
         {"--recipe", "fp16", "--seeds", "1"},
         1,
         "Nothing found: no loss is shown to be at most 2 % above fp32's"},
        {"format", {"--learning-rate", "1e30", "--seeds", "1", "--recipe", "bf16"}, 1, "fp32 itself ends with a loss"},
        {"fp32", {"--recipe", "fp32"}, 2, "has everything in fp32"},
        {"fp32", {"--fp32", "sofmax"}, 2, "no such operation; it has scale, linear, relu, cross_entropy"},
        {"scale", {"--from", "3", "--to", "1"}, 2, "--from (3) is greater than --to (1)"},
        {"scale", {"--to", "99"}, 2, "exponents from -60 to 60"},
        {"scale", {"--every", "0"}, 2, "--every is 0"},
        {"format", {"--recipe", "fp7"}, 2, "no recipe 'fp7'"},
        {"format", {"--seeds", "0"}, 2, "--seeds is 0"},
        {"format", {"--margin", "nan"}, 2, "--margin is nan"},
        {"fp32", {"--margin", "2"}, 2, "--margin is 2; give a share of the loss"},
        {"format", {"--shard", "3/2"}, 2, "--shard takes i/n"},
        {"fp32", {"--learning-rate", "-1"}, 2, "--learning-rate is -1"}};
    for (const Case& each : cases) {
        CAPTURE(std::string(each.said));
        const Finished finished = search(each.kind, each.options);
        INFO(finished.output);
        CHECK(finished.exit_code == each.code);
        CHECK(finished.output.find(each.said) != std::string::npos);
    }
    CHECK(run_program({ULPLAB_PROGRAM, "search"}).exit_code == 2);
    CHECK(run_program({ULPLAB_PROGRAM, "search", "fp32", "--net", "no.json"}).exit_code == 3);
}
