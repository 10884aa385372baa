// What real GPUs computed, as committed under tests/recordings: replayed against the models on any machine.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "gpu/devices/recording.hpp"
#include "gpu/devices/reference.hpp"
#include "gpu/kernels/exact_dot.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/units.hpp"

using namespace ulp::gpu;

namespace {

const std::filesystem::path folder = ULPLAB_RECORDINGS;

}  // namespace

TEST_CASE("committed recordings are of hardware, and the models give every bit of them") {
    const auto files =
        std::filesystem::exists(folder) ? find_recording_files(folder) : std::vector<std::filesystem::path>{};
    if (files.empty()) std::cout << "skipped: no recordings of GPUs in tests/recordings\n";
    for (const auto& file : files) {
        CAPTURE(file.filename().string());
        const Recording recording = read_recording_file(file);
        CHECK(recording.device.hardware);
        CHECK_NOTHROW(require_current_model(recording));
        if (!has_reference(*recording.instruction, recording.device.architecture)) continue;
        const RecordingReplay replay =
            replay_recording(recording, *open_software_device(recording.device.architecture));
        CAPTURE(replay.first);
        CHECK(replay.equal());
    }
}

TEST_CASE("committed answers of fp64 units to NaNs and infinities: the model gives them") {
    int answers = 0;
    if (std::filesystem::exists(folder)) {
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
            if (entry.path().filename() != "fp64_nans.txt") continue;
            const ulp::TensorCoreModel& model = ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.fp64.fp64");
            std::ifstream file(entry.path());
            for (std::string line; std::getline(file, line);) {
                if (line.starts_with("#")) continue;
                CAPTURE(line);
                // c, then four products a*b, then d
                std::istringstream words(line);
                std::uint64_t c = 0, d = 0, a[4], b[4];
                char times = 0;
                words >> std::hex >> c;
                for (int k = 0; k < 4; ++k) words >> a[k] >> times >> b[k];
                words >> d;
                REQUIRE(!words.fail());
                CHECK(ulp::chain_dot(model, a, b, c, 4) == d);
                std::uint64_t chained = c;
                for (int k = 0; k < 4; ++k) chained = fp64_step(a[k], b[k], chained);
                CHECK(chained == d);
                ++answers;
            }
        }
    }
    if (answers == 0) std::cout << "skipped: no answers of fp64 units in tests/recordings\n";
}
