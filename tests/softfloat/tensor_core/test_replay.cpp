// Recordings of real Tensor Cores against the table, and wrong models against the recordings.
#include <doctest/doctest.h>

#include <map>
#include <string>

#include "softfloat/tensor_core/models.hpp"
#include "softfloat/tensor_core/recordings.hpp"
#include "tests/shared_data.hpp"

namespace {

using ulp::BlockMutation;
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
        const ulp::ModelRow* row = ulp::model_of(set);
        REQUIRE(row != nullptr);
        CHECK(row->evidence == ulp::Evidence::recorded);
        CHECK(matches(set, row->model) == set.rows);
    }
}

// The counts are those of the published study of the recordings; the specification's table has them as well.
TEST_CASE("wrong models are caught, each on as many rows as it should be") {
    const auto root = ulp::test::shared_folder("recordings");
    if (!root) return;
    struct Wrong {
        const char* what;
        void (*apply)(TensorCoreModel&);
        std::int64_t a100_fp16, ada_e4m3;  // rows that match all the same
    };
    const Wrong wrong_models[] = {
        {"products normalised first", [](TensorCoreModel& m) { m.mutation.normalise_products = true; }, 4374, 4453},
        {"alignment rounds down", [](TensorCoreModel& m) { m.mutation.alignment = Rounding::down; }, 4153, 3683},
        {"sum rounded to nearest", [](TensorCoreModel& m) { m.rounding = Rounding::nearest_even; }, 3743, 3859},
        {"one fraction bit less", [](TensorCoreModel& m) { --m.fraction_bits; }, 3315, 2294},
        {"one fraction bit more", [](TensorCoreModel& m) { ++m.fraction_bits; }, 4234, 3462},
        {"half groups", [](TensorCoreModel& m) { m.group /= 2; }, 3739, 4001},
        {"c added after the sum", [](TensorCoreModel& m) { m.mutation.late_addend = true; }, 3413, 0},
    };
    const RecordedSet a100 = read(*root, "A100", "fp16", "fp32");
    const RecordedSet ada = read(*root, "Ada", "E4M3", "fp32");
    for (const Wrong& wrong : wrong_models) {
        CAPTURE(wrong.what);
        TensorCoreModel model = ulp::find_model("sm_80:mma.fp16.fp32").model;
        wrong.apply(model);
        CHECK(matches(a100, model) == wrong.a100_fp16);
        model = ulp::find_model("sm_89:mma.e4m3.fp32").model;
        wrong.apply(model);
        CHECK(matches(ada, model) == wrong.ada_e4m3);
    }
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
        model.group /= 2;
        CHECK(matches(set, model) < set.rows);
    }
}
