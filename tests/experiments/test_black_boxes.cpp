// Units that are not this program's are recovered, or the doubt is said; none is given the name of a row that it is
// not.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "engine/products/unit_file.hpp"
#include "experiments/cli/black_box.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/lab/integer_discovery.hpp"
#include "softfloat/lab/model_fit.hpp"

namespace {

using ulp::DotUnit;
using ulp::ModelFit;
using ulp::TensorCoreModel;

constexpr int k = 8;

DotUnit open(const std::string& spec, const std::string& name) {
    setenv("ULPLAB_TEST_BOX", name.c_str(), 1);
    return ulp::open_black_box(spec, ulp::formats::fp16, ulp::formats::fp16, ulp::formats::fp32, k);
}
DotUnit library(const std::string& name) { return open("library:" ULPLAB_BOX_LIBRARY, name); }
DotUnit program(const std::string& name) { return open("program:" ULPLAB_BOX_PROGRAM " " + name, name); }

ModelFit fit_of(const DotUnit& unit, std::int64_t blocks) {
    return ulp::fit_model(unit, ulp::fit_starts(unit), {.sample = 1050, .blocks = blocks, .allowed = [](const auto& m) {
                                                            return ulp::limit_of(m).empty();
                                                        }});
}

/// Rows that agree with the unit on 10^5 dot products.
int agreeing_rows(const DotUnit& unit) {
    std::vector<const TensorCoreModel*> models;
    for (const auto& [row, model] : ulp::rows_of<TensorCoreModel>()) {
        const bool formats =
            model.a_format == unit.a_format && model.b_format == unit.b_format && model.accumulator == unit.accumulator;
        if (formats && model.instruction_k == unit.k) models.push_back(&model);
    }
    int agreeing = 0;
    for (const ulp::MatchCheck& check : ulp::check_matches(unit, models, 100'000, 3))
        agreeing += check.agrees() ? 1 : 0;
    return agreeing;
}

template <class Question>
std::string refusal(const Question& question) {
    try {
        question();
    } catch (const ulp::DataError& error) {
        return error.what();
    }
    return "";
}

std::string refusal_of_answers(const DotUnit& unit) {
    const std::vector<std::uint64_t> zeros(k);
    return refusal([&] {
        for (int i = 0; i < 10; ++i) unit.dot(zeros, zeros, 0);
    });
}

bool contains(const std::string& text, const std::string& part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
    return text.find(part) != std::string::npos;
}

struct Recovered {
    const char* name;
    bool (*is)(const TensorCoreModel&);
};

}  // namespace

TEST_CASE("black boxes are recovered, and agree with their descriptions on 100,000 dot products") {
    using ulp::AddendEntry;
    using ulp::Rounding;
    using Model = TensorCoreModel;
    const std::vector<Recovered> boxes = {
        {"plain", [](const Model& m) { return m.fraction_bits == 24 && m.variation == ulp::GroupVariation{}; }},
        {"c_ignored", [](const Model& m) { return m.variation.addend == AddendEntry::beside_zeros_alone; }},
        {"c_never", [](const Model& m) { return m.variation.addend == AddendEntry::never; }},
        {"c_after", [](const Model& m) { return m.variation.addend == AddendEntry::after_products; }},
        {"sticky", [](const Model& m) { return m.variation.sticky; }},
        {"nearest_terms", [](const Model& m) { return m.variation.alignment == Rounding::nearest_even; }},
        {"terms_down", [](const Model& m) { return m.variation.alignment == Rounding::down; }},
        {"fp16_products", [](const Model& m) { return m.variation.product_format == ulp::formats::fp16; }},
        {"flushed",
         [](const Model& m) {
             // Sums of fp16 products are subnormal only with a subnormal c: flushed as c or as results.
             return m.variation.flush_operands && (m.variation.flush_addend || m.variation.flush_results);
         }},
        {"c_flushed", [](const Model& m) { return m.variation.flush_addend || m.variation.flush_results; }},
        {"f30", [](const Model& m) { return m.fraction_bits == 30; }},
        {"f60", [](const Model& m) { return m.fraction_bits == 60; }},
        {"groups_of_4", [](const Model& m) { return m.group_size == 4; }},
        {"descending",
         [](const Model& m) { return m.group_size == 2 && m.variation.order == ulp::LaneOrder::descending; }},
        {"quiet", [](const Model& m) { return m.nan == ulp::NanStyle::quiet; }},
        {"nearest", [](const Model& m) { return m.rounding == Rounding::nearest_even; }},
        {"nearest_away", [](const Model& m) { return m.rounding == Rounding::nearest_away && m.fraction_bits == 26; }},
        {"inverted", [](const Model& m) { return m.variation.invert_opposing && m.fraction_bits == 24; }},
        {"chain_odd",
         [](const Model& m) { return m.summation == ulp::Summation::fma_chain && m.rounding == Rounding::odd; }},
        {"chain", [](const Model& m) { return m.summation == ulp::Summation::fma_chain; }},
        {"chain_descending",
         [](const Model& m) {
             return m.summation == ulp::Summation::fma_chain && m.variation.order == ulp::LaneOrder::descending;
         }},
    };
    for (const Recovered& box : boxes) {
        CAPTURE(box.name);
        const DotUnit unit = library(box.name);
        const ModelFit fit = fit_of(unit, 100'000);
        CHECK(fit.found());
        CHECK(box.is(fit.model));
        CHECK(agreeing_rows(unit) == (box.name == std::string("plain") ? 1 : 0));  // which is sm_75's row
    }
}

TEST_CASE("a unit of the table is found, whoever computes it") {
    const TensorCoreModel& turing = ulp::unit_model<TensorCoreModel>("sm_75:mma.fp16.fp32");
    const DotUnit unit = ulp::unit_of(turing);
    CHECK(agreeing_rows(unit) == 1);
    CHECK(fit_of(unit, 10'000).model == turing);
}

TEST_CASE("what lies outside the model is said, not guessed") {
    for (const char* name : {"double_sum", "fp16_result"}) {
        CAPTURE(name);
        const ModelFit fit = fit_of(library(name), 5000);
        CHECK_FALSE(fit.found());
        CHECK(fit.check.differ > 0);
        CHECK(fit.check.first.has_value());
    }
    const ModelFit unstable = fit_of(library("unstable"), 5000);
    CHECK_FALSE(unstable.found());
    CHECK(unstable.check.unstable > 0);
}

TEST_CASE("a unit of more products than an instruction is recovered as a chain") {
    setenv("ULPLAB_TEST_BOX", "long", 1);
    const DotUnit unit = ulp::open_black_box("library:" ULPLAB_BOX_LIBRARY, ulp::formats::fp16, ulp::formats::fp16,
                                             ulp::formats::fp32, 96);
    const ModelFit fit = fit_of(unit, 3000);
    CHECK(fit.found());
    CHECK(fit.model.group_size == 8);
    CHECK(fit.model.fraction_bits == 24);
    CHECK(fit.model.instruction_k == 96);
}

TEST_CASE("integer black boxes are recovered, and what clamps otherwise is contradicted") {
    const auto integer_unit = [](const std::string& spec, const std::string& name, int length) {
        setenv("ULPLAB_TEST_BOX", name.c_str(), 1);
        const ulp::BoxDot dot = ulp::open_box(spec, {"s32", 32});
        return ulp::IntegerUnit{length, [dot](auto a, auto b, std::int32_t c) {
                                    const std::vector<std::uint64_t> x(a.begin(), a.end()), y(b.begin(), b.end());
                                    return static_cast<std::int32_t>(dot(x, y, static_cast<std::uint32_t>(c)));
                                }};
    };
    const std::string library = "library:" ULPLAB_BOX_LIBRARY;
    for (const int length : {8, 32, 128}) {
        for (const bool saturates : {false, true}) {
            const ulp::IntegerUnit unit = integer_unit(library, saturates ? "s8_clamps" : "s8", length);
            const ulp::IntegerDiscovery found = ulp::discover(unit);
            CHECK(found.model == ulp::IntegerModel{.saturates = saturates, .instruction_k = length});
            CHECK(ulp::check_match(unit, found.model, 10'000, 1).agrees());
        }
    }
    const ulp::IntegerUnit each = integer_unit(library, "s8_clamps_each", 32);
    const ulp::IntegerCheck check = ulp::check_match(each, ulp::discover(each).model, 10'000, 1);
    CHECK(check.differ > 0);
    CHECK(check.first.has_value());
    const ulp::IntegerUnit in_program = integer_unit("program:" ULPLAB_BOX_PROGRAM " s8", "s8", 8);
    CHECK(ulp::check_match(in_program, {.instruction_k = 8}, 1000, 1).agrees());
}

TEST_CASE("a unit that does not depend on its operands is said to be constant") {
    CHECK(ulp::constant_answer(library("constant")) == 0x3F800000);
    for (const char* other : {"plain", "c_never", "flushed", "unstable"}) {
        CAPTURE(other);
        CHECK_FALSE(ulp::constant_answer(library(other)).has_value());
    }
}

TEST_CASE("a program answers as a library does") {
    const DotUnit in_library = library("sticky");
    const DotUnit in_program = program("sticky");
    ulp::BlockSource source(in_library, 5);
    for (int i = 0; i < 2000; ++i) {
        const ulp::RandomBlock& block = source.next();
        setenv("ULPLAB_TEST_BOX", "sticky", 1);
        REQUIRE(in_program.dot(block.a, block.b, block.c) == in_library.dot(block.a, block.b, block.c));
    }
    using ulp::GroupVariation;
    const std::vector<std::pair<const char*, bool (*)(const GroupVariation&)>> boxes = {
        {"c_ignored", [](const GroupVariation& v) { return v.addend == ulp::AddendEntry::beside_zeros_alone; }},
        {"sticky", [](const GroupVariation& v) { return v.sticky; }},
        {"fp16_products", [](const GroupVariation& v) { return v.product_format == ulp::formats::fp16; }},
        {"flushed", [](const GroupVariation& v) { return v.flush_operands; }}};
    for (const auto& [box, is] : boxes) {
        const std::string name = box;
        CAPTURE(name);
        const ModelFit fit = fit_of(program(name), 1000);
        CHECK(fit.found());
        CHECK(is(fit.model.variation));
    }
    CHECK(fit_of(program("unstable"), 1000).check.unstable > 0);
}

TEST_CASE("boxes that cannot answer are refused in one sentence") {
    CHECK(contains(refusal([] { open("library:no_such_library.so", ""); }), "cannot be loaded"));
    CHECK(
        contains(refusal([] { open("library:" ULPLAB_BOX_WITHOUT_FUNCTION, ""); }), "has no function ulplab_unit_dot"));
    CHECK(
        contains(refusal_of_answers(library("another_version")), "has version 2 of the interface; this program has 1"));
    setenv("ULPLAB_TEST_BOX", "plain", 1);
    const DotUnit longer = ulp::open_black_box("library:" ULPLAB_BOX_LIBRARY, ulp::formats::fp16, ulp::formats::fp16,
                                               ulp::formats::fp32, 16);
    const std::vector<std::uint64_t> zeros(16);
    CHECK(contains(refusal([&] { longer.dot(zeros, zeros, 0); }), "has no instruction of 16 products"));
    CHECK(contains(refusal_of_answers(program("dies")), "ended after 5 answers (exit code 3)"));
    CHECK(contains(refusal_of_answers(program("aborts")), "ended after 5 answers"));
    CHECK(contains(refusal_of_answers(program("silent")), "ended after 0 answers (exit code 0)"));
    CHECK(contains(refusal_of_answers(program("garbage")), "answered '1.5'"));
    CHECK(contains(refusal_of_answers(program("too_wide")), "answered '123456789'"));
    CHECK(contains(refusal_of_answers(program("too_little")), "answered ''"));
    CHECK(contains(refusal_of_answers(open("program:./no_such_program", "")), "ended after 0 answers (exit code 127)"));
}

TEST_CASE("a program that does not answer is given up after the limit") {
    const DotUnit hanging = ulp::open_black_box("program:" ULPLAB_BOX_PROGRAM " hangs", ulp::formats::fp16,
                                                ulp::formats::fp16, ulp::formats::fp32, k, 1);
    CHECK(contains(refusal_of_answers(hanging), "gave no answer in 1 seconds after 5 answers"));
}
