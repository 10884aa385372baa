// Probes: the models answer what their hypothesis predicts, and the report says so.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>

#include "gpu/devices/recording.hpp"
#include "softfloat/errors.hpp"

using namespace ulp::gpu;

namespace {

bool contains(const std::vector<std::string>& list, const std::string& text) {
    return std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace

TEST_CASE("every probe has an instruction, an answer that someone predicts, and lanes that the instruction has") {
    for (const ulp::Probe& probe : ulp::all_probes()) {
        CAPTURE(std::string(probe.id));
        CHECK(std::any_of(instructions().begin(), instructions().end(), [&](const Instruction& row) {
            const auto probes = probes_for(row);
            return std::find(probes.begin(), probes.end(), &probe) != probes.end();
        }));
        CHECK_FALSE(probe.predictions.empty());
        for (const ulp::ProbeLane& lane : probe.lanes) CHECK(lane.k < probe.instruction_k);
    }
}

TEST_CASE("Hopper's rows answer every probe as hypothesis H and their group structure predict") {
    std::map<std::string, std::uint32_t> mma;
    std::map<std::string, std::uint32_t> wgmma;
    for (const ProbeReport& report : ask_probes(*open_software_device(90))) {
        const std::string id(report.probe->id);
        CAPTURE(id + " on " + report.instruction->name());
        REQUIRE(report.claimed.has_value());
        CHECK(report.answer == *report.claimed);
        const bool by_policy = report.probe->predictions.front().hypothesis == "A";
        if (by_policy) CHECK(contains(report.supported, "H"));
        CHECK_FALSE(report.supported.empty());
        if (report.instruction->family == Family::mma) mma[id] = report.answer;
        if (report.instruction->family == Family::wgmma) wgmma[id] = report.answer;
    }
    CHECK(mma.size() == ulp::all_probes().size());
    for (const char* id : {"Q1", "Q3", "Q5", "Q6", "Q8"}) CHECK(mma.at(id) != wgmma.at(id));
    CHECK(wgmma.at("Q8") == 0x400FFC00);
    CHECK(mma.at("Q8") == 0x400FFE00);
}

TEST_CASE("a tile of one probe whose elements differ is an error, not an answer") {
    HostProduct product = probe_tile(instruction_by_name("mma.m16n8k16.fp16.fp32"), {{0, 0x3C00, 0x3C00}}, 0);
    open_software_device(90)->run(product);
    CHECK(probe_answer(product, "one") == 0x3F800000);
    product.d.set(9, 3, 0);
    CHECK_THROWS_WITH_AS(probe_answer(product, "one"), doctest::Contains("(9, 3)"), ulp::DataError);
}
