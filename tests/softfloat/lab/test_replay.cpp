// Recordings of real Tensor Cores against the table, and wrong models against the recordings.
#include <doctest/doctest.h>

#include <string>

#include "softfloat/lab/recordings.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "tests/shared_data.hpp"

namespace {

using ulp::GroupVariation;
using ulp::RecordedSet;
using ulp::Rounding;
using ulp::TensorCoreModel;

std::int64_t matches(const RecordedSet& set, const TensorCoreModel& model) {
    return ulp::replay(set, model, ulp::recorded_with_zero_c(set)).equal;
}

RecordedSet read(const std::filesystem::path& root, const std::string& gpu, const std::string& input,
                 const std::string& output) {
    for (const auto& files : ulp::find_recordings(root / gpu / input)) {
        if (files.output == output) return ulp::read_recording(files);
    }
    return {};
}

}  // namespace

TEST_CASE("every recorded row of every GPU is reproduced bit for bit") {
    const auto root = ulp::test::shared_folder("recordings");
    if (!root) return;
    for (const auto& files : ulp::find_recordings(*root)) {
        CAPTURE(files.d.string());
        const RecordedSet set = ulp::read_recording(files);
        const auto row = ulp::model_of(set);
        REQUIRE(row.has_value());
        CHECK(row->row.evidence != ulp::Evidence::published);
        CHECK(matches(set, row->model) == set.rows);
    }
}

// The counts are those of the published study of the recordings (A100 fp16, Ada E4M3, and H200 E4M3, whose recordings
// are H100's); it has H200 where this has H100 fp16, and there counts within 20 of these.
TEST_CASE("wrong models are caught, each on as many rows as it should be") {
    const auto root = ulp::test::shared_folder("recordings");
    if (!root) return;
    struct Wrong {
        const char* what;
        void (*apply)(TensorCoreModel&);
        std::int64_t matches[4];  // rows that match all the same: A100 fp16, H100 fp16, Ada E4M3, H100 E4M3
    };
    const Wrong wrong_models[] = {
        {"products normalised first",
         [](TensorCoreModel& m) { m.variation.normalise_products = true; },
         {4374, 4588, 4453, 4538}},
        {"alignment rounds down",
         [](TensorCoreModel& m) { m.variation.alignment = Rounding::down; },
         {4153, 4220, 3683, 3970}},
        {"sum rounded to nearest",
         [](TensorCoreModel& m) { m.rounding = Rounding::nearest_even; },
         {3743, 3218, 3859, 4285}},
        {"one fraction bit less", [](TensorCoreModel& m) { --m.fraction_bits; }, {3315, 3825, 2294, 3037}},
        {"one fraction bit more", [](TensorCoreModel& m) { ++m.fraction_bits; }, {4234, 4464, 3462, 4133}},
        {"half groups", [](TensorCoreModel& m) { m.group_size /= 2; }, {3739, 3467, 4001, 4186}},
        // On H100 with FP8 c is 0: nothing is late.
        {"c added after the sum",
         [](TensorCoreModel& m) { m.variation.addend = ulp::AddendEntry::after_products; },
         {3413, 3505, 0, 5000}},
    };
    const RecordedSet sets[] = {read(*root, "A100", "fp16", "fp32"), read(*root, "H100", "fp16", "fp32"),
                                read(*root, "Ada", "E4M3", "fp32"), read(*root, "H100", "E4M3", "fp32")};
    for (const Wrong& wrong : wrong_models) {
        for (std::size_t i = 0; i < std::size(sets); ++i) {
            CAPTURE(wrong.what);
            CAPTURE(sets[i].path.string());
            TensorCoreModel model = ulp::model_of(sets[i])->model;
            wrong.apply(model);
            CHECK(matches(sets[i], model) == wrong.matches[i]);
        }
    }
}

TEST_CASE("FP8 of mma.sync on Hopper catches the native model, and native FP8 the model of mma.sync") {
    const auto root = ulp::test::shared_folder("recordings");
    if (!root) return;
    const RecordedSet emulated = read(*root, "H100", "E4M3", "fp16");
    const RecordedSet native = read(*root, "H100", "E4M3", "fp32");
    CHECK(matches(emulated, ulp::unit_model<ulp::TensorCoreModel>("sm_90:wgmma.e4m3.fp16")) < emulated.rows);
    CHECK(matches(native, ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.e4m3.fp32")) < native.rows);
}

TEST_CASE("every set catches the model of another generation's fraction bits or group") {
    const auto root = ulp::test::shared_folder("recordings");
    if (!root) return;
    for (const auto& files : ulp::find_recordings(*root)) {
        if (files.output != "fp32") continue;  // fp16 results do not show every bit of the alignment
        CAPTURE(files.d.string());
        const RecordedSet set = ulp::read_recording(files);
        for (const int change : {-1, 1}) {
            TensorCoreModel model = ulp::model_of(set)->model;
            model.fraction_bits += change;
            CHECK(matches(set, model) < set.rows);
        }
        TensorCoreModel model = ulp::model_of(set)->model;
        model.group_size /= 2;
        CHECK(matches(set, model) < set.rows);
    }
}
