#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "engine/files/safetensors.hpp"
#include "engine/files/stored_arrays.hpp"
#include "engine/tensor/random.hpp"
#include "engine/training/checkpoint.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/names.hpp"
#include "softfloat/round.hpp"
#include "tests/engine/training/resume_net.hpp"

extern char** environ;

namespace {

using namespace ulp;
using ulp::test::ResumeRun;
namespace fs = std::filesystem;

struct Folder {
    fs::path path = fs::temp_directory_path() / ("ulplab_checkpoint_" + std::to_string(::getpid()) + "_" +
                                                 std::to_string(reinterpret_cast<std::uintptr_t>(this)));
    Folder() { fs::create_directories(path); }
    ~Folder() { fs::remove_all(path); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
};

std::string contents_of(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}
void write(const fs::path& file, const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; }

TEST_CASE("safetensors hold tensors of every stored type, with their formats and bits") {
    const Folder folder;
    Safetensors out;
    out.metadata["note"] = "a \"quoted\" text";
    for (const char* name : {"fp32", "fp16", "bf16", "e4m3", "e5m2", "tf32"}) {
        const FloatFormat format = format_by_name(name);
        Tensor tensor({2, 3}, format);
        for (Index i = 0; i < 6; ++i) tensor[i] = round_to(format, static_cast<float>(i) * -0.37F);
        out.tensors.emplace(name, tensor);
    }
    out.tensors.emplace("scalar", Tensor(Shape{}));
    out.tensors.emplace("nothing", Tensor({0, 4}));
    write_safetensors(folder.path / "t", out);
    const Safetensors in = read_safetensors(folder.path / "t");
    CHECK(in.metadata == out.metadata);
    REQUIRE(in.tensors.size() == out.tensors.size());
    for (const auto& row : out.tensors) {
        const std::string& name = row.first;
        const Tensor& tensor = row.second;
        CAPTURE(name);
        const Tensor& read = in.tensors.at(name);
        CHECK(read.shape() == tensor.shape());
        CHECK(read.format() == (name == "tf32" ? formats::fp32 : tensor.format()));
        CHECK(Sha256().add(read.values()).hex() == Sha256().add(tensor.values()).hex());
    }
    CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 1);  // nothing temporary left
}

TEST_CASE("a safetensors file that is cut short anywhere, or damaged, is refused") {
    const Folder folder;
    Safetensors out;
    out.tensors.emplace("a", Tensor({3}));
    out.tensors.emplace("b", Tensor({5}, formats::fp16));
    const fs::path file = folder.path / "t";
    write_safetensors(file, out);
    const std::string whole = contents_of(file);
    int refused = 0;
    for (std::size_t length = 0; length < whole.size(); ++length) {
        write(file, whole.substr(0, length));
        try {
            (void)read_safetensors(file);
        } catch (const DataError&) {
            ++refused;
        }
    }
    CHECK(refused == static_cast<int>(whole.size()));
    std::string other_type = whole;
    other_type.replace(other_type.find("F16"), 3, "X16");
    write(file, other_type);
    CHECK_THROWS_WITH_AS((void)read_safetensors(file),
                         doctest::Contains("b is of type X16, which the format does not know"), DataError);
    std::string other_shape = whole;
    other_shape.replace(other_shape.find("[5]"), 3, "[6]");
    write(file, other_shape);
    CHECK_THROWS_WITH_AS((void)read_safetensors(file), doctest::Contains("the place of b does not fit its shape"),
                         DataError);
    const auto placed = [&](const char* offsets) {
        std::string text = whole;
        const auto at = text.find("[12,22]");
        REQUIRE(at != std::string::npos);
        write(file, text.replace(at, 7, offsets));
    };
    placed("[11,21]");
    CHECK_THROWS_WITH_AS((void)read_safetensors(file), doctest::Contains("a gap or an overlap before b"), DataError);
    placed("[13,23]");
    CHECK_THROWS_WITH_AS((void)read_safetensors(file), doctest::Contains("b lies beyond its end"), DataError);
    placed("[-1, 9]");
    CHECK_THROWS_WITH_AS((void)read_safetensors(file), doctest::Contains("the place of b is malformed"), DataError);
    placed("[1e1,9]");
    CHECK_THROWS_WITH_AS((void)read_safetensors(file), doctest::Contains("the place of b is malformed"), DataError);
    write(file, whole + "more");
    CHECK_THROWS_WITH_AS((void)read_safetensors(file), doctest::Contains("4 bytes after its last tensor"), DataError);
    const std::string twice =
        R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
    write(file, std::string(1, static_cast<char>(twice.size())) + std::string(7, '\0') + twice + "!");
    CHECK_THROWS_WITH_AS((void)read_safetensors(file), doctest::Contains("the name \"x\" stands twice"), DataError);
    const std::string deep(200, '[');
    write(file, std::string(1, static_cast<char>(deep.size())) + std::string(7, '\0') + deep);
    CHECK_THROWS_WITH_AS((void)read_safetensors(file), doctest::Contains("brackets"), DataError);
    write(file, std::string("\x10\0\0\0\0\0\0\0not json at all!", 24));
    CHECK_THROWS_WITH_AS((void)read_safetensors(file), doctest::Contains("its header is not JSON"), DataError);
    CHECK_THROWS_AS((void)read_safetensors(folder.path / "missing"), DataError);
    CHECK_THROWS_AS(write_safetensors(folder.path / "no" / "folder", out), DataError);
}

TEST_CASE("a checkpoint with a number that no run has is refused, and the run stays as it was") {
    const Folder folder;
    const fs::path file = folder.path / "checkpoint";
    test::ResumeRun run;
    (void)run.step();
    save_checkpoint(file, run.trainer);
    const std::string before = run.digest();
    const Safetensors sound = read_safetensors(file);
    const auto refused = [&](const std::string& name, const std::string& value) {
        CAPTURE(name + " = " + value);
        Safetensors damaged = sound;
        REQUIRE(damaged.metadata.contains(name));
        damaged.metadata[name] = value;
        damaged.metadata["sha256"] = checksum_of(damaged);
        write_safetensors(file, damaged);
        CHECK_THROWS_WITH_AS(load_checkpoint(file, run.trainer),
                             doctest::Contains(name.substr(name.find('/') + 1).c_str()), DataError);
        CHECK(run.digest() == before);
        CHECK(run.trainer.steps() == 1);
    };
    for (const char* value : {"-5", "nan", "inf", "1e300", "-1e18", "9223372036854775808", "59.5", "seven"}) {
        refused("step", value);
        refused("optimizer_steps", value);
    }
    for (const char* value : {"nan", "-1", "0", "1e300", "inf"}) refused("scaler/scale", value);
    for (const char* value : {"nan", "1e300"}) refused("scaler/growth_tracker", value);
    refused("format", "3");
    Safetensors earlier = sound;
    earlier.metadata.erase("format");
    earlier.metadata["sha256"] = checksum_of(earlier);
    write_safetensors(file, earlier);
    CHECK_THROWS_WITH_AS(load_checkpoint(file, run.trainer),
                         doctest::Contains("is a checkpoint of format 1, this ulplab reads format 2"), DataError);
    write_safetensors(file, sound);
    load_checkpoint(file, run.trainer);
    CHECK(run.digest() == before);
}

TEST_CASE("safetensors of types that are not read are skipped, and named when one is asked for") {
    const Folder folder;
    const fs::path file = folder.path / "t";
    const auto file_of = [](const std::string& header, std::size_t bytes) {
        std::string text(8, '\0');
        text[0] = static_cast<char>(header.size());
        return text + header + std::string(bytes, '\1');
    };
    struct Case {
        const char* type;
        const char* shape;
        const char* bytes;
    };
    for (const Case& c : {Case{"I64", "[2]", "16"},
                          {"F64", "[1]", "8"},
                          {"BOOL", "[3]", "3"},
                          {"C64", "[1]", "8"},
                          {"U64", "[1]", "8"},
                          {"I32", "[1]", "4"},
                          {"U32", "[1]", "4"},
                          {"U16", "[1]", "2"},
                          {"I16", "[1]", "2"},
                          {"I8", "[1]", "1"},
                          {"U8", "[1]", "1"},
                          {"F4", "[4]", "2"},
                          {"F6_E2M3", "[2,2]", "3"},
                          {"F6_E3M2", "[4]", "3"}}) {
        CAPTURE(std::string(c.type));
        const std::string header = fmt::format(
            R"({{"x":{{"dtype":"{0}","shape":{1},"data_offsets":[0,{2}]}},"y":{{"dtype":"U8","shape":[0],"data_offsets":[{2},{2}]}}}})",
            c.type, c.shape, c.bytes);
        write(file, file_of(header, std::stoul(c.bytes)));
        const Safetensors in = read_safetensors(file);
        CHECK(in.tensors.empty());
        CHECK(in.skipped == std::map<std::string, std::string>{{"x", c.type}, {"y", "U8"}});
        CHECK_THROWS_WITH_AS((void)in.tensor(file, "x"), doctest::Contains("which is not read here; save it as F32"),
                             DataError);
        CHECK_THROWS_WITH_AS((void)in.tensor(file, "z"), doctest::Contains("no tensor 'z'"), DataError);
    }
    write(file, file_of(R"({"x":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})", 2));
    CHECK_THROWS_WITH_AS((void)read_safetensors(file), doctest::Contains("does not fit its shape"), DataError);
    write(file, file_of(R"({"x":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0));
    CHECK_THROWS_WITH_AS((void)read_safetensors(file), doctest::Contains("the shape of x is too large"), DataError);
    write(file, file_of(R"({"x":{"dtype":"U8","shape":[281474976710656],"data_offsets":[0,0]}})", 0));
    CHECK_THROWS_WITH_AS((void)read_safetensors(file), doctest::Contains("does not fit its shape"), DataError);
}

TEST_CASE(
    "numbers of every type come from safetensors, packed codes from their lowest bit on, in the order of the file") {
    const Folder folder;
    const fs::path file = folder.path / "t";
    struct Case {
        const char* type;
        const char* shape;
        std::string bytes;
        std::vector<float> numbers;
    };
    for (const Case& c : {Case{"U8", "[2]", "\xC8\x01", {200, 1}},
                          {"BOOL", "[2]", std::string("\x01\x00", 2), {1, 0}},
                          {"I8", "[2]", "\xFD\x07", {-3, 7}},
                          {"U16", "[1]", std::string("\x00\xFF", 2), {65280}},
                          {"I16", "[1]", "\xFE\xFF", {-2}},
                          {"U32", "[1]", std::string("\x00\x00\x00\x80", 4), {2147483648.0F}},
                          {"I32", "[1]", std::string("\x00\x00\x00\x80", 4), {-2147483648.0F}},
                          {"U64", "[1]", std::string(7, '\0') + "\x80", {9223372036854775808.0F}},
                          {"I64", "[1]", "\xFB" + std::string(7, '\xFF'), {-5}},
                          {"F64", "[1]", std::string(6, '\0') + "\xF8\xBF", {-1.5F}},
                          // E2M1: codes 1, 2, F, 7; E2M3: 1, 8, 20, 1F; E3M2: 1, 4, 20, 1F.
                          {"F4", "[4]", "\x21\x7F", {0.5F, 1, -6, 6}},
                          {"F6_E2M3", "[4]", "\x01\x02\x7E", {0.125F, 1, -0.0F, 7.5F}},
                          {"F6_E3M2", "[4]", "\x01\x01\x7E", {0.0625F, 0.25F, -0.0F, 28}}}) {
        CAPTURE(std::string(c.type));
        const std::string header = fmt::format(R"({{"x":{{"dtype":"{}","shape":{},"data_offsets":[0,{}]}}}})", c.type,
                                               c.shape, c.bytes.size());
        write(file, std::string(1, static_cast<char>(header.size())) + std::string(7, '\0') + header + c.bytes);
        CHECK(safetensors_arrays(file).at("x").numbers() == c.numbers);
    }
    const std::string two = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},)"
                            R"("b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})";
    write(file, std::string(1, static_cast<char>(two.size())) + std::string(7, '\0') + two + "xyz");
    const std::vector<StoredBytes> tensors = stored_bytes(file);
    REQUIRE(tensors.size() == 2);
    CHECK(tensors[0].name == "b");
    CHECK(tensors[1].name == "a");
    CHECK(tensors[1].open()() == "z");
}

TEST_CASE("every code of the stored types comes back from safetensors, NaNs with sign and payload") {
    const Folder folder;
    Safetensors out;
    for (const char* name : {"fp16", "bf16", "e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0"}) {
        const FloatFormat format = format_by_name(name);
        Tensor tensor({Index{1} << format.code_bits()}, format);
        for (Index i = 0; i < tensor.size(); ++i) tensor[i] = in_fp32_container(format, static_cast<std::uint32_t>(i));
        out.tensors.emplace(name, tensor);
    }
    write_safetensors(folder.path / "t", out);
    const Safetensors in = read_safetensors(folder.path / "t");
    for (const auto& row : out.tensors) {
        const Tensor& read = in.tensors.at(row.first);
        CHECK(read.format() == row.second.format());
        int different = 0;
        for (Index i = 0; i < read.size(); ++i) {
            different += operand_code(read.format(), read[i]) != static_cast<std::uint32_t>(i) ? 1 : 0;
        }
        CHECK(different == 0);
    }
}

TEST_CASE("a safetensors file with any byte changed is refused or read, never more") {
    const Folder folder;
    Safetensors out;
    out.tensors.emplace("a", Tensor({2}));
    out.tensors.emplace("b", Tensor({1, 3}, formats::fp16));
    const fs::path file = folder.path / "t";
    write_safetensors(file, out);
    const std::string whole = contents_of(file);
    int refused = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) {
        for (const char byte : {'\0', '9', '-', '[', '"', '\xFF'}) {
            std::string text = whole;
            text[i] = byte;
            write(file, text);
            try {
                (void)read_safetensors(file);
            } catch (const DataError&) {
                ++refused;
            }
        }
    }
    CHECK(refused > static_cast<int>(whole.size()));
}

TEST_CASE("a run that resumes from a checkpoint gives the bits of one that never stopped") {
    const Folder folder;
    ResumeRun straight;
    bool skipped = false;
    for (int i = 0; i < 14; ++i) skipped = straight.step().skipped || skipped;
    CHECK(skipped);
    for (int stop = 0; stop < 14; stop += 3) {
        ResumeRun before;
        for (int i = 0; i < stop; ++i) before.step();
        save_checkpoint(folder.path / "c", before.trainer);
        ResumeRun after;
        load_checkpoint(folder.path / "c", after.trainer);
        CHECK(after.trainer.steps() == stop);
        for (int i = stop; i < 14; ++i) after.step();
        CHECK(after.digest() == straight.digest());
    }
}

TEST_CASE("runs whose optimizer keeps other tensors, or in other formats, go on from a checkpoint bit for bit") {
    const Folder folder;
    for (const char* name : {"bf16_weights", "bf16_sr", "bf16_kahan", "bf16_moments", "msamp_o2"}) {
        CAPTURE(name);
        const auto start = [&] {
            return std::make_unique<ResumeRun>(7, 12, OptimizerKind::adam, recipe_by_name(name));
        };
        const auto straight = start();
        for (int i = 0; i < 6; ++i) straight->step();
        const auto before = start();
        for (int i = 0; i < 3; ++i) before->step();
        save_checkpoint(folder.path / "c", before->trainer);
        const auto after = start();
        load_checkpoint(folder.path / "c", after->trainer);
        for (int i = 3; i < 6; ++i) after->step();
        CHECK(after->digest() == straight->digest());
        CHECK(after->digest() != before->digest());
    }
}

TEST_CASE("a checkpoint of another run is refused, and the trainer stays as it was") {
    const Folder folder;
    const fs::path file = folder.path / "c";
    ResumeRun run;
    run.step();
    save_checkpoint(file, run.trainer);
    const auto refuses = [&](ResumeRun& other, const char* why) {
        const std::string before = other.digest();
        CHECK_THROWS_WITH_AS(load_checkpoint(file, other.trainer), doctest::Contains(why), DataError);
        CHECK(other.digest() == before);
        CHECK(other.trainer.steps() == 0);
    };
    ResumeRun other_seed(8);
    refuses(other_seed, "the checkpoint was made with seed 7, this run has seed 8");
    ResumeRun other_width(7, 13);
    refuses(other_width, "it is a checkpoint of another net");
    ResumeRun other_optimizer(7, 12, OptimizerKind::sgd);
    refuses(other_optimizer, "the checkpoint was made with optimizer.kind adam, this run has optimizer.kind sgd");
    ResumeRun more;
    const Linear extra(more.trainer.model(), "extra", 2, 2);
    refuses(more, "no tensor 'extra.weight'; it is a checkpoint of another net");
    const std::string whole = contents_of(file);
    write(file, whole.substr(0, whole.size() - 1));
    ResumeRun same;
    refuses(same, "cut short");
    write(file, "");
    refuses(same, "shorter than a header");
}

TEST_CASE("a checkpoint is refused with the first difference named, and what the user adds comes first") {
    const Folder folder;
    const fs::path file = folder.path / "c";
    const RunIdentity batch32 = {{"--batch", "32"}};
    const auto message_of = [&](ResumeRun& run, const RunIdentity& more) -> std::string {
        try {
            load_checkpoint(file, run.trainer, more);
        } catch (const DataError& error) {
            return error.what();
        }
        return "";
    };
    ResumeRun run;
    run.step();
    save_checkpoint(file, run.trainer, batch32);
    ResumeRun same;
    CHECK(message_of(same, batch32).empty());
    const std::string made = file.string() + ": the checkpoint ";
    ResumeRun other(8);
    CHECK(message_of(other, {{"--batch", "64"}}) == made + "was made with --batch 32, this run has --batch 64");
    CHECK(message_of(other, batch32) == made + "was made with seed 7, this run has seed 8");
    CHECK(message_of(same, {}) == made + "was made with --batch 32, this run has no --batch");
    CHECK(message_of(same, {{"--batch", "32"}, {"data", "x"}}) == made + "was made without data, this run has data x");
    struct Change {
        const char* sentence;
        void (*change)(Recipe&);
    };
    for (const Change& c :
         {Change{"recipe.low fp16, this run has recipe.low bf16", [](Recipe& recipe) { recipe.low = formats::bf16; }},
          {"loss_scale.window 3, this run has loss_scale.window 4",
           [](Recipe& recipe) { recipe.loss_scale.window = 4; }},
          {"recipe.fused none, this run has recipe.fused relu", [](Recipe& recipe) { recipe.fused = {"relu"}; }},
          {"recipe.b_operand none, this run has recipe.b_operand fp16",
           [](Recipe& recipe) { recipe.b_operand = formats::fp16; }}}) {
        Recipe recipe = test::resume_recipe();
        c.change(recipe);
        ResumeRun changed(7, 12, OptimizerKind::adam, recipe);
        CHECK(message_of(changed, batch32) == made + "was made with " + c.sentence);
    }
    // Every field has a name of its own.
    std::map<std::string, std::string> names;
    for (const auto& [name, value] : identity_of(run.trainer)) CHECK(names.emplace(name, value).second);
}

TEST_CASE("a checkpoint with any byte changed is refused, or is the same") {
    const Folder folder;
    const fs::path file = folder.path / "c";
    ResumeRun run;
    run.step();
    save_checkpoint(file, run.trainer);
    const std::string before = run.digest();
    const std::string whole = contents_of(file);
    Random random(1);
    int refused = 0;
    for (int i = 0; i < 400; ++i) {
        std::string text = whole;
        text[static_cast<std::size_t>(random.below(whole.size()))] ^= static_cast<char>(1 << random.below(8));
        write(file, text);
        ResumeRun other;
        try {
            load_checkpoint(file, other.trainer);
            CHECK(other.digest() == before);  // a blank in the header became another
        } catch (const DataError&) {
            ++refused;
        }
    }
    CHECK(refused > 390);
}

TEST_CASE("weights alone, and a run without its optimizer's tensors, are no checkpoint") {
    const Folder folder;
    const fs::path file = folder.path / "c";
    ResumeRun run;
    while (run.trainer.optimizer().steps() == 0) run.step();  // the first are skipped
    Safetensors weights;
    for (const Parameter& p : run.trainer.model().parameters()) weights.tensors.emplace(p.name, p.value);
    write_safetensors(file, weights);
    ResumeRun same;
    CHECK_THROWS_WITH_AS(load_checkpoint(file, same.trainer), doctest::Contains("--weights"), DataError);
    save_checkpoint(file, run.trainer);
    Safetensors contents = read_safetensors(file);
    std::erase_if(contents.tensors, [](const auto& entry) { return entry.first.starts_with("optimizer/"); });
    write_safetensors(file, contents);
    CHECK_THROWS_WITH_AS(load_checkpoint(file, same.trainer), doctest::Contains("is damaged"), DataError);
    contents.metadata["sha256"] = checksum_of(contents);
    write_safetensors(file, contents);
    CHECK_THROWS_WITH_AS(load_checkpoint(file, same.trainer), doctest::Contains("optimizer's tensors are missing"),
                         DataError);
}

TEST_CASE("the trace of a run that was resumed has the digest of one that never stopped") {
    const Folder folder;
    const fs::path file = folder.path / "c";
    ResumeRun straight;
    straight.trainer.keep_trace = true;
    for (int i = 0; i < 6; ++i) straight.step();
    for (int stop = 0; stop <= 6; stop += 2) {
        ResumeRun before;
        before.trainer.keep_trace = true;
        for (int i = 0; i < stop; ++i) before.step();
        save_checkpoint(file, before.trainer);
        ResumeRun after;
        after.trainer.keep_trace = true;
        load_checkpoint(file, after.trainer);
        CHECK(after.trainer.trace().steps_before == stop);
        for (int i = stop; i < 6; ++i) after.step();
        CHECK(after.trainer.trace().digest() == straight.trainer.trace().digest());
        CHECK(first_difference(after.trainer.trace(), straight.trainer.trace()).has_value() == (stop > 0));
    }
}

TEST_CASE("a learning rate that a schedule moved is that of the checkpoint") {
    const Folder folder;
    ResumeRun run;
    run.step();
    run.trainer.optimizer().set_learning_rate(0.001);
    save_checkpoint(folder.path / "c", run.trainer);
    ResumeRun other;
    load_checkpoint(folder.path / "c", other.trainer);
    CHECK(other.trainer.optimizer().options().learning_rate == 0.001);
}

/// Starts the program; returns its process id.
pid_t start(const fs::path& checkpoint, int steps, const fs::path& output) {
    const std::string program = ULPLAB_RESUME_PROGRAM;
    const std::string count = std::to_string(steps);
    const std::string file = checkpoint.string();
    std::string arguments[] = {program, file, count};
    char* argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    pid_t id = 0;
    REQUIRE(posix_spawn(&id, program.c_str(), &actions, nullptr, argv, environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    return id;
}

TEST_CASE("killed at twenty random moments, a run still ends with the bits of one that was left alone") {
    const Folder folder;
    constexpr int steps = 60;
    ResumeRun straight;
    while (straight.trainer.steps() < steps) straight.step();
    Random random(3);
    const fs::path file = folder.path / "c";
    int killed = 0;
    for (int i = 0; i < 20; ++i) {
        const pid_t id = start(file, steps, folder.path / "out");
        ::usleep(static_cast<useconds_t>(random.between(2000, 60000)));
        ::kill(id, SIGKILL);
        int status = 0;
        ::waitpid(id, &status, 0);
        killed += WIFSIGNALED(status) ? 1 : 0;
    }
    const pid_t id = start(file, steps, folder.path / "out");
    int status = 0;
    ::waitpid(id, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(contents_of(folder.path / "out") == straight.digest() + "\n");
    CHECK(killed > 0);
    MESSAGE("killed " << killed << " of 20 before the end");
}

}  // namespace
