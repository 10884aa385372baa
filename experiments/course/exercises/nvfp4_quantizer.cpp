// Exercise: NVFP4's two levels of scales, and its elements.
#include <cmath>

#include "experiments/course/exercises/common.hpp"
#include "softfloat/quantization/block_scaled.hpp"

namespace ulp::course {
namespace {

constexpr std::string_view name = "nvfp4_quantizer";
enum Asked : Word { tensor, block, elements };
constexpr std::size_t head = 3;  // what is asked, a single, a code; then numbers

float largest_of(const std::vector<float>& x) {
    float largest = 0;
    for (const float value : x) largest = std::max(largest, std::fabs(value));
    return largest;
}
Word coded(const FloatFormat& format, float x, Context context = {.saturate = true}) {
    return static_cast<Word>(convert_bits(format, formats::fp32, bits(x), context));
}

float value_of_e4m3(Word code) {
    Context exact;
    return single(static_cast<Word>(convert_bits(formats::fp32, formats::e4m3, code, exact)));
}

float tensor_scale(std::vector<float> x, std::string_view mistake) {
    const float largest = largest_of(x);
    if (largest > 0 && mistake == "tensor_scale_of_6") return 1 / (6 / largest);
    if (largest > 0 && mistake == "tensor_scale_of_448") return 1 / (448 / largest);
    if (largest > 0 && mistake == "tensor_scale_inverted") return 2688 / largest;
    if (largest > 0 && mistake == "one_division") return largest / 2688;
    x.resize((x.size() + nvfp4_block_size - 1) / nvfp4_block_size * nvfp4_block_size);
    std::vector<std::uint8_t> scales(x.size() / nvfp4_block_size), codes(x.size());
    return quantize_nvfp4(x, scales, codes);
}

Word block_scale(std::vector<float> x, float largest, std::string_view mistake) {
    const float own = largest_of(x);
    const float scale = own / 6 * (2688 / largest);
    if (mistake == "block_without_tensor") return coded(formats::e4m3, own / 6);
    if (mistake == "block_without_6") return coded(formats::e4m3, own * (2688 / largest));
    if (mistake == "block_power_of_two" && scale >= 0x1p-6F) {
        return coded(formats::e4m3, std::ldexp(1.F, std::ilogb(scale)));
    }
    x.resize(nvfp4_block_size);
    x.resize(2 * nvfp4_block_size);  // a second block, which has the tensor's largest magnitude
    x.back() = largest;
    std::vector<std::uint8_t> scales(2), codes(x.size());
    quantize_nvfp4(x, scales, codes);
    return scales[0];
}

Word element(float x, float tensor_scale, Word block_code, std::string_view mistake) {
    if (block_code == 0) return 0;
    const float own = value_of_e4m3(block_code);
    const float both = mistake == "element_without_tensor"  ? own
                       : mistake == "element_without_block" ? tensor_scale
                                                            : own * tensor_scale;
    const float scaled = mistake == "divided" ? x / both : x * (1 / both);
    if (mistake == "element_flushed" && std::fabs(scaled) < 1) return std::signbit(x) ? 8 : 0;
    Context context{.saturate = true};
    if (mistake == "element_truncated") context.rounding = Rounding::toward_zero;
    if (mistake == "element_ties_away") context.rounding = Rounding::nearest_away;
    return coded(formats::e2m1, scaled, context);
}

Words solve(const Words& question, std::string_view mistake) {
    std::vector<float> x;
    for (std::size_t i = head; i < question.size(); ++i) x.push_back(single(question[i]));
    if (question[0] == tensor) return {bits(tensor_scale(x, mistake)), 0};
    if (question[0] == block) return {0, block_scale(x, single(question[1]), mistake)};
    Words answer{question[1], question[2]};
    for (const float value : x) answer.push_back(element(value, single(question[1]), question[2], mistake));
    return answer;
}

Words numbers(Random& random, Words question, int count, int low, int high) {
    for (int i = 0; i < count; ++i) question.push_back(random_single(random, low, high));
    return question;
}

Words ask_tensor(Random& random) {
    const auto exponent = static_cast<int>(random.between(-40, 40));
    return numbers(random, {tensor, 0, 0}, 32, exponent - 8, exponent);
}
Words ask_block(Random& random) {
    const auto exponent = static_cast<int>(random.between(-20, 20));
    const auto below = static_cast<int>(random.between(0, 12));
    const Word largest = random_single(random, exponent + 1, exponent + 1) & 0x7FFFFFFF;
    return numbers(random, {block, largest, 0}, 16, exponent - below - 6, exponent - below);
}
/// Elements themselves under scales that are powers of two; or under scales of 1 numbers between them, and ties.
Words ask_elements(Random& random, bool scaled) {
    const Word code = scaled ? static_cast<Word>(random.between(4, 14)) << 3 : 0x38;
    const float scale = scaled ? std::ldexp(1.F, static_cast<int>(random.between(-12, 4))) : 1;
    Words question{elements, bits(scale), code};
    const int kept = scaled ? 1 : random.below(2) == 0 ? 2 : 23;  // fraction bits
    for (const Word word : numbers(random, {}, 8, scaled ? 0 : -3, scaled ? 2 : 3)) {
        question.push_back(bits(single(word >> (23 - kept) << (23 - kept)) * (value_of_e4m3(code) * scale)));
    }
    return question;
}

std::vector<Group> hidden(std::uint64_t seed) {
    const Ideas ideas(name, seed);
    return {ideas.group("the scale of the tensor", 3,
                        {"tensor_scale_of_6", "tensor_scale_of_448", "tensor_scale_inverted", "one_division"}, 100,
                        ask_tensor),
            ideas.group("the scales of the blocks", 3,
                        {"block_without_tensor", "block_without_6", "block_power_of_two"}, 150, ask_block),
            ideas.group("elements under both scales", 2, {"element_without_tensor", "element_without_block"}, 100,
                        [](Random& r) { return ask_elements(r, true); }),
            ideas.group("roundings of the elements", 2, {"element_truncated", "element_ties_away", "element_flushed"},
                        100, [](Random& r) { return ask_elements(r, false); })};
}

}  // namespace

Exercise nvfp4_quantizer_exercise() {
    return {
        name,
        "An NVFP4 quantiser",
        "isqs",
        "sqf",
        {{"tensor_scale_of_6", "maps the tensor's largest magnitude to 6, and leaves no room for the blocks' scales"},
         {"tensor_scale_of_448", "maps the tensor's largest magnitude to 448; elements go up to 6, so it is 6 * 448"},
         {"tensor_scale_inverted", "gives the factor that encodes, 2688 / largest; the scale is its inverse"},
         {"one_division", "divides largest by 2688 at once; two divisions round otherwise"},
         {"block_without_tensor", "leaves the tensor's scale out of the block's"},
         {"block_without_6", "does not divide the block's largest magnitude by 6"},
         {"block_power_of_two", "makes the block's scale a power of two, as in MX; NVFP4's is an E4M3 number"},
         {"element_without_tensor", "divides by the block's scale alone, not by the tensor's"},
         {"element_without_block", "divides by the tensor's scale alone, not by the block's"},
         {"element_truncated", "truncates the elements instead of rounding them to nearest"},
         {"element_ties_away", "rounds ties of elements away from zero; they go to even"},
         {"element_flushed", "flushes E2M1's subnormal, 0.5, to zero"}},
        solve,
        hidden,
        "asked! scale! code! x[*]",
        "tensor_scale block_scale elements[*]",
        {"divided"},
        true};
}

}  // namespace ulp::course
