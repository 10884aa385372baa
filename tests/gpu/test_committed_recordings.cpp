// What real GPUs computed, as committed under tests/recordings: replayed against the models on any machine.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <sstream>
#include <string>

#include "gpu/devices/recording.hpp"
#include "gpu/devices/reference.hpp"
#include "gpu/kernels/exact_dot.hpp"
#include "gpu/library/cublas_study.hpp"
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

TEST_CASE("what the program knows of cuBLAS without a file of answers is what both studies recorded") {
    int shapes = 0;
    for (const char* card : {"h100_80gb_hbm3", "h200"}) {
        std::ifstream file(folder / card / "cublas_study.csv");
        for (std::string line; std::getline(file, line);) {
            // product, library, m, n, k, whether it is predicted, elements equal and in all, unit and order
            static const std::regex row(R"x((\w+),(\w+),(\d+),(\d+),(\d+),(\w+),(\d+),(\d+),"([^"]*)".*)x");
                std::smatch of;
            if (line.starts_with("# cublas ")) CHECK(line.substr(9) == studied_version);
            if (!std::regex_match(line, of, row)) continue;
            const bool is_fp8 = of.str(1).starts_with("e");
            if ((of.str(2) == "cublasLt") != is_fp8) continue;
            CAPTURE(line);
            ++shapes;
            CHECK(of.str(6) == "yes");
            CHECK(of.str(7) == of.str(8));
            const auto found =
                studied_product(of.str(1), std::stoll(of.str(3)), std::stoll(of.str(4)), std::stoll(of.str(5)));
            REQUIRE(found);
            std::string text = found->key;
            if (found->model != ulp::unit_model<ulp::TensorCoreModel>(found->key))
                text += ".k" + std::to_string(found->model.instruction_k);
            text += ", " + ulp::name_of(found->order);
            CHECK(text == std::regex_replace(of.str(9), std::regex("added in the accumulator's format"),
                                             "partial sums in fp16"));
        }
    }
    if (shapes == 0) std::cout << "skipped: no study of cuBLAS in tests/recordings\n";
    if (shapes > 0) CHECK(shapes == 360);
    CHECK(!studied_product("fp16", 16, 64, 16));
    CHECK(!studied_product("fp16", 16, 16, 32));
    CHECK(!studied_product("fp32", 16, 16, 16));
}
