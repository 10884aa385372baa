// The inputs on which the published models disagree, and what each hypothesis predicts for them.
// Expected bits: section 5 of the specification, from the two published models (arXiv 2512.07004, 2511.10909).
#include <doctest/doctest.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/policies.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/names.hpp"

namespace {

using ulp::TensorCoreModel;
using Code = std::uint32_t;

struct Lane {
    int k;
    Code a, b;
};

/// One instruction's answer, with the lanes not named zero.
Code answer(const TensorCoreModel& model, const std::vector<Lane>& lanes, Code c) {
    std::array<Code, ulp::max_instruction_k> a{};
    std::array<Code, ulp::max_instruction_k> b{};
    for (const Lane& lane : lanes) {
        a[static_cast<std::size_t>(lane.k)] = lane.a;
        b[static_cast<std::size_t>(lane.k)] = lane.b;
    }
    return ulp::chain_dot(model, a.data(), b.data(), c, model.instruction_k);
}

Code answer(const char* key, const std::vector<Lane>& lanes, Code c = 0) {
    return answer(ulp::unit_model<ulp::TensorCoreModel>(key), lanes, c);
}

std::vector<Lane> all_lanes(const TensorCoreModel& model, Code a, Code b) {
    std::vector<Lane> lanes;
    for (int k = 0; k < model.instruction_k; ++k) lanes.push_back({k, a, b});
    return lanes;
}

}  // namespace

TEST_CASE("each hypothesis predicts what is published for the deciding inputs") {
    struct Row {
        const char* id;
        const char* key;
        std::vector<Lane> lanes;
        Code c;
        std::array<Code, 6> predicted;  // A to E and H
    };
    const char* bf16 = "sm_90:mma.bf16.fp32";
    const char* half = "sm_90:mma.fp16.fp16";
    std::vector<Lane> f4;
    for (int k = 0; k < 16; ++k) f4.push_back({k, 0x1980, 0x1900});
    const Code one = 0x30800000;
    const Row rows[] = {
        {"Z1", bf16, {{0, 0x0000, 0x7F00}, {1, 0x3080, 0x3F80}}, 0, {one, 0, one, one, 0, one}},
        {"Z3", bf16, {{0, 0x0000, 0x7F00}}, one, {one, 0, one, one, 0, one}},
        {"Z5", "sm_90:mma.tf32.fp32", {{0, 0, 0x7F000000}, {1, one, 0x3F800000}}, 0, {one, 0, one, one, 0, one}},
        {"Z6", "sm_90:mma.fp16.fp32", {{0, 0, 0x7800}}, 0x200, {0x200, 0, 0x200, 0x200, 0, 0x200}},
        {"Z7",
         "sm_90:mma.fp16.fp32",
         {{0, 0, 0x7800}},
         0x0D800000,
         {0x0D800000, 0x0D800000, 0x0D800000, 0x0D800000, 0, 0x0D800000}},
        {"F1", bf16, {{0, 0x1A80, 0x1A00}, {1, 0x9980, 0x1900}}, 0, {0, 1, 0, 1, 1, 0}},
        {"F2", bf16, {{0, 0x1A80, 0x1A00}, {1, 0x9780, 0x1680}}, 0, {1, 1, 0, 1, 1, 1}},
        {"F2b", bf16, {{0, 0x1A80, 0x1A00}, {1, 0x9800, 0x1800}}, 0, {0, 1, 0, 1, 1, 0}},
        {"F2c", bf16, {{0, 0x1A80, 0x1A00}, {1, 0x9800, 0x1780}}, 0, {1, 1, 0, 1, 1, 1}},
        {"F4", bf16, f4, 0, {1, 0, 1, 0, 0, 1}},
        {"H1", half, {{0, 0x0C00, 0x0800}, {1, 1, 1}}, 0, {0, 1, 1, 0, 0, 0}},
        {"H2", half, {{0, 0x0C00, 0x0800}, {1, 2, 2}}, 0, {1, 1, 1, 0, 0, 1}},
        {"H3", half, {{0, 0x0C00, 0x0800}, {1, 2, 1}}, 0, {0, 1, 1, 0, 0, 0}},
        {"H4", half, {{0, 0x0C00, 0x0800}, {1, 4, 4}}, 2, {3, 2, 2, 2, 2, 2}},
        {"H6", half, {{0, 0x0C00, 0x0800}, {1, 0x10, 0x10}}, 2, {3, 2, 2, 2, 2, 2}},
        {"H7", half, {{0, 0x8C00, 0x0400}}, 0, {0x8000, 0, 0, 0, 0, 0}},
        {"N1", bf16, {{0, 0x9A00, 0x1A00}}, 0, {0x80000000, 0, 0, 0, 0, 0}},
    };
    for (const Row& row : rows) {
        for (std::size_t i = 0; i < ulp::policy_sets.size(); ++i) {
            CAPTURE(std::string(row.id) + " under " + std::string(ulp::policy_sets[i].name));
            const TensorCoreModel model =
                ulp::with_policies(ulp::unit_model<ulp::TensorCoreModel>(row.key), ulp::policy_sets[i]);
            CHECK(answer(model, row.lanes, row.c) == row.predicted[i]);
        }
    }
}

TEST_CASE("the structure of the groups shows in the deciding inputs") {
    const std::vector<Lane> k1 = {{0, 0x3F800000, 0x3F800000},
                                  {1, 0x39800000, 0x39000000},
                                  {2, 0x39800000, 0x39000000},
                                  {4, 0x39800000, 0x39000000},
                                  {5, 0x39800000, 0x39000000}};
    CHECK(answer("sm_90:mma.tf32.fp32", k1) == 0x3F800001);
    CHECK(answer("sm_90:wmma.tf32.fp32", k1) == 0x3F800000);
    const std::vector<Lane> k2 = {
        {0, 0x3C00, 0x3C00}, {1, 0x0C00, 0x0800}, {2, 0x0C00, 0x0800}, {8, 0x0C00, 0x0800}, {9, 0x0C00, 0x0800}};
    CHECK(answer("sm_90:mma.fp16.fp32", k2) == 0x3F800001);
    CHECK(answer("sm_80:mma.fp16.fp32", k2) == 0x3F800000);
    // K3: the k8 shape of Hopper is one group of 8.
    TensorCoreModel k8 = ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.fp16.fp32");
    k8.instruction_k = k8.group_size = 8;
    const std::vector<Lane> k3 = {
        {0, 0x3C00, 0x3C00}, {1, 0x0C00, 0x0800}, {2, 0x0C00, 0x0800}, {4, 0x0C00, 0x0800}, {5, 0x0C00, 0x0800}};
    CHECK(answer(k8, k3, 0) == 0x3F800001);
    CHECK(answer("sm_90:mma.fp16.fp32", k3) == 0x3F800001);
    TensorCoreModel halves = k8;
    halves.group_size = 4;
    CHECK(answer(halves, k3, 0) == 0x3F800000);
    k8.fraction_bits = 24;
    CHECK(answer(k8, k3, 0) == 0x3F800000);
    // Products stay in [0, 4): 2.25 - 2^-25 would round up to 2.25 if the first were normalised.
    CHECK(answer("sm_90:mma.fp16.fp32", {{0, 0x3E00, 0x3E00}, {1, 0x8C00, 0x0800}}) == 0x400FFFFF);

    const std::vector<Lane> q1 = {{0, 0x0C, 0x0C}, {1, 0x08, 0x0C}};
    CHECK(answer("sm_90:mma.e5m2.fp32", q1, 0x3F800000) == 0x3F800001);
    CHECK(answer("sm_90:wgmma.e5m2.fp32", q1, 0x3F800000) == 0x3F800000);
    const std::vector<Lane> q2 = {{0, 0x3C, 0x3C}, {2, 0x0C, 0x08}, {4, 0x0C, 0x08}, {6, 0x0C, 0x08}, {8, 0x0C, 0x08}};
    CHECK(answer("sm_90:mma.e5m2.fp32", q2) == 0x3F800000);
    const std::vector<Lane> q3 = {{0, 0x3C, 0x3C}, {1, 0x0C, 0x08}, {4, 0x0C, 0x08}, {5, 0x0C, 0x08}, {8, 0x0C, 0x08}};
    CHECK(answer("sm_90:mma.e5m2.fp32", q3) == 0x3F800001);
    CHECK(answer("sm_90:wgmma.e5m2.fp32", q3) == 0x3F800000);
    CHECK(answer("sm_90:mma.e4m3.fp32", {{0, 0x38, 0x38}}, 0x3F8003FF) == 0x40000200);
    CHECK(answer("sm_90:wgmma.e4m3.fp32", {{0, 0x38, 0x38}}, 0x3F8003FF) == 0x40000000);
    CHECK(answer("sm_90:mma.e4m3.fp32", {}, 0x3F8FFFFF) == 0x3F8FFFFF);
    CHECK(answer("sm_90:wgmma.e4m3.fp32", {}, 0x3F8FFFFF) == 0x3F8FFC00);
    const std::vector<Lane> q8 = {{0, 0x3E, 0x3E}, {16, 0x20, 0xA4}};
    CHECK(answer("sm_90:wgmma.e5m2.fp32", q8) == 0x400FFC00);
    CHECK(answer("sm_90:mma.e5m2.fp32", q8) == 0x400FFE00);
    CHECK(answer("sm_89:mma.e5m2.fp32", q8) == 0x40100000);
    CHECK(answer("sm_90:mma.tf32.fp32", {{0, 0x3F801FFF, 0x3F800000}}) == 0x3F800000);
}

TEST_CASE("special values, overflow and vanishing sums follow both published models") {
    const TensorCoreModel& bf16 = ulp::unit_model<ulp::TensorCoreModel>("sm_90:mma.bf16.fp32");
    const char* key = "sm_90:mma.bf16.fp32";
    CHECK(answer(key, {{0, 0x7F00, 0x3F80}, {1, 0x7F00, 0x3F80}}) == 0x7F800000);
    CHECK(answer(key, {{0, 0x7180, 0x7180}, {1, 0xF180, 0x7180}, {2, 0x3F80, 0x3F80}}) == 0);
    CHECK(answer(key, {{0, 0x5F80, 0x5F80}, {1, 0xDF00, 0x5F80}}) == 0x7F000000);
    CHECK(answer("sm_90:mma.fp16.fp16", {{0, 0x7BFF, 0x3C00}, {1, 0x4C00, 0x3C00}}) == 0x7C00);
    CHECK(answer(key, {{0, 0x7F80, 0x0000}}) == 0x7FFFFFFF);
    CHECK(answer(key, {{0, 0x7F80, 0x3F80}}, 0xFF800000) == 0x7FFFFFFF);
    CHECK(answer(key, {{0, 0xFFC1, 0x3F80}}) == 0x7FFFFFFF);
    CHECK(answer(key, {{0, 0x3F80, 0x3F80}}, 0xFFC12345) == 0x7FFFFFFF);
    CHECK(answer("sm_90:mma.fp16.fp16", {{0, 0xFE01, 0x3C00}}) == 0x7FFF);
    CHECK(answer(bf16, all_lanes(bf16, 0x8000, 0x3F80), 0x80000000) == 0);
    CHECK(answer(key, {{0, 0xFF80, 0x3F80}, {1, 0x3F80, 0x3F80}}) == 0xFF800000);
}

TEST_CASE("a set's exponent floor follows the fraction bits or the generation, or is none") {
    const auto floor_of = [](const char* set, int fraction_bits, const ulp::FloatFormat& accumulator) {
        ulp::TensorCoreModel model = ulp::unit_model<ulp::TensorCoreModel>("sm_80:mma.fp16.fp32");
        model.fraction_bits = fraction_bits;
        model.accumulator = accumulator;
        return ulp::with_policies(model, ulp::policy_set(set)).policies.exponent_floor;
    };
    using ulp::formats::fp16;
    using ulp::formats::fp32;
    // F - 18 below emin; V100's fp32 sums (F = 23) have none with A.
    CHECK(floor_of("A", 24, fp32) == -132);
    CHECK(floor_of("A", 25, fp32) == -133);
    CHECK(floor_of("A", 23, fp32) == ulp::no_exponent_floor);
    CHECK(floor_of("A", 23, fp16) == -19);
    CHECK(floor_of("A", 13, fp32) == -121);
    CHECK(floor_of("H", 23, fp16) == -19);
    CHECK(floor_of("H", 24, fp16) == -20);
    CHECK(floor_of("H", 25, fp32) == -133);
    CHECK(floor_of("H", 13, fp32) == -133);
    CHECK(floor_of("H", 26, fp32) == -133);
    for (const char* set : {"B", "C", "D", "E"}) CHECK(floor_of(set, 24, fp32) == ulp::no_exponent_floor);
}

TEST_CASE("the table's keys are unique and lookups name what there is") {
    for (const auto& [row, model] : ulp::rows_of<ulp::TensorCoreModel>()) {
        const std::string key = row.key();
        CAPTURE(key);
        CHECK(ulp::unit_model<ulp::TensorCoreModel>(key) == model);
        CHECK(&ulp::find_unit(row.key()) == &row);
        CHECK(!row.proof.empty());
    }
    CHECK(ulp::find_unit("h100", "fp16", "fp32").key() == "sm_90:mma.fp16.fp32");
    CHECK(ulp::find_unit("hopper", "E4M3", "fp32").key() == "sm_90:wgmma.e4m3.fp32");
    CHECK_THROWS_WITH_AS(ulp::find_unit("sm_70:mma.bf16.fp32"), doctest::Contains("nearest are sm_80:mma.bf16.fp32"),
                         std::invalid_argument);
    CHECK_THROWS_WITH_AS(ulp::find_unit("sm_90:mgma.FP16.fp32"), doctest::Contains("sm_90:wgmma.fp16.fp32, "),
                         std::invalid_argument);
    for (const char* wrong : {"", "x", "h100"}) {
        CAPTURE(std::string(wrong));
        try {
            ulp::find_unit(wrong);
        } catch (const std::invalid_argument& error) {
            CHECK(std::string(error.what()).size() < 250);
        }
    }
    CHECK_THROWS_WITH_AS(ulp::find_unit("V100", "bf16", "fp32"), doctest::Contains("nearest are sm_70:mma.fp16.fp32"),
                         std::invalid_argument);
    CHECK_THROWS_WITH_AS(ulp::architecture_of("K80"), doctest::Contains("V100"), std::invalid_argument);
    for (const char* name : {"L40S", "RTX4090", "rtx_4090", "RTX 4090", "l4", "Ada", "sm_89"}) {
        CHECK(ulp::architecture_of(name) == "sm_89");
    }
    CHECK(ulp::architecture_of("GH200") == ulp::architecture_of("sm_90a"));
    CHECK(ulp::architecture_of("mi300a") == ulp::architecture_of("MI300X"));
    CHECK_THROWS_WITH_AS(ulp::policy_set("F"), doctest::Contains("A, B, C, D, E"), std::invalid_argument);
}
