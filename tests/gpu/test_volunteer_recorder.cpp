// The recorder that is one file: what its build without a GPU writes is read, and its inputs are the project's own.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "gpu/devices/executor.hpp"
#include "gpu/devices/recording.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/lab/recordings.hpp"
#include "tests/gpu/outcome.hpp"

using namespace ulp::gpu;
using ulp::test::Outcome;
using ulp::test::outcome_of;
namespace fs = std::filesystem;

namespace {

/// A folder of recordings that the program writes without a GPU; removed at the end.
class Recorded {
  public:
    explicit Recorded(const std::string& program)
        : folder_(fs::temp_directory_path() /
                  ("ulplab-recorder-" + std::to_string(getpid()) + "-" + fs::path(program).filename().string())) {
        const std::string command = "'" + program + "' --software '" + folder_.string() + "' > /dev/null";
        REQUIRE(std::system(command.c_str()) == 0);
    }
    Recorded(const Recorded&) = delete;
    Recorded& operator=(const Recorded&) = delete;
    ~Recorded() { fs::remove_all(folder_); }
    [[nodiscard]] const fs::path& folder() const { return folder_; }

  private:
    fs::path folder_;
};

/// Written once for all cases.
const fs::path& nvidia_folder() {
    static const Recorded recorded(ULPLAB_RECORD);
    return recorded.folder();
}

/// The probes of a recording that the library's recorder would write, too.
void check_probes(const Recording& recording) {
    const auto expected = probes_for(*recording.instruction);
    REQUIRE(recording.probes.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        CHECK(recording.probes[i].id == expected[i]->id);
        CHECK(recording.probes[i].c == expected[i]->c);
        REQUIRE(recording.probes[i].lanes.size() == expected[i]->lanes.size());
        for (std::size_t lane = 0; lane < expected[i]->lanes.size(); ++lane) {
            CHECK(recording.probes[i].lanes[lane].k == expected[i]->lanes[lane].k);
            CHECK(recording.probes[i].lanes[lane].a == expected[i]->lanes[lane].a);
            CHECK(recording.probes[i].lanes[lane].b == expected[i]->lanes[lane].b);
        }
    }
}

}  // namespace

TEST_CASE("the recorder of one file writes recordings that are read, from inputs that are made again") {
    const auto files = find_recording_files(nvidia_folder());
    CHECK(files.size() == 28);
    for (const fs::path& file : files) {
        CAPTURE(file.filename().string());
        const Recording recording = read_recording_file(file);
        CHECK_FALSE(recording.device.hardware);
        CHECK(recording.model == "none");
        check_probes(recording);
        for (const RecordedRun& run : recording.runs) {
            const HostProduct product = make_tiles(*recording.instruction, run.input_class, run.seed, run.tiles);
            CHECK(input_digest_of(product) == run.input_digest);
        }
        for (const RecordedTile& tile : recording.tiles) {
            HostProduct product = tile.product;
            fill_inputs(product, tile.input_class, tile.seed);
            CHECK(product.a == tile.product.a);
            CHECK(product.b == tile.product.b);
            CHECK(product.c == tile.product.c);
        }
    }
}

TEST_CASE("the recorder's digests of D are those of the reader") {
    // fp32 sums of a chain of k = 4 instructions: small enough to be repeated here.
    const Recording recording = read_recording_file(nvidia_folder() / "mma.m16n8k4.tf32.fp32.recording");
    const RecordedRun& run = recording.runs.front();
    HostProduct product = make_tiles(*recording.instruction, run.input_class, run.seed, run.tiles);
    const auto value = [](std::uint64_t word) {
        return ulp::in_fp32_container(ulp::formats::fp32, static_cast<std::uint32_t>(word));
    };
    for (std::uint64_t i = 0; i < product.d.rows(); ++i) {
        for (std::uint64_t j = 0; j < 8; ++j) {
            float sum = value(product.c.get(i, j));
            for (std::uint64_t k = 0; k < 4; ++k) {
                const float term = value(product.a.get(i, k)) * value(product.b.get(i / 16 * 8 + j, k));
                sum += term;
            }
            product.d.set(i, j, ulp::operand_code(ulp::formats::fp32, sum));
        }
    }
    CHECK(digests_of(product) == run.digests);
}

TEST_CASE("the layout for AMD's instructions finds its rows by name and k") {
    const Recorded recorded(ULPLAB_RECORD_AMD);
    const auto sets = ulp::find_recordings(recorded.folder());
    CHECK(sets.size() == 6);
    for (const ulp::RecordedFiles& files : sets) {
        const ulp::RecordedSet set = ulp::read_recording(files);
        CAPTURE(set.path.string());
        CHECK(set.rows == 5000);
        const auto row = ulp::model_of(set);
        REQUIRE(row.has_value());
        CHECK(row->row.architecture == "gfx942");
        CHECK(row->model.instruction_k == set.products);
        CHECK(row->row.instruction.starts_with("mfma"));
    }
}

TEST_CASE("the recorder answers dot products, and says what is wrong with its arguments") {
    const std::string program = std::string("'") + ULPLAB_RECORD + "'";
    const std::string k4 = "3F800000 40000000 0 0 3F800000 40000000 0 0 3F800000";
    const Outcome answer = outcome_of("echo " + k4 + " | " + program + " --software --answer mma.m16n8k4.tf32.fp32");
    CHECK(answer.code == 0);
    CHECK(answer.output == "40C00000\n");
    CHECK(outcome_of("echo 1 2 | " + program + " --software --answer mma.m16n8k4.tf32.fp32").code == 3);
    CHECK(outcome_of(program + " --software --answer nothing").code == 3);
    CHECK(outcome_of(program).code == 2);
    const Outcome help = outcome_of(program + " --help");
    CHECK(help.code == 0);
    CHECK(help.output.find("--answer NAME") != std::string::npos);
    CHECK(outcome_of(program + " --software /proc/nothing").code == 3);
    const Outcome no_gpu = outcome_of(program + " /tmp/unused");
    CHECK(no_gpu.code == 3);
    CHECK(no_gpu.output.find("--software") != std::string::npos);
}
