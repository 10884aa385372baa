// Exercise: a block of OCP's MXFP8: 32 elements in E4M3 with an E8M0 scale.
#include <cmath>

#include "experiments/course/exercises/common.hpp"
#include "softfloat/quantization/block_scaled.hpp"

namespace ulp::course {
namespace {

constexpr std::string_view name = "mxfp8_quantizer";
constexpr Word asks_scale = 0xFFFFFFFF;  // -1

Word right_scale(const std::vector<float>& block) {
    std::vector<std::uint8_t> scale(1), elements(mx_block_size);
    quantize_mx(formats::e4m3, block, scale, elements);
    return scale[0];
}

Word scale_of(std::vector<float> block, std::string_view mistake) {
    block.resize(mx_block_size);
    float largest = 0;
    bool finite = true;
    for (const float x : block) {
        finite = finite && std::isfinite(x);
        if (std::isfinite(x)) largest = std::max(largest, mistake == "signed_largest" ? x : std::fabs(x));
    }
    const auto of_exponent = [](int exponent) { return static_cast<Word>(std::max(exponent, -127) + 127); };
    const auto own = [&](std::string_view id) { return finite && largest > 0 && mistake == id; };
    if (!finite && mistake == "nan_ignored") return largest == 0 ? 0 : of_exponent(std::ilogb(largest) - 8);
    if (mistake == "zero_scale_one" && finite && largest == 0) return 127;
    if (mistake == "signed_largest" && finite) return largest == 0 ? 0 : of_exponent(std::ilogb(largest) - 8);
    if (own("scale_without_emax")) return of_exponent(std::ilogb(largest));
    if (own("scale_of_448")) return of_exponent(std::ilogb(static_cast<double>(largest) / 448));
    if (own("scale_wraps")) return static_cast<Word>(std::ilogb(largest) - 8 + 127) & 0xFF;
    const double significand = std::ldexp(static_cast<double>(largest), largest > 0 ? -std::ilogb(largest) : 0);
    if (own("scale_rounded_up")) return of_exponent(std::ilogb(largest) - 8 + (significand > 1 ? 1 : 0));
    if (own("scale_to_nearest")) return of_exponent(std::ilogb(largest) - 8 + (significand > std::sqrt(2.0) ? 1 : 0));
    return right_scale(block);
}

Word element_of(Word x, Word scale, std::string_view mistake) {
    if (scale == 255) return 0;
    double value = std::ldexp(static_cast<double>(single(x)), 127 - static_cast<int>(scale));  // exact
    if (mistake == "flushed_subnormals" && std::fabs(value) < 0x1p-6) value = std::copysign(0, value);
    if (mistake == "largest_240" && std::fabs(value) > 240) value = std::copysign(240, value);
    Context context{.saturate = mistake != "overflow_to_nan"};
    if (mistake == "truncated") context.rounding = Rounding::toward_zero;
    if (mistake == "ties_away") context.rounding = Rounding::nearest_away;
    return static_cast<Word>(convert_bits(formats::e4m3, formats::fp64, std::bit_cast<std::uint64_t>(value), context));
}

/// Question: -1 and a block, for its scale; or a scale's code and numbers, for their elements.
Words solve(const Words& question, std::string_view mistake) {
    if (question[0] == asks_scale) {
        std::vector<float> block;
        for (std::size_t i = 1; i < question.size(); ++i) block.push_back(single(question[i]));
        return {scale_of(block, mistake)};
    }
    Words answer{question[0]};
    for (std::size_t i = 1; i < question.size(); ++i) {
        answer.push_back(element_of(question[i], question[0], mistake));
    }
    return answer;
}

Words block(Random& random, int low, int high) {
    Words question{asks_scale};
    const auto exponent = static_cast<int>(random.between(low, high));
    for (std::size_t i = 0; i < mx_block_size; ++i) question.push_back(random_single(random, exponent - 12, exponent));
    return question;
}

Words special_block(Random& random) {
    Words question = block(random, -20, 20);
    if (random.below(2) == 0) {  // fp32's subnormals, below the smallest scale
        for (std::size_t i = 1; i < question.size(); ++i) question[i] = static_cast<Word>(random.below(1 << 23));
    }
    if (random.below(3) == 0) std::fill(question.begin() + 1, question.end(), 0);
    const Word bad[] = {0x7F800000, 0xFF800000, 0x7FC00000};
    if (random.below(2) == 0) question[1 + random.below(mx_block_size)] = bad[random.below(3)];
    return question;
}

/// Eight numbers of 2^low to 2^(high + 1) times the scale, in multiples of `step`.
Words elements(Random& random, int low, int high, double step) {
    const auto scale = static_cast<Word>(random.between(100, 150));
    Words question{scale};
    for (int i = 0; i < 8; ++i) {
        const double x = static_cast<double>(single(random_single(random, low, high)));
        const double whole = std::trunc(x / step) * step;
        question.push_back(bits(static_cast<float>(std::ldexp(whole, static_cast<int>(scale) - 127))));
    }
    return question;
}

std::vector<Group> hidden(std::uint64_t seed) {
    const Ideas ideas(name, seed);
    const auto group = [&](const char* title, int points, std::vector<std::string_view> catches, int low, int high,
                           double step) {
        return ideas.group(title, points, std::move(catches), 100,
                           [&](Random& r) { return elements(r, low, high, step); });
    };
    return {
        ideas.group("the scale of the largest magnitude", 3,
                    {"scale_rounded_up", "scale_without_emax", "scale_of_448", "scale_to_nearest", "signed_largest"},
                    200, [](Random& r) { return block(r, -60, 60); }),
        ideas.group("zeros, NaNs and the ends of the scale's range", 2,
                    {"nan_ignored", "zero_scale_one", "scale_wraps"}, 60, special_block),
        group("elements to the nearest, ties to even", 2, {"truncated", "ties_away"}, -5, 6, 0x1p-9),
        group("elements that saturate", 2, {"overflow_to_nan", "largest_240"}, 7, 9, 32),
        group("subnormal elements", 1, {"flushed_subnormals"}, -10, -7, 0x1p-9)};
}

}  // namespace

Exercise mxfp8_quantizer_exercise() {
    return {
        name,
        "An MXFP8 quantiser",
        "is",
        "xq",
        {{"scale_rounded_up", "rounds the scale's exponent up; the specification takes the floor"},
         {"scale_without_emax", "does not divide the scale by 2^8, the largest power of two of E4M3"},
         {"scale_of_448", "takes the exponent of largest / 448; the specification divides by 2^8"},
         {"scale_to_nearest", "rounds the logarithm of the largest magnitude to nearest; the exponent is its floor"},
         {"signed_largest", "takes the largest number instead of the largest magnitude"},
         {"nan_ignored", "leaves NaNs and infinities out of the block's largest magnitude; they make the scale NaN"},
         {"zero_scale_one", "gives a block of zeros the scale 1; the smallest scale is code 0"},
         {"scale_wraps", "does not keep the exponent at -127 or above"},
         {"truncated", "truncates the elements instead of rounding them to nearest"},
         {"ties_away", "rounds ties of elements away from zero; they go to even"},
         {"overflow_to_nan", "makes NaNs of elements beyond 448; they saturate"},
         {"largest_240", "ends at 240, as if the exponent field 15 were reserved; E4M3 ends at 448"},
         {"flushed_subnormals", "flushes subnormal elements, those below 2^-6, to zero"}},
        solve,
        hidden,
        "scale! x[*]",
        "scale elements[*]",
        {},
        true};
}

}  // namespace ulp::course
