// The same bits whatever computes them: the program under every vector width and number of threads.
#include <doctest/doctest.h>

#include <map>
#include <sstream>

#include "experiments/framework/subprocess.hpp"
#include "softfloat/simd_choice.hpp"

namespace {

using namespace ulp;

std::string digests(const std::string& simd, int threads) {
    const Finished finished = run_program({"env", "ULPLAB_SIMD=" + simd, "OMP_NUM_THREADS=" + std::to_string(threads),
                                           "OMP_WAIT_POLICY=passive", ULPLAB_PROGRAM, "digests"});
    REQUIRE(finished.exit_code == 0);
    return finished.output;
}

}  // namespace

TEST_CASE("a short training leaves the same bits with every recipe, vector width and number of threads") {
    const std::string expected = digests("portable", 1);
    std::istringstream lines(expected);
    std::string line;
    int rows = 0;
    while (std::getline(lines, line)) ++rows;
    CHECK(rows >= 40);
    for (const Simd simd : supported_simd()) {
        for (const int threads : {1, 2}) {
            if (simd == Simd::portable && threads == 1) continue;
            CAPTURE(name_of(simd));
            CAPTURE(threads);
            CHECK(digests(std::string(name_of(simd)), threads) == expected);
        }
    }
}

TEST_CASE("recipes differ: no two of the digests stand for the same training") {
    // tf32 and fp32 levels may agree with each other only where they are the same recipe: fp32 and O0.
    std::istringstream lines(digests("", 2));
    std::string name;
    std::string backend;
    std::string digest;
    std::map<std::string, std::string> seen;
    int repeated = 0;
    while (lines >> name >> backend >> digest) {
        if (!seen.emplace(digest, name).second) {
            MESSAGE(name << " leaves what " << seen[digest] << " leaves");
            ++repeated;
        }
    }
    CHECK(repeated <= 12);
}
