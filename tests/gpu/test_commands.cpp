// `ulplab gpu` and `ulplab compare` where there is no GPU: what they print and how they end.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/gpu/outcome.hpp"

using ulp::test::Outcome;

namespace {

/// Runs the program with these arguments, no GPU in sight.
Outcome ulplab(const std::string& arguments) {
    return ulp::test::outcome_of(std::string("CUDA_VISIBLE_DEVICES= '") + ULPLAB_PROGRAM + "' " + arguments);
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::filesystem::path temporary(const std::string& name) {
    return std::filesystem::temp_directory_path() / ("ulplab-" + name + std::to_string(getpid()));
}

}  // namespace

namespace {

std::string read(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}
void write(const std::filesystem::path& file, const std::string& text) { std::ofstream(file) << text; }

}  // namespace

TEST_CASE("without a GPU every command that needs one ends with 3 and one sentence") {
    for (const char* command :
         {"gpu info", "discover --table --unit cuda", "gpu bulk", "gpu record --out /nonexistent", "gpu throughput",
          "gpu cublas-study", "train --unit cuda:mma", "train --unit cublas:fp16"}) {
        CAPTURE(std::string(command));
        const Outcome outcome = ulplab(command);
        CHECK(outcome.code == 3);
        CHECK(outcome.output.starts_with("ulplab: "));
        CHECK(contains(outcome.output, "; "));
        CHECK(outcome.output.find('\n') == outcome.output.size() - 1);
    }
}

TEST_CASE("wrong usage ends with 2 and says what there is") {
    for (const auto& [command, part] :
         {std::pair{"gpu info --device gpu", "choose cuda"},
          std::pair{"gpu info --device software:sm_123:busy", "no model of sm_123"},
          std::pair{"gpu bulk --device software:sm_90 --instruction tcgen05",
                    "has no tcgen05, which exists only on sm_100"},
          std::pair{"gpu record --device software:sm_80 --instruction wgmma --out /nonexistent", "has no wgmma"},
          std::pair{"gpu bulk --device software:sm_90 --class odd", "cancellation"},
          std::pair{"gpu bulk --device software:sm_90 --blocks 0", "--blocks"},
          std::pair{"gpu bulk --device software:sm_90 --instruction mma.x", "mma.m16n8k16.fp16.fp32"},
          std::pair{"gpu bulk --device software:sm_80 --instruction wgmma.m64n8k16.fp16.fp32", "sm_90"},
          std::pair{"train --unit soft:h1000", "soft:h100"}, std::pair{"gpu throughput --size 5", "--size"},
          std::pair{"compare soft:h100 soft:a100 --recipe nothing", "mixed_fp16"},
          std::pair{"compare soft:h100 soft:h1000", "soft:h100"}, std::pair{"gpu", "--help"}}) {
        const std::string arguments = command;
        CAPTURE(arguments);
        const Outcome outcome = ulplab(arguments);
        CHECK(outcome.code == 2);
        CHECK(contains(outcome.output, part));
        CHECK(outcome.output.starts_with("ulplab: "));  // nothing is printed before
    }
}

TEST_CASE("a dry run records, replays, and says that it is no evidence") {
    const auto folder = temporary("record");
    const std::string out = folder.string();
    CHECK(ulplab("gpu record --device software:sm_90 --instruction mma.m16n8k8.fp16.fp32 --count 1 --out " + out)
              .code == 0);
    const Outcome live = ulplab("verify --device software:sm_90 " + out);
    CHECK(live.code == 0);
    CHECK(contains(live.output, "bulk 6/6"));
    const Outcome replayed = ulplab("verify " + out);
    CHECK(replayed.code == 0);
    CHECK(contains(replayed.output, "no evidence"));
    const Outcome other = ulplab("verify --policy zeros_as_subnormals " + out);
    CHECK(other.code == 4);
    CHECK(contains(other.output, "first difference"));
    CHECK(contains(ulplab("verify --device software:sm_80 " + out).output, "another architecture"));
    CHECK(ulplab("verify --device software:sm_90 --policy zeros_as_subnormals " + out).code == 2);
    std::filesystem::remove_all(folder);
}

TEST_CASE("traces of two generations part, and the place is named") {
    const auto a = temporary("a.csv");
    const auto b = temporary("b.csv");
    const std::string settings = " --steps 6 --images 64 --batch 16 ";
    CHECK(ulplab("train --unit soft:h100" + settings + "--trace " + a.string()).code == 0);
    CHECK(ulplab("train --unit soft:a100" + settings + "--trace " + b.string()).code == 0);
    const Outcome same = ulplab("compare " + a.string() + " " + a.string());
    CHECK(same.code == 0);
    CHECK(contains(same.output, "(soft:h100, software): equal in all 6 steps"));
    const Outcome files = ulplab("compare " + a.string() + " " + b.string());
    CHECK(files.code == 4);
    CHECK(contains(files.output, b.string() + " (soft:a100, software): step "));
    // Both are of software: trained again, without hardware, up to the place.
    CHECK(contains(files.output, "trained again here: step 0, product 0 (fc1/linear, forward; fp16->fp32 of 16 x 784"));
    CHECK(contains(files.output, "element ("));
    CHECK(contains(files.output, "operands "));
    CHECK(contains(files.output, "; after step "));
    CHECK(contains(files.output, ".weight, element "));
    // The same place, asked for directly.
    const Outcome units = ulplab("compare soft:h100 soft:a100" + settings);
    CHECK(units.code == 4);
    CHECK(contains(files.output, units.output.substr(units.output.find("step 0, product 0"))));
    CHECK(ulplab("compare soft:h100 soft:h100" + settings).code == 0);
    // A trace of the same unit by another build: one of the two is what this build gives.
    std::string changed = read(a);
    char& digit = changed[changed.size() - 2];
    digit = digit == '0' ? '1' : '0';
    write(b, changed);
    const Outcome builds = ulplab("compare " + a.string() + " " + b.string());
    CHECK(builds.code == 4);
    CHECK(contains(builds.output, "soft:h100 reproduces " + a.string()));
    CHECK(contains(builds.output, "soft:h100 does not reproduce " + b.string()));
    // One of hardware cannot be trained again; what to do is said.
    std::string hardware = changed;
    hardware.replace(hardware.find("device software"), 15, "device NVIDIA H100, sm_90");
    write(b, hardware);
    CHECK(contains(
        ulplab("compare " + a.string() + " " + b.string()).output,
        "on a machine with NVIDIA H100, sm_90: ulplab compare soft:h100 soft:h100 --net mlp --recipe mixed_fp16"));
    // Training runs with other settings are compared, and that is said; a file without a head is compared, too.
    CHECK(ulplab("train --unit soft:h100 --learning-rate 0.2" + settings + "--trace " + b.string()).code == 0);
    const Outcome rates = ulplab("compare " + a.string() + " " + b.string());
    CHECK(rates.code == 4);
    CHECK(contains(rates.output, "differ by more than what multiplies"));
    const std::string text = read(a);
    write(b, text.substr(text.find("step,")));
    CHECK(ulplab("compare " + b.string() + " " + a.string()).code == 0);
    write(b, text.substr(0, text.size() - 20));
    const Outcome cut = ulplab("compare " + a.string() + " " + b.string());
    CHECK(cut.code == 3);
    CHECK(contains(cut.output, "this is no step of a trace"));
    CHECK(ulplab("compare " + a.string() + " soft:h100").code == 2);
    CHECK(ulplab("compare /no/such.trace " + a.string()).code == 3);
    std::filesystem::remove(a);
    std::filesystem::remove(b);
}

TEST_CASE("the products of an experiment have the same digest beside a card and without one") {
    const auto file = temporary("experiments.csv");
    const auto out = temporary("experiments");
    const Outcome beside = ulplab("gpu experiments swamping --smoke --device software:sm_90 --out " + file.string());
    CHECK(beside.code == 0);
    CHECK(contains(beside.output, "none differs"));
    CHECK(ulplab("run swamping --smoke --out " + out.string()).code <= 1);
    const std::string result = read(out / "swamping" / "result.json");
    std::istringstream lines(read(file));
    int compared = 0;
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("swamping,")) continue;
        ++compared;
        CHECK(contains(line, ",sm_90:"));
        std::string digest = line.substr(0, line.rfind(','));
        digest = digest.substr(digest.rfind(',') + 1);
        CHECK(contains(result, "\"digest\": \"" + digest + "\""));
    }
    CHECK(compared > 0);
    // What a model made is no evidence.
    CHECK(contains(read(file), "# source software"));
    std::filesystem::remove(file);
    std::filesystem::remove_all(out);
}
