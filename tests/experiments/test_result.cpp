#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "experiments/framework/claim.hpp"
#include "experiments/framework/figures.hpp"
#include "experiments/framework/record.hpp"
#include "softfloat/errors.hpp"

namespace {

using namespace ulp;

void run_nothing(const RunContext&, Result&) {}

const Experiment sample{"sample", "A sample", "What is 1?", {Chapter::formats, 1}, {}, run_nothing};

RunContext context() {
    return {1, RunSize::quick, "", Settings({}, RunSize::quick), [](double) {}};
}

Result sample_result() {
    Result result("sample");
    result.arithmetic("one", "a source", "1 is 1", equal(1, fp16(1)));
    Figure figure{"curve", "A curve", "caption", "what to see", ""};
    figure.series = {{"fp16", formats::fp16, {{1, 0.5}, {2, std::numeric_limits<double>::infinity()}}},
                     {"plain", formats::fp64, {{0.1, -0.0}}}};
    result.figure(std::move(figure));
    return result;
}

}  // namespace

TEST_CASE("a value is judged by its bits") {
    Result result("sample");
    result.arithmetic("zero", "s", "signed zeros differ", equal(0.0, -fp16(0)));
    CHECK(result.claims().back().verdict == Verdict::failed);
    CHECK(result.claims().back().expected == "0 (0x0000)");
    CHECK(result.claims().back().measured == "-0 (0x8000)");
    result.arithmetic("nan", "s", "NaN is NaN", equal(std::numeric_limits<double>::quiet_NaN(), fp16(0) / fp16(0)));
    CHECK(result.claims().back().verdict == Verdict::reproduced);
    result.arithmetic("wrong", "s", "a refutation that fails", equal(2, fp16(1)), Verdict::refuted);
    CHECK(result.claims().back().verdict == Verdict::failed);
    CHECK_FALSE(all_hold(result.claims()));
}

TEST_CASE("a check and its words are made from the same numbers") {
    const Quantity share{"share", "%", 100, 1};
    CHECK(at_most(0.05, 0.04, share).expected == "at most 5.0 %");
    CHECK(at_most(0.05, 0.05, share).outcome == Outcome::holds);
    CHECK(below(0.05, 0.05, share).outcome == Outcome::fails);
    CHECK(at_least(0.05, 0.05, share).outcome == Outcome::holds);
    CHECK(above(0.05, 0.05, share).outcome == Outcome::fails);
    CHECK(between(0, 1, std::nan(""), share).outcome == Outcome::fails);
    CHECK(between(0, 1, 1, share).outcome == Outcome::holds);
    CHECK(between(0, 1, 0, share).outcome == Outcome::holds);
    CHECK(between(0, 1, 1.5, share).outcome == Outcome::fails);
    CHECK(between(0, 1, -0.5, share).outcome == Outcome::fails);
    CHECK(near(1.77, 0.05, 1.9, {"gain", "", 1, 2}).outcome == Outcome::fails);
    CHECK((always(false, "", "") && below(0, 1, share)).outcome == Outcome::refuted);
    CHECK((below(0, 1, share) && always(false, "", "")).outcome == Outcome::refuted);
    CHECK((below(0, 1, share) && Check{"", "", Outcome::undecided}).outcome == Outcome::fails);
    CHECK(near(1.77, 0.05, 1.7, {"gain", "", 1, 2}).expected == "1.77 +- 0.05");
    CHECK(near(1.77, 0.05, 1.7, {"gain", "", 1, 2}).outcome == Outcome::fails);
    CHECK(equal(2049, 2049, "steps").measured == "2049 steps");
    CHECK(equal(2.0, fp16(1)).outcome == Outcome::fails);
    // Rounded to one decimal both would read 5.0 %.
    const Check close = at_most(0.05, 0.05004, share);
    CHECK(close.expected == "at most 5.000 %");
    CHECK(close.measured == "5.004 %");
    CHECK(near(1.77, 0.05, 1.8204, {"gain", "", 1, 2}).measured == "1.8204");
    CHECK(near(1.77, 0.05, 1.7196, {"gain", "", 1, 2}).measured == "1.7196");
    const Check reasoned = below(0.93, 0.12, share).because("5 points below fp32");
    CHECK(reasoned.expected == "below 93.0 % (5 points below fp32)");
    CHECK(reasoned.measured == "12.0 %");
    const Check both = above(0.8, 0.9, share).at("at O3") && below(0.5, 0.6, share).at("at O0");
    CHECK(both.expected == "above 80.0 % at O3, below 50.0 % at O0");
    CHECK(both.measured == "90.0 % at O3, 60.0 % at O0");
    CHECK(both.outcome == Outcome::fails);
}

TEST_CASE("what a source says of all cases is refuted by one, and a NaN fails") {
    const Quantity weight{"weight", "", 1, 3};
    CHECK(never_above(1, 0.872, weight).outcome == Outcome::holds);
    CHECK(never_above(1, 1.022, weight).outcome == Outcome::refuted);
    CHECK(never_above(1, std::numeric_limits<double>::quiet_NaN(), weight).outcome == Outcome::fails);
    CHECK(always(true, "all", "all").outcome == Outcome::holds);
    CHECK(always(false, "all", "one not").outcome == Outcome::refuted);
}

TEST_CASE("a claim comes back from its JSON as it was") {
    const Claim claim{
        "a.b",
        "source",
        "statement",
        "1",
        "2",
        Verdict::undecided,
        ClaimKind::measured,
        ParityInterval{0.01, -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(), 1}};
    const Claim back = claim_from(nlohmann::ordered_json::parse(claim_json(claim).dump()));
    CHECK(claim_json(back).dump() == claim_json(claim).dump());
    CHECK(back.parity.value().low == claim.parity.value().low);
    CHECK(back.kind == ClaimKind::measured);
    CHECK_FALSE(back.universal);
    Claim of_all = claim;
    of_all.universal = true;
    CHECK(claim_from(claim_json(of_all)).universal);
}

TEST_CASE(
    "in less than a full run a parity is no difference yet, a difference and every other claim are what they are") {
    Claim claim{"a.b", "source", "statement", "1", "1", Verdict::reproduced};
    CHECK(shown_verdict(claim, RunSize::quick) == "reproduced");
    claim.parity = ParityInterval{0.01, -0.001, 0.001, 3};
    CHECK(shown_verdict(claim, RunSize::quick) == "no difference yet");
    CHECK(shown_verdict(claim, RunSize::full) == "reproduced");
    claim.parity.value().worse = true;
    CHECK(shown_verdict(claim, RunSize::quick) == "reproduced");
    claim.parity.value().worse = false;
    claim.verdict = Verdict::undecided;
    CHECK(shown_verdict(claim, RunSize::quick) == "undecided");
}

TEST_CASE("what was only quoted is neither right nor wrong") {
    Result result("sample");
    result.quoted("speed", "a talk", "It is 8 times as fast.", "8x", "needs a V100");
    CHECK(result.claims().back().expected == "8x");
    CHECK(result.claims().back().measured == "not measured: needs a V100");
    CHECK(verdict_name(result.claims().back().verdict) == "quoted only");
    CHECK(verdict_by_name("quoted only") == Verdict::quoted);
    CHECK(all_hold(result.claims()));
}

TEST_CASE("experiments stand chapter by chapter, there by their numbers, and then by name") {
    const auto named = [](const char* name, Place place) { return Experiment{name, "", "", place, {}, run_nothing}; };
    const auto sorted = in_order_of_argument({named("a", {Chapter::hardware, 2}), named("d", {Chapter::hardware, 1}),
                                              named("b", {Chapter::formats, 7}), named("c", {Chapter::hardware, 1})});
    std::string order;
    for (const Experiment& experiment : sorted) order += experiment.name;
    CHECK(order == "bcda");
    for (const Experiment& experiment : experiments()) {
        CHECK(chapter_by_name(chapter_name(experiment.place.chapter)) == experiment.place.chapter);
        CHECK_FALSE(chapter_text(experiment.place.chapter).empty());
    }
}

TEST_CASE("claims have ids of their own, and series names that gnuplot can select") {
    Result result("sample");
    result.arithmetic("a", "s", "t", equal("1", "1"));
    CHECK_THROWS_AS(result.arithmetic("a", "s", "t", equal("1", "1")), std::logic_error);
    CHECK_THROWS_AS(result.figure({"f", "", "", "", "", {{"a, b", formats::fp64, {}}}}), std::logic_error);
}

TEST_CASE("the last entry of a list in a figure's meaning ends with a full stop") {
    Result result("sample");
    CHECK(result.figure({"a", "", "", "Medians: fp32 1, fp16 2,", ""}).meaning == "Medians: fp32 1, fp16 2.");
    CHECK(result.figure({"b", "", "", "fp32 1; fp16 2;", ""}).meaning == "fp32 1; fp16 2.");
    CHECK(result.figure({"c", "", "", "What is to be seen.", ""}).meaning == "What is to be seen.");
    CHECK(result.figure({"d", "", "", "", ""}).meaning.empty());
}

TEST_CASE("a curve has the function's value at each whole number, the last one included") {
    const Series squares = curve(
        "squares", -2, 4, [](int x) { return 1.0 * x * x; }, 3);
    REQUIRE(squares.points.size() == 3);
    CHECK(squares.name == "squares");
    CHECK(squares.format == formats::fp64);
    CHECK(squares.points.front().x == -2);
    CHECK(squares.points.front().y == 4);
    CHECK(squares.points.back().x == 4);
    CHECK(squares.points.back().y == 16);
    CHECK(curve("none", 1, 0, [](int) { return 0.0; }).points.empty());
}

TEST_CASE("bits differ where numbers are equal, and agree where they are not") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> numbers = {0.0F, 1.0F, nan, 2.0F};
    CHECK(different_bits(numbers, numbers) == 0);
    CHECK(different_bits(numbers, std::vector<float>{-0.0F, 1.0F, nan, 3.0F}) == 2);
}

TEST_CASE("data holds decimals and bits") {
    CHECK(data_csv(sample_result()) ==
          "figure,series,x,x_bits,y,y_format,y_bits\n"
          "curve,fp16,1,0x3FF0000000000000,0.5,fp16,0x3800\n"
          "curve,fp16,2,0x4000000000000000,inf,fp16,0x7C00\n"
          "curve,plain,0.1,0x3FB999999999999A,-0,fp64,0x8000000000000000\n");
}

TEST_CASE("a record reads back as JSON") {
    const auto record = nlohmann::json::parse(result_json(sample, context(), sample_result()));
    CHECK(record.at("experiment") == "sample");
    CHECK(record.at("claims").at(0).at("id") == "sample.one");
    CHECK(record.at("claims").at(0).at("verdict") == "reproduced");
    CHECK(record.at("figures").at(0).at("series").size() == 2);
}

TEST_CASE("the digest sees every part of the result") {
    const std::string json = result_json(sample, context(), sample_result());
    const std::string csv = data_csv(sample_result());
    const std::string digest = result_digest(json, csv);
    CHECK(digest.size() == 64);
    CHECK(digest == result_digest(json, csv));
    CHECK(digest != result_digest(json + " ", csv));
    CHECK(digest != result_digest(json, csv + " "));
}

TEST_CASE("a figure that is kept as JSON is drawn as the figure itself, and its texts cannot end gnuplot's strings") {
    Figure figure{"curve", "It's a curve", "", "", "", {{"one"}, {"two"}}};
    figure.axes = {binade_axis(-40, 8), share_axis("share")};
    figure.axes.x.names = {{0, "it's"}};
    figure.looks = {{.mark = Mark::histogram, .title = "it's"}, {.mark = Mark::points, .panel = 1, .beyond = 7.0}};
    figure.guides = {fp16_overflow(), level(0.5, "it's half")};
    figure.notes = {{1, 2, "here"}};
    figure.panels = {{"left"}, {"right", -1.0, 1.0}};
    figure.key = Key::beside;
    const Figure drawing = drawing_of(figure);
    const Figure again = drawing_from(nlohmann::json::parse(json_of(drawing).dump()));
    CHECK(axis_settings(again) + chart(again) == axis_settings(drawing) + chart(drawing));
    const std::string script = axis_settings(drawing) + chart(drawing);
    CHECK(script.find("it's") == std::string::npos);  // the quote is doubled
    for (const char* part :
         {"set format y '%g %%'", "title 'it''s' noenhanced", "pointtype 2", "set xrange [-1:1]", "set yrange [0:*]"}) {
        CHECK_MESSAGE(script.find(part) != std::string::npos, part);
    }
    Figure received = drawing;
    const auto names_its_ends = [](std::vector<std::string> names, Mark mark) {
        Figure curves{"curves", "", "", "", ""};
        for (const std::string& name : names) curves.series.push_back({name});
        curves.looks = {{.mark = mark}};
        return chart(curves).find("(end(1, ") != std::string::npos;
    };
    CHECK(names_its_ends({"1", "2", "3", "4", "5", "of 28 letters as this one is"}, Mark::lines));
    const std::string long_one = "three lines on some page";
    for (const auto& names : {std::vector<std::string>{"of 29 letters as this one has"},
                              {"1", "2", "3", "4", "5", "6", "7"},
                              {long_one, long_one, long_one, long_one}})
        CHECK_FALSE(names_its_ends(names, Mark::lines));
    CHECK(names_its_ends({"1", "2", "3"}, Mark::histogram));  // at their peaks
    CHECK_FALSE(names_its_ends({"1", "2", "3", "4"}, Mark::histogram));
    CHECK((names_its_ends({"1"}, Mark::points) && !names_its_ends({"1"}, Mark::boxes)));
    // A line's words stand above the panel, where no curve crosses them.
    for (const char* part :
         {"'dashed: it''s half' at graph 1,graph 1 right", "'infinite in fp16' at graph 0.99,graph 0.95 right"})
        CHECK_MESSAGE(script.find(part) != std::string::npos, part);
    received.guides[1].text = "a\nsystem 'true'";
    CHECK_THROWS_AS(drawing_from(json_of(received)), DataError);
}
