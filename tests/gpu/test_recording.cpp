// The recording format, on content that a model made: it is labelled so, lives in a temporary folder, and proves
// nothing about hardware.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "gpu/devices/recording.hpp"
#include "softfloat/errors.hpp"

using namespace ulp::gpu;

namespace {

class TemporaryFolder {
  public:
    TemporaryFolder()
        : path_(std::filesystem::temp_directory_path() / ("ulplab-recording-" + std::to_string(getpid()))) {
        std::filesystem::create_directories(path_);
    }
    ~TemporaryFolder() { std::filesystem::remove_all(path_); }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

/// The architecture that has it: Hopper, but for what only RTX Blackwell has.
int architecture_in(const std::string& instruction) {
    const Availability availability = instruction_by_name(instruction).availability;
    return availability.on(90) ? 90 : availability.minimum;
}

Recording software_recording(const std::string& instruction, int architecture) {
    return make_recording(*open_software_device(architecture), instruction_by_name(instruction),
                          {.sample_tiles = 1, .bulk_digests = 1, .other_digests = 1, .date = "2026-01-02"});
}

Recording software_recording(const std::string& instruction) {
    return software_recording(instruction, architecture_in(instruction));
}

std::string text_of(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

std::filesystem::path written(const TemporaryFolder& folder, const std::string& text) {
    const auto path = folder / "changed.recording";
    std::ofstream(path) << text;
    return path;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
    const auto at = text.find(what);
    REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), with);
}

}  // namespace

TEST_CASE("a recording reads back as it was written, for every kind of instruction") {
    const TemporaryFolder folder;
    for (const char* name :
         {"mma.m16n8k16.fp16.fp32", "mma.m16n8k16.fp16.fp16", "mma.m16n8k8.tf32.fp32", "mma.m16n8k32.e5m2.fp32",
          "wgmma.m64n8k32.e4m3_e5m2.fp16", "wmma.m16n16k8.tf32.fp32", "mma.m8n8k32.s4.s32", "mma.m16n8k256.b1_xor.s32",
          "mma.m8n8k4.fp64.fp64", "mma.m16n8k32.e2m1.fp16", "mma.m16n8k32.mxf8f6f4.e5m2.fp32",
          "mma.m16n8k64.nvf4.e2m1.fp32"}) {
        CAPTURE(name);
        const Recording made = software_recording(name);
        const auto path = folder / recording_file_name(*made.instruction);
        write_recording(path, made);
        const Recording read = read_recording_file(path);
        CHECK_FALSE(read.device.hardware);
        const int architecture = architecture_in(name);
        CHECK(read.device.name == "software model of sm_" + std::to_string(architecture));
        CHECK(read.device.architecture == architecture);
        CHECK(read.date == "2026-01-02");
        CHECK(read.instruction == made.instruction);
        CHECK(read.model == made.model);
        CHECK(read.probes.size() == made.probes.size());
        CHECK(read.tiles.size() == made.tiles.size());
        CHECK_FALSE(read.tiles.empty());
        CHECK(read.runs.size() == input_classes.size());
        const auto again = folder / "again.recording";
        write_recording(again, read);
        CHECK(text_of(again) == text_of(path));
        const RecordingReplay replay = replay_recording(read, *open_software_device(architecture));
        CHECK(replay.equal());
        CHECK(replay.samples.total > 0);
        CHECK(replay.bulk.total == input_classes.size());
        CHECK(replay.first.empty());
    }
    CHECK(find_recording_files(folder.path()).size() == 13);
}

TEST_CASE("the header says that a model made the numbers") {
    const TemporaryFolder folder;
    write_recording(folder / "x.recording", software_recording("mma.m16n8k8.bf16.fp32"));
    const std::string text = text_of(folder / "x.recording");
    CHECK(text.starts_with("ulplab recording 1\nsource software\ngpu software model of sm_90\narchitecture sm_90\n"));
    CHECK(text.ends_with("\nend\n"));
}

TEST_CASE("a changed result in any tier is found and named") {
    const TemporaryFolder folder;
    Recording recording = software_recording("mma.m16n8k16.bf16.fp32");
    const auto device = open_software_device(90);
    Recording changed = recording;
    changed.probes[2].d ^= 1;
    CHECK(replay_recording(changed, *device).first.starts_with("probe " + changed.probes[2].id));
    changed = recording;
    changed.tiles[1].product.d.set(3, 4, changed.tiles[1].product.d.get(3, 4) ^ 1);
    const RecordingReplay replay = replay_recording(changed, *device);
    CHECK(replay.samples.equal + 1 == replay.samples.total);
    CHECK(replay.first.find("element (3, 4)") != std::string::npos);
    CHECK(replay.first.starts_with("sample wide"));
    changed = recording;
    changed.runs[0].digests[0] ^= 1;
    CHECK(replay_recording(changed, *device).first.starts_with("bulk ordinary"));
    changed = recording;
    changed.runs[0].input_digest ^= 1;
    CHECK_THROWS_WITH_AS(replay_recording(changed, *device), doctest::Contains("record again"), ulp::DataError);
}

TEST_CASE("a scale is part of the inputs: another one is seen in the answer and in the digest") {
    Recording recording = software_recording("mma.m16n8k64.mxf4.e2m1.fp32");
    HostProduct& tile = recording.tiles[0].product;
    const std::uint64_t digest = input_digest_of(tile);
    tile.b_scales.set(0, 1, tile.b_scales.get(0, 1) ^ 1);
    CHECK(input_digest_of(tile) != digest);
    const RecordingReplay replay = replay_recording(recording, *open_software_device(120));
    CHECK(replay.samples.equal < replay.samples.total);
    CHECK(replay.first.find(", scales ") != std::string::npos);
}

TEST_CASE("another generation's arithmetic does not pass for this one's") {
    const Recording recording = software_recording("mma.m16n8k16.fp16.fp32", 80);
    CHECK(replay_recording(recording, *open_software_device(80)).equal());
    const RecordingReplay replay = replay_recording(recording, *open_software_device(90));
    CHECK_FALSE(replay.equal());
    CHECK(replay.bulk.equal < replay.bulk.total);
}

TEST_CASE("bad recordings: one sentence with the file and the line") {
    const TemporaryFolder folder;
    write_recording(folder / "x.recording", software_recording("mma.m16n8k16.fp16.fp32"));
    const std::string good = text_of(folder / "x.recording");
    const auto complaint = [&](const std::string& text) {
        try {
            read_recording_file(written(folder, text));
        } catch (const ulp::DataError& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    CHECK(complaint(good) == "accepted");
    CHECK(complaint("").find("truncated") != std::string::npos);
    CHECK(complaint(good.substr(0, good.size() / 2)).find("changed.recording, line") != std::string::npos);
    CHECK(complaint(good.substr(0, good.size() - 4)).find("truncated") != std::string::npos);
    CHECK(complaint(replaced(good, "recording 1", "recording 9")).find("line 1") != std::string::npos);
    CHECK(complaint(replaced(good, "source software", "source none")).find("line 2") != std::string::npos);
    CHECK(complaint(replaced(good, "mma.m16n8k16.fp16.fp32", "mma.m16n8k16.fp16.fp31")).find("line 8") !=
          std::string::npos);
    CHECK(complaint(replaced(good, "tile ordinary", "tile odd")).find("no class 'odd'") != std::string::npos);
    CHECK(complaint(replaced(good, "\na ", "\na G")).find("hexadecimal digits") != std::string::npos);
    CHECK(complaint(replaced(good, " 0:", " 99:")).find("no k 99") != std::string::npos);
    CHECK(complaint(good + "more\n").find("text after the end") != std::string::npos);
    CHECK(complaint(good + "\n") == "accepted");
    CHECK(complaint(replaced(good, "steps 1\na", "steps 1 2\na")).find("where the line should end") !=
          std::string::npos);
    CHECK(complaint(replaced(good, "architecture sm_90", "architecture sm_70"))
              .find("mma.m16n8k16.fp16.fp32 does not exist on sm_70") != std::string::npos);
    CHECK(
        complaint(replaced(good, "tiles 32 ", "tiles 1048576 ")).find("1048576, is not a multiple of 32 up to 8192") !=
        std::string::npos);
    CHECK_THROWS_WITH_AS(read_recording_file(folder / "missing.recording"), doctest::Contains("missing.recording"),
                         ulp::DataError);
    CHECK_THROWS_AS(write_recording(folder / "no/such/folder.recording", software_recording("mma.m8n8k4.fp64.fp64")),
                    ulp::DataError);
}

TEST_CASE("a recording without content in a tier, or with another model's name, does not pass") {
    const TemporaryFolder folder;
    const Recording good = software_recording("mma.m16n8k16.fp16.fp32");
    CHECK_NOTHROW(require_current_model(good));
    const auto complaint = [&](const Recording& recording) {
        write_recording(folder / "x.recording", recording);
        try {
            require_current_model(read_recording_file(folder / "x.recording"));
        } catch (const ulp::DataError& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    Recording changed = good;
    changed.probes.clear();
    CHECK(complaint(changed).find("the recording has no probes") != std::string::npos);
    changed = good;
    changed.tiles.clear();
    CHECK(complaint(changed).find("the recording has no samples") != std::string::npos);
    changed = good;
    changed.runs.clear();
    CHECK(complaint(changed).find("the recording has no bulk") != std::string::npos);
    changed = good;
    changed.model = "sm_80:mma.fp16.fp32";
    CHECK(
        complaint(changed).find("names the model 'sm_80:mma.fp16.fp32', but is compared with 'sm_90:mma.fp16.fp32'") !=
        std::string::npos);
    changed.model = "none";  // recorded before there was a model
    CHECK(complaint(changed) == "accepted");
}

TEST_CASE("a recording cut at any byte, or with any byte changed, is refused or read, never more") {
    const TemporaryFolder folder;
    Recording recording = software_recording("mma.m8n8k32.s4.s32");
    recording.runs.resize(1);
    write_recording(folder / "x.recording", recording);
    const std::string good = text_of(folder / "x.recording");
    const auto read = [&](const std::string& text) {
        try {
            read_recording_file(written(folder, text));
        } catch (const ulp::DataError&) {
            return false;
        }
        return true;
    };
    int accepted = 0, changed_accepted = 0;
    for (std::size_t i = 0; i + 1 < good.size(); ++i) {
        accepted += read(good.substr(0, i)) ? 1 : 0;
        for (const char byte : {'\0', '\n', '9', '-', '\xFF'}) {
            std::string text = good;
            text[i] = byte;
            changed_accepted += read(text) ? 1 : 0;
        }
    }
    CHECK(accepted == 0);
    CHECK(changed_accepted > 0);  // names, dates and words are free
}
