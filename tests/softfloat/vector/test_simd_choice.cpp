// The run-time choice of vector instructions. ctest runs the last case in processes of its own with ULPLAB_SIMD set.
#include <doctest/doctest.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "softfloat/vector/simd_choice.hpp"

TEST_CASE("the supported sets begin with portable, grow, and are found by their names") {
    const auto supported = ulp::supported_simd();
    REQUIRE(!supported.empty());
    CHECK(supported.front() == ulp::Simd::portable);
    for (std::size_t i = 0; i < supported.size(); ++i) {
        CHECK((i == 0 || supported[i - 1] < supported[i]));
        CHECK_NOTHROW(ulp::require_instructions(supported[i]));
        CHECK(ulp::simd_by_name(ulp::name_of(supported[i])) == supported[i]);
    }
    CHECK(ulp::simd_by_name("") == supported.back());
}

TEST_CASE("a set of another kind of processor is refused") {
#if defined(__x86_64__)
    const ulp::Simd foreign = ulp::Simd::neon;
#else
    const ulp::Simd foreign = ulp::Simd::avx2;
#endif
    CHECK_THROWS_AS(ulp::require_instructions(foreign), std::invalid_argument);
    CHECK_THROWS_AS((void)ulp::simd_by_name(ulp::name_of(foreign)), std::invalid_argument);
}

TEST_CASE("an unknown set is refused in a sentence that names it and the choices") {
    try {
        (void)ulp::simd_by_name("sse9");
        FAIL("accepted");
    } catch (const std::invalid_argument& error) {
        const std::string message = error.what();
        CHECK(message.find("'sse9'") != std::string::npos);
        CHECK(message.find("ULPLAB_SIMD") != std::string::npos);
        CHECK(message.find("portable") != std::string::npos);
    }
}

TEST_CASE("ULPLAB_SIMD decides the choice, and a wrong value is refused at each use") {
    const char* const wanted = std::getenv("ULPLAB_SIMD");
    const std::string name = wanted == nullptr ? "" : wanted;
    bool known = name.empty();
    for (const ulp::Simd simd : ulp::supported_simd()) known = known || ulp::name_of(simd) == name;
    if (known) {
        CHECK(ulp::simd_choice() == ulp::simd_by_name(name));
    } else {
        CHECK_THROWS_AS((void)ulp::simd_choice(), std::invalid_argument);
        CHECK_THROWS_AS((void)ulp::simd_choice(), std::invalid_argument);
    }
}
