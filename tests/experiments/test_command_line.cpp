// The program as a user meets it: what it prints, its exit codes, and what it leaves behind.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/files/sha256.hpp"
#include "engine/files/zip.hpp"
#include "experiments/framework/experiment.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/machine.hpp"
#include "softfloat/names.hpp"
#include "tests/experiments/temporary_folder.hpp"
#include "tests/experiments/ulplab_program.hpp"
#include "tests/shared_data.hpp"

namespace {

using namespace ulp;
namespace fs = std::filesystem;

using test::ulplab;

void check_refused(const std::vector<std::string>& arguments, int exit_code, const std::string& sentence) {
    const Finished finished = ulplab(arguments);
    INFO(finished.output);
    CHECK(finished.exit_code == exit_code);
    CHECK((finished.output.rfind("ulplab: ", 0) == 0 || finished.output.find("\nulplab: ") != std::string::npos));
    CHECK(finished.output.find(sentence) != std::string::npos);
}

std::string digest_in(const fs::path& folder) {
    return nlohmann::json::parse(read_file(folder / "manifest.json")).at("digest");
}

}  // namespace

TEST_CASE("an archive that unfolds to too much is refused, and read where --max-expansion allows it") {
    const test::TemporaryFolder folder;
    const std::string file = (folder.path() / "zeros.npz").string();
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (18000000,), }";
    header.resize(117, ' ');
    const std::string zeros = std::string("\x93NUMPY\x01\x00v\x00", 10) + header + "\n" + std::string(72000000, '\0');
    write_file(file, zip_archive({{"zeros.npy", zeros}}));
    for (const std::string command : {"inspect", "diagnose"}) {
        check_refused({command, file}, 3, "or allow more by --max-expansion");
        check_refused({command, file, "--max-expansion", "0"}, 2, "--max-expansion");
    }
    check_refused({"inspect", file, "--max-expansion", "50"}, 3, "more than 50 times");
    CHECK(ulplab({"inspect", file, "--max-expansion", "2000"}).exit_code == 0);
    check_refused({"inspect", file}, 3, "more than 100 times");  // a run's limit is its own
}

TEST_CASE("wrong usage ends with 2 and a sentence") {
    const test::TemporaryFolder out;
    const std::string to = "--out=" + out.path().string();
    check_refused({}, 2, "A subcommand is required");
    check_refused({"walk"}, 2, "there is no subcommand \"walk\"; did you mean");
    check_refused({"run", to}, 2, "run needs the NAME of an experiment");
    check_refused({"run", "overflow", "--grid", "grid.json"}, 2, "--grid FILE names the experiment");
    check_refused({"run", "overflow", "--merge", to}, 2, "give --grid FILE, too");
    check_refused({"run", "overflw", to}, 2, "there is no experiment \"overflw\"; did you mean overflow? choose from ");
    check_refused({"run", "overflow", "--set", "lenght=64", to}, 2, "there is no setting \"lenght\"");
    check_refused({"run", "overflow", "--set", "length", to}, 2, "key=value");
    check_refused({"run", "overflow", "--set", "length=1", to}, 2, "an integer from 64 to 1048576");
    check_refused({"run", "all", "--set", "nonsense=1", to}, 2, "there is no setting \"nonsense\"");
    check_refused({"run", "overflow", "--unit", "soft:z80", to}, 2, "soft:z80");
    check_refused({"run", "overflow", "--seed", "one", to}, 2, "--seed");
    check_refused({"run", "overflow", "--forse", to}, 2, "ulplab run has no option --forse; did you mean --force?");
    check_refused({"matmul", "--unti", "x"}, 2, "ulplab matmul has no option --unti; did you mean --unit?");
    check_refused({"matmul", "--a", "x"}, 2, "ulplab matmul takes A without --a");
    check_refused({"bound", "--k", "4"}, 2, "ulplab bound has no option --k; did you mean -k?");
    check_refused({"run", "overflow", "--format", "json", to}, 2, "--format json is now: --json");
    check_refused({"run", "overflow", "--quick", "--full", to}, 2, "excludes");
    check_refused({"codes", "fp32"}, 2, "fp32 has 2^32 codes, too many to list");
    check_refused({"codes", "halve"}, 2, "there is no format 'halve'; did you mean half?");
    check_refused({"dev", "manual", "walk"}, 2, "there is no command \"ulplab walk\"");
    check_refused({"models", "--unit", "H900"}, 2, "there is no GPU model 'H900'; did you mean");
    check_refused({"models", "--unit", "MI300Y"}, 2, "did you mean MI300");
    check_refused({"list", "nothing"}, 2, "there is no experiment \"nothing\"");
    CHECK(fs::is_empty(out.path()));
}

TEST_CASE("manual pages and codes are written as other programs read them") {
    const Finished page = ulplab({"dev", "manual", "gpu", "info"});
    CHECK(page.exit_code == 0);
    CHECK(page.output.find(".TH \"ulplab-gpu-info\" 1") != std::string::npos);
    CHECK(page.output.find("\\fB\\-\\-help\\fR") != std::string::npos);
    const Finished codes = ulplab({"codes", "e2m1"});
    CHECK(std::count(codes.output.begin(), codes.output.end(), '\n') == 17);
    CHECK(codes.output.find("\n1\t0 00 1\tsubnormal\t0.5\t0.5\t0x0.8p+0\t0\t2\t-1\n") != std::string::npos);
}

TEST_CASE("missing data and folders that cannot be written end with 3 and a sentence") {
    const test::TemporaryFolder out;
    write_file(out / "file", "");
    check_refused({"run", "overflow", "--out", (out / "file").string()}, 3, "cannot write into the folder");
    check_refused({"run", "overflow", "--out", "/proc/nothing"}, 3, "cannot write into the folder");
    check_refused({"report", "--out", out.path().string()}, 3, "there is no result in");
    check_refused({"claims", "--out", (out / "nowhere").string()}, 3, "there is no result in");
    check_refused({"run", "gradient_histogram", "--mnist", (out / "nowhere").string(), "--out", out.path().string()}, 3,
                  "nowhere");
    check_refused({"run", "char_lstm", "--data", (out / "nowhere").string(), "--out", out.path().string()}, 3,
                  "nowhere");
    check_refused({"run", "overflow", "--data", (out / "file").string(), "--out", out.path().string()}, 2, "text");
}

TEST_CASE("damaged MNIST files are refused, and the earlier result stays") {
    const test::TemporaryFolder out;
    fs::create_directories(out / "results/gradient_histogram");
    write_file(out / "results/gradient_histogram/result.json", "earlier");
    fs::create_directory(out / "mnist");
    write_file(out / "mnist/t10k-images-idx3-ubyte", std::string("\0\0\x08\x04", 4));
    write_file(out / "mnist/t10k-labels-idx1-ubyte", std::string("\0\0\x08\x01\0\0\0\x05", 8));
    check_refused(
        {"run", "gradient_histogram", "--mnist", (out / "mnist").string(), "--out", (out / "results").string()}, 3,
        "t10k-images-idx3-ubyte");
    CHECK(read_file(out / "results/gradient_histogram/result.json") == "earlier");
    CHECK(std::distance(fs::directory_iterator(out / "results"), fs::directory_iterator()) == 1);
}

TEST_CASE("a net trains on the real MNIST files, and the result does not depend on where they lie") {
    const auto data = test::shared_folder("data");
    if (!data) return;
    const test::TemporaryFolder out;
    fs::copy(*data / "mnist", out / "elsewhere");
    std::vector<std::string> digests;
    for (const fs::path& folder : {*data / "mnist", out / "elsewhere"}) {
        const fs::path to = out / std::to_string(digests.size());
        const Finished run = ulplab({"run", "gradient_histogram", "--mnist", folder.string(), "--set", "steps=8",
                                     "--set", "hidden=16", "--out", to.string()},
                                    {"PATH=/nonexistent"});
        INFO(run.output);
        REQUIRE(run.exit_code <= 1);  // eight steps do not train: that claim may fail
        digests.push_back(digest_in(to / "gradient_histogram"));
        const auto inputs = nlohmann::json::parse(read_file(to / "gradient_histogram/manifest.json")).at("inputs");
        CHECK(inputs.contains("MNIST images for training"));
    }
    CHECK(digests[0] == digests[1]);
}

const std::vector<std::string> no_gnuplot = {"PATH=/nonexistent"};

bool has_gnuplot() {
    const bool found = run_program({"sh", "-c", "command -v gnuplot"}).exit_code == 0;
    if (!found) std::cout << "skipped: no gnuplot\n";
    return found;
}

TEST_CASE("a damaged record is named") {
    const test::TemporaryFolder out;
    fs::create_directory(out / "overflow");
    write_file(out / "overflow/result.json", "{");
    write_file(out / "overflow/manifest.json", "{}");
    check_refused({"report", "--out", out.path().string()}, 3, "is damaged");
}

TEST_CASE("an experiment leaves a whole record, its figures and a report") {
    if (!has_gnuplot()) return;
    const test::TemporaryFolder out;
    const Finished run = ulplab({"run", "swamping", "--set", "samples=100", "--out", out.path().string()});
    INFO(run.output);
    REQUIRE(run.exit_code == 0);
    for (const char* file : {"result.json", "data.csv", "manifest.json", "style.gp", "block.gp", "block.svg",
                             "block.page.svg", "block.png"}) {
        CHECK(fs::exists(out / "swamping" / file));
    }
    const auto manifest = nlohmann::json::parse(read_file(out / "swamping/manifest.json"));
    for (const char* key : {"version", "settings", "compiler", "flags", "cpu", "seed", "inputs", "results", "digest"}) {
        CHECK(manifest.contains(key));
    }
    CHECK(manifest.at("settings").at("samples") == 100);
    const Finished report = ulplab({"report", "--out", out.path().string()});
    CHECK(report.exit_code == 0);
    const std::string page = read_file(out / "report-swamping.html");
    CHECK(page.find("swamping.rule_safe") != std::string::npos);
    CHECK(page.find("<svg viewBox=") != std::string::npos);
    CHECK(page.find("class=\"tick\"") != std::string::npos);  // what the page's script reads
    CHECK(page.find("_gnuplot_plot_1\"") != std::string::npos);
    CHECK(read_file(out / "report.html").find("report-swamping.html") != std::string::npos);
    CHECK(ulplab({"claims", "--out", out.path().string()}).exit_code == 0);
    const auto claims = nlohmann::json::parse(ulplab({"claims", "--json", "--out", out.path().string()}).output);
    for (const char* key : {"id", "source", "statement", "expected", "measured", "verdict", "controls"}) {
        CHECK(claims.at(0).contains(key));
    }
    CHECK(claims.at(0).at("controls") == nlohmann::json::array({"control=wide"}));
}

TEST_CASE("claims tells of what is measured its verdicts by seed, what it needs, and the forms that failed before") {
    const auto rows = nlohmann::json::parse(ulplab({"claims", "--register", "both", "--json"}).output);
    std::size_t measured = 0;
    for (const nlohmann::json& row : rows) {
        if (row.at("kind") != "measured") continue;
        ++measured;
        INFO(row.at("id"));
        CHECK(row.at("verdicts").contains("1"));
        CHECK(row.at("sensitivity").is_object());
        CHECK(row.at("history").is_array());
        const auto& of_seeds = row.at("verdicts");
        const bool everywhere = std::ranges::all_of(of_seeds, [](const auto& v) { return v == "reproduced"; });
        CHECK(everywhere == (row.at("verdict") == "reproduced"));
        if (row.contains("parity") && row.at("parity").at("seeds") > 1) CHECK(row.at("p").contains("holm"));
    }
    CHECK(measured > 300);
    const Finished history = ulplab({"claims", "--history", "bert.next_sentence"});
    CHECK(history.exit_code == 0);
    CHECK(history.output.find("in the full register of 2026-11-25: failed") != std::string::npos);
    CHECK(history.output.find("measured 87.1 %") != std::string::npos);
    check_refused({"claims", "--history", "bert.nonesuch"}, 2, "the registers have no claim bert.nonesuch");
    const test::TemporaryFolder out;
    check_refused({"run", "swamping", "--set", "without=scale", "--out", out.path().string()}, 2,
                  "swamping trains nothing that has what without=scale would leave out");
    check_refused({"run", "swamping", "--set", "without=luck", "--out", out.path().string()}, 2, "without");
}

TEST_CASE("a register is made of this build's results alone") {
    const test::TemporaryFolder out;
    REQUIRE(ulplab({"run", "swamping", "--seed", "9", "--out", out.path().string()}, no_gnuplot).exit_code <= 1);
    const Finished made = ulplab({"dev", "register", "--register", "quick", "--out", out.path().string()});
    CHECK(made.exit_code == 0);
    CHECK(made.output.find("\"seed\":9") != std::string::npos);
    CHECK(made.output.find("\"statement\"") == std::string::npos);  // the texts are quick.json's
    check_refused({"dev", "register", "--register", "full", "--out", out.path().string()}, 3,
                  "these are quick runs with seed 9, and --register says full");
    auto manifest = nlohmann::json::parse(read_file(out / "swamping/manifest.json"));
    manifest["request"] = "another";
    write_file(out / "swamping/manifest.json", manifest.dump());
    check_refused({"dev", "register", "--out", out.path().string()}, 3,
                  "the result of swamping is of another build of ulplab");
}

TEST_CASE("a claim that failed is told by the exit code") {
    const test::TemporaryFolder out;
    const Finished run = ulplab(
        {"run", "swamping", "--set", "samples=100", "--set", "control=wide", "--out", out.path().string()}, no_gnuplot);
    CHECK(run.exit_code == 1);
    CHECK(run.output.find("made for the experiment's own settings; here ") != std::string::npos);
    CHECK(ulplab({"claims", "--out", out.path().string()}).exit_code == 1);
}

TEST_CASE("a record that was changed after its run is refused, and computed again by run") {
    const test::TemporaryFolder out;
    const auto run = [&] {
        return ulplab({"run", "swamping", "--set", "samples=100", "--out", out.path().string()}, no_gnuplot);
    };
    REQUIRE(run().exit_code == 0);
    std::string record = read_file(out / "swamping/result.json");
    const std::string verdict = "\"verdict\": \"reproduced\"";
    record.replace(record.find(verdict), verdict.size(), "\"verdict\": \"refuted\"");
    write_file(out / "swamping/result.json", record);
    for (const char* command : {"claims", "report"}) {
        check_refused({command, "--out", out.path().string()}, 3, "are not those that its manifest names");
    }
    for (const char* manifest : {"[]", "1", "null", "{\"results\": 3}", "", "a folder"}) {
        INFO(manifest);
        fs::remove_all(out / "swamping/manifest.json");
        if (manifest == std::string("a folder")) {
            fs::create_directory(out / "swamping/manifest.json");
        } else {
            write_file(out / "swamping/manifest.json", manifest);
        }
        const Finished again = run();
        CHECK(again.exit_code == 0);
        CHECK(again.output.find("complete already") == std::string::npos);
    }
    CHECK(run().output.find("complete already") != std::string::npos);
}

TEST_CASE("a result is safe from gnuplot, and drawn when gnuplot works") {
    const test::TemporaryFolder out;
    fs::create_directory(out / "bin");
    write_file(out / "bin/gnuplot", "#!/bin/sh\necho no fonts\nexit 1\n");
    fs::permissions(out / "bin/gnuplot", fs::perms::owner_all);
    const std::vector<std::string> arguments = {"run",         "swamping", "--set",
                                                "samples=100", "--out",    out.path().string()};
    const Finished run = ulplab(arguments, {"PATH=" + (out / "bin").string()});
    CHECK(run.exit_code == 3);
    CHECK(run.output.find("no fonts") != std::string::npos);
    CHECK(run.output.find("ulplab report --draw swamping --out") != std::string::npos);
    CHECK(ulplab({"claims", "--out", out.path().string()}).exit_code == 0);
    // A claim that failed is told before a figure that is missing.
    std::vector<std::string> failing = arguments;
    failing.insert(failing.end(), {"--set", "control=wide"});
    CHECK(ulplab(failing, {"PATH=" + (out / "bin").string()}).exit_code == 1);
    CHECK(ulplab(arguments, no_gnuplot).exit_code == 0);
    check_refused({"report", "--draw", "overflow", "--out", out.path().string()}, 3, "overflow");
    if (!has_gnuplot()) return;
    // A script that somebody put there is neither run nor touched by drawing, and survives another run.
    const std::string evil = "system('touch " + (out / "ran").string() + "')\n";
    write_file(out / "swamping/evil.gp", evil);
    write_file(out / "swamping/block.gp", evil);
    CHECK(ulplab({"report", "--draw", "--out", out.path().string()}).exit_code == 0);
    CHECK(fs::exists(out / "swamping/block.svg"));
    CHECK(read_file(out / "swamping/block.gp") != evil);
    CHECK(ulplab({"run", "swamping", "--seed", "2", "--out", out.path().string()}).exit_code == 0);
    CHECK(read_file(out / "swamping/evil.gp") == evil);
    CHECK_FALSE(fs::exists(out / "ran"));
}

TEST_CASE("drawing a received folder runs no command of it") {
    if (!has_gnuplot()) return;
    const test::TemporaryFolder out;
    REQUIRE(ulplab({"run", "swamping", "--set", "samples=100", "--out", out.path().string()}, no_gnuplot).exit_code ==
            0);
    const fs::path list = out / "swamping/figures.json";
    const fs::path ran = out / "ran";
    const std::string touch = "touch " + ran.string();
    const nlohmann::ordered_json own = nlohmann::ordered_json::parse(read_file(list));
    // What is received has digests of its own files.
    const auto receive = [&](const nlohmann::ordered_json& figures) {
        write_file(list, figures.dump());
        const fs::path names = out / "swamping/manifest.json";
        auto manifest = nlohmann::ordered_json::parse(read_file(names));
        manifest.at("results").at("figures.json") = sha256_of(read_file(list));
        write_file(names, manifest.dump());
    };
    // A line break would end the text in the script.
    for (const char* place : {"/0/title", "/0/caption", "/0/axes/x/label", "/0/axes/y/label", "/0/series/0",
                              "/0/looks/0/title", "/2/panels/0/title", "/0/guides/0/text", "/0/variables/text"}) {
        CAPTURE(std::string(place));
        auto received = own;
        received[nlohmann::ordered_json::json_pointer(place)] = "a\nsystem '" + touch + "'\n#";
        receive(received);
        for (const auto& command : {std::vector<std::string>{"report", "--draw", "swamping"},
                                    {"run", "swamping", "--set", "samples=100"},
                                    {"report", "--draw"}}) {
            std::vector<std::string> arguments = command;
            arguments.insert(arguments.end(), {"--out", out.path().string()});
            const Finished drawn = ulplab(arguments);
            CHECK(drawn.exit_code == 3);
            CHECK(drawn.output.find("has a line break or another control character") != std::string::npos);
            CHECK_FALSE(fs::remove(ran));
        }
    }
    // Templates hand no name to a shell, and no variable takes the place of the output's name, which may be "|program".
    for (const char* plot : {"", "pictures", "pairs", "stacked", "attention", "nets", "partial_sums"}) {
        CAPTURE(std::string(plot));
        auto received = own;
        auto& figure = received[2];
        figure["plot"] = plot;
        const std::string series = "'; " + touch + "; '$(" + touch + ")`" + touch + "`";
        figure["series"] = std::vector<std::string>(6, series);
        figure["title"] = figure["caption"] = "`" + touch + "` '.system('" + touch + "').' @figure";
        figure["axes"]["x"]["label"] = figure["looks"][0]["title"] = figure["panels"][0]["title"] = figure["title"];
        figure["axes"]["x"]["names"] = {{0, "'; " + touch}, {1, "`" + touch + "`"}};
        figure["notes"] = {{{"x", 0}, {"y", 0}, {"text", "'.system('" + touch + "').'"}}};
        figure["variables"] = {
            {"figure", "|" + touch}, {"format", "|" + touch}, {"pictures", 1}, {"pixels", 2}, {"rows", 1},
            {"title_text", "|x"},    {"scenes", 1},           {"side", 2}};
        receive(received);
        static_cast<void>(
            ulplab({"report", "--draw", "swamping", "--out", out.path().string()}));  // drawn, or refused by gnuplot
        CHECK_FALSE(fs::remove(ran));
    }
    // Nor a start-up file of gnuplot's, which says how somebody else wants figures.
    receive(own);
    write_file(out / ".gnuplot", "system '" + touch + "'\n");
    CHECK(ulplab({"report", "--draw", "swamping", "--out", out.path().string()}, {"HOME=" + out.path().string()})
              .exit_code == 0);
    CHECK_FALSE(fs::remove(ran));
}

TEST_CASE("a backend is refused that no product of the experiments would go through") {
    const test::TemporaryFolder out;
    check_refused({"run", "underflow", "--smoke", "--unit", "soft:v100", "--out", out.path().string()}, 2,
                  "underflow takes no --unit: it multiplies no matrices");
    check_refused({"run", "integer_products", "error_bounds", "--smoke", "--unit", "soft:v100"}, 2,
                  "integer_products takes no --unit: its sums go to");
    // Beside one that takes it the others run without.
    CHECK(ulplab({"run", "underflow", "training_step", "--smoke", "--unit", "soft:v100", "--out", out.path().string()},
                 no_gnuplot)
              .exit_code <= 1);
    CHECK(read_file(out / "underflow/result.json").find("\"backend\": \"\"") != std::string::npos);
    CHECK(read_file(out / "training_step/result.json").find("\"backend\": \"soft:v100\"") != std::string::npos);
}

TEST_CASE("runs that are not finite are drawn, too") {
    if (!has_gnuplot()) return;
    const test::TemporaryFolder out;
    // No run in fp16 has a finite loss, and no run at all a finite error.
    const Finished astray =
        ulplab({"run", "feedforward", "--smoke", "--set", "learning_rate=10", "--out", out.path().string()});
    CHECK(astray.exit_code == 1);
    CHECK(astray.output.find("cannot draw") == std::string::npos);
    CHECK(read_file(out / "feedforward/error.svg").find("No value is finite") != std::string::npos);
    CHECK(read_file(out / "feedforward/loss.svg").find("all seeds of fp32") != std::string::npos);
}

TEST_CASE("another file under the same path is another request") {
    const test::TemporaryFolder out;
    const fs::path text = out / "text";
    const auto skipped = [&](const std::string& content) {
        write_file(text, content);
        const Finished run = ulplab({"run", "char_lstm", "--set", "text=" + text.string(), "--set", "steps=2", "--set",
                                     "seeds=1", "--out", out.path().string()},
                                    no_gnuplot);
        INFO(run.output);
        REQUIRE(run.exit_code <= 1);  // two steps do not train
        return run.output.find("complete already") != std::string::npos;
    };
    std::string story;
    for (int i = 0; i < 400; ++i) story += "the cat sat on the mat " + std::to_string(i * i) + " ";
    CHECK_FALSE(skipped(story));
    CHECK(skipped(story));
    CHECK_FALSE(skipped(story + "."));
}

TEST_CASE("output that cannot be written is told") {
    for (const char* command : {"list", "models --json", "show 1", "formats"}) {
        INFO(command);
        const Finished run =
            run_program({"sh", "-c", std::string(ULPLAB_PROGRAM) + " " + command + " 2>&1 >/dev/full"});
        CHECK(run.exit_code == 3);
        CHECK(run.output.find("could not be written to the standard output") != std::string::npos);
    }
    CHECK(run_program({"sh", "-c", std::string(ULPLAB_PROGRAM) + " dev testfloat f16_add <&-"}).exit_code == 3);
}

TEST_CASE("settings under which nothing can be said are told, not crashed on") {
    const test::TemporaryFolder out;
    const Finished diverged = ulplab({"run", "gradient_histogram", "--set", "learning_rate=1", "--set", "steps=8",
                                      "--set", "hidden=16", "--set", "net_steps=8", "--out", out.path().string()},
                                     no_gnuplot);
    INFO(diverged.output);
    CHECK(diverged.exit_code <= 1);
    const Finished one_seed =
        ulplab({"run", "wavenet", "--set", "seeds=1", "--set", "steps=2", "--out", out.path().string()}, no_gnuplot);
    CHECK(one_seed.output.find("wavenet.curves_overlap: ") != std::string::npos);
    std::string deep(100000, '[');
    write_file(out / "deep.json", deep);
    check_refused({"run", "--grid", (out / "deep.json").string()}, 3, "nested more than");
}

TEST_CASE("without gnuplot the data and the templates stay, with the command to draw them") {
    const test::TemporaryFolder out;
    const Finished run =
        ulplab({"run", "swamping", "--set", "samples=100", "--out", out.path().string()}, {"PATH=/nonexistent"});
    CHECK(run.exit_code == 0);
    CHECK(run.output.find("gnuplot is not installed") != std::string::npos);
    CHECK_FALSE(fs::exists(out / "swamping/block.svg"));
    CHECK(fs::exists(out / "swamping/data.csv"));
    if (run_program({"sh", "-c", "command -v gnuplot"}).exit_code == 0) {
        CHECK(run_program({"gnuplot", "block.gp"}, out / "swamping").exit_code == 0);
        CHECK(fs::exists(out / "swamping/block.svg"));
        CHECK(fs::exists(out / "swamping/block.png"));
    }
}

TEST_CASE("the results of all experiments are the same with one thread and with two") {
    const test::TemporaryFolder out;
    std::map<std::string, std::string> digests;
    for (const char* threads : {"1", "2"}) {
        const fs::path to = out / threads;
        const Finished run = ulplab({"run", "all", "--smoke", "--out", to.string()},
                                    {std::string("OMP_NUM_THREADS=") + threads, "PATH=/nonexistent"});
        INFO(run.output);
        REQUIRE(run.exit_code <= 1);  // a few steps do not train: such claims may fail
        for (const Experiment& experiment : experiments()) {
            const std::string& name = experiment.name;
            const auto [place, first] = digests.try_emplace(name, digest_in(to / name));
            INFO(name);
            CHECK(place->second == digest_in(to / name));
            CHECK(first == (std::string(threads) == "1"));
        }
    }
}

TEST_CASE("what is complete is not run again, and only that") {
    const test::TemporaryFolder out;
    const auto run = [&](const std::string& samples, const std::vector<std::string>& more = {}) {
        std::vector<std::string> arguments = {"run",   "swamping",         "--set", "samples=" + samples,
                                              "--out", out.path().string()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Finished finished = ulplab(arguments, {"PATH=/nonexistent"});
        CHECK(finished.exit_code == 0);
        return finished.output.find("complete already") != std::string::npos;
    };
    CHECK_FALSE(run("100"));
    CHECK(run("100"));
    CHECK_FALSE(run("100", {"--force"}));
    CHECK_FALSE(run("100", {"--seed", "2"}));
    CHECK_FALSE(run("101"));
    write_file(out / "swamping/data.csv", "half a file");
    CHECK_FALSE(run("101"));
    CHECK(run("101"));
    // The figures that were missing are drawn without another run.
    if (run_program({"sh", "-c", "command -v gnuplot"}).exit_code == 0) {
        CHECK_FALSE(fs::exists(out / "swamping/block.svg"));
        const Finished drawn = ulplab({"run", "swamping", "--set", "samples=101", "--out", out.path().string()});
        CHECK(drawn.output.find("complete already") != std::string::npos);
        CHECK(fs::exists(out / "swamping/block.svg"));
    }
}

TEST_CASE("a sweep in shards gives the table that it gives at once, and resumes") {
    const test::TemporaryFolder out;
    const std::string file = (out / "grid.json").string();
    write_file(file,
               R"({"experiment": "swamping", "seeds": [1, 2], "settings": {"updates": 100, "samples": [100, 101]}})");
    const auto sweep = [&](const std::string& place, const std::vector<std::string>& more = {}) {
        std::vector<std::string> arguments = {"run", "--grid", file, "--out", (out / place).string()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Finished finished = ulplab(arguments);
        INFO(finished.output);
        CHECK(finished.exit_code == 0);
        return finished.output;
    };
    CHECK(sweep("a", {"--shard", "2/3"}).find("3 of 4 cases are still to be run") != std::string::npos);
    check_refused({"run", "--grid", file, "--out", (out / "a").string(), "--merge"}, 3, "is not complete");
    CHECK_FALSE(fs::exists(out / "a/sweeps/grid.csv"));
    sweep("a", {"--shard", "1/3"});
    CHECK(sweep("a", {"--shard", "3/3"}).find("grid.csv") != std::string::npos);
    CHECK(sweep("a").find("0 cases run, 4 complete already") != std::string::npos);
    sweep("b");
    for (const char* table : {"sweeps/grid.csv", "sweeps/grid_claims.csv"}) {
        CHECK(read_file(out / "a" / table) == read_file(out / "b" / table));
    }
    const std::string points = read_file(out / "a/sweeps/grid.csv");
    CHECK(points.starts_with(
        "experiment,mode,backend,seed,control,samples,updates,figure,series,x,x_bits,y,y_format,y_bits\n"
        "swamping,quick,,1,none,100,100,"));
    CHECK(points.find("\nswamping,quick,,2,none,101,100,") != std::string::npos);
    CHECK(read_file(out / "a/sweeps/grid_claims.csv").find(",swamping.rule_safe,reproduced,") != std::string::npos);
    const std::string list = sweep("c", {"--list", "--shard", "4/4"});
    CHECK(list.find("seed=2 control=none samples=101 updates=100") != std::string::npos);
    CHECK(std::count(list.begin(), list.end(), '\n') == 1);
    CHECK_FALSE(fs::exists(out / "c"));
}

TEST_CASE("a sweep that cannot be is refused before anything runs") {
    const test::TemporaryFolder out;
    const std::string file = (out / "grid.json").string();
    const auto refused = [&](const std::string& content, int exit_code, const std::string& sentence) {
        write_file(file, content);
        check_refused({"run", "--grid", file, "--out", (out / "to").string()}, exit_code, sentence);
    };
    check_refused({"run", "--grid", (out / "nowhere.json").string()}, 3, "nowhere.json");
    refused("{", 3, "grid.json: this is not a JSON object");
    refused("{}", 3, "must name one experiment");
    refused(R"({"experiment": "swamping", "seed": 1})", 3, "there is no key \"seed\"; choose from");
    refused(R"({"experiment": "swamping", "mode": "slow"})", 3, "\"full\" or \"published\"");
    refused(R"({"experiment": "fusion", "backends": ["soft:v100"]})", 3, "fusion takes no backend: it multiplies no");
    refused(R"({"experiment": "swamping", "seeds": []})", 3, "the list \"seeds\" is empty");
    refused(R"({"experiment": "swamping", "seeds": [1, -1]})", 3, "a seed is an integer from 0 on");
    refused(R"({"experiment": "swamping", "seeds": [1, 1]})", 3, "holds 1 twice");
    refused(R"({"experiment": "swamping", "settings": {"samples": {}}})", 3, "numbers or texts");
    refused(R"({"experiment": "swamping", "settings": {"samples": [1]}})", 2, "an integer from 100");
    refused(R"({"experiment": "swamping", "settings": {"simples": [1]}})", 2, "there is no setting \"simples\"");
    refused(R"({"experiment": "swapping"})", 2, "there is no experiment \"swapping\"");
    refused(R"({"experiment": "swamping", "backends": ["soft:z80"]})", 2, "soft:z80");
    write_file(file, R"({"experiment": "swamping"})");
    for (const char* shard : {"0/2", "3/2", "2", "1/2/3", "a/b"}) {
        check_refused({"run", "--grid", file, "--shard", shard}, 2, "--shard takes i/n");
    }
    CHECK_FALSE(fs::exists(out / "to"));
}

TEST_CASE("the seed changes the random parts, and nothing else does") {
    const test::TemporaryFolder out;
    const auto digest_of = [&](const std::string& seed, const std::string& place) {
        CHECK(ulplab({"run", "swamping", "--set", "samples=100", "--seed", seed, "--out", (out / place).string()},
                     {"PATH=/nonexistent"})
                  .exit_code == 0);
        return digest_in(out / place / "swamping");
    };
    const std::string first = digest_of("1", "a");
    CHECK(first == digest_of("1", "b"));
    CHECK(first != digest_of("2", "c"));
}

TEST_CASE("a program of its own does what `ulplab run` does") {
    const test::TemporaryFolder out;
    const fs::path program = fs::path(ULPLAB_PROGRAM).parent_path() / "swamping";
    CHECK(run_program({program.string(), "--set", "samples=100", "--out", (out / "own").string()}).exit_code == 0);
    CHECK(ulplab({"run", "swamping", "--set", "samples=100", "--out", (out / "run").string()}).exit_code == 0);
    CHECK(digest_in(out / "own/swamping") == digest_in(out / "run/swamping"));
    const Finished help = run_program({program.string(), "--help"});
    CHECK(help.exit_code == 0);
    for (const char* option : {"--seed", "--out", "--quick", "--full", "--set", "--unit", "--json", "samples"}) {
        CHECK(help.output.find(option) != std::string::npos);
    }
}

TEST_CASE("results as JSON are a list of records on stdout") {
    const test::TemporaryFolder out;
    const Finished run = ulplab({"run", "swamping", "--set", "samples=100", "--json", "--out", out.path().string()});
    CHECK(run.exit_code == 0);
    // Where gnuplot is missing, stderr says so before.
    const auto records = nlohmann::json::parse(run.output.substr(std::min(run.output.find('['), run.output.size())));
    CHECK(records.at(0).at("experiment") == "swamping");
}

TEST_CASE("run prints its answer and how many claims hold, with --verbose every claim") {
    const test::TemporaryFolder out;
    const std::vector<std::string> arguments = {"run", "overflow", "--out", out.path().string()};
    const Finished run = ulplab(arguments, no_gnuplot);
    CHECK(run.exit_code == 0);
    CHECK(std::count(run.output.begin(), run.output.end(), '\n') <= 20);
    CHECK(run.output.find("answer: With the sum of squares in fp16 the norm is infinite from N = 4095 on.") !=
          std::string::npos);
    CHECK(run.output.find("34 claims: 34 reproduced; --verbose prints all") != std::string::npos);
    CHECK(run.output.find("results: " + (out / "overflow").string()) != std::string::npos);
    std::vector<std::string> verbose = arguments;
    verbose.emplace_back("--verbose");
    const std::string all = ulplab(verbose, no_gnuplot).output;
    CHECK(all.find("overflow.softmax_fp16_shifted: 0.0 ulps") != std::string::npos);
    CHECK(all.find("67 products on sm_70:mma.fp16.fp16") != std::string::npos);
}

TEST_CASE("doctor tells what there is") {
    const test::TemporaryFolder out;
    const Finished finished = ulplab({"doctor", "--out", out.path().string()});
    CHECK(finished.exit_code == 0);
    const auto parsed = nlohmann::json::parse(ulplab({"doctor", "--json", "--out", out.path().string()}).output);
    for (const char* what : {"compiler", "processor", "packages", "gnuplot", "nvcc", "GPU", "output"}) {
        CHECK(finished.output.find(what) != std::string::npos);
        CHECK(parsed.contains(what));
    }
}

TEST_CASE("show prints a value in every format or in those named, as text and as JSON") {
    const Finished table = ulplab({"show", "0.1"});
    CHECK(table.exit_code == 0);
    CHECK(table.output.find("fp16      0x2E66              0.0999755859375        -0.4") != std::string::npos);
    const Finished negative = ulplab({"show", "-0.1", "--format", "fp16", "--rounding", "down"});
    CHECK(negative.exit_code == 0);
    CHECK(negative.output.find("0xAE67  = 1 01011 1001100111") != std::string::npos);
    const Finished json = ulplab({"show", "0.1", "--format", "fp16", "--json", "--format", "e4m3"});
    const auto parsed = nlohmann::json::parse(json.output);
    CHECK(parsed.size() == 2);
    CHECK(parsed.at(0).at("above_bits") == "0x2E67");
    CHECK(parsed.at(0).at("error") == "-2.44140625e-5");
    CHECK(parsed.at(1).at("error_in_ulps") == "0.2");
    const Finished behind = ulplab({"show", "--format", "fp16", "--", "-0.1"});
    CHECK(behind.output.find("0xAE66") != std::string::npos);
    CHECK(ulplab({"show", "500", "--format", "e4m3"}).output.find("nan") != std::string::npos);
    const Finished saturated = ulplab({"show", "500", "--format", "e4m3", "--saturate"});
    CHECK(saturated.output.find("448") != std::string::npos);
    CHECK(saturated.output.find("overflow") != std::string::npos);
    CHECK(ulplab({"show", "-inf", "--format", "fp16", "--saturate"}).output.find("-65504") != std::string::npos);
    check_refused({"show"}, 2, "show needs a VALUE");
    for (const char* mode : {"foo", "stochastic"}) {
        const Finished refused = ulplab({"show", "0.1", "--rounding", mode});
        CHECK(refused.exit_code == 2);
        CHECK(refused.output.find("choose one of nearest_even, nearest_away, toward_zero, down, up, odd\n") !=
              std::string::npos);
    }
    check_refused({"show", "bits:3C00G"}, 2, "'bits:3C00G': give hexadecimal digits behind bits:");
    check_refused({"show", "1,5"}, 2, "'1,5' is not a number");
    check_refused({"show", "1", "2"}, 2, "show takes one VALUE");
    check_refused({"show", "1", "--format", "fp17"}, 2, "there is no format 'fp17'");
    check_refused({"show", "1", "--rounding", "sideways"}, 2, "show has no rounding mode 'sideways'");
    const Finished none = ulplab({"show", "nan", "--format", "e2m1"});
    CHECK(none.exit_code == 0);
    CHECK(none.output.find("flags      invalid") != std::string::npos);
}

TEST_CASE("codes lists every code of a format, NaNs included, as it is") {
    for (const std::string name : {"fp16", "bf16", "e4m3", "e5m2", "e4m3fnuz", "e8m0", "e2m3", "e2m1"}) {
        CAPTURE(name);
        std::istringstream lines(ulplab({"codes", name}).output);
        std::string line;
        std::getline(lines, line);
        unsigned long code = 0, different = 0;
        for (; std::getline(lines, line); ++code) different += std::stoul(line, nullptr, 16) != code ? 1 : 0;
        CHECK(different == 0);
        CHECK(code == 1UL << format_by_name(name).code_bits());
    }
}

TEST_CASE("codes --exact prints values as P3109's tables have them") {
    CHECK(ulplab({"codes", "binary3p1se", "--exact"}).output == "0\n+1p-1\n+1p0\n+inf\nnan\n-1p-1\n-1p0\n-inf\n");
    CHECK(ulplab({"codes", "binary3p3uf", "--exact"}).output == "0\n+1p-2\n+1p-1\n+3p-2\n+1p0\n+5p-2\n+3p-1\nnan\n");
    CHECK(ulplab({"codes", "int4", "--exact"}).output.starts_with("0\n+1p0\n+1p1\n+3p0\n"));
    check_refused({"codes", "e4m3", "--exact", "--json"}, 2, "leave one out");
    check_refused({"codes", "/none/at/all.json"}, 3, "/none/at/all.json");
}

TEST_CASE("show takes P3109's formats, files, saturation modes, and hints at storage words") {
    CHECK(test::says(ulplab({"show", "1e9", "--format", "binary8p3se", "--saturate=SatPropagate"}), "49152"));
    CHECK(test::says(ulplab({"show", "inf", "--format", "binary8p3se", "--saturate=SatPropagate"}),
                     "class      infinity"));
    CHECK(test::says(ulplab({"show", "inf", "--format", "binary8p3se", "--saturate"}), "49152"));
    CHECK(test::says(ulplab({"show", "1e9", "--format", "binary8p4sf"}), "240"));
    check_refused({"show", "1", "--saturate=SatFinit"}, 2, "did you mean SatFinite?");
    const Finished hint = ulplab({"show", "0x3C00", "--format", "fp16"});
    CHECK(hint.exit_code == 0);
    CHECK(test::says(hint, "15360"));
    CHECK(test::says(hint, "0x3C00 is read as the number; bits:3C00 is the storage word"));
    CHECK_FALSE(test::says(ulplab({"show", "0x1.8p0", "--format", "fp16"}), "storage word"));
    CHECK(test::says(ulplab({"show", "--format", "hif8", "--", "-0.1"}), "hif8: HiFloat8"));
    CHECK(test::says(ulplab({"show", "1e9000", "--format", "binary16p1ue"}), "0x1p+29897"));
}

TEST_CASE("codes as JSON are the codes of the table") {
    const auto codes = nlohmann::json::parse(ulplab({"codes", "e2m1", "--json"}).output);
    CHECK(codes.size() == 16);
    CHECK(codes.at(1).at("shortest") == "0.5");
    CHECK(codes.at(1).at("ulp_exponent") == -1);
}

TEST_CASE("formats lists every format, or the one that is named") {
    CHECK(nlohmann::json::parse(ulplab({"formats", "bf16", "--json"}).output).size() == 1);
    CHECK(ulplab({"formats"}).output.find("65504") != std::string::npos);
    const auto parsed = nlohmann::json::parse(ulplab({"formats", "--json"}).output);
    CHECK(parsed.size() == 26);
    CHECK(parsed.at(4).at("name") == "fp16");
    CHECK(parsed.at(4).at("largest") == 65504);
}

TEST_CASE("testfloat filters lines from the standard input") {
    const test::TemporaryFolder folder;
    const auto filter = [&](const std::string& lines, const std::string& options) {
        write_file(folder / "operands", lines);
        return run_program({"sh", "-c",
                            std::string(ULPLAB_PROGRAM) + " dev testfloat " + options + " < '" +
                                (folder / "operands").string() + "' 2>&1"});
    };
    const Finished good = filter("3C00 4200 anything\n", "f16_div --rounding max --tininess before");
    CHECK(good.exit_code == 0);
    CHECK(good.output == "3C00 4200 3556 01\n");
    const Finished bad = filter("3C00 4200\n3C00\n", "f16_div");
    CHECK(bad.exit_code == 3);
    CHECK(bad.output.find("line 2 has only 1 fields") != std::string::npos);
    check_refused({"dev", "testfloat", "f16_pow"}, 2, "there is no operation 'f16_pow'");
    check_refused({"dev", "testfloat", "f16_add", "--rounding", "inward"}, 2, "there is no rounding mode 'inward'");
    check_refused({"dev", "testfloat", "f16_add", "--tininess", "never"}, 2, "--tininess");
}

TEST_CASE("show prints a number in every format, correctly rounded") {
    const auto shown = [](const std::string& value, const std::string& format, const std::string& rounding) {
        const Finished finished = ulplab({"show", value, "--format", format, "--json", "--rounding", rounding});
        INFO(finished.output);
        REQUIRE(finished.exit_code == 0);
        return nlohmann::json::parse(finished.output).at(0);
    };
    const auto tenth = shown("0.1", "fp16", "nearest_even");
    CHECK(tenth.at("bits") == "0x2E66");
    CHECK(tenth.at("value") == "0.0999755859375");
    CHECK(tenth.at("below") == "0.0999");
    CHECK(tenth.at("above") == "0.10004");
    CHECK(tenth.at("ulp") == 0x1p-14);
    CHECK(shown("0.1", "fp16", "up").at("bits") == "0x2E67");
    CHECK(shown("-0.1", "bf16", "down").at("bits") == "0xBDCD");
    CHECK(shown("65520", "fp16", "nearest_even").at("value") == "inf");
    CHECK(shown("65520", "fp16", "toward_zero").at("bits") == "0x7BFF");
    CHECK(shown("65504", "fp16", "nearest_even").at("ulp") == 32);
    CHECK(shown("0x1p-25", "fp16", "nearest_even").at("bits") == "0x0000");
    CHECK(shown("nan", "e4m3", "nearest_even").at("bits") == "0x7F");
    const std::string all = ulplab({"show", "1.1"}).output;
    for (const char* bits : {"0x3F8CCCCD", "0x3F8CC000", "0x3F8D", "0x3C66"})
        CHECK(all.find(bits) != std::string::npos);
}
