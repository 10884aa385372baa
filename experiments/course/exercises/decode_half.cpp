// Exercise: the value of each of the 65,536 halves.
#include <cmath>

#include "experiments/course/exercises/common.hpp"

namespace ulp::course {
namespace {

Words solve(const Words& question, std::string_view mistake) {
    const Word half = question[0];
    const Word sign = (half & 0x8000) << 16;
    const auto field = static_cast<int>(half >> 10 & 31);
    const auto fraction = static_cast<float>(half & 0x3FF);
    const auto scaled = [sign](float significand, int exponent) {
        return Words{bits(std::ldexp(significand, exponent)) | sign};
    };
    if (field == 0 && fraction > 0) {
        if (mistake == "flushed_subnormals") return {sign};
        if (mistake == "hidden_one_in_subnormals") return scaled(1024 + fraction, -25);
        if (mistake == "subnormal_exponent") return scaled(fraction, -25);
    }
    if (field == 31 && mistake == "no_specials") return scaled(1024 + fraction, 6);
    if (field == 31 && mistake == "nan_becomes_infinity") return {sign | 0x7F800000};
    if (field > 0 && field < 31 && mistake == "bias") return scaled(1024 + fraction, field - 26);
    if (mistake == "sign_of_zero" && half == 0x8000) return {0};
    return {widened(half)};
}

std::vector<Group> hidden(std::uint64_t /*seed: these are all halves*/) {
    Group normals{"normal numbers", 2, {"bias"}};
    Group subnormals{"subnormal numbers", 2, {"flushed_subnormals", "hidden_one_in_subnormals", "subnormal_exponent"}};
    Group specials{"zeros, infinities and NaNs", 1, {"no_specials", "nan_becomes_infinity", "sign_of_zero"}};
    for (Word half = 0; half < 0x10000; ++half) {
        const Word field = half >> 10 & 31;
        Group& group = field == 31 || (half & 0x7FFF) == 0 ? specials : field == 0 ? subnormals : normals;
        group.questions.push_back({half});
    }
    return {normals, subnormals, specials};
}

}  // namespace

Exercise decode_half_exercise() {
    return {"decode_half",
            "Decode all 65,536 halves",
            "h",
            "s",
            {{"flushed_subnormals", "flushes subnormals: it reads them as zero"},
             {"hidden_one_in_subnormals", "gives subnormals a hidden one, as if their exponent field 0 were ordinary"},
             {"subnormal_exponent", "takes 2^-15 as the exponent of subnormals; it is that of field 1, 2^-14"},
             {"no_specials", "reads the exponent field 31 as an ordinary exponent, not as infinities and NaNs"},
             {"nan_becomes_infinity", "reads every code with exponent field 31 as infinity; with a fraction it is NaN"},
             {"bias", "takes 16 as the bias; it is 15"},
             {"sign_of_zero", "loses the sign of -0"}},
            solve,
            hidden,
            "bits",
            "value"};
}

}  // namespace ulp::course
